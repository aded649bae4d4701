package lockimpl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

func TestReentryCountsAndReleases(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o, other := c.Lock("order:42"), c.Owner(1), c.Owner(2)
		is(t, int64(0))(l.HoldCount(ctx, o))
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o))
		is(t, int64(2))(l.HoldCount(ctx, o))
		is(t, true)(l.IsHeldBy(ctx, o))
		is(t, false)(l.IsHeldBy(ctx, other))
		is(t, false)(l.Unlock(ctx, o))
		is(t, false)(l.TryLock(ctx, other))
		is(t, true)(l.Unlock(ctx, o))
		is(t, false)(l.IsLocked(ctx))
		is(t, lockimpl.TTLNoKey)(l.RemainingTTL(ctx))
		if _, err := l.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) || lockimpl.OutcomeUnknown(err) {
			t.Fatalf("got %v", err)
		}
		for _, key := range w.server.Keys() {
			if !strings.HasPrefix(key, "holdfast") || w.server.TTL(key) == 0 {
				t.Fatalf("left behind for ever: %q", key)
			}
		}
	})
}

func TestWatchdogRenewsUntilUnlock(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		time.Sleep(10*time.Minute + 5*time.Second)
		between(t, 20*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
		is(t, true)(l.Unlock(ctx, o))
		is(t, false)(l.IsLocked(ctx))
		must(t, l.Lock(ctx, o, lockimpl.Lease(15*time.Second)))
		time.Sleep(15 * time.Second)
		is(t, false)(l.IsLocked(ctx))
	})
}

func TestWaiterWakesOnRelease(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		start := time.Now()
		done := make(chan time.Duration, 10)
		for i := range 10 {
			go func() {
				l, o := b.Lock("x"), b.Owner(int64(i))
				if err := l.Lock(ctx, o); err != nil {
					t.Error(err)
				}
				done <- time.Since(start)
				time.Sleep(time.Second)
				if _, err := l.Unlock(ctx, o); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(5 * time.Second)
		if n := w.subscribers("x"); n != 1 {
			t.Fatalf("%d subscriptions for ten waiters", n)
		}
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		for i := range 10 {
			if at := <-done; at.Round(time.Millisecond) != time.Duration(5+i)*time.Second {
				t.Fatalf("waiter %d got the lock after %v", i, at)
			}
		}
		time.Sleep(3 * time.Second)
		if n := w.subscribers("x"); n != 0 {
			t.Fatalf("%d subscriptions left", n)
		}
	})
}

// A release may be heard of before the answer to an attempt that came too early for it.
func TestAReleaseDuringAnAttemptIsNotForgotten(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		got := make(chan time.Time)
		go func() {
			if err := b.Lock("x").Lock(ctx, b.Owner(1)); err != nil {
				t.Error(err)
			}
			got <- time.Now()
		}()
		synctest.Wait()
		w.fates("b", isLate)
		must(t, w.admin.Publish(ctx, "redisson_lock__channel:{x}", "0").Err()) // has b try
		synctest.Wait()
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		released := time.Now()
		if d := (<-got).Sub(released); d > lateBy {
			t.Fatalf("acquired %v after the release", d)
		}
	})
}

// Nor must a waiter keep to itself a release that it does not need any more.
func TestAReleaseThatIsNotNeededGoesToTheNextWaiter(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(time.Second))) // the subscription lingers
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		w.fates("b", isLate)
		got := make(chan time.Time)
		for thread := range int64(2) {
			go func() {
				if err := b.Lock("x").Lock(ctx, b.Owner(1+thread)); err != nil {
					t.Error(err)
				}
				got <- time.Now()
			}()
			synctest.Wait() // the first has the lock, but does not know
		}
		is(t, true)(a.Lock("x").ForceUnlock(ctx))
		released := time.Now()
		<-got
		if d := (<-got).Sub(released); d > lateBy {
			t.Fatalf("acquired %v after the release", d)
		}
	})
}

func TestTryLockGivesUpAfterItsWait(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		start := time.Now()
		is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(3*time.Second)))
		if d := time.Since(start); d != 3*time.Second {
			t.Fatal(d)
		}
		is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1)))
		if d := time.Since(start); d != 3*time.Second {
			t.Fatal(d)
		}
	})
}

