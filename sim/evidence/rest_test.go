package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What asks how long a lease lasts and sets that anew, in whole milliseconds, leaves its end as it was: in a re-entry of a lock that keeps the longest,
// and in an inner unlock of one that sets none. What sets less does not.
func TestTheRestOfALeaseSetAnewIsTheSameEnd(t *testing.T) {
	const lock, ms, end = "x", time.Millisecond, 10500500 * time.Microsecond
	held := func(count int64, until time.Duration) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: count}}, Deadline: until}
	}
	for _, tt := range []struct {
		set  time.Duration
		same bool
	}{{end, true}, {10500 * ms, true}, {10498 * ms, false}} {
		h := &history.History{Header: history.Header{Abilities: []string{"reentrant", string(contract.KeepsLongest)}},
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: 0, Return: time.Second, Outcome: history.Acquired},
				{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Fresh: 2 * time.Second, Call: 2 * time.Second, Return: 3 * time.Second, Outcome: history.Acquired},
				{ID: 3, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Unlock, Lease: 10 * time.Second, Call: 4 * time.Second, Return: 5 * time.Second, Outcome: history.Decremented},
			},
			Served: []history.Served{
				{At: 500 * ms, Sent: 400 * ms, Client: "c1", Owner: "c1:1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 1, Before: &history.KeyState{}, After: held(1, end)},
				{At: 2500 * ms, Sent: 2400 * ms, Client: "c1", Owner: "c1:1", Op: 2, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 2, Before: held(1, end), After: held(2, tt.set)},
				{At: 4500 * ms, Sent: 4400 * ms, Client: "c1", Owner: "c1:1", Op: 3, Lock: lock, Step: history.StepRelease, Text: "evalsha", Request: 3, Before: held(2, end), After: held(1, tt.set)},
			}}
		concluded := Conclude(h)
		if lease := operation(concluded, 2).Lease; (lease == tt.set-2500*ms) != tt.same {
			t.Errorf("end at %s: the re-entry's lease is %s", tt.set, lease)
		}
		if lease := operation(concluded, 3).Lease; (lease == 0) != tt.same {
			t.Errorf("end at %s: the unlock's lease is %s", tt.set, lease)
		}
	}
}
