package network

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/holdfast-sim/holdfast/sim/seed"
)

// ranks are the priorities of connections. A connection's rank, from 0 (the first) to 1, is drawn
// from the seed and its name; from a change on it is more than 1, and more than all before.
type ranks struct {
	chance  *seed.Chance
	of      map[string]float64
	changes map[int]bool // by the number of the message at which they come
	written int
	fallen  int
	jitter  *rand.Rand
}

// changesWithin is how many messages the changes are spread over: those of a small plan.
const changesWithin = 200

func newRanks(chance *seed.Chance, changes int) *ranks {
	r := &ranks{chance: chance, of: map[string]float64{}, changes: map[int]bool{}, jitter: chance.Source("network/priorities")}
	for range changes {
		r.changes[r.jitter.IntN(changesWithin)] = true
	}
	return r
}

// delay is between the least latency, for rank 0, and the greatest, for rank 1 and beyond, on a
// logarithmic scale: each step down is many times slower. It has jitter, so that no two events tie.
func (r *ranks) delay(l Latency, link string) time.Duration {
	rank, known := r.of[link]
	if !known {
		rank = r.chance.Source("priority/" + link).Float64()
		r.of[link] = rank
	}
	if r.changes[r.written] {
		r.fallen++
		rank = 1 + float64(r.fallen)
		r.of[link] = rank
	}
	r.written++
	low, high := float64(max(l.Min, 1)), float64(max(l.Max, 1))
	d := low * math.Pow(high/low, min(rank, 1))
	if rank > 1 {
		d -= d / (1 + rank) / 2 // of those that fell, the last is the slowest
	}
	d -= d / 100 * r.jitter.Float64()
	return time.Duration(max(d, low))
}
