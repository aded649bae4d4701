package lockimpl

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Unlock takes back one of owner's holds. It reports whether that was the last one and the lock is
// free; (false, nil) says that owner still holds it, under a lease set anew to that of the hold
// that remains. An owner that does not hold the lock gets [ErrNotHeld], and nothing changes.
//
// The watchdog forgets the hold whatever the outcome, so that after an error the lock is free
// within its lease. A ctx that has ended has Unlock send nothing: give it one that lasts
// ([context.WithoutCancel]).
//
// Generations: Classic and Combined decrement once for each copy that go-redis sends. Latch
// decrements once, unless a copy arrives after the latch was removed: Unlock removes it, as
// Redisson does, when it has the answer, before it returns, so that the client's messages have an
// order; if that fails, the latch ends by itself.
func (l *RLock) Unlock(ctx context.Context, owner Owner) (released bool, err error) {
	if owner == "" {
		return false, l.wrap("Unlock", owner, ErrBadOwner)
	}
	if err := l.begin(); err != nil {
		return false, l.wrap("Unlock", owner, err)
	}
	defer l.client.work.Done()
	key := holdKey{l.name, owner}
	mark, lease := l.client.dog.unlocking(key)
	released, err = l.release(ctx, owner, lease)
	l.client.dog.unlocked(key, mark, released || errors.Is(err, ErrNotHeld))
	return released, l.wrap("Unlock", owner, err)
}

// release executes the unlock script. lease is the one to set if holds remain.
func (l *RLock) release(ctx context.Context, owner Owner, lease time.Duration) (bool, error) {
	c := l.client
	if c.opts.Generation != Latch {
		return released(run(ctx, c, unlockPlain, redis.NewIntCmd, nil,
			[]string{l.name, l.channel}, unlockMessage, lease.Milliseconds(), string(owner)))
	}
	request, err := c.newRequestID()
	if err != nil {
		return false, err
	}
	latch := latchOf(l.name, request)
	last, err := released(run(ctx, c, unlockLatch, redis.NewIntCmd, nil, []string{l.name, l.channel, latch},
		unlockMessage, lease.Milliseconds(), string(owner), c.opts.latchLifetime().Milliseconds()))
	if err == nil || errors.Is(err, ErrNotHeld) {
		_ = c.process(ctx, redis.NewIntCmd(ctx, "del", latch), func() {})
	}
	return last, err
}

// released reads the answer of an unlock script.
func released(cmd *redis.IntCmd, err error) (bool, error) {
	switch {
	case errors.Is(err, redis.Nil):
		return false, ErrNotHeld
	case err != nil:
		return false, err
	}
	return cmd.Val() == 1, nil
}

// ForceUnlock frees the lock whoever holds it, and reports whether anybody did. It needs no owner:
// the holder's watchdog stops when it finds the hold gone, and the holder's unlock is refused.
//
// A copy that go-redis sends again after a network error frees the lock again, whoever got it
// meanwhile.
func (l *RLock) ForceUnlock(ctx context.Context) (bool, error) {
	if err := l.begin(); err != nil {
		return false, l.wrap("ForceUnlock", "", err)
	}
	defer l.client.work.Done()
	l.client.dog.forget(l.name)
	cmd, err := run(ctx, l.client, forceUnlock, redis.NewIntCmd, nil, []string{l.name, l.channel}, unlockMessage)
	if err != nil {
		return false, l.wrap("ForceUnlock", "", err)
	}
	return cmd.Val() == 1, nil
}
