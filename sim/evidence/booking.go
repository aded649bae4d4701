package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// testify adds what the server did to what is known of a call, and reports whether that is what the
// call was for: a lock may do more in a call's name, such as to give back what an earlier one may
// have left.
func (c *conclusion) testify(call int64, l *lock, before history.KeyState) bool {
	known := c.op(call)
	return c.testifyOf(call, l, before, l.last, len(before.Holdings) == 0 || before.Count(known.Owner) > 0)
}

// testifyOf is testify of the states given. free says that nobody was in the way of the call's owner.
func (c *conclusion) testifyOf(call int64, l *lock, before, after history.KeyState, free bool) bool {
	known, now := c.op(call), c.now
	answer, effect := whatItDid(known.Kind, known.Owner, before, after)
	copies := c.executes[effects{call, c.sent}]
	c.executes[effects{call, c.sent}] = true
	if effect {
		defer func() { c.effective[effects{call, c.sent}] = true }()
		c.takesOver(&known, before, after)
	}
	switch {
	case known.Kind.Acquires() && !known.Pending() && known.Outcome == history.Busy:
		// It has given up, and the lock deals with what comes.
		return !effect && after.Total() == before.Total() && after.Deadline == before.Deadline
	case !l.simple() && known.Kind.Unlocks() && !effect && before.Count(known.Owner) > 0:
		// One member, or another's: enough are left.
		if before.Deadline != after.Deadline {
			c.tell(history.Event{At: now, Within: c.within, Kind: history.ForceTTL, Lock: l.name, Owner: known.Owner, Deadline: after.Deadline, Note: "by the lock, for " + known.Owner})
		}
		return true
	case known.Kind.Acquires() && after.Total() < before.Total():
		// A caller that was told takes nothing anew: what comes after that is a copy.
		c.undid[call] = c.took(call)
		return false
	case !effect && known.Kind.Acquires() && before.Count(known.Owner) > 0 && before.Deadline != after.Deadline && !l.simple():
		if known.Pending() && effective(known.Answer) {
			return true // one more member: the whole's lease is measured
		}
		c.tell(history.Event{At: now, Within: c.within, Kind: history.ForceTTL, Lock: l.name, Owner: known.Owner, Deadline: after.Deadline, Note: "by the lock, for " + known.Owner})
		return true
	case !effect && known.Kind.Acquires() && c.setsLease(&known, before, after) && l.simple() && c.grantsAnew(&known, before):
		// It is given back and taken at one moment.
		c.add(history.Op{Client: known.Client, Owner: known.Owner, Lock: known.Lock, Kind: history.Unlock, Aside: true, Call: now - 1, Return: now - 1,
			Outcome: history.Released, Evidence: history.Executed, Executed: now - 1, Within: c.within, Answer: history.Released})
		c.amend(call, func(op *history.Op) {
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, now, c.within, history.Acquired
		})
		return true
	case !effect && known.Kind.Acquires() && before.Total() > 0 && before.Deadline != after.Deadline && l.simple() && c.took(call) && c.tookEndless(&known):
		// One command has taken the lock, and a later one of the call sets the lease: of whoever has the key by then.
		lease := cmp.Or(known.Asked, known.Lease)
		c.amend(call, func(op *history.Op) {
			if op.Asked == 0 {
				op.Asked, op.Lease = op.Lease, 0
			}
		})
		c.setAside(&known, lease)
		return true
	case !effect && known.Kind.Acquires() && known.Evidence == history.Executed && before.Count(known.Owner) == 0 && before.Total() > 0 &&
		after.Deadline != before.Deadline && l.simple():
		// A copy of such a command comes when another owner has the key.
		c.setAside(&known, cmp.Or(known.Asked, known.Lease))
		return true
	case !effect && known.Kind.Acquires() && before.Count(known.Owner) > 0 && before.Deadline != after.Deadline:
		// A copy of a command that has taken the lock sets the lease anew.
		c.setAside(&known, after.Deadline-now)
		return true
	case !effect && !known.Pending() && known.Evidence == history.Executed:
		return true // a copy that came too late to matter
	case answer == history.NotHeld && !known.Pending() && known.Kind.Unlocks() && before.Count(known.Owner) > 0:
		return true // it came so late that the lock did not heed it
	case (known.Kind.Forces() || known.Kind.Unlocks() && copies) && known.Evidence == history.Executed && !effect && before.Total() > 0:
		return true // a copy, which is told what the first was told
	case answer == history.Busy && free && !c.queued(call):
		return true // it was not executed: the lock found that it comes too late
	case known.Pending() && (c.undid[call] && (effect || before.Count(known.Owner) == 0 && (before.Total() > 0 || c.queued(call))) ||
		effect && known.Kind.Acquires() && known.Answer == history.Acquired && known.Repeats == 0 && before.Total() == 0 ||
		answer == history.Busy && known.Answer == history.Acquired && !c.effective[effects{call, c.sent}] && c.heard(known)):
		// The call has given back what it had taken, or kept it for longer than the lease, and tries again.
		delete(c.undid, call)
		c.aside(known)
		each := c.repeated[call]
		delete(c.repeated, call)
		if len(each) < known.Repeats { // one request took effect more than once, which giving back does not undo
			each = nil
		}
		for _, known.Executed = range each {
			c.aside(known)
		}
		c.amend(call, func(op *history.Op) {
			op.Executed, op.Within, op.Answer, op.Repeats = now, c.within, answer, op.Repeats-len(each)
			c.leased(op, before)
		})
		return true
	}
	if !effect && !known.Pending() && known.Evidence == history.Executed {
		return true // a copy that came late, and did nothing
	}
	c.amend(call, func(op *history.Op) {
		switch {
		case effect && op.Evidence == history.Executed && effective(op.Answer):
			op.Repeats++
			if by := (effects{call, c.sent}); !c.effective[by] {
				c.repeated[call] = append(c.repeated[call], now)
			}
		case effect || !effective(op.Answer):
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, now, c.within, answer
			c.leased(op, before)
		}
	})
	return true
}

