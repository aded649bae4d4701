package linear

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/model"
)

// The interval checker decides histories in which no unknown outcome matters by intervals alone,
// in O(n log n) and without a search:
//
//  1. Each owner's answers are replayed in the order of its calls, with what the environment did:
//     only they and the environment can change whether it holds.
//  2. That makes sessions: an acquire in [a, b], an end in [c, d]. Every order holds the session's
//     lock in its core [b, c], so that cores must be disjoint, and their order is the only one.
//  3. Trim what no order can use: an acquire before the core before it, an end after the next core.
//  4. Who was told that the lock is held needs a session whose [a, d] meets its call. To make
//     every hold as long as it can be is best for all of them at once: each gap between two
//     sessions can be chosen by itself, and nobody but findsFree asks for free time.
//  5. A lease is set as early as its call: that is best for whoever finds the lock held later, unless it is
//     shorter than the one before, and expiry looks only at calls.
//
// Where a choice is left that is not best for all (a grant around an expiry, a shorter lease, who asks for free
// time, whether a call that never returned took effect), one is made. A history that fits then is legal; one that does not is left to others.
// So is what it knows nothing of: locks that do not count holds, unknown outcomes that close, forced releases, holds brought back, times to live,
// changed clocks.
//
// That a history without such choices which does not fit is illegal follows from 1 to 5: each
// only uses what holds in every order.
type intervals struct {
	machine  machine
	sessions []session
	holders  []holder // by owner
	kills    []kill
	setters  []setter
	asked    []question
	guessed  bool // a choice was made that another order may make differently
	broken   bool
	beyond   bool // something here is not for this checker
}

// A session is one owner's hold from its first acquire to its end.
type session struct {
	a, b, c, d  int64
	owner       int32
	setter      int32 // its last, or -1
	endless     bool  // it began without a deadline
	first, last int64 // tokens
}

// A kill is what the environment did to whoever held the lock.
type kill struct {
	at      int64 // its moment
	time    int64 // for the deadline of its victim, the latest time at which it can have come
	expires bool
	victims int
}

// A setter is an action that set a session's deadline.
type setter struct {
	call, late int64
	before     int32 // the one before it in its session, or -1
}

// A question is an answer about others that is to be explained.
type question struct {
	from, to int64 // when
	said     int64 // for the deadline, when the answer can have been true first
	owner    int32
	free     bool // the lock was free; otherwise: another owner held it
}

// A holder is where the replay of one owner stands.
type holder struct {
	count       int64
	session     int32
	kill        int32 // the first after the session's core began
	early, late int64
	ended       int64 // the end of its last action
	beside      bool  // the last action was none of its program
	asked       bool  // the last action was a question
}

// byIntervals judges actions in order of their calls; ok is false when it cannot tell.
func byIntervals(actions []action, owners int, m machine) (status porcupine.CheckResult, ok bool) {
	if !m.counts {
		return porcupine.Unknown, false
	}
	v := &intervals{machine: m, holders: make([]holder, owners)}
	for o := range v.holders {
		v.holders[o].ended = -1
	}
	grants, questions := 0, 0
	for i := range actions {
		switch a := &actions[i]; a.verb {
		case acquires:
			grants++
		case findsBusy, findsHeld, findsFree:
			questions++
		}
	}
	v.sessions, v.asked = make([]session, 0, grants), make([]question, 0, questions)
	for i := range actions {
		switch a := &actions[i]; a.verb {
		case expires, deletes:
			if a.call < a.ret {
				return porcupine.Unknown, false
			}
			v.kills = append(v.kills, kill{at: a.call, time: a.late, expires: a.verb == expires})
		case forces, lapses, restores, setsTTL, jumps, findsTTL, isLeft:
			return porcupine.Unknown, false
		default:
			if !a.certain {
				v.guessed = true // take it that it never happened
				if a.ret != open {
					return porcupine.Unknown, false
				}
			}
		}
	}
	slices.SortStableFunc(v.kills, func(x, y kill) int { // actions are sorted by time already
		switch {
		case x.at != y.at:
			return cmp.Compare(x.at, y.at)
		case x.expires == y.expires:
			return 0
		}
		v.guessed = true // which came first; the expiry needs somebody to hit
		if x.expires {
			return -1
		}
		return 1
	})
	for i := range actions {
		if a := &actions[i]; a.owner != 0 && a.certain {
			v.replay(a)
			if v.beyond || v.broken && v.guessed {
				return porcupine.Unknown, false
			}
		}
	}
	v.finish()
	if v.beyond {
		return porcupine.Unknown, false
	}
	v.order()
	for i := range v.asked {
		if v.broken {
			break
		}
		v.answer(&v.asked[i])
	}
	switch {
	case v.broken && v.guessed:
		return porcupine.Unknown, false
	case v.broken:
		return porcupine.Illegal, true
	}
	return porcupine.Ok, true
}

