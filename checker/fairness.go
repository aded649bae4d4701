package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judgeFairness asks whether a fair lock was granted in the order in which owners began to wait, as the server saw it, and refused
// only while somebody was before.
func judgeFairness(_ context.Context, f *facts) Result {
	switch {
	case !f.h.Can(string(contract.Fair)):
		return notClaimed("the lock promises no order")
	case !f.fair() || len(f.h.Served) == 0:
		return notClaimed("who waits first only the lock's queue says, which nobody has seen")
	}
	found := f.found(contract.Fairness)
	grants, waiters := 0, 0
	for _, l := range f.locks {
		q := l.queue
		waiters, grants = waiters+len(q.places), grants+len(q.grants)
		for _, g := range q.grants {
			if p := f.passedOver(q, g); p != nil {
				found.addAt(p.began(), func() Violation { return f.outOfOrder(l, g, p) })
			}
		}
		told := map[*history.Op]bool{} // once for each call
		for _, r := range q.refusals {
			if told[r.op] || f.answeredBefore(r) {
				continue
			}
			if behind, live := f.leftBehind(r.before, r.at); !live && !f.leaving(behind, r.at) {
				told[r.op] = true
				found.addAt(r.at, func() Violation { return f.refusedFree(l, r, behind) })
			}
		}
	}
	if waiters == 0 && f.waitedUnseen() {
		return Result{Status: Undecided, Summary: fmt.Sprintf("calls had to wait, and nobody was ever in the queue that the lock names, %q", f.h.Header.Layout.Queue)}
	}
	return conclude("the server's queue",
		fmt.Sprintf("%s, %s, none out of its turn", count(grants, "grant"), count(waiters, "wait")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(grants, "grant")), found)
}

// waitedUnseen reports whether the server refused an attempt of a call that waited on when it had the answer, and had nobody in a queue
// afterwards.
func (f *facts) waitedUnseen() bool {
	attempts := attemptsOf(f.h)
	return slices.ContainsFunc(f.h.Served, func(r history.Served) bool {
		op := f.op(r.Op)
		return op != nil && queues(op) && r.Step == history.StepAcquire && r.After != nil && attempts[command(&r)] && !refused(&r) &&
			len(r.After.Waiting) == 0 && len(r.After.Holdings) > 0 && r.After.Count(op.Owner) == 0 &&
			r.Got > 0 && r.Got+f.prompt() < f.until(op) && f.waits(op, r.Got)
	})
}

// waits reports whether a call waits from a time on for longer than a moment, as its caller said.
func (f *facts) waits(op *history.Op, from time.Duration) bool {
	return (!op.Kind.Tries() || op.Call+op.Wait > from+f.prompt()) && (op.Cancel == 0 || op.Call+op.Cancel > from+f.prompt())
}

// passedOver is the place of who had waited for longest when another was granted the lock; nil: nobody had waited for longer
// than that one. Who may have ended its call by itself, as it was told an error, was not passed over.
func (f *facts) passedOver(q *queue, g grant) *place {
	if g.at > f.until(g.op) {
		return nil // it was a copy: nobody waited for that
	}
	since := g.at
	if g.first != nil {
		since = g.first.began()
	}
	for _, p := range q.places {
		switch {
		case p.began() >= since || p.from >= g.at:
		case p.owner == g.op.Owner || p.op == nil || p.gone == granted && p.to <= g.at || f.waitedUntil(p) <= g.at:
		case p.op.Outcome == history.Failed || p.op.Outcome == history.Unknown:
		default:
			return p
		}
	}
	return nil
}

// outOfOrder is the violation that an owner was granted the lock before another that had waited for longer.
func (f *facts) outOfOrder(l *lockFacts, g grant, p *place) Violation {
	since := "which had not waited"
	if g.first != nil {
		since = "which had waited since " + Stamp(g.first.began())
	}
	return Violation{
		Rule: contract.QueueOrder, Lock: l.name, From: p.began(), To: g.at, Ops: []int64{g.op.ID, p.op.ID}, Owners: []string{g.op.Owner, p.owner},
		Text: fmt.Sprintf("%s waited for %s from %s on, and %s, %s, was granted it at %s",
			p.owner, l.name, Stamp(p.began()), g.op.Owner, since, Stamp(g.at)),
		Cause: f.outOfTurn(l, g, p),
	}
}