// tookEndless reports whether a call has taken its lock by a command that set no lease: another one is to.
func (c *conclusion) tookEndless(op *history.Op) bool {
	return slices.ContainsFunc(c.h.Served, func(r history.Served) bool {
		return r.Op == op.ID && endOf(&r) == op.Executed && r.Lock == op.Lock && r.After != nil && r.After.Deadline == 0
	})
}

// setAside notes that a command of an acquiring call sets the lease of whoever has the lock.
func (c *conclusion) setAside(call *history.Op, lease time.Duration) {
	c.add(history.Op{Client: call.Client, Owner: call.Owner, Lock: call.Lock, Kind: history.Renew, Lease: lease,
		Aside: true, Call: call.Call, Return: c.now, Outcome: history.Renewed, Evidence: history.Executed, Executed: c.now, Answer: history.Renewed})
}

// queued reports whether a call that has given back what it had taken may be refused a lock that is free, since others wait before.
func (c *conclusion) queued(call int64) bool {
	return c.undid[call] && c.h.Can(string(contract.Fair))
}

// setsLease reports whether a command has set the end of a lease. Redis has it in milliseconds: what is as near as that may be the end of before,
// unless it is that of the lease which the call asks for.
func (c *conclusion) setsLease(op *history.Op, before, after history.KeyState) bool {
	asked := c.now + op.Lease + c.h.Header.Layout.Margin
	return before.Deadline != after.Deadline && (!near(before.Deadline, after.Deadline) || near(after.Deadline, asked))
}

// heard reports whether the client of a call has the answer to the command that took effect.
func (c *conclusion) heard(op history.Op) bool {
	return slices.ContainsFunc(c.h.Served, func(r history.Served) bool {
		return r.Op == op.ID && r.At == op.Executed && 0 < r.Got && r.Got <= c.now
	})
}

// grantsAnew reports whether a call, whose lock is not reentrant, is granted what its owner has: it was not told of that, or has tried in vain to give it
// back since, or has given it back before a copy took it once more, or the lock does so whatever its owner knows.
func (c *conclusion) grantsAnew(op *history.Op, before history.KeyState) bool {
	if c.h.Can("reentrant") || !op.Pending() || effective(op.Answer) || before.Count(op.Owner) == 0 {
		return false
	}
	var last history.Op
	for _, o := range c.all {
		if o.Owner == op.Owner && o.Lock == op.Lock && o.Kind.Acquires() && o.Answer == history.Acquired && o.Evidence == history.Executed && o.Executed >= last.Executed {
			last = *o
		}
	}
	gives := slices.ContainsFunc(c.all, func(o *history.Op) bool {
		return o.Owner == op.Owner && o.Lock == op.Lock && o.Kind.Unlocks() && !o.Aside && last.Executed < o.Call && o.Call < op.Call && (o.Outcome != history.Released || last.Repeats > 0)
	})
	return c.h.Header.Layout.Anew || last.ID != 0 && (gives || last.Outcome != history.Acquired)
}

