package lockimpl_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// The properties that Redisson's own tests ask of RLock (RedissonLockTest,
// RedissonLockExpirationRenewalTest, RedissonLockHeavyTest), under their names and for every
// generation. What does not apply:
//
//   - testLockUninterruptibly: in Go a call is interruptible if its context is; testKeepsWaiting
//     asks the rest.
//   - testLockListener: listeners are keyspace notifications and no part of the lock.
//   - testInCluster and testLockFailoverInCluster need real servers: they are in cluster_test.go.
//   - testWriteLockAfterTimeout, testReadLockAfterTimeout: there is no read-write lock.
var rlockProperties = []struct {
	name string
	test func(t *testing.T, w *world)
}{
	{"testSubscriptionsPerConnection", func(t *testing.T, w *world) {
		c := w.client("a")
		l := c.Lock("x")
		each(32, func(i int) {
			o := c.Owner(int64(i))
			for range 15 { // Redisson's test: 156
				if err := l.Lock(ctx, o); err != nil {
					t.Error(err)
				}
				if _, err := l.Unlock(ctx, o); err != nil {
					t.Error(err)
				}
			}
		})
		time.Sleep(3 * time.Second)
		if channels := w.server.PubSubChannels("*"); len(channels) != 0 {
			t.Fatalf("left: %q", channels)
		}
	}},
	{"testSinglePubSub", func(t *testing.T, w *world) {
		// One connection serves many subscriptions: a short TryLock succeeds beside twenty waiters.
		a, b := w.client("a"), w.client("b")
		waiters, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range 20 {
			name := fmt.Sprint("held", i)
			must(t, a.Lock(name).Lock(ctx, a.Owner(1)))
			wg.Go(func() { b.Lock(name).Lock(waiters, b.Owner(int64(i))) })
		}
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		time.AfterFunc(50*time.Millisecond, func() { a.Lock("x").Unlock(ctx, a.Owner(1)) })
		start := time.Now()
		is(t, true)(b.Lock("x").TryLock(ctx, b.Owner(99), lockimpl.Wait(100*time.Millisecond)))
		if d := time.Since(start); d > 51*time.Millisecond {
			t.Fatalf("after %v", d)
		}
		stop()
		wg.Wait()
	}},
	{"testLockIsNotRenewedAfterInterruptedTryLock", func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestACancelledAcquireIsRenewed)
		c := w.primed("a")
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		if ok, err := c.Lock("x").TryLock(short, c.Owner(1)); ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(ok, err)
		}
		time.Sleep(45 * time.Second)
		is(t, false)(c.Lock("x").IsLocked(ctx))
	}},
	{"testRedisFailed", func(t *testing.T, w *world) {
		c := w.client("a")
		w.cut("a")
		err := c.Lock("x").Lock(ctx, c.Owner(1))
		if err == nil || errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
		if ok, err := c.Lock("x").TryLock(ctx, c.Owner(1)); ok || err == nil {
			t.Fatal(ok, err)
		}
	}},
	{"testRemainTimeToLive2", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		for range 3 {
			must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
			time.Sleep(3 * time.Second)
		}
		is(t, false)(l.Unlock(ctx, o))
		is(t, false)(l.Unlock(ctx, o))
		between(t, 9*time.Second, 10*time.Second)(l.RemainingTTL(ctx))
		is(t, true)(l.Unlock(ctx, o))
	}},
	{"testTryLockWait", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		start := time.Now()
		is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(3*time.Second)))
		between(t, 2990*time.Millisecond, 3350*time.Millisecond)(time.Since(start), nil)
	}},
	{"testKeepsWaiting", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		got := make(chan error, 1)
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1)) }()
		time.Sleep(time.Hour)
		select {
		case err := <-got:
			t.Fatal(err)
		default:
		}
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		must(t, <-got)
	}},
	{"testForceUnlock", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l := a.Lock("x")
		is(t, false)(b.Lock("x").ForceUnlock(ctx))
		must(t, l.Lock(ctx, a.Owner(1)))
		is(t, true)(b.Lock("x").ForceUnlock(ctx))
		is(t, false)(l.IsLocked(ctx))
		if _, err := l.Unlock(ctx, a.Owner(1)); !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		time.Sleep(time.Minute)
		is(t, true)(b.Lock("x").IsHeldBy(ctx, b.Owner(1)))
	}},
	{"testExpire", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(2*time.Second)))
		start := time.Now()
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		between(t, 2*time.Second, 2020*time.Millisecond)(time.Since(start), nil)
		if _, err := a.Lock("x").Unlock(ctx, a.Owner(1)); !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
		is(t, true)(b.Lock("x").IsHeldBy(ctx, b.Owner(1)))
	}},
	{"testRemainTimeToLive", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(time.Hour)))
		between(t, 59*time.Minute, time.Hour)(l.RemainingTTL(ctx))
		is(t, true)(l.Unlock(ctx, o))
		is(t, lockimpl.TTLNoKey)(l.RemainingTTL(ctx))
		must(t, l.Lock(ctx, o))
		between(t, 29*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
	}},
	{"testAutoExpire", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		time.Sleep(time.Minute)
		start := time.Now()
		must(t, a.Close())
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		if d := time.Since(start); d > 30*time.Second {
			t.Fatalf("free after %v", d)
		}
	}},
	{"testGetHoldCount", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		is(t, int64(0))(l.HoldCount(ctx, o))
		must(t, l.Lock(ctx, o))
		is(t, int64(1))(l.HoldCount(ctx, o))
		must(t, l.Lock(ctx, o))
		is(t, int64(2))(l.HoldCount(ctx, o))
		is(t, false)(l.Unlock(ctx, o))
		is(t, int64(1))(l.HoldCount(ctx, o))
		is(t, true)(l.Unlock(ctx, o))
		is(t, int64(0))(l.HoldCount(ctx, o))
	}},
	{"testIsHeldByCurrentThread", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		is(t, false)(l.IsHeldBy(ctx, o))
		must(t, l.Lock(ctx, o))
		is(t, true)(l.IsHeldBy(ctx, o))
		is(t, true)(l.Unlock(ctx, o))
		is(t, false)(l.IsHeldBy(ctx, o))
	}},
	{"testIsHeldByCurrentThreadOtherThread", func(t *testing.T, w *world) {
		c, d := w.client("a"), w.client("b")
		l := c.Lock("x")
		must(t, l.Lock(ctx, c.Owner(1)))
		is(t, false)(l.IsHeldBy(ctx, c.Owner(2)))
		is(t, false)(l.IsHeldBy(ctx, d.Owner(1))) // the thread's number alone says nothing: #3492
		is(t, true)(l.Unlock(ctx, c.Owner(1)))
		is(t, false)(l.IsHeldBy(ctx, c.Owner(2)))
	}},
	{"testIsLocked", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		is(t, false)(l.IsLocked(ctx))
		must(t, l.Lock(ctx, o))
		is(t, true)(l.IsLocked(ctx))
		is(t, true)(l.Unlock(ctx, o))
		is(t, false)(l.IsLocked(ctx))
	}},
	{"testIsLockedOtherThread", func(t *testing.T, w *world) {
		c, d := w.client("a"), w.client("b")
		must(t, c.Lock("x").Lock(ctx, c.Owner(1)))
		is(t, true)(d.Lock("x").IsLocked(ctx))
		is(t, true)(c.Lock("x").Unlock(ctx, c.Owner(1)))
		is(t, false)(d.Lock("x").IsLocked(ctx))
	}},
	{"testUnlockFail", func(t *testing.T, w *world) {
		c, d := w.client("a"), w.client("b")
		must(t, c.Lock("x").Lock(ctx, c.Owner(1)))
		for _, err := range []error{
			errOf(c.Lock("x").Unlock(ctx, c.Owner(2))), errOf(d.Lock("x").Unlock(ctx, d.Owner(1))),
		} {
			if !errors.Is(err, lockimpl.ErrNotHeld) {
				t.Fatal(err)
			}
		}
		is(t, int64(1))(c.Lock("x").HoldCount(ctx, c.Owner(1)))
		is(t, true)(c.Lock("x").Unlock(ctx, c.Owner(1)))
	}},
	{"testLockUnlock", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		for range 2 {
			must(t, l.Lock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
		}
	}},
	{"testReentrancy", func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		is(t, true)(l.TryLock(ctx, o))
		is(t, true)(l.TryLock(ctx, o))
		is(t, false)(l.Unlock(ctx, o))
		is(t, false)(l.TryLock(ctx, c.Owner(2)))
		is(t, true)(l.Unlock(ctx, o))
		is(t, true)(l.TryLock(ctx, c.Owner(2)))
	}},
	{"testConcurrencyTryLockUnLock", func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARenewalUnderWayOutlivesTheUnlock)
		// Whoever holds the lock is renewed, whatever the others try: nobody is ever refused its unlock.
		c := w.client("a")
		l := c.Lock("x")
		each(16, func(i int) {
			o := c.Owner(int64(i))
			for range 20 {
				ok, err := l.TryLock(ctx, o)
				if err != nil {
					t.Error(err)
				}
				if !ok {
					time.Sleep(time.Second)
					continue
				}
				time.Sleep(35 * time.Second)
				if _, err := l.Unlock(ctx, o); err != nil {
					t.Error(err)
				}
			}
		})
	}},
	{"testConcurrency_SingleInstance", func(t *testing.T, w *world) {
		concurrency(t, 1, 150, 1, w)
	}},
	{"testConcurrencyLoop_MultiInstance", func(t *testing.T, w *world) {
		concurrency(t, 16, 16, 10, w) // Redisson's test: 100 times
	}},
	{"testConcurrency_MultiInstance", func(t *testing.T, w *world) {
		concurrency(t, 30, 30, 1, w) // Redisson's test: 100 clients
	}},
	{"testLockAfterTimeout", func(t *testing.T, w *world) {
		c := w.client("a", func(o *lockimpl.Options) { o.WatchdogTimeout, o.WatchdogBatch = time.Second, 50 })
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.cut("a") // Redis restarts without its data
		w.server.FlushAll()
		time.Sleep(500 * time.Millisecond)
		w.heal("a")
		time.Sleep(2 * time.Second)
		if _, err := l.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
		must(t, l.Lock(ctx, o))
		time.Sleep(2*time.Second + 100*time.Millisecond)
		is(t, true)(l.Unlock(ctx, o))
	}},
	{"testLockReentrantRenew", func(t *testing.T, w *world) { // #6144
		c := w.client("a", func(o *lockimpl.Options) { o.WatchdogTimeout = time.Second })
		l := c.Lock("x")
		must(t, l.Lock(ctx, c.Owner(1)))
		must(t, l.Lock(ctx, c.Owner(1)))
		is(t, false)(l.Unlock(ctx, c.Owner(1)))
		is(t, true)(l.Unlock(ctx, c.Owner(1)))
		must(t, l.Lock(ctx, c.Owner(2)))
		time.Sleep(10*time.Second + 100*time.Millisecond)
		is(t, true)(l.IsHeldBy(ctx, c.Owner(2)))
	}},
	{"lockUnlockRLock", func(t *testing.T, w *world) { heavy(t, w, (*lockimpl.RLock).Lock) }},
	{"tryLockUnlockRLock", func(t *testing.T, w *world) {
		heavy(t, w, func(l *lockimpl.RLock, ctx context.Context, o lockimpl.Owner, _ ...lockimpl.Option) error {
			ok, err := l.TryLock(ctx, o, lockimpl.Wait(time.Hour))
			if err == nil && !ok {
				err = errors.New("not within an hour")
			}
			return err
		})
	}},
}

