package evidence

import (
	"cmp"

	"github.com/holdfast-sim/holdfast/history"
)

// permits books a command to a semaphore's key: to the call that sent it, or to its client's background.
func (c *conclusion) permits(t touch, call int64, before history.KeyState) {
	l, r := t.lock, t.row
	if r.Refused && !changed(r) {
		return // an error, such as NOSCRIPT, and no effect: it was not executed
	}
	if call == 0 || c.op(call).Lock != l.name {
		c.permitsAside(t, before)
		return
	}
	known := c.op(call)
	answer, effect := whatPermitsDid(known.Kind, before, l.last)
	executed := known.Evidence == history.Executed
	switch {
	case !effect && !before.Alike(l.last): // it did what its call is not for
		c.permitsAside(t, before)
		return
	case executed && PermitsChange(&known, known.Answer) && effect:
		c.amend(call, func(op *history.Op) { op.Repeats++ })
	case !effect && could(&known, before), executed && !effect && (PermitsChange(&known, known.Answer) || !known.Pending()):
		// A copy that did nothing: it comes late, or the lock has told it from another.
	default:
		c.executed[r] = true
		c.amend(call, func(op *history.Op) {
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, c.now, c.within, answer
		})
	}
}

// PermitsChange reports whether an answer to an operation on permits means that their number changed.
func PermitsChange(op *history.Op, answer history.Outcome) bool {
	return answer == history.Acquired || answer == history.OK
}

// could reports whether a semaphore in a state does what an operation is for.
func could(op *history.Op, s history.KeyState) bool {
	switch op.Kind {
	case history.TrySetPermits:
		return s.Absent()
	case history.ReleasePermits:
		return !s.Absent()
	}
	return s.Free() >= op.Value
}

// whatPermitsDid names the difference that a command for a call of this kind made.
func whatPermitsDid(kind history.Kind, before, after history.KeyState) (answer history.Outcome, effect bool) {
	made := before.Absent() && !after.Absent()
	switch {
	case kind.Asks() && after.Free() < before.Free():
		return history.Acquired, true
	case kind.Asks():
		return history.Busy, false
	case kind == history.ReleasePermits && (made || after.Free() > before.Free()):
		return history.OK, true
	case kind == history.ReleasePermits:
		return history.NotHeld, false
	case !before.Alike(after):
		return history.OK, true
	}
	return history.Rejected, false
}

// permitsAside records what a command did to a semaphore that belongs to no call: a lock library gives back what a
// call took that nobody wants, or repeats a call of which it had no answer.
func (c *conclusion) permitsAside(t touch, before history.KeyState) {
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
	switch by := l.last.Free() - before.Free(); {
	case l.last.Absent():
		c.tell(history.Event{At: c.now, Within: c.within, Kind: history.Delete, Lock: l.name, Note: "by " + r.Client})
		return
	case before.Absent():
		op.Kind, op.Value = history.TrySetPermits, l.last.Free()
	case by > 0:
		op.Kind, op.Value = history.ReleasePermits, by
	default:
		op.Kind, op.Value, op.Answer = history.AcquirePermits, -by, history.Acquired
	}
	c.noted(r, op)
}