// outOfTurn says why an owner was granted the lock before another that had waited for longer.
func (f *facts) outOfTurn(l *lockFacts, g grant, p *place) Cause {
	if p.to <= g.at {
		return f.gonePlace(l, p)
	}
	if w := g.first; w != nil && w.from < p.from {
		if c, kept := f.keptPlace(l, []*place{{owner: w.owner, op: f.callBefore(l, g.op), from: w.from, asked: w.from, to: g.at}}, g.op.Call); kept {
			c.Text = "it had the place of an earlier call: " + c.Text
			return c
		}
	}
	if c, lost := f.queueLost(l, p.from, g.at); lost {
		return c
	}
	return Cause{Class: contract.Unexplained, Text: "no fault explains why it was passed over"}
}

// callBefore is the last call of an owner before another that waited for a lock.
func (f *facts) callBefore(l *lockFacts, op *history.Op) (last *history.Op) {
	for _, o := range l.owner(op.Owner).called(0, op.Call-1) {
		if queues(o) {
			last = o
		}
	}
	return last
}

// gonePlace says why a place was gone that its owner had neither used nor given up.
func (f *facts) gonePlace(l *lockFacts, p *place) Cause {
	kept := f.h.Header.PlaceKept
	if c, lost := f.queueLost(l, p.asked, p.to); lost {
		return c
	}
	early := p.to+l.jumped(p.asked, p.to) < p.asked+kept-granularity // by the server's clock
	switch {
	case p.gone != dropped && (kept == 0 || early): // else its time was over, as the command of another kind was the first to show
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the place of %s was gone at %s, and no fault explains why", p.owner, Stamp(p.to))}
	case !f.h.Can(string(contract.KeepsPlace)) && l.queue.droppedEarly(p, kept):
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the place of %s, before which there was none, was dropped at %s, though it had been taken at %s", p.owner, Stamp(p.to), Stamp(p.from))}
	case !f.h.Can(string(contract.KeepsPlace)):
		return Cause{Class: contract.PlaceOver, Text: fmt.Sprintf("the place of %s was over at %s", p.owner, Stamp(p.to))}
	case early:
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the place of %s was dropped at %s, though it had asked at %s", p.owner, Stamp(p.to), Stamp(p.asked))}
	}
	text := fmt.Sprintf("%s did not ask from %s to %s, and a place is kept for %s", p.owner, Stamp(p.asked), Stamp(p.to), short(kept))
	all := f.obstacles(p.op.Client, l.name, p.asked, p.to, f.answerTime(), hinders)
	if len(all) == 0 || opportunity(p.asked, p.to, all) > kept/2+f.prompt() {
		return Cause{Class: contract.Unexplained, Text: text + ", though no fault kept it from that"}
	}
	faults := faultsOf(all)
	return f.blame(text+", while "+f.describeAll(faults), faults)
}

// queueLost is the cause that the server lost a lock's queue in [from, to], or may have: its data, or its time.
func (f *facts) queueLost(l *lockFacts, from, to time.Duration) (Cause, bool) {
	for i := range f.h.Faults {
		switch fault := &f.h.Faults[i]; {
		case fault.Missed || fault.From < from || fault.From > to || !f.strikes(fault, "", l.name):
		case fault.Has(history.ServerForgot), fault.Has(history.KeyDeleted) && fault.Lock == "": // all keys
			return Cause{Class: contract.ServerLost, Effects: f.effectsOf([]int{i}), Faults: []int{i},
				Text: fmt.Sprintf("the queue of %s was lost at %s: %s", l.name, Stamp(fault.From), f.describe(i))}, true
		case fault.Has(history.ClockMoved) && f.h.Can(string(contract.KeepsPlace)) && f.movedPast(l, fault.From):
			return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: []int{i},
				Text: fmt.Sprintf("the places in the queue of %s were over at %s, when %s", l.name, Stamp(fault.From), f.describe(i))}, true
		}
	}
	return Cause{}, false
}

