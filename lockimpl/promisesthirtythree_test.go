package lockimpl_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What follows are promises that the mistakes of plantedThirtyThird of package broken break, each in one situation.

// A drain finds nothing. A copy of it comes after a release.
func TestSemDrainOfNoneForgotten(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s, other := thirtySem(t, w, w.client("a"), 2), w.client("b").Semaphore("x")
		is(t, int64(2))(s.Drain(ctx)) // the server knows the script since
		made := w.fates("a")
		is(t, int64(0))(s.Drain(ctx))
		must(t, other.Release(ctx, 2))
		w.replay(made()[0])
		is(t, int64(2))(other.AvailablePermits(ctx))
	})
}

// There are fewer permits than were taken.
func TestSemDrainDebtToldAsNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 1)
		must(t, s.AddPermits(ctx, -3))
		is(t, int64(-2))(s.Drain(ctx))
		is(t, int64(0))(s.Drain(ctx))
	})
}

// Permits are given back after a drain.
func TestSemDrainEndsSemaphore(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 3)
		must(t, s.Acquire(ctx, 1))
		is(t, int64(2))(s.Drain(ctx))
		must(t, s.Release(ctx, 1))
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

// One waits for three permits, of which one is free. Two are added.
func TestSemAddTellsWhatWasAdded(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s, other := thirtySem(t, w, w.client("a"), 1), w.client("b").Semaphore("x")
		got := soon(func() error { return other.Acquire(ctx, 3) })
		time.Sleep(time.Second)
		must(t, s.AddPermits(ctx, 2))
		began := time.Now()
		must(t, <-got)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// Permits are taken away while all are taken. Then some are given back.
func TestSemAddNotBelowNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 3)
		must(t, s.Acquire(ctx, 3))
		must(t, s.AddPermits(ctx, -2))
		must(t, s.Release(ctx, 2))
		is(t, false)(s.TryAcquire(ctx, 1))
		must(t, s.Release(ctx, 1))
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

// All permits are taken away, and the answer is lost.
func TestSemAddTakingForgotten(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 2)
		must(t, s.AddPermits(ctx, 1)) // the server knows the script since
		w.fates("a", isLost)
		must(t, s.AddPermits(ctx, -3))
		is(t, int64(0))(s.AvailablePermits(ctx))
	})
}

// Nobody has set the permits.
func TestSemAddMakesNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.client("a").Semaphore("x")
		must(t, s.AddPermits(ctx, 2))
		is(t, true)(s.TryAcquire(ctx, 2))
		is(t, false)(s.TrySetPermits(ctx, 2))
	})
}

// Two of three permits are out when two are taken away. Then one is given back.
func TestPermitAddNotBelowTaken(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 3))
		one, err := s.Acquire(ctx)
		must(t, err)
		two, err := s.Acquire(ctx)
		must(t, err)
		must(t, s.AddPermits(ctx, -2))
		must(t, s.Release(ctx, one))
		if _, ok, err := s.TryAcquire(ctx); ok || err != nil {
			t.Error(ok, err)
		}
		must(t, s.Release(ctx, two))
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

// One waits while all permits are out, and another is added.
func TestPermitAddUnheard(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s, other := w.client("a").PermitExpirableSemaphore("x"), w.client("b").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 1))
		must(t, errOf(s.Acquire(ctx)))
		got := soon(func() error { return errOf(other.Acquire(ctx)) })
		time.Sleep(time.Second)
		must(t, s.AddPermits(ctx, 1))
		began := time.Now()
		must(t, <-got)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// A permit is out when others are added.
func TestPermitAddCountsFromFree(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 3))
		must(t, errOf(s.Acquire(ctx)))
		must(t, s.AddPermits(ctx, 2))
		is(t, int64(4))(s.AvailablePermits(ctx))
	})
}

