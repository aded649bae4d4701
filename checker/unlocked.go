package checker

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// answered returns a history whose unlocks say whether a hold is left. A caller that was told [history.Unlocked] was
// told no more than that one hold was given back, and one that was told [history.OK], nothing: what the server did is
// then the answer. Where nobody knows that, the call says no more than one whose outcome is unknown.
func answered(h *history.History) *history.History {
	vague := func(op history.Op) bool {
		return op.Kind == history.Unlock && (op.Outcome == history.Unlocked || op.Outcome == history.OK)
	}
	if !slices.ContainsFunc(h.Ops, vague) {
		return h
	}
	told := *h
	told.Ops = slices.Clone(h.Ops)
	for i := range told.Ops {
		op := &told.Ops[i]
		switch {
		case !vague(*op):
		case op.Evidence == history.Executed && op.Outcome == history.OK:
			op.Outcome = op.Answer
		case op.Evidence == history.Executed && op.Answer == history.Decremented:
			op.Outcome = history.Decremented
		case op.Evidence == history.Executed, ModelOf(h) == model.Exclusive:
			op.Outcome = history.Released
		default:
			op.Outcome = history.Unknown
		}
	}
	return &told
}
