package scenarios_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Who unlocks in the moment in which its watchdog renews, leaves to chance which of the two goes first: in our own process the
// seed has it, and in another's nobody. So no story has an owner unlock within 50 ms of a third of its lease.
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
			since := slices.IndexFunc(h.Ops[:i], func(o history.Op) bool {
				return o.Owner == op.Owner && o.Lock == op.Lock && o.Outcome == history.Acquired && o.Watchdog
			})
			if since < 0 {
				continue
			}
			third := op.Lease / 3
			held := time.Duration(op.Call) - time.Duration(h.Ops[since].Return)
			if off := held % third; held > third-near && (off < near || off > third-near) {
				t.Errorf("%s %s: %s unlocks %v after it locked, and its watchdog renews every %v", p.scenario.Name, p.subject.Name, op.Owner, held, third)
			}
		}
	}
}
