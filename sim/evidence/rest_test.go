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

// A lock that counts in whole milliseconds when a lease ends may give it to the next in the last one. Before that it takes it from its holder.
func TestALeaseMayEndInItsLastMillisecond(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	held := func(owner string, until time.Duration) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: 1}}, Deadline: until}
	}
	for left, ended := range map[time.Duration]bool{ms / 2: true, ms: true, 2 * ms: false} {
		h := &history.History{
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: time.Second, Call: 0, Return: 2 * ms, Outcome: history.Acquired},
				{ID: 2, Client: "c2", Owner: "c2:1", Lock: lock, Kind: history.TryLock, Lease: time.Second, Call: time.Second - ms, Return: time.Second + 2*ms, Outcome: history.Acquired},
			},
			Served: []history.Served{
				{At: ms, Client: "c1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 1, Before: &history.KeyState{}, After: held("c1:1", time.Second+ms)},
				{At: time.Second + ms - left, Client: "c2", Op: 2, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 2, Before: held("c1:1", time.Second+ms), After: held("c2:1", 2*time.Second)},
			}}
		is := false
		for _, e := range Conclude(h).Events {
			is = is || e.Kind == history.Expire && e.At < time.Second+ms-left
		}
		if is != ended {
			t.Errorf("%v before its end: over %v, want %v", left, is, ended)
		}
	}
}
