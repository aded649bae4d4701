package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What answers alone leave open. Nobody saw the server, so that a call may have taken effect at any time at which it can have.

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
		return Cause{Class: contract.KeyLost, Effects: []history.Effect{history.KeyDeleted}, Faults: f.struckBy("", l.name, since, e.At, touches),
			Text: fmt.Sprintf("the key of %s was deleted from outside %s, while %s held it", l.name, when, t.owner)}, true
	}
	for _, op := range l.ops {
		if op.Kind.Forces() && op.Evidence != history.Executed && op.Outcome != history.NotHeld && op.Call <= at && f.until(op) >= t.grant.Call {
			return Cause{Class: contract.Forced, Effects: []history.Effect{history.ForcedFree}, Faults: f.struckAt(op.Call, l.name, history.ForcedFree),
				Text: fmt.Sprintf("the lock %s was forced free by %s between %s and %s, and %s may have held it by then", l.name, op.Owner, Stamp(op.Call), Stamp(f.until(op)), t.owner)}, true
		}
	}
	return Cause{}, false
}

// perhapsOver says that a hold's lease may have come to its end by then, though it was not over yet
// counted from when its owner learned of the grant: when that took effect is not known.
func (f *facts) perhapsOver(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	op := t.grant
	for _, set := range t.sets { // a later call may have set another lease
		if set.op != nil && set.at <= at {
			op = set.op
		}
	}
	call, lease := op.Call, op.Lease
	if op.Fresh > 0 {
		lease = op.Fresh // the longer one may have begun before
	}
	if op.Evidence == history.Executed || lease == 0 {
		return Cause{}, false
	}
	if at < call+lease-linear.Slack { // unless the clock has jumped since it can have taken effect
		ahead := time.Duration(0)
		for _, e := range l.environment {
			if e.Kind != history.ClockJump || e.At < call || at < e.At {
				continue
			}
			if ahead += max(e.By, 0); at >= call+lease-ahead-linear.Slack {
				when := "while"
				if e.At > t.from {
					when = "after"
				}
				faults := f.struckAt(e.At, l.name, history.ClockMoved)
				return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: faults,
					Text: fmt.Sprintf("%s's clock jumped by %s at %s, %s %s got %s with a lease of %s", f.serverOf(faults), short(e.By), Stamp(e.At), when, t.owner, l.name, short(lease))}, true
			}
		}
		return Cause{}, false
	}
	text := fmt.Sprintf("the lease of %s on %s, %s long, began at some time from %s, and %s learned of it at %s",
		t.owner, l.name, short(lease), Stamp(call), t.owner, Stamp(op.Return))
	if late := f.struckBy(t.client, l.name, call, at, hinders); len(late) > 0 {
		return f.blame(text+", because "+f.describeAll(late), late), true
	}
	if !op.Watchdog { // it was asked for
		return Cause{Class: contract.LeaseOutlived, Text: text}, true
	}
	return Cause{Class: contract.LeaseExpired, Text: text}, true
}

// perhapsShortened says that a call of whose end nobody heard, or a copy of one, may have set a lease of a hold that was over by then.
func (f *facts) perhapsShortened(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	if !f.implied() || f.keepsLongest() {
		return Cause{}, false
	}
	op := f.unheardOf(l, t, t.grant.Call, func(op *history.Op) bool {
		return op.Kind.Acquires() && op.Lease > 0 && at >= max(op.Call, t.grant.Call)+op.Lease-linear.Slack
	})
	if op == nil {
		return Cause{}, false
	}
	return f.untold(l, op, at, fmt.Sprintf("the %s of %s, called at %s, ended unknown, and may have set its lease of %s while %s held %s",
		op.Kind, op.Owner, Stamp(op.Call), short(op.Lease), t.owner, l.name)), true
}

// perhapsCut says that a call on another hold of a read-write lock may have set the end of all its holds, which was over by then.
func (f *facts) perhapsCut(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	if !f.implied() || !l.shared() || f.h.Can(string(contract.LeasePerHold)) || f.keepsLongest() {
		return Cause{}, false
	}
	for _, op := range l.ops {
		sets := op.Kind.Acquires() && (op.Outcome == history.Acquired || op.Uncertain() && op.Evidence != history.NotSent)
		if sets && op.Owner != t.owner && op.Lease > 0 && f.until(op) >= t.grant.Call && at >= max(op.Call, t.grant.Call)+op.Lease-linear.Slack {
			return Cause{Class: contract.OtherHold, Text: fmt.Sprintf("the %s of %s, called at %s, may have set the end of all holds of %s by its lease of %s, while %s held it",
				op.Kind, op.Owner, Stamp(op.Call), l.name, short(op.Lease), t.owner)}, true
		}
	}
	return Cause{}, false
}

