//go:build unix

package explore_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// The proofs of all runs of the catalogue in which something broke, with our own locks and those of others, in one
// process: the figures are processor time, for a verdict all of whose violations are proved; the mean, the longest,
// and how many took longer than 50 ms; and the mean of the run itself and its judgement.
func BenchmarkProofs(b *testing.B) {
	var total, longest, ran time.Duration
	proved, long, slow := 0, 0, ""
	for b.Loop() {
		for _, sc := range scenarios.All() {
			for _, s := range append(subjects.All(), libraries.All()...) {
				p, why := sc.For(1, s.Can)
				if why != "" {
					continue
				}
				begun := processor()
				h, err := sim.Run(bubble.Program(), p, s, sim.Options{Seed: 1, Scenario: sc.Name})
				if err != nil {
					b.Fatal(err)
				}
				o := checker.Options{Unpredicted: true}
				v := checker.Judge(context.Background(), h, o)
				if !broke(v) {
					continue
				}
				ran += processor() - begun
				begun = processor()
				explore.Prove(bubble.Program(), p, s, h, v, o)
				took := processor() - begun
				if proved++; took > longest {
					longest, slow = took, sc.Name+"/"+s.Name
				}
				total += took
				if took > 50*time.Millisecond {
					long++
				}
			}
		}
	}
	b.ReportMetric(total.Seconds()*1e3/float64(proved), "cpu-ms/proof")
	b.ReportMetric(longest.Seconds()*1e3, "cpu-ms/longest")
	b.ReportMetric(float64(long), "longer")
	b.ReportMetric(ran.Seconds()*1e3/float64(proved), "cpu-ms/run")
	b.Logf("%d verdicts; the longest proof was that of %s", proved, slow)
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
