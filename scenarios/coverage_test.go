package scenarios_test

import (
	"context"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/subjects"
)

// The catalogue and the sweep together have every kind of fault strike on every step on which it
// can. Every run is judged; none may confuse the checkers.
func TestEveryFaultStrikesOnEveryStep(t *testing.T) {
	covered := fault.Coverage{}
	for _, s := range subjects.All() {
		for _, p := range scenarios.Sweep() {
			h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1, Scenario: p.Name})
			if err != nil {
				t.Fatalf("%s/%s: %v", p.Name, s.Name, err)
			}
			covered.Add(h)
			if v := checker.Judge(context.Background(), h, checker.Options{}); len(v.Refused) > 0 || len(v.Missed) > 0 {
				t.Errorf("%s/%s: refused %q, missed %q", p.Name, s.Name, v.Refused, v.Missed)
			} else if r := v.Result(checker.Object); s.Name == "rlock-hardened" && r.Status != checker.Holds {
				t.Errorf("%s/%s: %s", p.Name, s.Name, r.Summary)
			}
		}
	}
	for _, step := range covered.Unreached() {
		t.Errorf("%s never struck on %s", step.Kind, step.On)
	}
	outcomes := map[string]bool{}
	for _, cell := range covered.Cells() {
		outcomes[cell.Outcome] = true
	}
	for _, want := range []string{"acquired", "decremented", "failed", "none", "unknown"} {
		if !outcomes[want] {
			t.Errorf("no fault struck a call that ended %s: %v", want, outcomes)
		}
	}
}
