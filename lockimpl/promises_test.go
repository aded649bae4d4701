package lockimpl_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What follows are promises that mistakes broke which no hunt had caught: see plantedThirty of package broken.

// threeServers runs a test with three servers in virtual time.
func threeServers(t *testing.T, f func(t *testing.T, ws []*world)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, []*world{newWorld(t, lockimpl.Hardened), newWorld(t, lockimpl.Hardened), newWorld(t, lockimpl.Hardened)})
	})
}

func TestRedOldestGrantUnlocked(t *testing.T) {
	threeServers(t, func(t *testing.T, ws []*world) {
		r, b := redlock(ws, "p"), redlock(ws, "q")
		must(t, r.Lock(ctx, "p:1"))
		lost := r.Lost("p:1")
		lift := ws[2].silence("p")
		must(t, r.Lock(ctx, "p:1"))
		lift()
		time.Sleep(12 * time.Second)
		if n, err := r.Unlock(ctx, "p:1"); n < 2 || err != nil {
			t.Fatal(n, err)
		}
		for i, w := range ws {
			if !w.server.Exists("x") {
				t.Error("gone on", i)
			}
		}
		ws[0].server.Del("x")
		ok, err := b.TryLock(ctx, "q:1")
		if ok {
			t.Error("both hold", err, isClosed(lost))
		}
	})
}

func TestRedUntilOfAll(t *testing.T) {
	threeServers(t, func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		lift := ws[2].silence("p")
		must(t, r.Lock(ctx, "p:1"))
		must(t, r.Lock(ctx, "p:1"))
		lost := r.Lost("p:1")
		if n, err := r.Unlock(ctx, "p:1"); n < 2 || err != nil {
			t.Fatal(n, err)
		}
		if isClosed(lost) {
			t.Fatal("early")
		}
		ws[0].server.Del("x")
		time.Sleep(31 * time.Second)
		if !isClosed(lost) {
			t.Error("not told")
		}
		lift()
	})
}

func TestMultiLateRefusalBlamesFirst(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		x, o := a.Lock("x"), a.Owner(1)
		g := multi(t, locksOf(a, "x", "y")...)
		is(t, true)(g.TryLock(ctx, "a:9", lockimpl.Lease(time.Second)))
		is(t, 2)(g.Unlock(ctx, "a:9"))
		must(t, x.Lock(ctx, o))
		lost := x.Lost(o)
		must(t, b.Lock("y").Lock(ctx, b.Owner(1)))
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		if ok, err := g.TryLock(short, o); ok || err == nil {
			t.Fatal(ok, err)
		}
		time.Sleep(3 * lateBy)
		if isClosed(lost) || !w.server.Exists("x") {
			t.Error("lost", w.server.Exists("x"))
		}
	})
}

func TestMultiReleaseDiesOfBadKey(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.primed("a")
		g := multi(t, locksOf(a, "x", "y")...)
		must(t, g.Lock(ctx, a.Owner(1)))
		w.server.Del("x")
		w.server.Set("x", "other")
		g.Unlock(ctx, a.Owner(1))
		if w.server.Exists("y") {
			t.Error("y is left")
		}
		w.server.Del("x")
	})
}

func TestLateGiveBackSetsOwnLease(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a := w.primed("a")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(time.Minute)))
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		if err := x.Lock(short, o, lockimpl.Lease(2*time.Second)); err == nil {
			t.Fatal("granted")
		}
		time.Sleep(10 * time.Second)
		if !w.server.Exists("x") {
			t.Error("gone")
		}
	})
}

func TestLostUnlockSetsWatchdogLease(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.primed("a")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		must(t, x.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		lost := x.Lost(o)
		<-lost
		is(t, false)(x.Unlock(ctx, o))
		between(t, 9*time.Second, 10*time.Second)(x.RemainingTTL(ctx))
	})
}

