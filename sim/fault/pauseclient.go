package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// pauseClient is a stop-the-world collection, a suspended virtual machine, a process without CPU.
var pauseClient = Kind{
	Name:    "pause-client",
	About:   "the whole client stops: its programs, its watchdog, what it sends and reads",
	Needs:   plan.FaultNeeds{Client: plan.Must, Lasts: true},
	Effects: always(history.ProcessStopped, history.TimersStopped),
	Begin:   func(t Target, f plan.Fault, _ *history.Fault) { t.PauseClient(f.Client) },
	End: func(t Target, f plan.Fault, record *history.Fault) {
		record.Hits = t.ResumeClient(f.Client)
	},
}
