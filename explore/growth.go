package explore

import "slices"

// Growth gathers how much a search came to know in the course of its runs. The zero value is ready; it is for one goroutine.
type Growth struct{ parts []growthPart }

type growthPart struct {
	shard  Shard
	report Report
}

// Step is what was known after so many runs: different goals, states of the lock, and causes for which it is to blame.
type Step struct{ Runs, Goals, States, Found int }

// maxSteps bounds what [Growth.Steps] returns.
const maxSteps = 200

// Add adds a shard and what came out of it.
func (g *Growth) Add(s Shard, r Report) {
	r.Samples = nil // they are not counted, and large
	g.parts = append(g.parts, growthPart{s, r})
}

// Steps returns what was known after each shard, or after so many that there are no more than a page can show. Shards
// are in the order of their seeds, and not in that in which they ended, so that the same search returns the same.
func (g *Growth) Steps() []Step {
	slices.SortStableFunc(g.parts, func(a, b growthPart) int {
		switch {
		case a.shard.From < b.shard.From:
			return -1
		case a.shard.From > b.shard.From:
			return 1
		}
		return 0
	})
	every := (len(g.parts) + maxSteps - 1) / maxSteps
	known := newTotal()
	var steps []Step
	for i, p := range g.parts {
		known.add(p.report)
		if last := i == len(g.parts)-1; last || (i+1)%every == 0 {
			steps = append(steps, Step{Runs: known.Runs, Goals: len(known.Reached), States: len(known.Visited), Found: len(known.Found)})
		}
	}
	return steps
}
