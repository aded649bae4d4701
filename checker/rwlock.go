package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// rwSpec is the specification of the history's read-write locks.
func rwSpec(f *facts) specification[model.RWState] {
	if f.h.Can(string(contract.LeasePerHold)) {
		return rwSpecOf(f, leasePerHold)
	}
	return rwSpecOf(f, asRedisson)
}

// A leasing is what becomes of the leases of a read-write lock's holds.
type leasing int

const (
	asRedisson   leasing = iota // the holds share the key's end, which each call sets
	leasePerHold                // each has its own
	oneEnd                      // the holds share the key's end
)

// rwSpecOf is the specification of a read-write lock whose holds have such leases.
func rwSpecOf(f *facts, leases leasing) specification[model.RWState] {
	kind := model.RWLock{Redisson: leases == asRedisson, OneEnd: leases == oneEnd && !f.h.Can(string(contract.LeasePerHold)), RefusesUpgrade: f.h.Can(string(contract.RefusesUpgrade)), Mutex: !f.h.Can(string(contract.Reentrant)), Upgrades: f.h.Header.Layout.Upgrades,
		Shortens: f.implied() && !f.h.Can(string(contract.KeepsLongest))}
	shows := shownHolds
	if kind.Redisson {
		shows = func(k history.KeyState) model.RWState {
			return model.RWKey(cmp.Or(k.Deadline, model.Never), shownHolds(k).Holds()...)
		}
	}
	step := kind.Step
	if f.h.Can(string(contract.WritersFirst)) {
		behind := f.behindWriters()
		step = func(s model.RWState, op history.Op) (model.RWState, error) {
			next, err := kind.Step(s, op)
			if has, waits := behind[op.ID]; err != nil && op.Outcome == history.Busy && waits && ruleOf(err) == contract.SharedIsBusy && !(has && kind.Has(s, op)) {
				return s, nil // a writer waits, which is to be first
			}
			return next, err
		}
	}
	gone := func(s, key model.RWState) bool { return kind.Redisson && s.MayBeGone() && key == model.RWState{} }
	return specification[model.RWState]{
		step: step, environment: kind.Environment, shown: shows,
		fits: func(s model.RWState, a *act) bool {
			k := *a.after
			key := shows(k)
			return gone(s, key) || sameHolds(s, key, true) && lastsAs(s, key)
		},
		settled: func(s model.RWState, k history.KeyState) model.RWState { return s.Ending(shows(k)) },
		misfit: func(_, after model.RWState, a *act) (contract.Rule, string) {
			switch key := shows(*a.after); {
			case !sameHolds(after, key, false):
				return contract.KeyFits, fmt.Sprintf("the key says that %s, but by the answers %s", key, after)
			case !lastsAs(after, key):
				_, latest := after.Until()
				return contract.LeaseIsSet, fmt.Sprintf("the key expires %s, but the lease ends %s", until(a.after.Deadline), until(latest))
			}
			return contract.LeaseIsSet, fmt.Sprintf("the leases in the key are not those of %s", after)
		},
		resume: func(s model.RWState, _ *act) model.RWState { return s },
		untrue: func(s model.RWState, op history.Op) error {
			return &model.Violation{Rule: contract.SharedIsBusy, State: s, Op: op}
		},
	}
}

// shownHolds is the state of the model for a key that the server log shows.
func shownHolds(k history.KeyState) model.RWState {
	var holds []model.RWHold
	for _, h := range k.Holdings {
		hold := model.RWHold{Owner: history.ReaderOf(h.Owner), Write: history.Writes(h.Owner), Count: h.Count}
		if hold.Earliest = k.Of(h.Owner).Deadline; hold.Earliest == 0 {
			hold.Earliest = model.Never
		}
		hold.Latest = hold.Earliest
		holds = append(holds, hold)
	}
	return model.RWStateOf(holds...)
}

// sameHolds reports whether the holds of a state are those of a key, and so are their leases, if each has its own.
func sameHolds(s, key model.RWState, leases bool) bool {
	one, other := s.Holds(), key.Holds()
	if len(one) != len(other) {
		return false
	}
	for i, h := range one {
		k := other[i]
		if h.Owner != k.Owner || h.Write != k.Write || h.Count != k.Count || leases && (past(h.Earliest, k.Latest) || past(k.Earliest, h.Latest)) {
			return false
		}
	}
	return true
}

// lastsAs reports whether a state's key may end when another's does.
func lastsAs(s, key model.RWState) bool {
	early, late := s.Until()
	from, to := key.Until()
	return !past(early, to) && !past(from, late)
}