func TestStaleRefusalSleepsOn(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a", func(o *lockimpl.Options) { o.ResponseTimeout = 500 * time.Millisecond }), w.primed("b")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1), lockimpl.Lease(10*time.Second)))
		w.fates("a", arrives, isLate)
		began := time.Now()
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		if d := time.Since(began); d > 10*time.Second+100*time.Millisecond {
			t.Error(d)
		}
	})
}

func TestRedOpenForgotten(t *testing.T) {
	threeServers(t, func(t *testing.T, ws []*world) {
		r, b := redlock(ws, "p"), redlock(ws, "q")
		is(t, true)(b.TryLock(ctx, "q:1"))
		ws[2].server.Del("x")
		is(t, false)(r.TryLock(ctx, "p:9")) // scripts
		ws[2].fates("p", isLost)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		err := r.Lock(short, "p:1")
		if !lockimpl.OutcomeUnknown(err) {
			t.Error(err)
		}
	})
}

func TestLeaveRestStops(t *testing.T) {
	threeServers(t, func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		must(t, r.Lock(ctx, "p:1"))
		l1, l2 := ws[1].silence("p"), ws[2].silence("p")
		r.TryLock(ctx, "p:1")
		time.Sleep(3 * time.Second)
		_, _ = r.UnlockMembers(ctx, "p:1")
		l1()
		l2()
		time.Sleep(3 * time.Minute)
		for i, w := range ws {
			if w.server.Exists("x") {
				t.Error("left on", i)
			}
		}
	})
}

func TestRefusalTellsNobody(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o))
		lost := x.Lost(o)
		w.server.Del("x")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		is(t, false)(x.TryLock(ctx, o))
		if !isClosed(lost) {
			t.Error("not told")
		}
	})
}

func TestLatchRemovedThoughUnknown(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(time.Minute)))
		must(t, x.Lock(ctx, o, lockimpl.Lease(time.Minute)))
		made := w.fates("a", isLost)
		if _, err := x.Unlock(ctx, o); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(time.Second)
		w.replay(made()[0])
		if !w.server.Exists("x") {
			t.Error("gone")
		}
	})
}

func TestReconciledEndNotNoted(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		lost := x.Lost(o)
		time.Sleep(3 * time.Second)
		w.fates("a", isLost)
		if err := x.Lock(ctx, o, lockimpl.Lease(10*time.Second)); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(8 * time.Second)
		if isClosed(lost) {
			t.Error("told", w.server.TTL("x"))
		}
	})
}

func TestFairLateLeaveDropsNewPlace(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, a, b := w.client("h"), w.client("a"), w.client("b")
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		is(t, false)(a.FairLock("x").TryLock(ctx, a.Owner(1), lockimpl.Wait(time.Second)))
		made := w.fates("a")
		is(t, false)(a.FairLock("x").TryLock(ctx, a.Owner(1), lockimpl.Wait(time.Second)))
		calls := made()
		leave := calls[len(calls)-1]
		order := make(chan int, 2)
		for i, c := range []*lockimpl.Client{a, b} {
			go func() {
				if c.FairLock("x").Lock(ctx, c.Owner(1)) == nil {
					order <- i
					time.Sleep(time.Second)
					c.FairLock("x").Unlock(ctx, c.Owner(1))
				}
			}()
			time.Sleep(time.Second)
		}
		w.replay(leave)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		if first := <-order; first != 0 {
			t.Error("overtaken")
		}
		<-order
		time.Sleep(2 * time.Second)
	})
}

func TestFairFailedHurriesAll(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		short := func(o *lockimpl.Options) { o.FairWaitTimeout = time.Minute }
		h, a, b := w.client("h", short), w.client("a", short), w.client("b", short)
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		order := make(chan int, 2)
		go func() {
			if a.FairLock("x").Lock(ctx, a.Owner(1)) == nil {
				order <- 0
				time.Sleep(time.Second)
				a.FairLock("x").Unlock(ctx, a.Owner(1))
			}
		}()
		time.Sleep(time.Second)
		is(t, false)(b.FairLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(30*time.Second)))
		is(t, false)(b.FairLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(30*time.Second)))
		go func() {
			if ok, _ := b.FairLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(30*time.Second)); ok {
				order <- 1
				time.Sleep(time.Second)
				b.FairLock("x").Unlock(ctx, b.Owner(1))
			}
		}()
		time.Sleep(5 * time.Second)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		if first := <-order; first != 0 {
			t.Error("overtaken")
		}
		time.Sleep(40 * time.Second)
	})
}

