package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// tellings asks of a lock that claims to tell its holders of a loss whether it does so in time: a holder
// knows by its own clock when the last lease that it is sure of ends, and learns otherwise by its next
// renewal.
func (f *facts) tellings(l *lockFacts, found *violations) {
	if !f.h.Can(string(contract.TellsLoss)) || f.implied() || len(f.h.Served) == 0 {
		return
	}
	for _, t := range l.tenures {
		b := t.belief
		if b == nil || t.open || t.to >= b.to || t.restored || t.endOp != nil && t.endOp == b.unlock || t.endOp != nil && t.endOp.Owner == t.owner {
			continue
		}
		by, why := f.canKnow(l, t)
		other := b.acquire.Return <= t.grant.Call || t.grant.Return <= b.acquire.Call && t.from >= b.from
		if t.grant.Uncertain() && !t.grant.Aside && other && why == ownClock {
			continue // it knows of another lease
		}
		if why == ownClock && f.lostUnheard(l, t) != nil {
			continue // nobody heard of this one: what counts is when it can know of the loss before
		}
		if refused := l.refusal(t); refused != nil && !f.composed(l) && refused.Return < by {
			by, why = refused.Return, "by the answer to its next call, which was refused"
		} else if next := l.regrant(t); next != nil && !f.composed(l) && next.grant.Return < by {
			by, why = next.grant.Return, "by the answer to its next call, which was granted anew"
		} else if again := l.owner(t.owner).tenure(b.to); again != nil && again != t && again.from >= t.to {
			continue // it was let in again, so that its belief is about that hold
		}
		if heard, ok := f.heardBusy(l, t); ok && heard < by {
			by, why = heard, "by the answer to a later request, that another holds it"
		}
		if t.grant.Return > t.to && t.grant.Return > by { // that it was granted it learns no sooner
			by, why = t.grant.Return, "by the answer to the call that took it"
		}
		if b.to <= by {
			continue
		}
		found.addAt(t.to, func() Violation {
			return Violation{
				Rule: contract.ToldInTime, Lock: l.name, From: t.to, To: b.to, Ops: []int64{t.grant.ID}, Owners: []string{t.owner},
				Text: fmt.Sprintf("the server held %s for %s until %s, and %s could know that it was over by %s (%s), and was not told until %s",
					l.name, t.owner, Stamp(t.to), t.owner, Stamp(by), why, Stamp(b.to)),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault that touched its client explains it"},
			}
		})
	}
}

// ownClock is how a holder learns of the end of a lease that it knows.
const ownClock = "by its own clock"

// regrant is the owner's next hold after one that the server ended, if another call began it that was then answered; nil: there is none.
func (l *lockFacts) regrant(t *tenure) *tenure {
	for _, next := range l.tenures {
		if next.owner == t.owner && next.from >= t.to && next != t {
			if op := next.grant; op != nil && op != t.grant && !op.Aside && op.Outcome == history.Acquired && op.Return >= next.from && !next.restored {
				return next
			}
			return nil
		}
	}
	return nil
}

// refusal is the owner's first call on a lock after the server had ended its hold, if the server executed that then, and answered that the
// owner does not have the lock; nil: there is none.
func (l *lockFacts) refusal(t *tenure) *history.Op {
	for _, op := range l.owner(t.owner).ops {
		if op.Aside || op.Kind.Renews() || op.Call < t.to {
			continue
		}
		refused := op.Evidence == history.Executed && !op.Pending() && op.Executed >= t.to &&
			(op.Kind.Acquires() && op.Outcome == history.Busy || op.Kind.Unlocks() && op.Outcome == history.NotHeld)
		if !refused {
			return nil
		}
		return op
	}
	return nil
}

