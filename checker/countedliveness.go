package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A thirst is what somebody waits for: the permits of a semaphore, or a count of 0.
type thirst struct {
	op    *history.Op
	rule  contract.Rule
	ready func(i int) bool // whether it is there at a level
	says  func(n int64) string
	cause func(from, to time.Duration, n int64) Cause
}

// starving looks for the longest time in which a waiter did not get what was there for it all along.
func (f *facts) starving(l *lockFacts, all []level, t thirst, found *violations) {
	op, last := t.op, f.until(t.op)
	if op.Evidence == history.Executed && op.Answer == history.Acquired {
		last = min(last, op.Executed) // what became of the answer is another question
	}
	if op.Kind.Tries() {
		last = min(last, op.Call+op.Wait)
	}
	if op.Cancel > 0 {
		last = min(last, op.Call+op.Cancel)
	}
	if died, dead := f.died[op.Client]; dead {
		last = min(last, died)
	}
	var from, to time.Duration
	var n int64
	i, _ := slices.BinarySearchFunc(all, op.Call, func(v level, at time.Duration) int { return upTo(v.from, at) })
	for i = max(i-1, 0); i > 0 && t.ready(i-1); i-- { // it may have been there for long
	}
	for i < len(all) && all[i].from < last {
		j := i + 1
		if t.ready(i) {
			for j < len(all) && t.ready(j) {
				j++
			}
			end := f.end
			if j < len(all) {
				end = all[j].from
			}
			if end = min(end, last); end > op.Call {
				if begin := f.unhindered(op.Client, max(all[i].from, op.Call), end); end-begin > max(to-from, f.prompt()) {
					from, to, n = begin, end, all[i].n
				}
			}
		}
		i = j
	}
	if to == from {
		return
	}
	found.addAt(from, func() Violation {
		return Violation{Rule: t.rule, Lock: l.name, From: from, To: to, Ops: []int64{op.ID}, Owners: []string{op.Owner},
			Text:  fmt.Sprintf("from %s to %s, for %s, %s", Stamp(from), Stamp(to), short(to-from), t.says(n)),
			Cause: t.cause(from, to, n)}
	})
}

// keptFrom says why a waiter did not get what was there from a time on, until another, as far as faults explain it. It is
// woken by a message, and its client could ask as soon as no fault kept it from that. One that looks again by itself may
// take until then, if a fault may have kept a message from it.
func (f *facts) keptFrom(l *lockFacts, op *history.Op, from, to time.Duration) (Cause, bool) {
	all, looks := f.obstaclesOf(op, l.name, to), f.h.Can(string(contract.LooksAgain))
	if looks { // who does not may have left it to another call, which could not act upon the news
		all = slices.DeleteFunc(all, func(o obstacle) bool { return f.cameLate(o.fault, from) })
	}
	deaf := f.deafened(op.Client, l.name, waking{0, from, to})
	faults := appendNew(faultsOf(all), deaf...)
	late := enough(from, f.prompt(), all)
	missed := len(deaf) > 0 || slices.ContainsFunc(faults, func(i int) bool {
		return f.struckAlone(i) == nil && (!f.h.Can(string(contract.NoticesSilence)) || f.silences(i, op.Client, l.name, waking{0, from, to}))
	})
	if missed && looks {
		late = max(late, enough(from, f.h.Header.WatchdogTimeout+f.prompt(), all))
	}
	switch {
	case len(faults) > 0 && to <= late:
		return f.blame("while it waited "+f.describeAll(faults), faults), true
	case len(faults) > 0 && (missed || !looks): // who does not look again may have left it to another call that missed it
		return Cause{Class: contract.Missed, Faults: faults, Effects: f.effectsOf(faults),
			Text: fmt.Sprintf("while it waited %s: it may have missed a message, and it did not look again", f.describeAll(faults))}, true
	}
	return Cause{}, false
}

// cameLate reports whether all that a fault did was to hold up news that its client had by a time: nobody missed that.
func (f *facts) cameLate(i int, by time.Duration) bool {
	fault := &f.h.Faults[i]
	_, step, _ := strings.Cut(fault.On, " ")
	_, came := f.span(fault)
	return history.Step(step) == history.StepPublish && came <= by && !slices.ContainsFunc(fault.Effects, func(e history.Effect) bool { return e != history.MessageLate })
}

