package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// groupRules judges what a guarantee asks of locks that are made of others. Of exclusion it returns for how long
// owners overlapped, nanoseconds in all.
func (f *facts) groupRules(g contract.Guarantee, found *violations) (overlapped float64) {
	v := f.view
	if v == nil {
		return 0
	}
	for _, l := range f.locks {
		c := v.locks[l.name]
		if c == nil {
			continue
		}
		if g == contract.Exclusion {
			overlapped += f.sharedMembers(l, c, found)
		}
		if !c.group {
			continue
		}
		for _, op := range l.ops {
			if op.Aside || op.Pending() {
				continue
			}
			switch acquires := op.Kind.Acquires(); {
			case g == contract.Object && acquires && op.Outcome == history.Acquired:
				f.granted(l, c, op, found)
			case g == contract.Object && op.Kind == history.TryLock:
				f.refused(l, c, op, found)
			case g == contract.Liveness && acquires && op.Outcome != history.Acquired:
				f.patientGroup(l, c, op, found)
				f.keptNone(l, c, op, found)
			case g == contract.Liveness && op.Kind == history.Unlock:
				f.gaveEach(l, c, op, found)
			}
		}
	}
	return overlapped
}

// trouble lists the faults that a client may have felt in [from, to], whatever lock they name: what hindered it, and
// for as long afterwards as it waits for an answer.
func (f *facts) trouble(client string, from, to time.Duration) (found []int) {
	return faultsOf(f.obstacles(client, "", from, to+1, f.answerTime(), troubles))
}

// troubles are the effects that a call on several members may feel.
var troubles = slices.Concat(hinders, touches, []history.Effect{history.MessageCopied, history.ForcedFree, history.ServerForgot, history.ClockMoved})

// exact is how exactly deadlines of members are known.
func (f *facts) exact() time.Duration {
	if f.h.Header.Timescale == 0 {
		return model.Granularity
	}
	return model.Granularity + f.latency()
}

// groupPrompt is [facts.prompt] of a group, whose members may be taken one after the other.
func (f *facts) groupPrompt(c *composition) time.Duration {
	return f.prompt() + time.Duration(4*len(c.members))*f.latency()
}

func (f *facts) groupViolation(found *violations, l *lockFacts, op *history.Op, rule contract.Rule, to time.Duration, c Cause, format string, args ...any) {
	found.addAt(op.Call, func() Violation {
		return Violation{Rule: rule, Lock: l.name, From: op.Call, To: max(to, op.Call), Ops: []int64{op.ID}, Owners: []string{op.Owner}, Cause: c,
			Text: fmt.Sprintf("%s of %s on %s, returned %s at %s: ", op.Kind, op.Owner, l.name, op.Outcome, Stamp(op.Return)) + fmt.Sprintf(format, args...)}
	})
}

// groupCause names what faults may have had to do with it.
func (f *facts) groupCause(client string, from, to time.Duration, otherwise string) Cause {
	if faults := f.trouble(client, from, to); len(faults) > 0 {
		return f.blame("at that time "+f.describeAll(faults), faults)
	}
	return Cause{Class: contract.Unexplained, Text: otherwise}
}

