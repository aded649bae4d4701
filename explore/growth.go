package explore

import (
	"cmp"
	"slices"
)

// Growth gathers how much a search came to know in the course of its runs. Of a shard it keeps some bytes. The zero value is ready; it
// is for one goroutine.
type Growth struct {
	parts []growthPart
	// The first part that reached or found each.
	goals, found map[string]int
	states       map[LockState]int
}

type growthPart struct {
	from uint64 // seed
	runs int
}

// Step is what was known after so many runs: different goals, states of the lock, and causes for which it is to blame.
type Step struct{ Runs, Goals, States, Found int }

// maxSteps bounds what [Growth.Steps] returns.
const maxSteps = 200

// Add adds a shard and what came out of it.
func (g *Growth) Add(s Shard, r Report) {
	if g.goals == nil {
		g.goals, g.states, g.found = map[string]int{}, map[LockState]int{}, map[string]int{}
	}
	part := len(g.parts)
	g.parts = append(g.parts, growthPart{s.From, r.Runs})
	for _, reached := range r.Goals {
		first(g, g.goals, reached.Goal, part)
	}
	for _, v := range r.States {
		first(g, g.states, v.LockState, part)
	}
	for _, f := range r.Found {
		first(g, g.found, f.Cause(), part)
	}
}

func first[K comparable](g *Growth, of map[K]int, name K, part int) {
	if was, known := of[name]; !known || g.parts[part].from < g.parts[was].from {
		of[name] = part
	}
}

// Steps returns what was known after each shard, or after so many that there are no more than a page can show. Shards
// are in the order of their seeds, and not in that in which they ended, so that the same search returns the same.
func (g *Growth) Steps() []Step {
	order := make([]int, len(g.parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.parts[a].from, g.parts[b].from) })
	every := (len(order) + maxSteps - 1) / maxSteps
	news := make([]Step, len(g.parts)) // what each part has that none before it had
	for i, p := range g.parts {
		news[i].Runs = p.runs
	}
	for _, part := range g.goals {
		news[part].Goals++
	}
	for _, part := range g.states {
		news[part].States++
	}
	for _, part := range g.found {
		news[part].Found++
	}
	var known Step
	var steps []Step
	for i, part := range order {
		n := news[part]
		known = Step{known.Runs + n.Runs, known.Goals + n.Goals, known.States + n.States, known.Found + n.Found}
		if last := i == len(order)-1; last || (i+1)%every == 0 {
			steps = append(steps, known)
		}
	}
	return steps
}
