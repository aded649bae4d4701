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
		s.sample(time.Duration(n+1) * time.Second)
	}
	r := s.result(time.Hour)
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
