package checker

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// answered returns a history whose unlocks say whether a hold is left. A caller that was told [history.Unlocked] was
// told no more than that one hold was given back, and one that was told [history.OK], nothing: what the server did is
// then the answer. Where nobody knows that, the call says no more than one whose outcome is unknown. silent are the calls that
// did not tell what is left, by their ids: their owners count their own calls. A call that failed when its client had given back what an attempt of
// it had got is one whose outcome is unknown: what the attempt and the giving back did is known.
func answered(h *history.History) (told *history.History, silent map[int64]bool) {
	vague := func(op history.Op) bool {
		return op.Kind.Unlocks() && (op.Outcome == history.Unlocked || op.Outcome == history.OK)
	}
	undone := func(op history.Op) bool {
		return op.Kind.Acquires() && op.Outcome == history.Failed && op.Evidence == history.Executed && op.Answer == history.Acquired &&
			slices.ContainsFunc(h.Ops, func(o history.Op) bool {
				return o.Kind.Unlocks() && o.Aside && o.Lock == op.Lock && o.Owner == op.Owner && o.Answer == history.Released &&
					op.Executed < o.Executed && !o.Pending() && o.Return <= op.Return
			})
	}
	if !slices.ContainsFunc(h.Ops, func(op history.Op) bool { return vague(op) || undone(op) }) {
		return h, nil
	}
	copied := *h
	kind := ModelOf(h)
	told, silent = &copied, map[int64]bool{}
	told.Ops = slices.Clone(h.Ops)
	for i := range told.Ops {
		op := &told.Ops[i]
		if vague(*op) {
			silent[op.ID] = true
		}
		switch {
		case undone(*op):
			op.Outcome = history.Unknown
		case !vague(*op):
		case op.Evidence == history.Executed && op.Outcome == history.OK:
			op.Outcome = op.Answer
		case op.Evidence == history.NotSent && op.Outcome == history.OK: // its client knew that it held nothing
			op.Outcome = history.NotHeld
		case op.Outcome == history.OK: // a lock that keeps its errors to itself, or of which nobody saw what it did
			op.Outcome = history.Unknown
		case op.Evidence == history.Executed && op.Answer == history.Decremented:
			op.Outcome = history.Decremented
		case op.Evidence == history.Executed, kind == model.Exclusive, kind == model.Anew:
			op.Outcome = history.Released
		default:
			op.Outcome = history.Unknown
		}
	}
	return told, silent
}
