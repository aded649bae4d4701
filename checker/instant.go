package checker

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
)

// This file is the rule for what happens at one instant, which doc.go states.

// A moment is a time as the checkers of object order it, in half nanoseconds. What clients and servers do
// comes half a nanosecond after the instant. On a virtual clock what the environment does comes at the
// instant itself, hence before. [history.MaxTime] keeps the sum from overflowing.
func momentOf(t time.Duration) int64 { return 2*int64(t) + 1 }

// struck are the moments between which something came that the environment did between two times.
func (f *facts) struck(since, at time.Duration) (from, to int64) {
	from, to = momentOf(since), momentOf(at)
	if f.h.Header.Clock == history.Virtual {
		if from--; since == at {
			to-- // of what is not exact nobody knows that it was the first of its last instant
		}
	}
	return from, to
}

// timeOf is the time of a moment.
func timeOf(moment int64) time.Duration { return time.Duration(moment >> 1) }

// toMoments turns the times between which actions take effect into moments.
func (f *facts) toMoments(actions []action) {
	for i := range actions {
		a := &actions[i]
		from, to := momentOf(time.Duration(a.call)), momentOf(time.Duration(a.ret))
		if a.owner == 0 {
			from, to = f.struck(time.Duration(a.call), time.Duration(a.ret))
		}
		if a.call = from; a.ret != open {
			a.ret = to
		}
	}
}

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
	return a.op.Owner == b.op.Owner && !beside(a.op) && !beside(b.op)
}

// beside reports whether an operation is no step of its owner's program: the lock did it by itself, the owner
// did not wait for it, or it took effect after the owner may have given up.
func beside(op *history.Op) bool {
	return op.Aside || op.Kind == history.Renew || (op.Uncertain() || op.Outcome == history.Failed) && op.Evidence == history.Executed && op.Return > 0 && op.Executed >= op.Return
}

// follow says of each step of a lock which one it follows though both are of one moment: its owner's step before
// and, with the server's times, the one before in the server log.
func follow(l *lockFacts, ops []porcupine.Operation, w window) {
	last := map[string]*porcupine.Operation{} // owner -> its last step that is certain
	byID := map[int64]*porcupineStep{}
	for i := range ops {
		n := &ops[i]
		in := n.Input.(*porcupineStep)
		byID[in.id] = in
		if in.event != nil || beside(in.source) {
			continue
		}
		if p := last[in.op.Owner]; p != nil && p.Return >= n.Call {
			in.after = append(in.after, p.Input.(*porcupineStep).id)
		}
		if !in.maybe && n.Return != math.MaxInt64 {
			last[in.op.Owner] = n
		}
	}
	if w != asExecuted {
		return
	}
	for i := 1; i < len(l.acts); i++ {
		a, b := &l.acts[i-1], &l.acts[i]
		if a.at == b.at && a.seq >= 0 && b.seq >= 0 && !a.again && !b.again {
			if in := byID[l.id(b)]; in != nil {
				in.after = append(in.after, l.id(a))
			}
		}
	}
}

// id is what a porcupineStep calls an act.
func (l *lockFacts) id(a *act) int64 {
	if a.event != nil {
		return int64(^slices.Index(l.environment, a.event))
	}
	return a.op.ID
}

// tie gives each pair of steps that follow each other at one moment a bit of its own, as long as they last: the
// first sets it, the second needs it. Pairs beyond [maxSlots] at once stay in no order; what porcupine is asked
// about has far fewer.
func tie(ops []porcupine.Operation) {
	at := make(map[int64]int, len(ops))
	for i := range ops {
		in := ops[i].Input.(*porcupineStep)
		at[in.id], in.needs, in.gives = i, slots{}, slots{}
	}
	type pair struct{ first, second int }
	var pairs []pair
	for i := range ops {
		for _, id := range ops[i].Input.(*porcupineStep).after {
			if first, known := at[id]; known {
				pairs = append(pairs, pair{first, i})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmpInt(ops[a.first].Call, ops[b.first].Call) })
	var used slots
	until := [maxSlots]int64{}
	for _, p := range pairs {
		used.each(func(bit uint8) bool {
			if until[bit] < ops[p.first].Call {
				used.clear(bit)
			}
			return true
		})
		bit, ok := lowestFree(used)
		if !ok {
			return
		}
		used.set(bit)
		if until[bit] = ops[p.second].Return; ops[p.second].Input.(*porcupineStep).later {
			until[bit] = math.MaxInt64 // it may be left out before the first takes effect
		}
		ops[p.first].Input.(*porcupineStep).gives.set(bit)
		ops[p.second].Input.(*porcupineStep).needs.set(bit)
	}
}
