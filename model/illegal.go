package model

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Illegal says that something happened that the lock in its state does not allow. It is the only
// error type this package returns; recognise it with [errors.As].
//
// A searching checker meets it at every wrong turn and drops it, so that the words are made only
// when somebody asks for them.
type Illegal struct {
	Rule  contract.Rule
	State State
	Op    history.Op    // with the answer that was refused; zero for an event
	Event history.Event // zero for an operation
}

// Error says in words what happened and what the state was.
func (e *Illegal) Error() string {
	s, op := e.State, e.Op
	switch {
	case e.Event.Kind == history.Leftover:
		return fmt.Sprintf("the key was still there at %s, but the lease of %s had ended %s",
			stamp(e.Event.At), s.Owner, endedBy(s.Latest))
	case e.Rule == contract.ExpiryOfAHold:
		return fmt.Sprintf("the key expired at %s, but the lock is free", stamp(e.Event.At))
	case e.Rule == contract.NotBeforeLease:
		return fmt.Sprintf("the key expired at %s, but the lease of %s lasts %s",
			stamp(e.Event.At), s.Owner, until(s.Earliest))
	case e.Rule == contract.NotAfterLease:
		from, _ := when(op)
		return fmt.Sprintf("%s by %s answered %s at %s, but the lease of %s had ended %s and nothing removed the key",
			op.Kind, op.Owner, told(op), stamp(from), s.Owner, endedBy(s.Latest))
	}
	switch e.Rule {
	case contract.TokenGiven:
		return fmt.Sprintf("%s by %s answered %s without a token", op.Kind, op.Owner, told(op))
	case contract.TokensIncrease:
		return fmt.Sprintf("%s by %s answered %s with token %d, but token %d had been granted", op.Kind, op.Owner, told(op), op.Token, s.Token)
	}
	return fmt.Sprintf("%s by %s answered %s, but the lock is %s", op.Kind, op.Owner, told(op), s)
}

// endedBy says when a lease had ended for certain. A jump of the server's clock can end one before the run began, by what the clock says since.
func endedBy(t time.Duration) string {
	if t < 0 {
		return "when the server's clock jumped"
	}
	return "by " + stamp(t)
}

func told(op history.Op) string {
	switch {
	case op.Outcome != history.OK:
		return string(op.Outcome)
	case op.Kind == history.RemainingTTL && op.Value > 0:
		return fmt.Sprintf("%v s", time.Duration(op.Value).Seconds())
	}
	return fmt.Sprint(op.Value)
}
