package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// permits books a command to the key of a permit semaphore: to the call that sent it, and to its client's background what else it
// did. That it takes back what is over is nobody's.
func (c *conclusion) permits(t touch, call int64, before history.KeyState) {
	l, r := t.lock, t.row
	if r.Refused && !changed(r) {
		return // an error, such as NOSCRIPT, and no effect: it was not executed
	}
	after := l.last
	if call == 0 || c.op(call).Lock != l.name {
		c.permitsAside(t, before, 0)
		return
	}
	known := c.op(call)
	known.Token = c.byID[call].Token // also before the call is answered
	answer, effect, of := c.whatItGranted(&known, r, before, after)
	executed := known.Evidence == history.Executed
	switch {
	case executed && Counts(&known, known.Answer) && effect:
		c.amend(call, func(op *history.Op) { op.Repeats++ })
	case !effect && (c.wouldGrant(&known, before) || known.Kind.OnPermit() && r.Reply == "1"), executed && !effect && (Counts(&known, known.Answer) || !known.Pending()):
		// A copy that did nothing: it comes late, or the semaphore has told it from another.
	default:
		c.executed[r] = true
		c.amend(call, func(op *history.Op) {
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, c.now, c.within, answer
			if op.Kind.Asks() && op.Outcome != history.Acquired { // nobody was told
				op.Token = of
			}
			if p, out := after.Has(of); out && effect && c.h.Header.Layout.Absolute && !op.Kind.Gives() && op.Lease > 0 {
				op.Asked, op.Lease = cmp.Or(op.Asked, op.Lease), max(p.Deadline-c.now, 1)
			}
		})
	}
	c.permitsAside(t, before, of)
}

// whatItGranted names the difference that a command for a call made, and the permit that it is about.
func (c *conclusion) whatItGranted(op *history.Op, r *history.Served, before, after history.KeyState) (answer history.Outcome, effect bool, permit int64) {
	switch {
	case op.Kind.Sets() && before.Absent() && !after.Absent():
		return history.OK, true, 0
	case op.Kind.Sets():
		return history.Rejected, false, 0
	case op.Kind.Adds():
		return history.OK, before.Absent() != after.Absent() || before.AllPermits() != after.AllPermits(), 0
	case op.Kind.Asks():
		for _, p := range after.Taken {
			if _, out := before.Has(p.Permit); !out {
				return history.Acquired, true, p.Permit
			}
		}
		was, _ := before.Has(op.Token)
		if is, out := after.Has(op.Token); after.AllPermits() < before.AllPermits() || out && is != was { // one more for the same permit
			return history.Acquired, true, op.Token
		}
		return history.Busy, false, 0
	case op.Kind == history.ReleasePermit:
		_, was := before.Has(op.Token)
		_, is := after.Has(op.Token)
		if was && !is && r.Reply != "0" { // else it was over
			return history.OK, true, op.Token
		}
		return history.NotHeld, false, op.Token
	}
	was, _ := before.Has(op.Token)
	is, out := after.Has(op.Token)
	if out {
		first := op.Evidence != history.Executed && (!c.h.Can(string(contract.Idempotent)) || c.lastsFor(is, op.Lease)) // else it may be remembered
		return history.OK, was != is || first, op.Token
	}
	return history.NotHeld, false, op.Token
}

// lastsFor reports whether the lease of a permit ends when one does that begins now; 0: never.
func (c *conclusion) lastsFor(p history.TakenPermit, lease time.Duration) bool {
	if lease == 0 || p.Deadline == 0 {
		return lease == 0 && p.Deadline == 0
	}
	return (c.now + lease - p.Deadline).Abs() <= time.Millisecond
}

// wouldGrant reports whether a permit semaphore in a state does now what an operation is for.
func (c *conclusion) wouldGrant(op *history.Op, s history.KeyState) bool {
	switch {
	case op.Kind.Sets():
		return s.Absent()
	case op.Kind.Adds():
		return op.Value > 0 || s.AllPermits() > 0 || s.Absent() || !c.h.Can(string(contract.OneKey))
	case op.Kind.Asks():
		return s.NumberAt(c.now) > 0
	}
	p, out := s.Has(op.Token)
	return out && !p.Over(c.now)
}

// permitsAside records what a command did to a permit semaphore beside what its call is for: a lock library gives back what a call
// took that nobody wants, or repeats a call of which it had no answer; or it takes back a permit whose lease is not over.
func (c *conclusion) permitsAside(t touch, before history.KeyState, of int64) {
	l, r := t.lock, t.row
	after := l.last
	aside := func(op history.Op) {
		if id := c.apart[apart{c.request, l.name}]; id != 0 && c.request != 0 { // it has taken effect before
			c.amend(id, func(op *history.Op) { op.Repeats++ })
			c.ops[r], r.Op = append(c.ops[r], id), id
			return
		}
		op.Client, op.Owner, op.Lock, op.Aside, op.Call = r.Client, r.Owner, l.name, true, cmp.Or(r.Began, r.Sent)
		op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, c.now, c.within, cmp.Or(op.Answer, history.OK)
		c.noted(r, op)
	}
	for _, p := range before.Taken {
		is, out := after.Has(p.Permit)
		switch {
		case p.Permit == of:
		case !out && !p.Over(c.now):
			aside(history.Op{Kind: history.ReleasePermit, Value: 1, Token: p.Permit})
		case out && is != p:
			aside(history.Op{Kind: history.UpdateLease, Value: 1, Token: p.Permit, Lease: lasts(is, c.now)})
		}
	}
	taken := slices.DeleteFunc(slices.Clone(after.Taken), func(p history.TakenPermit) bool {
		_, out := before.Has(p.Permit)
		return out || p.Permit == of
	})
	for _, p := range taken {
		aside(history.Op{Kind: history.AcquirePermit, Value: 1, Token: p.Permit, Lease: lasts(p, c.now), Answer: history.Acquired})
	}
	// A set, and what is added, shows in the number alone.
	if by := after.AllPermits() - before.AllPermits(); of == 0 && r.Op == 0 && r.Step == history.StepSet && (by != 0 || before.Absent() != after.Absent()) && (!before.Absent() || !c.owesSet(r.Client, l)) {
		aside(history.Op{Kind: history.AddTotal, Value: by})
		return
	}
	if of == 0 && r.Op == 0 && before.Absent() && !after.Absent() && len(after.Taken) == len(before.Taken) {
		aside(history.Op{Kind: history.TrySetTotal, Value: after.Number()})
	}
}

// lasts is how long a permit's lease lasts from a time on; 0: it has no end.
func lasts(p history.TakenPermit, now time.Duration) time.Duration {
	if p.Deadline == 0 {
		return 0
	}
	return max(p.Deadline-now, 1)
}
