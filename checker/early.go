package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// early asks of a lock that tells its holders of a loss whether it told one whose lease lasted, and who could know
// that: by the last answer that its client got, counted from when it sent the request.
func (f *facts) early(l *lockFacts, found *violations) {
	if !f.h.Can(string(contract.TellsLoss)) || f.implied() || len(f.h.Served) == 0 {
		return
	}
	for _, e := range l.events {
		if e.Kind != history.Lost || e.Owner == "" {
			continue
		}
		t := l.owner(e.Owner).tenure(e.At)
		learned := func(op *history.Op, by time.Duration) bool { return f.resolved(op, by) || f.assured(l, op, t, by) }
		if t == nil || t.restored || t.to <= e.At || f.callsSince(t.grant.Call, learned, l, e.Owner, e.At) {
			continue // what its client has learned is not for certain
		}
		if i := slices.IndexFunc(l.beliefs, func(b *belief) bool { return b.lost == e }); i >= 0 && l.beliefs[i].from < t.from {
			continue // it was told of a hold before this one, which a call on another lock with the same key may have begun
		}
		if call := f.inNameOf(t.grant); call != nil && e.At <= f.until(call) && f.owed(l, e.Owner, 0, t.from) > 0 {
			continue // the answer to that call says that a hold is over that it has still to give back
		}
		if f.composed(l) && f.membersHeard(l, e.Owner, e.At) < f.view.locks[l.name].needed {
			continue // of the others that the server has for the owner its client did not hear
		}
		known, ok := f.known(l, t, e.At)
		if !ok || known-f.tellsBefore(l, t) <= e.At {
			continue
		}
		found.addAt(e.At, func() Violation {
			return Violation{
				Rule: contract.NotToldEarly, Lock: l.name, From: e.At, To: min(t.to, known), Ops: []int64{t.grant.ID}, Owners: []string{e.Owner},
				Text: fmt.Sprintf("%s was told at %s that its hold on %s is over, though the server held it until %s, and its client knew of a lease until %s",
					e.Owner, Stamp(e.At), l.name, Stamp(t.to), Stamp(known)),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault makes a lock tell of a loss that is none"},
			}
		})
	}
}

// membersHeard is how many members of a group an owner has at a time of which its client had an answer since their holds began.
func (f *facts) membersHeard(l *lockFacts, owner string, at time.Duration) (n int) {
	for _, key := range f.view.locks[l.name].members {
		m := f.view.members[key]
		if m.at(at).Count(owner) == 0 {
			continue
		}
		since := m.since(owner, at)
		if slices.ContainsFunc(m.rows, func(i int) bool {
			r := &f.h.Served[i]
			return since <= r.At && r.At <= at && r.Owner == owner && r.After.Count(owner) > 0 && !refused(r) && 0 < r.Got && r.Got <= at
		}) {
			n++
		}
	}
	return n
}

// ownUnlocks asks of a lock that tells its holders of a loss whether it told one whose own unlock ended the hold, or was about
// to, while the lease lasted as far as its client knew.
func (f *facts) ownUnlocks(l *lockFacts, found *violations) {
	if !f.h.Can(string(contract.TellsLoss)) || f.implied() || len(f.h.Served) == 0 {
		return
	}
	for _, e := range l.events {
		if e.Kind != history.LostGiving && e.Kind != history.Lost {
			continue
		}
		op := l.owner(e.Owner).gives(e.At)
		if op == nil || op.Outcome == history.NotHeld || givenUp(op) || e.Kind == history.Lost && op.Outcome != history.Released {
			continue
		}
		if f.composed(l) && (op.Outcome != history.Released || !f.heldWhole(l, op)) {
			continue // a member may be lost by itself
		}
		t := l.owner(e.Owner).tenure(op.Call)
		if t == nil || t.restored || t.to < op.Call || t.to <= e.At && t.endOp != op || f.callsBut(op, l, e.Owner, e.At) || f.sharedHold(l, e.Owner, t.from, e.At) {
			continue
		}
		known, ok := f.known(l, t, e.At)
		if !ok || known-f.tellsBefore(l, t) <= e.At {
			continue
		}
		found.addAt(e.At, func() Violation {
			return Violation{
				Rule: contract.UnlockIsNoLoss, Lock: l.name, From: op.Call, To: e.At, Ops: []int64{op.ID, t.grant.ID}, Owners: []string{e.Owner},
				Text: fmt.Sprintf("%s was told at %s that its hold on %s was lost, while its own unlock was under way; its client knew of a lease until %s",
					e.Owner, Stamp(e.At), l.name, Stamp(known)),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault makes a lock tell of a loss that is none"},
			}
		})
	}
}

