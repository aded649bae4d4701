package checker

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
)

// unheardHold says of a refused unlock, or of one that left a hold with another lease, that its owner never heard of what it holds: its
// calls that took it were not answered, a copy of their requests took it, or a replica has brought it back. So the lock has no token of
// such a hold to give it back. A lock whose owner takes it again knows its owner by one token; it must ask.
func (f *facts) unheardHold(l *lockFacts, a *act) (c Cause, unheard bool) {
	op := a.op
	refused := op.Outcome == history.NotHeld && !(f.options.Model.Reenters() && op.Evidence == history.Executed)
	if !op.Kind.Unlocks() || !refused && op.Outcome != history.Decremented {
		return c, false
	}
	t := l.owner(op.Owner).tenure(a.at)
	if t == nil || !t.open && t.to <= op.Call {
		return c, false
	}
	if t.restored { // an earlier hold of its owner, of which it has no token any more
		return t.broughtBack(), true
	}
	for i := range l.acts {
		took := &l.acts[i]
		if took.at > a.at {
			break
		}
		if took.op == nil || took.op.Owner != op.Owner || took.at < t.from || answer(took.op) != history.Acquired {
			continue
		}
		switch {
		case took.again:
			c = f.twice(l, took.op, took.at, fmt.Sprintf("%s held it by a copy of its %s (operation %d), which took effect once more at %s",
				op.Owner, took.op.Kind, took.op.ID, Stamp(took.at)))
		case !took.op.Uncertain() && took.op.Outcome != history.Acquired: // it was told what another copy found
			c = f.twice(l, took.op, took.op.Return, fmt.Sprintf("%s held it by its %s (operation %d), and was told %s",
				op.Owner, took.op.Kind, took.op.ID, took.op.Outcome))
		case took.op.Uncertain():
			c = f.untold(l, took.op, max(took.op.Return, took.at), fmt.Sprintf("%s held it by its %s (operation %d), and never learned so", op.Owner, took.op.Kind, took.op.ID))
		default:
			return c, false
		}
		unheard = true
	}
	return c, unheard
}
