package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// dropMessage is a firewall that forgot a connection, or a machine that died: bytes vanish, and the
// sender waits in vain. Go-redis's deadlines are what ends that. With Reset the connection breaks,
// and both ends know at once.
var dropMessage = Kind{
	Name:  "drop-message",
	About: "a message is lost, and with it what follows on its connection, which may be reset",
	Needs: plan.FaultNeeds{Client: plan.May, Lock: plan.May, Reset: true, Messages: true},
	Effects: func(f plan.Fault) []history.Effect {
		if f.Reset {
			return []history.Effect{history.MessageLost, history.ConnectionBroken}
		}
		return []history.Effect{history.MessageLost}
	},
	Strike: func(t Target, f plan.Fault, m Message) Fate {
		if f.Reset {
			t.Reset(m)
		} else {
			t.Drop(m)
		}
		return Gone
	},
}