func TestRwUpgradeWaitsForOthers(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		la, lb := a.ReadWriteLock("x"), b.ReadWriteLock("x")
		must(t, la.ReadLock().Lock(ctx, a.Owner(1)))
		must(t, lb.ReadLock().Lock(ctx, b.Owner(1)))
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := la.WriteLock().Lock(short, a.Owner(1)); !errors.Is(err, lockimpl.ErrUpgrade) {
			t.Error(err)
		}
	})
}

func thirtySem(t *testing.T, w *world, c *lockimpl.Client, permits int64) *lockimpl.Semaphore {
	s := c.Semaphore("x")
	is(t, true)(s.TrySetPermits(ctx, permits))
	return s
}

func TestSemSlotsCut(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, c, 10)
		must(t, s.Acquire(ctx, 5))
		must(t, s.Release(ctx, 1)) // 6
		// slot 0: slow; slot 1: never executed, to be repeated
		w.fates("a", isLate, neverRan)
		done := make(chan error)
		go func() { done <- s.Release(ctx, 1) }() // 7
		time.Sleep(time.Millisecond)
		if err := s.Release(ctx, 1); err == nil { // 8, in the background
			t.Fatal("no error")
		}
		w.fates("a", neverRan, neverRan, neverRan, neverRan) // its repetitions
		must(t, <-done)
		time.Sleep(10 * time.Millisecond)
		w.fates("a", isLate, arrives)
		go func() { done <- s.Acquire(ctx, 1) }()
		time.Sleep(time.Millisecond)
		go func() { done <- s.Acquire(ctx, 1) }()
		must(t, <-done)
		must(t, <-done)
		time.Sleep(time.Minute)
		is(t, int64(6))(s.AvailablePermits(ctx))
	})
}

func TestSemCancelMakesSemaphore(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, c, 3)
		must(t, s.Acquire(ctx, 1))
		must(t, s.Release(ctx, 1))
		w.fates("a", isLost)
		if err := s.Acquire(ctx, 2); err == nil {
			t.Fatal("no error")
		}
		w.server.Del("x")
		time.Sleep(10 * time.Second)
		is(t, true)(s.TrySetPermits(ctx, 3))
	})
}

func TestSemRefusedKeepsTheRest(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		s, other := thirtySem(t, w, b, 2), a.Semaphore("x")
		must(t, s.Acquire(ctx, 2))
		start := time.Now()
		two, one := make(chan time.Duration, 1), make(chan time.Duration, 1)
		go func() {
			if other.Acquire(ctx, 2) == nil {
				two <- time.Since(start)
			}
		}()
		time.Sleep(time.Second)
		go func() {
			if other.Acquire(ctx, 1) == nil {
				one <- time.Since(start)
			}
		}()
		time.Sleep(time.Second)
		// 2 are free: a wakes who wants 2. Before it asks, b takes one.
		w.fates("a", neverRan) // go-redis sends it again after 1 ms or so
		must(t, s.Release(ctx, 2))
		must(t, s.Acquire(ctx, 1))
		if d := <-one; d > 10*time.Second {
			t.Error(d)
		}
		must(t, other.Release(ctx, 1))
		must(t, s.Release(ctx, 1))
		<-two
	})
}

