package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// endsEach looks for members that an owner has still though the answer to its unlock says that it has given its last hold of the
// group back. Its client knows of them: the answer to that member's command told it.
func (f *facts) endsEach(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if op.Outcome != history.Released || cancelled(op) || f.owes(l, op.Owner, op.Call) ||
		slices.ContainsFunc(f.view.sharing[l.name], func(other *lockFacts) bool { return f.owes(other, op.Owner, op.Return) }) {
		return
	}
	for _, key := range c.members {
		r := f.heardLast(op, key)
		if r == nil || r.After.Count(op.Owner) == 0 || r.After.Count(op.Owner) >= r.Before.Count(op.Owner) {
			continue // of a lock that is not re-entrant, what is there now is another hold
		}
		limit := f.memberLimit(c, op, key, op.Return)
		until := f.view.members[key].until(op.Owner, r.At, 1)
		gone, ended := f.ended[op.Client]
		if until <= limit || ended && gone <= limit || f.callsAgain(l, op, limit) || f.sharedHold(l, op.Owner, r.At, limit) {
			continue
		}
		f.groupViolation(found, l, op, contract.UnlockEndsHold, until, f.leftBy(l, op, key), "its owner has given all back, and held its member %s until %s", key, Stamp(until))
	}
}

// innerOf is the grant that an unlock gives back, if its owner has an earlier one to give back yet; nil: it has none.
func (f *facts) innerOf(l *lockFacts, op *history.Op) *history.Op {
	o := l.owner(op.Owner)
	b := o.belief(op.Call - 1)
	if b == nil || f.owed(l, op.Owner, b.acquire.Call, op.Return) == 0 {
		return nil
	}
	for _, call := range slices.Backward(o.called(b.acquire.Call+1, op.Call-1)) {
		if call.Kind.Acquires() && !call.Aside && call.Outcome == history.Acquired {
			return call
		}
	}
	return nil
}

// keepsOuter looks for members that an unlock takes from an outer hold. The owner had them before it took the hold that the unlock gives
// back. It asks that of locks that take back what a call of unknown outcome took: they know what the inner hold has.
func (f *facts) keepsOuter(l *lockFacts, c *composition, op *history.Op, found *violations) {
	o := l.owner(op.Owner)
	b := o.belief(op.Return)
	if op.Outcome != history.Decremented || b == nil || !f.h.Can(string(contract.TakesBack)) {
		return
	}
	calls := slices.DeleteFunc(slices.Clone(o.called(b.acquire.Call, op.Call-1)), func(call *history.Op) bool { return call.Aside || call.Kind.Renews() })
	inner := len(calls) - 1
	if inner < 1 || slices.ContainsFunc(calls, func(call *history.Op) bool {
		return !call.Kind.Acquires() || call.Uncertain() || call.Pending() || call.Outcome == history.Failed
	}) || calls[inner].Outcome != history.Acquired || f.sharedHold(l, op.Owner, b.acquire.Call, op.Return) {
		return
	}
	for _, key := range c.members {
		m := f.view.members[key]
		if slices.ContainsFunc(calls[:inner], func(call *history.Op) bool { return f.unheard(call, key) }) {
			continue
		}
		earlier := m.askedBefore(f, op.Owner, b.acquire.Call, calls[inner].Call) // of another call, which its client gives back
		earlier += m.givenBackLater(f, op.Owner, calls[inner].Call)
		for _, call := range calls[:inner] {
			earlier += m.answeredLate(f, call) + m.gaveInVain(f, call)
		}
		had := min(m.at(calls[inner].Call).Count(op.Owner)-earlier, f.owed(l, op.Owner, b.acquire.Call, op.Return))
		gave := m.tookBelow(f, op, calls[inner].Call, had)
		if t := o.tenure(op.Call); gave == nil || t == nil || gave.Before.Deadline-f.tellsBefore(l, t) <= gave.At {
			continue // or its client may take the outer hold's lease for over
		}
		f.groupViolation(found, l, op, contract.OneHoldAnUnlock, gave.At, Cause{Class: contract.Unexplained, Text: "that was of an outer hold"},
			"it left its owner %s of the member %s; before the hold that it gave back the owner had %s",
			count(int(gave.After.Count(op.Owner)), "hold"), key, count(int(had), "hold"))
	}
}

