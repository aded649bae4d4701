package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// onceHealed judges what the lock did when no fault of the plan acted any more. What a lock may say for itself is only that
// somebody rightly holds it, that another program has overwritten its key, or that the machine failed.
func (f *facts) onceHealed(l *lockFacts, found *violations) {
	if f.healed >= f.end {
		return
	}
	failed := false // the machine, while the fresh client called
	for _, op := range l.ops {
		told := string(op.Outcome)
		if op.Pending() {
			told = "nothing"
		}
		if f.late(l, op) {
			f.unhealed(op, contract.HealedCallsReturn, found, "was told nothing until "+Stamp(f.until(op)))
		}
		switch {
		case !f.fresh(op.Client, op.Call) || op.Aside || op.Pending() && !f.whole():
		case f.machineFailed(op):
			failed = true
		case f.declined(op) && slices.ContainsFunc(l.ops, func(o *history.Op) bool { return o.Client == op.Client && o.Kind == op.Kind && o.ID > op.ID }):
			continue // it asks once more, for less
		case op.Kind.Acquires() && op.Outcome != history.Acquired && !f.kept(l, op, op.Call):
			f.unhealedBy(op, contract.FreshGets, found, "was told "+told, func() Cause {
				if c, behind := f.behindPlaces(l, op, l.queued(op), l.queued(op), f.until(op)); behind {
					return c
				}
				return f.keptByCopy(l, op.Call)
			})
		case op.Kind.Unlocks() && op.Outcome != history.Released:
			f.unhealed(op, contract.FreshGets, found, "was told "+told)
		}
	}
	for _, t := range l.tenures {
		if t.open && !failed && f.fresh(t.client, t.from) && !f.implied() && f.whole() && !f.ranOut(t) {
			f.unhealed(t.grant, contract.FreshGets, found, "was granted, and is held to the end")
		}
	}
}

// machineFailed reports whether the machine stopped the server, or all clients, for so much of a call, a quarter, that its answer
// says nothing of the lock.
func (f *facts) machineFailed(op *history.Op) bool {
	return op.Outcome != history.Acquired && op.Outcome != history.Released && 4*f.away(op.Call, f.until(op)) > f.until(op)-op.Call
}

// away is how long, in [from, to], faults lasted once everything was healed. They are the machine's: those of the plan are over.
func (f *facts) away(from, to time.Duration) (total time.Duration) {
	if from = max(from, f.healed); from >= to || !slices.ContainsFunc(f.h.Faults, func(x history.Fault) bool { return x.Lasts() && x.To > from && x.From < to }) {
		return 0
	}
	faults := slices.SortedFunc(slices.Values(f.h.Faults), func(a, b history.Fault) int { return cmp.Compare(a.From, b.From) })
	for i := range faults {
		if fault := &faults[i]; fault.Lasts() && fault.To > from && fault.From < to {
			total += max(0, min(fault.To, to)-max(fault.From, from))
			from = max(from, fault.To)
		}
	}
	return total
}

// ranOut reports whether a hold is what a tryLock of a group had of a member when its time was over: a lock that does not take
// that back leaves it for its lease.
func (f *facts) ranOut(t *tenure) bool {
	call := f.inNameOf(t.grant)
	return call != nil && call.Kind.Plain() == history.TryLock && call.Outcome != history.Acquired && !call.Pending() &&
		call.Return >= call.Call+call.Wait && !f.h.Can(string(contract.TakesBack))
}

// whole reports whether the history has its end: what is missing then never came.
func (f *facts) whole() bool { return f.h.Whole() }

// nobodyKept is the cause where no fault acted, and no client that was alive held the lock.
func nobodyKept() Cause {
	return Cause{Class: contract.Unexplained, Text: "no fault acted at that time, and no client that was alive held the lock"}
}

// keptByCopy is the cause that the key of a lock, or one of its members, has a hold at a time that a copy of a request took, and that
// was renewed ever since. Of a lock that does not promise to tell copies it is known; no other may keep one.
func (f *facts) keptByCopy(l *lockFacts, at time.Duration) Cause {
	type request struct {
		key memberKey
		id  int64
	}
	g, seen := f.log.groups[l.name], map[request]bool{}
	copied, holds := map[memberKey]*history.Served{}, map[memberKey]*history.Served{}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Before == nil || r.After == nil || r.Lock != l.name && !g.Has(r.Server, r.Lock) {
			continue
		}
		if r.At > at {
			break
		}
		key := memberKey{r.Server, r.Lock}
		if took := (request{key, r.Request}); r.Op != 0 && r.Request != 0 && r.After.Total() > r.Before.Total() {
			if seen[took] {
				copied[key] = r
			}
			seen[took] = true
		}
		if holds[key] = r; r.After.Total() == 0 {
			delete(copied, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(copied), func(a, b memberKey) int { return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.key, b.key)) }) {
		r := copied[key]
		if call := f.op(r.Op); call != nil && holds[key].After.Count(r.Owner) > 0 && holds[key].After.Deadline > at {
			return f.twice(l, call, r.At, fmt.Sprintf("the %s of %s took %s once more at %s, and that has not been given back", call.Kind, call.Owner, key, Stamp(r.At)))
		}
	}
	if c, longer := f.keptLonger(l, at); longer {
		return c
	}
	return nobodyKept()
}