// replay takes one more answer of an owner.
func (v *intervals) replay(a *action) {
	h := &v.holders[a.owner]
	if v.machine.fenced && a.verb == acquires && a.token == model.UnheardToken {
		v.beyond = true
		return
	}
	if a.call < h.ended || a.call == h.ended && (a.beside || h.beside) {
		v.beyond = true // a renewal beside a call: which came first is anybody's guess
		return
	}
	asks := a.verb == findsBusy || a.verb == findsHeld || a.verb == findsFree
	from := a.call
	if a.call == h.ended && (asks || h.asked) {
		// Its call before ended in the same instant, and was first. What is explained without that
		// instant is explained.
		from, v.guessed = from+1, true
		v.beyond = v.beyond || from > a.ret
	}
	h.ended, h.beside, h.asked = a.ret, a.beside, asks

	if h.count > 0 && int(h.kill) < len(v.kills) {
		switch at := v.kills[h.kill].at; {
		case at < a.call:
			v.end(h, at, at, true)
		case at <= a.ret:
			// The kill is within the call. What shows the hold came before it, what shows none
			// after.
			switch a.verb {
			case acquires:
				v.guessed = true // it may have been a re-entry, or a new hold; take the latter
				fallthrough
			case findsNotMine, findsFree:
				v.end(h, at, at, true)
				from = max(from, at)
			case findsBusy, findsHeld:
				if a.verb == findsBusy && v.machine.reentrant || after(a.from, h.late) { // otherwise its own hold is reason enough
					v.end(h, at, at, true)
					from = max(from, at)
				}
			case releases:
				if h.count == 1 && !v.late(h, a) {
					v.end(h, a.call, at, false)
					return
				}
			}
		}
	}
	if h.count > 0 {
		v.holding(h, a)
		return
	}
	switch a.verb {
	case acquires:
		v.begin(h, a, from)
	case findsBusy, findsHeld, findsFree:
		v.asked = append(v.asked, question{from, a.ret, a.from, a.owner, a.verb == findsFree})
	case findsNotMine:
	default:
		v.broken = true
	}
}

// holding takes an answer of an owner that holds the lock.
func (v *intervals) holding(h *holder, a *action) {
	if v.late(h, a) {
		return
	}
	s := &v.sessions[h.session]
	switch a.verb {
	case acquires:
		if !v.machine.reentrant || v.machine.fenced && (a.token == 0 || a.token < s.last) {
			v.broken = true
			return
		}
		h.count++
		s.last = a.token
		v.set(h, a)
	case decrements:
		if h.count < 2 {
			v.broken = true
			return
		}
		if h.count--; a.sets {
			v.set(h, a)
		}
	case releases:
		if h.count != 1 {
			v.broken = true
			return
		}
		v.end(h, a.call, a.ret, false)
	case renews:
		renewed := *a
		renewed.early, renewed.late = v.machine.renewed(h.early, h.late, a)
		v.set(h, &renewed)
	case findsCount:
		v.broken = v.broken || a.value != h.count
	case findsMine, findsHeld:
	case findsBusy:
		v.broken = v.broken || v.machine.reentrant
	default: // it is not held, or free
		v.broken = true
	}
}

// late reports whether an answer shows a hold after its deadline.
func (v *intervals) late(h *holder, a *action) bool {
	if a.shows && after(a.from, h.late) {
		v.broken = true
		return true
	}
	return false
}

func (v *intervals) begin(h *holder, a *action, from int64) {
	h.kill = int32(sort.Search(len(v.kills), func(i int) bool { return v.kills[i].at > a.ret }))
	if h.kill > 0 && v.kills[h.kill-1].at >= from {
		// Kills within the call: it may have had the lock before one, but most likely waited.
		v.guessed = true
		from = v.kills[h.kill-1].at
	}
	h.count, h.session = 1, int32(len(v.sessions))
	v.sessions = append(v.sessions, session{a: from, b: a.ret, owner: a.owner, setter: -1, first: a.token, last: a.token})
	v.set(h, a)
}

