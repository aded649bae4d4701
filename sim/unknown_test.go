package sim_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// A program that was not told what became of the unlock of an inner hold does not know whether it holds
// the outer one still. It works under it no more, as its belief is judged.
func TestNobodyWorksUnderALockAfterAnUnknownUnlock(t *testing.T) {
	const l = "order:42"
	lock, unlock, work := plan.Step{Do: plan.Lock, Lock: l}, plan.Step{Do: plan.Unlock, Lock: l}, plan.Step{Do: plan.Work, Lock: l, For: plan.Duration(time.Second)}
	p := &plan.Plan{Version: plan.Version, Name: "an unknown inner unlock",
		Clients: []plan.Client{{Name: "c1", NoRetry: true, Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{lock, lock, work, unlock, work, unlock}}}}},
		Faults:  []plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
	}
	for _, s := range subjects.All() {
		h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		unknown, before, after := false, 0, 0
		for _, op := range h.Ops {
			switch {
			case op.Kind == history.Unlock && op.Outcome == history.Unknown:
				unknown = true
			case op.Kind == history.Write && unknown:
				after++
			case op.Kind == history.Write:
				before++
			}
		}
		if !unknown || before != 1 || after != 0 {
			t.Errorf("%s: the inner unlock is unknown: %v; %d writes before it, and %d after", s.Name, unknown, before, after)
		}
	}
}
