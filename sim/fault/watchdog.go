package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// pauseWatchdog is a watchdog thread that gets no CPU, or is stuck: the rest of the process goes on.
var pauseWatchdog = Kind{
	Name:    "pause-watchdog",
	About:   "the client's renewal timers do not run, while its programs go on",
	Needs:   plan.FaultNeeds{Client: plan.Must, Lasts: true},
	Effects: always(history.TimersStopped),
	Begin:   func(t Target, f plan.Fault, _ *history.Fault) { t.PauseWatchdog(f.Client) },
	End: func(t Target, f plan.Fault, record *history.Fault) {
		var any bool
		if record.Hits, any = t.ResumeWatchdog(f.Client); !any {
			record.Missed, record.Why = true, "no timer of the client runs on the scheduler that its lock is given, and others cannot be paused"
		}
	},
}
