package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// clockJump is a clock that was set forward: leases end early by as much.
var clockJump = Kind{
	Name:    "clock-jump",
	About:   "the server's clock jumps forward",
	Needs:   plan.FaultNeeds{By: plan.Must},
	Effects: always(history.ClockMoved),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		record.Hits = t.JumpClock(f.Server, f.By.Duration())
	},
}
