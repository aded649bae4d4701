package checker

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

// impliedSlack is how far apart the server's clock and the run's may run during a lease, and how
// coarse the server's is.
const impliedSlack = 5 * time.Millisecond

// implied reports whether ends of leases are to be inferred.
func (f *facts) implied() bool {
	return f.h.Header.Expiry == history.Implied && f.options.Model.Leases()
}

// imply adds to a lock's actions, which are in order of calls, the ends that leases may have had. A setting is told
// from every other by a number: two may be of one owner and end at one time.
func (f *facts) imply(l *lockFacts, actions []action) []action {
	const slack = int64(impliedSlack)
	next := map[int32]int64{} // owner -> when its next call that sets or shows the end of a hold returned
	watched := slices.ContainsFunc(l.ops, func(op *history.Op) bool { return op.Watchdog })
	guarded, longest := guardedBy(l, actions), f.longest(l, actions)
	for i := len(actions) - 1; i >= 0; i-- {
		a := &actions[i]
		if a.owner == 0 {
			if (a.verb == restores || a.verb == setsTTL) && a.late != open {
				a.set = int32(i + 1)
				end := f.lapseOf(l, a, a.early-slack, a.late+slack)
				if watched {
					a.late = open
					end.certain, end.ret = false, max(int64(f.end), end.call)
				}
				actions = append(actions, end)
			}
			continue
		}
		op := l.ops[a.index]
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
			a.set = int32(i + 1)
			end := f.lapseOf(l, a, a.early-slack, a.late)
			gone, dead := f.gone[op.Client]
			followed, known := next[a.owner]
			known = known && a.certain && !a.beside // what is not may take effect after that
			if guarded[i] {
				a.late, end.ret = open, open // renewed, for all that is known
				switch {
				case dead:
					end.ret = int64(gone+op.Lease) + slack
				case known:
					end.certain, end.ret = false, followed
				}
			}
			if end.ret == open {
				end.certain, end.ret = false, max(int64(f.end), end.call)
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
// renewed, under another one perhaps.
func guardedBy(l *lockFacts, actions []action) []bool {
	all, guarded := make([]bool, len(actions)), map[int32]bool{}
	for i := range actions {
		a := &actions[i]
		if a.owner == 0 {
			continue
		}
		switch {
		case a.verb == acquires || a.verb == renews || a.verb == decrements:
			guarded[a.owner] = guarded[a.owner] || l.ops[a.index].Watchdog
		case a.certain && !a.beside && (a.verb == releases || a.verb == findsNotMine):
			guarded[a.owner] = false
		}
		all[i] = guarded[a.owner] || l.ops[a.index].Watchdog
	}
	return all
}

// lapseTime is when something ends: not before early, nor after late.
type lapseTime struct{ early, late int64 }

// longest says of actions, in order of calls, when the leases end that their owner had asked for before and still has, of a lock
// whose re-entries shorten none: not before the longest of them, nor after.
func (f *facts) longest(l *lockFacts, actions []action) []lapseTime {
	all, until := make([]lapseTime, len(actions)), map[int32]lapseTime{}
	if !f.keepsLongest() {
		return all
	}
	for i := range actions {
		a := &actions[i]
		if a.owner == 0 {
			continue
		}
		all[i] = until[a.owner]
		switch op := l.ops[a.index]; {
		case a.verb == acquires && op.Lease > 0 && a.ret != open:
			u := until[a.owner]
			if u.late = max(u.late, plus(a.ret, int64(op.Lease))+int64(impliedSlack)); a.certain {
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
func (f *facts) lapseOf(l *lockFacts, a *action, from, to int64) action {
	for _, e := range l.environment {
		if e.Kind == history.ClockJump && int64(e.At) >= a.call && (to == open || int64(e.At) <= to) {
			if from -= max(int64(e.By), 0); to != open {
				to -= min(int64(e.By), 0)
			}
		}
	}
	from = max(from, a.call)
	return action{verb: lapses, set: a.set, index: a.index, call: from, from: from, ret: max(from, to), early: open, late: open, certain: true}
}

// lapse closes, before another owner's grant, the tenures whose leases can have ended by then: in
// an implied history no event does. A lease that nobody renews ended at its deadline; when one with a
// watchdog ended is not known, except that it was before the grant.
func (r *tenureReplay) lapse(a *act) {
	for _, t := range r.open {
		if t.owner == a.op.Owner || t.deadline > a.at+impliedSlack {
			continue
		}
		at := min(t.deadline, a.at)
		if t.watchdog {
			at = a.at
		}
		r.end(t, &act{at: at, seq: -1, event: &history.Event{At: at, Kind: history.Expire, Lock: a.op.Lock}}, false)
	}
}
