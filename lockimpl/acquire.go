package lockimpl

import (
	"context"
	"errors"
	"time"
)

// Lock takes the lock for owner, and waits for it as long as ctx lasts. Without [Lease] the
// watchdog renews the hold until it is unlocked or lost.
//
// An owner that holds the lock already takes it once more: the hold count grows, the lease is set
// anew to that of this call, which may be shorter than what was left. With Hardened neither a
// re-entry nor a renewal shortens it.
//
// When ctx ends, Lock returns its error at once, having left nothing behind but, if an attempt was
// under way, a goroutine that awaits the attempt's reply and gives the lock back if it was granted.
// If that reply is lost too, the hold lasts until its lease ends; it is not renewed. Current does not give it back, and
// renews it.
//
// A grant whose answer comes when its lease is over, counted from the attempt, is none: Hardened
// gives it back, and returns [ErrElapsed].
func (l *RLock) Lock(ctx context.Context, owner Owner, opts ...Option) error {
	co, err := l.client.opts.call(opts)
	if err == nil && co.bounded {
		err = ErrBadWait
	}
	if err == nil {
		_, err = l.take(ctx, owner, co)
	}
	return l.wrap("Lock", owner, err)
}

// TryLock takes the lock for owner if it is free or becomes so within [Wait], and reports whether
// it did. The rest is as with [RLock.Lock].
//
// With the faithful generations, Wait bounds the waiting, not the attempts: one that is under way
// when it ends is still awaited, which takes a round trip or, when the server does not answer,
// go-redis's timeouts. Hardened gives it up after 200 ms more (a fifteenth of
// [Options.ResponseTimeout]), which a server that is well does not need, with [ErrNoReply]: whether
// the lock was granted is not known. If it was, it is given back, as when ctx ends.
func (l *RLock) TryLock(ctx context.Context, owner Owner, opts ...Option) (bool, error) {
	co, err := l.client.opts.call(opts)
	if err != nil {
		return false, l.wrap("TryLock", owner, err)
	}
	co.bounded = true
	ok, err := l.take(ctx, owner, co)
	return ok, l.wrap("TryLock", owner, err)
}

// take is Lock and TryLock: it attempts, and between attempts waits for a release.
func (l *RLock) take(ctx context.Context, owner Owner, co callOptions) (bool, error) {
	if owner == "" {
		return false, ErrBadOwner
	}
	if err := l.begin(); err != nil {
		return false, err
	}
	defer l.client.work.Done()

	attempt := func(ctx context.Context, contended bool) (time.Duration, error) {
		co.contended = contended && !l.spins
		return l.proto.attempt(ctx, l, owner, co)
	}
	if l.spins {
		return l.waitsAt(owner).spin(ctx, co, attempt)
	}
	acquired, err := l.waitsAt(owner).acquire(ctx, co, attempt)
	if l.fair != nil && !acquired && (!co.bounded || co.wait > 0) {
		l.fair.left(ctx, l, owner, co, err)
	}
	return acquired, err
}

// acquire attempts until an attempt answers that it was granted, and waits in between; false: the time
// to wait is over. An attempt answers like that of [protocol]; contended says that others may wait, too.
func (p place) acquire(ctx context.Context, co callOptions,
	attempt func(ctx context.Context, contended bool) (time.Duration, error)) (acquired bool, err error) {
	deadline := time.Now().Add(co.wait)
	wait := waiting{place: p, bounded: co.bounded, deadline: deadline}
	contended := false
	// A waiter that is there before the attempt needs no second attempt to be sure that it
	// misses no release.
	if !co.bounded || co.wait > 0 {
		wait.w = p.client.hub.joinConfirmed(p)
		contended = wait.w != nil
	}
	defer func() { wait.end(acquired) }()
	attempting, cancel := p.client.attempting(ctx, p.eager && co.wait > 0, deadline)
	defer cancel()
	for {
		began := time.Now()
		ttl, err := attempt(attempting, contended)
		if err != nil {
			return false, noReply(attempting, err)
		}
		if ttl == granted {
			return true, nil
		}
		if late := time.Since(began) - p.client.opts.grace(); p.eager && ttl > 0 && late > 0 {
			ttl = max(0, ttl-late) // it was left when the server answered, which may be that long ago
		}
		contended = true
		again, err := wait.next(ctx, ttl)
		if !again {
			return false, err
		}
	}
}

