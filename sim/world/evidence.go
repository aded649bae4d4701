package world

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// testify adds what the server did to what is known of a call, and reports whether that is what the
// call was for: a lock may do more in a call's name, such as to give back what an earlier one may
// have left.
func (w *World) testify(call int64, l *lock, before history.KeyState, now time.Duration) bool {
	known, after := w.rec.Op(call), l.state
	answer, effect := whatItDid(known.Kind, known.Owner, before, after)
	switch {
	case known.Kind.Acquires() && !known.Pending() && known.Outcome == history.Busy:
		// It has given up, and the lock deals with what comes.
		return !effect && total(after) == total(before) && after.Deadline == before.Deadline
	case !l.simple() && known.Kind == history.Unlock && !effect && countOf(before, known.Owner) > 0:
		// One member, or another's: enough are left.
		if before.Deadline != after.Deadline {
			w.rec.Event(history.Event{At: now, Within: w.within, Kind: history.ForceTTL, Lock: l.name, Deadline: after.Deadline, Note: "by the lock, for " + known.Owner})
		}
		return true
	case known.Kind.Acquires() && total(after) < total(before):
		// A caller that was told takes nothing anew: what comes after that is a copy.
		w.log.undid[call] = known.Pending() && known.Evidence == history.Executed && known.Answer == history.Acquired
		return false
	case !effect && known.Kind.Acquires() && countOf(before, known.Owner) > 0 && before.Deadline != after.Deadline && !l.simple():
		if known.Pending() && effective(known.Answer) {
			return true // one more member: the whole's lease is measured
		}
		w.rec.Event(history.Event{At: now, Within: w.within, Kind: history.ForceTTL, Lock: l.name, Deadline: after.Deadline, Note: "by the lock, for " + known.Owner})
		return true
	case !effect && known.Kind.Acquires() && countOf(before, known.Owner) > 0 && before.Deadline != after.Deadline:
		// A copy of a command that has taken the lock sets the lease anew.
		w.rec.Add(history.Op{Client: known.Client, Owner: known.Owner, Lock: known.Lock, Kind: history.Renew, Lease: after.Deadline - now,
			Aside: true, Call: known.Call, Return: now, Outcome: history.Renewed, Evidence: history.Executed, Executed: now, Answer: history.Renewed})
		return true
	case !effect && !known.Pending() && known.Evidence == history.Executed:
		return true // a copy that came too late to matter
	case answer == history.NotHeld && !known.Pending() && known.Kind == history.Unlock && countOf(before, known.Owner) > 0:
		return true // it came so late that the lock did not heed it
	case known.Kind == history.ForceUnlock && known.Evidence == history.Executed && !effect && total(before) > 0:
		return true // a copy, which is told what the first was told
	case answer == history.Busy && (len(before.Holdings) == 0 || countOf(before, known.Owner) > 0):
		return true // it was not executed: the lock found that it comes too late
	case known.Pending() && (w.log.undid[call] && (effect || total(before) > 0 && countOf(before, known.Owner) == 0) ||
		effect && known.Kind.Acquires() && known.Answer == history.Acquired && known.Repeats == 0 && total(before) == 0):
		// The call has given back what it had taken, or kept it for longer than the lease, and tries again.
		delete(w.log.undid, call)
		w.aside(known)
		w.rec.Amend(call, func(op *history.Op) {
			op.Executed, op.Within, op.Answer = now, w.within, answer
			anew(op, before)
		})
		return true
	}
	if !effect && !known.Pending() && known.Evidence == history.Executed {
		return true // a copy that came late, and did nothing
	}
	w.rec.Amend(call, func(op *history.Op) {
		switch {
		case effect && op.Evidence == history.Executed && effective(op.Answer):
			op.Repeats++
		case effect || !effective(op.Answer):
			op.Evidence, op.Executed, op.Within, op.Answer = history.Executed, now, w.within, answer
			anew(op, before)
		}
	})
	return true
}

// anew notes the lease of a call that was to enter a lock again, and found that its owner no longer held it.
func anew(op *history.Op, before history.KeyState) {
	if op.Answer == history.Acquired && op.Fresh > 0 && countOf(before, op.Owner) == 0 {
		op.Lease, op.Watchdog = op.Fresh, op.FreshWatchdog
	}
}

