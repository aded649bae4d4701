package lockimpl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What each generation makes of lost, late and repeated messages. The faithful ones have the known
// limitations of the versions they port; a test that finds one of them gone has found a change of
// behaviour, too.

func TestAcquireWhoseReplyIsLostCounts(t *testing.T) { // redisson#7367, #6025
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARequestIsSentOnce)
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		w.fates("a", isLost)
		must(t, l.Lock(ctx, o))
		want := int64(2)
		if w.generation == lockimpl.Hardened {
			want = 1
		}
		is(t, want)(l.HoldCount(ctx, o))
	})
}

func TestUnlockWhoseReplyIsLostAnswers(t *testing.T) { // redisson#4871
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARequestIsSentOnce)
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.fates("a", isLost)
		released, err := l.Unlock(ctx, o)
		if remembers(w.generation) {
			is(t, true)(released, err)
		} else if !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatalf("got %v, %v", released, err)
		}
		is(t, false)(l.IsLocked(ctx))
	})
}

func TestNestedUnlockWhoseReplyIsLostDecrements(t *testing.T) { // redisson#4871
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARequestIsSentOnce)
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o))
		w.fates("a", isLost)
		released, err := l.Unlock(ctx, o)
		if remembers(w.generation) {
			is(t, false)(released, err)
			is(t, int64(1))(l.HoldCount(ctx, o))
		} else {
			is(t, true)(released, err)
			is(t, int64(0))(l.HoldCount(ctx, o))
		}
	})
}

// remembers says whether the generation gives a re-sent unlock the first answer.
func remembers(g lockimpl.Generation) bool {
	return g == lockimpl.Latch || g == lockimpl.Hardened
}

func TestDelayedDuplicateUnlock(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		calls := w.fates("a")
		is(t, true)(l.Unlock(ctx, o))
		unlock := calls()[0]
		must(t, l.Lock(ctx, o))
		w.replay(unlock)
		is(t, w.generation == lockimpl.Hardened)(l.IsHeldBy(ctx, o))
	})
}

func TestDelayedDuplicateUnlockOfAnInnerHold(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o))
		calls := w.fates("a")
		is(t, false)(l.Unlock(ctx, o))
		must(t, l.Lock(ctx, o))
		time.Sleep(10 * time.Minute) // far beyond what a record lives without renewal
		w.replay(calls()[0])
		is(t, int64(2))(l.HoldCount(ctx, o))
	})
}

func TestDelayedDuplicateAcquire(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		calls := w.fates("a")
		must(t, l.Lock(ctx, o))
		is(t, true)(l.Unlock(ctx, o))
		w.replay(calls()[0])
		is(t, w.generation != lockimpl.Hardened)(l.IsLocked(ctx))
		time.Sleep(30 * time.Second) // a ghost is not renewed
		is(t, false)(l.IsLocked(ctx))
	})
}

// A client that runs into one timeout after the other may send a copy when the lease is long over.
func TestDuplicateAcquireAfterAllTimeouts(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.primed("a")
		calls := w.fates("a")
		must(t, c.Lock("x").Lock(ctx, c.Owner(1), lockimpl.Lease(time.Second)))
		time.Sleep(3 * time.Minute)
		w.replay(calls()[0])
		is(t, false)(c.Lock("x").IsLocked(ctx))
	})
}

func TestDelayedDuplicateOfARefusedAcquire(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.primed("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		calls := w.fates("b")
		is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1)))
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		w.replay(calls()[0])
		is(t, false)(b.Lock("x").IsLocked(ctx))
	})
}

func TestDelayedRenewalDoesNotLengthenALaterLease(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		time.Sleep(15 * time.Second) // the renewal script is known now
		calls := w.fates("a")
		time.Sleep(10 * time.Second)
		renewal := calls()[0]
		is(t, true)(l.Unlock(ctx, o))
		must(t, l.Lock(ctx, o, lockimpl.Lease(5*time.Second)))
		w.replay(renewal)
		between(t, 0, 5*time.Second)(l.RemainingTTL(ctx))
	})
}

