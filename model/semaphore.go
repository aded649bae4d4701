package model

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// SemaphoreState is one semaphore: a number of free permits. The zero value is none. States compare with ==.
type SemaphoreState struct {
	Set  bool
	Free int64 // below 0 if permits were taken away that had been acquired
	life
}

// String fits after "but".
func (s SemaphoreState) String() string {
	if !s.Set {
		return "there is no semaphore"
	}
	if s.Free == 1 {
		return "1 permit is free"
	}
	return fmt.Sprintf("%d permits are free", s.Free)
}

// Semaphore says which semaphore is meant. The zero value is Redisson's: a release makes one where there is
// none, and what writes the number of permits anew (addPermits, drainPermits) ends its time to live.
type Semaphore struct {
	Keeps bool // neither of these, as generation hardened
}

// Step returns the state after op with its answer, or a [Violation]. Uncertainty is as in the function
// [Step]: an operation whose end is not known happened, with whatever answer the state gives, and one that
// failed did not. Other operations change nothing.
//
// Permits have no owners, so that a release is never wrong: that no more are out than there are is for
// whoever counts grants.
func (k Semaphore) Step(s SemaphoreState, op history.Op) (SemaphoreState, error) {
	if op.Outcome == history.Failed {
		return s, nil
	}
	uncertain := op.Uncertain()
	if uncertain {
		op.Return = 0
		if op.Outcome = k.answer(s, op); op.Outcome == "" {
			return s, nil // a query that nobody heard the answer of
		}
		if op.Kind == history.DrainPermits {
			op.Value = s.Free
		}
	}
	next, rule := k.step(s, op)
	if rule != "" {
		return s, &Violation{Rule: rule, State: s, Op: op}
	}
	if s.Set && showsSemaphore(op) && s.overAt(op, uncertain) {
		return s, &Violation{Rule: contract.NotAfterLease, State: s, Op: op}
	}
	return next, nil
}

func (k Semaphore) step(s SemaphoreState, op history.Op) (SemaphoreState, contract.Rule) {
	renewed := s // the number is written anew
	if !k.Keeps || !s.Set {
		renewed = SemaphoreState{Set: true, Free: s.Free, life: endless}
	}
	switch op.Kind {
	case history.TrySetPermits:
		switch {
		case (op.Outcome == history.OK) == s.Set:
			return s, contract.SemaphoreSetOnce
		case s.Set:
			return s, ""
		}
		return SemaphoreState{Set: true, Free: op.Value, life: lasting(op)}, ""
	case history.AddPermits:
		renewed.Free += op.Value
		return renewed, ""
	case history.AcquirePermits, history.TryAcquirePermits:
		enough := op.Value == 0 || s.Set && s.Free >= op.Value
		switch {
		case op.Outcome == history.Acquired && !enough:
			return s, contract.PermitsAreFree
		case op.Outcome != history.Acquired && enough:
			return s, contract.PermitsAreFew
		case op.Outcome == history.Acquired:
			s.Free -= op.Value
		}
		return s, ""
	case history.ReleasePermits, history.ReleaseIfExists:
		makes := op.Kind == history.ReleasePermits && !k.Keeps
		switch {
		case op.Value == 0:
			return s, ""
		case (op.Outcome == history.NotHeld) == (s.Set || makes):
			return s, contract.SemaphoreIsThere
		case op.Outcome == history.NotHeld:
			return s, ""
		case !s.Set:
			return SemaphoreState{Set: true, Free: op.Value, life: endless}, ""
		}
		s.Free += op.Value
		return s, ""
	case history.DrainPermits:
		if op.Value != s.Free {
			return s, contract.DrainsAll
		}
		if s.Set {
			s, s.Free = renewed, 0
		}
		return s, ""
	case history.AvailablePermits:
		if op.Value != s.Free {
			return s, contract.PermitsAreCounted
		}
	}
	return s, ""
}

// answer is what a semaphore in state s says to op; empty: nobody needs it.
func (k Semaphore) answer(s SemaphoreState, op history.Op) history.Outcome {
	switch op.Kind {
	case history.TrySetPermits:
		if s.Set {
			return history.Rejected
		}
	case history.AcquirePermits, history.TryAcquirePermits:
		if op.Value == 0 || s.Set && s.Free >= op.Value {
			return history.Acquired
		}
		return history.Busy
	case history.ReleasePermits:
		if !s.Set && k.Keeps {
			return history.NotHeld
		}
	case history.ReleaseIfExists:
		if !s.Set {
			return history.NotHeld
		}
		return history.Released
	case history.AvailablePermits:
		return ""
	}
	return history.OK
}

// showsSemaphore reports whether the answer of op shows that there was a semaphore.
func showsSemaphore(op history.Op) bool {
	switch op.Kind {
	case history.TrySetPermits:
		return op.Outcome == history.Rejected
	case history.AcquirePermits, history.TryAcquirePermits:
		return op.Outcome == history.Acquired && op.Value > 0
	case history.ReleaseIfExists:
		return op.Outcome == history.Released && op.Value > 0
	case history.DrainPermits, history.AvailablePermits:
		return op.Value != 0
	}
	return false
}

// Environment returns the state after something that is no operation, or a [Violation]. [history.Restore]
// brings Event.Count free permits back.
func (k Semaphore) Environment(s SemaphoreState, e history.Event) (SemaphoreState, error) {
	if e.Kind == history.Restore {
		s = SemaphoreState{Set: true, Free: e.Count, life: endless}
		if e.Deadline > 0 {
			s.life = life{e.Deadline, e.Deadline}
		}
		return s, nil
	}
	if !s.Set {
		if e.Kind == history.Expire {
			return s, &Violation{Rule: contract.ExpiryOfAHold, State: s, Event: e}
		}
		return s, nil
	}
	next, gone, rule := s.life.environment(e)
	switch {
	case rule != "":
		return s, &Violation{Rule: rule, State: s, Event: e}
	case gone:
		return SemaphoreState{}, nil
	}
	s.life = next
	return s, nil
}