// Permits are taken away where nobody has set any.
func TestPermitTakeFromNoneMakesNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		must(t, s.AddPermits(ctx, -1))
		is(t, false)(s.TrySetPermits(ctx, 2))
		is(t, int64(0))(s.AvailablePermits(ctx))
	})
}

// The answer of a deletion is lost.
func TestLatchDeleteForgotten(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		l := w.client("a").CountDownLatch("x")
		is(t, false)(l.Delete(ctx)) // the server knows the script since
		is(t, true)(l.TrySetCount(ctx, 2))
		w.fates("a", isLost)
		is(t, true)(l.Delete(ctx))
	})
}

// A deletion comes before the latch is set. A copy of it comes after that.
func TestLatchDeleteOfNoneForgotten(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a").CountDownLatch("x"), w.client("b").CountDownLatch("x")
		is(t, false)(a.Delete(ctx)) // the server knows the script since
		made := w.fates("a")
		is(t, false)(a.Delete(ctx))
		is(t, true)(b.TrySetCount(ctx, 2))
		w.replay(made()[0])
		is(t, int64(2))(b.Count(ctx))
	})
}

// A latch is deleted that was counted down before.
func TestLatchDeleteOfRound(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		l := w.client("a").CountDownLatch("x")
		is(t, true)(l.TrySetCount(ctx, 1))
		must(t, l.CountDown(ctx))
		is(t, false)(l.Delete(ctx))
	})
}

// A waiter hears nothing while the latch is deleted and set anew.
func TestLatchRoundKept(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a").CountDownLatch("x"), w.client("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 1))
		got := soon(func() error { return b.Await(ctx) })
		time.Sleep(time.Second)
		w.deafen("b")
		is(t, true)(a.Delete(ctx))
		is(t, true)(a.TrySetCount(ctx, 5))
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if len(got) != 1 {
			t.Error("it waits in the next round")
		}
		is(t, true)(a.Delete(ctx))
		must(t, <-got)
	})
}

// Two of one client wait for a latch that is deleted.
func TestLatchOneTold(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a").CountDownLatch("x"), w.client("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 2))
		one := soon(func() error { return b.Await(ctx) })
		two := soon(func() error { return b.Await(ctx) })
		time.Sleep(time.Second)
		is(t, true)(a.Delete(ctx))
		began := time.Now()
		must(t, <-one)
		must(t, <-two)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// The answer of an acquire of all permits is lost for good.
func TestSemCancelOfLast(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, a, 3)
		must(t, s.Acquire(ctx, 1))
		must(t, s.Release(ctx, 1)) // the server knows the scripts since
		w.fates("a", isLost)
		if err := s.Acquire(ctx, 3); !lockimpl.OutcomeUnknown(err) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		is(t, int64(3))(s.AvailablePermits(ctx))
	})
}

// A release does not reach the server, and before it is repeated another request is made.
func TestSlotFreeWhileUnknown(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, a, 3)
		must(t, s.Acquire(ctx, 2))
		must(t, s.Release(ctx, 1)) // the server knows the scripts since
		w.fates("a", neverRan)
		if err := s.Release(ctx, 1); !lockimpl.OutcomeUnknown(err) {
			t.Fatal(err)
		}
		must(t, s.Acquire(ctx, 1))
		time.Sleep(10 * time.Second)
		is(t, int64(2))(s.AvailablePermits(ctx))
	})
}

// A permit is given back twice.
func TestPermitReleaseLeavesIt(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 1))
		permit, err := s.Acquire(ctx)
		must(t, err)
		must(t, s.Release(ctx, permit))
		refused(t, s.Release(ctx, permit), lockimpl.ErrNotHeld)
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

// A latch is set anew after it was counted down.
func TestLatchZeroStays(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		l := w.client("a").CountDownLatch("x")
		is(t, true)(l.TrySetCount(ctx, 1))
		must(t, l.CountDown(ctx))
		is(t, true)(l.TrySetCount(ctx, 1))
	})
}
