package locktest

import (
	"testing"
	"time"

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

// When the time of a test is nearly over, no smaller plan is looked for, and none is run.
func TestNoSmallerPlanIsLookedForWhenTimeIsOver(t *testing.T) {
	p := &plan.Plan{Version: plan.Version, Name: "kept", Clients: []plan.Client{
		{Name: "c1", Threads: []plan.Thread{{ID: 1}}}, {Name: "c2", Threads: []plan.Thread{{ID: 1}}}}}
	s := &suite{options: &options{}, until: time.Now().Add(-time.Second)}
	if smallest, tried := s.shrink(nil, &trial{name: "kept", plan: p, history: &history.History{End: &history.End{}}}, contract.Object, fault{}); tried != 0 || len(smallest.Clients) != 2 {
		t.Errorf("%d plans were tried, and %d clients are left", tried, len(smallest.Clients))
	}
	s.hurry(t)
	end, ok := t.Deadline()
	switch {
	case !ok && !s.until.Before(time.Now()):
		t.Error("go test sets no end, and one was set")
	case ok && (s.late() || !s.until.Before(end)):
		t.Errorf("help is looked for until %v, and the test ends at %v", s.until, end)
	}
}