func TestSameOwnerLocksAgainAfterALostReply(t *testing.T) { // redisson#4178, #4109
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		w.fates("a", isLost)
		if err := l.Lock(ctx, o); err == nil || !lockimpl.OutcomeUnknown(err) {
			t.Fatalf("got %v", err)
		}
		must(t, l.Lock(ctx, o))
		want := int64(2)
		if w.generation == lockimpl.Hardened {
			want = 1
		}
		is(t, want)(l.HoldCount(ctx, o))
	})
}

func TestFailedAcquireIsTakenBack(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		w.fates("a", isLost)
		if err := l.Lock(ctx, o); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(time.Second)
		is(t, w.generation != lockimpl.Hardened)(l.IsLocked(ctx))
		time.Sleep(30 * time.Second) // at the latest: nobody renews it
		is(t, false)(l.IsLocked(ctx))
	})
}

// What was executed when the lease that it asked for ought to have been over is no hold to enter once more.
func TestAcquireThatIsExecutedLateIsTakenBack(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		o := c.Owner(1)
		for _, late := range []time.Duration{10 * time.Second, time.Minute} { // while it is remembered, and after
			l := c.FencedLock(late.String())
			calls := w.fates("a", neverRan)
			if ok, err := l.TryLock(ctx, o, lockimpl.Lease(time.Second)); ok || !lockimpl.OutcomeUnknown(err) {
				t.Fatal(ok, err)
			}
			lift := w.silence("a") // so that nothing is settled
			time.Sleep(late)
			w.replay(calls()[0])
			lift()
			for err := lockimpl.ErrElapsed; errors.Is(err, lockimpl.ErrElapsed); {
				err = l.Lock(ctx, o)
			}
			is(t, int64(1))(l.HoldCount(ctx, o))
			if token, ok := l.Token(o); token == 0 || !ok {
				t.Error(token, ok)
			}
			is(t, true)(l.Unlock(ctx, o))
			is(t, false)(l.IsLocked(ctx))
		}
	})
}

func TestFailedInnerAcquireLeavesTheOuterHold(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.fates("a", isLost, isLost, isLost) // the acquire and two attempts to settle
		if err := l.Lock(ctx, o); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(time.Minute)
		is(t, int64(1))(l.HoldCount(ctx, o))
		is(t, true)(l.Unlock(ctx, o))
		is(t, false)(l.IsLocked(ctx))
	})
}

func TestFailedUnlockIsMadeGood(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.fates("a", neverRan, neverRan)
		if _, err := l.Unlock(ctx, o); err == nil || !lockimpl.OutcomeUnknown(err) {
			t.Fatalf("got %v", err)
		}
		is(t, true)(l.IsLocked(ctx))
		time.Sleep(2 * time.Second)
		is(t, false)(l.IsLocked(ctx))
	})
}

// Seed 001's question: does a failed unlock leave renewal running for ever?
func TestFailedUnlockEndsRenewal(t *testing.T) { // redisson#1602
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.fates("a", neverRan)
		if _, err := l.Unlock(ctx, o); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(30 * time.Second)
		is(t, false)(l.IsLocked(ctx))
	})
}

func TestCancelledAcquireLeavesNoHold(t *testing.T) { // redisson#5358, #2714
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestACancelledAcquireIsRenewed)
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		start := time.Now()
		err := l.Lock(short, o)
		if !errors.Is(err, context.DeadlineExceeded) || !lockimpl.OutcomeUnknown(err) || time.Since(start) != lateBy/2 {
			t.Fatalf("got %v after %v", err, time.Since(start))
		}
		time.Sleep(lateBy)
		is(t, false)(l.IsLocked(ctx))
	})
}

