package checker

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// A command of a call may take back permits whose lease is over, and do nothing else. That is no effect of its call.
func TestWhatTakesBackPermitsThatAreOverIsNoEffectOfItsCall(t *testing.T) {
	key := func(free int64, taken ...history.TakenPermit) *history.KeyState {
		return &history.KeyState{Permits: &free, Taken: taken}
	}
	over, other := history.TakenPermit{Permit: 1, Deadline: sec}, history.TakenPermit{Permit: 2}
	for _, tt := range []struct {
		name          string
		kind          history.Kind
		before, after *history.KeyState
		reply         string
		reclaims      bool
	}{
		{"it takes back, and has to wait", history.AcquirePermit, key(-1, over, other), key(0, other), "5", true},
		{"it takes back, and takes one", history.TryAcquirePermit, key(0, over), key(0, other), "nil", false},
		{"it takes the same one anew", history.AcquirePermit, key(0, over), key(0, history.TakenPermit{Permit: 1, Deadline: 9 * sec}), "nil", false},
		{"it takes one more for the same permit", history.AcquirePermit, key(1, over), key(0, over), "nil", false},
		{"it takes back the permit whose lease it was for", history.UpdateLease, key(0, over), key(1), "0", true},
		{"it takes back another", history.UpdateLease, key(0, over, history.TakenPermit{Permit: 3, Deadline: sec}), key(1, over), "1", true},
		{"it sets the lease", history.UpdateLease, key(0, over), key(0, history.TakenPermit{Permit: 1}), "1", false},
		{"it gives it back", history.ReleasePermit, key(0, over), key(1), "1", false},
		{"it takes it back, and finds none", history.ReleasePermit, key(0, over), key(1), "0", true},
		{"what is added", history.AddTotal, key(0, over), key(2, over), "", false},
	} {
		op := &history.Op{Kind: tt.kind, Token: 1}
		if got := reclaims(op, &history.Served{Before: tt.before, After: tt.after, Reply: tt.reply}); got != tt.reclaims {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
