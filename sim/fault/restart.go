package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// restart is a server that stops and starts again: connections and scripts are gone, and the data
// too, unless it was saved. Keys age while it is down.
var restart = Kind{
	Name:  "restart",
	About: "the server is down for a while, and comes back without its data, or with it",
	Needs: plan.FaultNeeds{Lasts: true, Data: true},
	Effects: func(f plan.Fault) []history.Effect {
		effects := []history.Effect{history.ServerDown, history.ConnectionBroken}
		if f.Data != "all" {
			effects = append(effects, history.ServerForgot)
		}
		return effects
	},
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		record.Step = f.Data
		record.Hits = 1 + t.StopServer(f.Server, f.Data == "all") // itself, and its connections
	},
	End: func(t Target, f plan.Fault, _ *history.Fault) { t.StartServer(f.Server) },
}
