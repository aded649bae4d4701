package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// surelyFree lists how many permits of a semaphore were free for certain, by what callers were told alone. One call waits for them: what it has
// itself are at most copies. A permit is taken from when its call may have been granted it. It is free when its caller was told so. A lock that takes back gives
// back what a call without an answer took, once its client has had the opportunity. Of another lock nobody knows that. nil: nobody can say how
// many permits there are.
func (f *facts) surelyFree(l *lockFacts, besides *history.Op) []level {
	total, from := f.totalTold(l)
	if total == 0 {
		return nil
	}
	type change struct {
		at time.Duration
		n  int64
	}
	changes := []change{{from, total}}
	taken := func(from, to time.Duration, n int64) {
		changes = append(changes, change{from, -n})
		if to < model.Never {
			changes = append(changes, change{to, n})
		}
	}
	for _, op := range l.ops {
		n := op.Units()
		switch {
		case op == besides:
			if len(f.brokeUnder(l, op)) > 0 {
				taken(op.Call, model.Never, n*(f.atMost(l, op)-1))
			}
		case unsent(op) || op.Outcome == history.Failed && op.Evidence == history.NotSent:
		case op.Kind.Asks() && f.grantedOnce(l, op):
			taken(f.grantedFrom(l, op), f.backBy(l, op), n)
		case op.Kind.Asks() && op.Outcome == history.Busy && len(f.brokeUnder(l, op)) == 0, op.Kind.Asks() && op.Pending() && f.untroubled(l, op):
		case op.Kind.Asks():
			taken(op.Call, f.settledBy(l, op), n*f.atMost(l, op))
		case op.Kind == history.ReleasePermits && !op.Aside && op.Outcome == history.OK:
			changes = append(changes, change{op.Return, n})
		case op.Kind == history.ReleasePermits && !op.Aside:
			if by := f.settledBy(l, op); op.Uncertain() && by < model.Never {
				changes = append(changes, change{by, n})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmpTime(a.at, b.at) })
	all := []level{{}}
	for _, c := range changes {
		now := all[len(all)-1]
		all = append(all, level{c.at, now.n + c.n, true})
	}
	return all
}

// totalTold is how many permits a semaphore has from a time on, as the one call was told that set them; 0: nobody can say.
func (f *facts) totalTold(l *lockFacts) (total int64, from time.Duration) {
	if slices.ContainsFunc(f.h.Faults, func(fault history.Fault) bool {
		clocks := l.object == history.APermitSemaphore && fault.Has(history.ClockMoved, history.ClientClockMoved) // by which leases end
		return fault.Struck() && (clocks || fault.Has(touches...) || fault.Has(history.ServerForgot))
	}) || f.touchedBy(l, f.end) > 0 {
		return 0, 0
	}
	for _, op := range l.ops {
		switch {
		case op.Kind.Adds() || op.Kind == history.DrainPermits, op.Kind.Sets() && op.Outcome == history.OK && total > 0:
			return 0, 0
		case op.Kind.Sets() && op.Outcome == history.OK:
			total, from = op.Value, op.Return
		}
	}
	return total, from
}

// grantedOnce reports whether a call was told that it has permits, and can have taken them once only.
func (f *facts) grantedOnce(l *lockFacts, op *history.Op) bool {
	return op.Outcome == history.Acquired && !op.Pending() && !op.Aside && op.Repeats == 0 && len(f.brokeUnder(l, op)) == 0
}

// atMost is how often a call may have taken what it asked for.
func (f *facts) atMost(l *lockFacts, op *history.Op) int64 {
	if len(f.brokeUnder(l, op)) == 0 {
		return int64(1 + op.Repeats)
	}
	times, _ := f.sentOften(op)
	return int64(max(2, times, 1+op.Repeats))
}

// untroubled reports whether a client lived to the end, and nothing kept it from acting on an object while a call of it was under way.
func (f *facts) untroubled(l *lockFacts, op *history.Op) bool {
	_, ended := f.ended[op.Client]
	return !ended && len(f.obstacles(op.Client, l.name, op.Call, f.until(op), f.answerTime(), hindersTimers)) == 0
}

// grantedFrom is when a call may have been granted what it was told. A client that nothing keeps from it tells its caller promptly.
func (f *facts) grantedFrom(l *lockFacts, op *history.Op) time.Duration {
	if f.untroubled(l, op) {
		return max(op.Call, op.Return-f.prompt())
	}
	return op.Call
}

// backBy is when a permit that a call got is free again for certain; [model.Never]: nobody can say. Of permits without names the releases say it.
// A lease that ends frees a permit. Waiters who look again by themselves find it in time, and others need not be told.
func (f *facts) backBy(l *lockFacts, op *history.Op) time.Duration {
	if op.Token == 0 || l.object != history.APermitSemaphore {
		return model.Never
	}
	back := time.Duration(model.Never)
	if op.Lease > 0 {
		back = op.Return + op.Lease
	}
	for _, o := range l.ops {
		switch {
		case o.Token != op.Token || o.Aside || o.Call < op.Return || unsent(o):
		case o.Kind == history.UpdateLease && o.Outcome == history.OK && o.Lease > 0:
			back = o.Return + o.Lease
		case o.Kind == history.UpdateLease && o.Outcome != history.NotHeld:
			back = model.Never
		}
	}
	if !f.h.Can(string(contract.LooksAgain)) {
		back = model.Never
	} else if back < model.Never {
		back += f.h.Header.WatchdogTimeout + f.prompt()
	}
	for _, o := range l.ops {
		switch {
		case o.Kind != history.ReleasePermit || o.Token != op.Token || o.Aside || o.Call < op.Return:
		case o.Outcome == history.OK:
			back = min(back, o.Return)
		case o.Uncertain():
			back = min(back, f.settledBy(l, o))
		}
	}
	return back
}

// settledBy is when a lock has settled a call that was not answered, or by which copies may have taken more; [model.Never]: nobody promises that.
func (f *facts) settledBy(l *lockFacts, op *history.Op) time.Duration {
	if _, dead := f.died[op.Client]; dead || op.Pending() || !f.h.Can(string(contract.TakesBack)) || op.Outcome == history.Acquired || op.Aside {
		return model.Never
	}
	need := 3*f.answerTime() + f.prompt()
	by := enough(op.Return, need, f.obstacles(op.Client, l.name, op.Call, f.end, f.answerTime(), hindersTimers))
	if by > f.repeats(op, op.Return) {
		return model.Never
	}
	return by
}
