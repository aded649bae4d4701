package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// unheardHold says of a refused unlock that its owner never heard of what it holds, see [facts.heldUnheard]. So the lock has no token of
// such a hold to give it back. A lock whose owner takes it again knows its owner by one token; it must ask.
func (f *facts) unheardHold(l *lockFacts, a *act) (Cause, bool) {
	op := a.op
	if !op.Kind.Unlocks() || op.Outcome != history.NotHeld || f.options.Model.Reenters() && op.Evidence == history.Executed {
		return Cause{}, false
	}
	return f.heldUnheard(l, a)
}

// unheardRefusal says of a refused attempt, of a lock that is judged by its answers alone, that an earlier call for the same holder may have
// taken what refused it, or not have given it back: nobody heard of that, and a lock may tell holds apart by more than their owners. One for
// another holder may have taken it whose client has said since, and asked nobody, that it holds nothing.
func (f *facts) unheardRefusal(l *lockFacts, a *act) (Cause, bool) {
	op, holder := a.op, f.options.Model.Holder
	if !f.implied() || !op.Kind.Asks() || op.Outcome != history.Busy {
		return Cause{}, false
	}
	var lease time.Duration // of what the holder was told it has
	var unheard *history.Op
	does := ""
	for _, o := range l.ops { // sorted by their calls
		if o.Call >= op.Call {
			break
		}
		mine := holder(o.Client, o.Owner) == holder(op.Client, op.Owner)
		if o.Pending() || !mine && !(o.Kind.Acquires() && f.deniedUnasked(l, o, op.Call)) {
			continue
		}
		last := max(o.Until, f.until(o))
		switch {
		case o.Kind.Acquires() && o.Outcome == history.Acquired && !mine:
		case o.Kind.Acquires() && o.Outcome == history.Acquired:
			lease = o.Lease
		case !o.Uncertain() || o.Evidence == history.NotSent:
		case o.Kind.Acquires() && op.Return <= last+o.Lease:
			unheard, does = o, "have taken"
		case o.Kind.Unlocks() && op.Return <= last+lease:
			unheard, does = o, "not have given back"
		}
	}
	if unheard != nil {
		return f.untold(l, unheard, unheard.Return, fmt.Sprintf("the %s of %s, called at %s, ended unknown, and may %s %s", unheard.Kind, unheard.Owner, Stamp(unheard.Call), does, l.name)), true
	}
	return Cause{}, false
}

// deniedUnasked reports whether a client said by itself, after a call and by a time, that the call's owner does not hold the lock: it asked no server.
func (f *facts) deniedUnasked(l *lockFacts, o *history.Op, by time.Duration) bool {
	return slices.ContainsFunc(l.owner(o.Owner).called(o.Return, by), func(u *history.Op) bool {
		return u.Kind.Unlocks() && u.Outcome == history.NotHeld && u.Evidence == history.NotSent && u.Return <= by
	})
}

// unheardLease says the same of an unlock that left a hold with another lease than its caller had in mind.
func (f *facts) unheardLease(l *lockFacts, a *act) (Cause, bool) {
	if a.op == nil || a.again || !a.op.Kind.Unlocks() || a.op.Outcome != history.Decremented {
		return Cause{}, false
	}
	c, unheard := f.heldUnheard(l, a)
	if unheard && c.Class == contract.DoubleExecution {
		c.Class = contract.UnheardCopies
	}
	return c, unheard
}

