package explore_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// What it costs to ask a run for goals, as a share of what it takes to run and judge it.
func BenchmarkGoals(b *testing.B) {
	s := find(b, "rlock-hardened")
	scope := explore.ScopeFor(s, scenarios.Whole())
	var whole, asking time.Duration
	for seed := uint64(1); b.Loop(); seed++ {
		begun := time.Now()
		r, err := explore.One(bubble.Program(), scenarios.DrawnBy(seed, scope), s, seed)
		if err != nil {
			b.Fatal(err)
		}
		judged := time.Now()
		goals.Reached(r.History, r.Verdict, nil)
		whole, asking = whole+judged.Sub(begun), asking+time.Since(judged)
	}
	b.ReportMetric(100*asking.Seconds()/whole.Seconds(), "%-of-a-run")
}
