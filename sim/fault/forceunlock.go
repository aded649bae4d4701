package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// forceUnlock is an operator who frees a lock by the lock's own means, from a client of his own.
var forceUnlock = Kind{
	Name:    "force-unlock",
	About:   "an operator calls forceUnlock",
	Needs:   plan.FaultNeeds{Lock: plan.Must},
	Effects: always(history.ForcedFree),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		t.ForceUnlock(f.Lock)
		record.Hits = 1
	},
}