// aside notes the effect of a call as one of its own, which its owner does not know of.
func (w *World) aside(known history.Op) {
	w.rec.Add(history.Op{Client: known.Client, Owner: known.Owner, Lock: known.Lock, Kind: known.Kind, Lease: known.Lease,
		Watchdog: known.Watchdog, Aside: true, Call: known.Call, Return: known.Executed, Outcome: known.Answer,
		Evidence: history.Executed, Executed: known.Executed, Within: known.Within, Answer: known.Answer})
}

// measure notes the lease that a call has given to a group, which is not that of each member: they
// are set one after the other. Of a lock that shares a key with a group, it depends on what its owner holds of
// that. What a copy sets is no part of it.
func (w *World) measure(call int64, l *lock, now time.Duration) {
	w.rec.Amend(call, func(op *history.Op) {
		if (op.Pending() || op.Executed == now) && op.Repeats == 0 && effective(op.Answer) && countOf(l.state, op.Owner) > 0 && l.state.Deadline > op.Executed {
			if op.Asked == 0 {
				op.Asked = op.Lease
			}
			op.Lease = l.state.Deadline - op.Executed
		}
	})
}

// group returns the group of a name, or nil.
func (w *World) group(name string) *lock {
	i := slices.IndexFunc(w.locks, func(l *lock) bool { return l.name == name && !l.simple() })
	if i < 0 {
		return nil
	}
	return w.locks[i]
}

// granted notes what a call on a group did that was granted, though no command of it changed who held the
// whole. Either what an earlier call of its owner had left became this one's: that was given back, and the
// group taken anew, at one moment. Or a member that it had taken was taken away before it had the last: it held
// the group for a moment only.
func (w *World) granted(op history.Op) {
	l := w.group(op.Lock)
	if l == nil || !op.Kind.Acquires() || op.Outcome != history.Acquired || w.log.closed {
		return
	}
	p, known := l.under[op.Owner], w.rec.Op(op.ID)
	if p.call != op.ID || !l.enough(p) || effective(known.Answer) {
		return
	}
	if countOf(l.state, op.Owner) > 0 {
		before := p.at - 1
		w.rec.Add(history.Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Kind: history.Unlock, Aside: true, Call: before, Return: before, Outcome: history.Released,
			Evidence: history.Executed, Executed: before, Within: w.within, Answer: history.Released})
	} else {
		w.rec.Event(history.Event{At: p.at + 1, Within: w.within, Kind: history.Delete, Lock: op.Lock, Note: "a member was taken away while others were acquired"})
	}
	w.rec.Amend(op.ID, func(op *history.Op) {
		op.Evidence, op.Executed, op.Within, op.Answer, op.Asked = history.Executed, p.at, w.within, history.Acquired, op.Lease
		if l.state.Deadline > p.at {
			op.Lease = l.state.Deadline - p.at
		}
	})
}

// effective reports whether an answer says that something was changed.
func effective(o history.Outcome) bool {
	return o == history.Acquired || o == history.Decremented || o == history.Released || o == history.Renewed
}

// whatItDid names the difference that a command for a call of this kind made.
func whatItDid(kind history.Kind, owner string, before, after history.KeyState) (answer history.Outcome, effect bool) {
	was, is := total(before), total(after)
	switch {
	case kind.Acquires() && (is > was || countOf(after, owner) > countOf(before, owner)):
		return history.Acquired, true
	case kind.Acquires():
		return history.Busy, false
	case kind == history.Unlock && is < was && is > 0:
		return history.Decremented, true
	case (kind == history.Unlock || kind == history.ForceUnlock) && is < was:
		return history.Released, true
	case kind == history.Unlock || kind == history.ForceUnlock:
		return history.NotHeld, false
	}
	return history.OK, false
}

func total(s history.KeyState) int64 {
	var n int64
	for _, h := range s.Holdings {
		n += h.Count
	}
	return n
}

func countOf(s history.KeyState, owner string) int64 {
	for _, h := range s.Holdings {
		if h.Owner == owner {
			return h.Count
		}
	}
	return 0
}