// canKnow is when a holder whose hold the server ended can know that at the latest, and by what.
func (f *facts) canKnow(l *lockFacts, t *tenure) (by time.Duration, why string) {
	stopped := f.obstacles(t.client, l.name, t.from, f.end, f.latency(), []history.Effect{history.ProcessStopped})
	lease := t.lease
	if f.composed(l) { // of a group that may be what is left of an earlier hold of its members
		lease = max(lease, t.grant.Asked)
	}
	own := max(t.last()+lease, t.byItself, f.countedOn(l, t)) // of the last setting; the reply that told of it came later
	for i := range f.h.Events {
		if e := &f.h.Events[i]; e.Kind == history.ClockJump && t.from <= e.At && e.At <= t.to {
			own = max(own, t.to+lease)
		}
	}
	round := f.renewEvery() + f.renewalSlack() + 2*f.latency()
	timers := f.untilRenewed(t.client, l.name, t.from, f.end)
	asked := enough(t.to, round, timers)
	unasked := !t.belief.guards.at(asked) // nothing is left that it renews
	clock := enough(max(own, t.to), 2*f.latency()+granularity, stopped)
	if heard, ok := f.hearsForce(l, t); ok && heard < min(clock, asked) {
		return heard, "by the message of the forced release"
	}
	if heard, ok := f.heardGone(l, t); ok && heard < min(clock, asked) {
		return heard, "by the answers to its renewals"
	}
	if t.asked() || unasked || clock < asked { // a lease that ended sooner than its client can know, by a clock that moved, say, is renewed in vain
		return clock, ownClock
	}
	return asked, "by its next renewal"
}

// countedOn is until when the client of a group's owner can count on enough of its members at the end of a hold, or when it was granted, if that came
// later: by the leases that the owner's own commands set, as far as their answers were heard. What others did to a member it cannot know.
func (f *facts) countedOn(l *lockFacts, t *tenure) time.Duration {
	if !f.composed(l) {
		return 0
	}
	c := f.view.locks[l.name]
	ends := make([]time.Duration, len(c.members))
	for i, key := range c.members {
		if r := f.lastHeard(key, t.owner, max(t.to, t.grant.Return)); r != nil && r.After.Count(t.owner) > 0 {
			ends[i] = r.After.Deadline
		}
	}
	slices.Sort(ends)
	return ends[len(ends)-c.needed]
}

// lastHeard is the last command of an owner on a member of which its client had the answer by a time; nil: there is none.
func (f *facts) lastHeard(key memberKey, owner string, by time.Duration) *history.Served {
	for _, n := range slices.Backward(f.view.members[key].rows) {
		if r := &f.h.Served[n]; r.Owner == owner && r.At <= by && r.Got > 0 && r.Got <= by && r.Step != history.StepAdmin && !r.Refused {
			return r
		}
	}
	return nil
}

// heardGone is when the holder of a group that the server ended can know so by its renewals: of so many members one was answered that it
// holds them no more that the others are too few. Whoever renews the members in turn goes on to the last before it tells.
func (f *facts) heardGone(l *lockFacts, t *tenure) (time.Duration, bool) {
	if !f.composed(l) {
		return 0, false
	}
	c := f.view.locks[l.name]
	var answers []time.Duration
	for _, key := range c.members {
		for _, n := range f.view.members[key].rows {
			if r := &f.h.Served[n]; r.Step == history.StepRenew && r.Owner == t.owner && r.At >= t.to && r.Got > 0 && !r.Refused && r.After.Count(t.owner) == 0 {
				answers = append(answers, r.Got)
			}
		}
	}
	slices.Sort(answers)
	for _, at := range answers {
		left := 0
		for _, key := range c.members {
			if r := f.lastHeard(key, t.owner, at); r != nil && r.After.Count(t.owner) > 0 {
				left++
			}
		}
		if left < c.needed {
			return enough(at, f.groupPrompt(c), f.obstacles(t.client, l.name, at, f.end, f.answerTime(), hindersTimers)), true
		}
	}
	return 0, false
}

// heardBusy is when the holder of a lock whose hold the server ended can know so by what its client asked of the lock's key for another call: for one of
// a group, or for one that it gave up meanwhile. Of several keys that one request asks for, the answer names the first that another holds.
func (f *facts) heardBusy(l *lockFacts, t *tenure) (time.Duration, bool) {
	if f.composed(l) || l.shared() || f.implied() {
		return 0, false
	}
	named := map[int64]bool{} // by requests that had an answer
	from, _ := slices.BinarySearchFunc(f.h.Served, t.to, func(r history.Served, at time.Duration) int { return upTo(r.At, at) })
	for i := from; i < len(f.h.Served) && f.h.Served[i].At < t.belief.to; i++ {
		r := &f.h.Served[i]
		if r.Client != t.client || r.Owner != t.owner || r.Step != history.StepAcquire || r.Got == 0 || r.Got-r.Sent >= f.answerTime() || refused(r) {
			continue
		}
		if r.Before == nil || len(r.Before.Holdings) == 0 || r.Before.Count(t.owner) > 0 || r.After.Count(t.owner) > 0 || r.Request != 0 && named[r.Request] || f.grantedBy(r) {
			continue
		}
		named[r.Request] = true
		if r.Lock == l.name && f.asksToTake(l, r) {
			return enough(r.Got, f.prompt(), f.obstacles(t.client, l.name, r.Got, f.end, f.latency(), []history.Effect{history.ProcessStopped})), true
		}
	}
	return 0, false
}

