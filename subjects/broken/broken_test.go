package broken_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
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

// several has a client that holds two locks at once, for longer than their leases, of which one is
// taken away from it.
func several() *plan.Plan {
	const l, m = "order:42", "order:43"
	s := func(d time.Duration) plan.Duration { return plan.Duration(d * time.Second) }
	two := func() []plan.Step {
		return []plan.Step{{Do: plan.Lock, Lock: l}, {Do: plan.Lock, Lock: m}, {Do: plan.Work, Lock: m, For: s(45)}, {Do: plan.Unlock, Lock: m}, {Do: plan.Unlock, Lock: l}}
	}
	return &plan.Plan{Version: plan.Version, Name: "two locks at once",
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: two()}}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: s(2), Steps: two()}}},
		},
		Faults: []plan.Fault{{Kind: "expire-key", Lock: l, From: s(60)}},
	}
}

// late has a copy of a request that comes when its sender has been done with the lock for long.
func late() *plan.Plan {
	const l = "order:42"
	s := func(d time.Duration) plan.Duration { return plan.Duration(d * time.Second) }
	return &plan.Plan{Version: plan.Version, Name: "a late copy of an acquire",
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{
				{Do: plan.Lock, Lock: l}, {Do: plan.Work, Lock: l, For: s(2)}, {Do: plan.Unlock, Lock: l}}}}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: s(15), Steps: []plan.Step{
				{Do: plan.Lock, Lock: l}, {Do: plan.Work, Lock: l, For: s(2)}, {Do: plan.Unlock, Lock: l}}}}},
		},
		Faults: []plan.Fault{{Kind: "duplicate-message", Client: "c1", By: s(10), When: &plan.Trigger{Request: plan.Acquire}}},
	}
}

// shared is a read-write lock: somebody who does not read gives a read lock back, and two readers of one client wait for a writer.
func shared() *plan.Plan {
	const l = "stock:42"
	s := func(d time.Duration) plan.Duration { return plan.Duration(d * time.Second) }
	read := []plan.Step{{Do: plan.ReadLock, Lock: l}, {Do: plan.Work, Lock: l, For: s(2)}, {Do: plan.ReadUnlock, Lock: l}}
	return &plan.Plan{Version: plan.Version, Name: "readers of one client",
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: read}}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: s(1), Steps: []plan.Step{{Do: plan.ReadUnlock, Lock: l, Regardless: true}}}}},
			{Name: "c3", Threads: []plan.Thread{{ID: 1, Start: s(10), Steps: []plan.Step{
				{Do: plan.WriteLock, Lock: l}, {Do: plan.Work, Lock: l, For: s(4)}, {Do: plan.WriteUnlock, Lock: l}}}}},
			{Name: "c4", Threads: []plan.Thread{{ID: 1, Start: s(11), Steps: read}, {ID: 2, Start: s(12), Steps: read}}},
		},
	}
}

// stories are those of this file, which show most mistakes, and then the catalogue.
func stories() []*plan.Plan {
	all := []*plan.Plan{story(), several(), late(), shared()}
	for _, s := range slices.Concat(scenarios.Stories(history.ALock), scenarios.AllSemaphores(), scenarios.AllLatches(), scenarios.AllRWLocks(), scenarios.AllPermits()) {
		all = append(all, s.Plan(1))
	}
	return all
}

// judge also says whether the mistake was made. A plan that does not suit the subject is nil.
func judge(t *testing.T, p *plan.Plan, s subjects.Subject) (v *checker.Verdict, made bool) {
	t.Helper()
	p, why := scenarios.Fit(p, s.Can)
	if why != "" {
		return nil, false
	}
	var clients []subjects.Client
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		clients = append(clients, c)
		return c, err
	}
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	for _, c := range clients {
		made = made || broken.Applied(c)
	}
	return checker.Judge(t.Context(), h, checker.Options{}), made
}

// TestEachBrokenLockIsCaught finds for each mistake a story in which the guarantee that must catch it
// is broken, while the sound lock keeps it.
func TestEachBrokenLockIsCaught(t *testing.T) {
	plans := stories()
	type told struct {
		subject string
		plan    int
	}
	references := map[told]*checker.Verdict{}
	for _, l := range broken.Everything() {
		t.Run(l.Name, func(t *testing.T) {
			sound, _ := subjects.Find(l.Sound)
			g := contract.Guarantee(l.CaughtBy)
			everMade := false
			for i, p := range plans {
				v, made := judge(t, p, l.Subject)
				if v == nil {
					continue
				}
				everMade = everMade || made
				if v.Result(g).Status != checker.Broken {
					continue
				}
				k := told{l.Sound, i}
				if references[k] == nil {
					references[k], _ = judge(t, p, sound)
				}
				if references[k].Result(g).Status == checker.Holds {
					t.Logf("caught by %s in %s: %s", g, p.Name, v.Result(g).Violations[0].Text)
					return
				}
			}
			if !everMade {
				t.Fatal("the mistake was never made: it does not match the lock's scripts any more")
			}
			t.Fatalf("%s is broken in no story", g)
		})
	}
}

// TestTheHealedPhaseFindsWhatNeverEnds has a client die while it holds a lock, and another wait.
func TestTheHealedPhaseFindsWhatNeverEnds(t *testing.T) {
	const l = "order:42"
	p := &plan.Plan{Version: plan.Version, Name: "a holder dies, and another waits",
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{{Do: plan.Lock, Lock: l}, {Do: plan.Work, Lock: l, For: plan.Duration(time.Minute)}}}}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: plan.Duration(time.Second), Steps: []plan.Step{{Do: plan.Lock, Lock: l}, {Do: plan.Unlock, Lock: l}}}}},
		},
		Faults: []plan.Fault{{Kind: "kill-client", Client: "c1", From: plan.Duration(5 * time.Second)}},
	}
	for name, rules := range map[string][]contract.Rule{
		"rlock-latch":          nil,
		"rlock-hardened":       nil,
		"broken-lease-endless": {contract.FreshGets},                             // what c1 held stays
		"broken-acquire-never": {contract.FreshGets, contract.HealedCallsReturn}, // the lock is free, and c2 waits on
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := subjects.Find(name)
			if l, found := broken.Find(name); found {
				s, ok = l.Subject, true
			}
			if !ok {
				t.Fatal("no such lock")
			}
			v, _ := judge(t, p, s)
			for _, rule := range []contract.Rule{contract.FreshGets, contract.HealedCallsReturn} {
				found := slices.ContainsFunc(v.Result(contract.Liveness).Violations, func(x checker.Violation) bool { return x.Rule == rule })
				if found != slices.Contains(rules, rule) {
					t.Errorf("%q broken: %t", rule, found)
				}
			}
		})
	}
}

// A key that another program has overwritten has the end that a renewal gave it. So that renewal is told as one, and not as refused.
func TestWhoRenewsWhatAnotherProgramHasIsToldSo(t *testing.T) {
	l, ok := broken.Find("broken-hardened-renew-anybodys")
	if !ok {
		t.Fatal("there is no such lock")
	}
	s, _ := scenarios.Find("batch-poison")
	v, _ := judge(t, s.Plan(1), l.Subject)
	has := func(g contract.Guarantee, rule contract.Rule) bool {
		return slices.ContainsFunc(v.Result(g).Violations, func(x checker.Violation) bool { return x.Rule == rule })
	}
	if !has(contract.Object, contract.HolderRenews) || has(contract.Watchdog, contract.NoRenewalOnceNo) {
		t.Errorf("%s", v.Explanation)
	}
}