// askedBefore are the holds of a key that an owner had at a time, or got up to another by what was sent before.
func (m *member) askedBefore(f *facts, owner string, when, to time.Duration) int64 {
	holds := m.at(when).Count(owner)
	for _, i := range m.rows {
		if r := &f.h.Served[i]; r.At > when && r.At <= to && r.Sent < when {
			holds += max(0, r.After.Count(owner)-r.Before.Count(owner))
		}
	}
	return holds
}

// answeredLate are the holds of a key that a call got later than a message and its answer take: the attempt that asked for them may have
// been over, so that its client gives them back.
func (m *member) answeredLate(f *facts, op *history.Op) (holds int64) {
	for _, i := range m.rows {
		if r := &f.h.Served[i]; r.Op == op.ID && r.Got-r.Sent > 2*f.latency() {
			holds += max(0, r.After.Count(op.Owner)-r.Before.Count(op.Owner))
		}
	}
	return holds
}

// gaveInVain are the holds of a key that a call got, and on whose key it then sent a command that the server refused: the attempt was over, and its
// client gives them back later.
func (m *member) gaveInVain(f *facts, op *history.Op) (holds int64) {
	for _, i := range m.rows {
		switch r := &f.h.Served[i]; {
		case r.Op != op.ID:
		case turnedDown(r):
			return holds
		default:
			holds += max(0, r.After.Count(op.Owner)-r.Before.Count(op.Owner))
		}
	}
	return 0
}

// givenBackLater are the holds of a key that an owner had at a time, and that its client was giving back in the background by what it had sent
// before: they are of an attempt that was over.
func (m *member) givenBackLater(f *facts, owner string, when time.Duration) (holds int64) {
	for _, i := range m.rows {
		if r := &f.h.Served[i]; r.Op == 0 && r.Owner == owner && r.Step != history.StepAdmin && r.At > when && f.firstSent(r) < when {
			holds += max(0, r.Before.Count(owner)-r.After.Count(owner))
		}
	}
	return holds
}

// tookBelow is the command by which an unlock left its owner fewer holds of the key than some, though from a time on nothing but its owner's
// client had changed them. nil: there is none.
func (m *member) tookBelow(f *facts, op *history.Op, from time.Duration, holds int64) *history.Served {
	has := m.at(from).Count(op.Owner)
	for _, i := range m.rows {
		r := &f.h.Served[i]
		switch {
		case r.At <= from || r.At > op.Return:
			continue
		case r.Before.Count(op.Owner) != has || r.Step == history.StepAdmin: // a fault, or a lease that ended
			return nil
		case r.Op == op.ID && r.After.Count(op.Owner) < has && r.After.Count(op.Owner) < holds:
			return r
		case (r.Client != op.Client || r.Owner != op.Owner) && r.After.Count(op.Owner) != has: // a forced unlock, too
			return nil
		}
		has = r.After.Count(op.Owner)
	}
	return nil
}

// heardLast is the last command of a call on a member whose answer came before the call returned; nil: there is none, or
// another's answer did not.
func (f *facts) heardLast(op *history.Op, key memberKey) (last *history.Served) {
	if f.unheard(op, key) {
		return nil
	}
	for _, i := range f.view.commands[op.ID] {
		if r := &f.h.Served[i]; r.Server == key.server && r.Lock == key.key && r.At <= op.Return {
			last = r
		}
	}
	return last
}