func TestCancelledWaiterLeavesNothing(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		short, cancel := context.WithTimeout(ctx, 7*time.Second)
		defer cancel()
		err := b.Lock("x").Lock(short, b.Owner(1))
		if !errors.Is(err, context.DeadlineExceeded) || lockimpl.OutcomeUnknown(err) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		if n := w.subscribers("x"); n != 0 {
			t.Fatalf("%d subscriptions left", n)
		}
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		is(t, false)(a.Lock("x").IsLocked(ctx))
	})
}

func TestSubscriptionSurvivesReconnect(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARequestIsSentOnce)
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		got := make(chan error, 1)
		start := time.Now()
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1)) }()
		time.Sleep(time.Second)
		w.cut("b")
		time.Sleep(time.Second)
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1))) // nobody hears it
		time.Sleep(3 * time.Second)
		w.heal("b")
		must(t, <-got)
		if d := time.Since(start); d > 8*time.Second {
			t.Fatalf("after %v", d)
		}
	})
}

func TestCloseEndsWaitersAndWatchdog(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		must(t, b.Lock("y").Lock(ctx, b.Owner(1)))
		got := make(chan error, 1)
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1)) }()
		synctest.Wait()
		must(t, b.Close())
		if err := <-got; !errors.Is(err, lockimpl.ErrClosed) {
			t.Fatal(err)
		}
		must(t, b.Close())
		if err := b.Lock("x").Lock(ctx, b.Owner(1)); !errors.Is(err, lockimpl.ErrClosed) {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		is(t, false)(a.Lock("y").IsLocked(ctx))
		is(t, true)(a.Lock("x").IsLocked(ctx))
	})
}

func TestBadArguments(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.client("a")
		o := c.Owner(1)
		for _, test := range []struct {
			name string
			want error
			err  error
		}{
			{"empty name", lockimpl.ErrBadName, c.Lock("").Lock(ctx, o)},
			{"open brace", lockimpl.ErrBadName, c.Lock("a{b").Lock(ctx, o)},
			{"close brace", lockimpl.ErrBadName, c.Lock("a}b").Lock(ctx, o)},
			{"empty tag", lockimpl.ErrBadName, c.Lock("{}b").Lock(ctx, o)},
			{"no owner", lockimpl.ErrBadOwner, c.Lock("x").Lock(ctx, "")},
			{"zero lease", lockimpl.ErrBadLease, c.Lock("x").Lock(ctx, o, lockimpl.Lease(0))},
			{"negative lease", lockimpl.ErrBadLease, c.Lock("x").Lock(ctx, o, lockimpl.Lease(-time.Second))},
			{"lease below 1 ms", lockimpl.ErrBadLease, c.Lock("x").Lock(ctx, o, lockimpl.Lease(time.Microsecond))},
			{"wait given to Lock", lockimpl.ErrBadWait, c.Lock("x").Lock(ctx, o, lockimpl.Wait(time.Second))},
		} {
			var e *lockimpl.Error
			if !errors.Is(test.err, test.want) || !errors.As(test.err, &e) || lockimpl.OutcomeUnknown(test.err) {
				t.Errorf("%s: got %v", test.name, test.err)
			}
		}
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Fatalf("keys written: %q", keys)
		}
		must(t, c.Lock("{a}:b").Lock(ctx, o))
	})
}

// A waiter that is being refused when its subscription breaks and comes back looks again: the
// refusal may be older than a release that it missed.
func TestAReconnectionWhileAWaiterTriesHasItTryAgain(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		got := make(chan error, 1)
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1)) }()
		time.Sleep(time.Second)
		w.fates("b", isLate)
		must(t, w.admin.Publish(ctx, "redisson_lock__channel:{x}", "0").Err()) // b tries, and is refused
		synctest.Wait()
		w.cutSubscriptions("b")
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1))) // nobody hears it
		start := time.Now()
		must(t, <-got)
		if d := time.Since(start); d > lateBy+time.Second {
			t.Fatalf("after %v", d)
		}
	})
}
