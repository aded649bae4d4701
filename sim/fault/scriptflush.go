package fault

import (
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// scriptFlush is SCRIPT FLUSH: the server forgets all scripts, and says NOSCRIPT to their digests.
var scriptFlush = Kind{
	Name:    "script-flush",
	About:   "the server forgets all scripts",
	Effects: always(history.ScriptsForgotten),
	Begin: func(t Target, f plan.Fault, record *history.Fault) {
		t.FlushScripts(f.Server)
		record.Hits = 1
	},
}
