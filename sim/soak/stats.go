package soak

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Result is what was counted of a run. Latencies are those of calls that came back.
type Result struct {
	Length  time.Duration
	Calls   int64 // on locks
	Granted int64
	Busy    int64
	Failed  int64
	Unknown int64
	Deaths  int64 // of clients
	Faults  int64
	Acquire Latencies // of single attempts that were granted or refused
	Release Latencies
	Struck  map[string]int // faults, by their kinds
	Samples []Sample
}

// Rate is how many calls there were in a second.
func (r *Result) Rate() float64 { return float64(r.Calls) / max(r.Length.Seconds(), 1e-9) }

// Sample is the run at one moment.
type Sample struct {
	At     time.Duration
	Calls  int64 // until then
	Errors int64 // calls until then that failed, or ended unknown
	Faults int64
	Deaths int64
	RSS    int64 // bytes of this process in memory; 0: not known

	Took   *Latencies     // of attempts that came back since the sample before
	Struck map[string]int // faults since the sample before, by their kinds
}

// follow has a sample cover the time of the one before it, which is left out.
func (s *Sample) follow(before Sample) {
	s.Took.merge(before.Took)
	for kind, n := range before.Struck {
		s.Struck[kind] += n
	}
}

// stats counts without growing.
type stats struct {
	granted, busy, failed, unknown, calls, deaths atomic.Int64
	acquire, release                              Latencies

	mu      sync.Mutex
	faults  int64
	struck  map[string]int
	samples []Sample
	every   int // how many seconds lie between two samples that are kept
	seconds int
	since   Sample // of the sample kept last: all attempts and faults until then
}

func newStats() *stats {
	return &stats{every: 1, struck: map[string]int{}, since: Sample{Took: &Latencies{}, Struck: map[string]int{}}}
}

func (s *stats) count(kind history.Kind, out history.Outcome, took time.Duration) {
	s.calls.Add(1)
	switch out {
	case history.Acquired:
		s.granted.Add(1)
	case history.Busy:
		s.busy.Add(1)
	case history.Failed:
		s.failed.Add(1)
	case history.Unknown:
		s.unknown.Add(1)
	}
	switch {
	case out == history.Failed || out == history.Unknown:
	case kind == history.TryLock:
		s.acquire.add(took)
	case kind == history.Unlock:
		s.release.add(took)
	}
}

// fault counts one, and returns its number.
func (s *stats) fault(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults++
	s.struck[kind]++
	return int(s.faults - 1)
}

// maxSamples bounds a series: a longer one has every second of them left out.
const maxSamples = 600

func (s *stats) sample(at time.Duration) Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := Sample{At: at, Calls: s.calls.Load(), Errors: s.failed.Load() + s.unknown.Load(), Faults: s.faults, Deaths: s.deaths.Load(), RSS: rss()}
	if s.seconds++; s.seconds%s.every == 0 {
		s.keep(now)
	}
	if len(s.samples) >= maxSamples {
		kept := s.samples[:0]
		for i := 1; i < len(s.samples); i += 2 {
			s.samples[i].follow(s.samples[i-1])
			kept = append(kept, s.samples[i])
		}
		s.samples = kept
		s.every *= 2
	}
	return now
}

// keep adds a sample to the series, with what came since the one before.
func (s *stats) keep(now Sample) {
	now.Took, now.Struck = &Latencies{}, map[string]int{}
	for i := range now.Took.buckets {
		n := s.acquire.buckets[i].Load()
		now.Took.buckets[i].Store(n - s.since.Took.buckets[i].Load())
		s.since.Took.buckets[i].Store(n)
	}
	for kind, n := range s.struck {
		if n > s.since.Struck[kind] {
			now.Struck[kind] = n - s.since.Struck[kind]
		}
		s.since.Struck[kind] = n
	}
	s.samples = append(s.samples, now)
}

func (s *stats) result(length time.Duration) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Result{
		Length: length, Calls: s.calls.Load(), Granted: s.granted.Load(), Busy: s.busy.Load(), Failed: s.failed.Load(),
		Unknown: s.unknown.Load(), Deaths: s.deaths.Load(), Faults: s.faults, Samples: s.samples, Struck: s.struck,
	}
	r.Acquire.merge(&s.acquire)
	r.Release.merge(&s.release)
	return r
}

// rss is how much memory the process has.
func rss() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(b)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			return pages * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// Latencies counts durations in buckets an eighth of a power of two apart.
type Latencies struct{ buckets [64 * 8]atomic.Int64 }

func (l *Latencies) add(d time.Duration) { l.buckets[bucket(d)].Add(1) }

func bucket(d time.Duration) int {
	n := uint64(max(d, 8))
	top := bits.Len64(n) - 1
	return top*8 + int(n>>(top-3)&7)
}

func (l *Latencies) merge(o *Latencies) {
	for i := range o.buckets {
		l.buckets[i].Add(o.buckets[i].Load())
	}
}

// Quantile is the duration that a part of those counted, from 0 to 1, does not exceed, to an eighth
// of itself; 0 if there are none.
func (l *Latencies) Quantile(part float64) time.Duration {
	var all int64
	for i := range l.buckets {
		all += l.buckets[i].Load()
	}
	var n int64
	for i := range l.buckets {
		if n += l.buckets[i].Load(); all > 0 && float64(n) >= part*float64(all) && n > 0 {
			top, eighth := i/8, i%8
			return time.Duration(1)<<top + time.Duration(eighth+1)<<(top-3)
		}
	}
	return 0
}

// Clients counts clients, for people. number writes a number.
func Clients(n int64, number func(int) string) string {
	if n == 1 {
		return "1 client"
	}
	return number(int(n)) + " clients"
}

// Text says what was counted, in lines for people. number writes a number.
func (r *Result) Text(number func(int) string) string {
	n := func(n int64) string { return number(int(n)) }
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }
	return fmt.Sprintf("  calls   %s in %.1f s: %s a second; %s granted, %s busy, %s failed, %s unknown\n"+
		"  faults  %s, %s died\n"+
		"  tryLock half within %s, 99 %% within %s; unlock half within %s, 99 %% within %s\n",
		n(r.Calls), r.Length.Seconds(), number(int(math.Round(r.Rate()))), n(r.Granted), n(r.Busy), n(r.Failed), n(r.Unknown), n(r.Faults), Clients(r.Deaths, number),
		ms(r.Acquire.Quantile(0.5)), ms(r.Acquire.Quantile(0.99)), ms(r.Release.Quantile(0.5)), ms(r.Release.Quantile(0.99)))
}
