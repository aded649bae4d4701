package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// lostHold says why the server no longer had an owner's hold at a moment at which the owner still
// believed in it.
func (f *facts) lostHold(l *lockFacts, owner string, at time.Duration) Cause {
	t := l.owner(owner).tenure(at)
	if t != nil && (t.open || t.to > at) {
		if c, taken := f.perhapsTaken(l, t, at); taken {
			return c
		}
		if c, over := f.perhapsOver(l, t, at); over {
			return c
		}
		if c, gave := f.perhapsReleased(l, t, at); gave {
			return c
		}
		if c, cut := f.perhapsShortened(l, t, at); cut {
			return c
		}
		if c, cut := f.perhapsCut(l, t, at); cut {
			return c
		}
	}
	switch {
	case t == nil:
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the server never granted %s to %s", l.name, owner)}
	case t.open || t.to > at:
		return Cause{Class: contract.GrantedTwice, Text: fmt.Sprintf("the server gave %s away at %s while %s held it", l.name, Stamp(at), owner)}
	case f.implied():
		if c, taken := f.perhapsTaken(l, t, t.to); taken {
			return c
		}
		if c, cut := f.perhapsCut(l, t, t.to); cut && t.watchdog { // when it ends is known of no hold that is renewed
			return c
		}
	}
	return f.over(l, t)
}

// over says why a hold ended.
func (f *facts) over(l *lockFacts, t *tenure) Cause {
	if c, gone := f.memberGone(l, t); gone {
		return c
	}
	switch {
	case t.endEvent != nil && !t.outside:
		return f.expired(l, t)
	case t.endEvent != nil:
		return f.takenAway(l, t)
	case f.composed(l) && t.deadline > 0 && t.deadline <= t.to+1: // its unlock was under way when a member's lease ended
		return f.expired(l, t)
	}
	return f.released(l, t)
}

// serverLost says that the server lost a lock's key in [from, to], and in what; nil: it did not.
func (f *facts) serverLost(l *lockFacts, from, to time.Duration) (c Cause, in *history.Event) {
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if (e.Kind == history.Restart || e.Kind == history.Failover) && from <= e.At && e.At <= to {
			faults := f.struckAt(e.At, l.name, history.ServerForgot)
			if len(faults) == 0 && len(f.struckAt(e.At, "", history.ServerForgot)) > 0 {
				continue // that was another server
			}
			return Cause{Class: contract.ServerLost, Effects: []history.Effect{history.ServerForgot}, Faults: faults,
				Text: fmt.Sprintf("%s lost the key of %s in the %s at %s", f.serverOf(faults), l.name, e.Kind, Stamp(e.At))}, e
		}
	}
	return Cause{}, nil
}

// expired says why a hold came to the end of its lease.
func (f *facts) expired(l *lockFacts, t *tenure) Cause {
	if u := f.lostUnheard(l, t); u != nil {
		c := f.over(l, u)
		by := "a copy of its request"
		if !t.again {
			by = "a call that had no answer"
		}
		c.Text += fmt.Sprintf("; %s took it once more at %s, until %s", by, Stamp(t.from), Stamp(t.to))
		return c
	}
	if c, cut := f.cutByOther(l, t); cut {
		return c
	}
	return f.outlasted(l, t, fmt.Sprintf("the key of %s expired at %s: ", l.name, Stamp(t.to)))
}