// leftBy says why an owner has a hold of a member that it does not know of when its last unlock has returned. A call on the group, or on
// another with that member, may not have been told what became of it, even where the others were enough.
func (f *facts) leftBy(l *lockFacts, op *history.Op, key memberKey) Cause {
	m := f.view.members[key]
	since := m.since(op.Owner, op.Call)
	if x := f.memoryLost(since, op.Return, func(fault *history.Fault) bool { return fault.Server == "" || fault.Server == key.server }); x >= 0 {
		c := Cause{Text: fmt.Sprintf("since it took the member %s", f.describe(x))}
		f.forgot(x, &c)
		return c
	}
	calls := f.callsOn(m, op.Owner, since, op.Return)
	for _, call := range calls {
		if again := m.tookAgain(f, call); again > 0 {
			return f.twice(l, call, again, fmt.Sprintf("the %s of %s (operation %d) took effect on it more than once", call.Kind, call.Owner, call.ID))
		}
	}
	for _, heard := range []bool{false, true} { // of the member, though not of the others: it may have been refused
		for _, locks := range append([]*lockFacts{l}, f.view.sharing[l.name]...) {
			if !slices.Contains(f.view.locks[locks.name].members, key) {
				continue // it shares another member
			}
			for _, call := range locks.owner(op.Owner).called(0, op.Call-1) {
				if call.Kind.Acquires() && !slices.ContainsFunc(m.rows, func(i int) bool { return f.h.Served[i].Op == call.ID }) {
					continue // it took nothing of the member
				}
				lasted := f.until(call) >= since || slices.Contains(calls, call)
				last := f.heardLast(call, key)
				if lasted && !call.Aside && !givenUp(call) && f.untoldMember(call, key) && (last != nil) == heard {
					return f.untold(locks, call, f.until(call), fmt.Sprintf("the %s of %s (operation %d) ended %s, and was not told what became of the member", call.Kind, call.Owner, call.ID, call.Outcome))
				}
			}
		}
	}
	return Cause{Class: contract.Unexplained, Text: "the answer told its client that a hold was left"}
}

// untoldMember reports whether a call was not told what became of its request to a member.
func (f *facts) untoldMember(call *history.Op, key memberKey) bool {
	last := f.heardLast(call, key)
	return call.Uncertain() || call.Outcome == history.Failed || f.unheard(call, key) || call.Error != "" && (last == nil || refused(last))
}

// since is when the hold of the key began that an owner has at a time; the time itself if it has none.
func (m *member) since(owner string, when time.Duration) time.Duration {
	from := when
	for _, s := range slices.Backward(m.states) {
		if s.from > when {
			continue
		}
		if s.KeyState.Count(owner) == 0 {
			break
		}
		from = s.from
	}
	return from
}

// callsOn are the calls of an owner whose commands changed a key in [from, to], in the order of their first.
func (f *facts) callsOn(m *member, owner string, from, to time.Duration) (calls []*history.Op) {
	for _, i := range m.rows {
		r := &f.h.Served[i]
		if op := f.op(r.Op); op != nil && op.Owner == owner && from <= r.At && r.At <= to && !slices.Contains(calls, op) {
			calls = append(calls, op)
		}
	}
	return calls
}

// tookAgain is when a call took a hold of the key once more; 0: it did not. An attempt that is given back is none, nor one of which the key
// is gone.
func (m *member) tookAgain(f *facts, op *history.Op) time.Duration {
	took := false
	for _, i := range m.rows {
		r := &f.h.Served[i]
		was, is := r.Before.Count(op.Owner), r.After.Count(op.Owner)
		switch {
		case r.Op != op.ID || is == was:
		case is < was:
			took = false
		case took && was > 0:
			return r.At
		default:
			took = true
		}
	}
	return 0
}

// keptFromGiving lists what kept the client of a call from giving a member back that it took, from a time on. What was over when it heard
// that it had the member did not: it could act, unless its other connections were broken.
func (f *facts) keptFromGiving(op *history.Op, key memberKey, took *history.Served, from, to time.Duration) []obstacle {
	all := f.memberObstacles(op.Client, key, from, to)
	if took == nil || took.Op != op.ID || took.Got == 0 || took.Got > op.Return {
		return all
	}
	return slices.DeleteFunc(all, func(o obstacle) bool {
		_, end := f.span(&f.h.Faults[o.fault])
		return end <= took.Got && !f.h.Faults[o.fault].Has(history.ConnectionBroken)
	})
}

