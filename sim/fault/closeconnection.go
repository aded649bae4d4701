package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// closeConnection is CLIENT KILL, a load balancer's idle timeout, a cable: both ends know at once.
var closeConnection = Kind{
	Name:    "close-connection",
	About:   "all connections of the client are reset, with what is under way on them",
	Needs:   plan.FaultNeeds{Client: plan.Must},
	Effects: always(history.ConnectionBroken),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		record.Hits = t.CloseConnections(f.Client)
	},
}
