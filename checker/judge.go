package checker

import (
	"context"
	"fmt"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judges are who answers for each guarantee of locks. Their order is that of [Guarantees].
func judges() map[contract.Guarantee]judge {
	return map[contract.Guarantee]judge{
		contract.Object:    judgeObject,
		contract.Exclusion: judgeExclusion,
		contract.Effect:    judgeEffect,
		contract.Fencing:   judgeFencing,
		contract.Watchdog:  judgeWatchdog,
		contract.Liveness:  judgeLiveness,
		contract.Fairness:  judgeFairness,
	}
}

// unclaimed is the judge of what a kind of object cannot claim.
func unclaimed(why string) judge {
	return func(context.Context, *facts) Result { return notClaimed(why) }
}

// permitJudges are who answers for each guarantee of semaphores.
func permitJudges() map[contract.Guarantee]judge {
	return map[contract.Guarantee]judge{
		contract.Object:    judgeCounted(history.ASemaphore),
		contract.Exclusion: judgeBound(history.ASemaphore),
		contract.Effect:    unclaimed("a semaphore lets several in at once, so that no update is its to protect"),
		contract.Fencing:   unclaimed("permits carry no fencing tokens"),
		contract.Watchdog:  unclaimed("permits have no lease"),
		contract.Liveness:  judgePermitsLiveness(history.ASemaphore),
		contract.Fairness:  unclaimed("a semaphore promises no order"),
	}
}

// leaseJudges are who answers for each guarantee of permit semaphores.
func leaseJudges() map[contract.Guarantee]judge {
	all := permitJudges()
	all[contract.Object] = judgeCounted(history.APermitSemaphore)
	all[contract.Exclusion] = judgeBound(history.APermitSemaphore)
	all[contract.Liveness] = judgePermitsLiveness(history.APermitSemaphore)
	all[contract.Watchdog] = unclaimed("nobody renews the lease of a permit by itself")
	return all
}

// latchJudges are who answers for each guarantee of latches.
func latchJudges() map[contract.Guarantee]judge {
	return map[contract.Guarantee]judge{
		contract.Object:    judgeCounted(history.ALatch),
		contract.Exclusion: judgePassing,
		contract.Effect:    unclaimed("a latch keeps nobody from a resource but those who wait for it"),
		contract.Fencing:   unclaimed("a latch gives no fencing tokens"),
		contract.Watchdog:  unclaimed("a latch has no lease that its clients renew"),
		contract.Liveness:  judgeLatchLiveness,
		contract.Fairness:  unclaimed("a latch lets everybody through at once"),
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
		Unstruck: words.Unstruck(h), Unpredicted: o.Unpredicted,
		Ops:     len(h.Ops),
		Virtual: h.Over(),
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
	v.Untried = f.untried()
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
	if len(kinds) > 1 {
		return "object"
	}
	for _, o := range history.Objects() {
		if o != history.ALock && kinds[o] {
			return string(o)
		}
	}
	return ""
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
