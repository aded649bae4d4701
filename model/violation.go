package model

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Violation says that something happened that an object of the lock family other than the locks of [Kind]
// does not allow in its state. It is the only error type that the steps of those objects return; recognise it
// with [errors.As].
type Violation struct {
	Rule  contract.Rule
	State fmt.Stringer  // fits after "but "
	Op    history.Op    // with the answer that was refused; zero for an event
	Event history.Event // zero for an operation
}

// Error says in words what happened and what the state was.
func (v *Violation) Error() string {
	if v.Event.Kind != "" {
		return fmt.Sprintf("%s at %s, but %s", v.Event.Kind, stamp(v.Event.At), v.State)
	}
	by := ""
	if v.Op.Owner != "" {
		by = " by " + v.Op.Owner
	}
	if s, ok := v.State.(PermitsState); ok && v.Op.Kind.OnPermit() {
		return fmt.Sprintf("%s%s of permit %d answered %s, but %s", v.Op.Kind, by, v.Op.Token, v.Op.Outcome, s.of(v.Op))
	}
	if takesValue(v.Op.Kind) {
		return fmt.Sprintf("%s(%d)%s answered %s, but %s", v.Op.Kind, v.Op.Value, by, v.Op.Outcome, v.State)
	}
	return fmt.Sprintf("%s%s answered %s, but %s", v.Op.Kind, by, told(v.Op), v.State)
}

// takesValue reports whether the value of an operation is its argument, and not its answer.
func takesValue(k history.Kind) bool {
	switch k {
	case history.TrySetPermits, history.AddPermits, history.AcquirePermits, history.TryAcquirePermits,
		history.ReleasePermits, history.ReleaseIfExists, history.TrySetCount, history.TrySetTotal, history.AddTotal:
		return true
	}
	return false
}

// life is the time to live of a key that holds an object: it ends in [Earliest, Latest], both [Never] where
// it has no end. The zero value is that of no key.
type life struct{ Earliest, Latest time.Duration }

var endless = life{Never, Never}

// lasting is the life that op gives a key.
func lasting(op history.Op) life {
	if op.Lease <= 0 {
		return endless
	}
	from, to := when(op)
	if op.Watchdog && op.Evidence == history.NoEvidence {
		to = Never // nobody saw until when it was renewed
	}
	return life{later(from, op.Lease), later(to, op.Lease)}
}

// overAt reports whether a key with this life was gone for certain when op took effect, if anybody saw its
// answer.
func (l life) overAt(op history.Op, uncertain bool) bool {
	from, _ := when(op)
	return (!uncertain || op.Evidence == history.Executed) && past(from, l.Latest)
}

// environment is what an event makes of a life: gone says that the key is. A non-empty rule is broken.
func (l life) environment(e history.Event) (next life, gone bool, rule contract.Rule) {
	switch e.Kind {
	case history.Expire:
		if past(l.Earliest, e.At+e.Within) {
			return l, false, contract.NotBeforeLease
		}
		return life{}, true, ""
	case history.Delete:
		return life{}, true, ""
	case history.ForceTTL:
		if e.Deadline == 0 {
			return endless, false, ""
		}
		return life{e.Deadline, e.Deadline}, false, ""
	case history.ClockJump: // deadlines are times of the server's clock
		return life{later(l.Earliest, -e.By), later(l.Latest, -e.By)}, false, ""
	case history.Leftover:
		if past(e.At-e.Within, l.Latest) {
			return l, false, contract.NotAfterLease
		}
	}
	return l, false, ""
}