// granted checks a grant: the members that it counts on, their leases, and what is left of them.
func (f *facts) granted(l *lockFacts, c *composition, op *history.Op, found *violations) {
	asked := op.Asked
	if asked == 0 {
		asked = op.Lease
	}
	counted, holds, valid := 0, 0, 0
	for _, key := range c.members {
		m := f.view.members[key]
		changes := m.changes(f, op, op.Call, op.Return)
		took, counts := kept(changes)
		if counts {
			counted++
			f.memberLease(l, op, key, took, asked, found)
		}
		lasts, has := false, false
		if len(changes) > 0 && counts && changes[len(changes)-1].left == 0 { // it was taken away from outside
			changes = changes[:1+slices.Index(changes, took)]
		}
		for _, ch := range changes {
			left := open - ch.row.Sent
			if ch.row.After.Deadline > 0 {
				left = ch.row.After.Deadline - ch.row.At
			}
			has = ch.left > 0
			lasts = has && (lasts || ch.row.Sent+left+f.exact() >= op.Return)
		}
		if m != nil && len(changes) == 0 { // held already, and not touched
			s := m.at(op.Return)
			has = countIn(s.KeyState, op.Owner) > 0
			lasts = has && (s.Deadline == 0 || s.Deadline+f.exact() >= op.Return)
		}
		if has {
			holds++
		}
		if lasts {
			valid++
		}
	}
	cause := Cause{Class: contract.Unexplained, Text: "the lock granted it all the same"}
	switch {
	case len(f.h.Served) == 0:
	case holds < c.needed:
		f.groupViolation(found, l, op, contract.GrantHasMembers, op.Return, cause, "its commands had got it %d of %d members, of which a hold needs %d", holds, len(c.members), c.needed)
	case counted < c.needed:
		f.groupViolation(found, l, op, contract.ReentryCounts, op.Return, cause, "it counted one hold more on %d of %d members, of which a hold needs %d", counted, len(c.members), c.needed)
	case valid < c.needed:
		if paused := f.struckBy(op.Client, l.name, op.Call, op.Return, []history.Effect{history.ProcessStopped}); len(paused) > 0 {
			cause = f.blame("at that time "+f.describeAll(paused), paused)
		}
		f.groupViolation(found, l, op, contract.ValidityLeft, op.Return, cause, "counted from the requests, the leases of %d of %d members lasted, of which a hold needs %d", valid, len(c.members), c.needed)
	}
}

// memberLease checks the lease that a call has set on a member.
func (f *facts) memberLease(l *lockFacts, op *history.Op, key memberKey, took change, asked time.Duration, found *violations) {
	if asked == 0 || took.left == 0 {
		return
	}
	set := took.row.After.Deadline - took.row.At
	again := took.left > took.holds
	endless := took.row.After.Deadline == 0
	if longer := endless || set > asked+f.exact(); longer && !(again && f.h.Can("keeps-longest") && !endless) || !endless && set < asked-f.exact() {
		lease := short(set)
		if endless {
			lease = "no end"
		}
		f.groupViolation(found, l, op, contract.MemberLease, took.row.At, Cause{Class: contract.Unexplained, Text: "the lock set it so by itself"},
			"it asked for a lease of %s, and its member %s got %s", short(asked), key, lease)
	}
}

func (k memberKey) String() string {
	if k.server == "" {
		return k.key
	}
	return k.key + " on " + k.server
}

// cancelled reports whether a call failed since its caller gave it up, as far as its error says so.
func cancelled(op *history.Op) bool { return strings.Contains(op.Error, "context ") }

// inTrouble reports whether there is anything that excuses a call that fails: a fault, its caller, a
// key that is no lock any more, or a lease so short that it may be over before the answer is there.
func (f *facts) inTrouble(c *composition, op *history.Op) bool {
	lease := op.Asked
	if lease == 0 {
		lease = op.Lease
	}
	spoilt := slices.ContainsFunc(c.members, func(key memberKey) bool {
		m := f.view.members[key]
		return m != nil && countIn(m.at(op.Return).KeyState, history.AnotherProgram) > 0
	})
	return spoilt || cancelled(op) || f.leftover(op) || len(f.trouble(op.Client, op.Call, op.Return)) > 0 || lease > 0 && lease < f.groupPrompt(c)
}

// leftover reports whether an owner may have holds that it does not know of, of a call that failed before. The
// call that finds them may fail, while it gives them back.
func (f *facts) leftover(op *history.Op) bool {
	return slices.ContainsFunc(f.locks, func(l *lockFacts) bool {
		return slices.ContainsFunc(l.owner(op.Owner).called(0, op.Call), func(o *history.Op) bool {
			return !o.Aside && o.ID != op.ID && (o.Outcome == history.Unknown || o.Outcome == history.Failed && cancelled(o))
		})
	})
}

// refused looks for a tryLock that failed for no reason.
func (f *facts) refused(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if op.Evidence == history.NotSent || f.inTrouble(c, op) {
		return
	}
	for _, key := range c.members {
		if len(f.view.members[key].busy(op.Owner, op.Call, op.Return)) > 0 {
			return // splitting hairs about which of them were needed would excuse nothing
		}
	}
	f.groupViolation(found, l, op, contract.RefusedWhileTaken, op.Return, Cause{Class: contract.Unexplained, Text: "no fault explains why it failed"},
		"nobody else held any of its members")
}

