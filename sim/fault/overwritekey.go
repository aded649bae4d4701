package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// overwriteKey is another program that uses the same key for something else.
var overwriteKey = Kind{
	Name:    "overwrite-key",
	About:   "the lock's key becomes a text without a TTL",
	Needs:   plan.FaultNeeds{Lock: plan.Must},
	Effects: always(history.KeyOverwritten),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		if t.OverwriteKey(f.Lock) {
			record.Hits = 1
		}
	},
}
