package plan_test

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

func TestWithoutReentriesTheirUnlocksGoToo(t *testing.T) {
	program := func(words ...string) *plan.Plan {
		var steps []plan.Step
		for i := 0; i < len(words); i += 2 {
			steps = append(steps, plan.Step{Do: plan.Action(words[i]), Lock: words[i+1]})
		}
		return &plan.Plan{Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: steps}}}}}
	}
	tests := []struct {
		from, to *plan.Plan
		needs    []string
	}{
		{program("lock", "a", "work", "a", "unlock", "a"), program("lock", "a", "work", "a", "unlock", "a"), nil},
		{program("lock", "a", "tryLock", "a", "work", "a", "unlock", "a", "unlock", "a", "lock", "a"),
			program("lock", "a", "work", "a", "unlock", "a", "lock", "a"), []string{plan.NeedsReentrant}},
		{program("lock", "a", "lock", "b", "lock", "a", "unlock", "a", "unlock", "b", "unlock", "a"),
			program("lock", "a", "lock", "b", "unlock", "b", "unlock", "a"), []string{plan.NeedsReentrant}},
		{program("unlock", "a", "lock", "a", "holdCount", "a"), program("unlock", "a", "lock", "a"), []string{plan.NeedsInspect}},
	}
	for i, tt := range tests {
		if got := tt.from.Needs(); !slices.Equal(got, tt.needs) {
			t.Errorf("%d needs %q, not %q", i, got, tt.needs)
		}
		before := string(tt.from.JSON())
		got := tt.from.Without(plan.NeedsReentrant).Without(plan.NeedsInspect)
		if string(got.JSON()) != string(tt.to.JSON()) {
			t.Errorf("%d: %s", i, got.JSON())
		}
		if string(tt.from.JSON()) != before {
			t.Errorf("%d was changed", i)
		}
	}
}