// outlasted says why a hold did not last longer than its lease; its text goes on after a statement of that.
func (f *facts) outlasted(l *lockFacts, t *tenure, what string) Cause {
	last := t.last()
	set := t.sets[len(t.sets)-1]
	by := f.memberCut(l, t)
	switch {
	case by != nil:
		last = cmp.Or(by.Executed, set.at)
		what += fmt.Sprintf("the %s of %s by %s (operation %d) set the lease of a member that both have to %s at %s", by.Kind, by.Lock, by.Owner, by.ID, short(by.Asked), Stamp(last))
	case set.byItself:
		last = set.at
		what += fmt.Sprintf("a request of %s, by no call, set its lease to %s at %s", t.client, short(t.deadline-last), Stamp(last))
	case len(t.sets) == 1:
		what += fmt.Sprintf("its lease of %s began at %s", short(t.lease), Stamp(last))
		if t.watchdog {
			what += " and was never renewed"
		}
	default:
		what += fmt.Sprintf("its lease of %s was last renewed at %s", short(t.lease), Stamp(last))
	}
	from := last
	if f.composed(l) && set.op != nil {
		from = min(last, set.op.Call) // the lease of its first member may have begun then
	}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if e.Kind == history.ClockJump && from < e.At && e.At <= t.to {
			faults := f.struckAt(e.At, l.name, history.ClockMoved)
			return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: faults,
				Text: fmt.Sprintf("%s, and %s's clock jumped by %s at %s", what, f.serverOf(faults), short(e.By), Stamp(e.At))}
		}
	}
	if r := f.shortened(t, set.op, set.at); r != nil {
		c := f.twice(l, set.op, set.at, fmt.Sprintf("%s, by a renewal that %s had sent at %s, and others before it arrived", what, t.client, Stamp(r.Sent)))
		if len(c.Faults) == 0 { // its client was busy with it when the hold before ended
			c.Class = contract.RenewedLate
		}
		return c
	}
	if f.cut(l, t, set) {
		return Cause{Class: contract.Unexplained, Text: what + ", which is less than " + t.owner + " had asked for"}
	}
	sets := len(t.sets)
	if op := set.op; f.composed(l) && op != nil && op.Kind.Unlocks() && (op.Pending() || op.Return >= t.to) {
		sets-- // it is under way: the members that it has not reached yet have the lease from before
	}
	if by != nil || t.askedFor(sets) || f.memberAsked(l, t) || f.takenAnew(l, t) {
		// Nobody promised to renew an explicit lease: the work took longer than was asked for.
		lasting := []history.Effect{history.ProcessStopped, history.RequestsHeld, history.RepliesHeld, history.ServerDown}
		if late := f.struckBy(t.client, l.name, t.from, t.to, lasting); len(late) > 0 {
			return f.blame(what+", and "+f.describeAll(late), late)
		}
		return Cause{Class: contract.LeaseOutlived, Text: what + ", and the work took longer"}
	}
	if f.implied() && t.watchdog { // nobody saw its renewals
		last = max(last, t.to-t.lease)
	}
	c := f.unrenewed(l, t, f.due(t, last, t.to), t.to)
	c.Text = what + c.Text
	return c
}

// unrenewed says why a hold's lease was not renewed in [from, to]; its text goes on after a
// statement of that. Faults explain it if they left its client no opportunity to renew in time.
func (f *facts) unrenewed(l *lockFacts, t *tenure, from, to time.Duration) Cause {
	all := f.untilRenewed(t.client, l.name, from, to)
	left := opportunity(from, to, all)
	faults := faultsOf(all)
	hindered := len(all) > 0 && left <= cmp.Or(f.renewEvery(), t.lease/3)+f.renewalSlack()
	if op := f.unwatched(l, t, from, to); op != nil && !hindered {
		return Cause{Class: contract.OtherHold, Text: fmt.Sprintf(", and the watchdog of %s ended with its %s at %s", t.owner, op.Kind, Stamp(op.Call))}
	}
	if op := f.forcedBy(l, t, from, to); op != nil && !hindered {
		return Cause{Class: contract.ForceUnrenewed, Text: fmt.Sprintf(", and the watchdog of %s ended with the %s of %s at %s", t.client, op.Kind, op.Owner, Stamp(op.Call))}
	}
	if b := t.latest; t.again && b != nil && b.from < t.from && f.refusedRenewals(l, t.owner, b.from, t.from) > 0 {
		return f.twice(l, t.grant, t.from, fmt.Sprintf(": a renewal was refused, so that its client knew of no hold, and a copy of its request took it once more at %s", Stamp(t.from)))
	}
	if text, late := f.begunLate(l, t, from, to); late {
		return Cause{Class: contract.LeaseExpired, Text: text}
	}
	switch {
	case hindered:
		because := "after "
		if slices.ContainsFunc(faults, func(i int) bool { return f.h.Faults[i].Lasts() }) {
			because = "because "
		}
		return f.blame(", "+because+f.describeAll(faults), faults)
	case len(all) > 0:
		return Cause{Class: contract.LeaseExpired,
			Text: fmt.Sprintf(", though its client had %s of opportunity besides the time that faults took: %s", short(left), f.describeAll(faults))}
	}
	if sent := f.refusedRenewals(l, t.owner, from, to); sent > 0 {
		return Cause{Class: contract.LeaseExpired, Text: fmt.Sprintf(", though %s sent", was(sent, "renewal"))}
	}
	return Cause{Class: contract.LeaseExpired, Text: ", and no fault explains why"}
}

