package lockimpl

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// protocol is what the generations differ in.
type protocol interface {
	// attempt tries once to take l and, if it got it, notes the hold. Otherwise it returns the
	// holder's remaining lease, or -1 if that has no end.
	attempt(ctx context.Context, l *RLock, owner Owner, co callOptions) (time.Duration, error)
	// takesBack reports whether the client gives back by itself what an attempt took that ended in an error.
	takesBack(err error) bool
	// unlock takes back one hold, on the server and from the watchdog, and reports whether it
	// was the last.
	unlock(ctx context.Context, l *RLock, owner Owner) (bool, error)
	// force frees the lock, and reports whether it was held.
	force(ctx context.Context, l *RLock) (bool, error)
	// renew renews holds, each batch of them by one command and all in one round trip, and notes
	// what became of them.
	renew(batches [][]renewal) error
	// renewAgain is how long after the beginning of a round with errors the next one begins.
	renewAgain() time.Duration
}

// granted is an attempt's answer that it got the lock.
const granted time.Duration = -2

// faithful is the protocol as Redisson's versions had it, and what was weak there is weak here. No
// request is repeated by it, but go-redis may re-send any (see [Client]).
type faithful struct {
	client  *Client
	acquire *script
	unlocks *script
	latch   bool // unlocks with a latch
	forces  *script
	renews  *script
	message string // of a release
	once    bool   // an unlock is not sent again
}

// faithfulLock is that of RLock.
func faithfulLock(c *Client, acquire *script, latch bool) *faithful {
	f := &faithful{client: c, acquire: acquire, unlocks: unlockPlain, latch: latch, forces: forceUnlock, renews: renewPlain,
		message: unlockMessage}
	if latch {
		f.unlocks = unlockLatch
	}
	return f
}

func (f *faithful) attempt(ctx context.Context, l *RLock, owner Owner, co callOptions) (time.Duration, error) {
	key := holdKey{l.name, owner}
	cmd := newIntCall(ctx, f.acquiring(l, owner, co)...)
	late := func() {
		if errors.Is(cmd.Err(), redis.Nil) { // granted, and nobody wants it any more
			_, _ = f.release(f.client.closing, l, owner, f.client.holds.lease(key))
		}
	}
	called := time.Now()
	err := f.client.run(ctx, f.acquire, cmd, late)
	if errors.Is(err, redis.Nil) {
		f.client.holds.acquired(l, owner, co, called)
		return granted, nil
	}
	if err != nil {
		return 0, err
	}
	if ttl := cmd.Val(); ttl >= 0 {
		return time.Duration(ttl) * time.Millisecond, nil
	}
	return -1, nil
}

// takesBack: it hears of what it abandoned, and of nothing that a broken connection took with it.
func (f *faithful) takesBack(err error) bool {
	var late *abandoned
	return errors.As(err, &late)
}

func (f *faithful) acquiring(l *RLock, owner Owner, co callOptions) []any {
	if l.fair != nil {
		return l.fair.acquiring(f, l, owner, co)
	}
	return []any{evalsha, f.acquire.digest, 1, l.nameArg, co.lease.Milliseconds(), string(owner)}
}

func (f *faithful) unlock(ctx context.Context, l *RLock, owner Owner) (bool, error) {
	key := holdKey{l.name, owner}
	mark, lease := f.client.holds.unlocking(key)
	free, err := f.release(ctx, l, owner, lease)
	f.client.holds.unlocked(key, mark, err, free || errors.Is(err, ErrNotHeld))
	return free, err
}

// release executes the unlock script. lease is the one to set if holds remain.
func (f *faithful) release(ctx context.Context, l *RLock, owner Owner, lease time.Duration) (bool, error) {
	if !f.latch {
		cmd := newIntCall(ctx, evalsha, f.unlocks.digest, 2, l.nameArg, l.channelArg,
			f.message, lease.Milliseconds(), string(owner))
		err := f.client.run(ctx, f.unlocks, cmd, nil)
		return lastOf(cmd, err)
	}
	request, err := f.client.newRequestID()
	if err != nil {
		return false, err
	}
	latch := latchOf(l.name, request)
	args := []any{evalsha, f.unlocks.digest, 3, l.nameArg, l.channelArg, latch,
		f.message, lease.Milliseconds(), string(owner), f.client.opts.latchLifetime().Milliseconds()}
	if l.fair != nil {
		args = l.fair.queued(args)
	}
	cmd := newIntCall(ctx, args...)
	cmd.once = f.once
	err = f.client.run(ctx, f.unlocks, cmd, nil)
	free, err := lastOf(cmd, err)
	if err == nil || errors.Is(err, ErrNotHeld) {
		_ = f.client.process(ctx, redis.NewIntCmd(ctx, "del", latch), nil)
	}
	return free, err
}

// lastOf reads the answer of an unlock script.
func lastOf(cmd *intCall, err error) (bool, error) {
	switch {
	case errors.Is(err, redis.Nil):
		return false, ErrNotHeld
	case err != nil:
		return false, err
	}
	return cmd.Val() == 1, nil
}

func (f *faithful) force(ctx context.Context, l *RLock) (bool, error) {
	f.client.holds.unwatch(l.name)
	args := []any{evalsha, f.forces.digest, 2, l.nameArg, l.channelArg, f.message}
	if l.fair != nil {
		args = l.fair.queued(args)
	}
	cmd := newIntCall(ctx, args...)
	if err := f.client.run(ctx, f.forces, cmd, nil); err != nil {
		return false, err
	}
	return cmd.Val() == 1, nil
}

func (f *faithful) renew(batches [][]renewal) error {
	c := f.client
	if batches = c.holds.standing(batches); len(batches) == 0 {
		return nil
	}
	ctx := c.closing
	if !c.oneServer() {
		// One that does not answer must not keep the others' renewals waiting for long.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.holds.period()/2)
		defer cancel()
	}
	cmds := make([]*intsCall, len(batches))
	for i, batch := range batches {
		cmds[i] = f.renewal(ctx, batch)
	}
	called := time.Now()
	if err := c.runAll(ctx, f.renews, cmds, c.holds.again(batches, func(batch []renewal) *intsCall { return f.renewal(ctx, batch) })); err != nil {
		return err
	}
	var failed error
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		if err := cmd.Err(); err != nil {
			failed = err
			continue
		}
		c.holds.renewed(batches[i], cmd.Val(), called, time.Time.Add)
	}
	return failed
}

func (f *faithful) renewal(ctx context.Context, batch []renewal) *intsCall {
	args := make([]any, 0, 4+2*len(batch))
	args = append(args, evalsha, f.renews.digest, len(batch))
	for _, r := range batch {
		args = append(args, r.hold.key.lock)
	}
	args = append(args, f.client.opts.WatchdogTimeout.Milliseconds())
	for _, r := range batch {
		args = append(args, string(r.hold.key.owner))
	}
	return newIntsCall(ctx, args...)
}

func (f *faithful) renewAgain() time.Duration { return f.client.holds.period() }