// takesOver notes that an owner takes what another of its client has on the server, and knows of no more: where owners exclude each other within their
// process, the client gives that back and takes it at one moment.
func (c *conclusion) takesOver(op *history.Op, before, after history.KeyState) {
	if !op.Kind.Acquires() || !c.h.Can(string(contract.LocalHolds)) {
		return
	}
	for _, h := range before.Holdings {
		if h.Owner != op.Owner && c.clients[h.Owner] == op.Client && after.Count(h.Owner) == 0 && !c.counts(owned{h.Owner, op.Lock}) {
			c.add(history.Op{Client: op.Client, Owner: h.Owner, Lock: op.Lock, Kind: history.Unlock, Aside: true, Call: c.now - 1, Return: c.now - 1,
				Outcome: history.Released, Evidence: history.Executed, Executed: c.now - 1, Within: c.within, Answer: history.Released})
		}
	}
}

// counts reports whether an owner counts on a lock, or may be told that it has it: a call of its has taken it, or it was granted it, was told of no
// loss since, and has not begun to give it back.
func (c *conclusion) counts(of owned) bool {
	for i := len(c.all) - 1; i >= 0; i-- {
		switch o := c.op(c.all[i].ID); {
		case o.Owner != of.owner || o.Lock != of.lock || o.Aside || o.Call > c.now:
		case o.Kind.Unlocks():
			return false
		case o.Kind.Acquires() && o.Pending() && o.Evidence == history.Executed && effective(o.Answer):
			return !c.byCopy(&o)
		case o.Kind.Acquires() && o.Outcome == history.Acquired:
			over, told := c.lost[of]
			return !told || over < o.Call
		}
	}
	return false
}

// byCopy reports whether what executed a call was a copy of a request that the server had executed before: its client hears of the first.
func (c *conclusion) byCopy(op *history.Op) bool {
	seen := map[int64]bool{}
	for i := range c.h.Served {
		switch r := &c.h.Served[i]; {
		case r.Op != op.ID || r.Request == 0:
		case endOf(r) == op.Executed:
			return seen[r.Request]
		default:
			seen[r.Request] = true
		}
	}
	return false
}

// took reports whether a call that is under way has taken its lock.
func (c *conclusion) took(call int64) bool {
	known := c.op(call)
	return known.Pending() && known.Evidence == history.Executed && known.Answer == history.Acquired
}

// leased notes the lease that a call asked for. Its caller took it for a re-entry, and had lost the lock: then that is the lease of this call
// alone. A caller that was told of the loss, and is granted the lock anew, counts on no lease of before. Its token may be as before.
func (c *conclusion) leased(op *history.Op, before history.KeyState) {
	of := owned{op.Owner, op.Lock}
	own := lease{cmp.Or(op.Fresh, op.Lease), op.Watchdog}
	if op.Fresh > 0 {
		own.watched = op.FreshWatchdog
	}
	switch anew := before.Count(op.Owner) == 0; {
	case op.Answer == history.Decremented && len(c.since[of]) > 0:
		c.since[of] = c.since[of][:len(c.since[of])-1]
	case op.Answer != history.Acquired:
	case anew:
		delete(c.since, of)
		if c.toldOver(op) || c.lostWithin(op) {
			c.since[of] = []lease{own}
		}
		op.Lease, op.Watchdog = own.length, own.watched
	case len(c.since[of]) > 0:
		c.since[of] = append(c.since[of], own)
		longest := lease{}
		for _, l := range c.since[of] {
			longest.length, longest.watched = max(longest.length, l.length), longest.watched || l.watched
		}
		if longest.length < op.Lease && op.Asked == 0 { // else it has left the end as it was
			op.Lease, op.Watchdog = longest.length, longest.watched
		}
	}
}

// lease is one that an owner has asked for.
type lease struct {
	length  time.Duration
	watched bool
}

