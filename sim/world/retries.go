package world

import (
	"maps"
	"sync"
	"time"
)

// retries are the requests of no call that came to nothing. Who sends one again at once goes on with it, as locks do that send
// again by themselves, and libraries after NOSCRIPT. So it began when it was first sent.
type retries struct {
	mu   sync.Mutex
	last map[string]request
}

// request is a command, by client and script.
type request struct {
	key   string        // see sameScript
	began time.Duration // by its client
	over  time.Duration // when its client learned that it came to nothing
}

// failed notes that a request came to nothing, now.
func (r *retries) failed(key string, began, now, atOnce time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]request{}
	}
	if len(r.last) >= mostFailed {
		maps.DeleteFunc(r.last, func(_ string, old request) bool { return now > old.over+atOnce })
	}
	r.last[key] = request{key, began, now}
}

// mostFailed is how many are kept without a look at which of them are too old.
const mostFailed = 256

// since is when a request was begun that a client sends at a time: it may have sent it before.
func (r *retries) since(key string, now, atOnce time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.last[key]
	delete(r.last, key)
	if !ok || now > before.over+atOnce {
		return now
	}
	return before.began
}
