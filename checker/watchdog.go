package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// renewalSlack is how much later than promised a renewal may take effect: a tenth of the period,
// since timers of a busy process are late and a round of many renewals takes its time, and two
// round trips, one for the reply that starts the next period and one for the renewal itself.
func (f *facts) renewalSlack() time.Duration { return f.renewEvery()/10 + 4*f.latency() }

// judgeWatchdog asks whether leases without an explicit end were renewed while they had to be, and
// nothing was renewed after that. A pause or a partition excuses nothing: the guarantee is then
// broken by the failure of an assumption, which the cause says.
func judgeWatchdog(_ context.Context, f *facts) Result {
	if !f.h.Can("watchdog") {
		return notClaimed("the lock has no watchdog")
	}
	if f.h.Header.Expiry == history.Implied {
		return notClaimed("nobody saw the renewals")
	}
	if f.renewEvery() == 0 {
		return notClaimed("the lock does not say how often its watchdog renews")
	}
	found := f.found(contract.Watchdog)
	guarded, renewals := 0, 0
	for _, l := range f.locks {
		for _, t := range l.tenures {
			if t.watchdog {
				guarded++
				f.gaps(l, t, &found)
			}
		}
		for _, op := range l.ops {
			if op.Kind.Renews() {
				renewals++
			}
		}
		f.strays(l, &found)
		f.revived(l, &found)
		f.lengthened(l, &found)
	}
	return conclude("times of renewals",
		fmt.Sprintf("%s without an explicit lease, %s, all in their time", count(guarded, "hold"), count(renewals, "renewal")),
		fmt.Sprintf("%s among %s without an explicit lease and %s",
			count(found.all, "violation"), count(guarded, "hold"), count(renewals, "renewal")),
		found)
}

// gaps looks for times during a tenure in which its deadline had to be set anew and was not. Of a lock
// that keeps the longest lease it had not while more was left than a renewal sets. The obligation ends with the owner's belief, or when somebody took the key away.
func (f *facts) gaps(l *lockFacts, t *tenure, found *violations) {
	if f.sharedHold(l, t.owner, t.from, t.to) {
		return
	}
	most := f.renewEvery() + f.renewalSlack()

	check := func(from, to time.Duration) {
		if from = f.due(t, from, to); to-from <= most {
			return
		}
		if to = f.watchedUntil(l, t.owner, from, to); to-from <= most {
			return
		}
		found.addAt(from, func() Violation {
			v := Violation{
				Rule: contract.RenewedInTime, Lock: l.name, From: from, To: to,
				Text: fmt.Sprintf("the lease of %s on %s, to be renewed every %s, was not renewed from %s to %s, for %s",
					t.owner, l.name, short(f.renewEvery()), Stamp(from), Stamp(to), short(to-from)),
				Ops: []int64{t.grant.ID}, Owners: []string{t.owner}, Cause: f.unrenewed(l, t, from, to),
			}
			v.Cause.Text = fmt.Sprintf("no renewal took effect after %s%s", Stamp(from), v.Cause.Text)
			return v
		})
	}
	given := f.givenBack(l, t)
	guarded := func(b *belief, g, believed guard) {
		last, until := g.from, min(t.to, b.to, g.to, believed.to, given)
		if believed.from > g.from+2*f.latency() {
			last = max(last, believed.from)
		}
		if b.from > t.from+2*f.latency() {
			last = max(last, b.from) // it learned late, or believed in another hold before
		}
		if at, dead := f.died[t.client]; dead {
			until = min(until, at)
		}
		for _, s := range t.sets {
			if s.op == nil && !f.setItself(s) || s.at < last || s.at > until {
				continue
			}
			check(last, s.at)
			last = s.at
		}
		check(last, until)
	}
	for _, b := range l.owner(t.owner).lasting(t.from, t.to) {
		for _, g := range t.guards {
			for _, believed := range b.guards {
				guarded(b, g, believed)
			}
		}
	}
}

// givenBack is when an owner called its unlock of the last hold of a tenure, if a refused renewal had told its client before that the holds from before
// were over. Its owner counts those, too, where nobody told it. The tenure's end: it did not call it.
func (f *facts) givenBack(l *lockFacts, t *tenure) time.Duration {
	o, told, holds := l.owner(t.owner), false, 0
	for _, op := range slices.Backward(o.called(0, t.grant.Call-1)) {
		if !op.Aside && (op.Kind.Acquires() || op.Kind.Renews()) {
			told = op.Kind.Renews() && op.Outcome == history.NotHeld && !op.Pending() && op.Return <= t.grant.Call
			break
		}
	}
	for _, op := range o.called(t.grant.Call, t.to) {
		switch {
		case !told || op.Aside:
		case op.Kind.Acquires() && op.Outcome == history.Acquired:
			holds++
		case op.Kind.Unlocks():
			if holds--; holds == 0 {
				return op.Call
			}
		}
	}
	return t.to
}

