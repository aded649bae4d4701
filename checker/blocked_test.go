package checker

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A client hears that the command by which it waits is lost when it has awaited its answer: go-redis does so for 10 s more than that may block.
func TestWhoWaitsByABlockingCommandHearsLaterThatItIsLost(t *testing.T) {
	for _, tt := range []struct {
		kind          string
		blocks, taken time.Duration
		broken        bool
	}{
		{"drop-message", 0, at(7), false}, {"drop-message", 0, at(12), true}, // 5.1 s after it was lost, and a second
		{"drop-message", 2 * time.Second, at(14), false}, {"drop-message", 2 * time.Second, at(17), true}, // 12.1 s after it, and a second
		{"delay-message", 2 * time.Second, at(14), true}, // its answer comes
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), time.Millisecond)
		s.event(history.Expire, at(0.003))
		waits := s.take("c2:1", at(1), tt.taken, time.Second)
		lost := s.fault(tt.kind, "c2", at(1.5), 0)
		lost.On, lost.Op, lost.Blocks = "request acquire", waits.ID, tt.blocks
		r := Judge(t.Context(), s.done(), Options{}).Result(contract.Liveness)
		var rules []contract.Rule
		for _, v := range r.Violations {
			if v.Rule == contract.FreeIsTaken && v.Ruling.Kind == Defect {
				rules = append(rules, v.Rule)
			}
		}
		if broken := len(rules) > 0; broken != tt.broken {
			t.Errorf("%s: blocks for %s, taken at %s: %s", tt.kind, tt.blocks, tt.taken, r.Summary)
		}
	}
	for command, want := range map[string]time.Duration{"BLPOP jobs 1": time.Second, "blmove a b left right 0.5": time.Second / 2, "GET jobs 1": 0, "BLPOP jobs x": 0} {
		if got, _ := history.BlocksFor(command); got != want {
			t.Errorf("%s blocks for %s", command, got)
		}
	}
}
