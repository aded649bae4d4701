package lockimpl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What follows are promises that the mistakes of plantedThirtySecond of package broken break, each in one situation.

// A lease ends before the work does.
func TestHoldContextWithoutCause(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(time.Second)))
		work, cancel := x.HoldContext(ctx, o)
		defer cancel()
		<-work.Done()
		if cause := context.Cause(work); !errors.Is(cause, lockimpl.ErrLost) {
			t.Error(cause)
		}
	})
}

// The server does not know the script, and refuses the request when it does.
func TestRefusalAfterUnknownScript(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		must(t, w.server.Set("x", "other"))
		if err := a.Lock("x").Lock(ctx, a.Owner(1)); err == nil || lockimpl.OutcomeUnknown(err) {
			t.Error(err)
		}
	})
}

// Another program takes the end of the key away. Then the holder dies.
func TestRenewalLeavesNoEnd(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		is(t, true)(w.admin.Persist(ctx, "x").Result())
		time.Sleep(15 * time.Second)
		w.cut("a")
		is(t, true)(b.Lock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(time.Minute)))
	})
}

// A waiter cannot connect to subscribe. When it can, an attempt of it is under way, after which the lock was freed.
func TestConfirmedDuringAttempt(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1), lockimpl.Lease(300*time.Millisecond)))
		w.mu.Lock()
		w.down["a"] = true // the connection that it has stays
		w.mu.Unlock()
		began := time.Now()
		got := soon(func() error { return a.Lock("x").Lock(ctx, a.Owner(1)) })
		time.Sleep(200 * time.Millisecond)
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		w.fates("a", isLate)
		time.Sleep(101 * time.Millisecond)
		is(t, true)(b.Lock("x").ForceUnlock(ctx))
		w.heal("a")
		must(t, <-got)
		if d := time.Since(began); d > 5*time.Second {
			t.Error(d)
		}
	})
}

// A holder was told of a loss.
func TestTokenAfterLoss(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(time.Second)))
		<-x.Lost(o)
		if token, ok := x.Token(o); ok {
			t.Error(token)
		}
	})
}

// Two clients have watchdogs of different timeouts.
func TestMultiFirstWatchdog(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a", func(o *lockimpl.Options) { o.WatchdogTimeout = 3 * time.Second })
		b, c := w.client("b"), w.client("c")
		g := multi(t, a.Lock("x"), b.Lock("y"))
		must(t, g.Lock(ctx, "o"))
		time.Sleep(5 * time.Second)
		is(t, false)(c.Lock("y").TryLock(ctx, c.Owner(1)))
		is(t, 2)(g.Unlock(ctx, "o"))
	})
}

// Two strands take two locks as one owner. Each finds the lock busy that it names first, by a call that is slow.
func TestMultiInGivenOrder(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.primed("a")
		o := a.Owner(1)
		warm := multi(t, locksOf(a, "v", "w")...)
		must(t, warm.Lock(ctx, o))
		is(t, 2)(warm.Unlock(ctx, o))
		w.fates("a", isLate, isLate)
		long, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var ends []<-chan error
		for _, name := range []string{"x", "y"} {
			ends = append(ends, soon(func() error { return a.Lock(name).Lock(long, o) }))
		}
		time.Sleep(time.Millisecond)
		for _, names := range [][]string{{"x", "y"}, {"y", "x"}} {
			ends = append(ends, soon(func() error { return multi(t, locksOf(a, names...)...).Lock(long, o) }))
			time.Sleep(time.Millisecond)
		}
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
	})
}

// Two of three servers have lost the lock when it is unlocked.
func TestRedMinorityUnlockIsFine(t *testing.T) {
	threeServers(t, func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		must(t, r.Lock(ctx, "p:1"))
		ws[0].server.Del("x")
		ws[1].server.Del("x")
		if n, err := r.Unlock(ctx, "p:1"); n != 1 || !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Error(n, err)
		}
	})
}

// The head of the queue is dead when the lock is released. Another asks soon after that.
func TestFairDeadHeadPolled(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, a, b := w.client("h"), w.client("a"), w.client("b")
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		began := time.Now()
		go a.FairLock("x").Lock(ctx, a.Owner(1))
		time.Sleep(time.Second)
		w.cut("a")
		time.Sleep(2 * time.Second)
		got := soon(func() error { return b.FairLock("x").Lock(ctx, b.Owner(1)) })
		time.Sleep(9 * time.Second)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		must(t, <-got)
		if d := time.Since(began); d > 21*time.Second {
			t.Error(d)
		}
	})
}

