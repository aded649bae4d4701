package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/locktest"
)

// reference is the reference lock in the hands of one owner, with all that it can do.
type reference struct {
	l *lockimpl.RLock
	o lockimpl.Owner
}

func newReference(e locktest.Env) (locktest.Client, error) {
	c, err := lockimpl.New(e.Redis, lockimpl.Options{ID: e.ID, WatchdogTimeout: e.WatchdogTimeout, Scheduler: e.Scheduler, Random: e.Random})
	return referenceClient{c}, err
}

type referenceClient struct{ c *lockimpl.Client }

func (c referenceClient) Close() error { return c.c.Close() }

func (c referenceClient) Lock(name, owner string) locktest.Lock {
	return reference{c.c.Lock(name), lockimpl.Owner(owner)}
}

func (r reference) Acquire(ctx context.Context, q locktest.Request) error {
	var opts []lockimpl.Option
	if q.Lease > 0 {
		opts = append(opts, lockimpl.Lease(q.Lease))
	}
	if q.Forever {
		return settled(r.l.Lock(ctx, r.o, opts...))
	}
	if q.Wait > 0 {
		opts = append(opts, lockimpl.Wait(q.Wait))
	}
	got, err := r.l.TryLock(ctx, r.o, opts...)
	if err == nil && !got {
		return locktest.ErrBusy
	}
	return settled(err)
}

func (r reference) ReleaseOne(ctx context.Context) (last bool, err error) {
	last, err = r.l.Unlock(ctx, r.o)
	return last, settled(err)
}

func (r reference) Release(ctx context.Context) error {
	_, err := r.ReleaseOne(ctx)
	return err
}

// settled puts an error into locktest's terms.
func settled(err error) error {
	switch {
	case errors.Is(err, lockimpl.ErrNotHeld), errors.Is(err, lockimpl.ErrLost):
		return errors.Join(locktest.ErrNotHeld, err)
	case errors.Is(err, lockimpl.ErrElapsed): // it was granted, too late, and given back
		return err
	case err != nil && !lockimpl.OutcomeUnknown(err):
		return errors.Join(locktest.ErrFailed, err)
	}
	return err
}

func (r reference) RenewEvery() time.Duration { return 10 * time.Second }
func (r reference) KeepsLongestLease()        {}
func (r reference) TellsForce()               {}
func (r reference) TakesBack()                {}
func (r reference) ReleaseSetsLease()         {}
func (r reference) Idempotent() time.Duration { return 20 * time.Second }
func (r reference) Lost() <-chan struct{}     { return r.l.Lost(r.o) }

func (r reference) Token() int64 {
	token, _ := r.l.Token(r.o)
	return token
}

func (r reference) ForceRelease(ctx context.Context) error {
	was, err := r.l.ForceUnlock(ctx)
	if err == nil && !was {
		return locktest.ErrNotHeld
	}
	return settled(err)
}

func (r reference) IsLocked(ctx context.Context) (bool, error)   { return r.l.IsLocked(ctx) }
func (r reference) IsHeld(ctx context.Context) (bool, error)     { return r.l.IsHeldBy(ctx, r.o) }
func (r reference) HoldCount(ctx context.Context) (int64, error) { return r.l.HoldCount(ctx, r.o) }

func (r reference) RemainingTTL(ctx context.Context) (time.Duration, error) {
	ttl, err := r.l.RemainingTTL(ctx)
	switch ttl {
	case lockimpl.TTLNoExpiry:
		ttl = -1
	case lockimpl.TTLNoKey:
		ttl = -2
	}
	return ttl, err
}

// The reference lock offers all there is, so that nothing but locks of several is skipped.
func Example_referenceLock() {
	var t *testing.T // that of your test
	locktest.Run(t, newReference)
}
