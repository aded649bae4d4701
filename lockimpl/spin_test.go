package lockimpl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/model"
)

// Random calls, one after the other, answer what the sequential lease lock allows: a spin lock has no other.
func TestSpinLockKeepsToItsModel(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		drawn(t, rdb, g, func(t *rapid.T, clients []*lockimpl.Client) {
			state := model.State{}
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				c := clients[rapid.IntRange(0, 1).Draw(t, "client")]
				l, o := c.SpinLock("x"), c.Owner(int64(rapid.IntRange(1, 2).Draw(t, "thread")))
				var op history.Op
				var err error
				switch kind := rapid.SampledFrom([]history.Kind{history.TryLock, history.TryLock, history.Unlock, history.Unlock,
					history.ForceUnlock, history.HoldCount}).Draw(t, "op"); kind {
				case history.TryLock:
					var ok bool
					ok, err = l.TryLock(ctx, o)
					op = asked(kind, o, 0, either(ok, history.Acquired, history.Busy))
				case history.Unlock:
					var released bool
					released, err = l.Unlock(ctx, o)
					out := either(released, history.Released, history.Decremented)
					if errors.Is(err, lockimpl.ErrNotHeld) {
						err, out = nil, history.NotHeld
					}
					op = asked(kind, o, 0, out)
				case history.ForceUnlock:
					var freed bool
					freed, err = l.ForceUnlock(ctx)
					op = asked(kind, o, 0, either(freed, history.Released, history.NotHeld))
				case history.HoldCount:
					var count int64
					count, err = l.HoldCount(ctx, o)
					op = asked(kind, o, count, history.OK)
				}
				if err == nil {
					state, err = model.Step(state, op)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

func TestSpinLockAsksAgain(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.SpinLock("x").Lock(ctx, a.Owner(1)))
		is(t, false)(b.SpinLock("x").TryLock(ctx, b.Owner(2)))
		start := time.Now()
		is(t, false)(b.SpinLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(time.Second)))
		if d := time.Since(start); w.generation == lockimpl.Hardened && d != time.Second || d < time.Second || d > time.Second+128*time.Millisecond {
			t.Errorf("gave up after %v", d)
		}
		time.AfterFunc(5*time.Minute, func() { a.SpinLock("x").Unlock(ctx, a.Owner(1)) }) // it is renewed meanwhile
		calls := w.fates("b")
		start = time.Now()
		must(t, b.SpinLock("x").Lock(ctx, b.Owner(1)))
		if d := time.Since(start) - 5*time.Minute; d < 0 || d > 128*time.Millisecond {
			t.Errorf("%v after the release", d)
		}
		if n := len(calls()); n < 300*7 || n > 300*8 {
			t.Errorf("asked %d times", n)
		}
		if n := w.subscribers("x"); n != 0 {
			t.Errorf("%d subscribers", n)
		}
		is(t, true)(b.SpinLock("x").Unlock(ctx, b.Owner(1)))
		w.atRest("redisson_lock__channel:{x}")
	})
}

// Whether those who wait for an RLock of the name hear of a release.
func TestSpinLockBesideRLock(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.SpinLock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(10*time.Second)))
		got := soon(func() error { return b.Lock("x").Lock(ctx, b.Owner(1)) })
		time.Sleep(time.Second)
		is(t, true)(a.SpinLock("x").Unlock(ctx, a.Owner(1)))
		start := time.Now()
		must(t, <-got)
		if d := time.Since(start); (d > 0) != (w.generation != lockimpl.Hardened) || d > 10*time.Second {
			t.Errorf("after %v", d)
		}
		is(t, false)(a.SpinLock("x").TryLock(ctx, a.Owner(1)))
		is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
	})
}

func TestSpinLockCancellationAtAnyMoment(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, b.SpinLock("x").Lock(ctx, b.Owner(1)))
		is(t, true)(b.SpinLock("x").Unlock(ctx, b.Owner(1)))
		always := make([]fate, 1000)
		for i := range always {
			always[i] = isLate
		}
		w.fates("b", always...)
		acquired := 0
		for at := time.Duration(0); at <= 5*lateBy; at += lateBy / 10 {
			must(t, a.SpinLock("x").Lock(ctx, a.Owner(1)))
			time.AfterFunc(2*lateBy+lateBy/2, func() { a.SpinLock("x").Unlock(ctx, a.Owner(1)) })
			short, cancel := context.WithTimeout(ctx, at)
			switch err := b.SpinLock("x").Lock(short, b.Owner(1)); {
			case err == nil:
				acquired++
				is(t, true)(b.SpinLock("x").Unlock(ctx, b.Owner(1)))
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			is(t, int64(0))(w.admin.Exists(ctx, "x").Result())
			w.atRest("redisson_lock__channel:{x}")
		}
		if acquired == 0 || acquired > 20 {
			t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
		}
		must(t, a.SpinLock("x").Lock(ctx, a.Owner(1)))
		got := soon(func() error { return b.SpinLock("x").Lock(ctx, b.Owner(1)) })
		time.AfterFunc(time.Second, func() { b.Close() })
		refused(t, <-got, lockimpl.ErrClosed)
	})
}
