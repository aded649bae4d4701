package checker

import (
	"slices"
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
	for command, want := range map[string]time.Duration{"BLPOP jobs 1": time.Second, "blmove a b left right 0.5": time.Second / 2, "GET jobs 1": 0, "BLPOP jobs x": 0,
		"xreadgroup group g c count 1 block 500 streams jobs >": time.Second / 2, "XREAD streams jobs 0": 0, "xread count 1 streams block 9": 0, "BLMPOP 2 1 jobs left": 2 * time.Second} {
		if got, _ := history.BlocksFor(command); got != want {
			t.Errorf("%s blocks for %s", command, got)
		}
	}
}

// A client waits for the answer to a command that may block as long as that may, and ten seconds more: a call that ends in an error then was kept
// from its end by who lost the answer, and one that ends later was not.
func TestALostAnswerToACommandThatBlocksIsAwaitedForLong(t *testing.T) {
	for _, tt := range []struct {
		blocks time.Duration
		ends   float64
		broken bool
	}{{time.Second / 2, 12, false}, {time.Second / 2, 16, true}, {0, 12, true}} {
		s := newScript()
		failed := s.op("c2:1", history.Lock, at(1), at(tt.ends), history.Unknown)
		failed.Error, failed.Evidence, failed.Executed, failed.Answer = "i/o timeout", history.Sent, 0, ""
		lost := s.fault("drop-message", "c2", at(1.5), 0)
		lost.On, lost.Op, lost.Blocks = "reply acquire", failed.ID, tt.blocks
		if broken := slices.Contains(rules(verdict(t, s), contract.Liveness), contract.CallsSucceed); broken != tt.broken {
			t.Errorf("blocks for %v, ends at %v s: broken %v, want %v", tt.blocks, tt.ends, broken, tt.broken)
		}
	}
}