func TestRLockConformance(t *testing.T) {
	for _, p := range rlockProperties {
		t.Run(p.name, func(t *testing.T) { eachGeneration(t, p.test) })
	}
}

// each runs f(0) to f(n-1) at once, and returns when all have.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// concurrency has threads of so many clients enter the critical section so many times each, and
// counts without other protection.
func concurrency(t *testing.T, clients, threads, times int, w *world) {
	cs := make([]*lockimpl.Client, clients)
	for i := range cs {
		cs[i] = w.client(fmt.Sprint("client", i))
	}
	entered := 0
	each(threads, func(i int) {
		c := cs[i%clients]
		l, o := c.Lock("x"), c.Owner(int64(i))
		for range times {
			if err := l.Lock(ctx, o); err != nil {
				t.Error(err)
				return
			}
			before := entered
			time.Sleep(time.Millisecond)
			entered = before + 1
			if _, err := l.Unlock(ctx, o); err != nil {
				t.Error(err)
			}
		}
	})
	if entered != threads*times {
		t.Fatalf("%d entries counted, %d made", entered, threads*times)
	}
}

// heavy has 20 threads take 20 locks in turn, 20 times each. (Redisson's test: up to 50,000 times.)
func heavy(t *testing.T, w *world, lock func(*lockimpl.RLock, context.Context, lockimpl.Owner, ...lockimpl.Option) error) {
	c := w.client("a")
	each(20, func(i int) {
		o := c.Owner(int64(i))
		for j := range 20 {
			l := c.Lock(fmt.Sprint("lock", (i+j)%20))
			if err := lock(l, ctx, o); err != nil {
				t.Error(err)
				return
			}
			if _, err := l.Unlock(ctx, o); err != nil {
				t.Error(err)
			}
		}
	})
}

func errOf[T any](_ T, err error) error { return err }
