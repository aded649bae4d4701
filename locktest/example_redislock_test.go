package locktest_test

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"

	"github.com/holdfast-sim/holdfast/locktest"
)

// redisLock is a lock of bsm/redislock, unmodified, without options.
type redisLock struct {
	env  locktest.Env
	name string
	held *redislock.Lock
}

func newRedislock(e locktest.Env) (locktest.Client, error) {
	return locktest.Locks(func(name, _ string) locktest.Lock { return &redisLock{env: e, name: name} }), nil
}

func (l *redisLock) Acquire(ctx context.Context, r locktest.Request) error {
	held, err := redislock.Obtain(ctx, l.env.Redis, l.name, cmp.Or(r.Lease, l.env.WatchdogTimeout), nil)
	switch {
	case errors.Is(err, redislock.ErrNotObtained) && r.Wait > 0: // it does not wait
		return errors.Join(locktest.ErrFailed, err)
	case errors.Is(err, redislock.ErrNotObtained):
		return errors.Join(locktest.ErrBusy, err)
	case err != nil:
		return err
	}
	l.held = held
	return nil
}

func (l *redisLock) Release(ctx context.Context) error {
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		err = errors.Join(locktest.ErrNotHeld, err)
	}
	return err
}

// Redislock as a user has it.
func Example_redislock() {
	var t *testing.T // that of your test
	locktest.Run(t, newRedislock)
}
