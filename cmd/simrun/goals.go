package main

import (
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/reports"
)

// goals are those that the search can reach, as far as that is known. A strategy that takes a plan apart reaches what the plan
// has: nothing is expected of it.
func (h hunt) goals() []contract.Goal {
	if strategy, _ := explore.FindStrategy(h.strategy); strategy.Whole {
		return nil
	}
	s, _ := findSubject(h.subject)
	return explore.GoalsOf(s, h.config.Scope)
}

func namesOf(some []contract.Goal) []string {
	var names []string
	for _, g := range some {
		names = append(names, g.Name)
	}
	return names
}

// goalsOf lists the goals that a search reached, and those that it could have.
func (h hunt) goalsOf(t explore.Total) []reports.Goal {
	s, _ := findSubject(h.subject)
	return t.GoalList(s.Goals, h.goals())
}

// tellGoals says which goals were reached, and which were not.
func (h hunt) tellGoals(w io.Writer, t explore.Total) {
	var never []string
	all := h.goalsOf(t)
	for _, g := range all {
		if g.Runs == 0 {
			never = append(never, g.Goal)
		}
	}
	say(w, "goals reached: %d of %d", len(all)-len(never), len(all))
	if t.Looked < t.Runs-t.Failed {
		say(w, " (looked for in %s runs; an older program did the others)", reports.Thousands(t.Looked))
	}
	say(w, "\n")
	if h.verbose {
		for _, g := range all {
			if g.Runs > 0 {
				say(w, "  %-40s %6s, first by seed %d\n", g.Goal, reports.Thousands(g.Runs), g.Seed)
			}
		}
	}
	if len(never) > 0 {
		say(w, "%s\n", indent("never: "+strings.Join(never, ", "), 2, wide-2))
	}
}
