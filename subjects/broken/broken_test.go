package broken_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// story has something of everything: contention, re-entry, partial unlocks, an unlock by one who
// does not hold, a hold that needs renewals, a key that expires under its holder, and a waiter.
func story() *plan.Plan {
	const l = "order:42"
	s := func(d time.Duration) plan.Duration { return plan.Duration(d * time.Second) }
	lock, unlock := plan.Step{Do: plan.Lock, Lock: l}, plan.Step{Do: plan.Unlock, Lock: l}
	work := func(d time.Duration) plan.Step { return plan.Step{Do: plan.Work, Lock: l, For: s(d)} }
	sleep := func(d time.Duration) plan.Step { return plan.Step{Do: plan.Sleep, For: s(d)} }
	return &plan.Plan{Version: plan.Version, Name: "something of everything",
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{
				{Do: plan.TryLock, Lock: l}, work(3), lock, {Do: plan.IsLocked, Lock: l}, work(3), lock, unlock, work(25), unlock, work(2), unlock,
				sleep(60), lock, work(20), unlock,
			}}}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: s(2), Steps: []plan.Step{
				{Do: plan.Unlock, Lock: l, Regardless: true}, {Do: plan.TryLock, Lock: l}, lock, work(5), unlock,
				sleep(70), lock, work(30), unlock,
			}}}},
		},
		Faults: []plan.Fault{{Kind: "expire-key", Lock: l, From: s(106)}},
	}
}

func judge(t *testing.T, s subjects.Subject) *checker.Verdict {
	t.Helper()
	var clients []subjects.Client
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		clients = append(clients, c)
		return c, err
	}
	h, err := sim.Run(bubble.In(t), story(), s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	made := false
	for _, c := range clients {
		made = made || broken.Applied(c)
	}
	if !made {
		t.Fatal("the mistake was never made: it does not match the lock's scripts any more")
	}
	return checker.Judge(t.Context(), h, checker.Options{})
}

func TestEachBrokenLockIsCaught(t *testing.T) {
	references := map[string]*checker.Verdict{}
	for _, l := range broken.All() {
		if _, known := references[l.Sound]; !known {
			sound, _ := subjects.Find(l.Sound)
			references[l.Sound] = judge(t, sound)
		}
		t.Run(l.Name, func(t *testing.T) {
			g := checker.Guarantee(l.CaughtBy)
			if r := references[l.Sound].Result(g); r.Status != checker.Holds {
				t.Fatalf("the sound lock: %s is %s: %s", g, r.Status, r.Summary)
			}
			v := judge(t, l.Subject)
			r := v.Result(g)
			if r.Status != checker.Broken && l.Hunted {
				t.Skipf("not in this story: package explore hunts it")
			}
			if r.Status != checker.Broken {
				for _, r := range v.Results {
					t.Logf("%s %s: %s", r.Guarantee, r.Status, r.Summary)
				}
				t.Fatalf("%s is %s", g, r.Status)
			}
			t.Logf("caught by %s: %s", g, r.Violations[0].Text)
		})
	}
}
