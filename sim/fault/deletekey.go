package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// deleteKey is an operator's DEL, or FLUSHALL if no lock is named. Nobody is told.
var deleteKey = Kind{
	Name:    "delete-key",
	About:   "the lock's key is deleted, or all keys are",
	Needs:   plan.FaultNeeds{Lock: plan.May},
	Effects: always(history.KeyDeleted),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		if t.DeleteKey(f.Lock) {
			record.Hits = 1
		}
	},
}
