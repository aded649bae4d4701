package scenarios_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// The catalogue has every kind of fault strike on every step on which it can, with every outcome
// that it can have there.
func TestTheCatalogueReachesEveryCell(t *testing.T) {
	covered := fault.Coverage{}
	for _, s := range subjects.All() {
		for _, sc := range scenarios.All() {
			h, v := judged(t, sc.Plan(1), s, 1)
			covered.Add(h)
			if len(v.Missed) > 0 {
				t.Errorf("%s/%s: %q", sc.Name, s.Name, v.Missed)
			}
		}
	}
	for _, c := range covered.Missing() {
		t.Errorf("%s never struck on %s with the outcome %s", c.Kind, c.On, c.Outcome)
	}
}

func TestSharedObjectsOfTheirOwnAreAddedToDrawnPlans(t *testing.T) {
	for object, name := range map[history.Object]string{history.ASemaphore: "{pool}-beside", history.APermitSemaphore: "{pool}-beside", history.ALatch: "gate-beside"} {
		scope := scenarios.Whole()
		scope.Object = object
		n := 0
		for seed := range uint64(300) {
			if slices.Contains(scenarios.DrawnBy(seed, scope).Locks(), name) {
				n++
			}
		}
		if n < 20 {
			t.Errorf("%q: %d of 300 plans have one of its own", object, n)
		}
	}
}

// What few draws would bring about is added to some plans of each kind of lock.
func TestWhatIsAddedToDrawnPlansIsThere(t *testing.T) {
	for _, object := range []history.Object{"", history.ARWLock} {
		scope := scenarios.Whole()
		scope.Object = object
		var idle, late, beside, stories int
		for seed := range uint64(600) {
			p := scenarios.DrawnBy(seed, scope)
			rests := false
			if slices.Contains(p.Locks(), "{lock}-beside") {
				stories++
			}
			for _, c := range p.Clients {
				for _, th := range c.Threads {
					if th.ID == 21 {
						beside++
					}
					rests = rests || slices.ContainsFunc(th.Steps, func(s plan.Step) bool { return s.Do == plan.Sleep && s.For >= plan.Duration(20*time.Second) })
				}
			}
			if n := len(p.Faults); n > 0 && p.Faults[n-1].When != nil {
				switch f := p.Faults[n-1]; {
				case rests && f.Kind == "drop-message" && f.When.Reply == plan.Acquire:
					idle++
				case f.Kind == "delay-message" && f.When.Reply == plan.Renewal && f.By > plan.Duration(2*time.Second):
					late++
				}
			}
		}
		if idle < 3 || late < 3 || beside < 3 || stories < 100 {
			t.Errorf("%q: owners that idle after a grant they did not hear of in %d plans, renewals heard of late in %d, waiters beside each other in %d, a lock of its own in %d",
				object, idle, late, beside, stories)
		}
	}
}
