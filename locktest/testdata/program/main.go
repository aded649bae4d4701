// Program tries a lock outside of go test: redislock, of which it claims more than redislock keeps.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"

	"github.com/holdfast-sim/holdfast/locktest"
)

type lock struct {
	env  locktest.Env
	name string
	held *redislock.Lock
}

func (l *lock) Acquire(ctx context.Context, r locktest.Request) (err error) {
	held, err := redislock.Obtain(ctx, l.env.Redis, l.name, cmp.Or(r.Lease, l.env.WatchdogTimeout), nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return locktest.ErrFailed
	}
	if err == nil {
		l.held = held
	}
	return err
}

func (l *lock) Release(ctx context.Context) error {
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return locktest.ErrNotHeld
	}
	return err
}

// Idempotent claims that a command that is sent again takes effect once. It is not so.
func (l *lock) Idempotent() time.Duration { return 0 }

func main() {
	err := locktest.Test(func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, _ string) locktest.Lock { return &lock{env: e, name: name} }), nil
	}, locktest.Drawn(3), locktest.Reports(os.Args[1]))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
