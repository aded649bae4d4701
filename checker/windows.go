package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// JudgeInWindows judges a history as a [Stream] did, or would have, while it was recorded: with the same
// verdict, and what faults excuse excused. part is the window in which something broke, and window the
// verdict on it, as of [Stream.Broken].
func JudgeInWindows(h *history.History, o Options) (v *Verdict, part *history.History, window *Verdict) {
	s := NewStream(h.Header, o)
	s.replay(h)
	v = s.finish(h.End, endOf(h))
	part, window = s.Broken()
	return v, part, window
}

// A moment is one at which a record became known.
type moment struct {
	at    time.Duration
	what  momentKind
	index int
}

// The kinds are in the order in which those of one instant are added: what begins before what ends,
// so that no window ends between the two.
type momentKind int

const (
	opCalled momentKind = iota
	faultBegan
	eventCame
	opAtOnce // it took no time
	opReturned
	opClosed // it can no longer take effect
	faultOver
)

// replay adds the records of a history in the order in which they became known.
func (s *Stream) replay(h *history.History) {
	moments := make([]moment, 0, 2*len(h.Ops)+len(h.Events)+2*len(h.Faults))
	note := func(at time.Duration, what momentKind, index int) { moments = append(moments, moment{at, what, index}) }
	for i := range h.Ops {
		switch op := &h.Ops[i]; {
		case op.Evidence == history.NotSent, op.Return == op.Call && !closes(op):
			note(max(op.Call, op.Return), opAtOnce, i)
		default:
			note(op.Call, opCalled, i)
			if !op.Pending() && op.Return > op.Call {
				note(op.Return, opReturned, i)
			}
			if closes(op) {
				note(max(op.Call, op.Return, op.Until), opClosed, i)
			}
		}
	}
	for i := range h.Events {
		note(h.Events[i].At, eventCame, i)
	}
	for i := range h.Faults {
		note(h.Faults[i].From, faultBegan, i)
		if h.Faults[i].To > 0 {
			note(h.Faults[i].To, faultOver, i)
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what))
	})
	for _, m := range moments {
		switch m.what {
		case opCalled:
			op := h.Ops[m.index]
			op.Return, op.Outcome, op.Value, op.Token, op.Error, op.Evidence, op.Until = 0, "", 0, 0, "", "", 0
			s.Add(op)
		case opReturned:
			op := h.Ops[m.index]
			if closes(&op) {
				op.Evidence, op.Until = "", 0
			}
			s.Add(op)
		case opClosed, opAtOnce:
			s.Add(h.Ops[m.index])
		case eventCame:
			s.Add(h.Events[m.index])
		case faultBegan:
			f := h.Faults[m.index]
			f.To = 0
			s.Add(f)
		case faultOver:
			s.Add(h.Faults[m.index])
		}
	}
}

// closes reports whether it became known later that an operation can no longer take effect.
func closes(op *history.Op) bool {
	return op.Uncertain() && op.Evidence == history.Sent && op.Until > 0
}
