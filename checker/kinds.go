package checker

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A judge answers a guarantee for all objects of one kind.
type judge func(context.Context, *facts) Result

// An objectKind is what is special about one kind of object.
type objectKind struct {
	object history.Object
	noun   string // in "an assumption of every lease lock"
	of     func(*facts) []*lockFacts
	judges map[contract.Guarantee]judge
	tell   func(*teller, *lockFacts) // its moments of the story
	grants func(*lockFacts) int      // how many there were
	grant  string                    // what one is called
}

// objectKinds is the registry of the kinds of objects, in the order in which they are judged and told.
func objectKinds() []objectKind {
	return []objectKind{
		{history.ALock, "lease lock", func(f *facts) []*lockFacts { return f.of(history.ALock) }, judges(),
			func(t *teller, l *lockFacts) { t.holds(l); t.calls(l); t.events(l) },
			func(l *lockFacts) int { return len(l.beliefs) }, "hold"},
		{history.ASemaphore, "semaphore", func(f *facts) []*lockFacts { return f.of(history.ASemaphore) }, permitJudges(),
			(*teller).permits, grantsOf, "grant"},
		{history.APermitSemaphore, "permit semaphore", func(f *facts) []*lockFacts { return f.of(history.APermitSemaphore) }, leaseJudges(),
			(*teller).leases, grantsOf, "grant"},
		{history.ALatch, "latch", func(f *facts) []*lockFacts { return f.of(history.ALatch) }, latchJudges(),
			(*teller).latch, passesOf, "passage"},
	}
}

// kinds are those of which the history has objects; locks, if it has none at all.
func (f *facts) kinds() []objectKind {
	all := objectKinds()
	some := slices.DeleteFunc(slices.Clone(all), func(k objectKind) bool { return len(k.of(f)) == 0 })
	if len(some) == 0 {
		return all[:1]
	}
	return some
}

// called is what the objects of the history are called.
func (f *facts) called() (object, sort string) {
	kinds := f.kinds()
	if len(kinds) > 1 {
		return "object", "such object"
	}
	if all := kinds[0].of(f); len(all) > 0 && !slices.ContainsFunc(all, func(l *lockFacts) bool { return l.object == history.ALock }) {
		return string(all[0].object), kinds[0].noun // a read-write lock is a lease lock
	}
	return string(kinds[0].object), kinds[0].noun
}

// judgeAll is what the judges of all kinds of objects in the history say of a guarantee.
func judgeAll(ctx context.Context, f *facts, g contract.Guarantee, kinds []objectKind) Result {
	all := make([]Result, len(kinds))
	for i, k := range kinds {
		all[i] = k.judges[g](ctx, f)
	}
	if len(all) == 1 {
		return all[0]
	}
	// What is claimed of one kind alone is said of that one.
	if claimed := slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.Status == NotClaimed }); len(claimed) > 0 {
		all = claimed
	}
	sum := Result{Status: all[0].Status}
	var by, says []string
	for _, r := range all {
		if r.Status != NotClaimed {
			sum.Status = worseStatus(sum.Status, r.Status)
		}
		if r.By != "" {
			by = appendNew(by, r.By)
		}
		says = appendNew(says, r.Summary)
		sum.Violations = append(sum.Violations, r.Violations...)
	}
	sum.By, sum.Summary, sum.Violations = strings.Join(by, ", "), strings.Join(says, "; "), someOf(sum.Violations)
	return sum
}

// grantedText says how many grants there were.
func (f *facts) grantedText() string {
	var says []string
	for _, k := range f.kinds() {
		n := 0
		for _, l := range k.of(f) {
			n += k.grants(l)
		}
		says = append(says, count(n, k.grant))
	}
	return strings.Join(says, " and ")
}
