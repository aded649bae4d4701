package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// slowServer is a server that is busy with something else: it gets to each request later, and answers
// later.
var slowServer = Kind{
	Name:    "slow-server",
	About:   "the server gets to every request, or to some, later",
	Needs:   plan.FaultNeeds{Client: plan.May, By: plan.Must, Messages: true, Requests: true},
	Effects: always(history.ServerSlow),
	Strike: func(t Target, f plan.Fault, m Message) Fate {
		t.Delay(m, f.By.Duration())
		return Later
	},
}