// aside notes the effect of a call as one of its own, which its owner does not know of.
func (c *conclusion) aside(known history.Op) {
	c.add(history.Op{Client: known.Client, Owner: known.Owner, Lock: known.Lock, Kind: known.Kind, Lease: known.Lease,
		Watchdog: known.Watchdog, Aside: true, Call: known.Call, Return: known.Executed, Outcome: known.Answer,
		Evidence: history.Executed, Executed: known.Executed, Within: known.Within, Answer: known.Answer})
}

// measure notes the lease that a call has given to a group, which is not that of each member: they
// are set one after the other. Of a lock that shares a key with a group, it depends on what its owner holds of
// that. What a copy sets is no part of it.
func (c *conclusion) measure(call int64, l *lock) {
	now, pending := c.now, c.op(call).Pending()
	c.amend(call, func(op *history.Op) {
		if (pending || op.Executed == now) && op.Repeats == 0 && effective(op.Answer) && l.last.Count(op.Owner) > 0 && l.last.Deadline > op.Executed {
			if op.Asked == 0 {
				op.Asked = op.Lease
			}
			op.Lease = l.last.Deadline - op.Executed
		}
	})
}

// counted reports whether a lease ends where its client counted it from a moment since began: such a lock tells the
// server a deadline, and not a time to live.
func (c *conclusion) counted(began, lease time.Duration, l *lock) bool {
	return c.h.Header.Layout.Absolute && l.last.Deadline >= began+lease-time.Millisecond && l.last.Deadline < c.now+lease
}

// margined reports whether a call is granted now, for as much longer than was asked for as is usual with this lock.
func (c *conclusion) margined(call int64, l *lock) bool {
	margin, op := c.h.Header.Layout.Margin, c.op(call)
	return margin > 0 && op.Kind.Acquires() && op.Executed == c.now && near(l.last.Deadline, c.now+cmp.Or(op.Asked, op.Lease)+margin)
}

// usual reports whether a renewal has just set what renewals of this lock set, which is not the lease.
func (c *conclusion) usual(lease time.Duration, l *lock) bool {
	y := c.h.Header.Layout
	return y.Renewal > 0 && near(l.last.Deadline, c.now+time.Duration(y.Renewal*float64(lease))) ||
		y.Margin > 0 && near(l.last.Deadline, c.now+lease+y.Margin)
}

// near reports whether deadlines are the same, as far as Redis has them.
func near(a, b time.Duration) bool { return a-b <= time.Millisecond && b-a <= time.Millisecond }

// running is when a client's process ran last by a time: what it sends then it may have made up before it was stopped.
func (c *conclusion) running(client string, at time.Duration) time.Duration {
	for i := range c.h.Faults {
		f := &c.h.Faults[i]
		stops := slices.Contains(history.EffectsOf(f.Kind, f.Step), history.ProcessStopped) && !f.Missed && (f.Client == "" || f.Client == client)
		if stops && f.From <= at && at <= f.To+time.Millisecond {
			at = f.From
		}
	}
	return at
}

// held reports whether a fault kept a client from sending at a time. A deadline that it made up then it may send when that is over.
func (c *conclusion) held(client string, at time.Duration) bool {
	return slices.ContainsFunc(c.h.Faults, func(f history.Fault) bool {
		return !f.Missed && f.Lasts() && f.Has(history.Hinders()...) && (f.Client == "" || f.Client == client) && f.From <= at && at <= f.To
	})
}

// granted notes what a call on a group did that was granted, though no command of it changed who held the
// whole. Either what an earlier call of its owner had left became this one's: that was given back, and the
// group taken anew, at one moment. Or a member that it had taken was taken away before it had the last: it held
// the group for a moment only.
func (c *conclusion) granted(id int64, l *lock) {
	op := *c.byID[id]
	p := l.calls[id]
	if !op.Kind.Acquires() || op.Outcome != history.Acquired || !l.enough(p) || effective(op.Answer) {
		return
	}
	if l.last.Count(op.Owner) > 0 {
		before := p.at - 1
		c.add(history.Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Kind: history.Unlock, Aside: true, Call: before, Return: before, Outcome: history.Released,
			Evidence: history.Executed, Executed: before, Within: c.within, Answer: history.Released})
	} else {
		if p.held { // it had enough of them one after the other, and another owner got there first
			p.at = max(op.Call, c.taken(op.Lock, p.at)-2)
		}
		c.tell(history.Event{At: p.at + 1, Within: c.within, Kind: history.Delete, Lock: op.Lock, Note: "a member was taken away while others were acquired"})
	}
	c.amend(op.ID, func(op *history.Op) {
		op.Evidence, op.Executed, op.Within, op.Answer, op.Asked = history.Executed, p.at, c.within, history.Acquired, cmp.Or(op.Asked, op.Lease)
		if l.last.Deadline > p.at {
			op.Lease = l.last.Deadline - p.at
		}
	})
}

