package lockimpl

import (
	"context"
	"slices"
	"sync"
	"time"
)

// holds is what the client knows of its owners' holds, and the timer that renews those that were
// taken without a lease: see watchdog.go.
type holds struct {
	client *Client

	mu      sync.Mutex
	m       map[holdKey]*hold
	watched int // holds that are to be renewed
	timer   Timer
	round   uint64 // of the timer that may call; others are stopped ones that could not be
	sweepAt int    // number of holds at which leases that ended unnoticed are looked for
}

type holdKey struct {
	lock  string
	owner Owner
}

// hold is one owner's holds of one lock. All but the immutable fields are guarded by holds.mu.
type hold struct {
	key    holdKey
	lock   *RLock  // one handle of the lock
	levels []level // innermost last
	room   [2]level
	mark   uint64    // changes with every acquisition
	ends   time.Time // end of the lease as the client may count on it
	over   time.Time // end of the lease at the latest: it had begun when the client had the answer

	// The rest is for generation Hardened: see hardened.go and lost.go.

	recordArg, ownerArg any // name of the record of the owner's last request, and owner, boxed

	request    int64         // number of the last request that was answered
	unanswered time.Duration // shortest lease that a later request, whose answer is not there, may set; 0: none sets one
	token      int64         // fencing token of the grant
	unsettled  bool          // the server's count may differ: reconcile before the next acquisition
	settling   bool          // a goroutine sees to that

	past []level // holds that were called lost: they may be unlocked while the server still has them
	owes bool    // an unlock that failed may have left the server more of them than past

	busy  bool            // a request is under way
	queue []chan struct{} // calls that wait until it is not

	leaving int64 // number of a request by which it leaves the queue of a fair lock, which the server has not answered; 0: none

	watch *lossWatch // not nil once somebody asked to be told of the hold's loss
}

type level struct {
	lease   time.Duration
	watched bool
}

func newHolds(c *Client) *holds {
	return &holds{client: c, m: map[holdKey]*hold{}, sweepAt: 64}
}

// watched reports whether any of the holds was taken without a lease.
func (h *hold) watched() bool {
	return slices.ContainsFunc(h.levels, func(l level) bool { return l.watched })
}

// get returns the hold, which it creates if need be.
func (hs *holds) get(l *RLock, owner Owner) *hold {
	key := holdKey{l.name, owner}
	h := hs.m[key]
	if h == nil {
		hs.sweep()
		h = &hold{key: key, lock: l}
		h.levels = h.room[:0]
		hs.m[key] = h
	}
	return h
}

// push notes that the server granted a hold, whose lease ends at ends.
func (hs *holds) push(h *hold, co callOptions, ends time.Time) {
	before := h.watched()
	h.past, h.owes = nil, false
	h.levels = append(h.levels, level{co.lease, co.watched})
	h.mark++
	h.endAt(ends)
	hs.count(before, h.watched())
}

// endAt notes when the lease ends as the client may count on it, which whoever is to be told of a loss
// must learn: that may be sooner than before.
func (h *hold) endAt(ends time.Time) {
	h.ends = ends
	if h.watch != nil {
		h.watch.timer.Reset(time.Until(ends))
	}
	h.over = ends
	for now, i := time.Now(), 0; i < len(h.levels); i++ {
		if over := now.Add(h.levels[i].lease); over.After(h.over) {
			h.over = over
		}
	}
}

// pop forgets all holds but the outermost n. Who watches for a loss watches these holds, and no later ones.
func (hs *holds) pop(h *hold, n int) {
	before := h.watched()
	h.levels = h.levels[:max(0, min(n, len(h.levels)))]
	if len(h.levels) == 0 && h.watch != nil {
		h.watch.end(nil)
		h.watch = nil
	}
	hs.count(before, h.watched())
	hs.tidy(h)
}

// tidy forgets a hold of which there is nothing to know.
func (hs *holds) tidy(h *hold) {
	if len(h.levels) == 0 && !h.unsettled && !h.busy && h.leaving == 0 {
		if hs.m[h.key] == h {
			delete(hs.m, h.key)
		}
	}
}

// leaseOf is the lease that the innermost of levels asks for: what remains to be set when it
// becomes the innermost again.
func (hs *holds) leaseOf(levels []level) time.Duration {
	if len(levels) == 0 {
		return hs.client.opts.WatchdogTimeout
	}
	return levels[len(levels)-1].lease
}

// unlockable is the levels that an unlock takes from: those that were called lost if there are no
// others.
func (h *hold) unlockable() []level {
	if len(h.levels) == 0 {
		return h.past
	}
	return h.levels
}

func butLast(levels []level) []level { return levels[:max(0, len(levels)-1)] }

// popOne forgets the innermost hold.
func (hs *holds) popOne(h *hold) {
	h.past = butLast(h.past)
	hs.pop(h, len(h.levels)-1)
}

// popKept forgets the innermost hold, which the server may count still.
func (hs *holds) popKept(h *hold) {
	lost := len(h.levels) == 0
	hs.popOne(h)
	h.unsettled = h.unsettled || len(h.levels) > 0
	h.owes = h.owes || lost && len(h.past) > 0
}

