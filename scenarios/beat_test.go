package scenarios_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// An owner that unlocks as its watchdog renews leaves it to chance which of the two comes first. In our own process the seed decides,
// in another's nobody does. So no story has an owner unlock within 50 ms of a third of its lease.
func TestNoStoryUnlocksAsTheWatchdogRenews(t *testing.T) {
	t.Parallel()
	const near = 50 * time.Millisecond
	for _, p := range pairs() {
		if !p.subject.Can("watchdog") {
			continue
		}
		h, _ := judged(t, p.scenario.Plan(1), p.subject, 1)
		for i, op := range h.Ops {
			if !op.Watchdog || op.Outcome != history.Released {
				continue
			}
			before := slices.DeleteFunc(slices.Clone(h.Ops[:i]), func(o history.Op) bool { return o.Owner != op.Owner || o.Lock != op.Lock || !o.Watchdog })
			for j := len(before) - 1; j >= 0; j-- {
				if before[j].Outcome == history.Released {
					before = before[j+1:] // of another hold
					break
				}
			}
			since := slices.IndexFunc(before, func(o history.Op) bool { return o.Outcome == history.Acquired })
			if since < 0 {
				continue
			}
			third := op.Lease / 3
			held := op.Call - before[since].Return
			if off := held % third; held > third-near && (off < near || off > third-near) {
				t.Errorf("%s %s: %s unlocks %v after it locked, and its watchdog renews every %v", p.scenario.Name, p.subject.Name, op.Owner, held, third)
			}
		}
	}
}
