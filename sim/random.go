package sim

import (
	"crypto/rand"
	"io"
	"sync"

	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Locks that are not told where to draw their tokens from draw them from crypto/rand. While a run goes on, its goroutines
// get what its seed decides; all others get what they always do. The reader is replaced when the program begins, and never
// again: whoever draws at the same time must not meet a change.
func init() { rand.Reader = &seeded{real: rand.Reader} }

type seeded struct {
	real io.Reader

	mu  sync.Mutex
	run io.Reader // of the run that goes on; nil: none does
}

func (r *seeded) Read(p []byte) (int, error) {
	if !bubble.Inside() {
		return r.real.Read(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return r.real.Read(p)
	}
	return r.run.Read(p)
}

// drawFrom has crypto/rand draw from a source for the goroutines of the run that goes on, until the returned function
// is called. Somebody may have put another reader in the place of ours: then nothing is done.
func drawFrom(source io.Reader) (restore func()) {
	r, ours := rand.Reader.(*seeded)
	if !ours {
		return func() {}
	}
	set := func(source io.Reader) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.run = source
	}
	set(source)
	return func() { set(nil) }
}
