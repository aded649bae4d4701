package scenarios_test

import (
	"testing"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
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
