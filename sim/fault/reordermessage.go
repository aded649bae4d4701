package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// reorderMessage is two connections of unequal speed: on one, TCP keeps the order.
var reorderMessage = Kind{
	Name:    "reorder-message",
	About:   "a message waits until another of its client, on another connection, has passed it, or a while",
	Needs:   plan.FaultNeeds{Client: plan.May, Lock: plan.May, By: plan.Must, Messages: true},
	Effects: always(history.MessageLate),
	Strike: func(t Target, f plan.Fault, m Message) Fate {
		t.Overtake(m, f.By.Duration())
		return Later
	},
}
