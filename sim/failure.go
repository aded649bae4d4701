package sim

import (
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// What is said of a run that failed.

// A PanicError is a panic of the lock under test, or of the harness, in a program's call.
type PanicError struct {
	During string // the operation, for example `lock "order:42" by c1:1`
	Value  any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic during %s: %v%s", e.During, e.Value, bubble.PanickedAt(e.Stack))
}

// neverReturned is the first call of a client that lived to the end that was still under way then; nil: there is none.
func neverReturned(h *history.History) *history.Op {
	for i := range h.Ops {
		op := &h.Ops[i]
		died := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Client == op.Client && e.Kind == history.Died })
		if op.Pending() && !op.Aside && !op.Kind.Renews() && !died {
			return op
		}
	}
	return nil
}