// One waits for a lock whose holder is dead, and an operator frees it.
func TestFairForceWakesNobody(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, a := w.client("h"), w.client("a")
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		got := soon(func() error { return a.FairLock("x").Lock(ctx, a.Owner(1)) })
		time.Sleep(time.Second)
		is(t, true)(w.client("b").FairLock("x").ForceUnlock(ctx))
		began := time.Now()
		must(t, <-got)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// A writer asked to be told of a loss. Nobody waits.
func TestRwListensAsLock(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		x, o := a.ReadWriteLock("x").WriteLock(), a.Owner(1)
		must(t, x.Lock(ctx, o))
		lost := x.Lost(o)
		time.Sleep(time.Second)
		is(t, true)(b.ReadWriteLock("x").WriteLock().ForceUnlock(ctx))
		time.Sleep(time.Second)
		if !isClosed(lost) {
			t.Error("not told")
		}
	})
}

// An operator frees the lock from its reader. Then a client of another generation writes.
func TestRwForceLeavesMode(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b", func(o *lockimpl.Options) { o.Generation = lockimpl.Latch })
		must(t, a.ReadWriteLock("x").ReadLock().Lock(ctx, a.Owner(1)))
		is(t, true)(a.ReadWriteLock("x").ReadLock().ForceUnlock(ctx))
		is(t, true)(b.ReadWriteLock("x").WriteLock().TryLock(ctx, b.Owner(1)))
	})
}

// A writer reads for a while.
func TestRwLastReadFreesWriter(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.ReadWriteLock("x").WriteLock().Lock(ctx, a.Owner(1)))
		must(t, a.ReadWriteLock("x").ReadLock().Lock(ctx, a.Owner(1)))
		must(t, errOf(a.ReadWriteLock("x").ReadLock().Unlock(ctx, a.Owner(1))))
		is(t, false)(b.ReadWriteLock("x").WriteLock().TryLock(ctx, b.Owner(1)))
	})
}

// An acquire is under way for long. Its caller gives up, and what gives the permits back comes first.
func TestSemCancelNotRemembered(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, a, 3)
		must(t, s.Acquire(ctx, 1))
		must(t, s.Release(ctx, 1))
		made := w.fates("a", vanishes)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := s.Acquire(short, 1); err == nil {
			t.Fatal("granted")
		}
		time.Sleep(time.Second)
		w.replay(made()[0])
		time.Sleep(time.Minute)
		is(t, int64(3))(s.AvailablePermits(ctx))
	})
}

// There are fewer permits than were taken.
func TestSemDrainLeavesDebt(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 3)
		must(t, s.Acquire(ctx, 3))
		must(t, s.AddPermits(ctx, -2))
		is(t, int64(-2))(s.Drain(ctx))
		is(t, int64(0))(s.AvailablePermits(ctx))
	})
}

// More permits are taken away than there are. Then another client starts, and sets their number unless there is one.
func TestPermitTotalBelowNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s, other := w.client("a").PermitExpirableSemaphore("x"), w.client("b").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 2))
		must(t, s.AddPermits(ctx, -3))
		time.Sleep(time.Second)
		is(t, false)(other.TrySetPermits(ctx, 2))
		is(t, int64(0))(other.AvailablePermits(ctx))
	})
}

// A semaphore has a time to live when permits are added.
func TestPermitAddEndsLife(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 2, lockimpl.Lease(5*time.Second)))
		must(t, s.AddPermits(ctx, 1))
		time.Sleep(6 * time.Second)
		is(t, int64(0))(s.AvailablePermits(ctx))
	})
}

// A latch is deleted while one waits for it.
func TestLatchDeleteUnheard(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a").CountDownLatch("x"), w.client("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 2))
		over := soon(func() error { return b.Await(ctx) })
		time.Sleep(time.Second)
		is(t, true)(a.Delete(ctx))
		began := time.Now()
		must(t, <-over)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// A count-down comes before the latch is set. A copy of it comes after that.
func TestLatchDownOfNothingForgotten(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a").CountDownLatch("x"), w.client("b").CountDownLatch("x")
		must(t, a.CountDown(ctx)) // the server knows the script since
		made := w.fates("a")
		must(t, a.CountDown(ctx))
		is(t, true)(b.TrySetCount(ctx, 2))
		w.replay(made()[0])
		is(t, int64(2))(b.Count(ctx))
	})
}

// Holders die, one after the other, while one waits.
func TestSpinSleepsPastLease(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		for lease := 500 * time.Millisecond; lease < 600*time.Millisecond; lease += 10 * time.Millisecond {
			must(t, b.SpinLock("x").Lock(ctx, b.Owner(1), lockimpl.Lease(lease)))
			began := time.Now()
			must(t, a.SpinLock("x").Lock(ctx, a.Owner(1)))
			if d := time.Since(began); d > lease+5*time.Millisecond {
				t.Error(lease, d)
			}
			is(t, true)(a.SpinLock("x").Unlock(ctx, a.Owner(1)))
		}
	})
}
