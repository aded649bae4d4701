package lockimpl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What is weak in generation Current was weak in Redisson 3.44 to 4.7. A test that finds one of these gone has found a
// change of behaviour. Numbers with an H are those of the reference list.

// The lease of an inner hold stays with the RLock:
//
//	lock()  lock(2 s)  unlock()             the key lasts 2 s
//	lock()  lock(2 s)  unlock()  unlock()   the next lock() asks for 30 s
func TestAnInnerLeaseOutlivesItsHold(t *testing.T) { // redisson#4818, #5623
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		is(t, true)(l.TryLock(ctx, o, lockimpl.Lease(2*time.Second)))
		is(t, false)(l.Unlock(ctx, o))
		between(t, 2*time.Second, 2*time.Second)(l.RemainingTTL(ctx))
		is(t, true)(l.Unlock(ctx, o))
		must(t, l.Lock(ctx, o)) // a full unlock has reset it
		between(t, 30*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
	})
}

// Who has an RLock of his own is not concerned.
func TestALeaseIsOfOneRLock(t *testing.T) { // H14
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.client("a")
		one, other, o := c.Lock("x"), c.Lock("x"), c.Owner(1)
		lapses := func() {
			t.Helper()
			must(t, one.Lock(ctx, o, lockimpl.Lease(5*time.Second)))
			time.Sleep(6 * time.Second) // and nobody unlocks
		}
		lapses()
		must(t, one.Lock(ctx, c.Owner(2)))
		between(t, 5*time.Second, 5*time.Second)(one.RemainingTTL(ctx))
		time.Sleep(6 * time.Second) // the first renewal would come after 10 s
		is(t, false)(one.IsLocked(ctx))
		lapses()
		must(t, other.Lock(ctx, c.Owner(2)))
		between(t, 30*time.Second, 30*time.Second)(other.RemainingTTL(ctx))
		if _, err := one.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) { // which resets the lease, too
			t.Fatal(err)
		}
		is(t, true)(other.Unlock(ctx, c.Owner(2)))
		must(t, one.Lock(ctx, o))
		between(t, 30*time.Second, 30*time.Second)(one.RemainingTTL(ctx))
	})
}

// One bad key keeps those after it in its command from being renewed, and the commands after that.
func TestABadKeyStopsTheRenewalOfOthers(t *testing.T) { // H6, since redisson#6303
	for _, batch := range []int{100, 1} {
		inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
			c := w.client("a", func(o *lockimpl.Options) { o.WatchdogBatch = batch })
			o := c.Owner(1)
			for _, name := range []string{"a", "b", "c"} {
				must(t, c.Lock(name).Lock(ctx, o))
			}
			w.server.Del("b")
			must(t, w.server.Set("b", "not a lock"))
			time.Sleep(31 * time.Second)
			is(t, true)(c.Lock("a").IsHeldBy(ctx, o))
			is(t, false)(c.Lock("c").IsHeldBy(ctx, o))
		})
	}
}

// Holds that are gone are counted down, one in each round, before the next owner is renewed: three rounds are a lease.
func TestStaleCountsKeepTheNextOwnerFromBeingRenewed(t *testing.T) { // H5
	for _, c := range []struct {
		stale int
		held  bool
	}{{2, true}, {3, false}} {
		inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
			a := w.client("a")
			l := a.Lock("x")
			for range c.stale {
				must(t, l.Lock(ctx, a.Owner(1)))
			}
			w.server.Del("x")
			time.Sleep(time.Second)
			must(t, l.Lock(ctx, a.Owner(2)))
			time.Sleep(35 * time.Second)
			is(t, c.held)(l.IsHeldBy(ctx, a.Owner(2)))
		})
	}
}

// An unlock ends a renewal: of the hold that remains, too, if what it gave back had a lease, or if it gave back nothing.
func TestAnUnlockEndsARenewalWhateverItGaveBack(t *testing.T) { // H4
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o, lockimpl.Lease(15*time.Second)))
		is(t, false)(l.Unlock(ctx, o))
		time.Sleep(14 * time.Second)
		between(t, time.Second, time.Second)(l.RemainingTTL(ctx))
		time.Sleep(2 * time.Second)

		must(t, l.Lock(ctx, o))
		w.fates("a", neverRan)
		if _, err := l.Unlock(ctx, o); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(14 * time.Second)
		between(t, time.Second, time.Second)(l.RemainingTTL(ctx)) // of the 15 s that the RLock remembers
	})
}

