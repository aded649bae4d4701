package explore

import (
	"time"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

// pct gives connections priorities, and few changes of them. With d-1 changes, an order of events
// that takes d constraints is met with a probability that falls with the number of messages to the
// power of d-1, and not exponentially (Burckhardt et al., 2010). Where that paper runs the thread of
// the highest priority, a message of high priority is hundreds of times faster here; what waits for
// timers still does.
var pct = Strategy{
	Name:  "pct",
	About: "drawn plans; some connections are much faster than others, and few of them change",
	Draw: func(s uint64, scope scenarios.Scope) *plan.Plan {
		p := scenarios.DrawnBy(s, scope)
		draw := seed.Source(s, "explore/pct")
		p.Timings.LatencyMin = plan.Duration(50 * time.Microsecond)
		p.Timings.LatencyMax = plan.Duration(20*time.Millisecond) * plan.Duration(1+draw.IntN(5))
		p.Timings.Priorities = &plan.Priorities{Changes: draw.IntN(4)}
		return p
	},
}
