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
func judgePermitsLiveness(is history.Object) func(context.Context, *facts) Result {
	return func(_ context.Context, f *facts) Result { return f.permitsLiveness(is) }
}

func (f *facts) permitsLiveness(is history.Object) Result {
	if f.h.Header.LatencyMax == 0 {
		return notClaimed("the history does not say how slow a message may be, so that nothing can be called late")
	}
	found := f.found(contract.Liveness)
	waits := 0
	for _, l := range f.of(is) {
		all := levels(l)
		for _, op := range l.ops {
			if !callsFor(op) {
				continue
			}
			if waits++; op.Value <= 0 {
				continue
			}
			if !f.seesCounts() { // nobody knows what was free besides
				all = f.surelyFree(l, op)
			}
			f.starving(l, all, f.wanting(l, all, op), &found)
		}
		f.patience(l, &found)
		f.lostPermits(l, &found)
		f.load(l, &found)
		f.failures(l, &found)
		f.countedCallsReturn(l, &found)
	}
	f.residue(f.of(is), &found)
	return conclude("times of grants and returns",
		fmt.Sprintf("%s, none was late and no permit was lost", count(waits, "acquiring call")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(waits, "acquiring call")), found)
}

// wanting is a waiter for permits.
func (f *facts) wanting(l *lockFacts, all []level, op *history.Op) thirst {
	return thirst{op, contract.PermitsAreTaken, func(i int) bool { return all[i].n >= op.Value },
		func(free int64) string {
			return fmt.Sprintf("%s of %s %s free, and %s waited for %s", permits(free), l.name, were(int(free)), op.Owner, Thousands(op.Value))
		},
		func(from, to time.Duration, free int64) Cause { return f.unserved(l, all, op, from, to, free) }}
}

// unserved says why a waiter was not granted what was free from a time on, until another.
func (f *facts) unserved(l *lockFacts, all []level, op *history.Op, from, to time.Duration, free int64) Cause {
	if c, known := f.keptFrom(l, op, from, to); known {
		return c
	}
	if c, known := f.endedUnannounced(l, op, from, to); known {
		return c
	}
	since, least := from, free // when they came to be free, and how few were until another was served
	for i := len(all) - 1; i >= 0 && (all[i].from > from || all[i].n >= op.Value); i-- {
		since = min(since, all[i].from)
	}
	for _, v := range all {
		if v.from > from && v.from < to {
			least = min(least, v.n)
		}
	}
	for _, other := range l.ops {
		if callsFor(other) && other.Client == op.Client && f.waitsLonger(l, other, op) && f.until(other) > since && other.Value > least {
			return Cause{Class: contract.WokeAnother,
				Text: fmt.Sprintf("before it waits %s, who asks for %s: the message that %s free woke that one", other.Owner, Thousands(other.Value), was(int(free), "permit"))}
		}
	}
	return Cause{Class: contract.Unexplained, Text: "no fault explains why it was not granted what was free"}
}

// waitsLonger reports whether a call may have begun to wait before another one of its client: it was refused first or, where nobody saw that of
// both, or where that was within the time of one message, called first.
func (f *facts) waitsLonger(l *lockFacts, one, other *history.Op) bool {
	refused, then := f.refusedFirst(l, one), f.refusedFirst(l, other)
	if refused > 0 && then > 0 && (refused < then || refused-then > f.latency()) {
		return refused < then
	}
	return one.Call < other.Call
}

// lostPermits looks for permits that are out at the end, and that nobody who lives knows to have.
func (f *facts) lostPermits(l *lockFacts, found *violations) {
	if !f.whole() || !f.seesCounts() || !levelAt(levels(l), f.end).there || f.touchedBy(l, f.end) == 0 && f.missing(l) <= 0 {
		return
	}
	f.owing(l, contract.PermitsComeBack, func(d *owed) string {
		did := fmt.Sprintf("took %s of %s at %s, and its caller was told %s", permits(d.n), l.name, Stamp(d.at), d.op.Outcome)
		switch {
		case d.again:
			did = fmt.Sprintf("took %s of %s once more at %s", permits(d.n), l.name, Stamp(d.at))
		case d.op.Kind == history.ReleasePermits:
			did = fmt.Sprintf("never gave %s of %s, and its caller was told %s", permits(d.n), l.name, d.op.Outcome)
		}
		return did + "; nobody had given them back"
	}, found)
	f.deadPermits(l, found)
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
	return missing - levelAt(levels(l), f.end).n
}

// deadPermits looks for permits that clients had when they died.
func (f *facts) deadPermits(l *lockFacts, found *violations) {
	since := f.touchedBy(l, f.end)
	left := takenBy(l, f.end)
	left.Taken = slices.DeleteFunc(left.Taken, func(p history.TakenPermit) bool { return p.Deadline > 0 })
	had, last := map[string]int64{}, map[string]*history.Op{}
	var clients []string
	for _, op := range l.ops {
		died, dead := f.died[op.Client]
		if !dead || op.Call > died || op.Call < since || op.Aside {
			continue
		}
		clients = appendNew(clients, op.Client)
		_, out := left.Has(op.Token)
		switch {
		case op.Token != 0 && (!op.Kind.Asks() || !out): // it is given back, or comes back by itself
		case op.Kind.Asks() && answer(op) == history.Acquired:
			had[op.Client] += op.Value * int64(1+op.Repeats)
			last[op.Client] = op
		case op.Kind == history.DrainPermits && answer(op) == history.OK && op.Value > 0:
			had[op.Client] += op.Value
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
				Cause: Cause{Class: contract.HolderDied, Effects: f.effectsOf(killed), Faults: killed,
					Text: "a permit has neither an owner nor a lease, so that nobody can tell whose it was"}}
		})
	}
}
