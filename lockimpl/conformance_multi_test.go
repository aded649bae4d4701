package lockimpl_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// servers is so many servers in one bubble, and a client of each.
func servers(w *world, n int) ([]*world, []*lockimpl.Client) {
	worlds, clients := make([]*world, n), make([]*lockimpl.Client, n)
	for i := range n {
		worlds[i] = newWorld(w.t, w.generation)
		clients[i] = worlds[i].client("c")
	}
	return worlds, clients
}

func multi(t *testing.T, locks ...*lockimpl.RLock) *lockimpl.MultiLock {
	t.Helper()
	m, err := lockimpl.NewMultiLock(locks...)
	must(t, err)
	return m
}

func locksOf(c *lockimpl.Client, names ...string) (locks []*lockimpl.RLock) {
	for _, name := range names {
		locks = append(locks, c.Lock(name))
	}
	return locks
}

// The properties that RedissonMultiLockTest asks, under their names, and those of issue 3. "one"
// and "several" say on how many servers.
var multiProperties = []struct {
	name string
	test func(t *testing.T, w *world)
}{
	{"testLockUnlock", func(t *testing.T, w *world) {
		c := w.client("a")
		m, o := multi(t, locksOf(c, "x", "y", "z")...), c.Owner(1)
		must(t, m.Lock(ctx, o))
		is(t, true)(m.IsHeldBy(ctx, o))
		is(t, false)(m.IsHeldBy(ctx, c.Owner(2)))
		for _, l := range locksOf(c, "x", "y", "z") {
			is(t, int64(1))(l.HoldCount(ctx, o))
		}
		is(t, 3)(m.Unlock(ctx, o))
		is(t, false)(m.IsHeldBy(ctx, o))
		for _, l := range locksOf(c, "x", "y", "z") {
			is(t, false)(l.IsLocked(ctx))
		}
	}},
	{"testWaitAndLeaseTimeouts", func(t *testing.T, w *world) {
		c := w.client("a")
		acquired := make([]bool, 10)
		each(10, func(i int) {
			var err error
			m := multi(t, locksOf(c, "x", "y", "z")...)
			if acquired[i], err = m.TryLock(ctx, c.Owner(int64(i)), lockimpl.Lease(10*time.Second)); err != nil {
				t.Error(err)
			}
		})
		if n := len(slices.DeleteFunc(acquired, func(ok bool) bool { return !ok })); n != 1 {
			t.Fatalf("%d of ten got it", n)
		}
	}},
	{"testMultiThreads", func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		must(t, multi(t, locksOf(a, "x", "y")...).Lock(ctx, a.Owner(1)))
		got := make(chan time.Duration)
		start := time.Now()
		go func() {
			m := multi(t, locksOf(b, "x", "y")...)
			if err := m.Lock(ctx, b.Owner(1)); err != nil {
				t.Error(err)
			}
			got <- time.Since(start)
		}()
		time.Sleep(45 * time.Second)
		is(t, 2)(multi(t, locksOf(a, "x", "y")...).Unlock(ctx, a.Owner(1)))
		between(t, 45*time.Second, 45*time.Second)(<-got, nil)
	}},
	{"test", func(t *testing.T, w *world) { // three servers
		_, c := servers(w, 3)
		all := func() *lockimpl.MultiLock {
			return multi(t, c[0].Lock("x"), c[1].Lock("y"), c[2].Lock("z"))
		}
		must(t, all().Lock(ctx, "a:1"))
		is(t, false)(all().TryLock(ctx, "a:2"))
		is(t, false)(all().TryLock(ctx, "a:2"))
		is(t, 3)(all().Unlock(ctx, "a:1"))
		is(t, true)(all().TryLock(ctx, "a:2"))
	}},
	{"refusalLeavesNothing", func(t *testing.T, w *world) {
		ws, c := servers(w, 2)
		for _, m := range []*lockimpl.MultiLock{
			multi(t, locksOf(c[0], "x", "y", "z")...),                // one server
			multi(t, c[0].Lock("x"), c[1].Lock("y"), c[0].Lock("z")), // several
		} {
			must(t, c[0].Lock("z").Lock(ctx, "b:1"))
			is(t, false)(m.TryLock(ctx, "a:1"))
			is(t, false)(m.TryLock(ctx, "a:1", lockimpl.Wait(5*time.Second)))
			for _, w := range ws {
				if w.server.Exists("x") || w.server.Exists("y") {
					t.Fatal("a member was left behind")
				}
			}
			is(t, true)(c[0].Lock("z").Unlock(ctx, "b:1"))
			is(t, true)(m.TryLock(ctx, "a:1"))
			is(t, 3)(m.Unlock(ctx, "a:1"))
		}
	}},
	{"errorLeavesNothing", func(t *testing.T, w *world) { // #1606
		ws, c := servers(w, 2)
		m := multi(t, c[0].Lock("x"), c[1].Lock("y"))
		ws[1].cut("c")
		if ok, err := m.TryLock(ctx, "a:1"); ok || err == nil {
			t.Fatal(ok, err)
		}
		if ws[0].server.Exists("x") {
			t.Fatal("a member was left behind")
		}
	}},
	{"watchdogRenewsAllMembers", func(t *testing.T, w *world) {
		_, c := servers(w, 2)
		m := multi(t, c[0].Lock("x"), c[1].Lock("y"), c[0].Lock("z"))
		must(t, m.Lock(ctx, "a:1"))
		time.Sleep(10*time.Minute + 5*time.Second)
		is(t, true)(m.IsHeldBy(ctx, "a:1"))
		is(t, 3)(m.Unlock(ctx, "a:1"))
	}},
	{"timeSpentCountsAgainstTheLease", func(t *testing.T, w *world) {
		ws, _ := servers(w, 2)
		// Replies of the second server come when the first member's lease is over.
		c := []*lockimpl.Client{ws[0].primed("d"), ws[1].primed("d")}
		m := multi(t, c[0].Lock("x"), c[1].Lock("y"))
		ws[1].fates("d", isLate)
		err := m.Lock(ctx, "a:1", lockimpl.Lease(lateBy-time.Millisecond))
		if !errors.Is(err, lockimpl.ErrElapsed) {
			t.Fatal(err)
		}
		if ws[0].server.Exists("x") || ws[1].server.Exists("y") {
			t.Fatal("a member was left behind")
		}
		ws[1].fates("d", isLate)
		must(t, m.Lock(ctx, "a:1", lockimpl.Lease(2*lateBy)))
		between(t, 0, lateBy)(c[0].Lock("x").RemainingTTL(ctx)) // not set anew at the end
	}},
	{"timeSpentCountsAgainstTheLeaseOneServer", func(t *testing.T, w *world) {
		c := w.prime(w.client("d"))
		m := multi(t, locksOf(c, "x", "y")...)
		must(t, m.Lock(ctx, "a:1")) // the scripts are known now
		is(t, 2)(m.Unlock(ctx, "a:1"))
		w.fates("d", isLate)
		if err := m.Lock(ctx, "a:1", lockimpl.Lease(lateBy)); !errors.Is(err, lockimpl.ErrElapsed) {
			t.Fatal(err)
		}
		if w.server.Exists("x") || w.server.Exists("y") {
			t.Fatal("a member was left behind")
		}
	}},
	{"unlockNeverStopsHalfWay", func(t *testing.T, w *world) { // H19
		ws, c := servers(w, 2)
		for _, m := range []*lockimpl.MultiLock{
			multi(t, locksOf(c[0], "x", "y", "z")...),
			multi(t, c[0].Lock("x"), c[0].Lock("y"), c[1].Lock("z")),
		} {
			must(t, m.Lock(ctx, "a:1"))
			ws[0].server.Del("x")
			n, err := m.Unlock(ctx, "a:1")
			var e *lockimpl.Error
			if n != 2 || !errors.Is(err, lockimpl.ErrNotHeld) || !errors.As(err, &e) || e.Lock != "x" {
				t.Fatal(n, err)
			}
			for _, w := range ws {
				if w.server.Exists("y") || w.server.Exists("z") {
					t.Fatal("a member was left behind")
				}
			}
		}
	}},
	{"oppositeOrdersDoNotDeadlock", func(t *testing.T, w *world) { // #467, #4050
		ws, _ := servers(w, 2)
		each(8, func(i int) {
			a, b := ws[0].client(fmt.Sprint("a", i)), ws[1].client(fmt.Sprint("b", i))
			locks := []*lockimpl.RLock{a.Lock("x"), b.Lock("y"), a.Lock("z")}
			if i%2 == 1 {
				slices.Reverse(locks)
			}
			m := multi(t, locks...)
			o := lockimpl.Owner(fmt.Sprint("o:", i))
			for range 5 {
				if err := m.Lock(ctx, o); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				if n, err := m.Unlock(ctx, o); n != 3 || err != nil {
					t.Error(n, err)
				}
			}
		})
	}},
	{"reentry", func(t *testing.T, w *world) {
		c := w.client("a")
		m, o := multi(t, locksOf(c, "x", "y")...), c.Owner(1)
		must(t, c.Lock("x").Lock(ctx, o))
		must(t, m.Lock(ctx, o))
		must(t, m.Lock(ctx, o))
		is(t, int64(3))(c.Lock("x").HoldCount(ctx, o))
		is(t, 2)(m.Unlock(ctx, o))
		is(t, 2)(m.Unlock(ctx, o))
		is(t, int64(1))(c.Lock("x").HoldCount(ctx, o))
		is(t, false)(c.Lock("y").IsLocked(ctx))
	}},
	{"lostReplyTakesNoMemberTwice", func(t *testing.T, w *world) {
		if w.generation != lockimpl.Hardened {
			t.Skip("the faithful generations count every copy")
		}
		c := w.prime(w.client("a"))
		m, o := multi(t, locksOf(c, "x", "y")...), c.Owner(1)
		must(t, m.Lock(ctx, o))
		is(t, 2)(m.Unlock(ctx, o))
		w.fates("a", isLost)
		must(t, m.Lock(ctx, o))
		is(t, int64(1))(c.Lock("x").HoldCount(ctx, o))
		is(t, int64(1))(c.Lock("y").HoldCount(ctx, o))
		w.fates("a", isLost)
		is(t, 2)(m.Unlock(ctx, o))
	}},
}

