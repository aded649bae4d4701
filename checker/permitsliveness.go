package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judgePermitsLiveness asks whether waiters got what was free, and whether permits came back.
func judgePermitsLiveness(_ context.Context, f *facts) Result {
	if f.h.Header.LatencyMax == 0 {
		return notClaimed("the history does not say how slow a message may be, so that nothing can be called late")
	}
	found := f.found(contract.Liveness)
	waits := 0
	for _, l := range f.semaphores {
		for _, op := range l.ops {
			if callsFor(op) {
				waits++
			}
		}
		f.starving(l, &found)
		f.patience(l, &found)
		f.lostPermits(l, &found)
		f.load(l, &found)
		f.failures(l, &found)
		f.permitCallsReturn(l, &found)
	}
	return conclude("times of grants and returns",
		fmt.Sprintf("%s, none was late and no permit was lost", count(waits, "acquiring call")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(waits, "acquiring call")), found)
}

// A level is how many permits were free on the server from a time on, and whether there was a semaphore.
type level struct {
	from  time.Duration
	free  int64
	there bool
}

// levels lists them, in order of time.
func levels(l *lockFacts) []level {
	all := []level{{}}
	for i := range l.acts {
		a, now := &l.acts[i], all[len(all)-1]
		now.from = a.at
		switch {
		case a.after != nil:
			now.free, now.there = a.after.Free(), !a.after.Absent()
		case a.event == nil:
			continue
		case a.event.Kind == history.Delete || a.event.Kind == history.Expire:
			now.free, now.there = 0, false
		case a.event.Kind == history.Restore:
			now.free, now.there = a.event.Count, true
		}
		all = append(all, now)
	}
	return all
}

// starving looks for waiters that were not granted what was free all along. Without a server log nobody knows.
func (f *facts) starving(l *lockFacts, found *violations) {
	if len(f.h.Served) == 0 {
		return
	}
	all := levels(l)
	for _, op := range l.ops {
		if !callsFor(op) || op.Value == 0 {
			continue
		}
		last := f.until(op)
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
		var from, to time.Duration // the longest time in which it was not granted what was free
		var free int64
		i, _ := slices.BinarySearchFunc(all, op.Call, func(v level, at time.Duration) int { return upTo(v.from, at) })
		for i = max(i-1, 0); i > 0 && all[i-1].free >= op.Value; i-- { // it may have been free for long
		}
		for i < len(all) && all[i].from < last {
			j := i + 1
			if all[i].free >= op.Value {
				for j < len(all) && all[j].free >= op.Value {
					j++
				}
				end := f.end
				if j < len(all) {
					end = all[j].from
				}
				if end = min(end, last); end > op.Call {
					if begin := f.unhindered(op.Client, max(all[i].from, op.Call), end); end-begin > max(to-from, f.prompt()) {
						from, to, free = begin, end, all[i].free
					}
				}
			}
			i = j
		}
		if to == from {
			continue
		}
		found.addAt(from, func() Violation {
			return Violation{Rule: contract.PermitsAreTaken, Lock: l.name, From: from, To: to, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("from %s to %s, for %s, %s of %s were free, and %s waited for %d", Stamp(from), Stamp(to), short(to-from), permits(free), l.name, op.Owner, op.Value),
				Cause: f.unserved(l, op, from, to, free)}
		})
	}
}

