package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Options tune a judgement. The zero value is usable.
type Options struct {
	// Expect is what the scenario expects; nil: nothing in particular.
	Expect Expectation

	// Unpredicted says that nobody has foretold how this lock fares in the scenario: it is held to what
	// it claims. Expect is then what breaks for every lock; that may break or hold. Besides, a guarantee
	// may break by the failure of something that every lease lock assumes ([Cause].Assumption), unless
	// the lock claims to tell its holders in time ("lost"), and faults that strike what it does not do
	// may miss.
	Unpredicted bool

	// Model is the lock that object is judged against; the zero value is what the history's subject
	// claims to be, [ModelOf].
	Model model.Kind

	// Budget is the wall time that one searching checker may spend on one lock. 0 means
	// [DefaultBudget]. The witness replay and the interval checker need none.
	Budget time.Duration

	// Memory is about how many bytes one searching checker may remember of failed attempts on one
	// lock. 0 means [DefaultMemory].
	Memory int64

	// Known says where it is documented that a call of the lock under test takes effect twice if one of those
	// faults breaks its connection and it is sent again; "" if it is nowhere. Nil: nothing is known. A [Stream]
	// expects what is known.
	Known func(call history.Op, faults []history.Fault) string

	// Also is one more opinion of object, somebody else's: Holds, Broken, or anything else for none. If it is not
	// that of the checkers here, they disagree. It may be called for parts of a history, and concurrently. Nil: there is none.
	Also func(h *history.History) Status

	// Sparing asks porcupine only about what another checker refuses.
	Sparing bool
}

// DefaultMemory is a part of what a small machine has, and more than any search used that ended.
const DefaultMemory = 256 << 20

// DefaultBudget is long enough for every history that porcupine is asked about (see
// [porcupineOps]) by more than ten times, so that a slow machine does not change a verdict.
const DefaultBudget = 5 * time.Second

// judges is the registry: who answers for each guarantee. Their order is that of [Guarantees].
func judges() map[Guarantee]func(context.Context, *facts) Result {
	return map[Guarantee]func(context.Context, *facts) Result{
		Object:    judgeObject,
		Exclusion: judgeExclusion,
		Effect:    judgeEffect,
		Fencing:   judgeFencing,
		Watchdog:  judgeWatchdog,
		Liveness:  judgeLiveness,
	}
}

// Judge answers every guarantee for one history. It never changes h, and may be called
// concurrently. A cancelled ctx ends the searching checkers early, which leaves their guarantee
// undecided.
//
// A history that does not meet what the checkers assume is not judged: Verdict.Refused says why,
// and every result is Undecided.
func Judge(ctx context.Context, h *history.History, o Options) *Verdict {
	o = o.withDefaults(h)
	v := &Verdict{
		Version:  VerdictVersion,
		Scenario: h.Header.Scenario,
		Subject:  h.Header.Subject,
		World:    h.Header.World,
		Seed:     h.Header.Seed,
		Story:    []Moment{},
		Refused:  assumptions(h),
		Missed:   missed(h),
		Ops:      len(h.Ops),
		Virtual:  endOf(h),
	}
	if h.End != nil {
		v.Messages, v.Trace, v.Error = h.End.Messages, h.End.Trace, h.End.Error
	}

	if len(v.Refused) > 0 {
		for _, g := range Guarantees() {
			v.Results = append(v.Results, Result{Guarantee: g, Status: Undecided, Expected: o.Expect[g],
				Summary: "not judged, because the history was refused"})
		}
		v.Explanation = fmt.Sprintf("The history was refused before checking: %s.", v.Refused[0])
		return v
	}

	f := collect(h, o)
	v.Results = results(ctx, f)
	v.Disagreement = f.disagreement
	if o.Unpredicted {
		v.excuse(h)
	}
	v.Story = tell(f, v.Results)
	v.Explanation = explain(f, v)
	return v
}

// excuse expects what broke, where that may be, and nothing of what did not.
func (v *Verdict) excuse(h *history.History) {
	v.Missed = nil
	for i := range v.Results {
		r := &v.Results[i]
		switch {
		case r.Status != Broken:
			r.Expected = ""
		case r.Assumed() && !h.Can("lost"):
			r.Expected = Broken
		}
	}
}

// ModelOf returns the lock that a history is of: a reentrant one with leases, unless its header says
// what the subject can, and re-entry is not of it.
func ModelOf(h *history.History) model.Kind {
	if len(h.Header.Abilities) > 0 && !h.Can("reentrant") {
		return model.Exclusive
	}
	return model.Lease
}

func (o Options) withDefaults(h *history.History) Options {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Model == "" {
		o.Model = ModelOf(h)
	}
	return o
}

// results has every guarantee judged.
func results(ctx context.Context, f *facts) []Result {
	var list []Result
	all := judges()
	for _, g := range Guarantees() {
		r := all[g](ctx, f)
		r.Guarantee, r.Expected = g, f.options.Expect[g]
		list = append(list, r)
	}
	return list
}

// maxViolations bounds how many violations of one guarantee are kept: the first ones tell the
// story, a lock that is broken throughout would fill the disk. The summary has the whole number.
const maxViolations = 16

// violations are those of one guarantee, of which only the first are kept, and only those made
// into words.
type violations struct {
	first []Violation
	all   int
}

// add counts one more violation.
func (v *violations) add(what func() Violation) {
	if v.all++; len(v.first) < maxViolations {
		v.first = append(v.first, what())
	}
}

// addAt counts a violation that begins at a time; those are first that begin first.
func (v *violations) addAt(from time.Duration, what func() Violation) {
	v.all++
	i := len(v.first)
	for i > 0 && v.first[i-1].From > from {
		i--
	}
	if i < maxViolations {
		v.first = slices.Insert(v.first[:min(len(v.first), maxViolations-1)], i, what())
	}
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