// A refusal whose reply is lost is sent again, and refused again: of one member, too.
func TestMultiLockIsRefusedOnceMore(t *testing.T) {
	for _, names := range [][]string{{"x"}, {"x", "y"}} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			c := w.prime(w.client("a"))
			m := multi(t, locksOf(c, names...)...)
			must(t, m.Lock(ctx, c.Owner(2)))
			w.fates("a", isLost)
			is(t, false)(m.TryLock(ctx, c.Owner(1)))
			is(t, true)(m.IsHeldBy(ctx, c.Owner(2)))
		})
	}
}

// What an unlock of several locks did to each tells a nested unlock from the last.
func TestUnlockMembersTellsOfEach(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		ws, c := servers(w, 2)
		m := multi(t, c[0].Lock("x"), c[0].Lock("y"), c[1].Lock("z"))
		must(t, m.Lock(ctx, "a:1"))
		must(t, c[0].Lock("y").Lock(ctx, "a:1"))
		ws[1].server.Del("z")
		results, err := m.UnlockMembers(ctx, "a:1")
		must(t, err)
		if len(results) != 3 || !results[0].Released || results[1].Released || results[1].Err != nil || !errors.Is(results[2].Err, lockimpl.ErrNotHeld) {
			t.Fatalf("%+v", results)
		}
		if _, err := m.UnlockMembers(ctx, ""); !errors.Is(err, lockimpl.ErrBadOwner) {
			t.Fatal(err)
		}
	})
}

