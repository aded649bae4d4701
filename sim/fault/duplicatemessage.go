package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// duplicateMessage is a proxy, or a driver, that sends a request again though it had arrived. TCP
// itself never does: the copy comes on a connection of its own, and its reply goes to nobody. Of a transaction the whole
// is sent again, if it watches nothing.
var duplicateMessage = Kind{
	Name:    "duplicate-message",
	About:   "a request arrives, and once more later, on a connection of its own",
	Needs:   plan.FaultNeeds{Client: plan.May, Lock: plan.May, By: plan.Must, Messages: true, Requests: true},
	Effects: always(history.MessageCopied),
	Strike:  func(t Target, f plan.Fault, m Message) Fate { return t.Copy(m, f.By.Duration()) },
}
