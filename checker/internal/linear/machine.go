package linear

import "github.com/holdfast-sim/holdfast/model"

// A machine is the lock of package model on numbered owners. A search steps it millions of times
// and drops most of what it sees, which package model, made to be read and to explain, is too
// slow for. That the two say the same is tested (TestMachineIsTheModel).
type machine struct {
	reentrant bool
	fenced    bool
	keeps     bool // a renewal leaves a later deadline alone
	counts    bool // it is known how often its holder holds it
	anew      bool // it may be granted to its holder anew
}

func machineOf(kind model.Kind) machine {
	return machine{reentrant: kind.Reenters(), fenced: kind == model.Fenced, keeps: kind == model.Keeping, counts: kind.Counts() && kind != model.Anew, anew: kind == model.Anew}
}

// state is model.State with a numbered owner; 0 is nobody.
type state struct {
	owner, count int32
	set          int32 // action.set of who set the deadline
	early, late  int64
	token        int64
}

// renewed is the deadline after a renewal of a hold that had another.
func (m machine) renewed(early, late int64, a *action) (int64, int64) {
	switch {
	case !m.keeps:
		return a.early, a.late
	case early == open: // no call asks for that: it may stay so
		return a.early, max(a.late, late)
	}
	return max(a.early, early), max(a.late, late)
}

// counted is a number of holds as the lock knows it.
func (m machine) counted(holds int32) int32 {
	if m.counts {
		return holds
	}
	return 1
}

// step returns the state after an action, and whether the state allows it. An action that is not
// certain is always allowed: it does what the lock would have done.
func (m machine) step(s state, a *action) (state, bool) {
	held, mine := s.owner != 0, s.owner == a.owner && a.owner != 0
	next := s
	ok := true
	switch a.verb {
	case acquires:
		if held && (!mine || !m.reentrant) {
			return s, !a.certain
		}
		next = state{owner: a.owner, count: m.counted(s.count + 1), set: a.set, early: a.early, late: a.late, token: s.token}
		if m.fenced {
			least := s.token + 1
			if held {
				least = s.token
			}
			if next.token = least; a.certain && a.token != model.UnheardToken {
				next.token, ok = a.token, a.token != 0 && a.token >= least
			}
		}
	case decrements, releases:
		switch {
		case !mine:
			return s, !a.certain
		case a.certain && (a.verb == releases) != (s.count == 1):
			return s, false
		case s.count == 1:
			next = state{token: s.token}
		default:
			next.count--
			if a.sets {
				next.early, next.late, next.set = a.early, a.late, a.set
			}
		}
	case forces:
		if !held {
			return s, !a.certain
		}
		next = state{token: s.token}
	case renews:
		if !mine {
			return s, !a.certain
		}
		next.early, next.late = m.renewed(s.early, s.late, a)
		next.set = a.set
	case expires:
		if !held || after(s.early, a.late) {
			return s, false
		}
		next = state{token: s.token}
	case lapses:
		if held && s.set == a.set {
			next = state{token: s.token}
		}
	case deletes:
		next = state{token: s.token}
	case restores:
		next = state{owner: int32(a.token), count: m.counted(int32(a.value)), set: a.set, early: a.early, late: a.late, token: s.token}
	case setsTTL:
		if held {
			next.early, next.late, next.set = a.early, a.late, a.set
		}
	case jumps:
		if held {
			next.early, next.late = plus(s.early, -a.value), plus(s.late, -a.value)
		}
	case findsBusy:
		ok = held && (!mine || !m.reentrant || m.anew)
	case findsNotMine:
		ok = !mine
	case findsMine:
		ok = mine
	case findsCount:
		ok = mine && a.value == int64(s.count)
	case findsHeld:
		ok = held
	case findsFree:
		ok = !held
	case findsTTL:
		switch {
		case a.value == -2:
			ok = !held
		case a.value == -1:
			ok = held && s.late == open
		default:
			ok = held && !after(plus(s.early, -a.late), a.value) && !after(a.value, plus(s.late, -a.from))
		}
	case isLeft:
		ok = !held || !after(a.from, s.late)
	}
	if !ok || a.shows && held && after(a.from, s.late) {
		return s, false
	}
	return next, true
}
