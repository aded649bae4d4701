package linear

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
)

// This file is the rule for what happens at one instant, which doc.go states.

// Moment is a time as the checkers order it, in half nanoseconds. What clients and servers do
// comes half a nanosecond after the instant. On a virtual clock what the environment does comes at the
// instant itself, hence before. [history.MaxTime] keeps the sum from overflowing.
func Moment(t time.Duration) int64 { return 2*int64(t) + 1 }

// Struck are the moments between which something came that the environment did between two times.
func Struck(virtual bool, since, at time.Duration) (from, to int64) {
	from, to = Moment(since), Moment(at)
	if virtual {
		if from--; since == at {
			to-- // of what is not exact nobody knows that it was the first of its last instant
		}
	}
	return from, to
}

// timeOf is the time of a moment.
func timeOf(moment int64) time.Duration { return time.Duration(moment >> 1) }

// toMoments turns the times between which actions take effect into moments.
func (l *Lock) toMoments(actions []action) {
	for i := range actions {
		a := &actions[i]
		from, to := Moment(time.Duration(a.call)), Moment(time.Duration(a.ret))
		if a.owner == 0 {
			from, to = Struck(l.Virtual, time.Duration(a.call), time.Duration(a.ret))
		}
		if a.call = from; a.ret != open {
			a.ret = to
		}
	}
}

// Beside reports whether an operation is no step of its owner's program: the lock did it by itself, the owner
// did not wait for it, or it took effect after the owner may have given up.
func Beside(op *history.Op) bool {
	return op.Aside || op.Kind.Renews() || (op.Uncertain() || op.Outcome == history.Failed) && op.Evidence == history.Executed && op.Return > 0 && op.Executed >= op.Return
}

// follow says of each step of a lock which one it follows though both are of one moment: its owner's step before
// and, with the server's times, the one before in the server log.
func (l *Lock) follow(ops []porcupine.Operation) {
	last := map[string]*porcupine.Operation{} // owner -> its last step that is certain
	byID := map[int64]*Step{}
	for i := range ops {
		n := &ops[i]
		in := n.Input.(*Step)
		byID[in.id] = in
		if in.Event != nil || Beside(in.source) {
			continue
		}
		if p := last[in.Op.Owner]; p != nil && p.Return >= n.Call {
			in.after = append(in.after, p.Input.(*Step).id)
		}
		if !in.Maybe && n.Return != math.MaxInt64 {
			last[in.Op.Owner] = n
		}
	}
	for _, pair := range l.Order {
		if in := byID[pair[1]]; in != nil {
			in.after = append(in.after, pair[0])
		}
	}
}

// tie gives each pair of steps that follow each other at one moment a bit of its own, as long as they last: the
// first sets it, the second needs it. Pairs beyond [MaxUnderWay] at once stay in no order; what porcupine is asked
// about has far fewer.
func tie(ops []porcupine.Operation) {
	at := make(map[int64]int, len(ops))
	for i := range ops {
		in := ops[i].Input.(*Step)
		at[in.id], in.needs, in.gives = i, slots{}, slots{}
	}
	type pair struct{ first, second int }
	var pairs []pair
	for i := range ops {
		for _, id := range ops[i].Input.(*Step).after {
			if first, known := at[id]; known {
				pairs = append(pairs, pair{first, i})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(ops[a.first].Call, ops[b.first].Call) })
	var used slots
	until := [MaxUnderWay]int64{}
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
		if until[bit] = ops[p.second].Return; ops[p.second].Input.(*Step).Later {
			until[bit] = math.MaxInt64 // it may be left out before the first takes effect
		}
		ops[p.first].Input.(*Step).gives.set(bit)
		ops[p.second].Input.(*Step).needs.set(bit)
	}
}
