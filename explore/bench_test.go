//go:build unix

package explore_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Drawn plans of some 4 clients × 10 operations, run and judged in one process, as a worker of
// "simrun explore -clients 4 -sections 5" does: the figure is the processor time of a run. A worker
// has GOMAXPROCS=1 and its own setting of GOGC, see cmd/simrun.
func BenchmarkDrawnPlans(b *testing.B) {
	c := config("rlock-hardened")
	c.Scope.Clients, c.Scope.Sections = 4, 5
	s := find(b, "rlock-hardened")
	var begun, ended syscall.Rusage
	runs, ops, messages := 0, 0, 0
	b.ReportAllocs()
	syscall.Getrusage(syscall.RUSAGE_SELF, &begun)
	for b.Loop() {
		r := explore.Do(bubble.Program(), s, explore.Shard{Config: c, From: uint64(1 + runs), Runs: explore.ShardRuns})
		runs, ops, messages = runs+r.Runs, ops+r.Ops, messages+r.Messages
	}
	syscall.Getrusage(syscall.RUSAGE_SELF, &ended)
	used := time.Duration(ended.Utime.Nano() + ended.Stime.Nano() - begun.Utime.Nano() - begun.Stime.Nano())
	b.ReportMetric(used.Seconds()*1e3/float64(runs), "cpu-ms/run")
	b.ReportMetric(float64(ops)/float64(runs), "ops/run")
	b.ReportMetric(float64(messages)/float64(runs), "messages/run")
}
