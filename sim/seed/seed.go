// Package seed derives independent random sources from a run's one seed and stable names, so that
// adding a client or a draw somewhere changes nothing elsewhere. It must not know what the numbers
// are used for.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
)

// Source returns the source called name of the run with this seed. Equal arguments give equal
// sources, for ever: traces depend on it.
func Source(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
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
