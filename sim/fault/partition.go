package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// partition is a network that loses a client's packets. TCP sends them again when it has healed.
var partition = Kind{
	Name:  "partition",
	About: "nothing the client sends arrives, nothing it is sent, or both; delivered after healing",
	Needs: plan.FaultNeeds{Client: plan.Must, Lasts: true, Direction: true},
	Effects: func(f plan.Fault) []history.Effect {
		var effects []history.Effect
		requests, replies := directions(f)
		if requests {
			effects = append(effects, history.RequestsHeld)
		}
		if replies {
			effects = append(effects, history.RepliesHeld)
		}
		return effects
	},
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		requests, replies := directions(f)
		record.Step = f.Direction
		if f.Direction == "" {
			record.Step = "both"
		}
		t.Partition(f.Client, f.Server, requests, replies)
	},
	End: func(t Target, f plan.Fault, record *history.Fault) {
		requests, replies := directions(f)
		record.Hits = t.Heal(f.Client, f.Server, requests, replies)
	},
}

func directions(f plan.Fault) (requests, replies bool) {
	return f.Direction != "replies", f.Direction != "requests"
}
