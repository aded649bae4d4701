package checker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// The figures of the checker, beside plain porcupine on the same histories:
//
//	go test ./checker -run '^$' -bench Object -benchtime 3x
//
// MB is what the checker held at once beside the history it was given. porcupine has 10 s for a
// history, and is not asked about a million operations, for which it would need 125 GB.

// lockOf is what the object checkers are given of a history of one lock.
func lockOf(h *history.History, o Options) (*facts, *lockFacts) {
	l := &lockFacts{name: job}
	f := &facts{h: h, options: o, locks: []*lockFacts{l}, log: indexServed(h)}
	for i := range h.Ops {
		l.ops = append(l.ops, &h.Ops[i])
	}
	return f, l
}

func benchOptions() Options { return Options{Budget: 10 * time.Second, Memory: DefaultMemory} }

func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// measure runs a checker and reports how long it takes and the most memory it holds, which is
// what it has allocated: nothing is collected while it runs.
func measure(b *testing.B, h *history.History, judge func(f *facts, l *lockFacts) string) {
	f, l := lockOf(h, benchOptions())
	said := ""
	most := 0.0
	for b.Loop() {
		b.StopTimer()
		before := inUse() // without what the round before left
		b.StartTimer()
		stop := watch(before, &most)
		said = judge(f, l)
		stop()
	}
	b.ReportMetric(most/1e6, "MB")
	b.Logf("%s", said)
}

// watch follows the heap until it is stopped.
func watch(before float64, most *float64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	look := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		*most = max(*most, float64(m.HeapAlloc)-before)
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return func() { close(done); <-ended; look() }
}

func ours(f *facts, l *lockFacts) string {
	if says, ok := linear.Reduce(f.problem(l, linear.AsCalled)).Intervals(); ok {
		return byInterval + ": " + string(says)
	}
	return searchOnly(f, l)
}

func searchOnly(f *facts, l *lockFacts) string {
	s, ok := linear.Reduce(f.problem(l, linear.AsCalled)).Search(context.Background(), f.options.limits())
	if !ok {
		return "too many at once"
	}
	r := s.Run()
	return byFrontier + ": " + string(r.Result) + " " + r.Why
}

func plainPorcupine(f *facts, l *lockFacts) string {
	return byPorcupine + ": " + string(askPorcupine(context.Background(), f, l, linear.AsCalled))
}

func BenchmarkObject(b *testing.B) {
	for _, s := range []struct {
		name    string
		unknown float64
		windows bool
	}{{"no unknowns", 0, false}, {"1 % unknown, windows", 0.01, true}, {"1 % unknown, open", 0.01, false}} {
		for _, waits := range []bool{false, true} {
			for _, n := range []int{100_000, 1_000_000} {
				var h *history.History
				name := fmt.Sprintf("%s/%s/%d", s.name, map[bool]string{true: "waiting", false: "polling"}[waits], n)
				make := func() *history.History {
					if h == nil {
						h = traffic{seed: 1, ops: n, clients: 32, unknown: s.unknown, windows: s.windows, waits: waits}.make()
					}
					return h
				}
				b.Run(name+"/holdfast", func(b *testing.B) { measure(b, make(), ours) })
				if s.unknown == 0 {
					b.Run(name+"/search", func(b *testing.B) { measure(b, make(), searchOnly) })
				}
				if n <= 100_000 {
					b.Run(name+"/porcupine", func(b *testing.B) { measure(b, make(), plainPorcupine) })
				}
			}
		}
	}
}

// BenchmarkObjectWitness replays the server's order.
func BenchmarkObjectWitness(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := traffic{seed: 1, ops: n, clients: 32, unknown: 0.01, server: true}.make()
			f, l := lockOf(h, benchOptions())
			l.acts = actsOf(f, l, indexServed(h))
			for b.Loop() {
				if v, _ := replay(f, l); v.all > 0 {
					b.Fatal(v.first[0].Text)
				}
			}
		})
	}
}

// BenchmarkObjectViolation is the third figure: 10,000 operations, 32 clients, 1 % unknown for
// ever, one answer flipped at half way, 100 seeds. porcupine decides none of them in 30 s.
func BenchmarkObjectViolation(b *testing.B) {
	for _, waits := range []bool{false, true} {
		b.Run(map[bool]string{true: "waiting", false: "polling"}[waits], func(b *testing.B) {
			for b.Loop() {
				said := map[string]int{}
				var slowest time.Duration
				most := 0.0
				for seed := range uint64(100) {
					h := traffic{seed: seed, ops: 10_000, clients: 32, unknown: 0.01, waits: waits}.make()
					flipAt(h, len(h.Ops)/2, seed%2 == 0 && !waits)
					f, l := lockOf(h, Options{Budget: 2 * time.Second, Memory: DefaultMemory})
					stop := watch(inUse(), &most)
					begin := time.Now()
					said[ours(f, l)]++
					slowest = max(slowest, time.Since(begin))
					stop()
				}
				b.Logf("%v, slowest %v", said, slowest)
				b.ReportMetric(slowest.Seconds(), "s-slowest")
				b.ReportMetric(most/1e6, "MB")
				undecided := 0
				for s, n := range said {
					if strings.Contains(s, string(porcupine.Unknown)) {
						undecided += n
					}
				}
				b.ReportMetric(float64(100-undecided), "decided")
			}
		})
	}
}

// BenchmarkJudgeLong is a whole verdict on a long history from elsewhere: all guarantees, causes and
// the story; of a sound lock, and of one that grants whatever it is asked for, so that something is
// broken all the time. MB is what Judge held at once beside the history.
func BenchmarkJudgeLong(b *testing.B) {
	for _, sound := range []bool{true, false} {
		for _, n := range []int{100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{true: "sound", false: "broken"}[sound], n), func(b *testing.B) {
				h := traffic{seed: 1, ops: n, clients: 32, unknown: 0.01, windows: true}.make()
				h.Header.Abilities = []string{"reentrant", "fencing", "watchdog"}
				h.Header.LatencyMax, h.Header.WatchdogTimeout = time.Millisecond, 30*time.Second
				var grants []*history.Op
				for i := range h.Ops {
					op := &h.Ops[i]
					if !sound && op.Outcome == history.Busy && i%2 == 0 {
						op.Outcome = history.Acquired
					}
					if op.Outcome == history.Acquired {
						grants = append(grants, op)
					}
				}
				slices.SortFunc(grants, func(a, b *history.Op) int { return cmpTime(a.Return, b.Return) })
				for i, op := range grants {
					op.Token = int64(i + 1)
				}
				most := 0.0
				for b.Loop() {
					b.StopTimer()
					before := inUse()
					b.StartTimer()
					stop := watch(before, &most)
					v := Judge(context.Background(), h, Options{})
					stop()
					if want := map[bool]Status{true: Holds, false: Broken}[sound]; len(v.Refused) > 0 || v.Result(contract.Object).Status != want {
						b.Fatal(v.Refused, v.Explanation)
					}
				}
				b.ReportMetric(most/1e6, "MB")
			})
		}
	}
}
