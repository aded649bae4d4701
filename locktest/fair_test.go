package locktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/locktest"
)

// fairReference is the reference fair lock in the hands of one owner.
type fairReference struct {
	reference
	fair  *lockimpl.FairLock
	queue locktest.Queue
}

func (r fairReference) Queue() locktest.Queue { return r.queue }

func (r fairReference) Acquire(ctx context.Context, q locktest.Request) error {
	var opts []lockimpl.Option
	if q.Lease > 0 {
		opts = append(opts, lockimpl.Lease(q.Lease))
	}
	if q.Forever {
		return settled(r.fair.Lock(ctx, r.o, opts...))
	}
	if q.Wait > 0 {
		opts = append(opts, lockimpl.Wait(q.Wait))
	}
	got, err := r.fair.TryLock(ctx, r.o, opts...)
	if err == nil && !got {
		return locktest.ErrBusy
	}
	return settled(err)
}

func (r fairReference) ReleaseOne(ctx context.Context) (last bool, err error) {
	last, err = r.fair.Unlock(ctx, r.o)
	return last, settled(err)
}

func (r fairReference) Release(ctx context.Context) error {
	_, err := r.ReleaseOne(ctx)
	return err
}

type fairClient struct {
	referenceClient
	fair  bool
	queue string
}

func (c fairClient) Lock(name, owner string) locktest.Lock {
	r := reference{c.c.Lock(name), lockimpl.Owner(owner)}
	f := fairReference{r, c.c.FairLock(name), locktest.Queue{Key: c.queue, Prefix: "q:", Kept: 20 * time.Second}}
	if !c.fair {
		return unfair{r, f.queue}
	}
	return f
}

// unfair is a lock that says that it is fair, and is not.
type unfair struct {
	reference
	queue locktest.Queue
}

func (u unfair) Queue() locktest.Queue { return u.queue }

func fairLocks(fair bool, queue string) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		c, err := newReference(e)
		if err != nil {
			return nil, err
		}
		return fairClient{c.(referenceClient), fair, queue}, nil
	}
}

const line = "holdfast_lock_queue:{*}"

func TestAFairLockOfYourOwn(t *testing.T) {
	locktest.Run(t, fairLocks(true, line), locktest.Only("fair-", "drawn"), locktest.Drawn(5))
}

// Who names a queue in which nobody ever is, is told so: whether the lock is fair nobody can know then.
func TestALockThatNamesNoQueueOfItsOwnIsNotCalledFair(t *testing.T) {
	for name, lock := range map[string]locktest.NewLock{"another key": fairLocks(true, "queue:*"), "no fair lock": fairLocks(false, line)} {
		err := locktest.Inside(t, lock, locktest.Only("fair-order"), locktest.Drawn(0))
		if err == nil || !strings.Contains(err.Error(), "nobody was ever in the queue that the lock names") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
