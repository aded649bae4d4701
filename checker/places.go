package checker

import (
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// What places in the queue of a fair lock mean for those who wait.

// began is from when on the caller of a place's call waited with it.
func (p *place) began() time.Duration {
	if p.op == nil {
		return p.from
	}
	return max(p.from, p.op.Call)
}

// waitedUntil is when the caller of a place's call waited no more: it was granted the lock, or told otherwise, or its time was over, or
// it was given up, or its client died.
func (f *facts) waitedUntil(p *place) time.Duration {
	if p.op == nil || !queues(p.op) {
		return p.from
	}
	end := f.until(p.op)
	if p.gone == granted || p.gone == left {
		end = min(end, p.to)
	}
	if p.op.Kind.Tries() {
		end = min(end, p.op.Call+p.op.Wait)
	}
	if p.op.Cancel > 0 {
		end = min(end, p.op.Call+p.op.Cancel)
	}
	if at, dead := f.died[p.op.Client]; dead {
		end = min(end, at)
	}
	return end
}

// keptUntil is until when a place is rightly kept of who waits no more.
func (f *facts) keptUntil(p *place) time.Duration {
	if f.h.Can(string(contract.KeepsPlace)) {
		return min(p.to, p.asked+f.h.Header.PlaceKept)
	}
	return p.to
}

// droppedEarly reports whether a place that is kept from the first attempt on, and for so long, or until its owner gives up, was dropped before by another.
// One behind others may be: what was added to its deadline for theirs is taken away when they leave.
func (q *queue) droppedEarly(p *place, kept time.Duration) bool {
	if p.own || p.op == nil || p.op != p.by { // another call took it, with a deadline of its own
		return false
	}
	if p.op.Kind.Tries() {
		kept = min(kept, p.op.Wait)
	}
	return p.to < p.op.Call+kept-granularity && !slices.ContainsFunc(q.places, func(other *place) bool {
		return other != p && other.from <= p.from && other.to > p.from
	})
}

// ahead are the places of others that there are at a time before that of a call; all, if it has none. A call whose owner has a place of an
// earlier call then, and gives that up, comes behind those who are there when it takes its own.
func (q *queue) ahead(op *history.Op, at time.Duration) (all []*place) {
	if i := slices.IndexFunc(q.places, func(p *place) bool { return p.op == op }); i >= 0 {
		at = max(at, q.places[i].from)
	}
	for _, p := range q.places {
		switch {
		case p.from > at || p.to <= at:
		case p.owner == op.Owner:
			return all
		default:
			all = append(all, p)
		}
	}
	return all
}

// leftBehind are those of some places whose callers wait no more at a time; live reports whether another caller still waits.
func (f *facts) leftBehind(some []*place, at time.Duration) (behind []*place, live bool) {
	for _, p := range some {
		if f.waitedUntil(p) > at {
			live = true
		} else if f.keptUntil(p) >= at {
			behind = append(behind, p)
		}
	}
	return behind, live
}

// turn is from when on nobody who waits for a fair lock was before a call, nor any owner of the same client in its way within the process, of a
// time in which the lock is free.
func (f *facts) turn(l *lockFacts, op *history.Op, from time.Duration) time.Duration {
	from = f.localUntil(l, op, from)
	if l.queue == nil {
		return from
	}
	turn := from
	for _, p := range l.queue.ahead(op, from) {
		turn = max(turn, f.waitedUntil(p))
	}
	return turn
}

// localUntil is until when, from a time on, other owners of a call's client keep it waiting within their process: each until its last unlock returns,
// also if it was told before that its hold is over. Who never unlocks keeps it waiting to the end.
func (f *facts) localUntil(l *lockFacts, op *history.Op, from time.Duration) time.Duration {
	if !f.h.Can(string(contract.LocalHolds)) {
		return from
	}
	for _, b := range l.beliefs { // sorted by their beginnings
		if b.client != op.Client || b.owner == op.Owner || b.from > from {
			continue
		}
		end, unlock := b.to, b.unlock
		if b.lost != nil {
			unlock = l.owner(b.owner).unlocksNext(b.to)
			end = f.end
		}
		if unlock != nil && !unlock.Pending() {
			end = max(b.to, unlock.Return)
		}
		from = max(from, end)
	}
	return from
}

// unlocksNext is an owner's first unlock from a time on; nil: there is none.
func (o *ownerFacts) unlocksNext(from time.Duration) *history.Op {
	for _, op := range o.ops {
		if op.Kind.Unlocks() && !op.Aside && op.Call >= from {
			return op
		}
	}
	return nil
}

// asksAgain is when a call asks for a fair lock again at the latest, of whose end nobody told it: half the time after it heard last for
// which its place is kept, or when the server told it to.
func (f *facts) asksAgain(l *lockFacts, op *history.Op, by time.Duration) (at time.Duration) {
	sent := map[time.Duration]bool{}
	for _, i := range f.log.byOp[op.ID] {
		r := &f.h.Served[i]
		copied := r.Got == 0 && sent[r.Sent] // its client does not read the answer
		sent[r.Sent] = true
		switch ms, err := strconv.ParseInt(r.Reply, 10, 64); {
		case copied || r.Lock != l.name || r.At > by || r.Step != history.StepAcquire || refused(r):
		case f.h.Can(string(contract.KeepsPlace)):
			at = max(r.At, r.Got) + f.h.Header.PlaceKept/2
		case err == nil:
			at = max(r.At, r.Got) + time.Duration(ms)*time.Millisecond
		}
	}
	return at
}

// behindPlaces is the cause that a call did not get a fair lock until a time, since its own place was gone, or others were kept that their
// owners had left behind; freed is when the lock became free, and from when the call's turn came. Of who has a place when the lock becomes free it
// is told, and nobody else, though the place may end before its owner gives up.
func (f *facts) behindPlaces(l *lockFacts, op *history.Op, freed, from, to time.Duration) (Cause, bool) {
	if l.queue == nil {
		return Cause{}, false
	}
	again := f.asksAgain(l, op, to-1)
	for _, p := range l.queue.places { // who has lost its place is not woken
		if p.op == op && (p.gone == dropped || p.gone == lost) && p.to <= to && to <= again+f.prompt() {
			return f.gonePlace(l, p), true
		}
	}
	behind, _ := f.leftBehind(l.queue.ahead(op, from), from)
	for _, p := range l.queue.ahead(op, freed) {
		if !slices.Contains(behind, p) && f.waitedUntil(p) <= from && f.keptUntil(p) >= freed {
			behind = append(behind, p)
		}
	}
	if f.h.Can(string(contract.LeavesLine)) { // and tells the next one
		behind = slices.DeleteFunc(behind, func(p *place) bool { return p.gone == left && p.to+f.prompt() < to })
	}
	until := from
	for _, p := range behind {
		until = max(until, f.keptUntil(p))
	}
	if f.h.Can(string(contract.KeepsPlace)) && slices.ContainsFunc(l.queue.refusals, func(r refusal) bool {
		left, live := f.leftBehind(r.before, r.at)
		return r.op == op && len(left) > 0 && !live && f.heardOf(op, r.at) < until
	}) {
		again = 0 // it found the lock free, and only places before its own that nobody waits with: it heard for how long they are kept
	}
	if to > max(until, again)+f.prompt() {
		return Cause{}, false
	}
	return f.keptPlace(l, behind, to)
}

// queued is when a call got its place in the queue of a fair lock; when it was called, if it got none.
func (l *lockFacts) queued(op *history.Op) time.Duration {
	if l.queue != nil {
		for _, p := range l.queue.places {
			if p.op == op {
				return max(op.Call, p.from)
			}
		}
	}
	return op.Call
}

// heardOf is when a call's client heard what the server had answered it at a time; never, if it did not.
func (f *facts) heardOf(op *history.Op, at time.Duration) time.Duration {
	for _, i := range f.log.byOp[op.ID] {
		if r := &f.h.Served[i]; r.At == at && r.Got > 0 {
			return r.Got
		}
	}
	return model.Never
}

// turnedAway is how many attempts of a call found a fair lock free, and the place of another before.
func (f *facts) turnedAway(l *lockFacts, op *history.Op) (n int) {
	if l.queue == nil {
		return 0
	}
	for _, r := range l.queue.refusals {
		if r.op == op && len(r.before) > 0 {
			n++
		}
	}
	return n
}

// unqueued is a fair lock as its object is judged: whether it may refuse somebody depends on who waits, which is the affair of fairness, but
// for its holder, who does not wait. An unlock that is told that it released a lock that nobody held had no effect, if the lock claims to say so.
func (f *facts) unqueued(l *lockFacts) *lockFacts {
	if !f.h.Can(string(contract.Fair)) || f.byMembers(l) {
		return l
	}
	none := func(op *history.Op) bool {
		switch {
		case op == nil:
			return false
		case op.Kind.Acquires():
			return !f.refusedHolder(op) && (op.Outcome == history.Busy && (op.Answer == history.Busy || op.Answer == "") || op.Uncertain() && op.Answer == history.Busy)
		}
		return op.Kind.Unlocks() && op.Outcome == history.Released && op.Answer == history.NotHeld && f.h.Can(string(contract.UnlocksFree)) && f.foundFree(op)
	}
	some := *l
	some.ops = slices.DeleteFunc(slices.Clone(l.ops), none)
	some.acts = slices.DeleteFunc(slices.Clone(l.acts), func(a act) bool { return none(a.op) })
	return &some
}

// refusedHolder reports whether the server refused a call whose owner it had as the holder.
func (f *facts) refusedHolder(op *history.Op) bool {
	i, found := f.log.execution(op, op.Executed)
	return found && f.h.Served[i].Before != nil && f.h.Served[i].Before.Count(op.Owner) > 0
}

// foundFree reports whether the server had nobody's hold of a lock when it executed an unlock, or a copy of it, which may get the same answer.
func (f *facts) foundFree(op *history.Op) bool {
	return slices.ContainsFunc(f.log.byOp[op.ID], func(i int) bool {
		r := &f.h.Served[i]
		return r.Lock == op.Lock && r.Before != nil && r.Before.Absent() && !refused(r)
	})
}
