package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// redsyncMutex is a mutex of redsync, unmodified, with its defaults.
type redsyncMutex struct {
	rs   *redsync.Redsync
	name string
	*redsync.Mutex
}

func newRedsync(e locktest.Env) (locktest.Client, error) {
	rs := redsync.New(goredis.NewPool(e.Redis))
	return locktest.Locks(func(name, _ string) locktest.Lock { return &redsyncMutex{rs, name, rs.NewMutex(name)} }), nil
}

func (m *redsyncMutex) Acquire(ctx context.Context, r locktest.Request) error {
	var opts []redsync.Option
	if r.Lease > 0 {
		opts = append(opts, redsync.WithExpiry(r.Lease))
	}
	m.Mutex = m.rs.NewMutex(m.name, opts...)
	lock := m.LockContext
	if !r.Forever && r.Wait == 0 {
		lock = m.TryLockContext
	}
	if r.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Wait)
		defer cancel()
	}
	err := lock(ctx)
	if errors.As(err, new(*redsync.ErrTaken)) && r.Wait > 0 && ctx.Err() == nil { // it ran out of tries
		return errors.Join(locktest.ErrFailed, err)
	}
	if errors.As(err, new(*redsync.ErrTaken)) {
		err = errors.Join(locktest.ErrBusy, err)
	}
	return err
}

func (m *redsyncMutex) Release(ctx context.Context) error {
	ok, err := m.UnlockContext(ctx)
	if !ok && !errors.As(err, new(*redsync.RedisError)) {
		return errors.Join(locktest.ErrNotHeld, err)
	}
	return err
}

// Redsync as a user has it: 8 s are its default expiry.
func Example_redsync() {
	var t *testing.T // that of your test
	locktest.Run(t, newRedsync, locktest.Lease(8*time.Second))
}
