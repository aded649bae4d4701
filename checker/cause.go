package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	}
	switch {
	case t == nil:
		return Cause{Class: Unexplained, Text: fmt.Sprintf("the server never granted %s to %s", l.name, owner)}
	case t.open || t.to > at:
		return Cause{Class: GrantedTwice, Text: fmt.Sprintf("the server gave %s away at %s while %s held it", l.name, Stamp(at), owner)}
	case t.endEvent != nil && !t.outside:
		return f.expired(l, t)
	case t.endEvent != nil:
		return f.takenAway(l, t)
	}
	return f.released(l, t)
}

// perhapsTaken says that a hold that nothing is known to have ended by then may have been taken away
// from outside: the time of that is not known exactly, or that of the grant, of which its owner learned later.
func (f *facts) perhapsTaken(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	granted := t.from
	if t.grant.Evidence != history.Executed {
		granted = t.grant.Call
	}
	for _, e := range l.environment {
		since := e.At
		if e.Since > 0 {
			since = e.Since
		}
		if e.Kind != history.Delete || e.At < granted || at < since || since == e.At && granted == t.from {
			continue
		}
		if c, lost := f.serverLost(l, since, e.At); lost != nil {
			return c, true
		}
		when := "at " + Stamp(e.At)
		if since < e.At {
			when = fmt.Sprintf("between %s and %s", Stamp(since), Stamp(e.At))
		}
		return Cause{Class: KeyLost, Assumption: true, Faults: f.strikes("", l.name, since, e.At, anyKind),
			Text: fmt.Sprintf("the key of %s was deleted from outside %s, while %s held it", l.name, when, t.owner)}, true
	}
	return Cause{}, false
}

// perhapsOver says that a hold's lease may have come to its end by then, though it was not over yet
// counted from when its owner learned of the grant: when that took effect is not known.
func (f *facts) perhapsOver(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	call, lease := t.grant.Call, t.grant.Lease
	again := len(t.sets) > 1 && t.sets[1].at <= at // it was told later that it still holds
	if t.grant.Evidence == history.Executed || lease == 0 || again || at < call+lease-impliedSlack {
		return Cause{}, false
	}
	c := Cause{Class: LeaseExpired, Assumption: !t.watchdog, Text: fmt.Sprintf("the lease of %s on %s, %s long, began at some time from %s, and %s learned of it at %s",
		t.owner, l.name, short(lease), Stamp(call), t.owner, Stamp(t.grant.Return))}
	return f.hindered(c, t, call, at), true
}

// hindered adds to a cause what kept a holder from calling in [from, to], if something did.
func (f *facts) hindered(c Cause, t *tenure, from, to time.Duration) Cause {
	if late := f.strikes(t.client, t.grant.Lock, from, to, hinders); len(late) > 0 {
		c.Class, c.Assumption, c.Faults = f.hindrance(late), true, late
		c.Text += ", because " + f.describeAll(late)
	}
	return c
}

// serverLost says that the server lost a lock's key in [from, to], and in what; nil: it did not.
func (f *facts) serverLost(l *lockFacts, from, to time.Duration) (c Cause, in *history.Event) {
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if (e.Kind == history.Restart || e.Kind == history.Failover) && from <= e.At && e.At <= to {
			return Cause{Class: ServerLost, Assumption: true,
				Text: fmt.Sprintf("the server lost the key of %s in the %s at %s", l.name, e.Kind, Stamp(e.At))}, e
		}
	}
	return Cause{}, nil
}

// expired says why a hold came to the end of its lease.
func (f *facts) expired(l *lockFacts, t *tenure) Cause {
	last := t.last()
	what := fmt.Sprintf("the key of %s expired at %s: ", l.name, Stamp(t.to))
	if len(t.sets) == 1 {
		what += fmt.Sprintf("its lease of %s began at %s", short(t.lease), Stamp(last))
		if t.watchdog {
			what += " and was never renewed"
		}
	} else {
		what += fmt.Sprintf("its lease of %s was last renewed at %s", short(t.lease), Stamp(last))
	}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if e.Kind == history.ClockJump && last < e.At && e.At <= t.to {
			return Cause{Class: ClockJumped, Assumption: true,
				Text: fmt.Sprintf("%s, and the server's clock jumped by %s at %s", what, short(e.By), Stamp(e.At))}
		}
	}
	if !t.watchdog {
		// Nobody promised to renew an explicit lease: the work took longer than was asked for.
		if paused := f.strikes(t.client, l.name, t.from, t.to, hinders); len(paused) > 0 {
			return Cause{Class: f.hindrance(paused), Assumption: true, Faults: paused, Text: what + ", and " + f.describeAll(paused)}
		}
		return Cause{Class: LeaseExpired, Assumption: true, Text: what + ", and the work took longer"}
	}
	c := f.unrenewed(l, t, last, t.to)
	c.Text = what + c.Text
	return c
}

// unrenewed says why a hold's lease was not renewed in [from, to]; its text goes on after a
// statement of that.
func (f *facts) unrenewed(l *lockFacts, t *tenure, from, to time.Duration) Cause {
	if faults := f.strikes(t.client, t.grant.Lock, from, to, stopsRenewal); len(faults) > 0 {
		return Cause{Class: f.hindrance(faults), Assumption: true, Faults: faults, Text: ", because " + f.describeAll(faults)}
	}
	sent := 0
	for _, op := range l.owner(t.owner).called(from+1, to-1) {
		if op.Kind == history.Renew && answer(op) != history.Renewed {
			sent++
		}
	}
	if faults := f.strikes(t.client, t.grant.Lock, from, to, anyKind); len(faults) > 0 {
		return Cause{Class: LostMessage, Faults: faults, Text: ", after " + f.describeAll(faults)}
	}
	if sent > 0 {
		return Cause{Class: LostMessage, Text: fmt.Sprintf(", though %s sent", was(sent, "renewal"))}
	}
	return Cause{Class: LeaseExpired, Text: ", and no fault explains why"}
}