// heldUnheard says that the owner of an unlock never heard of what it holds: its calls that took it were not answered, a copy of their
// requests took it, or a replica has brought it back.
func (f *facts) heldUnheard(l *lockFacts, a *act) (c Cause, unheard bool) {
	op := a.op
	t := l.owner(op.Owner).tenure(a.at)
	if t == nil || !t.open && t.to <= op.Call {
		return c, false
	}
	if t.restored { // an earlier hold of its owner, of which it has no token any more
		return f.broughtBack(l, t), true
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

// lostUnheard is the hold that an owner lost, and still believed in, before a copy of its request took the lock again, or a call that
// had no answer by then: nobody renews what nobody heard of. nil: there is none.
func (f *facts) lostUnheard(l *lockFacts, t *tenure) *tenure {
	o := l.owner(t.owner)
	i := slices.Index(o.tenures, t)
	if i < 1 || !t.again && !f.unanswered(t) {
		return nil
	}
	u := o.tenures[i-1]
	if b := o.belief(t.from); b == nil || b.to < t.from || u.to < b.acquire.Call {
		return nil
	}
	return u
}

// unanswered reports whether the call that began a hold had no answer to that when the hold ended, nor learned later that it has it.
func (f *facts) unanswered(t *tenure) bool {
	i, found := f.log.execution(t.grant, t.grant.Executed)
	call := cmp.Or(f.inNameOf(t.grant), t.grant)
	return found && call.Uncertain() && t.from == t.grant.Executed && (f.h.Served[i].Got == 0 || f.h.Served[i].Got > t.to)
}

// untold is the cause that a call had an effect, or none, of which its caller does not know.
func (f *facts) untold(l *lockFacts, op *history.Op, until time.Duration, text string) Cause {
	faults := f.struckBy(op.Client, l.name, op.Call, until, resends)
	if len(faults) == 0 && f.stale(op) { // it was sent on a connection that had been broken before
		faults = f.struckBy(op.Client, op.Lock, 0, op.Return, []history.Effect{history.ConnectionBroken})
	}
	if len(faults) == 0 && op.Evidence == history.NotSent { // its client had not come back from a fault
		faults = faultsOf(f.obstacles(op.Client, l.name, op.Call, op.Return+1, f.answerTime(), resends))
	}
	if len(faults) == 0 && cancelled(cmp.Or(f.inNameOf(op), op)) { // what a group's call asked of a member is given up with it
		return Cause{Class: contract.Abandoned, Text: text + ": it gave the call up", executed: executions{call: op.Kind}}
	}
	return Cause{Class: contract.Untold, Text: text, Faults: faults, Effects: f.effectsOf(faults), executed: executions{call: op.Kind, client: op.Client, first: op.Call, again: until}}
}

// heldUntold says of a lock that nobody can read, and that refused somebody though it was free by its answers, that it may be held by a call whose owner
// was never told so: what its owner unlocked since was another hold, for it named none of the words that this call had named for the first time. That
// is over with the call's lease, or when somebody is granted the lock.
func (f *facts) heldUntold(l *lockFacts, v *Violation) bool {
	if f.h.Header.Layout.Unknown == "" || v.Rule != contract.BusyWhileHeld {
		return false
	}
	var last *history.Op
	for _, op := range l.ops {
		switch {
		case op.Aside || op.Pending() || op.Return > v.To:
		case op.Kind.Acquires() && op.Outcome == history.Acquired:
			last = nil
		case op.Kind.Acquires() && op.Uncertain() && op.Evidence != history.NotSent && (op.Lease == 0 || v.To < max(op.Return, op.Until)+op.Lease):
			last = op
		case last != nil && op.Owner == last.Owner && op.Kind.Unlocks() && f.namesWhatIsNew(op, last):
			last = nil
		}
	}
	if last == nil {
		return false
	}
	c := f.untold(l, last, last.Return, fmt.Sprintf("%s may hold it by its %s (operation %d), and never learned so", last.Owner, last.Kind, last.ID))
	if c.Class == contract.Untold && len(c.Faults) == 0 {
		return false
	}
	v.Cause = c
	return true
}

// namesWhatIsNew reports whether a command of one call named a word that an earlier one was the first to name, as a value that it had drawn for itself.
// What the log does not show may have.
func (f *facts) namesWhatIsNew(op, earlier *history.Op) bool {
	named, fresh, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		for _, word := range strings.Fields(r.Text) {
			switch {
			case r.Op == op.ID:
				named[word] = true
			case r.Op != earlier.ID:
				seen[word] = true
			case !seen[word]:
				fresh[word] = true
			}
		}
	}
	if len(named) == 0 || len(fresh) == 0 {
		return true
	}
	maps.DeleteFunc(fresh, func(word string, _ bool) bool { return !named[word] })
	return len(fresh) > 0
}