func (f *facts) refusedRenewals(l *lockFacts, owner string, from, to time.Duration) int {
	sent := 0
	for _, op := range l.owner(owner).called(from+1, to-1) {
		if op.Kind.Renews() && answer(op) != history.Renewed {
			sent++
		}
	}
	return sent
}

// takenAway says who removed the key from outside.
func (f *facts) takenAway(l *lockFacts, t *tenure) Cause {
	if c, lost := f.serverLost(l, t.from, t.to); lost != nil {
		if back := t.endEvent; back.Kind == history.Restore {
			c.Text = fmt.Sprintf("%s forgot the hold of %s on %s in the %s at %s, and took it for held by %s again",
				f.serverOf(c.Faults), t.owner, l.name, lost.Kind, Stamp(lost.At), back.Owner)
		}
		return c
	}
	if c, jumped := f.jumped(l, t); jumped {
		return c
	}
	effect := history.KeyDeleted
	how := "deleted"
	switch t.endEvent.Kind {
	case history.Expire:
		effect, how = history.KeyExpired, "expired"
	case history.Restore:
		effect, how = history.KeyOverwritten, "overwritten"
	}
	return Cause{Class: contract.KeyLost, Effects: []history.Effect{effect}, Faults: f.struckBy("", l.name, t.from, t.to, touches),
		Text: fmt.Sprintf("the key of %s was %s from outside at %s, while %s held it", l.name, how, Stamp(t.to), t.owner)}
}

// jumped says of a hold whose key expired, since its time to live was changed from outside, that a server's clock did that.
func (f *facts) jumped(l *lockFacts, t *tenure) (Cause, bool) {
	set := t.sets[len(t.sets)-1]
	moved := f.struckAt(set.at, l.name, history.ClockMoved)
	if t.endEvent.Kind != history.Expire || set.op != nil || len(moved) == 0 {
		return Cause{}, false
	}
	return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: moved,
		Text: fmt.Sprintf("the key of %s expired at %s, while %s held it, since %s", l.name, Stamp(t.to), t.owner, f.describeAll(moved))}, true
}

