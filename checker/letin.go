package checker

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// letIn asks of a reentrant lock whether the server refused an attempt of its holder, who then waits for itself. Such a call may be
// granted in the end, when the hold is over: its last answer does not show that it was refused. Of an idempotent lock a copy gets the
// answer that the first one got, which may be from before the hold.
func (f *facts) letIn(l *lockFacts, found *violations) {
	if !f.h.Can("reentrant") || l.shared() || f.composed(l) || f.byMembers(l) || f.implied() {
		return
	}
	attempts, heard := attemptsOf(f.h), map[string]bool{}
	told := map[*history.Op]bool{}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		op := f.op(r.Op)
		if op == nil || r.Lock != l.name || op.Lock != l.name || r.Step != history.StepAcquire || r.Before == nil || r.After == nil || r.Refused || refused(r) || !callsFor(op) || !attempts[command(r)] {
			continue
		}
		request := withoutForm(r)
		again := heard[request] && f.once(op)
		heard[request] = true
		t := l.owner(op.Owner).tenure(op.Call)
		switch {
		case again || told[op] || t == nil || t.grant == op || t.from >= op.Call || t.to <= r.At || r.At > f.until(op):
		case r.Before.Count(op.Owner) == 0 || !sameKey(r.Before, r.After) || answer(op) == history.Busy && op.Executed == r.At:
		default:
			told[op] = true
			found.addAt(r.At, func() Violation {
				return Violation{Rule: contract.HolderLetIn, Lock: l.name, From: r.At, To: f.until(op), Ops: []int64{op.ID, t.grant.ID}, Owners: []string{op.Owner},
					Text:  fmt.Sprintf("%s of %s asked for %s at %s, was not let in, and waited, though its owner held it since %s", op.Kind, op.Owner, l.name, Stamp(r.At), Stamp(t.from)),
					Cause: Cause{Class: contract.Unexplained, Text: "no fault makes a lock refuse its holder"}}
			})
		}
	}
}
