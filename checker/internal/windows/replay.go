package windows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A moment is one at which a record became known.
type moment struct {
	at    time.Duration
	what  momentKind
	index int
}

// Of one instant the environment's come first; then those of each operation, in the order of the operations, which
// is that of each owner's program, and of the kinds.
type momentKind int

const (
	faultBegan momentKind = iota
	eventBegan            // it came at some time from now on
	eventCame
	faultOver
	opCalled
	opAtOnce // it took no time
	opReturned
	opClosed // it can no longer take effect
)

// Replay adds the records of a history in the order in which they became known.
func (c *Cutter) Replay(ctx context.Context, h *history.History) {
	moments := make([]moment, 0, 2*len(h.Ops)+len(h.Events)+2*len(h.Faults))
	note := func(at time.Duration, what momentKind, index int) { moments = append(moments, moment{at, what, index}) }
	for i := range h.Ops {
		op := &h.Ops[i]
		note(op.Call, opCalled, i) // calls of one instant stay in their order
		switch {
		case op.Evidence == history.NotSent, op.Return == op.Call && !closes(op):
			note(max(op.Call, op.Return), opAtOnce, i)
		default:
			if !op.Pending() && op.Return > op.Call {
				note(op.Return, opReturned, i)
			}
			if op.Pending() && op.Evidence == history.Executed {
				note(op.Executed, opReturned, i) // what the server did is known, though nobody heard of it
			}
			if closes(op) {
				note(max(op.Call, op.Return, op.Until), opClosed, i)
			}
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Lock != "" && e.Since > 0 && e.Since < e.At {
			note(e.Since, eventBegan, i)
		}
		note(h.Events[i].At, eventCame, i)
	}
	for i := range h.Faults {
		note(h.Faults[i].From, faultBegan, i)
		if h.Faults[i].To > 0 {
			note(h.Faults[i].To, faultOver, i)
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		ops := cmp.Compare(min(a.what, opCalled), min(b.what, opCalled))
		return cmp.Or(cmp.Compare(a.at, b.at), ops, cmp.Compare(a.index, b.index), cmp.Compare(a.what, b.what))
	})
	called := map[*lock]bool{}
	add := func(record any) {
		if l := c.take(record); l != nil {
			called[l] = true
		}
	}
	for i, m := range moments {
		if ctx.Err() != nil {
			return
		}
		if i > 0 && moments[i-1].at < m.at { // no window ends within an instant, of which the order may be another
			for _, l := range c.inOrder(called) {
				c.cut(l, false)
			}
			clear(called)
		}
		switch m.what {
		case opCalled:
			op := h.Ops[m.index]
			op = op.Unanswered()
			op.Evidence, op.Until = "", 0
			add(op)
		case opReturned:
			op := h.Ops[m.index]
			if closes(&op) {
				op.Evidence, op.Until = "", 0
			}
			add(op)
		case opClosed, opAtOnce:
			add(h.Ops[m.index])
		case eventBegan: // no window ends before it is known what became of the lock
			c.lock(h.Events[m.index].Lock).struck[^m.index] = true
		case eventCame:
			if lock := h.Events[m.index].Lock; lock != "" {
				delete(c.lock(lock).struck, ^m.index)
			}
			add(h.Events[m.index])
		case faultBegan:
			f := h.Faults[m.index]
			f.To = 0
			add(f)
		case faultOver:
			add(h.Faults[m.index])
		}
	}
}

// inOrder lists locks by their names.
func (c *Cutter) inOrder(locks map[*lock]bool) []*lock {
	return slices.SortedFunc(maps.Keys(locks), func(a, b *lock) int { return cmp.Compare(a.name, b.name) })
}

// closes reports whether it became known later that an operation can no longer take effect.
func closes(op *history.Op) bool {
	return op.Uncertain() && op.Evidence == history.Sent && op.Until > 0
}
