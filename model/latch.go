package model

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// LatchState is one count-down latch. The zero value is one that was never set. States compare with ==.
type LatchState struct {
	Count int64
	Stuck bool // it was set to 0, which only [Latch.AtZero] latches can be
	life
}

// String fits after "but".
func (s LatchState) String() string {
	if s.Stuck {
		return "the count was set to 0"
	}
	return fmt.Sprintf("the count is %d", s.Count)
}

// Latch says which latch is meant. The zero value cannot be set to 0.
type Latch struct {
	AtZero bool // it can, and then not be set again before it is counted down or deleted: Redisson's
}

// Step returns the state after op with its answer, or a [Violation]. Uncertainty is as in the function
// [Step]. Other operations change nothing. Who waits is told what the count is at one moment of his call: a
// latch that is reset (a new round) may have been at 0 within it, which is for the checker to try.
func (k Latch) Step(s LatchState, op history.Op) (LatchState, error) {
	if op.Outcome == history.Failed {
		return s, nil
	}
	uncertain := op.Uncertain()
	if uncertain {
		op.Return = 0
		switch {
		case op.Kind == history.TrySetCount && (s.Count > 0 || s.Stuck):
			op.Outcome = history.Rejected
		case op.Kind == history.DeleteLatch && s == LatchState{}:
			op.Outcome = history.NotHeld
		case op.Kind == history.DeleteLatch:
			op.Outcome = history.Released
		case op.Kind == history.Await, op.Kind == history.TryAwait, op.Kind == history.GetCount:
			return s, nil // nobody heard
		default:
			op.Outcome = history.OK
		}
	}
	next, rule := k.step(s, op)
	if rule != "" {
		return s, &Violation{Rule: rule, State: s, Op: op}
	}
	if s.Count > 0 && showsCount(op) && s.overAt(op, uncertain) {
		return s, &Violation{Rule: contract.NotAfterLease, State: s, Op: op}
	}
	return next, nil
}

func (k Latch) step(s LatchState, op history.Op) (LatchState, contract.Rule) {
	switch op.Kind {
	case history.TrySetCount:
		there := s.Count > 0 || s.Stuck
		switch {
		case (op.Outcome == history.OK) == there:
			return s, contract.LatchSetAtZero
		case there, op.Value == 0 && !k.AtZero:
			return s, ""
		}
		return LatchState{Count: op.Value, Stuck: op.Value == 0, life: endless}, ""
	case history.CountDown:
		if s.Count <= 1 {
			return LatchState{}, ""
		}
		s.Count--
		return s, ""
	case history.DeleteLatch:
		if (op.Outcome == history.Released) == (s == LatchState{}) {
			return s, contract.LatchDeleted
		}
		return LatchState{}, ""
	case history.Await, history.TryAwait:
		switch {
		case op.Outcome == history.OK && s.Count > 0:
			return s, contract.ReturnsAtZero
		case op.Outcome != history.OK && s.Count == 0:
			return s, contract.TimeIsUpAbove
		}
	case history.GetCount:
		if op.Value != s.Count {
			return s, contract.LatchIsCounted
		}
	}
	return s, ""
}

// showsCount reports whether the answer of op shows that the count was above 0.
func showsCount(op history.Op) bool {
	switch op.Kind {
	case history.TrySetCount:
		return op.Outcome == history.Rejected
	case history.DeleteLatch:
		return op.Outcome == history.Released
	case history.Await, history.TryAwait:
		return op.Outcome == history.Busy
	case history.GetCount:
		return op.Value > 0
	}
	return false
}

// Environment returns the state after something that is no operation, or a [Violation]. [history.Restore]
// brings a count of Event.Count back.
func (k Latch) Environment(s LatchState, e history.Event) (LatchState, error) {
	if e.Kind == history.Restore {
		s = LatchState{Count: e.Count, life: endless}
		if e.Deadline > 0 {
			s.life = life{e.Deadline, e.Deadline}
		}
		return s, nil
	}
	if s == (LatchState{}) {
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
		return LatchState{}, nil
	}
	s.life = next
	return s, nil
}
