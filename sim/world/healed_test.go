package world_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// healed is when everything was.
func healed(t *testing.T, h *history.History) time.Duration {
	t.Helper()
	var found []history.Event
	for _, e := range h.Events {
		if e.Kind == history.Healed {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("healed: %+v", found)
	}
	return found[0].At
}

// tried holds the fresh client to having locked and unlocked these locks, one after the other.
func tried(t *testing.T, h *history.History, locks ...string) {
	t.Helper()
	var got, want []string
	for _, op := range h.Ops {
		if op.Client == history.Fresh && !op.Aside {
			got = append(got, op.Lock+" "+string(op.Outcome))
		}
	}
	for _, l := range locks {
		want = append(want, l+" "+string(history.Acquired), l+" "+string(history.Released))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the fresh client: %v, want %v", got, want)
	}
}

// What lasts to the end of the run ends when the limit is over, and whoever it kept from going on goes on.
func TestEverythingIsHealedAtTheLimit(t *testing.T) {
	const limit = 20 * second
	for _, f := range []plan.Fault{
		{Kind: "partition", Client: "c1", From: at(second)},
		{Kind: "partition", Client: "c1", From: at(second), Direction: "replies"},
		{Kind: "pause-client", Client: "c1", From: at(second)},
		{Kind: "restart", From: at(second), Data: "none"},
		{Kind: "delay-message", Client: "c1", From: at(second), By: at(time.Hour), When: &plan.Trigger{Request: plan.MessageKind(history.StepAcquire)}},
		{Kind: "slow-server", From: at(second), To: at(time.Hour), By: at(time.Minute)},
	} {
		t.Run(f.Kind+" "+f.Direction, func(t *testing.T) {
			var steps []plan.Step
			for range 20 { // a client that is refused tries again
				steps = append(steps, plan.Step{Do: plan.TryLock, Lock: order, Wait: at(30 * second)}, unlock())
			}
			p := newPlan([]plan.Fault{f}, plan.Client{Name: "c1", NoRetry: true, Threads: []plan.Thread{{ID: 1, Start: at(2 * second), Steps: append(steps, sleep(limit), lock(), unlock())}}})
			p.Timings.Limit = at(limit)
			h := run(t, p, "rlock-hardened")
			when := healed(t, h)
			if !within(when, limit, limit+slack) {
				t.Errorf("healed at %v", when)
			}
			locks := calls(h, "c1:1", history.Lock)
			if len(locks) != 1 || locks[0].Outcome != history.Acquired || locks[0].Return < when {
				t.Errorf("what comes last: %+v", locks)
			}
			for _, op := range h.Ops {
				if op.Client == "c1" && !op.Aside && op.Kind.OnLock() && op.Kind != history.Renew && op.Pending() {
					t.Errorf("never returned: %+v", op)
				}
			}
			if f := h.Faults[0]; f.Missed || f.On == "" && !within(f.To, when, when+slack) {
				t.Errorf("healed at %v: %+v", when, f)
			}
			tried(t, h, order)
		})
	}
}

func TestTheDeadStayDeadAndNoFaultStrikesTheHealed(t *testing.T) {
	p := newPlan([]plan.Fault{
		{Kind: "kill-client", Client: "c1", From: at(2 * second)},
		{Kind: "delete-key", Lock: order, From: at(40 * second)},
		{Kind: "server-error", From: at(40 * second), To: at(time.Hour), Error: "OOM"},
	}, client("c1", 0, lock(), sleep(5*second), unlock()), client("c2", second, lock(), unlock(), plan.Step{Do: plan.Lock, Lock: "other"}, plan.Step{Do: plan.Unlock, Lock: "other"}))
	h := run(t, p, "rlock-latch")
	when := healed(t, h)
	if !within(when, 30*second, 35*second) {
		t.Errorf("healed at %v", when)
	}
	for _, f := range h.Faults {
		if f.Missed != (f.Kind != "kill-client") {
			t.Errorf("%+v", f)
		}
	}
	for _, s := range served(h, "c1") {
		if s.At > 3*second {
			t.Errorf("the dead speak: %+v", s)
		}
	}
	if unlocks := calls(h, "c1:1", history.Unlock); len(unlocks) > 0 {
		t.Errorf("the dead go on: %+v", unlocks)
	}
	tried(t, h, order, "other")
}

// A member of a group may be left although nobody holds the group: the fresh client comes when it is gone.
func TestTheFreshClientComesWhenLeasesHaveEnded(t *testing.T) {
	p := newPlan([]plan.Fault{{Kind: "kill-client", Client: "c1", From: 0, When: &plan.Trigger{Reply: plan.MessageKind(history.StepAcquire)}}},
		client("c1", 0, plan.Step{Do: plan.Lock, Lock: "all", Lease: at(50 * second)}))
	p.Groups = []plan.Group{{Name: "all", Kind: plan.Multi, Members: []plan.Member{{Lock: "a"}, {Lock: "b"}}}}
	h := run(t, p, "rlock-classic")
	tried(t, h, "all")
	if first := calls(h, "fresh:1", history.TryLock); len(first) == 0 || first[0].Call < 30*second {
		t.Errorf("%+v", first)
	}
}

// Whoever rightly holds a lock keeps it from the fresh client, which waits and gives up.
func TestTheFreshClientIsRefusedWhatSomebodyHolds(t *testing.T) {
	h := run(t, newPlan(nil, client("c1", 0, lock())), "rlock-latch")
	tries := calls(h, "fresh:1", history.TryLock)
	if len(tries) != 1 || tries[0].Outcome != history.Busy || tries[0].Return-tries[0].Call < second || len(calls(h, "fresh:1", history.Unlock)) > 0 {
		t.Errorf("%+v", tries)
	}
}