// unserved says why a waiter was not granted what was free from a time on, until another. A waiter is woken by a
// message, and its client could ask as soon as no fault kept it from that. One that looks again by itself may take
// until then, if a fault may have kept a message from it.
func (f *facts) unserved(l *lockFacts, op *history.Op, from, to time.Duration, free int64) Cause {
	all := f.obstacles(op.Client, l.name, op.Call, to, f.answerTime(), hinders)
	faults := appendNew(faultsOf(all), f.deafened(op.Client, l.name, waking{0, from, to})...)
	late := enough(from, f.prompt(), all)
	if len(faults) > 0 && f.h.Can(string(contract.LooksAgain)) {
		late = max(late, enough(from, f.h.Header.WatchdogTimeout+f.prompt(), all))
	}
	switch {
	case len(faults) > 0 && to <= late:
		return f.blame("while it waited "+f.describeAll(faults), faults)
	case len(faults) > 0:
		return Cause{Class: contract.Missed, Faults: faults, Effects: f.effectsOf(faults),
			Text: fmt.Sprintf("while it waited %s: it may have missed a message, and it did not look again", f.describeAll(faults))}
	}
	for _, other := range l.ops {
		if callsFor(other) && other.Client == op.Client && other.Call < op.Call && f.until(other) > from && other.Value > free {
			return Cause{Class: contract.WokeAnother,
				Text: fmt.Sprintf("%s waits longer, and asks for %d: the message that %s were free woke that one", other.Owner, other.Value, permits(free))}
		}
	}
	return Cause{Class: contract.Unexplained, Text: "no fault explains why it was not granted them"}
}