func TestMultiLockConformance(t *testing.T) {
	for _, p := range multiProperties {
		t.Run(p.name, func(t *testing.T) { eachGeneration(t, p.test) })
	}
}

func TestMultiLockTakesOneRoundTrip(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.prime(w.client("a"))
		m, o := multi(t, locksOf(c, "x", "y", "z")...), c.Owner(1)
		must(t, m.Lock(ctx, o))
		is(t, 3)(m.Unlock(ctx, o))
		calls := w.fates("a")
		must(t, m.Lock(ctx, o))
		is(t, 3)(m.Unlock(ctx, o))
		if n := len(calls()); n != 2 {
			t.Fatalf("%d calls", n)
		}
	})
}

func TestMultiLockBadArguments(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.client("a")
		for _, locks := range [][]*lockimpl.RLock{nil, {nil}, locksOf(c, "x", "x")} {
			if _, err := lockimpl.NewMultiLock(locks...); err == nil {
				t.Errorf("%v was accepted", locks)
			}
		}
		if err := multi(t, locksOf(c, "x", "")...).Lock(ctx, c.Owner(1)); !errors.Is(err, lockimpl.ErrBadName) {
			t.Error(err)
		}
		if len(w.server.Keys()) != 0 {
			t.Errorf("keys: %q", w.server.Keys())
		}
	})
}