// An acquire that nobody waits for any more is granted, and renewed until the client is closed.
func TestACancelledAcquireIsRenewed(t *testing.T) { // redisson#5358, #2714
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		w.fates("a", isLate)
		short, cancel := context.WithTimeout(ctx, lateBy/2)
		defer cancel()
		if err := l.Lock(short, o); !errors.Is(err, context.DeadlineExceeded) || !lockimpl.OutcomeUnknown(err) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		is(t, true)(l.IsHeldBy(ctx, o))
		must(t, c.Close())
		time.Sleep(31 * time.Second)
		if w.server.Exists("x") {
			t.Error("it outlives its client")
		}
	})
}

// The timer of a hold goes on beside that of the next: with three holds in ten seconds there are three renewals in each
// ten seconds after.
func TestTimersOfTheTaskAddUp(t *testing.T) { // H9
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		ts := &timers{}
		c := w.client("a", func(o *lockimpl.Options) { o.Scheduler = ts })
		l, o := c.Lock("x"), c.Owner(1)
		for range 2 {
			must(t, l.Lock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			time.Sleep(2 * time.Second)
		}
		must(t, l.Lock(ctx, o))
		calls := w.fates("a")
		time.Sleep(31 * time.Second)
		if n := len(calls()); n != 9 || ts.count() != 3 {
			t.Errorf("%d renewals, %d timers", n, ts.count())
		}
		is(t, true)(l.Unlock(ctx, o))
		time.Sleep(11 * time.Second)
		if ts.count() != 0 {
			t.Errorf("%d timers without a hold", ts.count())
		}
	})
}

// On one server an acquire and an unlock are sent once, whatever becomes of them. A renewal is sent again.
func TestARequestIsSentOnce(t *testing.T) { // redisson#6025, since 3.37
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.Lock("x"), c.Owner(1)
		calls := w.fates("a", isLost)
		if err := l.Lock(ctx, o); !lockimpl.OutcomeUnknown(err) || len(calls()) != 1 {
			t.Fatal(err, len(calls()))
		}
		is(t, int64(1))(l.HoldCount(ctx, o))
		must(t, l.Lock(ctx, o))
		calls = w.fates("a", isLost)
		if _, err := l.Unlock(ctx, o); !lockimpl.OutcomeUnknown(err) || len(calls()) != 1 {
			t.Fatal(err, len(calls()))
		}
		is(t, int64(1))(l.HoldCount(ctx, o))
		must(t, l.Lock(ctx, o))
		calls = w.fates("a", neverRan)
		time.Sleep(11 * time.Second)
		if made := calls(); len(made) < 2 || !bytes.Equal(made[0], made[1]) {
			t.Errorf("the renewals: %q", made)
		}
		between(t, 25*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
	})
}

// An unlock does not call off a renewal that is under way, which is here sent again, as a whole, to a server that did not
// know its script. The answer, that the owner holds nothing, comes when it does again: that hold is not renewed.
func TestARenewalUnderWayOutlivesTheUnlock(t *testing.T) {
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, c.Lock("y").Lock(ctx, o)) // the timer has one chain
		is(t, true)(c.Lock("y").Unlock(ctx, o))
		time.Sleep(5 * time.Second)
		renewals := 0
		w.mu.Lock()
		w.judge["a"] = func(command []byte) fate {
			if bytes.Contains(command, []byte("answers[i]")) || renewals == 0 {
				renewals++
				return isLate
			}
			return arrives
		}
		w.mu.Unlock()
		time.Sleep(5*time.Second + lateBy/2)
		is(t, true)(l.Unlock(ctx, o))
		time.Sleep(lateBy)
		if w.mu.Lock(); renewals != 2 {
			t.Errorf("%d renewals sent, the last after the unlock", renewals)
		}
		w.mu.Unlock()
		must(t, l.Lock(ctx, o))
		time.Sleep(31 * time.Second)
		is(t, false)(l.IsLocked(ctx))
	})
}

// A node that does not answer keeps the holds on others from being renewed, if their turn is after it.
func TestASilentNodeKeepsOthersHoldsFromRenewal(t *testing.T) { // H7
	inBubble(t, lockimpl.Current, func(t *testing.T, w *world) {
		vc := newVirtualCluster(w)
		c := w.clientOver(vc.rdb, "a")
		o := c.Owner(1)
		var others []*lockimpl.RLock
		for i := range 30 {
			l := c.Lock(fmt.Sprint("lock", i))
			must(t, l.Lock(ctx, o))
			if vc.node(t, l.Name()) != 1 {
				others = append(others, l)
			}
		}
		time.Sleep(15 * time.Second)
		lift := vc.nodes[1].silence("cluster")
		time.Sleep(35 * time.Second)
		expired := 0
		for _, l := range others {
			if held, err := l.IsHeldBy(ctx, o); err == nil && !held {
				expired++
			}
		}
		if expired == 0 {
			t.Error("all holds on other nodes were renewed")
		}
		lift()
	})
}
