package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Options tune a judgement. The zero value is usable.
type Options struct {
	// Expect is what the scenario expects; nil: nothing in particular.
	Expect Expectation

	// Unpredicted says that nobody has foretold how this lock fares in the run: it is held to what it
	// claims. A guarantee may then break, but by nothing that the lock answers for. Faults may miss.
	Unpredicted bool
	// Told says that the plan is a story of its teller's: also of an unpredicted run the verdict says which of its
	// faults never struck.
	Told bool

	// Model is the lock that object is judged against; the zero value is what the history's subject
	// claims to be, [ModelOf].
	Model model.Kind

	// Budget is the wall time that one searching checker may spend on one lock. 0 means
	// [DefaultBudget]. The witness replay and the interval checker need none.
	Budget time.Duration

	// Memory is about how many bytes one searching checker may remember of failed attempts on one
	// lock. 0 means [DefaultMemory].
	Memory int64

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

// judges are who answers for each guarantee of locks. Their order is that of [Guarantees].
func judges() map[contract.Guarantee]judge {
	return map[contract.Guarantee]judge{
		contract.Object:    judgeObject,
		contract.Exclusion: judgeExclusion,
		contract.Effect:    judgeEffect,
		contract.Fencing:   judgeFencing,
		contract.Watchdog:  judgeWatchdog,
		contract.Liveness:  judgeLiveness,
	}
}

// Judge answers every guarantee for one history. It never changes h, and may be called
// concurrently. A cancelled ctx ends it early, which leaves guarantees undecided.
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
		Object:   judged(h),
		Story:    []Moment{},
		Refused:  assumptions(h),
		Missed:   words.Missed(h),
		Unstruck: words.Unstruck(h),
		Ops:      len(h.Ops),
		Virtual:  h.Over(),
	}
	if h.End != nil {
		v.Messages, v.Trace, v.Error = h.End.Messages, h.End.Trace, h.End.Error
	}

	if len(v.Refused) > 0 {
		for _, g := range contract.Guarantees() {
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
		v.unpredicted()
		if !o.Told {
			v.Missed = nil // the story is of another lock, which does what the faults wait for
		}
	}
	v.Story = tell(f, v.Results)
	v.Explanation = explain(f, v)
	return v
}

// judged names what a history is of, if it is no lock.
func judged(h *history.History) string {
	kinds := make(map[history.Object]bool)
	for _, o := range h.Objects() {
		kinds[o] = true
	}
	switch {
	case !kinds[history.ASemaphore]:
		return ""
	case len(kinds) == 1:
		return string(history.ASemaphore)
	}
	return "object"
}

// unpredicted expects what broke, and nothing of what did not.
func (v *Verdict) unpredicted() {
	for i := range v.Results {
		r := &v.Results[i]
		if r.Expected = ""; r.Status == Broken {
			r.Expected = Broken
		}
	}
}

// ModelOf returns the lock that a history is of: a reentrant one with leases, unless its header says
// what the subject can, and re-entry is not of it. One that keeps the longest lease does so in renewals, too.
func ModelOf(h *history.History) model.Kind {
	if len(h.Header.Abilities) > 0 && !h.Can("reentrant") {
		return model.Exclusive
	}
	if h.Can(string(contract.KeepsLongest)) {
		return model.Keeping
	}
	return model.Lease
}

func (o Options) limits() linear.Limits { return linear.Limits{Budget: o.Budget, Memory: o.Memory} }

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
	kinds := f.kinds()
	for _, g := range contract.Guarantees() {
		r := Result{Status: Undecided, Summary: "not judged: it was cancelled"}
		if ctx.Err() == nil {
			r = judgeAll(ctx, f, g, kinds)
		}
		if r.Status == Holds && f.nothingTried() {
			r = notClaimed("nothing was tried: every call that asked for a lock ended in an error")
		}
		r.Guarantee, r.Expected = g, f.options.Expect[g]
		if f.h.End == nil && r.Expected == Broken && (r.Status == Holds || r.Status == NotClaimed) {
			r.Status, r.Summary = Undecided, "not broken until the run was killed: "+r.Summary
		}
		list = append(list, r)
	}
	return list
}

// nothingTried reports whether all calls of the plan that asked for a lock ended in an error.
func (f *facts) nothingTried() bool {
	if len(f.h.Header.Plan) == 0 {
		return false
	}
	failed := false
	for i := range f.h.Ops {
		op := &f.h.Ops[i]
		if !callsFor(op) || f.fresh(op.Client, op.Call) {
			continue
		}
		if op.Outcome != history.Failed && op.Outcome != history.Unknown {
			return false
		}
		failed = true
	}
	return failed
}

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
