// Package seed derives independent random sources from a run's one seed and stable names, so that
// adding a client or a draw somewhere changes nothing elsewhere. It must not know what the numbers
// are used for.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Source returns the source called name of the run with this seed. Equal arguments give equal
// sources, for ever: traces depend on it.
func Source(seed uint64, name string) *rand.Rand { return rand.New(pcg(seed, name)) }

func pcg(seed uint64, name string) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.NewPCG(seed, h.Sum64())
}

// Chance is what decides in a run: a seed, and from the time of each turn on the turn's seed. Two runs of equal chance until some
// time are the same until then.
type Chance struct {
	Seed  uint64
	Turns []Turn               // in order
	Now   func() time.Duration // since the start of the run; it may be nil if there are no turns
}

// Turn is a time from which on another seed decides.
type Turn struct {
	At   time.Duration
	Seed uint64
}

// Source returns the source called name.
func (c *Chance) Source(name string) *rand.Rand {
	if len(c.Turns) == 0 {
		return Source(c.Seed, name)
	}
	return rand.New(&turning{of: c, left: c.Turns, name: name, now: pcg(c.Seed, name)})
}

// turning is a source with turns.
type turning struct {
	of   *Chance
	left []Turn
	name string
	now  *rand.PCG
}

// Uint64 implements [rand.Source].
func (t *turning) Uint64() uint64 {
	for at := t.of.Now(); len(t.left) > 0 && at >= t.left[0].At; t.left = t.left[1:] {
		t.now = pcg(t.left[0].Seed, t.name)
	}
	return t.now.Uint64()
}

// Bytes returns an endless reader of random bytes, for ids that a program would draw from
// crypto/rand. It is not safe for concurrent use.
func Bytes(seed uint64, name string) *Reader { return &Reader{Source(seed, name)} }

// Reader reads random bytes and never fails.
type Reader struct{ r *rand.Rand }

func (r *Reader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.r.Uint64())
	}
	return len(p), nil
}