// unhealed adds the violation that an operation is in the healed phase.
func (f *facts) unhealed(op *history.Op, rule contract.Rule, found *violations, how string) {
	f.unhealedBy(op, rule, found, how, nobodyKept)
}

func (f *facts) unhealedBy(op *history.Op, rule contract.Rule, found *violations, how string, cause func() Cause) {
	from := max(op.Call, f.healed)
	found.addAt(from, func() Violation {
		return Violation{Rule: rule, Lock: op.Lock, From: from, To: f.until(op), Ops: []int64{op.ID}, Owners: []string{op.Owner},
			Text: fmt.Sprintf("everything was healed from %s on, but %s of %s on %s, called at %s, %s",
				Stamp(f.healed), op.Kind, op.Owner, op.Lock, Stamp(op.Call), how),
			Cause: cause()}
	})
}

// late reports whether a call went on for too long once everything was healed: longer than the time that it was asked to wait, and
// a lease in which it may have missed a message, and what a call takes. Of a lock without a limit only the time counts in which
// the lock was free. Whose client died or ended was not late.
func (f *facts) late(l *lockFacts, op *history.Op) bool {
	_, gone := f.ended[op.Client]
	if f.healed >= f.end || op.Aside || op.Kind.Renews() || op.Pending() && (gone || !f.whole()) {
		return false
	}
	until := f.until(op)
	from := f.localUntil(l, op, max(op.Call+op.Wait, f.healed))
	if until <= from {
		return false
	}
	most := f.overdue() + f.longestLease(l) + f.away(from, until)
	if until-from <= most {
		return false
	}
	return op.Kind.Plain() != history.Lock || f.longestFree(l, from, until) > most && !f.kept(l, op, until)
}

// longestLease is the longest lease that was asked for on a lock, or that a watchdog renews.
func (f *facts) longestLease(l *lockFacts) time.Duration {
	longest := f.h.Header.WatchdogTimeout
	for _, op := range l.ops {
		longest = max(longest, op.Lease)
	}
	return longest
}

// longestFree is the longest time in [from, to] in which nobody held the lock on the server.
func (f *facts) longestFree(l *lockFacts, from, to time.Duration) time.Duration {
	longest, free := time.Duration(0), from
	for _, t := range l.tenures { // by their beginnings
		if t.from >= to {
			break
		}
		longest, free = max(longest, t.from-free), max(free, t.to)
	}
	return max(longest, to-free)
}

// kept reports whether somebody rightly kept a lock from a call at a time: an owner that lived, believed to hold it, and did, or
// another program. What the call met with on the server counts as well: a group cannot be had while another lock has one of
// its keys.
func (f *facts) kept(l *lockFacts, op *history.Op, at time.Duration) bool {
	if f.withheld(l, op.Owner, at) || f.perhapsUntil(l, at) > at {
		return true
	}
	if slices.ContainsFunc(l.tenures, func(t *tenure) bool {
		lasts := t.from <= at && (t.open || t.to > at)
		return t.owner != op.Owner && (l.rightly(t, at) || lasts && (f.hasMore(l, t.owner, at) || f.notForced(t, at))) || lasts && f.ranOut(t)
	}) {
		return true
	}
	for i := range f.h.Served {
		s := &f.h.Served[i]
		during := s.Client == op.Client && s.At >= op.Call && s.At <= f.until(op) // what an earlier call left may have to be settled first
		if s.Op != op.ID && !during || s.Before == nil {
			continue
		}
		for _, h := range s.Before.Holdings {
			if h.Owner == history.AnotherProgram || h.Owner != op.Owner && f.has(h.Owner, s.Server, s.Lock, s.At) {
				return true
			}
		}
	}
	return false
}