// asksToTake reports whether a command is of the kind that has taken a lock: what gives back a place, or asks whether a request took effect, is answered
// nothing about its holder.
func (f *facts) asksToTake(l *lockFacts, r *history.Served) bool {
	return slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		return s.Lock == l.name && s.Before != nil && s.After != nil && s.After.Total() > s.Before.Total() && command(&s) == command(r)
	})
}

// grantedBy reports whether the call of a command was granted its key before, so that it may be answered so again.
func (f *facts) grantedBy(r *history.Served) bool {
	return slices.ContainsFunc(f.log.byOp[r.Op], func(i int) bool {
		first := &f.h.Served[i]
		return first.At <= r.At && first.Lock == r.Lock && first.After.Count(r.Owner) > 0
	})
}

// hearsForce is when the holder of a hold that was forced free can know that by the message, of a lock that claims to heed
// it: its client has subscribed to the lock's channel, and asks the server whether it still holds.
func (f *facts) hearsForce(l *lockFacts, t *tenure) (time.Duration, bool) {
	switch {
	case !f.h.Can(string(contract.HearsForce)) || f.callsAt(l, t.owner, t.to):
		return 0, false
	case f.composed(l):
		return f.hearsForces(l, t)
	case t.endOp == nil || !t.endOp.Kind.Forces():
		return 0, false
	}
	var row *history.Served
	if force, logged := f.log.execution(t.endOp, t.endOp.Executed); logged {
		row = &f.h.Served[force]
	}
	heard := t.to + f.prompt() + 4*f.latency()
	return heard, f.hears(l.name, row, t.owner, t.client, t.to, heard)
}

// hearsForces is the same of a group: of so many of its members the holder can know that they were forced free that the others are too few.
func (f *facts) hearsForces(l *lockFacts, t *tenure) (time.Duration, bool) {
	c := f.view.locks[l.name]
	var forced []time.Duration
	for _, key := range c.members {
		var heard time.Duration // since it was forced free, and not taken again; 0: it was not, or nobody can know
		for _, n := range f.view.members[key].rows {
			r := &f.h.Served[n]
			switch op := f.op(r.Op); {
			case r.At < t.from || r.At > t.to:
			case r.After.Count(t.owner) > 0:
				heard = 0
			case op != nil && op.Kind.Forces() && r.Before.Count(t.owner) > 0:
				if at := r.At + f.groupPrompt(c) + 4*f.latency(); f.hears(key.key, r, t.owner, t.client, r.At, at) {
					heard = at
				}
			}
		}
		if heard > 0 {
			forced = append(forced, heard)
		}
	}
	enough := len(c.members) - c.needed // may go
	if len(forced) <= enough {
		return 0, false
	}
	slices.Sort(forced)
	return forced[enough], true
}

// hears reports whether a client can know by its subscription, confirmed before, that its owner's hold of a key was forced free at a time, by a
// command; nil: the server did not log which.
func (f *facts) hears(key string, force *history.Served, owner, client string, at, heard time.Duration) bool {
	var since time.Duration // when its subscription was confirmed
	var conn string         // on which connection
	for i := range f.h.Served {
		r := &f.h.Served[i]
		about := names(r.Text, key) || names(strings.ReplaceAll(r.Text+" ", ":"+owner+" ", " "), key) // that of the lock, or of the holder alone
		if r.Sent > heard || r.Client != client || force != nil && r.Server != force.Server || !about {
			continue
		}
		switch {
		case r.Step == history.StepSubscribe && r.Got > 0 && r.Got <= at:
			since, conn = r.Got, r.Conn
		case r.Step == history.StepSubscribe && r.Conn != conn: // the connection before was closed, or it need not ask again
			since = 0
		case r.Step == history.StepCleanup && r.Sent <= at && strings.HasPrefix(strings.ToLower(r.Text), "unsubscribe "):
			since = 0
		}
	}
	return since > 0 && len(f.obstacles(client, key, since, heard, f.answerTime(), hinders)) == 0
}

const granularity = 2 * time.Millisecond
