package scenarios_test

import (
	"context"
	"maps"
	"slices"
	"strings"
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
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// Other people's locks have no defect in the stories. An unlock whose reply was lost is sent again, and told that the
// lock is not held, as it was with Redisson before 3.24: they break object by that, and do not
// claim that it takes effect once.
func TestLibrariesAreHeldToWhatTheyClaim(t *testing.T) {
	for _, s := range libraries.All() {
		t.Run(s.Name, func(t *testing.T) {
			ran := 0
			for _, sc := range scenarios.Stories(history.ALock) {
				for seed := uint64(1); seed <= 2; seed++ {
					p, why := sc.For(seed, s.Can)
					if why != "" {
						continue
					}
					ran++
					h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: seed, Scenario: sc.Name})
					if err != nil {
						t.Fatalf("%s: %v", sc.Name, err)
					}
					v := checker.Judge(context.Background(), h, checker.Options{Unpredicted: true})
					if len(v.Refused) > 0 {
						t.Fatalf("%s: refused: %q", sc.Name, v.Refused)
					}
					for _, r := range v.Results {
						if !r.AsExpected() {
							t.Errorf("%s, seed %d: %s is %q, expected %q: %s", sc.Name, seed, r.Guarantee, r.Status, r.Expected, r.Summary)
						}
					}
					if object := v.Result(contract.Object); sc.Name == "lost-unlock-reply" && (object.Status != checker.Broken ||
						object.Violations[0].Ruling.Row != "sent-again") {
						t.Errorf("%s, seed %d: object is %q: %v", sc.Name, seed, object.Status, object.Violations)
					}
				}
			}
			if ran < 60 {
				t.Errorf("only %d runs", ran)
			}
		})
	}
}

// A port has the defects of its original in the stories, and no others: those of redisson-4.7.0 in docs/matrix.md.
func TestPortsHaveTheDefectsOfTheirOriginals(t *testing.T) {
	lease := []contract.Guarantee{contract.Object, contract.Exclusion, contract.Effect}
	alone := map[string][]contract.Guarantee{
		"inner-lease":     lease,
		"batch-poison":    {contract.Exclusion, contract.Effect, contract.Watchdog},
		"canceled-waiter": {contract.Watchdog, contract.Liveness},
	}
	shared := maps.Clone(alone)
	shared["shared-handle"] = []contract.Guarantee{contract.Object}
	want := map[string]map[string][]contract.Guarantee{"rlock-current": alone, "rlock-current-shared": shared}
	for _, s := range subjects.Ported() {
		t.Run(s.Name, func(t *testing.T) {
			for _, sc := range scenarios.Stories(history.ALock) {
				p, why := sc.For(1, s.Can)
				if why != "" {
					continue
				}
				h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1, Scenario: sc.Name})
				if err != nil {
					t.Fatalf("%s: %v", sc.Name, err)
				}
				v := checker.Judge(context.Background(), h, checker.Options{Unpredicted: true})
				var got []contract.Guarantee
				for _, r := range v.Results {
					if len(r.Defects()) > 0 {
						got = append(got, r.Guarantee)
					}
				}
				if !slices.Equal(got, want[s.Name][sc.Name]) || len(v.Refused) > 0 {
					t.Errorf("%s: defects of %v, expected %v; refused: %q\n%s", sc.Name, got, want[s.Name][sc.Name], v.Refused, v.Explanation)
				}
			}
		})
	}
}

func TestALockIsSparedWhatItDoesNotKnow(t *testing.T) {
	never := func(ability string) bool { return ability == plan.NeedsLock } // beyond to be a lock
	for _, sc := range scenarios.All() {
		p, why := sc.For(1, never)
		needs := slices.DeleteFunc(p.Needs(), never)
		if sc.Reentry == scenarios.Retried {
			needs = slices.DeleteFunc(needs, func(n string) bool { return n == plan.NeedsReentrant })
		}
		if (why == "") != (len(needs) == 0) {
			t.Errorf("%s: %q, and it needs %q", sc.Name, why, needs)
		}
		if q, why := sc.For(1, func(string) bool { return true }); why != "" || string(q.JSON()) != string(sc.Plan(1).JSON()) {
			t.Errorf("%s: it is not run as it is by a lock that knows everything: %q", sc.Name, why)
		}
	}
	for name, want := range map[string]bool{"baseline": true, "lease-mixing": false, "same-owner-retry": true, "redlock-pause": false, "watchdog-death": false} {
		sc, _ := scenarios.Find(name)
		if _, why := sc.For(1, never); (why == "") != want {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A call that is to be given up may be granted before. The owner of a lock that is not reentrant does not wait for itself then, and of a plan's steps none
// is left out before it runs.
func TestNobodyWaitsForHimself(t *testing.T) {
	s, _ := libraries.Find("redsync")
	first := plan.Step{Do: plan.Lock, Lock: "x", Cancel: plan.Duration(time.Second)}
	again, gives := plan.Step{Do: plan.Lock, Lock: "x"}, plan.Step{Do: plan.Unlock, Lock: "x"}
	drawn := &plan.Plan{Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{first, again, gives, {Do: plan.Sleep, For: plan.Duration(time.Second)}, gives}}}}}}
	p, why := scenarios.Fit(drawn, s.Can)
	if why != "" || len(p.Clients[0].Threads[0].Steps) != 5 {
		t.Fatalf("%q: %v", why, p.Clients[0].Threads[0].Steps)
	}
	for held, calls := range map[time.Duration]string{0: "lock acquired, unlock released", 2 * time.Second: "lock unknown, lock acquired, unlock released"} {
		q := p.Clone()
		if q.Clients[0].Threads[0].Start = plan.Duration(time.Second / 2); held > 0 {
			q.Clients = append(q.Clients, plan.Client{Name: "c2", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{again, {Do: plan.Sleep, For: plan.Duration(held)}, gives}}}})
		}
		h, err := sim.Run(bubble.In(t), q, s, sim.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range h.Ops {
			if op.Owner == "c1:1" && !op.Aside {
				got = append(got, string(op.Kind)+" "+string(op.Outcome))
			}
		}
		if strings.Join(got, ", ") != calls {
			t.Errorf("held by another for %v: %q, want %s", held, got, calls)
		}
	}
}