// withheld reports whether an owner could not have had a group at a time since others kept members of it: who was told that it
// has lost a group still has the other members, until it gives the group back.
func (f *facts) withheld(l *lockFacts, owner string, at time.Duration) bool {
	if f.view == nil || f.view.locks[l.name] == nil {
		return false
	}
	c, left := f.view.locks[l.name], 0
	for _, key := range c.members {
		if !slices.ContainsFunc(f.view.members[key].at(at).Holdings, func(h history.Holding) bool { return h.Owner != owner && f.keepsMember(h.Owner, key, at) }) {
			left++
		}
	}
	return left < c.needed
}

// keepsMember reports whether an owner that lives was granted a lock with a member, and has not given it back by a time. Another
// program, which has written over its key, gives nothing back.
func (f *facts) keepsMember(owner string, key memberKey, at time.Duration) bool {
	if owner == history.AnotherProgram {
		return true
	}
	for _, l := range f.locks {
		if c := f.view.locks[l.name]; c == nil || !slices.Contains(c.members, key) {
			continue
		}
		if f.owes(l, owner, at) {
			return true
		}
	}
	return false
}

// owes reports whether an owner has a lock to give back at a time, as it was told.
func (f *facts) owes(l *lockFacts, owner string, at time.Duration) bool {
	return f.owed(l, owner, 0, at) > 0
}

// owed is how many holds an owner has to give back at a time of those that its calls took since another, as it was told. An unlock that failed before
// anything was sent gave back nothing, unless the lock claims to go on with it.
func (f *facts) owed(l *lockFacts, owner string, since, at time.Duration) (holds int64) {
	for _, op := range l.owner(owner).ops {
		switch died, dead := f.died[op.Client]; {
		case op.Aside || op.Call < since || op.Call > at || dead && died <= at:
		case op.Kind.Unlocks() && op.Outcome == history.Failed && op.Evidence == history.NotSent && !f.h.Can(string(contract.TakesBack)):
		case op.Kind.Unlocks() && !givenUp(op):
			holds = max(0, holds-1)
		case op.Kind.Acquires() && op.Outcome == history.Acquired && !op.Pending():
			holds++
		}
	}
	return holds
}

// hasMore reports whether an owner's latest answer by a time is that it holds the lock still, after an unlock, and it has locked more
// often than it has unlocked: what it was told was lost it has all the same, and has to give back. The server answers so, also where
// nobody heard that.
func (f *facts) hasMore(l *lockFacts, owner string, at time.Duration) bool {
	var last *history.Op
	for _, op := range l.owner(owner).ops {
		if !op.Aside && !op.Kind.Renews() && !op.Pending() && op.Return <= at && (last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last != nil && last.Kind.Unlocks() && l.settled(last) == history.Decremented && f.owes(l, owner, at)
}

// settled is the answer to an unlock or, if that took no effect, to what its client gave back for it before its owner's next call.
func (l *lockFacts) settled(op *history.Op) history.Outcome {
	if op.Evidence == history.Executed || !op.Uncertain() {
		return answer(op)
	}
	ops := l.owner(op.Owner).ops
	for _, later := range ops[slices.Index(ops, op)+1:] {
		switch {
		case !later.Aside && !later.Kind.Renews():
			return ""
		case later.Aside && later.Kind.Unlocks() && later.Call >= op.Call:
			return answer(later)
		}
	}
	return ""
}

// notForced reports whether an owner who lives has a hold that it wanted to force free, and was not told that it did: nobody goes on with that.
func (f *facts) notForced(t *tenure, at time.Duration) bool {
	died, dead := f.died[t.client]
	if b := t.belief; b == nil || b.unlock == nil || !b.unlock.Kind.Forces() || dead && died <= at {
		return false
	}
	return (t.belief.unlock.Uncertain() || t.belief.unlock.Outcome == history.Failed) && t.belief.unlock.Evidence != history.Executed
}

// rightly reports whether a hold stood at a time, and should have: its owner believed in it, by the call that began it or by a later one.
func (l *lockFacts) rightly(t *tenure, at time.Duration) bool {
	if t.from > at || t.to < at {
		return false
	}
	believes := func(b *belief) bool { return b != nil && b.from <= at && at <= b.to }
	return t.owner == history.AnotherProgram ||
		(believes(t.belief) || believes(l.owner(t.owner).belief(at))) && (t.watchdog || t.deadline == model.Never || t.deadline >= at)
}

// has reports whether an owner rightly held at a time a lock that it got with a key on a server.
func (f *facts) has(owner, server, key string, at time.Duration) bool {
	for _, l := range f.locks {
		for _, t := range l.owner(owner).tenures {
			if l.rightly(t, at) && slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
				return s.Op == t.grant.ID && s.Server == server && s.Lock == key
			}) {
				return true
			}
		}
	}
	return false
}
