package explore_test

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/explore"
)

// What was known after a run does not depend on which worker was done first.
func TestGrowthIsInTheOrderOfSeeds(t *testing.T) {
	parts := []struct {
		from   uint64
		report explore.Report
	}{
		{1, explore.Report{Runs: 25, Goals: []explore.Reached{{Goal: "a", Runs: 1, Seed: 3}}}},
		{26, explore.Report{Runs: 25, Goals: []explore.Reached{{Goal: "a", Runs: 2, Seed: 26}, {Goal: "b", Runs: 1, Seed: 30}},
			States: []explore.Visit{{LockState: explore.LockState{Step: "expiry"}, Times: 4}}}},
		{51, explore.Report{Runs: 25, Found: []explore.Found{{Accusation: explore.Accusation{Guarantee: "object"}, Runs: 1, Seed: 60}}}},
	}
	want := []explore.Step{{Runs: 25, Goals: 1}, {Runs: 50, Goals: 2, States: 1}, {Runs: 75, Goals: 2, States: 1, Found: 1}}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		var g explore.Growth
		for _, i := range order {
			g.Add(explore.Shard{From: parts[i].from}, parts[i].report)
		}
		if got := g.Steps(); !slices.Equal(got, want) {
			t.Errorf("%v: %v", order, got)
		}
	}
	if got := (&explore.Growth{}).Steps(); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// However long a search is, its page has few steps, and the last is the whole.
func TestGrowthIsBounded(t *testing.T) {
	var g explore.Growth
	for i := range uint64(1001) {
		g.Add(explore.Shard{From: i}, explore.Report{Runs: 1})
	}
	if got := g.Steps(); len(got) > 200 || got[len(got)-1].Runs != 1001 {
		t.Errorf("%d steps, the last %v", len(got), got[len(got)-1])
	}
}
