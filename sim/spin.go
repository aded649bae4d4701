package sim

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/world"
)

// waiterFor is the call for which somebody sent commands without a pause, if that waits for a lock, or for a count; 0: it does not. by is
// the client that sent them by itself, on behalf of who made the call: what an attempt of it may have left has to be settled.
func waiterFor(h *history.History, spin *world.SpinError) (call int64, by string) {
	such := func(is func(*history.Op) bool) int64 {
		i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return (op.Kind.Asks() || op.Kind.Awaits()) && is(&op) })
		if i < 0 {
			return 0
		}
		return h.Ops[i].ID
	}
	if spin.Call != 0 {
		return such(func(op *history.Op) bool { return op.ID == spin.Call }), ""
	}
	for _, r := range slices.Backward(h.Served) {
		if r.Client != spin.Client || r.Op != 0 {
			continue
		}
		if r.Owner == "" { // nobody knows for whom
			return 0, ""
		}
		call = such(func(op *history.Op) bool {
			return op.Pending() && op.Owner == r.Owner && op.Client == r.Client && op.Lock == r.Lock
		})
		if call != 0 {
			by = spin.Client
		}
		return call, by
	}
	return 0, ""
}
