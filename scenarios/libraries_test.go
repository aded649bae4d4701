package scenarios_test

import (
	"context"
	"maps"
	"slices"
	"testing"

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
