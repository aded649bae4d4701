package lockimpl_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

func TestLostWhenAnAcquireThatWasGivenUpIsAnsweredSo(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.primed("a")
		for _, group := range []bool{false, true} {
			l, o := a.Lock("x"), a.Owner(1)
			must(t, l.Lock(ctx, o))
			lost := l.Lost(o)
			w.server.Del("x")
			short, cancel := context.WithTimeout(ctx, lateBy/2)
			take := l.TryLock
			if group {
				g := multi(t, locksOf(a, "x", "y")...)
				is(t, true)(g.TryLock(ctx, "a:9", lockimpl.Lease(time.Second))) // the server knows the script
				is(t, 2)(g.Unlock(ctx, "a:9"))
				take = g.TryLock
			}
			w.fates("a", isLate)
			if ok, err := take(short, o); ok || err == nil {
				t.Fatal(ok, err)
			}
			cancel()
			time.Sleep(3 * lateBy)
			if !isClosed(lost) {
				t.Fatal("not told")
			}
			if w.server.Exists("x") || w.server.Exists("y") {
				t.Fatal("what nobody was told of is held")
			}
		}
	})
}
