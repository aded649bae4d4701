package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What a command did to a permit semaphore is told by the permits that are out, also where leases that are over hide it from the number
// of the free ones.
func TestWhatAPermitSemaphoreGranted(t *testing.T) {
	const ms = time.Millisecond
	key := func(free int64, taken ...history.TakenPermit) history.KeyState {
		return history.KeyState{Permits: &free, Taken: taken}
	}
	over, held, again := history.TakenPermit{Permit: 1, Deadline: 10 * ms}, history.TakenPermit{Permit: 2, Deadline: 90 * ms}, history.TakenPermit{Permit: 2, Deadline: 99 * ms}
	for _, tt := range []struct {
		name          string
		op            history.Op
		reply         string
		before, after history.KeyState
		answer        history.Outcome
		effect        bool
		permit        int64
	}{
		{"a grant", history.Op{Kind: history.AcquirePermit}, "nil", key(1), key(0, held), history.Acquired, true, 2},
		{"a grant of what was over", history.Op{Kind: history.AcquirePermit}, "nil", key(0, over), key(0, held), history.Acquired, true, 2},
		{"refused", history.Op{Kind: history.AcquirePermit}, "90", key(0, held), key(0, held), history.Busy, false, 0},
		{"a copy takes one more", history.Op{Kind: history.AcquirePermit, Token: 2}, "nil", key(1, held), key(0, held), history.Acquired, true, 2},
		{"a copy takes what was over", history.Op{Kind: history.AcquirePermit, Token: 2}, "nil", key(0, over, held), key(0, held), history.Acquired, true, 2},
		{"given", history.Op{Kind: history.ReleasePermit, Token: 2}, "1", key(0, held), key(1), history.OK, true, 2},
		{"given too late", history.Op{Kind: history.ReleasePermit, Token: 1}, "0", key(0, over), key(1), history.NotHeld, false, 1},
		{"prolonged", history.Op{Kind: history.UpdateLease, Token: 2, Lease: 49 * ms}, "1", key(0, held), key(0, again), history.OK, true, 2},
		{"a copy of that, remembered", history.Op{Kind: history.UpdateLease, Token: 2, Lease: 5 * ms}, "1", key(0, again), key(0, again), history.OK, false, 2},
	} {
		c := &conclusion{h: &history.History{Header: history.Header{Abilities: []string{string(contract.Idempotent)}}}, now: 50 * ms}
		answer, effect, permit := c.whatItGranted(&tt.op, &history.Served{Reply: tt.reply}, tt.before, tt.after)
		if answer != tt.answer || effect != tt.effect || permit != tt.permit {
			t.Errorf("%s: %s %v %d, want %s %v %d", tt.name, answer, effect, permit, tt.answer, tt.effect, tt.permit)
		}
	}
}