// remaining is the lease that a command sets that gives back, beside its owner's calls, a hold that nobody knows of: that of a hold which the
// owner knows of, if any. So it is the one that the command has set, unless no granted call asked for that. The watchdog's is that of a client
// which knows of no hold.
func (c *conclusion) remaining(owner, name string, set time.Duration) time.Duration {
	same := func(lease time.Duration) bool { return lease > 0 && max(lease-set, set-lease) <= time.Millisecond }
	asked := set
	if same(c.h.Header.WatchdogTimeout) {
		return set
	}
	for _, op := range c.all {
		if op.Owner != owner || op.Lock != name || !op.Kind.Acquires() || op.Outcome != history.Acquired || op.Aside {
			continue
		}
		if same(op.Asked) || same(op.Lease) || same(op.Fresh) {
			return set
		}
		asked = cmp.Or(op.Fresh, op.Asked, op.Lease, asked)
	}
	return asked
}

// taken is when a lock was last taken by a time.
func (c *conclusion) taken(name string, by time.Duration) (at time.Duration) {
	for _, op := range c.all {
		if op.Lock == name && op.Kind.Acquires() && op.Answer == history.Acquired && op.Evidence == history.Executed && op.Executed <= by {
			at = max(at, op.Executed)
		}
	}
	return at
}

// effective reports whether an answer says that something was changed.
func effective(o history.Outcome) bool {
	return o == history.Acquired || o == history.Decremented || o == history.Released || o == history.Renewed
}

// whatItDid names the difference that a command for a call of this kind made.
func whatItDid(kind history.Kind, owner string, before, after history.KeyState) (answer history.Outcome, effect bool) {
	was, is := before.Total(), after.Total()
	switch {
	case kind.Acquires() && (is > was || after.Count(owner) > before.Count(owner)):
		return history.Acquired, true
	case kind.Acquires():
		return history.Busy, false
	case kind.Unlocks() && is < was && is > 0:
		return history.Decremented, true
	case (kind.Unlocks() || kind.Forces()) && is < was:
		return history.Released, true
	case kind.Unlocks() || kind.Forces():
		return history.NotHeld, false
	}
	return history.OK, false
}

// unbidden records what a command did that belongs to no call: a renewal, or what a lock library
// does behind its callers' backs.
func (c *conclusion) unbidden(t touch, before history.KeyState) {
	c.unbiddenOf(t, before, t.lock.last)
}

