package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// clockJump is a clock that was set forward: leases end early by as much. With a client it is that client's, by which it tells a server
// the time.
var clockJump = Kind{
	Name:  "clock-jump",
	About: "the server's clock jumps forward, or a client's",
	Needs: plan.FaultNeeds{By: plan.Must, Client: plan.May},
	Effects: func(f plan.Fault) []history.Effect {
		if f.Client != "" {
			return []history.Effect{history.ClientClockMoved}
		}
		return []history.Effect{history.ClockMoved}
	},
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		if f.Client != "" {
			t.JumpClientClock(f.Client, f.By.Duration())
			record.Hits = 1
			return
		}
		record.Hits = t.JumpClock(f.Server, f.By.Duration())
	},
}