// permitCallsReturn checks that every call returned that need not wait for permits.
func (f *facts) permitCallsReturn(l *lockFacts, found *violations) {
	if !f.whole() {
		return
	}
	for _, op := range l.ops {
		if _, gone := f.ended[op.Client]; !op.Pending() || gone || op.Aside || op.Kind == history.AcquirePermits ||
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

// owed is what a call has taken from a semaphore that its caller does not know of: permits that it took, or that it
// was to give.
type owed struct {
	op    *history.Op
	at    time.Duration
	n     int64
	again bool // by another effect than the first
	paid  bool // its client gave them by itself, or nobody can any more
}

// ledger lists what calls owe a semaphore on the server, and what clients gave it that was not owed. What befell the
// key from outside settles all before it.
func (f *facts) ledger(l *lockFacts) (debts []*owed, surplus []*history.Op) {
	since := f.untouchedSince(l)
	for i := range l.acts {
		a := &l.acts[i]
		op := a.op
		if op == nil {
			continue
		}
		told := op.Outcome == history.Acquired && !op.Pending()
		switch {
		case op.Kind.Asks() && answer(op) == history.Acquired && (a.again || op.Aside || !told):
			debts = append(debts, &owed{op: op, at: a.at, n: op.Value, again: a.again})
		case op.Kind == history.ReleasePermits && op.Aside:
			surplus = append(surplus, op)
			if a.again {
				break
			}
			for _, d := range debts {
				if !d.paid && d.n == op.Value && d.op.Client == op.Client {
					d.paid, surplus = true, surplus[:len(surplus)-1]
					break
				}
			}
		}
	}
	all := levels(l)
	for _, op := range l.ops { // releases that never took effect, and of which their callers do not know that
		if op.Kind != history.ReleasePermits || op.Aside || op.Pending() || op.Outcome != history.Unknown || op.Evidence == history.Executed {
			continue
		}
		d := &owed{op: op, at: op.Call, n: op.Value}
		debts = append(debts, d)
		for i, by := range surplus {
			if by.Value == op.Value && by.Client == op.Client && by.Executed >= op.Call {
				d.paid, surplus = true, slices.Delete(surplus, i, i+1)
				break
			}
		}
		d.paid = d.paid || !levelAt(all, op.Call).there // there was nothing to give to
	}
	for _, d := range debts {
		d.paid = d.paid || d.at < since
	}
	return debts, surplus
}

// levelAt is the level at a time.
func levelAt(all []level, at time.Duration) level {
	n, _ := slices.BinarySearchFunc(all, at, func(v level, at time.Duration) int { return upTo(v.from, at) })
	return all[max(n-1, 0)]
}

// untouchedSince is when the environment last changed a semaphore's key; 0: never.
func (f *facts) untouchedSince(l *lockFacts) (since time.Duration) {
	for _, e := range l.events {
		switch e.Kind {
		case history.Delete, history.Expire, history.Restore:
			since = max(since, e.At)
		}
	}
	return since
}

// lostPermits looks for permits that are out at the end, and that nobody who lives knows to have.
func (f *facts) lostPermits(l *lockFacts, found *violations) {
	all := levels(l)
	if !f.whole() || len(f.h.Served) == 0 || !all[len(all)-1].there || f.untouchedSince(l) == 0 && f.missing(l) <= 0 {
		return
	}
	debts, _ := f.ledger(l)
	for _, d := range debts {
		op := d.op
		if _, dead := f.died[op.Client]; d.paid || dead || op.Pending() {
			continue
		}
		begin := max(op.Return, d.at)
		need := f.answerTime() + f.prompt()
		if f.h.Can(string(contract.TakesBack)) {
			need += 2 * f.answerTime()
		}
		limit := enough(begin, need, f.obstacles(op.Client, l.name, op.Call, f.end, f.answerTime(), hindersTimers))
		if f.end < limit {
			continue
		}
		found.addAt(begin, func() Violation {
			did := fmt.Sprintf("took %s of %s at %s, and its caller was told %s", permits(d.n), l.name, Stamp(d.at), op.Outcome)
			switch {
			case d.again:
				did = fmt.Sprintf("took %s of %s once more at %s", permits(d.n), l.name, Stamp(d.at))
			case op.Kind == history.ReleasePermits:
				did = fmt.Sprintf("never gave %s of %s, and its caller was told %s", permits(d.n), l.name, op.Outcome)
			}
			return Violation{Rule: contract.PermitsComeBack, Lock: l.name, From: begin, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("the %s of %s (operation %d) %s; nobody had given them back at %s", op.Kind, op.Owner, op.ID, did, Stamp(f.end)),
				Cause: f.lostBy(l, d, limit)}
		})
	}
	f.deadPermits(l, found)
}

// lostBy says why permits were lost.
func (f *facts) lostBy(l *lockFacts, d *owed, limit time.Duration) Cause {
	op := d.op
	text := fmt.Sprintf("the %s of %s (operation %d) took effect at %s, and its caller never learned so", op.Kind, op.Owner, op.ID, Stamp(d.at))
	switch {
	case op.Aside:
		return Cause{Class: contract.Unexplained, Text: "no call asked for them"}
	case d.again:
		return f.twice(l, op, d.at, fmt.Sprintf("the %s of %s (operation %d) took effect more than once", op.Kind, op.Owner, op.ID))
	case op.Kind == history.ReleasePermits:
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
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("its client could have given them back by %s", Stamp(limit))}
}

// missing is how many permits are neither free at the end nor had by callers who live.
func (f *facts) missing(l *lockFacts) int64 {
	var missing int64
	for _, c := range f.countedOf(l) {
		if missing += c.total; c.op == nil {
			continue
		}
		if _, dead := f.died[c.op.Client]; !dead {
			missing -= c.out
		}
	}
	all := levels(l)
	return missing - all[len(all)-1].free
}

// deadPermits looks for permits that clients had when they died.
func (f *facts) deadPermits(l *lockFacts, found *violations) {
	since := f.untouchedSince(l)
	had, last := map[string]int64{}, map[string]*history.Op{}
	var clients []string
	for _, op := range l.ops {
		died, dead := f.died[op.Client]
		if !dead || op.Call > died || op.Call < since || op.Aside {
			continue
		}
		clients = appendNew(clients, op.Client)
		switch {
		case op.Kind.Asks() && answer(op) == history.Acquired:
			had[op.Client] += op.Value * int64(1+op.Repeats)
			last[op.Client] = op
		case op.Kind == history.ReleasePermits && answer(op) == history.OK:
			had[op.Client] -= op.Value * int64(1+op.Repeats)
		}
	}
	for _, client := range clients {
		n, op, died := had[client], last[client], f.died[client]
		if n <= 0 || f.end-died <= f.prompt() {
			continue
		}
		found.addAt(died, func() Violation {
			killed := f.struckBy(client, "", 0, died, []history.Effect{history.ProcessDied})
			return Violation{Rule: contract.DeadPermits, Lock: l.name, From: died, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text: fmt.Sprintf("%s died at %s with %s of %s, and nobody had given them back at %s", client, Stamp(died), permits(n), l.name, Stamp(f.end)),
				Cause: Cause{Class: contract.HolderDied, Effects: []history.Effect{history.ProcessDied}, Faults: killed,
					Text: "a permit has neither an owner nor a lease, so that nobody can tell whose it was"}}
		})
	}
}
