package evidence

import (
	"cmp"

	"github.com/holdfast-sim/holdfast/history"
)

// number books a command to the key of a counted object: to the call that sent it, or to its client's background.
// What a call that awaits saw is no effect, and it may look often: its answer is held against the counts of its time.
func (c *conclusion) number(t touch, call int64, before history.KeyState) {
	l, r := t.lock, t.row
	if r.Refused && !changed(r) {
		return // an error, such as NOSCRIPT, and no effect: it was not executed
	}
	if call == 0 || c.op(call).Lock != l.name {
		c.numberAside(t, before)
		return
	}
	known := c.op(call)
	answer, effect := whatItCounted(known.Kind, before, l.last)
	executed := known.Evidence == history.Executed
	switch {
	case !effect && !before.Alike(l.last): // it did what its call is not for
		c.numberAside(t, before)
		return
	case known.Kind.Awaits():
	case executed && Counts(&known, known.Answer) && effect:
		c.amend(call, func(op *history.Op) { op.Repeats++ })
	case !effect && could(&known, before), executed && !effect && (Counts(&known, known.Answer) || !known.Pending()):
		// A copy that did nothing: it comes late, or the lock has told it from another.
	default:
		c.executed[r] = true
		c.amend(call, func(op *history.Op) {
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, c.now, c.within, answer
			if op.Kind == history.DrainPermits && op.Outcome != history.OK { // nobody was told how many that were
				op.Value = before.Number()
			}
		})
	}
}

// Counts reports whether an answer to an operation on a counted object means that its number changed, or would have.
func Counts(op *history.Op, answer history.Outcome) bool {
	return !op.Kind.Awaits() && (answer == history.Acquired || answer == history.OK || answer == history.Released)
}

// could reports whether a counted object in a state does what an operation is for.
func could(op *history.Op, s history.KeyState) bool {
	switch {
	case op.Kind.Sets():
		return s.Absent()
	case op.Kind.Gives() || op.Kind == history.DeleteLatch:
		return !s.Absent()
	case op.Kind == history.DrainPermits:
		return s.Number() != 0
	case op.Kind.Adds():
		return true
	}
	return s.Number() >= op.Value
}

// whatItCounted names the difference that a command for a call of this kind made.
func whatItCounted(kind history.Kind, before, after history.KeyState) (answer history.Outcome, effect bool) {
	made, more, fewer := before.Absent() && !after.Absent(), after.Number() > before.Number(), after.Number() < before.Number()
	switch {
	case kind.Awaits():
		return "", false
	case kind.Asks() && fewer:
		return history.Acquired, true
	case kind.Asks():
		return history.Busy, false
	case kind == history.CountDown: // of a count that is 0 it makes nothing, and says nothing else
		return history.OK, fewer
	case kind == history.ReleasePermits && (made || more):
		return history.OK, true
	case kind == history.ReleasePermits:
		return history.NotHeld, false
	case kind == history.DeleteLatch && !before.Absent() && after.Absent():
		return history.Released, true
	case kind == history.DeleteLatch:
		return history.NotHeld, false
	case kind == history.DrainPermits || kind.Adds():
		return history.OK, !before.Alike(after)
	case !before.Alike(after):
		return history.OK, true
	}
	return history.Rejected, false
}

// numberAside records what a command did to a counted object that belongs to no call: a lock library gives back what a
// call took that nobody wants, or repeats a call of which it had no answer.
func (c *conclusion) numberAside(t touch, before history.KeyState) {
	l, r := t.lock, t.row
	if before.Alike(l.last) {
		return
	}
	if id := c.apart[apart{c.request, l.name}]; id != 0 && c.request != 0 { // it has taken effect before
		c.amend(id, func(op *history.Op) { op.Repeats++ })
		c.ops[r], r.Op = append(c.ops[r], id), id
		return
	}
	op := history.Op{Client: r.Client, Owner: r.Owner, Lock: l.name, Aside: true, Call: cmp.Or(r.Began, r.Sent),
		Evidence: history.Executed, Executed: c.now, Within: c.within, Answer: history.OK}
	latch := l.object == history.ALatch
	switch by := l.last.Number() - before.Number(); {
	case latch && l.last.Absent() && r.Step == history.StepForce:
		op.Kind, op.Answer = history.DeleteLatch, history.Released
	case latch && by == -1:
		op.Kind = history.CountDown
	case l.last.Absent():
		c.tell(history.Event{At: c.now, Within: c.within, Kind: history.Delete, Lock: l.name, Note: "by " + r.Client})
		return
	case latch:
		op.Kind, op.Value = history.TrySetCount, l.last.Number()
	case before.Absent() && c.owesSet(r.Client, l):
		op.Kind, op.Value = history.TrySetPermits, l.last.Number()
	case r.Step == history.StepForce:
		op.Kind, op.Value = history.DrainPermits, before.Number()
	case r.Step == history.StepSet:
		op.Kind, op.Value = history.AddPermits, by
	case by > 0:
		op.Kind, op.Value = history.ReleasePermits, by
	default:
		op.Kind, op.Value, op.Answer = history.AcquirePermits, -by, history.Acquired
	}
	c.noted(r, op)
}

// owesSet reports whether a client may repeat a call that sets the permits that a semaphore now has, since its caller had no answer.
func (c *conclusion) owesSet(client string, l *lock) bool {
	for _, op := range c.all {
		if op.Client == client && op.Lock == l.name && op.Kind.Sets() && op.Uncertain() && op.Value == l.last.Number() {
			return true
		}
	}
	return false
}
