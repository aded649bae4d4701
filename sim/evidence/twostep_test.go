package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A lock may be taken by one command and get its lease by another one of the call, such as SETNX and PEXPIRE. The second is no grant, and no refusal: it
// sets the lease of whoever has the key by then. A lock that has its lease from the first on is not given one so.
func TestALeaseMayBeSetByASecondCommand(t *testing.T) {
	const lock, ms, sec = "x", time.Millisecond, time.Second
	value := func(owner string, until time.Duration) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: 1}}, Deadline: until}
	}
	for _, tt := range []struct {
		name          string
		first         time.Duration // when the key ends after the first command
		before, after *history.KeyState
		returned      time.Duration // of the call
		lease         time.Duration // of its grant
		sets          time.Duration // the lease that is set beside; 0: none
	}{
		{"its own", 0, value("c1:1", 0), value("c1:1", 6*sec+4*ms), 5 * ms, 0, 6 * sec},
		{"its own, and another's command was faster", 0, value("c1:1", 6*sec+3*ms), value("c1:1", 6*sec+4*ms), 5 * ms, 0, 6 * sec},
		{"its own, of another length", 0, value("c1:1", 0), value("c1:1", 6004*sec), 5 * ms, 0, 6 * sec},
		{"another owner's", 0, value("c2:1", 0), value("c2:1", 6*sec+4*ms), 5 * ms, 0, 6 * sec},
		{"another owner's, by a copy", 0, value("c2:1", 9*sec), value("c2:1", 6*sec+4*ms), 3 * ms, 6 * sec, 6 * sec},
		{"nobody's", 0, &history.KeyState{}, &history.KeyState{}, 5 * ms, 6 * sec, 0},
		{"the first had set it", 6*sec + 2*ms, value("c1:1", 6*sec+2*ms), value("c1:1", 8*sec), 5 * ms, 6 * sec, 8*sec - 4*ms},
	} {
		h := &history.History{
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 6 * sec, Call: ms, Return: tt.returned, Outcome: history.Acquired},
				{ID: 2, Client: "c2", Owner: "c2:1", Lock: lock, Kind: history.IsLocked, Call: 8 * ms, Return: 9 * ms, Outcome: history.OK},
			},
			Served: []history.Served{
				{At: 2 * ms, Sent: ms, Got: 2*ms + 1, Client: "c1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "setnx x v", Request: 1, Before: &history.KeyState{}, After: value("c1:1", tt.first)},
				{At: 4 * ms, Sent: 3 * ms, Got: 4*ms + 1, Client: "c1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "pexpire x 6000", Request: 2, Before: tt.before, After: tt.after},
			}}
		var call, set history.Op
		for _, op := range Conclude(h).Ops {
			switch {
			case op.ID == 1:
				call = op
			case op.ID > 2:
				set = op
			}
		}
		if call.Answer != history.Acquired || call.Executed != 2*ms || call.Lease != tt.lease {
			t.Errorf("%s: the call was told %s at %s, with a lease of %s", tt.name, call.Answer, call.Executed, call.Lease)
		}
		if set.Lease != tt.sets || tt.sets > 0 && (set.Kind != history.Renew || !set.Aside || set.Owner != "c1:1" || set.Executed != 4*ms) {
			t.Errorf("%s: beside it %+v, want a lease of %s", tt.name, set, tt.sets)
		}
	}
}