// released says why an operation ended a hold that its owner still believed in.
func (f *facts) released(l *lockFacts, t *tenure) Cause {
	op := t.endOp
	call, gave, once := op, false, false // in whose name, whether that call had given it back before, and whether it took effect but once
	if op != nil {
		call, gave = cmp.Or(f.inNameOf(op), op), f.gaveBefore(op)
		once = !t.endAgain && t.to == op.Executed || f.composed(l) && f.onceEach(op)
		if c, lost := f.lostBeside(l, t, call); lost {
			return c
		}
	}
	switch {
	case op == nil:
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the server ended the hold of %s on %s at %s", t.owner, l.name, Stamp(t.to))}
	case op.Kind.Forces():
		return Cause{Class: contract.Forced, Effects: []history.Effect{history.ForcedFree}, Faults: f.struckAt(op.Call, l.name, history.ForcedFree),
			Text: fmt.Sprintf("the lock %s was forced free by %s at %s, while %s held it", l.name, op.Owner, Stamp(t.to), t.owner)}
	case op.Owner == t.owner && f.lostUnder(l, t) != nil:
		before := f.lostUnder(l, t)
		c := f.over(l, before)
		c.Text += fmt.Sprintf("; %s was not told, and of what it took from %s on, its calls had given back everything at %s", t.owner, Stamp(t.from), Stamp(t.to))
		return c
	case call.Owner == t.owner && once && call.Call < t.from && cancelled(call) && !gave:
		return Cause{Class: contract.Abandoned, executed: executions{call: call.Kind},
			Text: fmt.Sprintf("the %s of %s, which gave it up at %s and locked again, took effect at %s", call.Kind, call.Owner, Stamp(call.Return), Stamp(t.to))}
	case call.Owner == t.owner && once && t.to > call.Return && !gave && f.refusedCopy(call):
		return f.untold(l, call, t.to, fmt.Sprintf("the %s of %s, of which the server had refused a copy, took effect at %s", call.Kind, call.Owner, Stamp(t.to)))
	case op.Owner == t.owner && once && op.Uncertain() && op.Call < t.from && t.to > op.Return:
		return f.untold(l, op, t.to, fmt.Sprintf("the %s of %s ended unknown at %s, and took effect at %s, when its owner had locked again",
			op.Kind, op.Owner, Stamp(op.Return), Stamp(t.to)))
	case op.Owner == t.owner && !t.endAgain && f.lateUnlock(l, t) != nil:
		late := f.lateUnlock(l, t)
		if late.Aside {
			return f.untold(l, late, late.Executed, fmt.Sprintf("a release that %s had sent at %s, by no call, took effect at %s, when its owner had locked again",
				late.Client, Stamp(late.Call), Stamp(late.Executed)))
		}
		return f.untold(l, late, late.Executed, fmt.Sprintf("the %s of %s ended unknown at %s, and took effect at %s, when its owner had locked again",
			late.Kind, late.Owner, Stamp(late.Return), Stamp(late.Executed)))
	case t.endAgain || op.Owner == t.owner && t.to > op.Return && t.to != op.Executed && !op.Pending():
		return f.twice(l, op, t.to, fmt.Sprintf("the %s of %s that took effect at %s took effect once more at %s",
			op.Kind, op.Owner, Stamp(op.Executed), Stamp(t.to)))
	case gave:
		return f.twice(l, call, t.to, fmt.Sprintf("the %s of %s on %s, which had given %s back, did so once more at %s",
			call.Kind, call.Owner, call.Lock, l.name, Stamp(t.to)))
	case op.Owner == t.owner && op.Aside && f.firstCopy(op, t.to) != nil:
		return f.twice(l, op, t.to, fmt.Sprintf("a request by which %s had given %s back in the background, at %s, did so once more at %s",
			op.Client, l.name, Stamp(f.firstCopy(op, t.to).At), Stamp(t.to)))
	case f.shortened(t, op, t.to) != nil:
		return f.twice(l, op, t.to, fmt.Sprintf("a renewal that %s sent at %s took effect at %s, when the lease that it set was over",
			op.Client, Stamp(f.shortened(t, op, t.to).Sent), Stamp(t.to)))
	case op.Owner == t.owner && f.sentBefore(op, t):
		return f.twice(l, op, t.to, fmt.Sprintf("a release that %s had sent before it got %s at %s took effect at %s", op.Client, l.name, Stamp(t.from), Stamp(t.to)))
	case t.removed():
		return f.outlasted(l, t.own(), fmt.Sprintf("the %s of %s at %s removed the hold of %s on %s, which was over: ", op.Kind, op.Owner, Stamp(t.to), t.owner, l.name))
	case op.Owner != t.owner:
		return Cause{Class: contract.ForeignRelease, Text: fmt.Sprintf("the %s of %s, which did not hold %s, ended the hold of %s at %s",
			op.Kind, op.Owner, l.name, t.owner, Stamp(t.to))}
	}
	for _, e := range l.environment { // the replica that took over had counted fewer of its owner's holds
		if e.Kind == history.Restore && e.Owner == t.owner && t.from <= e.At && e.At <= t.to {
			if c, lost := f.serverLost(l, e.At, e.At); lost != nil {
				c.Text = fmt.Sprintf("%s forgot some of the holds of %s on %s in the %s at %s", f.serverOf(c.Faults), t.owner, l.name, lost.Kind, Stamp(lost.At))
				return c
			}
		}
	}
	if call, again := f.releasedTwice(l, t); call != nil {
		return f.twice(l, call, again, fmt.Sprintf("the %s of %s on %s took effect once more at %s, and the last that %s gave back was one too many",
			call.Kind, call.Owner, call.Lock, Stamp(again), t.owner))
	}
	if f.byMembers(l) {
		if loss := f.lostWithin(l, t, op); loss != nil {
			return f.memberEnded(t, loss, fmt.Sprintf("the owner %s lost the member %s of %s at %s", t.owner, loss.key, l.name, Stamp(loss.at)))
		}
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("one unlock of %s at %s gave back more than one hold", t.owner, Stamp(t.to))}
}