func TestSemForgottenWhileRepeated(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, c, 3)
		must(t, s.Acquire(ctx, 2))
		must(t, s.Release(ctx, 1)) // 2 are free
		w.fates("a", isLost)
		if err := s.Release(ctx, 1); err == nil { // 3
			t.Fatal("no error")
		}
		w.cut("a")
		time.Sleep(22 * time.Second)
		w.heal("a")
		time.Sleep(2 * time.Minute)
		is(t, int64(3))(s.AvailablePermits(ctx))
	})
}

func TestSemRequestIdOfClient(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		s := thirtySem(t, w, a, 3)
		must(t, s.Acquire(ctx, 2))
		must(t, s.Release(ctx, 1, lockimpl.RequestID("job-7")))
		must(t, b.Semaphore("x").Release(ctx, 1, lockimpl.RequestID("job-7")))
		is(t, int64(2))(s.AvailablePermits(ctx))
	})
}

func TestSemComparedAsText(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := thirtySem(t, w, w.client("a"), 10)
		is(t, true)(s.TryAcquire(ctx, 9))
	})
}

func TestPermitSleepsToTheEnd(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		s := a.PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 1))
		p, err := s.Acquire(ctx, lockimpl.Lease(5*time.Minute))
		must(t, err)
		start := time.Now()
		got := make(chan time.Duration)
		go func() {
			_, err := b.PermitExpirableSemaphore("x").Acquire(ctx, lockimpl.Lease(time.Second))
			must(t, err)
			got <- time.Since(start)
		}()
		time.Sleep(time.Second)
		must(t, s.UpdateLease(ctx, p, lockimpl.Lease(2*time.Second)))
		if d := <-got; d > 31*time.Second {
			t.Error(d)
		}
	})
}

func TestPermitGivenBackByDigits(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a := w.primed("a")
		s := a.PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 1))
		p, err := s.Acquire(ctx)
		must(t, err)
		must(t, s.Release(ctx, p))
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		if _, err := s.Acquire(short); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(10 * time.Second)
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

func TestLatchExpiredRoundStays(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l := a.CountDownLatch("x")
		is(t, true)(l.TrySetCount(ctx, 2))
		done := make(chan error)
		go func() { done <- b.CountDownLatch("x").Await(ctx) }()
		time.Sleep(time.Second)
		w.server.Del("x")
		must(t, <-done)
		time.Sleep(time.Hour)
		if w.server.Exists("holdfast_round:{x}") {
			t.Error("left")
		}
	})
}

func TestGroupUnlockThroughAnotherValue(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		g, h := multi(t, locksOf(a, "x", "y")...), multi(t, locksOf(a, "x", "y")...)
		must(t, g.Lock(ctx, a.Owner(1)))
		lost := h.Lost(a.Owner(1))
		is(t, 2)(g.Unlock(ctx, a.Owner(1)))
		if isClosed(lost) {
			t.Error("told")
		}
	})
}

func TestFirstMemberDecides(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		g := multi(t, locksOf(a, "x", "y")...)
		must(t, g.Lock(ctx, a.Owner(1)))
		w.server.Del("x")
		w.fates("a", arrives, isLost)
		_, err := g.Unlock(ctx, a.Owner(1))
		if !lockimpl.OutcomeUnknown(err) {
			t.Error(err)
		}
	})
}

func TestFairForceUntold(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		lost := a.FairLock("x").Lost(a.Owner(1))
		time.Sleep(time.Second)
		is(t, true)(b.FairLock("x").ForceUnlock(ctx))
		time.Sleep(100 * time.Millisecond)
		if !isClosed(lost) {
			t.Error("not told")
		}
	})
}

func TestSemTellsWhatWasGiven(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		s := thirtySem(t, w, a, 2)
		must(t, s.Acquire(ctx, 2))
		got := make(chan time.Time)
		go func() {
			must(t, b.Semaphore("x").Acquire(ctx, 2))
			got <- time.Now()
		}()
		time.Sleep(time.Second)
		must(t, s.Release(ctx, 1))
		must(t, s.Release(ctx, 1))
		start := time.Now()
		if d := (<-got).Sub(start); d > time.Second {
			t.Error(d)
		}
	})
}