// countedCallsReturn checks that every call returned that need not wait for others.
func (f *facts) countedCallsReturn(l *lockFacts, found *violations) {
	if !f.whole() {
		return
	}
	for _, op := range l.ops {
		if _, gone := f.ended[op.Client]; !op.Pending() || gone || op.Aside || op.Kind == history.AcquirePermits || op.Kind == history.AcquirePermit || op.Kind == history.Await ||
			!f.hadTime(l, op, f.end, f.prompt()+op.Wait) {
			continue
		}
		found.addAt(op.Call, func() Violation {
			return Violation{Rule: contract.CallsReturn, Lock: l.name, From: op.Call, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("%s of %s on %s, called at %s, had not returned when the run ended at %s", op.Kind, op.Owner, l.name, Stamp(op.Call), Stamp(f.end)),
				Cause: Cause{Class: contract.Unexplained, Text: "its client lived and was connected"}}
		})
	}
}

// owed is what a call has taken from an object that its caller does not know of: permits that it took, or that it was
// to give, or a count-down.
type owed struct {
	op    *history.Op
	at    time.Duration
	n     int64
	again bool // by another effect than the first
	paid  bool // its client gave them by itself, or nobody can any more
}

// ledger lists what calls owe an object on the server, and what clients gave it that was not owed. What befell the
// key from outside settles all before it.
func (f *facts) ledger(l *lockFacts) (debts []*owed, surplus []*history.Op) {
	since := f.touchedBy(l, f.end)
	var gifts []*act
	for i := range l.acts {
		a := &l.acts[i]
		op := a.op
		if op == nil {
			continue
		}
		told := op.Outcome == history.Acquired && !op.Pending()
		switch {
		case op.Kind.Asks() && answer(op) == history.Acquired && (a.again || op.Aside || !told):
			debts = append(debts, &owed{op: op, at: a.at, n: op.Units(), again: a.again})
		case (op.Kind.Gives() || op.Kind.Alters()) && op.Aside && !a.again: // that a gift took effect once more is told of itself
			gifts = append(gifts, a)
		}
	}
	all := levels(l)
	nothing := ofNothing(l)
	toNothing := func(op *history.Op) bool {
		return op.Kind.Gives() && (!levelAt(all, op.Call).there || nothing[op] || l.object == history.ALatch && zeroAfter(all, op.Call))
	}
	for _, op := range l.ops { // releases that never took effect, and of which their callers do not know that
		if !op.Kind.Gives() && !op.Kind.Alters() || op.Aside || op.Pending() || op.Outcome != history.Unknown || op.Evidence == history.Executed && !nothing[op] && !f.alteredNothing(op) {
			continue
		}
		debts = append(debts, &owed{op: op, at: op.Call, n: op.Units()})
	}
	// A gift is for what is owed most surely. What took effect once more may have made up for an effect that the server forgot.
	slices.SortStableFunc(debts, func(a, b *owed) int {
		sure := func(d *owed) int {
			switch {
			case toNothing(d.op):
				return 2
			case d.again:
				return 1
			}
			return 0
		}
		return cmp.Compare(sure(a), sure(b))
	})
	for _, gift := range gifts {
		by := gift.op
		since := f.touchedBy(l, gift.at)
		if by.Kind.Alters() {
			if !alterationOwed(debts, by) {
				surplus = append(surplus, by)
			}
			continue
		}
		of := func(from time.Duration) int {
			return slices.IndexFunc(debts, func(d *owed) bool {
				return !d.paid && !d.op.Kind.Alters() && d.n == by.Units() && d.op.Token == by.Token && d.op.Client == by.Client && from <= d.at && d.at <= gift.at
			})
		}
		i := of(since)
		if i < 0 {
			i = of(0) // the replica may have known of it
		}
		if i < 0 {
			surplus = append(surplus, by)
			continue
		}
		debts[i].paid = true
	}
	left := takenBy(l, f.end)
	for _, d := range debts {
		_, out := left.Has(d.op.Token)
		d.paid = d.paid || d.at < since || toNothing(d.op) || d.op.Token != 0 && !d.again && !out // its lease is over
	}
	return debts, surplus
}

// alterationOwed reports whether a call owes what a client did to an object as a whole by itself, and notes that it does no more: the one that
// asked for the least. How many permits are drained, or can be taken away, is known when they are.
func alterationOwed(debts []*owed, by *history.Op) bool {
	var nearest *owed
	for _, d := range debts {
		fits := d.n == by.Units() || by.Kind == history.DrainPermits || d.n <= by.Units() && by.Units() <= 0
		if !d.paid && fits && d.op.Kind == by.Kind && d.op.Client == by.Client && d.at <= by.Executed && (nearest == nil || d.n > nearest.n) {
			nearest = d
		}
	}
	if nearest == nil {
		return false
	}
	nearest.paid = true
	return true
}

// alteredNothing reports whether an operation found nothing to take away, or to delete: another copy of its request may have.
func (f *facts) alteredNothing(op *history.Op) bool {
	i, found := f.log.execution(op, op.Executed)
	return op.Kind.Alters() && found && sameKey(f.h.Served[i].Before, f.h.Served[i].After)
}