// unheardOf is the first such call for the holder of a hold that was sent, of whose end nobody heard, and that may have taken effect from a time on;
// nil: there is none.
func (f *facts) unheardOf(l *lockFacts, t *tenure, from time.Duration, such func(*history.Op) bool) *history.Op {
	holder := f.options.Model.Holder
	for _, op := range l.ops {
		if op.Uncertain() && op.Evidence == history.Sent && (op.Until == 0 || op.Until >= from) && holder(op.Client, op.Owner) == holder(t.client, t.owner) && such(op) {
			return op
		}
	}
	return nil
}

// perhapsReleased says that an unlock of its owner may have ended a hold that nothing is known to have ended by then. That unlock,
// or a copy of it, was never answered, and was called before its owner locked again. Where a lock is held for all owners of a client, an unlock
// of each of them may have.
func (f *facts) perhapsReleased(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	if !f.implied() {
		return Cause{}, false
	}
	again := t.grant.Call // when its owner last asked for it
	for _, set := range t.sets {
		if set.op != nil && set.op.Kind.Acquires() && set.at <= at {
			again = set.op.Call
		}
	}
	op := f.unheardOf(l, t, again, func(op *history.Op) bool { return op.Kind.Unlocks() && op.Call <= at })
	if op == nil {
		return f.perhapsAnew(l, t, at)
	}
	return f.untold(l, op, at, fmt.Sprintf("the %s of %s, called at %s, ended unknown, and may have taken effect by %s, when %s had locked again",
		op.Kind, op.Owner, Stamp(op.Call), Stamp(at), t.owner)), true
}

// perhapsAnew says that an unlock of which nobody heard may have given the hold back, and that its owner took it anew then, with a lease of
// its own that may be over by a time.
func (f *facts) perhapsAnew(l *lockFacts, t *tenure, at time.Duration) (Cause, bool) {
	var gave *history.Op
	for _, op := range l.owner(t.owner).called(t.grant.Call, at) {
		if op.Kind.Unlocks() && op.Uncertain() && op.Evidence != history.NotSent {
			gave = cmp.Or(gave, op)
		}
		lease := cmp.Or(op.Fresh, op.Asked, op.Lease)
		if gave != nil && op.Kind.Acquires() && op.Outcome == history.Acquired && lease > 0 && at >= op.Call+lease-linear.Slack && !op.FreshWatchdog {
			return Cause{Class: contract.LeaseOutlived, Text: fmt.Sprintf("the %s of %s, called at %s, ended unknown, and may have taken effect before %s locked again at %s, with a lease of %s",
				gave.Kind, gave.Owner, Stamp(gave.Call), t.owner, Stamp(op.Call), short(lease))}, true
		}
	}
	return Cause{}, false
}

// perhapsUntil is until when a lock may have been held by what began before a time, though nobody was told. Such are calls whose
// answer never came or came late, copies of requests, which nobody renews, and holds whose unlock was not answered or never came.
func (f *facts) perhapsUntil(l *lockFacts, before time.Duration) (until time.Duration) {
	if !f.implied() {
		return 0
	}
	for _, op := range l.ops {
		if op.Call < before && f.heardLate(l, op) {
			until = max(until, op.Return)
		}
		if op.Kind.Acquires() && op.Uncertain() && op.Evidence != history.NotSent && op.Call < before {
			end := max(op.Until, f.until(op))
			if gone, died := f.gone[op.Client]; died && op.Pending() {
				end = gone // nothing of a dead client comes after that
			}
			until = max(until, end+op.Lease)
		}
	}
	for _, t := range l.tenures {
		if t.open && !t.watchdog && t.from <= before { // its owner need not live for that
			until = max(until, t.deadline)
		}
		if b := l.owner(t.owner).belief(before); t.open && t.watchdog && b != nil { // renewed, for all that is known, as long as its owner believed in it
			until = max(until, b.to+t.lease)
		}
		for _, op := range l.owner(t.owner).called(t.from, before) {
			if !op.Kind.Unlocks() || !op.Uncertain() {
				continue
			}
			if l.shared() { // each hold may have a lease of its own, and the unlock may have left the one before it
				for _, took := range l.owner(t.owner).called(t.grant.Call, op.Call) {
					if took.Kind.Acquires() && took.Outcome == history.Acquired {
						until = max(until, took.Return+took.Lease)
					}
				}
			}
			if !t.open && op != t.endOp {
				continue
			}
			end := t.deadline
			if t.watchdog { // an unlock that did not take effect leaves what was to be renewed
				end = max(op.Until, f.until(op)) + t.lease
			}
			until = max(until, end)
		}
	}
	return until
}

// heardLate reports whether the answer to a call that was granted may have been under way until its return, since a fault held
// it up: it may have been granted long before.
func (f *facts) heardLate(l *lockFacts, op *history.Op) bool {
	return op.Kind.Acquires() && op.Outcome == history.Acquired && op.Evidence != history.Executed &&
		slices.ContainsFunc(f.obstacles(op.Client, l.name, op.Call, op.Return, f.answerTime(), hinders), func(o obstacle) bool { return o.to >= op.Return-f.prompt() })
}