// movedPast reports whether a server's clock may have jumped at a time by so much that a place was over: its owner asks again after half
// the time for which that is kept. By how much it jumped the history says of a lock that was held.
func (f *facts) movedPast(l *lockFacts, at time.Duration) bool {
	kept := f.h.Header.PlaceKept
	return !slices.ContainsFunc(l.events, func(e *history.Event) bool {
		return e.Kind == history.ClockJump && e.At == at && e.By+kept/2+f.prompt() < kept
	})
}

// leaving reports whether places are about to be given up: their calls ended just before.
func (f *facts) leaving(behind []*place, at time.Duration) bool {
	return slices.ContainsFunc(behind, func(p *place) bool { return at <= f.waitedUntil(p)+f.prompt() })
}

// answeredBefore reports whether a refusal is the answer to a call that the server had granted the lock before, or to a copy of an attempt
// that it had refused before, of a lock whose requests take effect once.
func (f *facts) answeredBefore(r refusal) bool {
	once := f.once(r.op)
	var own *history.Served
	for _, i := range f.log.byOp[r.op.ID] {
		if s := &f.h.Served[i]; s.At == r.at {
			own = s
		}
	}
	return own == nil || slices.ContainsFunc(f.log.byOp[r.op.ID], func(i int) bool {
		s := &f.h.Served[i]
		return s.At < r.at && (s.After.Count(r.op.Owner) > s.Before.Count(r.op.Owner) || once && withoutForm(s) == withoutForm(own) && !refused(s))
	})
}

// refusedFree is the violation that a lock was refused that nobody held or waited for.
func (f *facts) refusedFree(l *lockFacts, r refusal, behind []*place) Violation {
	c, kept := f.keptPlace(l, behind, r.at)
	if !kept {
		c = Cause{Class: contract.Unexplained, Text: "no fault explains for whom it was kept"}
	}
	return Violation{
		Rule: contract.QueueBusy, Lock: l.name, From: r.at, To: r.at, Ops: []int64{r.op.ID}, Owners: []string{r.op.Owner}, Cause: c,
		Text: fmt.Sprintf("%s was refused %s at %s, while it was free and nobody waited before", r.op.Owner, l.name, Stamp(r.at)),
	}
}

// keptPlace is the cause that a lock was kept at a time for who had stopped to wait for it. A lock that promises that whoever stops gives
// up its place keeps one only of who could not say so.
func (f *facts) keptPlace(l *lockFacts, behind []*place, at time.Duration) (Cause, bool) {
	for _, p := range behind {
		ended := f.waitedUntil(p)
		c := Cause{Class: contract.PlaceLeft, Text: fmt.Sprintf("%s was kept for %s, which waited until %s", l.name, p.owner, Stamp(ended))}
		if !f.h.Can(string(contract.LeavesLine)) {
			return c, true
		}
		if p.op == nil {
			if c, lost := f.queueLost(l, p.since, p.from); lost {
				return c, true
			}
			continue
		}
		if died, dead := f.died[p.op.Client]; dead && died <= at {
			c.Effects, c.Faults = []history.Effect{history.ProcessDied}, f.struckBy(p.op.Client, "", died, died, []history.Effect{history.ProcessDied})
			c.Text += ", when its client died"
			return c, true
		}
		if p.from > ended { // what its client had sent came late
			if c, lost := f.queueLost(l, ended, p.from); lost {
				return c, true
			}
		}
		// After that time its client counts on it that nobody keeps the place.
		until := min(at, ended+f.h.Header.PlaceKept)
		all := f.obstacles(p.op.Client, l.name, ended, until, f.answerTime(), resends)
		if len(all) > 0 && opportunity(ended, until, all) <= f.prompt() {
			c.Faults = faultsOf(all)
			c.Effects = f.effectsOf(c.Faults)
			c.Text += ", while " + f.describeAll(c.Faults)
			return c, true
		}
	}
	return Cause{}, false
}