func TestTryLockAwaitsTheAttemptUnderWayForALittleLonger(t *testing.T) { // redisson#5019
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		const grace = lockimpl.DefaultResponseTimeout / 15
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		gives := func(wait time.Duration, fates ...fate) {
			t.Helper()
			w.fates("a", fates...)
			start := time.Now()
			ok, err := l.TryLock(ctx, o, lockimpl.Wait(wait))
			if ok || !errors.Is(err, lockimpl.ErrNoReply) || !lockimpl.OutcomeUnknown(err) || time.Since(start) != wait+grace {
				t.Fatal(ok, err, time.Since(start))
			}
			time.Sleep(lateBy)
			is(t, false)(l.IsLocked(ctx))
		}
		gives(lateBy/2, isLate)
		must(t, c.Lock("x").Lock(ctx, c.Owner(2), lockimpl.Lease(lateBy/4)))
		gives(lateBy/2, arrives, arrives, isLate) // two refusals, then a grant that comes late

		w.fates("a", isLate)
		is(t, true)(l.TryLock(ctx, o, lockimpl.Wait(lateBy-grace/2)))
		is(t, true)(l.Unlock(ctx, o))
	})
}

func TestAGrantThatComesWhenItsLeaseIsOverIsNone(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		for _, held := range []bool{false, true} { // at first nothing, then what is re-entered ends meanwhile, too
			if held {
				must(t, l.Lock(ctx, o, lockimpl.Lease(lateBy/2)))
			}
			w.fates("a", isLate)
			if err := l.Lock(ctx, o, lockimpl.Lease(lateBy/2)); !errors.Is(err, lockimpl.ErrElapsed) || lockimpl.OutcomeUnknown(err) {
				t.Fatal(err)
			}
			is(t, false)(l.IsLocked(ctx))
			if _, err := l.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) {
				t.Fatal(err)
			}
		}
	})
}

// What a server says to a copy tells nothing of the copies before.
func TestARefusalOfACopyLeavesTheOutcomeUnknown(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestARequestIsSentOnce)
		for copies, unknown := range []bool{false, true} {
			name := fmt.Sprint("client", copies)
			c := w.prime(w.clientOver(w.dialRetrying(name, 0), name))
			l, o := c.Lock("x"), c.Owner(1)
			must(t, l.Lock(ctx, o))
			w.fates(name, append(slices.Repeat([]fate{isLost}, copies), isRefusal)...)
			_, err := l.Unlock(ctx, o)
			if !redis.HasErrorPrefix(err, "BUSY") || lockimpl.OutcomeUnknown(err) != unknown {
				t.Fatalf("after %d copies got %v", copies, err)
			}
			time.Sleep(time.Minute)
			is(t, false)(l.IsLocked(ctx))
			must(t, c.Close())
		}
	})
}

func TestRenewalGoesOnAfterAnError(t *testing.T) { // redisson#3194, #2515
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a"))
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		w.fates("a", neverRan)
		time.Sleep(5 * time.Minute)
		is(t, true)(l.IsHeldBy(ctx, o))
	})
}

func TestBadKeyHarmsNoOtherLocksRenewal(t *testing.T) { // reference list, H6
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestABadKeyStopsTheRenewalOfOthers)
		c := w.client("a")
		o := c.Owner(1)
		names := []string{"a", "b", "c"}
		for _, name := range names {
			must(t, c.Lock(name).Lock(ctx, o))
		}
		w.server.Del("b")
		must(t, w.server.Set("b", "not a lock"))
		time.Sleep(5 * time.Minute)
		is(t, true)(c.Lock("a").IsHeldBy(ctx, o))
		is(t, true)(c.Lock("c").IsHeldBy(ctx, o))
	})
}

func TestDeletedKeyEndsRenewalAndTheNextHoldIsRenewed(t *testing.T) { // redisson#3712, #3714
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o))
		w.server.Del("x")
		time.Sleep(11 * time.Second)
		calls := w.fates("a")
		time.Sleep(time.Minute)
		if len(calls()) != 0 {
			t.Fatalf("%d calls for a hold that is gone", len(calls()))
		}
		must(t, l.Lock(ctx, o))
		time.Sleep(5 * time.Minute)
		is(t, int64(1))(l.HoldCount(ctx, o))
		is(t, true)(l.Unlock(ctx, o))
	})
}

