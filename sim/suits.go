package sim

import (
	"errors"
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Suits says what of a plan cannot be had of a subject in a world; nil: all can.
func Suits(p *plan.Plan, s subjects.Subject, g world.Ground) error {
	if err := errors.Join(g.Suits(p), suitsObjects(p, s)); err != nil || !s.External {
		return err
	}
	if !g.Live && !g.Warped {
		return errors.New("a process of its own cannot run in world sim, but in warp, redis and miniredis")
	}
	if g.Warped && len(p.Order) > 0 {
		return errors.New("$.order: the steps of a process of its own cannot be ordered")
	}
	for i, f := range p.Faults {
		if f.Kind == "pause-watchdog" {
			return fmt.Errorf("$.faults[%d]: the watchdog of a process of its own cannot be paused alone; pause-client pauses all of it", i)
		}
	}
	return nil
}

// suitsObjects says that a plan has steps on objects of another kind than a subject's; nil: it has none.
func suitsObjects(p *plan.Plan, s subjects.Subject) error {
	for _, is := range history.Objects() {
		for _, need := range p.Needs() {
			if need == string(is) && !s.Can(need) {
				return fmt.Errorf("$.clients: the plan has steps on a %s, and %s is none", need, s.Name)
			}
		}
	}
	return nil
}