// patientGroup checks the time that a tryLock took that was refused. It may leave out an attempt that would
// begin just before its time.
func (f *facts) patientGroup(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if op.Kind != history.TryLock || f.inTrouble(c, op) || op.Evidence == history.NotSent {
		return
	}
	switch took := op.Return - op.Call; {
	case op.Outcome == history.Busy && took < op.Wait-promptTolerance:
		f.groupViolation(found, l, op, contract.WaitsItsTime, op.Return, Cause{Class: contract.Unexplained, Text: "no fault on the client explains it"}, "it gave up after %s of %s", short(took), short(op.Wait))
	case took > op.Wait+f.groupPrompt(c)+4*f.latency():
		f.groupViolation(found, l, op, contract.ReturnsInTime, op.Return, Cause{Class: contract.Unexplained, Text: "no fault on the client explains it"}, "it took %s, with a wait of %s", short(took), short(op.Wait))
	}
}

// keptNone looks for members that an attempt has taken, and not given back soon after it failed. Where a
// fault, or the end of its context, kept it from that, the lease has to end them.
func (f *facts) keptNone(l *lockFacts, c *composition, op *history.Op, found *violations) {
	limit := op.Return + f.groupPrompt(c)
	for _, key := range c.members {
		m := f.view.members[key]
		took, ok := kept(m.changes(f, op, op.Call, limit))
		if !ok {
			continue
		}
		f.leftHeld(l, op, key, m, took.row.At, took.left, limit, contract.AllOrNone, found)
	}
}

// gaveEach looks for members that an unlock leaves as they were.
func (f *facts) gaveEach(l *lockFacts, c *composition, op *history.Op, found *violations) {
	limit := op.Return + f.groupPrompt(c)
	for _, key := range c.members {
		m := f.view.members[key]
		if m == nil || gaveBack(m.changes(f, op, op.Call, limit)) {
			continue
		}
		if holds := countIn(m.at(op.Call).KeyState, op.Owner); holds > 0 {
			f.leftHeld(l, op, key, m, op.Call, holds, limit, contract.EveryMemberReleased, found)
		}
	}
}

// leftHeld tells of a member's holds that an owner has from a time on, and should not have after limit, unless
// the hold became one of another call's.
func (f *facts) leftHeld(l *lockFacts, op *history.Op, key memberKey, m *member, from time.Duration, holds int64, limit time.Duration, rule contract.Rule, found *violations) {
	until := m.until(op.Owner, from, holds)
	if until <= limit || f.callsAgain(l, op, limit) {
		return
	}
	cause := f.groupCause(op.Client, op.Call, limit, "nothing kept the lock from giving it back")
	if cause.Class != contract.Unexplained || cancelled(op) || f.unheard(op) {
		ends := f.end
		if s := m.at(limit); s.Deadline > 0 {
			ends = s.Deadline
		}
		if until <= ends+f.exact() || f.callsAgain(l, op, ends) {
			return // its lease ends it
		}
	}
	f.groupViolation(found, l, op, rule, until, cause, "it left a hold of its member %s until %s", key, Stamp(until))
}

