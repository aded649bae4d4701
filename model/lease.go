package model

import (
	"fmt"
	"math"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Never is the deadline of a hold that does not expire.
const Never = time.Duration(math.MaxInt64)

// Granularity is how exactly a deadline is known even when the moment of execution is: Redis
// keeps deadlines in whole milliseconds.
const Granularity = time.Millisecond

// State is one reentrant lease lock. The zero value is a free lock; states compare with ==.
type State struct {
	Owner string // "" when free
	Count int64  // how many times Owner holds it

	// The deadline lies in [Earliest, Latest]; the two are equal when the server's time of
	// execution was known, and Never when the hold does not expire.
	Earliest, Latest time.Duration

	// Token is the largest token granted so far; only the [Fenced] lock has one.
	Token int64
}

// Free reports whether nobody holds the lock.
func (s State) Free() bool { return s.Owner == "" }

// String describes the state so that it fits after "the lock is".
func (s State) String() string {
	if s.Free() {
		return "free"
	}
	times := ""
	if s.Count != 1 {
		times = fmt.Sprintf(" %d times", s.Count)
	}
	return fmt.Sprintf("held%s by %s", times, s.Owner)
}

// Step returns the state after op with op.Outcome as its answer, or an [Illegal] error when the
// lock in state s cannot answer so. An operation that the client does not know the end of
// (pending or Unknown) is taken to have happened, with whatever answer the state gives; one that
// Failed is taken not to have happened. Operations on the resource do not concern the lock.
//
// The deadline that op sets is as exact as op.Evidence says when it was executed; otherwise it
// lies in [op.Call+op.Lease, op.Return+op.Lease]. A zero lease sets no deadline.
func Step(s State, op history.Op) (State, error) {
	if op.Outcome == history.Failed || !op.Kind.OnLock() {
		return s, nil
	}
	uncertain := op.Uncertain()
	if uncertain {
		op.Return = 0 // it may take effect after the client gave up
		if op.Outcome = answer(s, op); op.Outcome == history.Failed {
			return s, nil
		}
	}
	next, err := step(s, op)
	if err != nil {
		return s, err
	}
	// Every answer that shows the lock held shows that its deadline has not passed. Nobody saw
	// the answer of an uncertain call, which tells only when the server's time is known.
	seen := !uncertain || op.Evidence == history.Executed
	if from, _ := when(op); seen && showsHeld(op) && !s.Free() && past(from, s.Latest) {
		return s, &Illegal{Rule: contract.NotAfterLease, State: s, Op: op}
	}
	return next, nil
}

func step(s State, op history.Op) (State, error) {
	mine := s.Owner == op.Owner
	lie := func(r contract.Rule) (State, error) {
		return s, &Illegal{Rule: r, State: s, Op: op}
	}
	switch op.Kind {
	case history.Lock, history.TryLock:
		switch {
		case op.Outcome == history.Acquired && (s.Free() || mine):
			return leased(State{Owner: op.Owner, Count: s.Count + 1}, op), nil
		case op.Outcome == history.Acquired:
			return lie(contract.OneHolder)
		case mine:
			return lie(contract.OwnerReenters)
		case s.Free():
			return lie(contract.BusyWhileHeld)
		}
		return s, nil

	case history.Unlock:
		switch {
		case op.Outcome == history.NotHeld && mine:
			return lie(contract.HolderNotRefused)
		case op.Outcome == history.NotHeld:
			return s, nil
		case !mine:
			return lie(contract.HolderReleases)
		case (op.Outcome == history.Released) != (s.Count == 1):
			return lie(contract.OneHoldAnUnlock)
		case op.Outcome == history.Released:
			return State{}, nil
		}
		s.Count--
		if op.Lease > 0 {
			s = leased(s, op)
		}
		return s, nil

	case history.ForceUnlock:
		if (op.Outcome == history.Released) == s.Free() {
			return lie(contract.ForceTellsTruth)
		}
		return State{}, nil

	case history.Renew:
		switch {
		case op.Outcome == history.Renewed && mine:
			return leased(s, op), nil
		case op.Outcome == history.Renewed:
			return lie(contract.HolderRenews)
		case mine:
			return lie(contract.RenewalNotDenied)
		}
		return s, nil
	}
	if !truthful(s, op) {
		return lie(contract.QueryTellsTruth)
	}
	return s, nil
}

// Environment returns the state after something that is no operation, or an [Illegal] error.
//
// A restart or a failover changes nothing by itself: what became of each lock is told by the
// Delete and Restore events that come with it.
func Environment(s State, e history.Event) (State, error) {
	switch e.Kind {
	case history.Expire:
		switch {
		case s.Free():
			return s, &Illegal{Rule: contract.ExpiryOfAHold, State: s, Event: e}
		case past(s.Earliest, e.At+e.Within):
			return s, &Illegal{Rule: contract.NotBeforeLease, State: s, Event: e}
		}
		return State{}, nil
	case history.Delete:
		return State{}, nil
	case history.ForceTTL:
		if s.Free() {
			return s, nil
		}
		s.Earliest, s.Latest = e.Deadline, e.Deadline
		if e.Deadline == 0 {
			s.Earliest, s.Latest = Never, Never
		}
	case history.Restore:
		s = State{Owner: e.Owner, Count: e.Count, Earliest: e.Deadline, Latest: e.Deadline}
		if e.Deadline == 0 {
			s.Earliest, s.Latest = Never, Never
		}
	case history.ClockJump: // deadlines are times of the server's clock
		if s.Free() {
			return s, nil
		}
		s.Earliest, s.Latest = later(s.Earliest, -e.By), later(s.Latest, -e.By)
	case history.Leftover:
		if !s.Free() && past(e.At-e.Within, s.Latest) {
			return s, &Illegal{Rule: contract.NotAfterLease, State: s, Event: e}
		}
	}
	return s, nil
}

// answer is what a lock in state s says to op.
func answer(s State, op history.Op) history.Outcome {
	mine := s.Owner == op.Owner
	switch op.Kind {
	case history.Lock, history.TryLock:
		if s.Free() || mine {
			return history.Acquired
		}
		return history.Busy
	case history.Unlock:
		switch {
		case !mine:
			return history.NotHeld
		case s.Count > 1:
			return history.Decremented
		}
		return history.Released
	case history.ForceUnlock:
		if s.Free() {
			return history.NotHeld
		}
		return history.Released
	case history.Renew:
		if mine {
			return history.Renewed
		}
		return history.NotHeld
	}
	return history.Failed // a query that nobody heard the answer of
}

// truthful reports whether the answer of a query is what a lock in state s says.
func truthful(s State, op history.Op) bool {
	mine := s.Owner == op.Owner
	switch op.Kind {
	case history.IsLocked:
		return (op.Value != 0) == !s.Free()
	case history.IsHeldBy:
		return (op.Value != 0) == mine
	case history.HoldCount:
		return mine && op.Value == s.Count || !mine && op.Value == 0
	case history.RemainingTTL:
		from, to := when(op)
		ttl := time.Duration(op.Value)
		switch {
		case ttl == -2:
			return s.Free()
		case ttl == -1:
			return !s.Free() && s.Latest == Never
		}
		return !s.Free() && !past(later(s.Earliest, -to), ttl) && !past(ttl, later(s.Latest, -from))
	}
	return true
}

// showsHeld reports whether the answer of op shows that somebody held the lock.
func showsHeld(op history.Op) bool {
	switch op.Outcome {
	case history.Acquired, history.Busy, history.Decremented, history.Released, history.Renewed:
		return true
	case history.OK:
		return op.Value > 0 || op.Kind == history.RemainingTTL && op.Value > -2
	}
	return false
}

// when is the interval in which op took effect.
func when(op history.Op) (from, to time.Duration) {
	switch {
	case op.Evidence == history.Executed:
		return op.Executed - op.Within, op.Executed + op.Within
	case op.Uncertain():
		return op.Call, Never
	}
	return op.Call, op.Return
}

// leased returns s with the deadline that op sets.
func leased(s State, op history.Op) State {
	s.Earliest, s.Latest = Never, Never
	if op.Lease > 0 {
		from, to := when(op)
		s.Earliest, s.Latest = later(from, op.Lease), later(to, op.Lease)
	}
	return s
}

// later adds, and lets Never be never.
func later(t, d time.Duration) time.Duration {
	if t == Never || d > 0 && t > Never-d {
		return Never
	}
	return t + d
}

// past reports whether a is after b by more than the granularity of deadlines.
func past(a, b time.Duration) bool { return a > later(b, Granularity) }

func until(d time.Duration) string {
	if d == Never {
		return "for ever"
	}
	return "until " + stamp(d)
}

func stamp(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