// heldWhole reports whether the server held every member of a group for the owner when an unlock of it was called.
func (f *facts) heldWhole(l *lockFacts, op *history.Op) bool {
	c := f.view.locks[l.name]
	least, _ := f.view.held(c, op.Owner, op.Call, op.Call)
	return least == len(c.members)
}

// gives is the owner's unlock that is under way at a time; nil: none is.
func (o *ownerFacts) gives(at time.Duration) *history.Op {
	i := slices.IndexFunc(o.ops, func(op *history.Op) bool {
		return op.Kind.Unlocks() && !op.Aside && op.Call <= at && (op.Pending() || at <= op.Return)
	})
	if i < 0 {
		return nil
	}
	return o.ops[i]
}

// tellMargin is the part of a lease by which a lock may tell of its end early, for clocks that run unequally fast.
const tellMargin = 50

// tellsBefore is how long before the end of a hold's lease its owner may be told. The lease of a group that ends first may be one that a
// call on another lock set for a member.
func (f *facts) tellsBefore(l *lockFacts, t *tenure) time.Duration {
	longest := t.lease // a setting of a group may be what is left of an earlier one
	for _, s := range t.sets {
		if s.op == nil {
			continue
		}
		longest = max(longest, s.op.Lease)
		if call := f.inNameOf(s.op); call != nil { // on another lock, which has set a member's lease
			longest = max(longest, call.Lease, call.Asked)
		}
	}
	if f.composed(l) {
		for _, other := range f.view.sharing[l.name] {
			for _, op := range other.owner(t.owner).called(0, t.from) {
				longest = max(longest, op.Lease, op.Asked)
			}
		}
	}
	return longest/tellMargin + 2*f.latency() + granularity
}

// known is when a hold's lease ends as its client can know it at a time, by the answers that it has. What was set before its client
// was told that it had given all back was for another hold, though the server may have kept that for who holds its members besides.
func (f *facts) known(l *lockFacts, t *tenure, at time.Duration) (until time.Duration, ok bool) {
	over := l.owner(t.owner).over(at)
	for _, s := range t.sets {
		if s.at > at {
			break // that is still to come
		}
		if s.at <= over {
			continue
		}
		if s.op == nil {
			return 0, false // somebody else changed it
		}
		if s.op.Aside && f.composed(l) { // a call on another lock has set the lease of a member
			until, ok = 0, false
			continue
		}
		if s.op.Kind.Unlocks() {
			if i, found := f.log.execution(s.op, s.at); found && !f.composed(l) && f.h.Served[i].Before != nil &&
				f.h.Served[i].Before.Of(t.owner).Deadline == f.h.Served[i].After.Of(t.owner).Deadline {
				continue // it left the end as it was, which its client knows by the answers before
			}
			until = 0 // it sets a lease of its own
		}
		if s.op.Kind.Renews() && len(f.obstacles(s.op.Client, l.name, s.op.Call, s.op.Return+1, f.answerTime(), hinders)) > 0 {
			continue // its client may have given the answer up
		}
		if s.op.Lease > 0 && !s.op.Pending() && !s.op.Uncertain() && s.op.Return <= at {
			lease := s.op.Lease
			if f.keepsLongest() && s.op.Asked > 0 { // it left the end of an earlier lease, which its client knows by the answer to that
				lease = min(lease, cmp.Or(s.op.Fresh, s.op.Asked))
			}
			switch margin := f.h.Header.Layout.Margin; { // the key may live for longer than the lease
			case margin > 0 && s.op.Asked > 0:
				lease = min(lease, s.op.Asked)
			case margin > 0 && s.op.Kind.Renews():
				lease = max(lease-margin, 0)
			}
			until, ok = max(until, f.began(s.op, s.at)+lease), true
		}
	}
	return until, ok
}

// began is when the client can have begun the request of a call that was executed at a time: with the call, or when it had the
// answer to the request before. A copy that never arrived may have been the first. What only looks, right before, is of the same attempt.
func (f *facts) began(op *history.Op, at time.Duration) time.Duration {
	i, found := f.log.execution(op, at)
	if call := f.inNameOf(op); call != nil {
		op = call
	}
	if !found || !op.Kind.Acquires() && !op.Kind.Unlocks() {
		return op.Call
	}
	began, attempt := op.Call, f.attemptOf(op, i)
	for _, n := range f.log.byOp[op.ID] {
		if n == i {
			break
		}
		if r := &f.h.Served[n]; r.Got <= attempt && !refused(r) {
			began = max(began, r.Got)
		}
	}
	return began
}

// attemptOf is when a call sent the first of the commands on a connection that only look, one right after the other, and then that of a row; when
// it sent that one, if there are none.
func (f *facts) attemptOf(op *history.Op, row int) time.Duration {
	next := &f.h.Served[row]
	for _, r := range slices.Backward(f.h.Served[:row]) {
		switch {
		case r.Op != op.ID || r.Conn != next.Conn || r.Sent == next.Sent:
		case !r.Looks() || next.Sent-r.Got > granularity:
			return next.Sent
		default:
			next = &r
		}
	}
	return next.Sent
}

