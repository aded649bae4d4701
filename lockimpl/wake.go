package lockimpl

import (
	"encoding/binary"
	"strconv"
	"time"
)

// Who is woken when a lock is released, and when.

func (h *hub) released(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[name]; ch != nil {
		h.stagger(ch)
		for _, listener := range ch.listeners {
			go (*listener)()
		}
	}
}

// Of all processes that wait, so many (on average) try at once when a lock is released; the others
// give them time to say that it is taken. Longer than a round trip: a shorter pause than 1 ms would
// last as long, since an idle Go program waits in milliseconds.
const (
	vanguard   = 4 // as in acquire_hardened.lua
	staggerMin = time.Millisecond
	staggerMax = 3 * time.Millisecond
)

// stagger wakes a waiter, now or in a while.
func (h *hub) stagger(ch *channel) {
	if ch.staggered != nil {
		return
	}
	var b [8]byte
	if ch.processes <= vanguard || len(ch.waiters) == 0 || h.client.random(b[:]) != nil {
		ch.wakeOne()
		return
	}
	random := binary.BigEndian.Uint64(b[:])
	if random%uint64(ch.processes) < vanguard {
		ch.wakeOne()
		return
	}
	delay := staggerMin + time.Duration(random>>32%uint64(staggerMax-staggerMin))
	ch.staggered = time.AfterFunc(delay, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if ch.staggered != nil {
			ch.staggered = nil
			ch.processes = 0 // nobody says that it took the lock: there may be few others now
			ch.wakeOne()
		}
	})
}

// taken calls off a wake-up that was put off, since another process has the lock.
func (h *hub) taken(name, processes string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil {
		return
	}
	ch.processes, _ = strconv.Atoi(processes)
	if ch.staggered != nil {
		ch.staggered.Stop()
		ch.staggered = nil
	}
}
