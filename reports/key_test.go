package reports

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// The key of a lock is on one server. That of a group's member may have its name, on another.
func TestAKeyOfThatNameOnAnotherServerIsNotTheLocks(t *testing.T) {
	state := func(owner string) *history.KeyState {
		if owner == "" {
			return &history.KeyState{}
		}
		return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: 1}}, Deadline: sec(40)}
	}
	row := func(at float64, server, owner string, call int64) history.Served {
		return history.Served{At: sec(at), Server: server, Client: "c", Owner: owner, Op: call, Lock: "x", Step: history.StepAcquire, Before: state(""), After: state(owner)}
	}
	h := &history.History{
		Ops: []history.Op{
			{ID: 1, Client: "c2", Owner: "c2:1", Lock: "group", Kind: history.TryLock, Call: 0, Return: sec(9), Outcome: history.Acquired},
			{ID: 2, Client: "c1", Owner: "c1:1", Lock: "x", Kind: history.Lock, Call: 0, Return: sec(2), Outcome: history.Acquired},
		},
		Served: []history.Served{row(0.5, "s2", "c2:1", 1), row(1, "s1", "c1:1", 2), row(5, "s3", "c2:1", 1)},
	}
	segments := keySegments(h, "x", sec(10))
	if last := segments[len(segments)-1]; last.from != sec(1) || last.to != sec(10) || !last.holds("c1:1") {
		t.Errorf("the lock's key: %+v", segments)
	}
	for _, it := range against(belief{from: sec(2), to: sec(10), n: 1, op: 2}, segments, "c1:1") {
		if it.Kind != "held" {
			t.Errorf("%+v", it)
		}
	}
}