// gaveBefore reports whether the call in whose name a member was given back had given that member back before.
func (f *facts) gaveBefore(op *history.Op) bool {
	return f.inNameOf(op) != nil && slices.ContainsFunc(f.executions(op), func(i int) bool {
		s := &f.h.Served[i]
		return s.At < op.Executed && s.Before != nil && s.After != nil && gives(s)
	})
}

// lostUnder is the hold that an owner lost before another that its own call ended, while each of its calls took effect once: that
// call was for what it had lost. It was under way before the other began, or the owner believed in both. nil: there is none.
func (f *facts) lostUnder(l *lockFacts, t *tenure) *tenure {
	o := l.owner(t.owner)
	at := slices.Index(o.tenures, t)
	for i := at; i >= 0; i-- {
		u, b := o.tenures[i], o.belief(t.to)
		both := b != nil && u.to >= b.acquire.Call
		switch {
		case u != t && !both && !(i == at-1 && f.sentBefore(t.endOp, t)) && !f.gaveFor(l, u, o.tenures[i+1]):
			return nil
		case u != t && (u.endEvent != nil || u.removed() || u.endOp != nil && u.endOp.Kind.Forces()):
			return u
		case u != t && u.endOp != nil && u.endOp.Owner == t.owner && u.endOp.Uncertain() && u.endOp.Call < u.grant.Call: // it came late
			return u
		case !f.evenly(l, u):
			return nil
		}
	}
	return nil
}

// gaveFor reports whether a release of the background ended a hold, and was for what its owner had lost with an earlier one. That is an
// attempt of which the owner had not heard. Or it is the unlock of a lost group with the same key, which the owner gave up.
func (f *facts) gaveFor(l *lockFacts, earlier, t *tenure) bool {
	end := t.endOp
	if end == nil || !end.Aside {
		return false
	}
	unheard := func(op *history.Op) bool {
		return op.Kind.Acquires() && !op.Aside && op.Uncertain() && answer(op) == history.Acquired && op.Return < end.Call &&
			earlier.from <= op.Executed && op.Executed <= earlier.to
	}
	return slices.ContainsFunc(l.owner(t.owner).ops, unheard) || f.view != nil && slices.ContainsFunc(f.view.sharing[l.name], func(group *lockFacts) bool {
		o := group.owner(t.owner)
		lost := slices.ContainsFunc(o.tenures, func(g *tenure) bool { return g.endEvent != nil && g.to == earlier.to })
		return lost && slices.ContainsFunc(o.ops, func(op *history.Op) bool {
			return op.Kind.Unlocks() && !op.Aside && cancelled(op) && earlier.to < op.Call && op.Call < end.Call
		})
	})
}

// evenly reports whether the calls of a hold's owner gave back as often as they took while it lasted, each unlock once.
func (f *facts) evenly(l *lockFacts, t *tenure) bool {
	sum := 0
	for i := range l.acts {
		a := &l.acts[i]
		if a.op == nil || a.op.Owner != t.owner || a.at < t.from || a.at > t.to {
			continue
		}
		switch answer(a.op) {
		case history.Acquired:
			sum++ // a copy takes one more, which is to be given back as well
		case history.Decremented, history.Released:
			if a.again {
				return false
			}
			sum--
		}
	}
	return sum == 0
}

// sentBefore reports whether the command that ended a hold was sent before the hold began.
func (f *facts) sentBefore(op *history.Op, t *tenure) bool {
	i, found := f.log.execution(op, t.to)
	return op.Call < t.from || found && f.h.Served[i].Sent < t.from
}

// gives reports whether a command gave a hold of its key back.
func gives(r *history.Served) bool { return r.After.Total() < r.Before.Total() }

// refused reports whether the server answered a command with an error, and did nothing.
func refused(s *history.Served) bool {
	for _, code := range []string{"NOSCRIPT", "BUSY", "LOADING", "READONLY", "OOM", "MISCONF", "ERR", "WRONGTYPE", "MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN"} {
		if strings.HasPrefix(s.Reply, code+" ") {
			return sameKey(s.Before, s.After)
		}
	}
	return false
}

