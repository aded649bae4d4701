package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// longestAsked is the longest lease that an owner's calls have asked for on a member, among the holds of it that the owner has
// once a command of a call is executed. It gives back the innermost hold first.
func (f *facts) longestAsked(op *history.Op, key memberKey, until *history.Served) time.Duration {
	longest, given := op.Fresh, int64(0)
	for _, i := range slices.Backward(f.view.members[key].rows) {
		r := &f.h.Served[i]
		if r.At > until.At {
			continue
		}
		was := r.Before.Count(op.Owner)
		more := r.After.Count(op.Owner) - was
		if more < 0 {
			given -= more
			continue
		}
		back := min(more, given)
		given -= back
		if n, known := f.byID[r.Op]; known && more > back {
			o := &f.h.Ops[n]
			longest = max(longest, cmp.Or(o.Fresh, o.Asked, o.Lease))
		}
		if was == 0 {
			break
		}
	}
	return longest
}

// longestCounted is the longest lease that an owner has asked for, by when it calls, of holds in which it believes then and which have the
// member, or of which its client had an answer of the member. It may have lost them.
func (f *facts) longestCounted(l *lockFacts, op *history.Op, key memberKey) (longest time.Duration) {
	for _, other := range append([]*lockFacts{l}, f.view.sharing[l.name]...) {
		if !slices.Contains(f.view.locks[other.name].members, key) {
			continue
		}
		o := other.owner(op.Owner)
		for _, b := range o.lasting(op.Call, op.Call) {
			for _, call := range o.called(b.acquire.Call, op.Call) {
				if call.Kind.Acquires() && call.Outcome == history.Acquired {
					longest = max(longest, cmp.Or(call.Fresh, call.Asked, call.Lease))
				}
			}
		}
	}
	return max(longest, f.longestHeard(op, key))
}

// longestHeard is the longest lease by which an owner has a member, as far as its client can know when a call is made: by its own answers of the
// member, the last of which has it take that anew.
func (f *facts) longestHeard(op *history.Op, key memberKey) (longest time.Duration) {
	for _, i := range slices.Backward(f.view.members[key].rows) {
		r := &f.h.Served[i]
		if r.Owner != op.Owner || r.Got == 0 || r.Got > op.Call || r.After.Count(op.Owner) <= r.Before.Count(op.Owner) {
			continue
		}
		if n, known := f.byID[r.Op]; known && r.After.Deadline >= op.Call {
			longest = max(longest, cmp.Or(f.h.Ops[n].Fresh, f.h.Ops[n].Asked, f.h.Ops[n].Lease))
		}
		if r.Before.Count(op.Owner) == 0 {
			break
		}
	}
	return longest
}

// leavesLeases looks for members to which an unlock of a lock that keeps the longest lease left a shorter one than a hold has that stays: one
// that the owner had before the hold of the group that it gives back, in the group or in another with the member, and has still when the command is
// executed. A member does not know which of its holds is whose: it gives back the innermost.
func (f *facts) leavesLeases(l *lockFacts, c *composition, op *history.Op, found *violations) {
	given := l.owner(op.Owner).belief(op.Call - 1)
	if !f.h.Can(string(contract.KeepsLongest)) || given == nil {
		return
	}
	for _, i := range f.view.commands[op.ID] {
		r := &f.h.Served[i]
		key := memberKey{r.Server, r.Lock}
		left := r.After.Count(op.Owner)
		if !slices.Contains(c.members, key) || left == 0 || r.After.Deadline == 0 || left == r.Before.Count(op.Owner) {
			continue
		}
		since := f.view.members[key].since(op.Owner, r.At)
		for _, other := range append([]*lockFacts{l}, f.view.sharing[l.name]...) {
			if !slices.Contains(f.view.locks[other.name].members, key) {
				continue
			}
			for _, b := range other.owner(op.Owner).lasting(op.Call, r.At) {
				stays := min(r.Before.Deadline, r.At+cmp.Or(b.acquire.Fresh, b.acquire.Asked, b.acquire.Lease))
				lasts := b.from <= op.Call && b.to >= r.At && (b.from < given.acquire.Call || b == given && b.to > op.Return)
				if !lasts || r.After.Deadline >= stays-f.exact() || !f.tookSince(b.acquire, key, since) {
					continue
				}
				f.groupViolation(found, l, op, contract.MemberLease, r.At, Cause{Class: contract.Unexplained, Text: "the lock set it so by itself"},
					"it left its owner the member %s until %s, of which the %s of %s holds more, for %s", key, Stamp(r.After.Deadline), b.acquire.Kind, other.name, short(cmp.Or(b.acquire.Fresh, b.acquire.Asked, b.acquire.Lease)))
				return
			}
		}
	}
}

// tookSince reports whether a call took a member at a time or later, and heard so before it returned.
func (f *facts) tookSince(op *history.Op, key memberKey, since time.Duration) bool {
	return slices.ContainsFunc(f.view.commands[op.ID], func(i int) bool {
		r := &f.h.Served[i]
		return r.Server == key.server && r.Lock == key.key && r.At >= since && 0 < r.Got && r.Got <= op.Return && r.After.Count(op.Owner) > r.Before.Count(op.Owner)
	})
}