// grace is how long an attempt is awaited that is under way when the time to wait is over.
func (o Options) grace() time.Duration { return o.ResponseTimeout / 15 }

// attempting returns the context of attempts of a call. If that is bounded, an attempt that is under way when the call's time is over is
// awaited a little longer, and then given up.
func (c *Client) attempting(ctx context.Context, bounded bool, deadline time.Time) (context.Context, context.CancelFunc) {
	if !bounded {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, deadline.Add(c.opts.grace()), errWaited)
}

// noReply is the error of an attempt, [ErrNoReply] if it was given up since the call's time was over.
func noReply(attempting context.Context, err error) error {
	if context.Cause(attempting) == errWaited && errors.Is(err, context.DeadlineExceeded) {
		return ErrNoReply
	}
	return err
}

// errWaited is why the context of an attempt ends when that is over, too.
var errWaited = errors.New("waited long enough")

// place is where calls wait: the channel on which they hear of releases. Places compare with ==.
type place struct {
	client  *Client
	channel string
	manner  *manner // what a message means; nil: that of a lock
	need    int64   // how much the call asks for, where that is not always one
	eager   bool    // it tries when the lease is over, though not subscribed, and does not await an attempt for long
}

// waiting is the pauses of one Lock or TryLock call.
type waiting struct {
	place
	bounded  bool
	deadline time.Time
	w        *waiter // nil until the first pause
	joined   time.Time
	unheard  bool // the last attempt began before the subscription was confirmed: nobody tells of what was released since
}

// next pauses until there is reason for another attempt: the subscription was confirmed, a release
// was published, or the holder's lease, ttl at the last attempt, is over. It reports false when
// the time to wait is spent (err nil), ctx ended, the client is closed, or the subscription failed.
func (wt *waiting) next(ctx context.Context, ttl time.Duration) (again bool, err error) {
	c := wt.client
	left := time.Until(wt.deadline)
	if wt.bounded && left <= 0 {
		return false, nil
	}
	if ttl < 0 {
		ttl = 1<<63 - 1
		if c.hub.staggers {
			ttl = c.opts.WatchdogTimeout // a wake-up may have been left to another process
		}
	}
	if wt.w == nil {
		wt.w, wt.joined = c.hub.join(wt.place), time.Now()
		return wt.subscribing(ctx, left, ttl) // what was released since the last attempt, nobody told it of
	}
	if !wt.w.confirmed() {
		return wt.subscribing(ctx, left, ttl)
	}
	if wt.unheard {
		wt.unheard = false
		return true, nil
	}
	c.hub.attempted(wt.w)
	ttl = max(ttl, time.Millisecond) // a lease of less than 1 ms is left: do not spin
	if wt.bounded && left < ttl {
		return wt.pause(ctx, wt.w.wake, left, func() (bool, error) { return false, nil })
	}
	return wt.pause(ctx, wt.w.wake, ttl, func() (bool, error) { return true, nil })
}

// subscribing is next until the subscription is confirmed. Generation Hardened knows meanwhile when the lease is over, and looks once in a
// watchdog timeout if nobody told it of one.
func (wt *waiting) subscribing(ctx context.Context, left, ttl time.Duration) (again bool, err error) {
	c := wt.client
	limit := c.opts.SubscribeTimeout - time.Since(wt.joined)
	late := func() (bool, error) {
		c.hub.unconfirmed(wt.w)
		return false, ErrSubscribeTimeout
	}
	if wt.bounded && left <= limit {
		limit, late = left, func() (bool, error) { return false, nil }
	}
	wt.unheard = false
	if wt.eager && ttl < limit {
		limit, late = max(ttl, time.Millisecond), func() (bool, error) { wt.unheard = true; return true, nil }
	}
	return wt.pause(ctx, wt.w.ready, limit, late)
}

// pause waits for signal, which is reason for another attempt, or calls late after limit.
func (wt *waiting) pause(ctx context.Context, signal <-chan struct{}, limit time.Duration,
	late func() (bool, error)) (bool, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-signal:
		return true, nil
	case <-timer.C:
		return late()
	case <-ctx.Done():
		return false, notSent(ctx)
	case <-wt.client.closing.Done():
		return false, ErrClosed
	}
}

func (wt *waiting) end(acquired bool) {
	if wt.w != nil {
		wt.client.hub.leave(wt.w, acquired)
	}
}