func TestLostMessageIsBoundedByTheLease(t *testing.T) { // redisson#5761
	eachGeneration(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(20*time.Second)))
		start := time.Now()
		got := make(chan error, 1)
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1)) }()
		time.Sleep(time.Second)
		w.server.Del("x") // no message
		must(t, <-got)
		if d := time.Since(start); d > 21*time.Second {
			t.Fatalf("after %v", d)
		}
	})
}

func TestScriptFlushIsInvisible(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, w.admin.ScriptFlush(ctx).Err())
		must(t, l.Lock(ctx, o))
		must(t, w.admin.ScriptFlush(ctx).Err())
		time.Sleep(time.Minute)
		must(t, w.admin.ScriptFlush(ctx).Err())
		is(t, true)(l.Unlock(ctx, o))
	})
}

// A renewal that the server does not know by its digest goes again as a whole: not if the hold was given back meanwhile.
func TestARenewalIsNotSentAgainForAHoldThatHasEnded(t *testing.T) {
	for _, still := range []bool{false, true} {
		eachGeneration(t, func(t *testing.T, w *world) {
			w.lacks(lockimpl.Current, TestARenewalUnderWayOutlivesTheUnlock)
			c := w.primed("a")
			l, o := c.Lock("x"), c.Owner(1)
			must(t, l.Lock(ctx, o))
			must(t, w.admin.ScriptFlush(ctx).Err())
			again, late := 0, true
			w.mu.Lock()
			w.judge["a"] = func(command []byte) fate {
				switch {
				case bytes.Contains(command, []byte("eval\r\n")):
					again++
				case late && bytes.Contains(command, []byte("evalsha")):
					late = false
					return isLate
				}
				return arrives
			}
			w.mu.Unlock()
			time.Sleep(10*time.Second + lateBy/2)
			if !still {
				is(t, true)(l.Unlock(ctx, o))
			}
			time.Sleep(2 * lateBy)
			if w.mu.Lock(); again != 1 { // the unlock's, or the renewal's
				t.Errorf("%d scripts sent as a whole", again)
			}
			w.mu.Unlock()
		})
	}
}

func TestServerRefusalsNameTheOperationAndTakeNothing(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		for i, refusal := range []string{
			"BUSY Redis is busy running a script", "LOADING Redis is loading the dataset in memory",
			"READONLY You can't write against a read only replica.", "OOM command not allowed",
			"MISCONF Redis is configured to save RDB snapshots", "NOAUTH Authentication required.",
		} {
			name := fmt.Sprint("client", i)
			c := w.prime(w.clientOver(w.dialRetrying(name, -1), name))
			l, o := c.Lock("x"), c.Owner(1)
			w.server.SetError(refusal)
			err := l.Lock(ctx, o)
			w.server.SetError("")
			var e *lockimpl.Error
			if !errors.As(err, &e) || e.Op != "Lock" || e.Lock != "x" || e.Owner != o || lockimpl.OutcomeUnknown(err) {
				t.Fatalf("%s: got %v", refusal, err)
			}
			is(t, false)(l.IsLocked(ctx))
			must(t, l.Lock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			must(t, c.Close())
		}
	})
}

func TestWrongTypeAtTheKeyIsRefused(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, w.server.Set("x", "a string"))
		before := w.server.Keys()
		err := l.Lock(ctx, o)
		_, unlockErr := l.Unlock(ctx, o)
		for _, err := range []error{err, unlockErr} {
			var e *lockimpl.Error
			if !errors.As(err, &e) || errors.Is(err, lockimpl.ErrNotHeld) || lockimpl.OutcomeUnknown(err) {
				t.Fatalf("got %v", err)
			}
		}
		if after := w.server.Keys(); !slices.Equal(before, after) {
			t.Fatalf("keys %q, then %q", before, after)
		}
	})
}