// leftHeld tells of a member's holds that an owner has from a time on, and should not have when its client has had the
// opportunity to give them back, unless the hold became one of another call's. Where the call did not learn what
// became of a command on the member, or could not reach it from then on, or was given up, or its client's process ended, the lease may end them. What took
// them, if that is known, is a command of the call.
func (f *facts) leftHeld(l *lockFacts, c *composition, op *history.Op, key memberKey, took *history.Served, from time.Duration, holds int64, rule contract.Rule, found *violations) {
	m, since := f.view.members[key], max(op.Return, from)
	limit := enough(since, f.groupPrompt(c), f.keptFromGiving(op, key, took, since, f.end))
	until := m.until(op.Owner, from, holds)
	if until <= limit || f.callsAgain(l, op, limit) {
		return
	}
	// An attempt that is given up knows what it had been granted by then. An unlock that is given up may be done in part.
	given := cancelled(op) && rule == contract.EveryMemberReleased && !f.h.Can(string(contract.TakesBack))
	unheard := f.unheard(op, key)
	hindered := slices.ContainsFunc(faultsOf(f.keptFromGiving(op, key, took, min(from, op.Return), op.Return)), func(i int) bool { return !f.delays(i) })
	begun, outer := f.begunBy(m, op), false
	if b := l.owner(op.Owner).belief(limit); b != nil && b.from < op.Call && b.to >= op.Return {
		begun, outer = b.acquire.Call, true
	} else if rule == contract.EveryMemberReleased { // it may have been told that all is over where the outer hold had lost another member
		outer = f.owed(l, op.Owner, begun, op.Call-1) > 1
	}
	if outer {
		if given || (unheard || hindered || f.refusedSome(op)) && !f.h.Can(string(contract.TakesBack)) {
			return // an outer hold is its own, and renewed
		}
		if m.at(limit).KeyState.Count(op.Owner) <= f.owed(l, op.Owner, begun, op.Return) {
			return // of the outer hold, which had lost the member, no less
		}
	}
	if untold := given || unheard || hindered || f.refusedSome(op); !outer && untold && !f.h.Can(string(contract.TakesBack)) && m.at(op.Call).Count(op.Owner) > f.owed(l, op.Owner, begun, op.Call-1) {
		return // of another group, or what an earlier unlock left, it has one more, which is renewed
	}
	if !outer && f.countsLost(l, op, key, given || unheard || hindered || f.refusedSome(op)) {
		return
	}
	gone, ended := f.ended[op.Client]
	if given || unheard || hindered || ended && gone <= limit || f.stale(op) {
		ends := f.end
		if s := m.at(limit); s.Deadline > 0 {
			ends = s.Deadline
		}
		for _, i := range m.rows { // what came when its call was over is a copy, which is told by itself
			r := &f.h.Served[i]
			call := f.op(r.Op)
			over := call != nil && call.Owner == op.Owner && (!call.Pending() && call.Return < r.At || call.Aside)
			if r.Step == history.StepRenew { // or a renewal that was under way
				over = r.Client == op.Client && r.Sent < op.Return
			}
			if over && limit < r.At && r.At <= ends+f.exact() {
				ends = max(ends, r.After.Deadline)
			}
		}
		if until <= ends+f.exact() || f.callsAgain(l, op, ends) {
			return
		}
	}
	cause := Cause{Class: contract.Unexplained, Text: "nothing kept the lock from giving it back"}
	if from > op.Return {
		cause = f.twice(l, op, from, fmt.Sprintf("a command of the call was executed at %s, after its return", Stamp(from)))
	}
	f.groupViolation(found, l, op, rule, until, cause, "it left a hold of its member %s until %s", key, Stamp(until))
}

// countsLost reports whether the client of a lock that takes nothing back counts a hold that had lost the member, and was not told so: it had more
// than one when a call, this or an unlock before it, was not told what became of the member.
func (f *facts) countsLost(l *lockFacts, op *history.Op, key memberKey, untold bool) bool {
	if f.h.Can(string(contract.TakesBack)) {
		return false
	}
	o, since := l.owner(op.Owner), f.view.members[key].since(op.Owner, op.Call)
	return slices.ContainsFunc(o.called(0, op.Call), func(call *history.Op) bool {
		of := call == op && untold || call != op && call.Kind.Unlocks() && !call.Aside && call.Return >= since && f.untoldMember(call, key)
		return of && f.owed(l, op.Owner, o.over(call.Call), call.Call-1) > 1
	})
}

// over is when an owner was last told by a time that it had given all back; 0: it never was.
func (o *ownerFacts) over(by time.Duration) (at time.Duration) {
	for _, op := range o.ops {
		if op.Kind.Unlocks() && op.Outcome == history.Released && !op.Pending() && op.Return <= by {
			at = max(at, op.Return)
		}
	}
	return at
}

