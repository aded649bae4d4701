package soak

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

func TestLatencies(t *testing.T) {
	var l Latencies
	if l.Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	for n := range 1000 {
		l.add(time.Duration(n+1) * time.Millisecond)
	}
	for part, want := range map[float64]time.Duration{0.001: time.Millisecond, 0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := l.Quantile(part); got < want || got > want+want/8 {
			t.Errorf("quantile %v: %v, not %v", part, got, want)
		}
	}
	for _, d := range []time.Duration{-1, 0, 1, 8, 1<<63 - 1} {
		l.add(d) // no index is out of range
	}
}

// A series stays short however long the run.
func TestSeriesIsBounded(t *testing.T) {
	s := newStats()
	for n := range 5_000 {
		s.count(history.TryLock, history.Busy, time.Millisecond)
		s.fault([]string{"restart", "partition"}[n%2])
		s.sample(time.Duration(n+1) * time.Second)
	}
	r := s.result(time.Hour)
	// What the samples have of their own time adds up to all until the last of them, though most were left out.
	last := r.Samples[len(r.Samples)-1]
	var took Latencies
	struck := 0
	for _, one := range r.Samples {
		took.merge(one.Took)
		struck += one.Struck["restart"] + one.Struck["partition"]
	}
	if all := took.buckets[bucket(time.Millisecond)].Load(); all != last.Calls || struck != int(last.Faults) || last.Calls < 4_000 {
		t.Errorf("%d attempts and %d faults in the samples, %d calls and %d faults until the last", all, struck, last.Calls, last.Faults)
	}
	if n := len(r.Samples); n < maxSamples/4 || n > maxSamples {
		t.Errorf("%d samples", n)
	}
	for i := 1; i < len(r.Samples); i++ {
		if r.Samples[i].At-r.Samples[i-1].At != r.Samples[1].At-r.Samples[0].At {
			t.Fatalf("uneven at %v", r.Samples[i].At)
		}
	}
	if r.Calls != 5_000 || r.Busy != 5_000 {
		t.Errorf("%+v", r)
	}
}
