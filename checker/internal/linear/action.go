package linear

import (
	"math"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// An action is one operation or event of one lock, reduced to what the searching checkers ask:
// 1,000,000 operations must fit where their records would not.
type action struct {
	call, ret   int64 // the moments between which it takes effect; ret is open for ever when there is no limit
	early, late int64 // the deadline that it sets lies in [early, late]
	from        int64 // the earliest moment at which its answer can have been true
	value       int64 // holdCount: the count; remainingTTL: nanoseconds; clockJump: by how much
	token       int64
	owner       int32 // 1, 2, ...; 0: the environment. Of a lock that a client holds for all its owners: the client
	by          int32 // the owner whose call it is
	index       int32 // in Lock.Ops, or in its Events as ^index
	set         int32 // its setting of a deadline that may lapse, or the one that lapses; 0: none
	verb        verb
	certain     bool // it took effect; otherwise it did or it did not
	shows       bool // its answer shows that somebody held the lock
	sets        bool // a decrement that sets the deadline
	beside      bool // it is no call of its owner's program: a renewal, or it took effect after its owner had given up
}

const open = math.MaxInt64

// A verb is what an action did, answer included: each has one rule (machine.go).
type verb uint8

const (
	acquires verb = iota
	decrements
	releases
	forces // frees the lock whoever holds it
	renews
	expires
	lapses // the lease of one setting ends, if it is still the last (implied.go)
	deletes
	restores // it is held again, by owner number token, value times
	setsTTL
	jumps
	// Those above change the state, those below only tell it.
	findsBusy    // somebody else holds it
	findsNotMine // its owner does not hold it
	findsMine
	findsCount
	findsHeld
	findsFree
	findsTTL
	isLeft // the key was left over
)

func (v verb) reads() bool { return v >= findsBusy }

// counts reports whether an action of an owner changes or tells how many holds it has.
func (v verb) counts() bool {
	switch v {
	case acquires, decrements, releases, findsNotMine, findsMine, findsCount:
		return true
	}
	return false
}

// actionsOf reduces one lock's history, in order of calls. Unknown outcomes are closed by the evidence, as for
// porcupine (see [Lock.History], which is written apart so that the two can be held against each other). names lists
// the owners by their numbers.
func actionsOf(l *Lock) (actions []action, names []string) {
	kind := l.Model
	numbers := make(map[string]int32, 64)
	names = []string{""}
	number := func(owner string) int32 {
		n, known := numbers[owner]
		if !known {
			n = int32(len(names))
			numbers[owner], names = n, append(names, owner)
		}
		return n
	}
	actions = make([]action, 0, len(l.Ops)+len(l.Events))
	events := 0
	environment := func(until time.Duration) {
		for ; events < len(l.Events) && l.Events[events].At < until; events++ {
			if a, ok := eventAction(l.Events[events], kind, number); ok {
				a.index = int32(^events)
				actions = append(actions, a)
			}
		}
	}
	for i, op := range l.Ops {
		a, ok := opAction(op, kind)
		if !ok || l.Excused(op) || l.Window == AsExecuted && !a.certain && op.Evidence == history.Sent && l.Served {
			continue // the last would be in the server log
		}
		if l.Window == AsExecuted && op.Evidence == history.Executed {
			a.call, a.ret = int64(op.Executed), int64(op.Executed)
		}
		environment(time.Duration(a.call))
		a.owner, a.index = number(kind.Holder(op.Client, op.Owner)), int32(i)
		a.by = number(op.Owner)
		actions = append(actions, a)
	}
	environment(open)
	if l.Inferred {
		sortByCall(actions)
		actions = l.imply(actions)
	}
	l.toMoments(actions)
	sortByCall(actions)
	return actions, names
}

// opAction reduces an operation; ok is false when it cannot have taken effect.
func opAction(op *history.Op, kind model.Kind) (a action, ok bool) {
	a = action{call: int64(op.Call), ret: int64(op.Return), certain: true, value: op.Value, token: op.Token}
	a.beside = Beside(op)
	out := op.Outcome
	first, last := int64(op.Call), int64(op.Return) // when it took effect, for the deadline
	if op.Evidence == history.Executed {
		first, last = int64(op.Executed-op.Within), int64(op.Executed+op.Within)
	}
	switch {
	case out == history.Failed, op.Uncertain() && op.Evidence == history.NotSent:
		return a, false
	case op.Uncertain() && op.Evidence == history.Executed:
		if out = op.Answer; out == history.Failed || out == history.OK {
			return a, false // nobody heard what a query said
		}
		a.call, a.ret = int64(op.Executed), int64(op.Executed)
		if a.token == 0 {
			a.token = model.UnheardToken
		}
	case op.Uncertain():
		a.certain, a.ret, last = false, open, open
		if op.Evidence == history.Sent && op.Until > 0 {
			a.ret = int64(max(op.Until, op.Call))
		}
	}
	lease := int64(op.Lease)
	if !kind.Leases() {
		lease = 0
	}
	a.early, a.late, a.from = open, open, first
	if lease > 0 {
		a.early, a.late = plus(first, lease), plus(last, lease)
	}

	switch op.Kind {
	case history.Lock, history.TryLock:
		if a.verb = acquires; a.certain && out == history.Busy {
			a.verb = findsBusy
		}
	case history.Unlock:
		a.sets = lease > 0
		switch {
		case !a.certain || out == history.Released:
			a.verb = releases
		case out == history.Decremented:
			a.verb = decrements
		default:
			a.verb = findsNotMine
		}
	case history.ForceUnlock:
		if a.verb = forces; a.certain && out == history.NotHeld {
			a.verb = findsFree
		}
	case history.Renew:
		if a.verb = renews; a.certain && out == history.NotHeld {
			a.verb = findsNotMine
		}
	default:
		if !a.certain || !kind.Counts() && (op.Kind == history.IsHeldBy || op.Kind == history.HoldCount) {
			return a, false // nobody heard what a query said, or it asked what the lock does not know
		}
		return queryAction(op, a, last)
	}
	switch out {
	case history.Acquired, history.Busy, history.Decremented, history.Released, history.Renewed:
		a.shows = a.certain
	}
	return a, true
}

func queryAction(op *history.Op, a action, last int64) (action, bool) {
	a.shows = op.Value > 0 || op.Kind == history.RemainingTTL && op.Value > -2
	switch op.Kind {
	case history.IsLocked:
		if a.verb = findsHeld; op.Value == 0 {
			a.verb = findsFree
		}
	case history.IsHeldBy:
		if a.verb = findsMine; op.Value == 0 {
			a.verb = findsNotMine
		}
	case history.HoldCount:
		if a.verb = findsCount; op.Value == 0 {
			a.verb = findsNotMine
		}
	case history.RemainingTTL:
		a.verb, a.late = findsTTL, last
	default:
		return a, false
	}
	return a, true
}

// eventAction reduces an event; ok is false when it says nothing of the lock's state.
func eventAction(e *history.Event, kind model.Kind, number func(owner string) int32) (a action, ok bool) {
	at := int64(e.At)
	a = action{call: at, ret: at, from: at - int64(e.Within), certain: true, early: open, late: open}
	if e.Since > 0 {
		a.call, a.from = int64(e.Since), int64(e.Since)
	}
	switch e.Kind {
	case history.Expire:
		a.late = at + int64(e.Within)
		if a.verb = expires; !kind.Leases() {
			a.verb = deletes
		}
	case history.Delete:
		a.verb = deletes
	case history.Restore:
		a.verb, a.token, a.value = restores, int64(number(kind.Holder(e.Client, e.Owner))), e.Count
		if e.Deadline > 0 && kind.Leases() {
			a.early, a.late = int64(e.Deadline), int64(e.Deadline)
		}
	case history.ForceTTL:
		if a.verb = setsTTL; e.Deadline > 0 {
			a.early, a.late = int64(e.Deadline), int64(e.Deadline)
		}
	case history.ClockJump:
		a.verb, a.value = jumps, int64(e.By)
	case history.Leftover:
		a.verb = isLeft
	default:
		return a, false
	}
	return a, kind.Leases() || a.verb == deletes || a.verb == restores
}

// plus adds, lets open be open, and does not overflow.
func plus(t, d int64) int64 {
	switch {
	case t == open || d > 0 && t > open-d:
		return open
	case d < 0 && t < math.MinInt64-d:
		return math.MinInt64
	}
	return t + d
}

// after reports whether a is after b by more than the granularity of deadlines.
func after(a, b int64) bool { return a > plus(b, int64(model.Granularity)) }
