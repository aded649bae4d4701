package checker

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// answered returns a history whose unlocks say whether a hold is left. A caller that was told [history.Unlocked] was
// told no more than that one hold was given back: what the server did is then the answer. Where nobody knows that, the
// call says no more than one whose outcome is unknown.
func answered(h *history.History) *history.History {
	if !slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.Outcome == history.Unlocked }) {
		return h
	}
	told := *h
	told.Ops = slices.Clone(h.Ops)
	for i := range told.Ops {
		op := &told.Ops[i]
		switch {
		case op.Outcome != history.Unlocked:
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
