package locktest

import (
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A plan of which no smaller one breaks the same keeps its name and story: other guarantees are told of by it.
func TestLookingForASmallerPlanLeavesThePlanAsItIs(t *testing.T) {
	p := &plan.Plan{Version: plan.Version, Name: "kept", Story: "of a lock", Clients: []plan.Client{{Name: "c1"}}}
	s := &suite{options: &options{}, stopAt: true} // no plan is run, so that none breaks anything
	t1 := &trial{name: "kept", plan: p, history: &history.History{End: &history.End{}}}
	smallest, _ := s.shrink(nil, t1, contract.Object, fault{})
	if p.Name != "kept" || p.Story != "of a lock" || smallest.Name != "kept-shrunk" {
		t.Errorf("%q, %q; the smallest: %q", p.Name, p.Story, smallest.Name)
	}
}
