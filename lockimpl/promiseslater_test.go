package lockimpl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What follows are promises that the mistakes of plantedThirtyFirst of package broken break, each in one situation.

// A partial unlock has no answer. The hold that remains has the lease that it had.
func TestUnansweredUnlockLengthens(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.prime(w.clientOver(w.dialRetrying("a", -1), "a")), w.primed("b")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		must(t, x.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		lost := x.Lost(o)
		time.Sleep(8 * time.Second)
		lift := w.silence("a")
		defer lift()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := x.Unlock(short, o); err == nil {
			t.Fatal("answered")
		}
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		if !isClosed(lost) {
			t.Error("not told")
		}
	})
}

// The first lock is free. The second has a lease, and its holder is dead.
func TestMultiRefusalTellsFirstTtl(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, b.Lock("y").Lock(ctx, b.Owner(1), lockimpl.Lease(5*time.Second)))
		began := time.Now()
		must(t, multi(t, locksOf(a, "x", "y")...).Lock(ctx, a.Owner(1)))
		if d := time.Since(began); d > 6*time.Second {
			t.Error(d)
		}
	})
}

// One lock of a group is deleted, and another has it when the owner comes once more.
func TestMultiAgainBeforeWaiting(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		g, o := multi(t, locksOf(a, "x", "y")...), a.Owner(1)
		must(t, g.Lock(ctx, o))
		w.server.Del("x")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		got := soon(func() error { return g.Lock(ctx, o) })
		time.Sleep(time.Second)
		is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
		must(t, <-got)
		lost := g.Lost(o)
		is(t, 2)(g.Unlock(ctx, o))
		if isClosed(lost) {
			t.Error("an unlock told of a loss")
		}
	})
}

// Nothing happens for half an hour.
func TestPongIsNoSign(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1), lockimpl.Lease(time.Hour)))
		got := soon(func() error { return a.Lock("x").Lock(ctx, a.Owner(1)) })
		time.Sleep(time.Second)
		made := w.fates("a")
		time.Sleep(30 * time.Minute)
		if n := len(made()); n > 0 {
			t.Error("asked", n)
		}
		is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
		must(t, <-got)
	})
}

// Both answers are late. The first lease is over when the second answer comes.
func TestMultiUntilOfTheLast(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		w.fates("a", isLate)
		w.fates("b", isLate)
		g := multi(t, a.Lock("x"), b.Lock("y"))
		if ok, err := g.TryLock(ctx, "o", lockimpl.Lease(3*lateBy/2)); ok || !errors.Is(err, lockimpl.ErrElapsed) {
			t.Error(ok, err, w.server.Exists("x"))
		}
	})
}

// A holder asked to be told of a loss. Then it unlocks.
func TestWatchListensOn(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		x, o := a.Lock("x"), a.Owner(1)
		must(t, x.Lock(ctx, o))
		x.Lost(o)
		time.Sleep(time.Second)
		is(t, true)(x.Unlock(ctx, o))
		time.Sleep(3 * time.Second)
		if n := w.subscribers("x"); n > 0 {
			t.Error("listening", n)
		}
	})
}

// An owner has a lock for long, and another for a short time. Then it takes both once more.
func TestMultiLongestOfOthers(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		o := a.Owner(1)
		must(t, a.Lock("x").Lock(ctx, o, lockimpl.Lease(time.Minute)))
		must(t, a.Lock("y").Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		must(t, multi(t, locksOf(a, "x", "y")...).Lock(ctx, o, lockimpl.Lease(2*time.Second)))
		between(t, 9*time.Second, 10*time.Second)(a.Lock("y").RemainingTTL(ctx))
	})
}

// turns has clients take a fair lock, and tells in which order they got it.
func turns(t *testing.T, order chan string, c *lockimpl.Client) {
	go func() {
		if c.FairLock("x").Lock(ctx, c.Owner(1)) != nil {
			return
		}
		order <- c.ID()
		time.Sleep(time.Second)
		is(t, true)(c.FairLock("x").Unlock(ctx, c.Owner(1)))
	}()
	time.Sleep(50 * time.Millisecond)
}

// The lock has a long lease. One waits from its beginning, another comes late.
func TestFairSleepsOutLease(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, order := w.client("h"), make(chan string, 2)
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1), lockimpl.Lease(time.Minute)))
		turns(t, order, w.client("a"))
		time.Sleep(30 * time.Second)
		turns(t, order, w.client("b"))
		time.Sleep(10 * time.Second)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		if first := <-order; first != "a" {
			t.Error("overtaken")
		}
		<-order
		time.Sleep(2 * time.Second)
	})
}