// set notes a deadline. A session has no setters as long as none of them set an end.
func (v *intervals) set(h *holder, a *action) {
	if h.count > 1 || a.verb != acquires {
		v.guessed = v.guessed || a.call < a.ret && after(h.late, a.late) // it shortens the lease, and so would better come late
	}
	h.early, h.late = a.early, a.late
	s := &v.sessions[h.session]
	if a.late == open && s.setter < 0 {
		s.endless = true
		return
	}
	if s.setter < 0 && s.endless {
		v.setters = append(v.setters, setter{s.a, open, -1})
		s.setter = int32(len(v.setters) - 1)
	}
	v.setters = append(v.setters, setter{a.call, a.late, s.setter})
	s.setter = int32(len(v.setters) - 1)
}

func (v *intervals) end(h *holder, c, d int64, killed bool) {
	if killed {
		k := &v.kills[h.kill]
		k.victims++
		if k.expires && after(h.early, k.time) {
			v.broken = true
		}
	}
	s := &v.sessions[h.session]
	s.c, s.d = c, d
	h.count = 0
}

// finish ends the sessions that no answer ended, and looks for kills of nobody.
func (v *intervals) finish() {
	for o := range v.holders {
		if h := &v.holders[o]; h.count > 0 {
			if int(h.kill) < len(v.kills) {
				at := v.kills[h.kill].at
				v.end(h, at, at, true)
			} else {
				v.end(h, math.MaxInt64, math.MaxInt64, false)
			}
		}
	}
	for _, k := range v.kills {
		if k.victims > 1 || k.expires && k.victims == 0 {
			v.broken = true
		}
	}
}

// order sorts the sessions by their cores, and trims them.
func (v *intervals) order() {
	slices.SortFunc(v.sessions, func(x, y session) int {
		return cmp.Or(cmp.Compare(x.b, y.b), cmp.Compare(x.c, y.c))
	})
	for i := 1; i < len(v.sessions); i++ {
		s, t := &v.sessions[i-1], &v.sessions[i]
		if s.b == t.b && s.c == t.c && s.b == s.c {
			v.guessed = true // which of two instants came first
		}
		if s.c > t.b || v.machine.fenced && t.first <= s.last {
			v.broken = true
			return
		}
		t.a, s.d = max(t.a, s.c), min(s.d, t.b)
	}
	if v.machine.fenced {
		for _, s := range v.sessions {
			v.broken = v.broken || s.first == 0
		}
	}
}

// answer looks for the session, or the gap, that explains what somebody was told.
func (v *intervals) answer(q *question) {
	k := sort.Search(len(v.sessions), func(i int) bool { return v.sessions[i].d >= q.from })
	if q.free {
		v.answerFree(q, k)
		return
	}
	for ; k < len(v.sessions) && v.sessions[k].a <= q.to; k++ {
		if s := &v.sessions[k]; s.owner != q.owner && v.heldStill(s, q) {
			return
		}
	}
	v.broken = true
}

// heldStill reports whether a session that meets the question's call can have had a deadline that
// had not passed. Deadlines are set as early as they can be.
func (v *intervals) heldStill(s *session, q *question) bool {
	until := int64(math.MaxInt64) // the earliest time of the setter after
	for i := s.setter; i >= 0; i = v.setters[i].before {
		at := max(v.setters[i].call, s.a)
		if at <= q.to && until >= q.from && !after(q.said, v.setters[i].late) {
			return true
		}
		until = min(until, at)
	}
	return s.setter < 0
}

// answerFree looks for free time, k being the first session that did not end before the question.
func (v *intervals) answerFree(q *question, k int) {
	if k == len(v.sessions) || v.sessions[k].a >= q.from {
		return
	}
	unsure := v.sessions[k].b >= q.from
	for ; k < len(v.sessions) && v.sessions[k].c <= q.to; k++ {
		unsure = true
		if d := v.sessions[k].d; d <= q.to && (k+1 == len(v.sessions) || d <= v.sessions[k+1].a) {
			return
		}
	}
	v.guessed = v.guessed || unsure
	v.broken = true
}