// callsAt reports whether an owner has a call under way on a lock, or on another with the same key. So it is for a call
// whose outcome the owner does not know: the lock may not know how often it is held.
func (f *facts) callsAt(l *lockFacts, owner string, at time.Duration) bool {
	return f.callsBut(nil, l, owner, at)
}

// callsBut is callsAt of all calls but one.
func (f *facts) callsBut(but *history.Op, l *lockFacts, owner string, at time.Duration) bool {
	return f.callsSince(0, func(op *history.Op, _ time.Duration) bool { return op == but }, l, owner, at)
}

// resolved reports whether a client knows by a time what became of a call whose caller was not told: it changed nothing, or the client has
// given back what each such call since took.
func (f *facts) resolved(op *history.Op, by time.Duration) bool {
	if f.answeredInVain(op, by) {
		return true
	}
	i := slices.IndexFunc(f.locks, func(l *lockFacts) bool { return l.name == op.Lock })
	if i < 0 || !op.Uncertain() || op.Pending() || !op.Kind.Acquires() {
		return false
	}
	owed := 0
	for _, o := range f.locks[i].owner(op.Owner).ops {
		switch {
		case o.Call > by || o.Kind.Renews():
		case o.Aside && o.Kind.Unlocks() && o.Call >= op.Return && !o.Pending() && o.Return <= by:
			owed--
		case !o.Aside && o.Uncertain() && !o.Pending() && o.Return >= op.Return:
			owed++
		}
	}
	return owed <= 0
}

// answeredInVain reports whether all that a call had asked by a time was answered by then, and changed nothing: its caller was not told, and its
// client learned that what it knew before is so. Who hears that a copy was refused does not learn what became of the others, nor who is asked for
// the script what comes of that.
func (f *facts) answeredInVain(op *history.Op, by time.Duration) bool {
	rows, refusals := f.log.byOp[op.ID], map[int64]bool{}
	answered := slices.ContainsFunc(rows, func(i int) bool { r := &f.h.Served[i]; return !refused(r) || turnedDown(r) })
	return op.Uncertain() && !op.Pending() && op.Return < by && answered && !slices.ContainsFunc(rows, func(i int) bool {
		r := &f.h.Served[i]
		copied := refusals[r.Request]
		refusals[r.Request] = r.Request > 0 && refused(r)
		return copied || r.Got == 0 || r.Got > by || r.After != nil && (r.Before == nil || !r.Before.Equal(*r.After))
	})
}

// assured reports whether all that a call had asked by a time was answered by then, once each, and the server had an owner's hold whenever it
// executed some of it: what its client learned is that the hold is there, with a lease that the call did not shorten.
func (f *facts) assured(l *lockFacts, op *history.Op, t *tenure, by time.Duration) bool {
	if l.shared() || op.Kind.Unlocks() || !f.keepsLongest() || len(f.obstacles(op.Client, op.Lock, op.Call, by+1, f.answerTime(), hinders)) > 0 {
		return false
	}
	type request struct {
		id  int64
		key memberKey
	}
	seen, g := map[request]bool{}, f.log.groups[l.name]
	for _, i := range f.log.byOp[op.ID] {
		r := &f.h.Served[i]
		if r.Sent > by {
			break
		}
		if r.Got == 0 || r.Got > by || r.Before == nil || r.After == nil {
			return false
		}
		if r.Lock != l.name && !g.Has(r.Server, r.Lock) {
			continue
		}
		as := request{r.Request, memberKey{r.Server, r.Lock}}
		if seen[as] && r.Request > 0 || r.Before.Count(t.owner) == 0 || r.After.Count(t.owner) == 0 {
			return false
		}
		seen[as] = true
	}
	return len(seen) > 0
}

// callsSince is callsBut of calls since a time, but for some: what the owner was granted then, it knows for certain.
func (f *facts) callsSince(since time.Duration, but func(op *history.Op, by time.Duration) bool, l *lockFacts, owner string, at time.Duration) bool {
	locks := []*lockFacts{l}
	if f.view != nil {
		locks = append(locks, f.view.sharing[l.name]...)
	}
	return slices.ContainsFunc(locks, func(l *lockFacts) bool {
		return slices.ContainsFunc(l.owner(owner).ops, func(op *history.Op) bool {
			return !but(op, at) && op.Call >= since && !op.Kind.Renews() && !op.Aside && op.Call <= at &&
				(op.Pending() || op.Return >= at || op.Uncertain() || op.Outcome == history.Failed)
		})
	})
}