// A waiter gives up, and cannot tell so at once. Meanwhile it waits again.
func TestFairLeavingGoesOn(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, a, order := w.client("h"), w.clientOver(w.dialRetrying("a", -1), "a"), make(chan string, 2)
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		time.AfterFunc(900*time.Millisecond, func() { w.fates("a", neverRan) })
		if err := a.FairLock("x").Lock(short, a.Owner(1)); err == nil {
			t.Fatal("granted")
		}
		turns(t, order, a)
		turns(t, order, w.client("b"))
		time.Sleep(2 * time.Second)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		if first := <-order; first != "a" {
			t.Error("overtaken")
		}
		<-order
		time.Sleep(2 * time.Second)
	})
}

// The head of the queue is woken, and its attempt fails.
func TestFairLeaveWakesNobody(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, a, order := w.client("h"), w.clientOver(w.dialRetrying("a", -1), "a"), make(chan string, 2)
		must(t, h.FairLock("x").Lock(ctx, h.Owner(1)))
		turns(t, order, a)
		turns(t, order, w.client("b"))
		w.fates("a", neverRan)
		is(t, true)(h.FairLock("x").Unlock(ctx, h.Owner(1)))
		released := time.Now()
		if next := <-order; next != "b" || time.Since(released) > time.Second {
			t.Error(next, time.Since(released))
		}
		time.Sleep(2 * time.Second)
	})
}

// A writer reads, too, and takes the write lock once more.
func TestRwWriterThatReadsRefused(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		x, o := a.ReadWriteLock("x"), a.Owner(1)
		must(t, x.WriteLock().Lock(ctx, o))
		must(t, x.ReadLock().Lock(ctx, o))
		must(t, x.WriteLock().Lock(ctx, o))
	})
}

// Two leases are over when one of the permits is released.
func TestPermitReclaimsOne(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 3))
		for range 2 {
			must(t, errOf(s.Acquire(ctx, lockimpl.Lease(time.Second))))
		}
		p, err := s.Acquire(ctx)
		must(t, err)
		time.Sleep(2 * time.Second)
		must(t, s.UpdateLease(ctx, p, lockimpl.Lease(time.Minute)))
		is(t, int64(2))(s.AvailablePermits(ctx))
	})
}

// The answer of an acquire without a lease is lost.
func TestPermitCancelIsACopy(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.prime(w.clientOver(w.dialRetrying("a", -1), "a")).PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 1))
		p, err := s.Acquire(ctx)
		must(t, err)
		must(t, s.Release(ctx, p))
		w.fates("a", isLost)
		if _, err := s.Acquire(ctx); err == nil {
			t.Fatal("answered")
		}
		time.Sleep(10 * time.Second)
		is(t, int64(1))(s.AvailablePermits(ctx))
	})
}

// Nothing comes from the server.
func TestLatchAwaitsTheSilent(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.primed("a").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 1))
		is(t, false)(a.TryAwait(ctx))
		lift := w.silence("a")
		defer lift()
		began := time.Now()
		_, err := a.TryAwait(ctx, lockimpl.Wait(time.Second))
		if d := time.Since(began); !errors.Is(err, lockimpl.ErrNoReply) || d > 1300*time.Millisecond {
			t.Error(err, d)
		}
	})
}

// One waits for longer than a few seconds.
func TestSpinShiftOverflows(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, b.SpinLock("x").Lock(ctx, b.Owner(1)))
		got := soon(func() error { return a.SpinLock("x").Lock(ctx, a.Owner(1)) })
		for range 20 {
			time.Sleep(500 * time.Millisecond)
			made := w.fates("a")
			time.Sleep(500 * time.Millisecond)
			if n := len(made()); n > 5 {
				t.Error("asked", n)
			}
		}
		is(t, true)(b.SpinLock("x").Unlock(ctx, b.Owner(1)))
		must(t, <-got)
	})
}

// Two owners of one client have names of which the one begins with the other.
func TestRwOwnerByPrefix(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		must(t, a.ReadWriteLock("x").ReadLock().Lock(ctx, a.Owner(10)))
		is(t, false)(a.ReadWriteLock("x").WriteLock().TryLock(ctx, a.Owner(1)))
	})
}

// A reader that reads twice unlocks once.
func TestRwOuterLeaseEnds(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.ReadWriteLock("x").ReadLock().Lock(ctx, a.Owner(1)))
		must(t, a.ReadWriteLock("x").ReadLock().Lock(ctx, a.Owner(1)))
		is(t, false)(a.ReadWriteLock("x").ReadLock().Unlock(ctx, a.Owner(1)))
		is(t, false)(b.ReadWriteLock("x").WriteLock().TryLock(ctx, b.Owner(1)))
	})
}

