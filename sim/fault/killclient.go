package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// killClient is a process that ends without a word. Its machine may live on and reset its
// connections, or die with it, so that they linger.
var killClient = Kind{
	Name:    "kill-client",
	About:   "the client is gone for good; its connections linger, or are reset",
	Needs:   plan.FaultNeeds{Client: plan.Must, Reset: true},
	Effects: always(history.ProcessDied),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		t.KillClient(f.Client, f.Reset)
		record.Hits = 1
	},
}