// objectCause is the cause of a violation of object. There the lock itself answered wrongly, so that few
// faults exempt it; they are named when they struck the call.
func objectCause(f *facts, l *lockFacts, a *act, class contract.Class) Cause {
	c := Cause{Class: class}
	if a.op == nil {
		c.Text = "the key's time to live was not what the lock had promised"
		return c
	}
	if c, unheard := f.unheardHold(l, a); unheard {
		return c
	}
	if c, unheard := f.unheardRefusal(l, a); unheard && class == contract.Unexplained {
		return c
	}
	if a.op.Kind.Awaits() && a.op.Outcome == history.OK { // a replica may have brought back another round than the one that it waits for
		if c, lost := f.serverLost(l, a.op.Call, f.until(a.op)); lost != nil {
			return c
		}
	}
	if c, more := f.leftMore(l, a); more && class == contract.Unexplained {
		return c
	}
	if class == contract.DoubleExecution {
		if anew, ok := f.sentAnew(a.op, a.at); ok {
			return anew
		}
	}
	from, to := a.op.Call, max(a.op.Return, a.at)
	c.Text = "no fault acted at the time of the call: the lock answered so by itself" + f.sameToken(l, a)
	if c.Faults = f.struckBy(a.op.Client, l.name, from, to, resends); len(c.Faults) > 0 {
		c.Text = "at the time of the call " + f.describeAll(c.Faults)
		c.Effects = f.effectsOf(c.Faults)
	}
	e := &c.executed
	e.call, e.client, e.first, e.again = a.op.Kind, a.op.Client, tookOrCall(a.op), a.at
	executed := f.executions(a.op)
	if len(executed) > 0 {
		e.first = min(e.first, f.h.Served[executed[0]].At)
		e.again = max(e.again, f.h.Served[executed[len(executed)-1]].At)
	}
	e.learned, e.refused = f.learned(a.op, e.again), f.refusedAtFirst(a.op, executed)
	switch {
	case !a.again && len(c.Faults) > 0 && f.refusedCopy(a.op):
		c.Class, c.Effects = contract.RefusedCopy, append(c.Effects, history.RequestRefused)
	case len(executed) > 1 && f.foundNothing(a.op, executed):
		c.Class = contract.RefusalLost
	case class == contract.DoubleExecution || f.maybeCopies(executed):
		c.Class = contract.DoubleExecution
	case len(c.Faults) > 0 && len(f.log.byOp[a.op.ID]) > len(executed) && f.refusedSome(a.op) && (a.op.Outcome != history.Failed || f.refusedCopy(a.op)):
		c.Class, c.Effects = contract.RefusedCopy, append(c.Effects, history.RequestRefused)
	case class == contract.Unexplained && len(c.Faults) > 0:
		c.Class = contract.LostMessage
	}
	if c.Class == contract.DoubleExecution {
		f.forgotten(a.op, &c, func(fault *history.Fault) bool { return f.reaches(fault, l.name) })
	}
	return c
}

// sameToken says that the owner of an unlock had been granted the token of another who held the lock then; "": it had not, or there are none.
func (f *facts) sameToken(l *lockFacts, a *act) string {
	b := l.owner(a.op.Owner).belief(a.op.Call)
	if !a.op.Kind.Unlocks() || b == nil || b.acquire.Token == 0 {
		return ""
	}
	for _, t := range l.tenures {
		if t.owner != a.op.Owner && t.grant.Token == b.acquire.Token && t.from < a.at && (t.open || t.to >= a.at) {
			return fmt.Sprintf("; %s had been granted token %d, and so had %s", a.op.Owner, t.grant.Token, t.owner)
		}
	}
	return ""
}

// leftMore says of an unlock after which its owner still held the lock that a replica had brought back more holds, or others, than the
// owner knew of: the lease that the owner had asked for is another one's. Or it says of a grant that its owner had the lock so.
func (f *facts) leftMore(l *lockFacts, a *act) (c Cause, more bool) {
	t := l.owner(a.op.Owner).tenure(a.at)
	if t != nil && t.restored && a.op.Kind.Acquires() && a.op.Evidence != history.Executed {
		return f.broughtBack(l, t), true // it was granted what it had, which no command changed
	}
	if !a.op.Kind.Unlocks() || answer(a.op) != history.Decremented {
		return c, false
	}
	switch {
	case t == nil || a.at < t.from:
		return c, false
	case t.restored:
		return f.broughtBack(l, t), true
	case t.recounted:
		c, in := f.serverLost(l, t.from, a.at)
		return c, in != nil
	}
	return c, false
}