// hindrance is the class for faults that keep a holder from renewing.
func (f *facts) hindrance(faults []int) Class {
	for _, i := range faults {
		if pauses(f.h.Faults[i].Kind) {
			return PausedHolder
		}
	}
	return CutOff
}

// takenAway says who removed the key from outside.
func (f *facts) takenAway(l *lockFacts, t *tenure) Cause {
	if c, lost := f.serverLost(l, t.from, t.to); lost != nil {
		if back := t.endEvent; back.Kind == history.Restore {
			c.Text = fmt.Sprintf("the server forgot the hold of %s on %s in the %s at %s, and took it for held by %s again",
				t.owner, l.name, lost.Kind, Stamp(lost.At), back.Owner)
		}
		return c
	}
	c := Cause{Class: KeyLost, Assumption: true}
	for i := range f.h.Faults {
		if fault := &f.h.Faults[i]; fault.Lock == l.name && t.from <= fault.From && fault.From <= t.to {
			c.Faults = append(c.Faults, i)
		}
	}
	how := map[history.EventKind]string{history.Expire: "expired", history.Restore: "overwritten"}[t.endEvent.Kind]
	c.Text = fmt.Sprintf("the key of %s was %s from outside at %s, while %s held it", l.name, cmp.Or(how, "deleted"), Stamp(t.to), t.owner)
	return c
}

// released says why an operation ended a hold that its owner still believed in.
func (f *facts) released(l *lockFacts, t *tenure) Cause {
	op := t.endOp
	switch {
	case op == nil:
		return Cause{Class: Unexplained, Text: fmt.Sprintf("the server ended the hold of %s on %s at %s", t.owner, l.name, Stamp(t.to))}
	case op.Kind == history.ForceUnlock:
		return Cause{Class: Forced, Assumption: true, Text: fmt.Sprintf("the lock %s was forced free by %s at %s, while %s held it", l.name, op.Owner, Stamp(t.to), t.owner)}
	case t.endAgain:
		c := Cause{Class: DoubleExecution, Text: fmt.Sprintf("the %s of %s that took effect at %s took effect once more at %s",
			op.Kind, op.Owner, Stamp(op.Executed), Stamp(t.to))}
		c.Faults = f.strikes(op.Client, l.name, op.Call, t.to, anyKind)
		return c
	case op.Owner != t.owner:
		return Cause{Class: ForeignRelease, Text: fmt.Sprintf("the %s of %s, which did not hold %s, ended the hold of %s at %s",
			op.Kind, op.Owner, l.name, t.owner, Stamp(t.to))}
	}
	if before := l.owner(t.owner).tenure(t.from - 1); before != nil && before.to < t.from && t.belief != nil && t.belief.from < before.to {
		return f.lostHold(l, t.owner, before.to) // what it believed to be one hold of several was the only one
	}
	if c, over := f.onlyHold(l, t); over {
		return c
	}
	return Cause{Class: Unexplained, Text: fmt.Sprintf("one unlock of %s at %s gave back more than one hold", t.owner, Stamp(t.to))}
}

// onlyHold says that an owner's lease may have ended before it locked once more, though nobody saw it end: what
// it believed to be one hold of several was the only one.
func (f *facts) onlyHold(l *lockFacts, t *tenure) (Cause, bool) {
	for i, again := range t.sets[1:] {
		before := t.sets[i].op
		if !f.implied() || before == nil || again.op == nil || !again.op.Kind.Acquires() || before.Lease == 0 || again.at < before.Call+before.Lease-impliedSlack {
			continue
		}
		c := Cause{Class: LeaseExpired, Assumption: !before.Watchdog, Text: fmt.Sprintf("the lease of %s on %s, %s long, began at some time from %s, and may have ended before %s was let in again at some time until %s",
			t.owner, l.name, short(before.Lease), Stamp(before.Call), t.owner, Stamp(again.at))}
		return f.hindered(c, t, before.Call, again.at), true
	}
	return Cause{}, false
}

// objectCause is the cause of a violation of object: there the lock itself answered wrongly, so
// that it is a defect whatever the faults were; they are named when they struck the call.
func objectCause(f *facts, l *lockFacts, a *act, class Class) Cause {
	c := Cause{Class: class}
	if a.op == nil {
		c.Text = "the key's time to live was not what the lock had promised"
		return c
	}
	from, to := a.op.Call, max(a.op.Return, a.at)
	if c.Faults = f.strikes(a.op.Client, l.name, from, to, concernsCalls); len(c.Faults) > 0 {
		c.Text = "at the time of the call " + f.describeAll(c.Faults)
		if class == Unexplained && slices.ContainsFunc(c.Faults, f.onMessage) {
			c.Class = LostMessage
		}
	} else {
		c.Text = "no fault was near: the lock answered so by itself"
	}
	return c
}

// short is a duration the way people say it: "30 s", "12.5 s", "0.4 ms".
func short(d time.Duration) string {
	number, unit := d.Seconds(), " s"
	if d > -time.Millisecond && d < time.Millisecond && d != 0 {
		number, unit = number*1000, " ms"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", number), "0"), ".") + unit
}

func was(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}
