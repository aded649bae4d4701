package explore

import (
	"context"
	"slices"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/proof"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Prove tries the causes that a verdict gives of a run of a plan in the sim world, by runs of the plan without some
// of its faults: see [proof.Prove]. The run itself is over, and nothing of it changes but the verdict. judging is how
// the run was judged. Of a lock in processes of its own nothing is tried: no two runs are the same.
func Prove(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, h *history.History, v *checker.Verdict, judging checker.Options) {
	if s.External {
		return
	}
	judging.Sparing, judging.Also = true, nil // what the checkers agree on was asked of the run itself
	proof.Prove(h, v, func(without []int) (*history.History, *checker.Verdict, error) {
		fewer := *p
		fewer.Faults = nil
		for i, f := range p.Faults {
			if !slices.Contains(without, i) {
				fewer.Faults = append(fewer.Faults, f)
			}
		}
		again, err := sim.Run(b, &fewer, s, sim.Options{Seed: h.Header.Seed, Scenario: h.Header.Scenario})
		if err != nil {
			return nil, nil, err
		}
		return again, checker.Judge(context.Background(), again, judging), nil
	})
}
