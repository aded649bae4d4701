package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"

	"github.com/holdfast-sim/holdfast/locktest"
)

// redisLock is a lock of bsm/redislock, unmodified, without options.
func redisLock(e locktest.Env, name string) locktest.Funcs {
	var held *redislock.Lock
	return locktest.Funcs{
		Try: func(ctx context.Context, lease time.Duration) error {
			got, err := redislock.Obtain(ctx, e.Redis, name, lease, nil)
			if err == nil {
				held = got
			}
			return err
		},
		Unlock:  func(ctx context.Context) error { return held.Release(ctx) },
		Lease:   e.WatchdogTimeout,
		Busy:    redislock.ErrNotObtained,
		NotHeld: redislock.ErrLockNotHeld,
	}
}

func newRedislock(e locktest.Env) (locktest.Client, error) {
	return locktest.Locks(func(name, _ string) locktest.Lock { return redisLock(e, name) }), nil
}

// Redislock as a user has it.
func Example_redislock() {
	var t *testing.T // that of your test
	locktest.Run(t, newRedislock)
}