// RedissonFencedLockTest, and what issue 3 asks beyond it.
func TestFencedLockConformance(t *testing.T) {
	t.Run("testTokenIncrease", func(t *testing.T) {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			c := w.client("a")
			l, o := c.FencedLock("x"), c.Owner(1)
			is(t, int64(1))(l.LockAndGetToken(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			is(t, int64(2))(l.LockAndGetToken(ctx, o, lockimpl.Lease(10*time.Second)))
			is(t, true)(l.Unlock(ctx, o))
			must(t, l.Lock(ctx, o))
			if token, ok := l.Token(o); token != 3 || !ok {
				t.Fatal(token, ok)
			}
			is(t, true)(l.Unlock(ctx, o))
			token, ok, err := l.TryLockAndGetToken(ctx, o)
			is(t, true)(ok, err)
			is(t, int64(4))(token, nil)
			is(t, int64(4))(l.LockAndGetToken(ctx, o)) // a re-entry is no grant
			if _, ok, err := l.TryLockAndGetToken(ctx, c.Owner(2)); ok || err != nil {
				t.Fatal(ok, err)
			}
		})
	})
	t.Run("tokenSurvivesTheLocksKey", func(t *testing.T) {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			c := w.client("a")
			l, o := c.FencedLock("x"), c.Owner(1)
			is(t, int64(1))(l.LockAndGetToken(ctx, o))
			is(t, true)(l.ForceUnlock(ctx))
			is(t, int64(2))(l.LockAndGetToken(ctx, o))
			w.server.Del("x")
			is(t, int64(3))(l.LockAndGetToken(ctx, c.Owner(2), lockimpl.Lease(time.Second)))
			time.Sleep(24 * 365 * time.Hour)
			is(t, int64(4))(l.LockAndGetToken(ctx, o))
			if ttl := w.server.TTL("redisson_lock_token:{x}"); ttl != 0 {
				t.Fatalf("the counter ends after %v", ttl)
			}
		})
	})
	t.Run("tokenIsTheOwnersOwn", func(t *testing.T) { // not the latest: redisson's getToken
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			a, b := w.client("a"), w.client("b")
			must(t, a.FencedLock("x").Lock(ctx, a.Owner(1)))
			w.server.Del("x")
			is(t, int64(2))(b.FencedLock("x").LockAndGetToken(ctx, b.Owner(1)))
			if token, ok := a.FencedLock("x").Token(a.Owner(1)); token != 1 || !ok {
				t.Fatal(token, ok)
			}
		})
	})
	t.Run("needsHardened", func(t *testing.T) {
		inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
			c := w.client("a")
			if err := c.FencedLock("x").Lock(ctx, c.Owner(1)); !errors.Is(err, lockimpl.ErrGeneration) {
				t.Fatal(err)
			}
		})
	})
}
