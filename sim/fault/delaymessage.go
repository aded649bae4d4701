package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// delayMessage is a packet that TCP had to send again and again. Its connection keeps its order: what
// follows it waits. A client that has given up meanwhile sends again on another connection, and the
// delayed message arrives all the same.
var delayMessage = Kind{
	Name:    "delay-message",
	About:   "a message arrives later, and what follows it on its connection waits",
	Needs:   plan.FaultNeeds{Client: plan.May, Lock: plan.May, By: plan.Must, Messages: true},
	Effects: always(history.MessageLate),
	Strike: func(t Target, f plan.Fault, m Message) Fate {
		t.Delay(m, f.By.Duration())
		return Later
	},
}