// unbidden records what a command did that belongs to no call: a renewal, or what a lock library
// does behind its callers' backs.
func (w *World) unbidden(t touch, before history.KeyState, now time.Duration) {
	l, r := t.lock, t.row
	op := history.Op{Client: r.Client, Owner: r.Owner, Lock: l.name, Call: cmp.Or(r.since, r.Sent), Evidence: history.Executed, Executed: now, Within: w.within}
	was, is := total(before), total(l.state)
	if id := w.log.apart[r.copied+l.name]; id != 0 && l.simple() && is != was { // it has taken effect before
		w.rec.Amend(id, func(op *history.Op) { op.Repeats++ })
		r.ops, r.Op = append(r.ops, id), cmp.Or(r.Op, id)
		return
	}
	switch {
	case is < was && r.Step == history.StepForce:
		// Somebody forced free another lock, with which this one shares a key.
		e := history.Event{At: now, Within: w.within, Kind: history.Delete, Lock: l.name, Note: "forced free by " + r.Owner}
		if is > 0 {
			e.Kind, e.Owner, e.Count, e.Deadline = history.Restore, l.state.Holdings[0].Owner, l.state.Holdings[0].Count, l.state.Deadline
		}
		w.rec.Event(e)
		return
	case is < was:
		op.Aside = true
		op.Kind, op.Answer = history.Unlock, history.Decremented
		for range was - is - 1 { // the sequential lock gives back one hold at a time
			r.ops = append(r.ops, w.rec.Add(op))
		}
		if is > 0 {
			op.Lease = max(l.state.Deadline-now, 0)
		} else {
			op.Answer = history.Released
		}
	case is > was:
		op.Aside = true
		op.Kind, op.Answer, op.Lease = history.Lock, history.Acquired, max(l.state.Deadline-now, 0)
	case r.Step == history.StepRenew:
		w.renewals(t, before, op)
		return
	case is > 0 && l.state.Deadline != before.Deadline && countOf(l.state, r.Owner) > 0:
		// What settles an unanswered call may only set its owner's lease anew.
		w.rec.Event(history.Event{At: now, Within: w.within, Kind: history.ForceTTL, Lock: l.name, Deadline: l.state.Deadline,
			Note: "by the lock, for " + r.Owner})
		return
	default:
		return
	}
	w.noted(r, op)
}

// renewals records what a renewal did for each owner it was for. If the lease was set anew, that was
// for the one who holds the lock, or, should none of them hold it, for all.
func (w *World) renewals(t touch, before history.KeyState, op history.Op) {
	l, r, owners := t.lock, t.row, t.owners
	set := l.state.Deadline != before.Deadline && total(l.state) > 0
	holds := func(owner string) bool { return countOf(before, owner) > 0 }
	foreign := !slices.ContainsFunc(owners, holds)
	op.Kind, op.Lease, op.Watchdog = history.Renew, w.watchdog, true
	if !l.simple() {
		op.Lease = max(l.state.Deadline-op.Executed, 0)
	}
	for _, op.Owner = range owners {
		switch op.Answer = history.NotHeld; {
		case set && (foreign || holds(op.Owner)):
			op.Answer = history.Renewed
		case holds(op.Owner), !l.simple(): // of a group some members may be its own
			continue // the lock found that it should not renew now, and will again
		}
		w.noted(r, op)
	}
}

// noted records an operation for a row.
func (w *World) noted(r *row, op history.Op) {
	id := w.rec.Add(op)
	r.ops = append(r.ops, id)
	r.Op = cmp.Or(r.Op, id)
	if r.copied != "" && op.Kind != history.Renew {
		w.log.apart[r.copied+op.Lock] = id
	}
}

// ownerIn returns the n-th owner of this client that a command names, or the only one.
func (w *World) ownerIn(args []string, client string, n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var named []string
	for _, a := range args {
		if w.calls.owners[a] == client {
			named = append(named, a)
		}
	}
	switch {
	case n < len(named):
		return named[n]
	case len(named) > 0:
		return named[len(named)-1]
	}
	return client
}

// answered notes that the reply m has reached its client.
func (w *World) answered(m *network.Message) {
	n := noteOf(m)
	if n == nil || n.d == nil || w.log.closed {
		return
	}
	now := w.Now()
	for _, r := range n.d.rows {
		r.Got, r.done = now, true
		w.asked(r, now)
		for _, id := range r.ops {
			w.rec.Amend(id, func(op *history.Op) {
				if op.Return, op.Outcome = now, op.Answer; op.Kind.Acquires() {
					op.Outcome = history.Unknown // nobody was told
				}
			})
		}
	}
	w.flush(false)
}

// asked notes of a question that was asked more than once that it is this copy whose answer its client has
// got.
func (w *World) asked(r *row, now time.Duration) {
	if r.Op == 0 || r.executed == 0 {
		return
	}
	op := w.rec.Op(r.Op)
	if op.Evidence == history.Executed && op.Answer == history.OK && op.Executed != r.executed && (op.Pending() || op.Return >= now) {
		w.rec.Amend(r.Op, func(op *history.Op) { op.Executed, op.Within = r.executed, r.within })
	}
}