// refusedSome reports whether the server refused a copy of a call's request.
func (f *facts) refusedSome(op *history.Op) bool {
	return slices.ContainsFunc(f.log.byOp[op.ID], func(i int) bool { return turnedDown(&f.h.Served[i]) })
}

// turnedDown reports whether the server refused a command, and did not merely ask for its script.
func turnedDown(s *history.Served) bool {
	return refused(s) && !strings.HasPrefix(s.Reply, "NOSCRIPT")
}

// refusedCopy reports whether a call failed since the server refused a copy of its request, and its client could not know that
// there was another.
func (f *facts) refusedCopy(op *history.Op) bool {
	return op.Outcome == history.Failed && f.refusedSome(op) && !f.sentBeforeRefusal(op)
}

// sentBeforeRefusal reports whether the client of a call had sent a request that was executed before it sent it again, and heard
// that the server refused that copy: it knew that this one was not the only one.
func (f *facts) sentBeforeRefusal(op *history.Op) bool {
	return slices.ContainsFunc(f.log.byOp[op.ID], func(i int) bool {
		r := &f.h.Served[i]
		return r.Request > 0 && refused(r) && slices.ContainsFunc(f.log.byOp[op.ID], func(i int) bool {
			first := &f.h.Served[i]
			return first.Request == r.Request && first.Sent < r.Sent && !refused(first)
		})
	})
}

// forgot makes a fault by which a server forgot requests a cause.
func (f *facts) forgot(i int, c *Cause) {
	c.Faults, c.Class, c.Effects = []int{i}, contract.ServerLost, []history.Effect{history.ServerForgot}
	if f.h.Faults[i].Has(history.ClockMoved) {
		c.Class, c.Effects = contract.ClockJumped, []history.Effect{history.ClockMoved}
	}
}

// memoryLost is the first fault in [from, to] by which a server forgot the requests that it remembered, whether by losing
// its data or by a jump of its clock; -1 if none struck.
func (f *facts) memoryLost(from, to time.Duration, struck func(fault *history.Fault) bool) int {
	return slices.IndexFunc(f.h.Faults, func(fault history.Fault) bool {
		forgets := fault.Has(history.ServerForgot) || fault.Has(history.KeyDeleted) && fault.Lock == "" || fault.Has(history.ClockMoved) && f.jumps(fault.From, to-from)
		return forgets && !fault.Missed && from <= fault.From && fault.From <= to && struck(&fault)
	})
}

// jumps reports whether a server's clock jumped at a time by so much that it may have forgotten a request that it remembered for so long.
func (f *facts) jumps(at, elapsed time.Duration) bool {
	least := time.Duration(0) // that a request is remembered
	for _, i := range f.h.Header.Idempotent {
		if remembered := cmp.Or(i.ForOnce, i.For); least == 0 || remembered < least {
			least = remembered
		}
	}
	return !slices.ContainsFunc(f.h.Events, func(e history.Event) bool {
		return e.Kind == history.ClockJump && e.At == at && e.By+elapsed < least
	})
}

// short is a duration the way people say it: "30 s", "12.5 s", "0.4 ms".
func short(d time.Duration) string {
	number, unit := d.Seconds(), " s"
	if d > -time.Millisecond && d < time.Millisecond && d != 0 {
		number, unit = number*1000, " ms"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", number), "0"), ".") + unit
}

// was words that something was done to a number of things.
func was(n int, what string) string { return count(n, what) + " " + were(n) }

// were is the verb of a number of things.
func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// blame makes a cause of faults that hindered somebody: its class is that of the strongest of them.
func (f *facts) blame(text string, faults []int) Cause {
	c := Cause{Class: contract.LostMessage, Text: text, Faults: faults, Effects: f.effectsOf(faults)}
	has := func(some ...history.Effect) bool {
		return slices.ContainsFunc(c.Effects, func(e history.Effect) bool { return slices.Contains(some, e) })
	}
	switch {
	case has(history.ProcessStopped, history.TimersStopped):
		c.Class = contract.PausedHolder
	case has(history.RequestsHeld, history.RepliesHeld):
		c.Class = contract.CutOff
	case has(history.ServerDown, history.ServerSlow, history.RequestRefused):
		c.Class = contract.ServerAway
	}
	return c
}
