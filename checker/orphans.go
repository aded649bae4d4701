package checker

import (
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Holds that their owners have given back, and that the server has still.

// orphans looks for holds that go on after their owner gave them back: held for nobody. When the
// unlock did not come through, the lease is what ends the hold, and it may take that long.
func (f *facts) orphans(l *lockFacts, found *violations) {
	if f.byMembers(l) { // an unlock of a group gives back members: see gaveEach
		return
	}
	for _, t := range l.tenures {
		b := t.belief
		if b == nil || b.unlock == nil || b.unlock.Pending() {
			continue
		}
		if b.unlock.Outcome == history.Unknown && f.owed(l, t.owner, b.acquire.Call, b.unlock.Return) > 0 {
			continue // whatever became of that, it has an outer hold to give back
		}
		if f.implied() && f.silent[b.unlock.ID] && b.unlock.Outcome == history.Unknown {
			continue // nobody was told whether that was its last hold, and nobody saw it
		}
		if f.implied() && b.unlock.Outcome == history.NotHeld {
			continue // it held nothing any more, though nobody saw the lease end; whether that can be is object's to say
		}
		limit := b.unlock.Return + f.prompt()
		if failed := f.failedUnlock(l, t); failed != nil {
			if f.implied() && f.h.Can(string(contract.TakesBack)) {
				continue // its client gives it back, which nobody saw
			}
			limit += t.lease
			for _, s := range t.sets { // what was under way then may have set it anew when it arrived
				if s.op != nil && s.op.Call <= b.unlock.Return {
					limit = max(limit, s.at+s.op.Lease+f.prompt())
				}
			}
			if last := t.sets[len(t.sets)-1]; last.op == nil && t.deadline != model.Never { // the environment set another
				limit = max(limit, t.deadline+f.prompt())
			}
			if _, gone := f.ended[t.client]; !gone && !f.refusedUnlock(l, t) && f.h.Can(string(contract.TakesBack)) && len(f.h.Served) > 0 { // its client gives it back before
				all := f.obstacles(t.client, l.name, failed.Call, t.to, f.answerTime(), hindersTimers)
				limit = min(limit, enough(b.unlock.Return, 3*f.answerTime()+f.prompt(), all))
			}
		}
		until := t.to
		if f.implied() && !t.watchdog {
			until = min(until, t.deadline) // nobody saw that, and nobody renews it
		}
		if until <= limit || l.calls(t.owner, b.unlock.Call, limit) || f.sharedHold(l, t.owner, t.from, t.to) {
			continue // or another acquire of the owner made the hold its own again
		}
		found.addAt(b.unlock.Return, func() Violation {
			return Violation{
				Rule: contract.UnlockEndsHold, Lock: l.name, From: b.unlock.Return, To: until,
				Ops: []int64{b.unlock.ID, t.grant.ID}, Owners: []string{t.owner},
				Text: fmt.Sprintf("%s gave %s back at %s (%s), but the server held it for %s until %s",
					t.owner, l.name, Stamp(b.unlock.Return), b.unlock.Outcome, t.owner, Stamp(until)),
				Cause: f.orphaned(l, t),
			}
		})
	}
}

func (f *facts) orphaned(l *lockFacts, t *tenure) Cause {
	if t.restored {
		return f.broughtBack(l, t)
	}
	if c, lost := f.serverLost(l, t.from, t.to); t.recounted && lost != nil {
		return c
	}
	for _, s := range t.sets {
		if s.op != nil && s.op.Kind.Acquires() && s.op.Repeats > 0 {
			return f.twice(l, s.op, max(s.op.Return, s.at), fmt.Sprintf("the %s of %s (operation %d) took effect more than once", s.op.Kind, s.op.Owner, s.op.ID))
		}
	}
	for _, s := range t.sets {
		if s.op != nil && s.op.Kind.Acquires() && (s.op.Uncertain() || s.op.Outcome == history.Failed) {
			return f.untold(l, s.op, max(s.op.Return, s.at), fmt.Sprintf("the %s of %s (operation %d) was granted, and its owner never learned so", s.op.Kind, s.op.Owner, s.op.ID))
		}
	}
	for _, s := range t.sets {
		if s.op != nil && s.op.Kind.Acquires() && !s.op.Pending() && s.op.Outcome == history.Busy && answer(s.op) == history.Acquired {
			return f.twice(l, s.op, max(s.op.Return, s.at), fmt.Sprintf("the %s of %s (operation %d) was granted, and its owner was told %s", s.op.Kind, s.op.Owner, s.op.ID, s.op.Outcome))
		}
	}
	for _, op := range l.owner(t.owner).ops {
		if f.implied() && op.Kind.Acquires() && op.Uncertain() && op.Call <= t.to && max(op.Until, f.until(op))+op.Lease >= t.grant.Call {
			return f.untold(l, op, f.until(op), fmt.Sprintf("the %s of %s (operation %d) may have been granted, and its owner never learned so", op.Kind, op.Owner, op.ID))
		}
	}
	for _, s := range t.sets {
		if s.op == nil || !s.op.Kind.Acquires() || s.op.Evidence == history.Executed {
			continue
		}
		if broke := f.brokeUnder(l, s.op); len(broke) > 0 {
			return f.maybeTwice(s.op, broke)
		}
	}
	if op := t.belief.unlock; op != nil && op.Repeats > 0 { // of a group, whose members it left differently often held
		return f.twice(l, op, max(op.Return, op.Executed), fmt.Sprintf("the %s of %s (operation %d) took effect more than once", op.Kind, op.Owner, op.ID))
	}
	if op := f.failedUnlock(l, t); op != nil {
		return f.untold(l, op, max(op.Return, t.to), fmt.Sprintf("the %s of %s (operation %d) ended %s", op.Kind, op.Owner, op.ID, op.Outcome))
	}
	if !f.options.Model.Reenters() {
		return Cause{Class: contract.Unexplained, Text: "the lock kept what its owner had given back"}
	}
	return Cause{Class: contract.Unexplained, Text: "the lock counted more holds than its owner had"}
}

// refusedUnlock reports whether an unlock of a hold failed, so that its owner knows that nothing was given back by it, and may call again.
func (f *facts) refusedUnlock(l *lockFacts, t *tenure) bool {
	return slices.ContainsFunc(l.owner(t.owner).called(min(t.from, t.belief.from), t.belief.to), func(op *history.Op) bool {
		return op.Kind.Unlocks() && !op.Aside && !givenUp(op) && op.Outcome == history.Failed && op.Cancel != history.Ended
	})
}

// failedUnlock is the first unlock of a hold of which its owner does not know what became; nil: there is none.
func (f *facts) failedUnlock(l *lockFacts, t *tenure) *history.Op {
	for _, op := range l.owner(t.owner).called(min(t.from, t.belief.from), t.belief.to) {
		if op.Kind.Unlocks() && !op.Aside && !givenUp(op) && (op.Uncertain() || op.Outcome == history.Failed) {
			return op
		}
	}
	return nil
}