// watchedUntil is until when, within [from, to], an owner has enough members of a group by calls whose lease is to be renewed. A fault may have
// taken some, while those that another call took with a lease of its own are enough for the group's hold.
func (f *facts) watchedUntil(l *lockFacts, owner string, from, to time.Duration) time.Duration {
	if !f.composed(l) {
		return to
	}
	c := f.view.locks[l.name]
	times := []time.Duration{from}
	for _, key := range c.members {
		for _, s := range f.view.members[key].states {
			if from < s.from && s.from < to {
				times = append(times, s.from)
			}
		}
	}
	slices.Sort(times)
	for _, at := range times {
		watched := 0
		for _, key := range c.members {
			if f.view.members[key].watchedAt(f, owner, at) {
				watched++
			}
		}
		if watched < c.needed {
			return at
		}
	}
	return to
}

// watchedAt reports whether one of the calls by which an owner has a key at a time wanted its lease renewed.
func (m *member) watchedAt(f *facts, owner string, at time.Duration) bool {
	if m.at(at).Count(owner) == 0 {
		return false
	}
	since := m.since(owner, at)
	return slices.ContainsFunc(m.rows, func(i int) bool {
		r := &f.h.Served[i]
		op := f.op(r.Op)
		return r.At >= since && r.At <= at && r.After.Count(owner) > r.Before.Count(owner) && op != nil && op.Watchdog && op.Fresh == 0 // else what it takes anew has a lease of its own
	})
}

// setItself reports whether the lock set a lease by no call, as long as a renewal would have made it: what settles an earlier call does so.
func (f *facts) setItself(s deadlineSet) bool {
	return s.byItself && s.until+granularity >= s.at+f.h.Header.WatchdogTimeout
}

// haste is how much later than it was begun a renewal may be seen to be sent: in real time a
// goroutine waits for a processor between the two, and in virtual time what a process does at one instant is seen some nanoseconds apart.
func (f *facts) haste() time.Duration {
	if f.h.Header.Timescale == 0 {
		return time.Microsecond
	}
	return f.latency()
}

// strays looks for renewals that were sent when there was nothing to renew. An owner may renew
// from the call of an acquire (the watchdog starts when the reply is there, which is not recorded
// apart from the return) to the return of the unlock that gives back its last hold, whatever the
// unlock's outcome; and no more once it knows that a renewal was refused, as after a forced release.
func (f *facts) strays(l *lockFacts, found *violations) {
	for _, owner := range slices.Sorted(maps.Keys(l.owners)) {
		if slices.ContainsFunc(l.owners[owner].ops, func(op *history.Op) bool { return op.Kind.Renews() }) {
			f.straysOf(l, owner, found)
		}
	}
}

// memberOver reports whether at a time an owner has more holds of a member of a group than it has of the group.
func (f *facts) memberOver(l *lockFacts, owner string, at time.Duration, holds int64) bool {
	return f.byMembers(l) && slices.ContainsFunc(f.view.locks[l.name].members, func(key memberKey) bool {
		m := f.view.members[key]
		return m.at(at).KeyState.Count(owner) > holds
	})
}

