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

// neverReturned is the first call of a client that lived to the end that was still under way then; nil: there is none. Some calls
// return when the run is over, later than the history ends: one is preferred whose thread was left behind.
func neverReturned(h *history.History, left []string) *history.Op {
	var first *history.Op
	for i := range h.Ops {
		op := &h.Ops[i]
		died := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Client == op.Client && e.Kind == history.Died })
		if !op.Pending() || op.Aside || op.Kind.Renews() || died {
			continue
		}
		if slices.Contains(left, op.Owner) {
			return op
		}
		if first == nil {
			first = op
		}
	}
	return first
}

// leftBehind are the owners whose threads were left behind. The goroutine of the first is then the one that is told of.
func (r *run) leftBehind(e *bubble.LeftError) (owners []string) {
	for _, t := range r.threads {
		i := slices.IndexFunc(e.Goroutines, func(g bubble.Goroutine) bool { return g.Is(t.number.Load()) })
		if i < 0 {
			continue
		}
		if owners == nil {
			e.Goroutines[0], e.Goroutines[i] = e.Goroutines[i], e.Goroutines[0]
		}
		owners = append(owners, t.owner, history.WriterOf(t.owner))
	}
	return owners
}
