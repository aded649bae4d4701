package sim

import (
	"crypto/rand"
	"io"
	"sync"
)

// drawFrom has crypto/rand draw from a source until the returned function is called: locks that are
// not told where to draw their tokens from draw them there. It is for the whole process, so that runs
// do not go on at once, and nothing that needs secrets may go on beside them.
func drawFrom(source io.Reader) (restore func()) {
	was := rand.Reader
	rand.Reader = &oneAtATime{source: source}
	return func() { rand.Reader = was }
}

type oneAtATime struct {
	mu     sync.Mutex
	source io.Reader
}

func (r *oneAtATime) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(p)
}
