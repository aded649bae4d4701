package lockimpl

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Margin is how long before a lease's end, as the client can know it, a hold of generation
// [Hardened] is called lost: one hundredth of the lease, for clocks that run unequally fast, and
// 2 ms, for the precision of Redis's expiry. (The drift that the Redlock algorithm allows for.)
func Margin(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// Lost returns a channel that is closed when owner's hold of the lock is lost: before the server
// can have given the lock to anybody else, which is when the lease is over, counted from the call
// that set it last, less its [Margin]; or as soon as an answer of the server says that owner does
// not hold it any more, or a forced release is published. The holder should then stop what the
// lock protects. The channel is not closed by an unlock. If owner holds nothing, it is closed
// already. [Client.Close] closes it, for a closed client renews no more.
//
// To hear of forced releases at once, the client subscribes to the lock's channel while it holds a
// lock that Lost, or HoldContext, was called for.
//
// What no lease can do: a process that is stopped while it holds the lock learns nothing until it
// goes on, and a server that forgets the lock early (failover, restart, a jump of its clock) gives
// it away without a word.
//
// The faithful generations do not tell: they return nil, a channel that is never closed.
func (l *RLock) Lost(owner Owner) <-chan struct{} {
	if _, ok := l.proto.(*hardened); !ok {
		return nil
	}
	hs := l.client.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	w := hs.watchOf(l, owner)
	if w == nil {
		return closedChannel
	}
	return w.lost
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// HoldContext returns a context for work under owner's hold: it ends when parent does, when the
// hold is lost (as [RLock.Lost] tells; [context.Cause] is then [ErrLost]), when it is unlocked for
// the last time, and when cancel is called, which should not be forgotten.
//
// With the faithful generations it ends with parent or cancel only.
func (l *RLock) HoldContext(parent context.Context, owner Owner) (ctx context.Context, cancel context.CancelFunc) {
	ctx, stop := context.WithCancelCause(parent)
	cancel = func() { stop(nil) }
	if _, ok := l.proto.(*hardened); !ok {
		return ctx, cancel
	}
	l.whenOver(owner, stop)
	return ctx, cancel
}

// whenOver calls f when owner's hold is over: with nil if it was unlocked, else with the reason for which it is lost, which it is already
// if owner holds nothing. It calls f before [RLock.Lost] can be seen closed by anybody else, and f must not wait.
func (l *RLock) whenOver(owner Owner, f func(reason error)) {
	hs := l.client.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if w := hs.watchOf(l, owner); w != nil {
		w.cancels = append(w.cancels, f)
	} else {
		f(ErrLost)
	}
}

// TokenUnit is the unit of time in which a counter of tokens starts. Two grants within one, between which the server lost the counter,
// may have the same token.
const TokenUnit = 100 * time.Microsecond

// Token returns the fencing token of owner's hold, and whether there is one. Tokens of a lock
// strictly increase from grant to grant; a re-entry has that of its grant.
//
// Where they come from: a counter on the server, which starts at the server's clock, in units of
// 100 µs, and is forgotten a day later. So they also increase over the loss of the counter, if the
// server's clock was not set back and the lock was not granted more than 10,000 times a second all
// the while. (Finer units would not do: a script hands fourteen digits of a number to the counter.)
// For a counter that is never forgotten, see [FencedLock].
//
// The faithful generations have no tokens.
func (l *RLock) Token(owner Owner) (token int64, ok bool) {
	hs := l.client.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.m[holdKey{l.name, owner}]
	if h == nil || len(h.levels) == 0 || h.token == 0 {
		return 0, false
	}
	return h.token, true
}

// lossWatch tells of one hold's loss. holds.mu guards it.
type lossWatch struct {
	lost    chan struct{}
	cancels []context.CancelCauseFunc
	timer   *time.Timer
	verify  func() // asks the server whether the hold stands, as soon as no request of the owner is under way
	unhear  func()
}

// watchOf returns the watch of owner's hold, or nil if there is no hold, or it is over.
func (hs *holds) watchOf(l *RLock, owner Owner) *lossWatch {
	h := hs.m[holdKey{l.name, owner}]
	if h == nil || len(h.levels) == 0 {
		return nil
	}
	if h.watch == nil {
		left := time.Until(h.ends)
		if left <= 0 {
			hs.lose(h)
			return nil
		}
		w := &lossWatch{lost: make(chan struct{})}
		w.timer = time.AfterFunc(left, func() { hs.expire(h, w) })
		w.verify = func() { hs.verify(l, h, w) }
		w.unhear = hs.client.hub.listen(l.waitsAt(owner), w.verify)
		h.watch = w
	}
	return h.watch
}

// end tells the watchers that the hold is over: lost for a reason, or unlocked (nil).
func (w *lossWatch) end(reason error) {
	w.timer.Stop()
	w.unhear()
	if reason != nil {
		close(w.lost)
	}
	for _, cancel := range w.cancels {
		cancel(reason)
	}
}

// lose notes that the hold is over without an unlock. The server may not know yet.
func (hs *holds) lose(h *hold) {
	if len(h.levels) == 0 {
		return
	}
	if h.watch != nil {
		h.watch.end(ErrLost)
		h.watch = nil
	}
	h.past, h.owes = h.levels, h.unsettled
	h.unsettled = true
	hs.pop(h, 0)
}

// expire loses the hold if its lease was not renewed meanwhile.
func (hs *holds) expire(h *hold, w *lossWatch) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.watch != w {
		return
	}
	if left := time.Until(h.ends); left > 0 {
		w.timer.Reset(left)
		return
	}
	hs.lose(h)
}

// verify asks the server whether the hold still stands, since a release was published.
func (hs *holds) verify(l *RLock, h *hold, w *lossWatch) {
	c := hs.client
	if c.begin() != nil {
		return
	}
	defer c.work.Done()
	// Not while a request is under way: it may be the unlock that was published.
	entered, _, err := hs.enter(c.closing, l, h.key.owner)
	if err != nil {
		return
	}
	defer hs.exit(entered)
	hs.mu.Lock()
	over := h.watch != w
	hs.mu.Unlock()
	if over {
		return
	}
	held, err := l.isHeldBy(c.closing, h.key.owner)
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		held, err = false, nil // another program has written over the key
	}
	if err != nil || held {
		return
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.watch == w {
		hs.lose(h)
		h.unsettled = false
	}
}
