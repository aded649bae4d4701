package explore

import (
	"cmp"
	"slices"

	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Reached is a goal that was reached: in how many runs, and by which seed first.
type Reached struct {
	Goal string `json:"goal"`
	Runs int    `json:"runs"`
	Seed uint64 `json:"seed"`
}

// Goals are the goals that were reached, by name.
type Goals map[string]Reached

// Add counts the goals that the run of a seed came to.
func (g Goals) Add(names []string, seed uint64) {
	for _, name := range names {
		g.merge(Reached{name, 1, seed})
	}
}

// Merge adds counts.
func (g Goals) Merge(some []Reached) {
	for _, r := range some {
		g.merge(r)
	}
}

func (g Goals) merge(r Reached) {
	if known, ok := g[r.Goal]; ok {
		r.Runs, r.Seed = r.Runs+known.Runs, min(r.Seed, known.Seed)
	}
	g[r.Goal] = r
}

// Counts returns the goals as a list, sorted by name.
func (g Goals) Counts() []Reached {
	var all []Reached
	for _, r := range g {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Reached) int { return cmp.Compare(a.Goal, b.Goal) })
	return all
}

// Missing are those of some goals that were not reached.
func (g Goals) Missing(of []contract.Goal) []contract.Goal {
	return slices.DeleteFunc(slices.Clone(of), func(one contract.Goal) bool { return g[one.Name].Runs > 0 })
}

// GoalList lists the goals that were reached, and those of can that were not: in the order of the table, the lock's own last.
func (t Total) GoalList(own, can []contract.Goal) []reports.Goal {
	list := []reports.Goal{}
	for _, g := range append(goals.All(), own...) {
		r := t.Reached[g.Name]
		if r.Runs > 0 || slices.ContainsFunc(can, func(c contract.Goal) bool { return c.Name == g.Name }) {
			list = append(list, reports.Goal{Goal: g.Name, Means: g.Means, Runs: r.Runs, Seed: r.Seed})
		}
	}
	return list
}

// GoalsOf are the goals that drawn plans of a scope can come to with a lock, as far as that is known beforehand: those that
// there are for all, and then the lock's own.
func GoalsOf(s subjects.Subject, scope scenarios.Scope) []contract.Goal {
	scope = ScopeFor(s, scope)
	has := func(ability string) bool {
		if ability == string(contract.Idempotent) && forgets(s) {
			return false
		}
		return s.Can(ability) || slices.Contains(s.Unclaimed, ability) ||
			ability == string(history.ALock) && s.Object == history.ARWLock || // whose holds are those of a lock
			ability == goals.Counted && s.Object.Counted() ||
			ability == goals.Grouped && len(s.Groups) > 0 ||
			ability == goals.Held && s.Object != history.ASemaphore && s.Object != history.ALatch ||
			ability == goals.Expires && s.Object != history.ASemaphore ||
			ability == goals.Listens && (s.Unsubscribed > 0 || s.SilenceNoticed > 0 || s.Object == history.ASemaphore || s.Object == history.APermitSemaphore) ||
			ability == goals.Unread && (s.External || s.Layout.Unknown != "") ||
			ability == goals.Readable && s.Layout.Unknown == ""
	}
	effects := effectsOf(scope.Faults)
	if scope.Altered && s.Object == history.ARWLock { // programs force it free
		effects = append(effects, history.ForcedFree)
	}
	r := goals.Reach{Has: has, Claims: func(c contract.Claim) bool { return s.Can(string(c)) }, Effects: effects, Forgets: forgets(s)}
	return append(r.Of(goals.All()), s.Goals...)
}

// effectsOf lists what faults of some kinds can do, however a plan asks for them.
func effectsOf(kinds []string) []history.Effect {
	var all []history.Effect
	for _, name := range kinds {
		kind, ok := fault.Find(name)
		if !ok {
			continue
		}
		for _, f := range []plan.Fault{{Kind: name}, {Kind: name, Reset: true}, {Kind: name, Data: "all"}} {
			for _, e := range kind.Effects(f) {
				if !slices.Contains(all, e) {
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// forgets reports whether a lock is documented not to be idempotent in some calls, though it claims to be in others.
func forgets(s subjects.Subject) bool {
	return slices.ContainsFunc(s.Limitations, func(l history.Limitation) bool { return l.Claim == string(contract.Idempotent) })
}