// cutByOther is the cause that a call on another hold of a read-write lock made a hold's lease shorter, which then came to its end.
func (f *facts) cutByOther(l *lockFacts, t *tenure) (Cause, bool) {
	before, after, by := t.moved()
	if by == nil || after >= before {
		return Cause{}, false
	}
	return Cause{Class: contract.OtherHold, Text: fmt.Sprintf("the hold of %s on %s ended at %s, since the %s of %s at %s brought its end forward, from %s",
		t.owner, l.name, Stamp(t.to), by.Kind, by.Owner, Stamp(tookOrCall(by)), Stamp(before))}, true
}

// keptByOther is the cause that a call on another hold of a read-write lock made a hold's lease longer.
func (f *facts) keptByOther(t *tenure, since time.Duration) (Cause, bool) {
	for _, e := range t.ends {
		if e.by != nil && e.from >= since {
			return Cause{Class: contract.OtherHold, Text: fmt.Sprintf("the %s of %s at %s kept it", e.by.Kind, e.by.Owner, Stamp(e.from))}, true
		}
	}
	return Cause{}, false
}

// endSet is the end that a key had at a time, where it has one for all holds: a hold's own lease may be over sooner. ok is false for any
// other lock.
func (f *facts) endSet(l *lockFacts, t *tenure, at time.Duration) (end time.Duration, ok bool) {
	if !l.shared() || f.h.Can(string(contract.LeasePerHold)) {
		return 0, false
	}
	for _, e := range t.ends {
		if e.from <= at {
			end = e.deadline
		}
	}
	return end, true
}

// keptLonger is the cause that a key lasted longer than the leases of a hold, which were over at a time: it has one end for all holds.
// ok is false if it is none.
func (f *facts) keptLonger(l *lockFacts, at time.Duration) (c Cause, ok bool) {
	for _, t := range l.tenures {
		end, set := f.endSet(l, t, at)
		if !set || end <= at || t.from > at || t.to <= at && !t.open {
			continue
		}
		if !slices.ContainsFunc(t.sets, func(s deadlineSet) bool { return s.op == nil || s.op.Lease == 0 || s.at+s.op.Lease > at }) {
			return Cause{Class: contract.OtherHold, Text: fmt.Sprintf("each lease of %s was over, but the key of %s has one end for all holds: it lasts until %s", t.owner, l.name, Stamp(end))}, true
		}
	}
	return Cause{}, false
}

// unwatched is the owner's unlock of its read lock after which nothing renewed its hold as a writer, in [from, to]; nil: there is none.
func (f *facts) unwatched(l *lockFacts, t *tenure, from, to time.Duration) *history.Op {
	if !l.shared() || !history.Writes(t.owner) {
		return nil
	}
	most := f.renewEvery() + f.renewalSlack()
	for _, op := range l.owner(history.ReaderOf(t.owner)).called(t.from, to) {
		// It came before the renewal that is missing. It may have failed: Redisson ends the renewal however an unlock ends.
		if !op.Kind.Unlocks() || op.Aside || op.Call > from+most {
			continue
		}
		if !slices.ContainsFunc(l.owner(t.owner).called(op.Call, to), func(r *history.Op) bool { return r.Kind.Renews() && r.Call > max(op.Return, from) }) {
			return op
		}
	}
	return nil
}

// forcedBy is the forced release by a client after which it renewed a hold of its own no more, in [from, to]; nil: there is none.
func (f *facts) forcedBy(l *lockFacts, t *tenure, from, to time.Duration) *history.Op {
	most := f.renewEvery() + f.renewalSlack()
	for _, op := range l.ops {
		if !op.Kind.Forces() || op.Client != t.client || op.Call < t.from || op.Call > from+most || op.Call > to {
			continue
		}
		if !slices.ContainsFunc(l.owner(t.owner).called(op.Call, to), func(r *history.Op) bool { return r.Kind.Renews() && r.Call > max(op.Call, from) }) {
			return op
		}
	}
	return nil
}

// downgraded is the cause that an owner gave its write lock back, and read on, so that those who waited were not told. ok is false
// if it is none.
func (f *facts) downgraded(l *lockFacts, before *tenure) (c Cause, ok bool) {
	if !l.shared() || before == nil || before.endOp == nil || !before.endOp.Kind.Unlocks() || !history.Writes(before.owner) {
		return Cause{}, false
	}
	reads := l.owner(history.ReaderOf(before.owner)).tenure(before.to)
	if reads == nil || !reads.open && reads.to <= before.to {
		return Cause{}, false
	}
	return Cause{Class: contract.Downgraded, Text: fmt.Sprintf("%s gave its write lock back at %s and read on, of which nobody told those who waited",
		history.ReaderOf(before.owner), Stamp(before.to))}, true
}
