package lockimpl_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Contests with other libraries, in one interleaved run, are in lockbench.

func newBenchClient(b *testing.B, g lockimpl.Generation) *lockimpl.Client {
	c, err := lockimpl.New(realRedis(b), lockimpl.Options{Generation: g})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

func pair(b *testing.B, l *lockimpl.RLock, o lockimpl.Owner) {
	if err := l.Lock(ctx, o); err != nil {
		b.Error(err)
	}
	if _, err := l.Unlock(ctx, o); err != nil {
		b.Error(err)
	}
}

// BenchmarkPair is lock and unlock of a free lock, by one goroutine.
func BenchmarkPair(b *testing.B) {
	for _, g := range generations {
		b.Run(string(g), func(b *testing.B) {
			c := newBenchClient(b, g)
			l, o := c.Lock("x"), c.Owner(1)
			pair(b, l, o)
			b.ReportAllocs()
			for b.Loop() {
				pair(b, l, o)
			}
		})
	}
}

// BenchmarkPair64 is the same by 64 goroutines, each with a lock of its own.
func BenchmarkPair64(b *testing.B) {
	for _, g := range generations {
		b.Run(string(g), func(b *testing.B) {
			c := newBenchClient(b, g)
			pair(b, c.Lock("x"), c.Owner(1))
			var n atomic.Int64
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				l, o := c.Lock(fmt.Sprint("lock", n.Add(1))), c.Owner(1)
				for pb.Next() {
					pair(b, l, o)
				}
			})
		})
	}
}

// BenchmarkRenewalRound is one round of the watchdog over 10,000 held locks.
func BenchmarkRenewalRound(b *testing.B) {
	for _, g := range generations {
		b.Run(string(g), func(b *testing.B) {
			rounds := manualScheduler{}
			c, err := lockimpl.New(realRedis(b), lockimpl.Options{
				Generation: g, WatchdogTimeout: time.Hour, Scheduler: &rounds,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { c.Close() })
			for i := range 10_000 {
				if err := c.Lock(fmt.Sprint("lock", i)).Lock(ctx, c.Owner(1)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				rounds.next()
			}
		})
	}
}

// manualScheduler runs the watchdog's rounds when told to.
type manualScheduler struct{ next func() }

func (s *manualScheduler) AfterFunc(_ time.Duration, f func()) lockimpl.Timer {
	s.next = f
	return stopped{}
}

type stopped struct{}

func (stopped) Stop() bool { return true }
