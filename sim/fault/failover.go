package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// failover is a master that dies, and a replica that takes its place: what the replica has not
// received is lost.
var failover = Kind{
	Name:    "failover",
	About:   "the master dies, and a replica takes its place",
	Needs:   plan.FaultNeeds{Replica: true},
	Effects: always(history.ServerForgot, history.ConnectionBroken),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		record.Hits = t.Failover(f.Server, max(f.Replica, 1))
	},
}
