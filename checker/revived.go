package checker

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// revived looks for renewals that took a lock which nobody held, after their owner had given it back. Such a hold is nobody's, and
// keeps all others out. A renewal may well have been sent before the unlock: a correct one finds nothing to renew.
func (f *facts) revived(l *lockFacts, found *violations) {
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Step != history.StepRenew || r.Op == 0 {
			continue
		}
		op := f.op(r.Op)
		if op == nil || !op.Aside || op.Kind.Plain() != history.Lock || op.Lock != l.name || answer(op) != history.Acquired {
			continue
		}
		unlock := l.gaveBack(op.Owner, op.Executed)
		if unlock == nil {
			continue
		}
		found.addAt(unlock.Return, func() Violation {
			return Violation{Rule: contract.NoRenewalAfter, Lock: l.name, From: unlock.Return, To: op.Executed, Call: history.Unlock,
				Ops: []int64{unlock.ID, op.ID}, Owners: []string{op.Owner},
				Text: fmt.Sprintf("the unlock of %s returned %s at %s, but at %s a renewal took %s for it again, which nobody held",
					op.Owner, unlock.Outcome, Stamp(unlock.Return), Stamp(op.Executed), l.name),
				Cause: Cause{Class: contract.Unexplained, Text: "a renewal of what nobody holds has nothing to do, whenever it comes"}}
		})
	}
}

// gaveBack is the unlock by which an owner had given its last hold back at a time, if it has not asked for the lock since.
func (l *lockFacts) gaveBack(owner string, at time.Duration) *history.Op {
	var last *history.Op
	for _, op := range l.owner(owner).ops {
		switch {
		case op.Aside || op.Call > at:
		case op.Kind.Acquires():
			last = nil
		case op.Kind.Unlocks() && !op.Pending() && op.Return <= at && op.Outcome == history.Released:
			last = op
		}
	}
	return last
}

// lengthened looks for renewals that were sent for a hold before, and lengthened the explicit lease of the one that its owner has now.
func (f *facts) lengthened(l *lockFacts, found *violations) {
	if f.composed(l) {
		return
	}
	for _, op := range l.ops {
		if !op.Kind.Renews() || op.Evidence != history.Executed || op.Answer != history.Renewed {
			continue
		}
		t := l.owner(op.Owner).tenure(op.Executed)
		i, logged := f.log.execution(op, op.Executed)
		if t == nil || !logged || t.watchdog || t.restored || t.grant == nil || op.Call >= t.grant.Call || op.Executed <= t.from {
			continue
		}
		r := &f.h.Served[i]
		was, is := endFor(r.Before, op.Owner), endFor(r.After, op.Owner)
		if is <= was+time.Millisecond {
			continue
		}
		faults := f.struckBy(op.Client, l.name, op.Call, op.Executed, resends)
		found.addAt(op.Executed, func() Violation {
			return Violation{Rule: contract.NoRenewalAsked, Lock: l.name, From: op.Executed, To: is, Call: history.Renew,
				Ops: []int64{t.grant.ID, op.ID}, Owners: []string{op.Owner},
				Text: fmt.Sprintf("%s holds %s with a lease until %s, but a renewal for its hold before, sent at %s, made that %s at %s",
					op.Owner, l.name, Stamp(was), Stamp(op.Call), Stamp(is), Stamp(op.Executed)),
				Cause: Cause{Class: contract.RenewedLate, Faults: faults, Effects: f.effectsOf(faults),
					Text: "the renewal was under way when its owner gave the lock back, and took it again"}}
		})
	}
}

// endFor is when a key, or what an owner has of it, ends; 0: never.
func endFor(k *history.KeyState, owner string) time.Duration {
	if k == nil {
		return 0
	}
	for _, h := range k.Holdings {
		if h.Owner == owner && h.Deadline > 0 {
			return h.Deadline
		}
	}
	return k.Deadline
}