// sweep forgets unwatched holds whose leases ended without an unlock. It costs a constant time per
// hold acquired.
func (hs *holds) sweep() {
	if len(hs.m) < hs.sweepAt {
		return
	}
	now := time.Now()
	for _, h := range hs.m {
		if !h.watched() && !h.busy && !h.settling && now.After(h.over) {
			h.unsettled = false
			hs.pop(h, 0)
		}
	}
	hs.sweepAt = max(64, 2*len(hs.m))
}

// until is when the lease of owner's hold ends, as far as the client may count on it.
func (hs *holds) until(l *RLock, owner Owner) time.Time {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.m[holdKey{l.name, owner}]; h != nil && len(h.levels) > 0 {
		return h.ends
	}
	return time.Time{}
}

// ---- for the faithful generations

// acquired notes that the server granted a hold, by a call made at called.
func (hs *holds) acquired(l *RLock, owner Owner, co callOptions, called time.Time) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.push(hs.get(l, owner), co, called.Add(co.lease))
}

// unlocking returns the hold's mark, to be given to unlocked, and the lease of the hold that
// remains if one is taken back.
func (hs *holds) unlocking(key holdKey) (mark uint64, lease time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.m[key]
	if h == nil {
		return 0, hs.client.opts.WatchdogTimeout
	}
	return h.mark, hs.leaseOf(butLast(h.levels))
}

// lease returns the lease of the innermost hold.
func (hs *holds) lease(key holdKey) time.Duration {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.m[key]; h != nil {
		return hs.leaseOf(h.levels)
	}
	return hs.client.opts.WatchdogTimeout
}

// unlocked forgets the innermost hold, or all of them if the server said that none is left and
// none was acquired meanwhile. The unlock has set the lease of what is left, unless it ended in an error.
func (hs *holds) unlocked(key holdKey, mark uint64, err error, free bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.m[key]
	switch {
	case h == nil:
	case free && h.mark == mark:
		hs.pop(h, 0)
	default:
		if err == nil {
			h.endAt(time.Now().Add(hs.client.opts.WatchdogTimeout))
		}
		hs.popOne(h)
	}
}

// unwatch has no hold of a lock renewed any more. What leases they have is still known, for they are there until the server
// has executed what is about to free the lock.
func (hs *holds) unwatch(lock string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for key, h := range hs.m {
		if key.lock == lock {
			before := h.watched()
			for i := range h.levels {
				h.levels[i].watched = false
			}
			hs.count(before, false)
		}
	}
}

// ---- for generation Hardened

// view is what a request needs to know of a hold. The leases are the watchdog timeout where there
// is no such level.
type view struct {
	levels    int
	unsettled bool
	settle    bool          // what is unsettled must be settled before an unlock
	longest   time.Duration // 0 without levels
	inner     time.Duration // of the innermost level
	outer     time.Duration // of the level that remains when one is taken back
}

func (hs *holds) viewOf(h *hold) view {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.viewLocked(h)
}

func (hs *holds) viewLocked(h *hold) view {
	v := view{levels: len(h.levels), unsettled: h.unsettled, inner: hs.leaseOf(h.levels),
		outer: hs.leaseOf(butLast(h.unlockable()))}
	// A hold that the client knows nothing of, or calls lost, may still be there: the server says.
	v.settle = h.unsettled && (len(h.levels) > 0 || h.owes)
	for _, level := range h.levels {
		v.longest = max(v.longest, level.lease)
	}
	return v
}

// enter waits until no request of the owner on the lock is under way, and begins one, which must
// end with exit.
func (hs *holds) enter(ctx context.Context, l *RLock, owner Owner) (*hold, view, error) {
	hs.mu.Lock()
	h := hs.get(l, owner)
	if h.ownerArg == nil {
		h.ownerArg = string(owner)
		h.recordArg = requestOf(l.name, owner)
	}
	if !h.busy {
		h.busy = true
		v := hs.viewLocked(h)
		hs.mu.Unlock()
		return h, v, nil
	}
	turn := make(chan struct{})
	h.queue = append(h.queue, turn)
	hs.mu.Unlock()
	var err error
	select {
	case <-turn:
		return h, hs.viewOf(h), nil
	case <-ctx.Done():
		err = notSent(ctx)
	case <-hs.client.closing.Done():
		err = ErrClosed
	}
	hs.mu.Lock()
	i := slices.Index(h.queue, turn)
	if i >= 0 {
		h.queue = slices.Delete(h.queue, i, i+1)
	}
	hs.mu.Unlock()
	if i < 0 { // it was our turn already
		hs.exit(h)
	}
	return nil, view{}, err
}

// exit ends a request.
func (hs *holds) exit(h *hold) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.exitLocked(h)
}

func (hs *holds) exitLocked(h *hold) {
	if len(h.queue) > 0 {
		close(h.queue[0])
		h.queue = h.queue[1:]
		return
	}
	h.busy = false
	hs.tidy(h)
}
