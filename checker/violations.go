package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
)

// MaxViolations bounds how many violations of one guarantee are kept: the first ones tell the
// story, a lock that is broken throughout would fill the disk. The summary has the whole number.
const MaxViolations = 16

// maxRuled bounds how many violations of one guarantee are ruled on while none is a defect.
const maxRuled = 4096

// violations are those of one guarantee, of which only the first are kept, and only those made
// into words. A defect is kept, though what came before it was none.
type violations struct {
	f      *facts
	g      contract.Guarantee
	first  []Violation
	all    int
	defect bool // among the first
}

// found is none yet of a guarantee.
func (f *facts) found(g contract.Guarantee) violations { return violations{f: f, g: g} }

// add counts one more violation.
func (v *violations) add(what func() Violation) {
	if v.all++; len(v.first) < MaxViolations || !v.defect && v.all <= maxRuled {
		v.keep(len(v.first), what())
	}
}

// addAt counts a violation that begins at a time; those are first that begin first.
func (v *violations) addAt(from time.Duration, what func() Violation) {
	v.all++
	i := len(v.first)
	for i > 0 && v.first[i-1].From > from {
		i--
	}
	if i < MaxViolations || !v.defect && v.all <= maxRuled {
		v.keep(i, what())
	}
}

// keep puts a violation into its place. Where there is no place left the last one goes, unless that is the only
// defect.
func (v *violations) keep(i int, x Violation) {
	v.f.complete(v.g, &x)
	if len(v.first) < MaxViolations {
		v.first = slices.Insert(v.first, i, x)
	} else {
		last := v.first[MaxViolations-1]
		alone := last.Ruling.Kind == Defect && !slices.ContainsFunc(v.first[:MaxViolations-1], func(y Violation) bool { return y.Ruling.Kind == Defect })
		switch {
		case alone && x.Ruling.Kind != Defect:
			return
		case i < MaxViolations:
			v.first = slices.Insert(v.first[:MaxViolations-1], i, x)
		case x.Ruling.Kind == Defect && !v.defect:
			v.first[MaxViolations-1] = x
		}
	}
	v.defect = v.defect || x.Ruling.Kind == Defect
}

// conclude makes a result of the violations found: Broken if there are any.
func conclude(by, whenHeld, whenBroken string, found violations) Result {
	r := Result{Status: Holds, By: by, Summary: whenHeld}
	if found.all > 0 {
		r.Status, r.Summary, r.Violations = Broken, whenBroken, found.first
	}
	return r
}

// notClaimed is the result for a guarantee that cannot be asked of this run.
func notClaimed(why string) Result { return Result{Status: NotClaimed, Summary: why} }

// someOf are as many violations as are kept, a defect among them if there is one.
func someOf(all []Violation) []Violation {
	if len(all) <= MaxViolations {
		return all
	}
	some := slices.Clone(all[:MaxViolations])
	defect := func(v Violation) bool { return v.Ruling.Kind == Defect }
	if i := slices.IndexFunc(all, defect); i >= MaxViolations {
		some[MaxViolations-1] = all[i]
	}
	return some
}

func appendNew[T comparable](list []T, items ...T) []T {
next:
	for _, item := range items {
		for _, known := range list {
			if known == item {
				continue next
			}
		}
		list = append(list, item)
	}
	return list
}

func count(n int, what string) string { return words.Count(n, what) }
