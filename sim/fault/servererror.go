package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// serverError is a server that cannot: BUSY with a script, LOADING its data, READONLY after a
// failover, OOM, or MISCONF since it could not save. Only what Redis refuses in that state is
// refused, and it is not executed.
var serverError = Kind{
	Name:    "server-error",
	About:   "the server refuses commands with BUSY, LOADING, READONLY, OOM or MISCONF",
	Needs:   plan.FaultNeeds{Client: plan.May, Lock: plan.May, Error: true, Messages: true, Requests: true},
	Effects: always(history.RequestRefused),
	Strike:  func(t Target, f plan.Fault, m Message) Fate { return t.Refuse(m, f.Error) },
}
