package lockimpl_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// An unlock of which nothing was tried takes nothing back: the owner is told of a loss as before.
func TestGroupIsHeldAfterAnUnlockThatTriedNothing(t *testing.T) {
	for _, busy := range []bool{true, false} {
		t.Run(fmt.Sprintf("an earlier request is under way: %v", busy), func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				c := w.client("a")
				o, x := c.Owner(1), c.Lock("x")
				l, err := lockimpl.NewMultiLock(x, c.Lock("y"))
				must(t, err)
				must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
				lost := l.Lost(o)
				if busy {
					w.fates("a", isLate)
					go x.TryLock(ctx, o, lockimpl.Lease(time.Second))
				}
				synctest.Wait()
				soon, cancel := context.WithTimeout(ctx, lateBy/10)
				defer cancel()
				if _, err = l.UnlockMembers(soon, o); (err != nil) != busy {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				if told := now(lost); told != busy {
					t.Fatalf("told of a loss: %v", told)
				}
			})
		})
	}
}

// An unlock of a RedLock leaves the members to the outer hold that did not grant the inner one.
func TestRedLockUnlocksWhatGrantedTheInnermostHold(t *testing.T) {
	for _, refused := range []bool{true, false} {
		t.Run(fmt.Sprintf("refused: %v", refused), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ws := []*world{newWorld(t, lockimpl.Latch), newWorld(t, lockimpl.Latch), newWorld(t, lockimpl.Latch)}
				r := redlock(ws, "p")
				must(t, r.Lock(ctx, "p:1"))
				if refused {
					ws[0].server.SetError("OOM")
				}
				is(t, true)(r.TryLock(ctx, "p:1"))
				ws[0].server.SetError("")
				_, err := r.Unlock(ctx, "p:1")
				must(t, err)
				for i, w := range ws {
					if !w.server.Exists("x") {
						t.Errorf("the outer hold lost member %d", i+1)
					}
				}
				_, err = r.Unlock(ctx, "p:1")
				must(t, err)
				for i, w := range ws {
					if w.server.Exists("x") {
						t.Errorf("member %d is left", i+1)
					}
				}
			})
		})
	}
}

// A counter of tokens starts at the server's time, in units of TokenUnit.
func TestTokensStartAtTheServersTime(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.Lock("x"), c.Owner(1)
		before := time.Now().UnixNano() / int64(lockimpl.TokenUnit)
		must(t, l.Lock(ctx, o))
		after := time.Now().UnixNano() / int64(lockimpl.TokenUnit)
		if token, ok := l.Token(o); !ok || token < before || token > after+1 {
			t.Errorf("token %d, the time is %d to %d", token, before, after)
		}
	})
}