// begunBy is when the call was made that began the hold of the key that an owner has at another call.
func (f *facts) begunBy(m *member, op *history.Op) time.Duration {
	since := m.since(op.Owner, op.Call)
	for _, i := range m.rows {
		r := &f.h.Served[i]
		if call := f.op(r.Op); r.At == since && call != nil && r.After.Count(op.Owner) > 0 {
			return call.Call
		}
	}
	return since
}

// unheard reports whether a call did not learn what became of one of its commands on a member.
func (f *facts) unheard(op *history.Op, key memberKey) bool {
	return slices.ContainsFunc(f.view.commands[op.ID], func(i int) bool {
		r := &f.h.Served[i]
		return r.Server == key.server && r.Lock == key.key && (r.Got == 0 || r.Got > op.Return)
	})
}

// callsAgain reports whether an owner took a lock again that has members of a lock in common with it, after a
// call and before a time: what the call left is then part of that.
func (f *facts) callsAgain(l *lockFacts, op *history.Op, before time.Duration) bool {
	for _, other := range append([]*lockFacts{l}, f.view.sharing[l.name]...) {
		if slices.ContainsFunc(other.owner(op.Owner).called(op.Return, before), func(o *history.Op) bool { return o.Kind.Acquires() && !o.Aside }) {
			return true
		}
	}
	return false
}

// untoldOf are the members that an unlock left alone, of which its client could not know that they are lost: somebody from outside took
// them from the owner, or a call that was not answered had set a shorter lease, and the lease that the client counts on lasts.
func (f *facts) untoldOf(c *composition, op *history.Op) (lost []memberLoss) {
	for _, key := range c.members {
		m := f.view.members[key]
		if slices.ContainsFunc(m.rows, func(i int) bool { return f.h.Served[i].Op == op.ID }) {
			continue
		}
		for i := len(m.states) - 1; i > 0; i-- {
			was, is := &m.states[i-1], &m.states[i]
			if is.from > op.Call || was.Count(op.Owner) == 0 && is.Count(op.Owner) == 0 {
				continue
			}
			if is.Count(op.Owner) > 0 || f.takes(m, op.Owner, is.from) != nil {
				break
			}
			if heard, unheard := m.heardUntil(f, op, was.from); was.Deadline >= op.Call {
				lost = append(lost, memberLoss{key: key, at: is.from})
			} else if unheard != nil && heard >= op.Call {
				lost = append(lost, memberLoss{key: key, at: is.from, row: unheard})
			}
			break
		}
	}
	return lost
}

// heardUntil is the end of an owner's hold of a key that lasted at a time, as its client was told it before a call; and the last command of the
// owner that set another, which was not answered by then; nil: there is none.
func (m *member) heardUntil(f *facts, op *history.Op, when time.Duration) (until time.Duration, unheard *history.Served) {
	since := m.since(op.Owner, when)
	for _, i := range m.rows {
		r := &f.h.Served[i]
		switch {
		case r.At < since || r.At > when || r.Owner != op.Owner || r.After.Count(op.Owner) == 0 || r.Before.Deadline == r.After.Deadline:
		case r.Got > 0 && r.Got <= op.Call:
			until, unheard = r.After.Deadline, nil
		default:
			unheard = r
		}
	}
	return until, unheard
}

// untoldLoss is the cause that a member was lost of which nobody told: by the faults that touched its key then, or by those for which a call
// was not answered that had set a shorter lease.
func (f *facts) untoldLoss(l *lockFacts, owner string, loss memberLoss) Cause {
	if loss.row != nil {
		text := fmt.Sprintf("%s lost the member %s at %s, since a call had set a lease that ended then, and was not told; the unlock left it alone", owner, loss.key, Stamp(loss.at))
		if call := f.op(loss.row.Op); call != nil {
			return f.untold(l, call, loss.at, text)
		}
		return Cause{Class: contract.Unexplained, Text: text}
	}
	faults := f.struckBy("", loss.key.key, loss.at, loss.at, append(history.TouchesKey(), history.ServerForgot))
	return Cause{Class: contract.KeyLost, Faults: faults, Effects: f.effectsOf(faults),
		Text: fmt.Sprintf("%s lost the member %s at %s, and the unlock left it alone", owner, loss.key, Stamp(loss.at))}
}