// unheard reports whether a call did not learn what became of one of its commands.
func (f *facts) unheard(op *history.Op) bool {
	return slices.ContainsFunc(f.view.commands[op.ID], func(i int) bool { r := &f.h.Served[i]; return r.Got == 0 || r.Got > op.Return })
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

// sharedHold reports whether an owner has or asks for a hold in [from, to] of another lock that a lock shares
// members with: what it does to those is then not done to this one alone. So it may be after that, too: where the
// group has lost a member, another one may keep a hold of which its owner was told that it is over.
func (f *facts) sharedHold(l *lockFacts, owner string, from, to time.Duration) bool {
	if f.view == nil {
		return false
	}
	return slices.ContainsFunc(f.view.sharing[l.name], func(other *lockFacts) bool {
		o := other.owner(owner)
		return len(o.lasting(from, to)) > 0 || slices.ContainsFunc(o.ops, func(op *history.Op) bool {
			return !op.Aside && op.Kind != history.Renew && op.Call <= to && (op.Pending() || op.Return >= from)
		})
	})
}

// heldThrough reports whether somebody believes until the end in a lock that shares members with a lock.
func (f *facts) heldThrough(l *lockFacts) bool {
	return f.view != nil && slices.ContainsFunc(f.view.sharing[l.name], func(other *lockFacts) bool {
		return slices.ContainsFunc(other.beliefs, func(b *belief) bool { return b.open })
	})
}

// sharedMembers looks for two who believed at once in locks that exclude each other. Each pair of locks is
// looked at once, from that which is first by name.
func (f *facts) sharedMembers(l *lockFacts, c *composition, found *violations) (overlapped float64) {
	for _, other := range f.view.sharing[l.name] {
		if d := f.view.locks[other.name]; other.name < l.name || !c.exclude(d) {
			continue
		}
		rest := other.beliefs
		for _, a := range l.beliefs {
			for len(rest) > 0 && rest[0].to <= a.from { // those of l begin later and later
				rest = rest[1:]
			}
			for _, b := range rest {
				if b.from >= a.to {
					break
				}
				if from, to := max(a.from, b.from), min(a.to, b.to); a.owner != b.owner && from < to {
					f.believedBoth(l, a, other, b, from, to, found)
					overlapped += float64(to - from)
				}
			}
		}
	}
	return overlapped
}

func (f *facts) believedBoth(l *lockFacts, a *belief, other *lockFacts, b *belief, from, to time.Duration, found *violations) {
	if b.grantedAt() < a.grantedAt() {
		l, a, other, b = other, b, l, a
	}
	found.addAt(from, func() Violation {
		return Violation{
			Rule: contract.SharedMember, Lock: l.name, From: from, To: to, Ops: []int64{b.acquire.ID, a.acquire.ID}, Owners: []string{a.owner, b.owner},
			Text: fmt.Sprintf("%s believed that it held %s, and %s that it held %s, which need the same member, from %s to %s, for %s",
				a.owner, l.name, b.owner, other.name, Stamp(from), Stamp(to), short(to-from)),
			Cause: f.lostHold(l, a.owner, b.grantedAt()),
		}
	})
}

// couldHave looks for a time of some length in which a waiter could have had a group and did not: when others
// held so few of its members that it could have taken enough, for longer than an attempt takes.
func (f *facts) couldHave(l *lockFacts, c *composition, op *history.Op) (from, to time.Duration) {
	end := f.end
	if !op.Pending() {
		end = op.Return
	}
	if op.Kind == history.TryLock {
		end = min(end, op.Call+op.Wait)
	}
	if at, dead := f.died[op.Client]; dead {
		end = min(end, at)
	}
	if end <= op.Call {
		return 0, 0
	}
	for _, free := range f.view.had(c, op.Owner, op.Call, end) {
		known := free[0]
		for _, key := range c.members {
			known = max(known, f.view.members[key].saw(f, op, free[0]))
		}
		begin, most := f.unhindered(op.Client, known, max(known, free[1])), f.groupPrompt(c)
		if begin > known || len(f.trouble(op.Client, begin, begin)) > 0 {
			most += f.answerTime()
		}
		if free[1]-begin > max(most, to-from) {
			from, to = begin, free[1]
		}
	}
	return from, to
}

// idleGroup is idle for a group: it is free for a waiter only if enough members are free or its own.
func (f *facts) idleGroup(l *lockFacts, c *composition, found *violations) {
	for _, op := range l.ops {
		if !callsFor(op) {
			continue
		}
		from, to := f.couldHave(l, c, op)
		if to == 0 {
			continue
		}
		found.addAt(from, func() Violation {
			cause := Cause{Class: contract.Unexplained, Text: "no fault explains why nobody took it"}
			if faults := f.struckBy(op.Client, l.name, op.Call, from+f.prompt(), hinders); len(faults) > 0 {
				cause = f.blame("while it waited "+f.describeAll(faults), faults)
			}
			return Violation{
				Rule: contract.FreeIsTaken, Lock: l.name, From: from, To: to, Ops: []int64{op.ID}, Owners: []string{op.Owner}, Cause: cause,
				Text: fmt.Sprintf("%s waited for %s from %s to %s, for %s, while enough of its members were free or its own",
					op.Owner, l.name, Stamp(from), Stamp(to), short(to-from)),
			}
		})
	}
}
