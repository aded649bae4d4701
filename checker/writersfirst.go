package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A waiting is a time in which a writer keeps readers out that has not the lock: it waits, or has left a mark that says so.
type waiting struct{ from, to time.Duration }

// writersWait are the times in which a lock that lets writers in first may refuse readers for a writer that waits, by their beginnings. Of
// any other lock there are none.
func (f *facts) writersWait(l *lockFacts) (all []waiting) {
	if !l.shared() || !f.h.Can(string(contract.WritersFirst)) {
		return nil
	}
	for _, op := range l.ops { // sorted by their calls
		if op.Kind.OnWriteLock() && op.Kind.Acquires() {
			all = append(all, waiting{op.Call, f.markedUntil(l, op)})
		}
	}
	return all
}

// markKept is for how long a lock keeps the mark of a writer that waits and does not ask again.
func (f *facts) markKept() time.Duration {
	if kept := f.h.Header.PlaceKept; kept > 0 {
		return kept
	}
	return f.h.Header.WatchdogTimeout
}

// markedUntil is until when a writer's call may keep readers out: to its end and, if something kept its client from taking its mark away, or
// brought the mark back, for as long as that may last.
func (f *facts) markedUntil(l *lockFacts, op *history.Op) time.Duration {
	end, last := f.until(op), time.Duration(0) // last is when it may have been marked last
	if died, dead := f.died[op.Client]; dead && died <= end {
		end = max(op.Call, f.gone[op.Client])
		last = end
	}
	if op.Aside { // a copy, which nobody takes back
		last = max(op.Call, op.Executed)
	}
	left := end + 2*f.latency() // it has been told that the writer is gone
	for _, i := range f.log.byOp[op.ID] {
		if r := &f.h.Served[i]; r.At > end && r.Sent <= end {
			last = max(last, r.At)
		}
	}
	forgot := []history.Effect{history.ServerForgot}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		from, to := f.span(fault)
		if fault.Missed || !f.strikes(fault, op.Client, l.name) || to < op.Call {
			continue
		}
		if from <= left || from <= end+f.markKept() && fault.Has(forgot...) {
			last = max(last, end, min(to, f.end)+f.answerTime())
		}
	}
	if last == 0 {
		return min(left, f.end)
	}
	until := last + f.markKept() + 2*f.latency()
	if len(f.struckBy("", l.name, op.Call, until, []history.Effect{history.ClockMoved})) > 0 { // by as much as nobody knows
		return f.end
	}
	return min(max(left, until), f.end)
}

// behindWriters are the calls of readers that a lock may have refused for a writer that waited, and whether their owners believed to have it: who was
// told that it has it no more is refused like any other.
func (f *facts) behindWriters() map[int64]bool {
	behind := map[int64]bool{}
	for _, l := range f.locks {
		all := f.writersWait(l)
		for _, op := range l.ops {
			if op.Kind.Acquires() && !op.Kind.OnWriteLock() && slices.ContainsFunc(all, func(w waiting) bool { return w.from <= f.until(op) && w.to >= op.Call }) {
				behind[op.ID] = l.believes(op.Owner, op.Call) || l.believes(history.WriterOf(op.Owner), op.Call)
			}
		}
	}
	return behind
}

// believes reports whether an owner believed at a time, and a moment later, that it had a lock.
func (l *lockFacts) believes(owner string, at time.Duration) bool {
	return slices.ContainsFunc(l.owner(owner).lasting(at, at), func(b *belief) bool { return b.to > at })
}

// A gap is a time in which nobody has a lock that is in the way of some calls.
type gap struct {
	from, to time.Duration
	after    *tenure // that freed it, nil at first
}

// without are gaps but for the times in which writers wait.
func without(gaps []gap, all []waiting) []gap {
	if len(all) == 0 {
		return gaps
	}
	var left []gap
	for _, g := range gaps {
		for _, w := range all {
			if w.to <= g.from || w.from >= g.to {
				continue
			}
			if w.from > g.from {
				left = append(left, gap{g.from, w.from, g.after})
			}
			g.from, g.after = w.to, nil
		}
		if g.from < g.to {
			left = append(left, g)
		}
	}
	return left
}

// overtaken looks for readers that a lock let in though a writer waited which is to be first. Whoever knows of no hold of a writer meanwhile, and
// of no fault, must have let it in.
func (f *facts) overtaken(l *lockFacts, found *violations) {
	if !l.shared() || !f.h.Can(string(contract.WritersFirst)) || f.h.Can(string(contract.LocalHolds)) {
		return
	}
	for _, w := range l.ops {
		if !w.Kind.OnWriteLock() || !callsFor(w) || w.Evidence == history.NotSent {
			continue
		}
		r := f.firstBefore(l, w)
		if r == nil {
			continue
		}
		found.addAt(r.Call, func() Violation {
			return Violation{Rule: contract.WriterIsNext, Lock: l.name, From: w.Call, To: r.Return, Ops: []int64{r.ID, w.ID}, Owners: []string{r.Owner, w.Owner},
				Text: l.name + ": " + w.Owner + " waited to write from " + Stamp(w.Call) + " on, and " + r.Owner + ", which called at " + Stamp(r.Call) +
					", was let in to read at " + Stamp(r.Return),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault acted meanwhile, and nobody wrote"}}
		})
	}
}

// firstBefore is the first reader's call that was granted while a writer's call waited, and had begun when the lock must have known of that; nil: none.
func (f *facts) firstBefore(l *lockFacts, w *history.Op) *history.Op {
	until := f.until(w)
	if w.Kind.Tries() {
		until = min(until, w.Call+w.Wait)
	}
	if w.Cancel > 0 {
		until = min(until, w.Call+w.Cancel)
	}
	if f.holds(l, history.ReaderOf(w.Owner), w.Call, until) || f.holds(l, w.Owner, w.Call, until) && w.Outcome != history.Acquired {
		return nil
	}
	for _, r := range l.ops {
		if r.Kind.OnWriteLock() || !r.Kind.Acquires() || r.Aside || r.Outcome != history.Acquired || r.Pending() || r.Call < w.Call+f.prompt() || r.Return >= until {
			continue
		}
		quiet := !slices.ContainsFunc(f.h.Faults, func(fault history.Fault) bool {
			from, to := f.span(&fault)
			return !fault.Missed && from <= r.Return && to >= w.Call
		})
		wrote := slices.ContainsFunc(l.tenures, func(t *tenure) bool {
			return history.Writes(t.owner) && t.from <= r.Return && (t.open || t.to >= w.Call)
		})
		switch died, dead := f.died[w.Client]; {
		case !quiet, wrote, dead && died <= r.Return:
			return nil // and so it is of all later ones
		case !f.holds(l, r.Owner, r.Call, r.Call):
			return r
		}
	}
	return nil
}

// holds reports whether an owner had a lock at some time in [from, to], or believed that.
func (f *facts) holds(l *lockFacts, owner string, from, to time.Duration) bool {
	o := l.owner(owner)
	return len(o.lasting(from, to)) > 0 || slices.ContainsFunc(o.tenures, func(t *tenure) bool { return t.from <= to && (t.open || t.to >= from) })
}