func (f *facts) straysOf(l *lockFacts, owner string, found *violations) {
	type step struct {
		at   time.Duration
		op   *history.Op
		end  bool // the return of op, otherwise its call
		lost bool // the owner was told that its hold is over
	}
	var steps []step
	for _, op := range l.owner(owner).ops {
		if givenUp(op) || op.Aside && !op.Kind.Renews() || !op.Kind.Acquires() && !op.Kind.Unlocks() && !op.Kind.Forces() && !op.Kind.Renews() {
			continue
		}
		steps = append(steps, step{at: op.Call, op: op})
		if !op.Pending() {
			steps = append(steps, step{at: op.Return, op: op, end: true})
		}
	}
	for _, e := range l.events {
		if e.Kind == history.Lost && e.Owner == owner {
			steps = append(steps, step{at: e.At, lost: true})
		}
	}
	sort.SliceStable(steps, func(i, j int) bool {
		a, b := steps[i], steps[j]
		if a.at != b.at {
			return a.at < b.at
		}
		return !a.end && !a.lost && (b.end || b.lost) // at one instant a renewal was sent before anything was known
	})

	stray := func(op *history.Op, rule contract.Rule, since time.Duration, after history.Kind, text string) {
		if since < op.Call && op.Call-since <= f.haste() || f.sharedHold(l, owner, 0, op.Call) {
			return
		}
		found.addAt(since, func() Violation {
			return Violation{Rule: rule, Lock: l.name, From: since, To: op.Call, Call: after,
				Ops: []int64{op.ID}, Owners: []string{owner},
				Text:  fmt.Sprintf("%s, but a renewal of its lease on %s was sent at %s", text, l.name, Stamp(op.Call)),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault makes a client send a renewal: it did so by itself"}}
		})
	}
	var holds []bool // that it has, the last one's on top: whether it was taken without an explicit lease
	var told []bool  // those that it had when it was told of their loss
	// While a call is under way a refusal may be its doing.
	acquiring, releasing := false, false
	var ended *step           // what ended the last hold
	var refused *history.Op   // the renewal that was refused
	var granted time.Duration // when its owner learned of the last grant
	var last *history.Op      // which told of it
	for i := range steps {
		s := &steps[i]
		op := s.op
		switch {
		case s.lost && len(holds) > 1 && l.anew(last, s.at):
			holds = []bool{last.Watchdog}
		case s.lost:
			holds, told, ended = nil, holds, s
		case op.Kind.Acquires() && !s.end:
			acquiring = true
		case op.Kind.Acquires():
			acquiring = false
			if op.Outcome == history.Acquired {
				holds = append(holds, op.Watchdog)
				refused, granted, last = nil, op.Return, op
			} else if len(holds) == 0 && (ended == nil || op.Outcome == history.Unknown) {
				ended = s // what took nothing ended nothing, if something else did
			}
		case op.Kind.Unlocks() && !s.end:
			releasing = true
		case op.Kind.Unlocks() && s.end:
			releasing = false
			if len(holds) <= 1 && f.hasMore(l, owner, s.at) {
				holds = []bool{slices.Contains(told, true)}
			} else if n := len(holds) - 1; n <= 0 || op.Outcome == history.NotHeld || op.Outcome == history.Released && !f.silent[op.ID] {
				holds, ended = nil, s
			} else {
				// An unlock that sets no lease leaves that of the hold that it gave back, which may be renewed.
				stays := holds[n] && !f.h.Can(string(contract.SetsLease))
				holds = holds[:n]
				holds[n-1] = holds[n-1] || stays || op.Outcome == history.Decremented && (op.Watchdog || op.Lease == f.h.Header.WatchdogTimeout)
			}
		case op.Kind.Forces() && s.end:
			// It needs no owner: whoever is the holder, its watchdog learns of it by a refusal.
			holds, ended = nil, nil
		case op.Kind.Renews() && s.end && op.Outcome == history.NotHeld:
			// Or it was sent for a hold that was given back, and the lock taken again; or its client may have given the answer up.
			heard := len(f.obstacles(op.Client, l.name, op.Call, op.Return+1, f.answerTime(), hinders)) == 0
			if op.Call >= granted && !releasing && !acquiring && heard {
				refused = op
				if len(holds) == 0 && ended == nil {
					ended = s
				}
			}
		case op.Kind.Renews() && !s.end:
			dead, died := f.died[op.Client]
			switch {
			case died && op.Call > dead:
				stray(op, contract.NoRenewalByDead, dead, history.Renew, fmt.Sprintf("%s died at %s", op.Client, Stamp(dead)))
			case len(holds) > 0 && refused != nil:
				stray(op, contract.NoRenewalOnceNo, refused.Return, history.Renew, fmt.Sprintf("%s was told at %s that it no longer held the lock", owner, Stamp(refused.Return)))
			case !slices.Contains(holds, true) && !acquiring && f.memberOver(l, owner, op.Call, int64(len(holds))):
				// What an earlier hold has left of a member is renewed for that one.
			case len(holds) > 0 && !slices.Contains(holds, true) && !acquiring:
				stray(op, contract.NoRenewalAsked, op.Call, history.Renew, fmt.Sprintf("%s holds the lock with an explicit lease", owner))
			case len(holds) == 0 && !acquiring && ended != nil && ended.lost && f.composed(l):
				// The whole is lost with some of its members. Its owner has the others until it unlocks.
			case len(holds) == 0 && !acquiring && ended != nil && ended.lost:
				stray(op, contract.NoRenewalAfter, ended.at, history.Renew, fmt.Sprintf("%s was told at %s that its hold was over", owner, Stamp(ended.at)))
			case len(holds) == 0 && !acquiring && ended != nil:
				stray(op, contract.NoRenewalAfter, ended.at, ended.op.Kind, fmt.Sprintf("the %s of %s returned %s at %s", ended.op.Kind, owner, ended.op.Outcome, Stamp(ended.at)))
			}
		}
	}
}
