package network

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/seed"
)

func TestPrioritiesSpreadConnectionsAndAFallenOneIsTheSlowest(t *testing.T) {
	l := Latency{Min: 100 * time.Microsecond, Max: 100 * time.Millisecond, Priorities: true}
	r := newRanks(&seed.Chance{Seed: 7}, 0)
	names := []string{"c1#1", "c1#2", "c2#1", "c3#1", "c4#1"}
	var first []time.Duration
	for _, name := range names {
		first = append(first, r.delay(l, name))
	}
	if fast, slow := slices.Min(first), slices.Max(first); slow < 5*fast || fast < l.Min || slow > l.Max {
		t.Errorf("delays %v", first)
	}
	for i, name := range names {
		if again := r.delay(l, name); again < first[i]*95/100 || again > first[i]*105/100 {
			t.Errorf("%s: %v, and then %v", name, first[i], again)
		}
	}
	fastest := names[slices.Index(first, slices.Min(first))]
	r.changes[r.written] = true
	if d := r.delay(l, fastest); d < l.Max/2 || d > l.Max {
		t.Errorf("%s fell behind, but takes %v", fastest, d)
	}
	// The same seed gives the same delays, another one others.
	if a, b := newRanks(&seed.Chance{Seed: 7}, 3).delay(l, "c1#1"), newRanks(&seed.Chance{Seed: 8}, 3).delay(l, "c1#1"); a == b {
		t.Errorf("two seeds, one delay: %v", a)
	}
	if a, b := newRanks(&seed.Chance{Seed: 7}, 3).delay(l, "c1#1"), newRanks(&seed.Chance{Seed: 7}, 3).delay(l, "c1#1"); a != b {
		t.Errorf("one seed, two delays: %v and %v", a, b)
	}
}