// touchedBy is when the environment last changed an object's key by a time; 0: never.
func (f *facts) touchedBy(l *lockFacts, by time.Duration) (since time.Duration) {
	for _, e := range l.events {
		switch e.Kind {
		case history.Delete, history.Expire, history.Restore:
			if e.At <= by {
				since = max(since, e.At)
			}
		}
	}
	return since
}

// owing looks for what calls owe that nobody gave, though their clients lived and could. say words what a call did.
func (f *facts) owing(l *lockFacts, rule contract.Rule, say func(*owed) string, found *violations) {
	debts, _ := f.ledger(l)
	for _, d := range debts {
		op := d.op
		if _, dead := f.died[op.Client]; d.paid || dead || op.Pending() || op.Kind.Alters() {
			continue
		}
		begin := max(op.Return, d.at)
		need := f.answerTime() + f.prompt()
		if f.h.Can(string(contract.TakesBack)) {
			need += 2 * f.answerTime()
		}
		all := f.obstacles(op.Client, l.name, op.Call, f.end, f.answerTime(), hindersTimers)
		limit := enough(begin, need, all)
		if f.end < limit {
			continue
		}
		found.addAt(begin, func() Violation {
			return Violation{Rule: rule, Lock: l.name, From: begin, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("the %s of %s (operation %d) %s at %s", op.Kind, op.Owner, op.ID, say(d), Stamp(f.end)),
				Cause: f.lostBy(l, d, limit, all)}
		})
	}
}

// repeats is until when a client repeats a request that took effect at a time, or would give back what it took: for twice as long as
// the server remembers it, at least. [model.Never]: the lock does not say how long that is.
func (f *facts) repeats(op *history.Op, at time.Duration) time.Duration {
	memory := time.Duration(0)
	for _, i := range f.h.Header.Idempotent {
		if slices.Contains(i.Calls, op.Kind) {
			memory = f.h.Header.Remembered(i, op.Client)
		}
	}
	if memory == 0 {
		return model.Never
	}
	sent := op.Call
	if i, found := f.log.execution(op, at); found {
		sent = f.h.Served[i].Sent
	}
	return sent + 2*memory
}

// lostBy says why what a call owes is lost. From the limit on its client had had the opportunity to give it, in spite of obstacles.
func (f *facts) lostBy(l *lockFacts, d *owed, limit time.Duration, all []obstacle) Cause {
	op, faults := d.op, faultsOf(all)
	// A repetition may have been lost at the last moment. When its client has waited for the answer, which the obstacle includes, it
	// begins another one.
	tries := min(limit, enough(max(op.Return, d.at), f.prompt(), all))
	if ends := f.repeats(op, d.at); ends < tries && !d.again && !op.Aside {
		return f.blame(fmt.Sprintf("its client repeats it until %s, and %s", Stamp(ends), f.describeAll(faults)), faults)
	}
	if x := f.memoryLost(op.Call, limit, func(fault *history.Fault) bool { return f.reaches(fault, l.name) }); x >= 0 && op.Kind.Asks() && f.h.Can(string(contract.TakesBack)) {
		c := Cause{Text: fmt.Sprintf("before its client could give it back %s: it forgot what it remembered of the request", f.describe(x))}
		f.forgot(x, &c)
		return c
	}
	text := fmt.Sprintf("the %s of %s (operation %d) took effect at %s, and its caller never learned so", op.Kind, op.Owner, op.ID, Stamp(d.at))
	switch {
	case op.Aside:
		return Cause{Class: contract.Unexplained, Text: "no call asked for it"}
	case d.again:
		return f.twice(l, op, d.at, fmt.Sprintf("the %s of %s (operation %d) took effect more than once", op.Kind, op.Owner, op.ID))
	case op.Kind.Gives():
		text = fmt.Sprintf("the %s of %s (operation %d) ended %s, and did not reach the server", op.Kind, op.Owner, op.ID, op.Outcome)
	case f.refusedCopy(op):
		return Cause{Class: contract.RefusedCopy, Effects: []history.Effect{history.RequestRefused},
			Text: "the server refused one copy of the request, of which its client heard, and executed another"}
	case op.Outcome == history.Busy && len(f.executions(op)) > 1: // it was told what another copy found
		return f.twice(l, op, f.until(op), fmt.Sprintf("one copy of the %s of %s (operation %d) took effect at %s, and its caller was told what another found",
			op.Kind, op.Owner, op.ID, Stamp(d.at)))
	}
	if c := f.untold(l, op, max(op.Return, d.at), text); c.Class == contract.Abandoned || len(c.Faults) > 0 {
		return c
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("its client could have given it by %s", Stamp(limit))}
}
