package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A fault that deletes members while an unlock is under way may do what the unlock would have done; it may do more. Then it is an event of
// the group.
func TestADeletionBesideAnUnlockIsTold(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		holds   int64    // that x:1 has of each member
		members []string // that the fault deletes
		event   bool
		answer  history.Outcome
	}{
		{"of one hold, one of the two members that are left", 1, []string{"b"}, false, history.Released},
		{"of two holds, one of the two that the unlock had not reached", 2, []string{"b"}, false, history.Decremented},
		{"of two holds, both", 2, []string{"b", "c"}, true, history.Decremented},
	} {
		h := &history.History{Header: history.Header{Abilities: []string{"watchdog", "reentrant"},
			Groups: []history.Group{{Name: "all", Kind: history.Red, Members: []string{"a", "b", "c"}, Servers: []string{"s1", "s2", "s3"}}}}}
		state := map[string]history.KeyState{"a": {}, "b": {}, "c": {}}
		serve := func(at time.Duration, call int64, step history.Step, key string, holds int64) {
			before, after := state[key], history.KeyState{}
			if holds > 0 {
				after = history.KeyState{Holdings: []history.Holding{{Owner: "x:1", Count: holds}}, Deadline: 30 * time.Second}
			}
			state[key] = after
			r := history.Served{At: at, Sent: at - ms, Server: map[string]string{"a": "s1", "b": "s2", "c": "s3"}[key], Client: "x", Owner: "x:1", Op: call, Lock: key, Step: step,
				Text: "evalsha", Request: int64(len(h.Served) + 1), Before: &before, After: &after}
			if step == history.StepAdmin {
				r.Client, r.Owner, r.Request, r.Text = "faults", "", 0, "DEL"
			}
			h.Served = append(h.Served, r)
		}
		for n := int64(1); n <= tt.holds; n++ {
			at := time.Duration(n) * 100 * ms
			h.Ops = append(h.Ops, history.Op{ID: n, Client: "x", Owner: "x:1", Lock: "all", Kind: history.TryLock, Lease: 30 * time.Second, Call: at, Return: at + 20*ms, Outcome: history.Acquired})
			serve(at+10*ms, n, history.StepAcquire, "a", n)
			serve(at+11*ms, n, history.StepAcquire, "b", n)
			serve(at+12*ms, n, history.StepAcquire, "c", n)
		}
		const deleted = 520 * ms
		h.Ops = append(h.Ops, history.Op{ID: 9, Client: "x", Owner: "x:1", Lock: "all", Kind: history.Unlock, Call: 500 * ms, Return: 600 * ms, Outcome: history.Unknown})
		serve(510*ms, 9, history.StepRelease, "a", tt.holds-1)
		for _, key := range tt.members {
			serve(deleted, 0, history.StepAdmin, key, 0)
		}
		h.Events = []history.Event{{At: deleted, Kind: history.Delete, Lock: "all"}}
		h.Faults = []history.Fault{{Kind: "delete-key", Lock: "all", From: deleted, To: deleted}}

		got := Conclude(h)
		if event := slices.ContainsFunc(got.Events, func(e history.Event) bool { return e.Kind == history.Delete && e.Lock == "all" }); event != tt.event {
			t.Errorf("%s: an event of the group is told: %t", tt.name, event)
		}
		for _, op := range got.Ops {
			if op.ID == 9 && op.Answer != tt.answer {
				t.Errorf("%s: the unlock did %q, not %q", tt.name, op.Answer, tt.answer)
			}
		}
	}
}
