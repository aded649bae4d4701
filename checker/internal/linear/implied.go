package linear

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A history with history.Implied says nothing of how leases ended: nobody saw the server. Each
// setting of a deadline then has an action that ends the hold, if that setting is still the last,
// at some time at which the deadline can have passed; the search finds out when. Nothing is lost
// by it but exactness: a hold that was given away before its lease can have ended, or that shows
// after it must have, is found.
//
// Renewals are not known either, so that of a lease with a watchdog only the earliest end is: its
// hold may end at any later time, until its owner's next answer. Whether it was renewed is not
// asked; what comes of it if it was not is a matter of exclusion.

// Slack is how far apart the server's clock and the run's may run during a lease, and how
// coarse the server's is.
const Slack = 5 * time.Millisecond

// imply adds to a lock's actions, which are in order of calls, the ends that leases may have had. A setting is told
// from every other by a number: two may be of one owner and end at one time.
func (l *Lock) imply(actions []action) []action {
	const slack = int64(Slack)
	next := map[int32]int64{} // owner -> when its next call that sets or shows the end of a hold returned
	watched := slices.ContainsFunc(l.Ops, func(op *history.Op) bool { return op.Watchdog })
	guarded, longest := l.guardedBy(actions), l.longest(actions)
	for i := len(actions) - 1; i >= 0; i-- {
		a := &actions[i]
		if a.owner == 0 {
			if (a.verb == restores || a.verb == setsTTL) && a.late != open {
				a.set = int32(i + 1)
				end := l.lapseOf(a, a.early-slack, a.late+slack)
				if watched {
					a.late = open
					end.certain, end.ret = false, max(int64(l.End), end.call)
				}
				actions = append(actions, end)
			}
			continue
		}
		op := l.Ops[a.index]
		sets := op.Lease > 0 && (a.verb == acquires || a.verb == decrements && a.sets || a.verb == releases && !a.certain || a.verb == renews)
		if sets {
			if a.late != open {
				a.late += slack
			} else if a.ret != open {
				a.late = plus(a.ret, int64(op.Lease)+slack)
			}
			if a.late != open {
				a.late = max(a.late, longest[i].late)
			}
			if op.Fresh > 0 && a.early != open { // of a re-entry that shortens nothing, and perhaps lengthens nothing
				a.early = max(plus(a.from, int64(op.Fresh)), longest[i].early)
			}
			if guarded[i] > 0 && !l.Keeps { // a renewal may set less than was asked for
				a.early = min(a.early, plus(a.from, guarded[i]))
			}
			a.set = int32(i + 1)
			end := l.lapseOf(a, a.early-slack, a.late)
			gone, dead := l.Gone[op.Client]
			followed, known := next[a.owner]
			known = known && a.certain && !a.beside && l.Model.Counts() // what is not may take effect after that, as may what another owner of a client called
			if guarded[i] > 0 {
				a.late, end.ret = open, open // renewed, for all that is known
				switch {
				case dead:
					end.ret = int64(gone+op.Lease) + slack
				case known:
					end.certain, end.ret = false, followed
				}
			}
			if end.ret == open {
				end.certain, end.ret = false, max(int64(l.End), end.call)
			}
			end.ret = max(end.ret, end.call)
			if !known || followed >= end.call {
				actions = append(actions, end)
				a = &actions[i] // it may have moved
			}
		}
		if a.certain && !a.beside {
			switch a.verb {
			case acquires, releases, findsNotMine:
				next[a.owner] = a.ret
			case decrements:
				if a.sets {
					next[a.owner] = a.ret
				}
			}
		}
	}
	return actions
}

// guardedBy says of actions, in order of calls, after which their owner may have a hold without an explicit lease, which is
// renewed, under another one perhaps: to what lease; 0: it has none, open: nobody knows.
func (l *Lock) guardedBy(actions []action) []int64 {
	all, guarded := make([]int64, len(actions)), map[int32]int64{}
	for i := range actions {
		a := &actions[i]
		if a.owner == 0 {
			continue
		}
		op, renewed := l.Ops[a.index], guarded[a.owner]
		if op.Watchdog {
			renewed = min(cmp.Or(renewed, open), cmp.Or(int64(op.Lease), open))
		}
		all[i] = renewed
		switch {
		case a.verb == acquires || a.verb == renews || a.verb == decrements:
			guarded[a.owner] = renewed
		case a.certain && !a.beside && (a.verb == releases || a.verb == findsNotMine):
			guarded[a.owner] = 0
			if !op.Watchdog {
				all[i] = 0
			}
		}
	}
	return all
}

// lapseTime is when something ends: not before early, nor after late.
type lapseTime struct{ early, late int64 }

// longest says of actions, in order of calls, when the leases end that their owner had asked for before and still has, of a lock
// whose re-entries shorten none: not before the longest of them, nor after.
func (l *Lock) longest(actions []action) []lapseTime {
	all, until := make([]lapseTime, len(actions)), map[int32]lapseTime{}
	if !l.Keeps {
		return all
	}
	for i := range actions {
		a := &actions[i]
		if a.owner == 0 {
			continue
		}
		all[i] = until[a.owner]
		switch op := l.Ops[a.index]; {
		case a.verb == acquires && op.Lease > 0 && a.ret != open:
			u := until[a.owner]
			if u.late = max(u.late, plus(a.ret, int64(op.Lease))+int64(Slack)); a.certain {
				u.early = max(u.early, plus(a.from, int64(cmp.Or(op.Fresh, op.Lease))))
			}
			until[a.owner] = u
		case a.verb == releases || a.verb == findsNotMine: // perhaps
			u := lapseTime{late: until[a.owner].late}
			if a.certain && !a.beside {
				u.late = 0
			}
			until[a.owner] = u
		}
	}
	return all
}

// lapseOf is the end of the lease that a sets, at some time between two; a clock that jumped meanwhile moved both.
func (l *Lock) lapseOf(a *action, from, to int64) action {
	for _, e := range l.Events {
		if e.Kind == history.ClockJump && int64(e.At) >= a.call && (to == open || int64(e.At) <= to) {
			if from -= max(int64(e.By), 0); to != open {
				to -= min(int64(e.By), 0)
			}
		}
	}
	from = max(from, a.call)
	return action{verb: lapses, set: a.set, index: a.index, call: from, from: from, ret: max(from, to), early: open, late: open, certain: true}
}
