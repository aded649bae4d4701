package lockimpl_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// redlock is one process's lock x on all the servers.
func redlock(ws []*world, process string) *lockimpl.RedLock {
	t := ws[0].t
	t.Helper()
	locks := make([]*lockimpl.RLock, len(ws))
	for i, w := range ws {
		locks[i] = w.clientOver(w.dialRetrying(process, -1), process).Lock("x")
	}
	r, err := lockimpl.NewRedLock(locks...)
	must(t, err)
	return r
}

// criticalSections has five processes enter the critical section ten times each, and counts
// without other protection.
func criticalSections(t *testing.T, ws []*world, lock func(*lockimpl.RedLock, lockimpl.Owner) (bool, error)) {
	entered := 0
	each(5, func(i int) {
		r := redlock(ws, fmt.Sprint("process", i))
		o := lockimpl.Owner(fmt.Sprint("p:", i))
		for done := 0; done < 10; {
			ok, err := lock(r, o)
			if err != nil {
				t.Error(err)
				return
			}
			if !ok {
				continue
			}
			before := entered
			time.Sleep(20 * time.Millisecond)
			entered = before + 1
			if _, err := r.Unlock(ctx, o); err != nil {
				t.Error(err)
			}
			done++
		}
	})
	if entered != 50 {
		t.Fatalf("%d entries counted, 50 made", entered)
	}
}

// The properties that RedissonRedLockTest asked until its deletion (8b28ae71b), under their names,
// and those of issue 3. (Its three testLockLeasetime tests differ in the unit of time only.)
var redlockProperties = []struct {
	name string
	test func(t *testing.T, ws []*world)
}{
	{"testLockLeasetime", func(t *testing.T, ws []*world) {
		criticalSections(t, ws, func(r *lockimpl.RedLock, o lockimpl.Owner) (bool, error) {
			return true, r.Lock(ctx, o, lockimpl.Lease(2*time.Second))
		})
	}},
	{"testTryLockLeasetime", func(t *testing.T, ws []*world) {
		criticalSections(t, ws, func(r *lockimpl.RedLock, o lockimpl.Owner) (bool, error) {
			return r.TryLock(ctx, o, lockimpl.Wait(4*time.Second), lockimpl.Lease(2*time.Second))
		})
	}},
	{"testLockFailed", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		for _, w := range ws[:2] {
			other := w.client("other")
			must(t, other.Lock("x").Lock(ctx, "other:1"))
		}
		is(t, false)(r.TryLock(ctx, "p:1"))
		is(t, false)(r.TryLock(ctx, "p:1", lockimpl.Wait(time.Second)))
		if ws[2].server.Exists("x") {
			t.Fatal("a vote was left behind")
		}
	}},
	{"testLockSuccess2", func(t *testing.T, ws []*world) {
		must(t, ws[1].client("other").Lock("x").Lock(ctx, "other:1"))
		r := redlock(ws, "p")
		is(t, true)(r.TryLock(ctx, "p:1"))
		is(t, 2)(r.Unlock(ctx, "p:1"))
	}},
	{"testLockSuccess", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		for _, w := range ws {
			other := w.client("other").Lock("x")
			must(t, other.Lock(ctx, "other:1"))
			is(t, true)(r.TryLock(ctx, "p:1"))
			is(t, true)(other.ForceUnlock(ctx))
			is(t, 2)(r.Unlock(ctx, "p:1"))
			is(t, true)(r.TryLock(ctx, "p:1"))
			is(t, 3)(r.Unlock(ctx, "p:1"))
		}
	}},
	{"testConnectionFailed", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		ws[0].cut("p")
		must(t, r.Lock(ctx, "p:1"))
		if !r.Until("p:1").After(time.Now().Add(20 * time.Second)) {
			t.Fatal(r.Until("p:1"))
		}
		is(t, 2)(r.Unlock(ctx, "p:1"))
	}},
	{"majorityDownIsAnError", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		ws[0].cut("p")
		ws[1].cut("p")
		if err := r.Lock(ctx, "p:1"); !errors.Is(err, lockimpl.ErrNoQuorum) {
			t.Fatal(err)
		}
		if ok, err := r.TryLock(ctx, "p:1", lockimpl.Wait(time.Second)); ok || !errors.Is(err, lockimpl.ErrNoQuorum) {
			t.Fatal(ok, err)
		}
		if ws[2].server.Exists("x") {
			t.Fatal("a vote was left behind")
		}
	}},
	{"timeSpentCountsAgainstTheLease", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		is(t, true)(r.TryLock(ctx, "p:1"))
		is(t, 3)(r.Unlock(ctx, "p:1")) // the servers know the scripts now
		for _, w := range ws {
			w.fates("p", isLate)
		}
		start := time.Now()
		ok, err := r.TryLock(ctx, "p:1", lockimpl.Lease(10*lateBy/9)) // a reply in nine tenths of the tenth
		if ok {
			t.Fatal("late replies were accepted", err)
		}
		if d := time.Since(start); d > lateBy {
			t.Fatal(d)
		}
		time.Sleep(3 * lateBy)
		for _, w := range ws {
			if w.server.Exists("x") {
				t.Fatal("a vote was left behind")
			}
		}
	}},
	{"splitVotesAreResolved", func(t *testing.T, ws []*world) { // S30
		start := time.Now()
		each(3, func(i int) {
			r := redlock(ws, fmt.Sprint("process", i))
			o := lockimpl.Owner(fmt.Sprint("p:", i))
			if err := r.Lock(ctx, o); err != nil {
				t.Error(err)
			}
			if _, err := r.Unlock(ctx, o); err != nil {
				t.Error(err)
			}
		})
		if d := time.Since(start); d > 10*time.Second {
			t.Fatal(d)
		}
	}},
	{"watchdogRenews", func(t *testing.T, ws []*world) {
		r := redlock(ws, "p")
		must(t, r.Lock(ctx, "p:1"))
		time.Sleep(10*time.Minute + 5*time.Second)
		if !r.Until("p:1").After(time.Now()) {
			t.Fatal("lost")
		}
		is(t, 3)(r.Unlock(ctx, "p:1"))
		if !r.Until("p:1").IsZero() {
			t.Fatal("held")
		}
	}},
}

func TestRedLockConformance(t *testing.T) {
	for _, p := range redlockProperties {
		t.Run(p.name, func(t *testing.T) {
			eachGeneration(t, func(t *testing.T, w *world) {
				p.test(t, []*world{w, newWorld(t, w.generation), newWorld(t, w.generation)})
			})
		})
	}
}

func TestRedLockBadArguments(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.client("a")
		for _, locks := range [][]*lockimpl.RLock{nil, {nil}, locksOf(c, "x", "y")} {
			if _, err := lockimpl.NewRedLock(locks...); err == nil {
				t.Errorf("%v was accepted", locks)
			}
		}
	})
}