// unbiddenOf is unbidden of the states given.
func (c *conclusion) unbiddenOf(t touch, before, after history.KeyState) {
	l, r, now := t.lock, t.row, c.now
	op := history.Op{Client: r.Client, Owner: r.Owner, Lock: l.name, Call: cmp.Or(r.Began, r.Sent), Evidence: history.Executed, Executed: now, Within: c.within}
	was, is := before.Total(), after.Total()
	if id := c.apart[apart{c.request, l.name}]; id != 0 && c.request != 0 && l.simple() && is != was { // it has taken effect before
		c.amend(id, func(op *history.Op) { op.Repeats++ })
		c.ops[r], r.Op = append(c.ops[r], id), id // rather than what it did to a group with this key
		return
	}
	switch {
	case is < was && r.Step == history.StepForce:
		// Somebody forced free another lock, with which this one shares a key.
		e := history.Event{At: now, Within: c.within, Kind: history.Delete, Lock: l.name, Note: "forced free by " + r.Owner}
		if is > 0 {
			e.Kind, e.Owner, e.Count, e.Deadline = history.Restore, after.Holdings[0].Owner, after.Holdings[0].Count, after.Deadline
		}
		c.tell(e)
		return
	case is < was:
		if call := l.under[r.Owner]; call != 0 && c.took(call) {
			c.undid[call] = true // what an earlier call had left of a member was given back while this one took the others
		}
		op.Aside = true
		op.Kind, op.Answer = history.Unlock, history.Decremented
		if !l.oneEnd(before) { // else a reader's unlock may remove all
			for range was - is - 1 { // the sequential lock gives back one hold at a time
				c.ops[r] = append(c.ops[r], c.add(op))
			}
		}
		if is > 0 {
			op.Lease = max(after.Deadline-now, 0)
			if before.Deadline != after.Deadline && l.alone() && l.object == history.ALock && c.h.Can(string(contract.SetsLease)) {
				op.Lease = c.remaining(r.Owner, l.name, op.Lease)
			}
		} else {
			op.Answer = history.Released
		}
	case is > was:
		op.Aside = true
		op.Kind, op.Answer, op.Lease = history.Lock, history.Acquired, max(after.Deadline-now, 0)
		if r.Op != 0 && l.oneEnd(after) { // which is not that of each lease
			call := c.op(r.Op)
			op.Lease = cmp.Or(call.Asked, call.Lease)
		}
	case r.Step == history.StepRenew:
		c.renewals(t, before, after, op)
		return
	case is > 0 && after.Deadline != before.Deadline && after.Count(r.Owner) > 0:
		// What settles an unanswered call may only set its owner's lease anew.
		c.tell(history.Event{At: now, Within: c.within, Kind: history.ForceTTL, Lock: l.name, Owner: r.Owner, Deadline: after.Deadline,
			Note: "by the lock, for " + r.Owner})
		return
	default:
		return
	}
	c.noted(r, op)
}

// oneEnd reports whether a state of a read-write lock shows one end, that of the key: Redisson's does.
func (l *lock) oneEnd(s history.KeyState) bool {
	return l.object == history.ARWLock && len(s.Holdings) > 0 && s.Holdings[0].Deadline == 0
}

// renewals records what a renewal did for each owner it was for. If the lease was set anew, that was
// for the one who holds the lock, or, should none of them hold it, for all.
func (c *conclusion) renewals(t touch, before, after history.KeyState, op history.Op) {
	l, r, owners := t.lock, t.row, t.owners
	op.Kind, op.Lease, op.Watchdog = history.Renew, c.h.Header.WatchdogTimeout, true
	set := after.Deadline != before.Deadline && after.Total() > 0
	if l.object == history.ARWLock { // another hold's renewal may have set the same a moment before
		set = set || after.Total() > 0 && after.Deadline >= c.now+op.Lease-time.Millisecond
	}
	holds := func(owner string) bool { return before.Count(owner) > 0 }
	foreign := !slices.ContainsFunc(owners, holds)
	if !l.simple() || c.counted(c.running(op.Client, op.Call), op.Lease, l) || c.held(op.Client, l.last.Deadline-op.Lease) && c.counted(0, op.Lease, l) || c.usual(op.Lease, l) {
		op.Lease = max(l.last.Deadline-op.Executed, 0)
	}
	for _, op.Owner = range owners {
		switch op.Answer = history.NotHeld; {
		case set && (foreign || holds(op.Owner)):
			op.Answer = history.Renewed
		case holds(op.Owner), !l.simple(): // of a group some members may be its own
			continue // the lock found that it should not renew now, and will again
		}
		c.noted(r, op)
	}
}

// noted records an operation for a row.
func (c *conclusion) noted(r *history.Served, op history.Op) {
	id := c.add(op)
	c.ops[r] = append(c.ops[r], id)
	r.Op = cmp.Or(r.Op, id)
	if c.request != 0 && !op.Kind.Renews() {
		c.apart[apart{c.request, op.Lock}] = id
	}
}

// completes reports whether what befell a key completes an unlock of a group that is under way: it had given
// back some members, and the end of another one's lease does the rest.
func (c *conclusion) completes(l *lock, before history.KeyState) bool {
	for _, h := range before.Holdings {
		owner, call := h.Owner, l.under[h.Owner]
		if call == 0 {
			continue
		}
		if op := c.op(call); op.Pending() && op.Kind.Unlocks() && !effective(op.Answer) && l.last.Count(owner) < before.Count(owner) {
			at := c.now
			c.now-- // what befalls other keys at this instant comes after it
			done := c.testify(call, l, before)
			c.now = at
			return done
		}
	}
	return false
}
