package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// stepView is what one member of a group did for a call.
type stepView struct {
	At, Server, Step, Reply string
	Lost                    bool
}

// stepsShown is how many steps of a call a page has.
const stepsShown = 60

// groupSteps are the steps on the members of groups, by the calls that they are parts of: a call of a group is one
// operation, and its steps are folded into it.
func groupSteps(h *history.History, ops []history.Op) map[int64][]stepView {
	shown := make(map[int64]bool)
	for _, op := range ops {
		if members, _ := membersOf(h, op.Lock); len(members) > 0 {
			shown[op.ID] = true
		}
	}
	steps := make(map[int64][]stepView)
	for _, s := range h.Served {
		if !shown[s.Op] || s.Lock == "" || len(steps[s.Op]) == stepsShown {
			continue
		}
		steps[s.Op] = append(steps[s.Op], stepView{At: checker.Stamp(s.At), Server: name(s.Server), Step: Visible(string(s.Step)),
			Reply: shorten(Visible(s.Reply), 80), Lost: s.Got == 0})
	}
	return steps
}

// serversOf names the servers of steps, s2 before s10.
func serversOf(steps []stepView) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Server)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return strings.Join(slices.Compact(names), ", ")
}
