package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What came later than its client had in mind, or by no call of it, and took something from a hold.

// cut reports whether a request of the owner's client, by no call, set a lease shorter than any that was asked for in the hold.
func (f *facts) cut(l *lockFacts, t *tenure, set deadlineSet) bool {
	i, found := f.log.at[servedKey{at: set.at, lock: l.name}]
	if !set.byItself || !found || f.memberCut(l, t) != nil {
		return false
	}
	asked := t.grant.Lease
	for _, s := range t.sets {
		if s.op != nil && s.op.Lease > 0 {
			asked = min(asked, s.op.Lease)
		}
	}
	return f.h.Served[i].After.Deadline-set.at < asked-granularity
}

// lateUnlock is an unlock that the owner asked for before a hold, and that gave back a part of the hold. The owner was not
// told of it. nil: there is none.
func (f *facts) lateUnlock(l *lockFacts, t *tenure) *history.Op {
	b := l.owner(t.owner).belief(t.to)
	for _, op := range l.owner(t.owner).ops {
		if !op.Kind.Unlocks() || op.Executed > t.to {
			continue
		}
		if !op.Aside && op.Uncertain() && op.Call < t.from && op.Return < op.Executed && t.from < op.Executed && op.Answer == history.Decremented {
			return op
		}
		if op.Aside && b != nil && op.Call < b.acquire.Call && b.from < op.Executed { // it gives back what an earlier call left
			return op
		}
		if op.Aside && t.from < op.Executed && f.votedLate(op, t.grant.Call) {
			return op
		}
	}
	return nil
}

// votedLate reports whether a release by no call gives back what an earlier call of the owner took, which it began before a time. The
// server's answer came when that call had returned: a group does without it.
func (f *facts) votedLate(op *history.Op, before time.Duration) bool {
	i, found := f.log.execution(op, op.Executed)
	if !found {
		return false
	}
	gave := &f.h.Served[i]
	return slices.ContainsFunc(f.h.Served, func(r history.Served) bool {
		call := f.op(r.Op)
		return call != nil && call.Owner == op.Owner && call.Kind.Acquires() && call.Call < before && !call.Pending() && call.Return < r.Got &&
			r.Client == gave.Client && r.Server == gave.Server && r.Lock == gave.Lock && 0 < r.Got && r.Got <= op.Call && r.Before.Count(op.Owner) < r.After.Count(op.Owner)
	})
}

// shortened is the renewal of a hold's own client, executed as op at a time, that left the hold less time than it had: it told
// the server when the lease ends, and a renewal that was begun after it arrived before it. nil: it is no such.
func (f *facts) shortened(t *tenure, op *history.Op, at time.Duration) *history.Served {
	if op == nil {
		return nil
	}
	i, found := f.log.execution(op, at)
	if !found {
		return nil
	}
	r := &f.h.Served[i]
	overtaken := slices.ContainsFunc(t.sets, func(s deadlineSet) bool { return r.Began < s.at && s.at < at })
	if r.Step != history.StepRenew || r.Client != t.client || !overtaken || r.Before == nil || r.After == nil || r.After.Deadline >= r.Before.Deadline {
		return nil
	}
	return r
}

// memberCut is the owner's call on another lock that set the lease with which a member of a group's hold ended, and asked for it: it shares the
// member with that. nil: none did, or the lock claims to keep the longest lease.
func (f *facts) memberCut(l *lockFacts, t *tenure) *history.Op {
	if !f.byMembers(l) || f.h.Can(string(contract.KeepsLongest)) {
		return nil
	}
	for _, key := range f.view.locks[l.name].members {
		if m := f.view.members[key]; m.endedAt(t.owner, t.to) {
			if op := f.op(m.setter(f.h, t.to)); op != nil && op.Lock != l.name && op.Owner == t.owner && op.Kind.Acquires() && op.Asked > 0 && !op.Watchdog {
				return op
			}
		}
	}
	return nil
}

// endedAt reports whether an owner's lease of a key came to its end at a time.
func (m *member) endedAt(owner string, at time.Duration) bool {
	return slices.ContainsFunc(m.states, func(s memberState) bool { return s.to == at && s.Deadline == at && s.Count(owner) > 0 })
}

// memberAsked reports whether the lease with which a group's hold ended is that of a member that the owner's last call on the group had
// set, and asked for. Renewals of other members, which came after that call, did not set it.
func (f *facts) memberAsked(l *lockFacts, t *tenure) bool {
	var last *history.Op
	for _, s := range t.sets {
		if s.op != nil && !s.op.Kind.Renews() {
			last = s.op
		}
	}
	if !f.byMembers(l) || last == nil || !last.Kind.Acquires() || last.Lease == 0 || last.Watchdog {
		return false
	}
	return slices.ContainsFunc(f.view.locks[l.name].members, func(key memberKey) bool {
		m := f.view.members[key]
		return m.endedAt(t.owner, t.to) && m.setter(f.h, t.to) == last.ID
	})
}

// setter is the call whose command was the last before a time to set the time to live of a key; 0: none did.
func (m *member) setter(h *history.History, before time.Duration) (call int64) {
	for _, row := range m.rows {
		r := &h.Served[row]
		if r.At < before && r.After.Deadline != r.Before.Deadline {
			call = r.Op
		}
	}
	return call
}