// A release is lost, and the server refuses its first repetition.
func TestSemRefusedRepetitionEnds(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		s := thirtySem(t, w, a, 3)
		must(t, s.Acquire(ctx, 2))
		must(t, s.Release(ctx, 1))
		w.fates("a", neverRan, isRefusal)
		if err := s.Release(ctx, 1); !lockimpl.OutcomeUnknown(err) {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		is(t, int64(3))(s.AvailablePermits(ctx))
	})
}

// Permits are given one after the other, while who is woken waits for an answer. Then it gives up.
func TestSemOfferOfBefore(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		s := thirtySem(t, w, a, 6)
		must(t, s.Acquire(ctx, 6))
		short, cancel := context.WithCancel(ctx)
		defer cancel()
		one := soon(func() error { return b.Semaphore("x").Acquire(short, 1) })
		time.Sleep(time.Second)
		six := soon(func() error { return b.Semaphore("x").Acquire(ctx, 6) })
		time.Sleep(time.Second)
		w.fates("b", vanishes)
		for _, n := range []int64{1, 1, 4} {
			must(t, s.Release(ctx, n))
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		if err := <-one; err == nil {
			t.Fatal("granted")
		}
		left := time.Now()
		must(t, <-six)
		if d := time.Since(left); d > time.Second {
			t.Error(d)
		}
	})
}

// The last count-down is lost, and repeated in the background.
func TestLatchRepeatedWithoutRound(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.prime(w.clientOver(w.dialRetrying("a", -1), "a")).CountDownLatch("x")
		b := w.client("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 2))
		must(t, a.CountDown(ctx))
		over := soon(func() error { return b.Await(ctx) })
		time.Sleep(time.Second)
		w.fates("a", neverRan)
		if err := a.CountDown(ctx); !lockimpl.OutcomeUnknown(err) {
			t.Fatal(err)
		}
		began := time.Now()
		must(t, <-over)
		if d := time.Since(began); d > time.Second {
			t.Error(d)
		}
	})
}

// Whoever waits for a time returns soon after it, also if the server falls silent meanwhile.
func TestAWaitEndsThoughTheServerIsSilent(t *testing.T) {
	const wait, grace = 2 * time.Second, 200 * time.Millisecond
	for name, call := range map[string]func(c *lockimpl.Client) error{
		"spin lock": func(c *lockimpl.Client) error {
			_, err := c.SpinLock("x").TryLock(ctx, c.Owner(1), lockimpl.Wait(wait))
			return err
		},
		"several locks": func(c *lockimpl.Client) error {
			m, err := lockimpl.NewMultiLock(c.Lock("x"), c.Lock("y"))
			if err == nil {
				_, err = m.TryLock(ctx, c.Owner(1), lockimpl.Wait(wait))
			}
			return err
		},
		"fair lock": func(c *lockimpl.Client) error {
			_, err := c.FairLock("x").TryLock(ctx, c.Owner(1), lockimpl.Wait(wait))
			return err
		},
		"semaphore": func(c *lockimpl.Client) error {
			_, err := c.Semaphore("pool").TryAcquire(ctx, 1, lockimpl.Wait(wait))
			return err
		},
		"permit semaphore": func(c *lockimpl.Client) error {
			_, _, err := c.PermitExpirableSemaphore("permits").TryAcquire(ctx, lockimpl.Wait(wait))
			return err
		},
		"latch": func(c *lockimpl.Client) error {
			_, err := c.CountDownLatch("gate").TryAwait(ctx, lockimpl.Wait(wait))
			return err
		},
	} {
		for _, silent := range []time.Duration{0, time.Second} { // when it begins
			t.Run(name, func(t *testing.T) {
				inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
					a, b := w.primed("a"), w.primed("b")
					must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
					is(t, true)(b.CountDownLatch("gate").TrySetCount(ctx, 1))
					is(t, false)(a.CountDownLatch("gate").TryAwait(ctx))
					go func() {
						time.Sleep(silent)
						lift := w.silence("a")
						time.Sleep(time.Minute)
						lift()
					}()
					time.Sleep(time.Millisecond)
					began := time.Now()
					err := call(a)
					if d := time.Since(began); !errors.Is(err, lockimpl.ErrNoReply) && err != nil || d > wait+2*grace {
						t.Errorf("%v after %v", err, d)
					}
					time.Sleep(2 * time.Minute)
				})
			})
		}
	}
}
