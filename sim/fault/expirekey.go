package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// expireKey is a key whose TTL ends early: an operator's EXPIRE, an eviction, a clock ahead.
var expireKey = Kind{
	Name:    "expire-key",
	About:   "the TTL of the lock's key ends at once",
	Needs:   plan.FaultNeeds{Lock: plan.Must},
	Effects: always(history.KeyExpired),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		if t.ExpireKey(f.Lock) {
			record.Hits = 1
		}
	},
}
