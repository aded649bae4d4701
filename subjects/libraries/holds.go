package libraries

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// named keeps a client's locks by their names. The zero value is usable.
type named[L any] struct {
	mu sync.Mutex
	by map[string]L
}

func (n *named[L]) get(name string, make func() L) L {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[string]L{}
	}
	l, ok := n.by[name]
	if !ok {
		l = make()
		n.by[name] = l
	}
	return l
}

// holds keeps what a library hands out for a hold, for locks whose holds are values of their own: by
// owner, until it is given back. The zero value is usable.
type holds[H any] struct {
	mu sync.Mutex
	by map[string]*hold[H]
}

// hold is one that somebody takes care of, or not.
type hold[H any] struct {
	handle   H
	extended func() time.Time // until when it is valid now; nil: not known

	mu    sync.Mutex
	timer subjects.Timer
	end   *time.Timer
	over  bool
	lost  chan struct{} // nil: nobody looks after it
}

func (s *holds[H]) take(owner string, handle H) *hold[H] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*hold[H]{}
	}
	if old := s.by[owner]; old != nil {
		old.stop() // its handle is lost, as a variable is that is set anew
	}
	s.by[owner] = &hold[H]{handle: handle}
	return s.by[owner]
}

// give returns the owner's handle and forgets it.
func (s *holds[H]) give(owner string) (handle H, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.by[owner]
	if h == nil {
		return handle, false
	}
	delete(s.by, owner)
	h.stop()
	return h.handle, true
}

func (s *holds[H]) lost(owner string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.by[owner]; h != nil {
		return h.lost
	}
	return nil
}

// errGone says that a hold is over, and extending it of no use.
var errGone = errors.New("the hold is over")

// keep has extend called every so often, as a user's own goroutine would, until the hold is given
// back or extend says that it is over.
func (h *hold[H]) keep(e subjects.Env, every time.Duration, extend func() error) {
	h.lost = make(chan struct{})
	var tick func()
	tick = func() {
		err := extend()
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case h.over:
		case err != nil:
			h.finish()
		default:
			if h.end != nil && h.extended != nil {
				h.end.Reset(time.Until(h.extended()))
			}
			h.timer = e.Scheduler.AfterFunc(every, tick)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = e.Scheduler.AfterFunc(every, tick)
}

// endAt has the hold's owner stop at a time, unless it is extended.
func (h *hold[H]) endAt(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = time.AfterFunc(time.Until(t), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.over {
			h.finish()
		}
	})
}

// finish tells the owner that the hold is over; h.mu is held.
func (h *hold[H]) finish() {
	close(h.lost)
	h.halt()
}

// halt ends what goes on for the hold; h.mu is held.
func (h *hold[H]) halt() {
	h.over = true
	if h.timer != nil {
		h.timer.Stop()
	}
	if h.end != nil {
		h.end.Stop()
	}
}

func (h *hold[H]) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halt()
}
