package checker

import (
	"slices"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
)

// doubtful reports whether the order of the acts is one of several: an event has no exact time, or two acts share an
// instant, and neither the server log, nor their owner's program, nor a virtual clock says which came first.
func doubtful(f *facts, l *lockFacts) bool {
	if slices.ContainsFunc(l.environment, func(e *history.Event) bool { return e.Since > 0 && e.Since < e.At }) {
		return true
	}
	for from := 0; from < len(l.acts); {
		to := from + 1
		for to < len(l.acts) && l.acts[to].at == l.acts[from].at {
			to++
		}
		for i := from; i < to; i++ {
			for j := i + 1; j < to; j++ {
				if !f.inOrder(&l.acts[i], &l.acts[j]) {
					return true
				}
			}
		}
		from = to
	}
	return false
}

// inOrder reports whether it is known which of two acts at one instant came first.
func (f *facts) inOrder(a, b *act) bool {
	switch {
	case a.seq >= 0 && b.seq >= 0:
		return true
	case a.event != nil && b.event != nil:
		return false
	case a.event != nil || b.event != nil:
		return f.h.Header.Clock == history.Virtual
	}
	return a.op.Owner == b.op.Owner && !linear.Beside(a.op) && !linear.Beside(b.op)
}

// order are the acts at one instant of which the server log says which came first, by their names for porcupine.
func (l *lockFacts) order() (pairs [][2]int64) {
	for i := 1; i < len(l.acts); i++ {
		a, b := &l.acts[i-1], &l.acts[i]
		if a.at == b.at && a.seq >= 0 && b.seq >= 0 && !a.again && !b.again {
			pairs = append(pairs, [2]int64{l.id(a), l.id(b)})
		}
	}
	return pairs
}

// id is what a [linear.Step] calls an act.
func (l *lockFacts) id(a *act) int64 {
	if a.event != nil {
		return int64(^slices.Index(l.environment, a.event))
	}
	return a.op.ID
}
