package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// stopReplication is a replica that has lost its master, or cannot keep up.
var stopReplication = Kind{
	Name:    "stop-replication",
	About:   "a replica receives nothing more",
	Needs:   plan.FaultNeeds{Lasts: true, Replica: true},
	Effects: always(history.ReplicationStopped),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		t.StopReplication(f.Server, max(f.Replica, 1))
		record.Hits = 1
	},
	End: func(t Target, f plan.Fault, _ *history.Fault) { t.ResumeReplication(f.Server, max(f.Replica, 1)) },
}
