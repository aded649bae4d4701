package lockimpl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/model"
)

const fairChannel = "redisson_lock__channel:{x}:"

// fairStep is one random call.
type fairStep struct {
	Kind           history.Kind
	Client, Thread int
	Seconds        int // that pass instead, if Kind is empty
}

// Random calls, one after the other, of owners of whom some wait, answer what the sequential specification
// allows; and a lock that is free and waited for is taken at once.
func TestFairLockKeepsToItsModel(t *testing.T) {
	for _, g := range forms {
		t.Run(string(g), func(t *testing.T) {
			step := rapid.Custom(func(t *rapid.T) fairStep {
				return fairStep{rapid.SampledFrom([]history.Kind{history.Enqueue, history.Enqueue, history.TryLock, history.Unlock, history.Unlock,
					history.Unlock, history.ForceUnlock, history.Leave, ""}).Draw(t, "op"), rapid.IntRange(0, 1).Draw(t, "client"),
					rapid.IntRange(1, 3).Draw(t, "thread"), rapid.IntRange(1, 60).Draw(t, "seconds")}
			})
			rapid.Check(t, func(rt *rapid.T) {
				steps := rapid.SliceOfN(step, 1, 30).Draw(rt, "steps")
				var err error
				inBubble(t, g, func(t *testing.T, w *world) { err = fairlyStepped(w, steps) })
				if err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// fairlyStepped makes calls and holds them against the model.
func fairlyStepped(w *world, steps []fairStep) error {
	type waiter struct {
		result chan error
		cancel context.CancelFunc
	}
	spec, state := model.Fair{Redisson: w.generation != lockimpl.Hardened}, model.FairState{}
	clients := []*lockimpl.Client{w.client("a"), w.client("b")}
	waiting := map[lockimpl.Owner]waiter{}
	defer func() {
		for _, wt := range waiting {
			wt.cancel()
			<-wt.result
		}
	}()
	for _, s := range steps {
		c := clients[s.Client]
		l, o := c.FairLock("x"), c.Owner(int64(s.Thread))
		wt, waits := waiting[o]
		var out history.Outcome
		var err error
		switch {
		case s.Kind == "":
			time.Sleep(time.Duration(s.Seconds) * time.Second)
		case s.Kind == history.Leave && waits && !spec.Redisson: // there, who is interrupted leaves its place behind
			wt.cancel()
			if err := <-wt.result; !errors.Is(err, context.Canceled) {
				return err
			}
			delete(waiting, o)
			out = history.OK
		case waits, s.Kind == history.Leave:
		case s.Kind == history.Enqueue:
			long, cancel := context.WithCancel(ctx)
			wt := waiter{make(chan error, 1), cancel}
			go func() { wt.result <- l.Lock(long, o) }()
			synctest.Wait()
			select {
			case err = <-wt.result:
				cancel()
				out = history.Acquired
			default:
				waiting[o] = wt
				out = history.Busy
			}
		case s.Kind == history.TryLock:
			var ok bool
			ok, err = l.TryLock(ctx, o)
			out = either(ok, history.Acquired, history.Busy)
		case s.Kind == history.Unlock:
			var released bool
			released, err = l.Unlock(ctx, o)
			out = either(released, history.Released, history.Decremented)
			if errors.Is(err, lockimpl.ErrNotHeld) {
				err, out = nil, history.NotHeld
			}
		case s.Kind == history.ForceUnlock:
			var freed bool
			freed, err = l.ForceUnlock(ctx)
			out = either(freed, history.Released, history.NotHeld)
		}
		if err == nil && out != "" {
			state, err = spec.Step(state, asked(s.Kind, o, 0, out))
		}
		if err != nil {
			return err
		}
		synctest.Wait()
		for o, wt := range waiting {
			select {
			case err := <-wt.result:
				if wt.cancel(); err != nil {
					return err
				}
				delete(waiting, o)
				if state, err = spec.Step(state, asked(history.Grant, o, 0, history.Acquired)); err != nil {
					return err
				}
			default:
			}
		}
		if queue := state.Queue(); len(queue) != len(waiting) || len(queue) > 0 && state.Lock.Free() {
			return fmt.Errorf("%d wait; the model: %v", len(waiting), state)
		}
		if !state.Lock.Free() {
			held, err := l.HoldCount(ctx, lockimpl.Owner(state.Lock.Owner))
			if err != nil || held != state.Lock.Count {
				return fmt.Errorf("held %d times, %v; the model: %v", held, err, state)
			}
		}
	}
	return nil
}

func TestFairLockWireFormat(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		for name, tag := range map[string]string{"x": "{x}", "y{b}c": "y{b}c"} {
			l, o := a.FairLock(name), a.Owner(1)
			must(t, l.Lock(ctx, o))
			must(t, l.Lock(ctx, o))
			if hash := w.admin.HGetAll(ctx, name).Val(); len(hash) != 1 || hash[string(o)] != "2" {
				t.Fatal(hash)
			}
			got := soon(func() error { return b.FairLock(name).Lock(ctx, b.Owner(1)) })
			if n := w.listening("redisson_lock__channel:" + tag + ":b:1"); n != 1 {
				t.Fatalf("%d listen", n)
			}
			queue := w.admin.LRange(ctx, "redisson_lock_queue:"+tag, 0, -1).Val()
			deadline := w.admin.ZScore(ctx, "redisson_lock_timeout:"+tag, "b:1").Val()
			if w.generation == lockimpl.Hardened {
				if line := w.admin.ZRange(ctx, "holdfast_lock_queue:"+tag, 0, -1).Val(); !slices.Equal(line, []string{"d:b:1", "q:b:1"}) || len(queue) != 0 {
					t.Fatal(line, queue)
				}
			} else if want := time.Now().Add(330 * time.Second).UnixMilli(); !slices.Equal(queue, []string{"b:1"}) || int64(deadline) != want {
				t.Fatal(queue, int64(deadline), want)
			}
			is(t, false)(l.Unlock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			must(t, <-got)
			is(t, true)(b.FairLock(name).Unlock(ctx, b.Owner(1)))
		}
		w.atRest(fairChannel + "b:1")
		if n := w.admin.Exists(ctx, "x", "redisson_lock_queue:{x}", "redisson_lock_timeout:{x}", "holdfast_lock_queue:{x}").Val(); n != 0 {
			t.Errorf("keys %q", w.server.Keys())
		}
	})
}

// waiters has owners of clients wait for the lock one second apart; each sends its number when it has it.
func fairWaiters(t *testing.T, ctx context.Context, clients ...*lockimpl.Client) (order chan int) {
	order = make(chan int, len(clients))
	for i, c := range clients {
		go func() {
			if err := c.FairLock("x").Lock(ctx, c.Owner(int64(10+i))); err == nil {
				order <- i
			}
		}()
		time.Sleep(time.Second)
	}
	return order
}

// The first of the queue dies; in redisson the second waits until the first's deadline, and asks all the
// while.
func TestFairLockDeadHead(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		patience := func(o *lockimpl.Options) { o.FairWaitTimeout = 3 * time.Second } // of minutes, the storm takes too long to run
		a, b, c := w.primed("a"), w.primed("b", patience), w.primed("c", patience)
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(5*time.Second)))
		fairWaiters(t, ctx, b)
		w.cut("b") // for good
		order := fairWaiters(t, ctx, c)
		calls := w.fates("c")
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		start := time.Now()
		<-order
		d, n := time.Since(start), len(calls())
		t.Logf("granted after %v, by %d scripts", d, n)
		if w.generation == lockimpl.Hardened {
			if d > 20*time.Second || n > 4 {
				t.Errorf("granted after %v, by %d scripts", d, n)
			}
		} else if d < 5*time.Second || n < 2500 {
			t.Errorf("granted after %v, by %d scripts", d, n)
		}
	})
}

// A waiter that gives up leaves the queue, but not in redisson if it is interrupted.
func TestFairLockInterruptedWaiter(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		is(t, false)(b.FairLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(time.Second))) // its time is over: it leaves
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := b.FairLock("x").Lock(short, b.Owner(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		synctest.Wait()
		ok, err := a.FairLock("x").TryLock(ctx, a.Owner(1), lockimpl.Wait(5*time.Second))
		if must(t, err); ok != (w.generation == lockimpl.Hardened) {
			t.Errorf("acquired: %v", ok)
		}
	})
}

// Holds that last longer than the waiters' places: in redisson the order is lost.
func TestFairLockLongHoldKeepsTheOrder(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b, c := w.client("a"), w.client("b"), w.client("c")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		order := fairWaiters(t, ctx, b, c, b, c)
		time.Sleep(time.Hour)
		is(t, false)(a.FairLock("x").TryLock(ctx, a.Owner(2)))
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		for want, client := range []*lockimpl.Client{b, c, b, c} {
			synctest.Wait()
			if got := <-order; got != want {
				t.Errorf("%d before %d", got, want)
			}
			time.Sleep(time.Minute)
			is(t, true)(client.FairLock("x").Unlock(ctx, client.Owner(int64(10+want))))
		}
		w.atRest(fairChannel + "b:10")
	})
}

// A release that nobody is told of costs at most a poll.
func TestFairLockLostMessage(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
		order := fairWaiters(t, ctx, b)
		w.deafen("b")
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		start := time.Now()
		<-order
		if d := time.Since(start); (d > 11*time.Second) == (w.generation == lockimpl.Hardened) {
			t.Errorf("after %v", d)
		}
	})
}

// A lock that is free, and whose turn it is does not know yet.
func TestFairLockLetsNobodyPass(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b, c := w.primed("a"), w.primed("b"), w.primed("c")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		first := fairWaiters(t, ctx, b)
		w.deafen("b")
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		is(t, false)(a.FairLock("x").TryLock(ctx, a.Owner(2)))
		second := fairWaiters(t, ctx, c)
		<-first
		if len(second) != 0 {
			t.Error("who came later has it, too")
		}
		is(t, true)(b.FairLock("x").Unlock(ctx, b.Owner(10)))
		<-second
		is(t, true)(c.FairLock("x").Unlock(ctx, c.Owner(10)))
	})
}

func TestFairLockHalfEvicted(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b, c := w.primed("a"), w.primed("b"), w.primed("c")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		short, cancel := context.WithCancel(ctx)
		defer cancel()
		dead := fairWaiters(t, short, b)
		w.cut("b")
		order := fairWaiters(t, ctx, c)
		must(t, w.admin.Del(ctx, "redisson_lock_timeout:{x}", "holdfast_lock_queue:{x}").Err())
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := len(order) == 1; got != (w.generation == lockimpl.Hardened) {
			t.Errorf("granted: %v", got) // redisson: never, for the dead head has no deadline any more
		}
		must(t, c.Close())
		must(t, b.Close())
		if len(dead) > 0 {
			t.Error("the dead one has it")
		}
	})
}

func TestFairLockUnlockOfAFreeLock(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		c := w.client("a")
		released, err := c.FairLock("x").Unlock(ctx, c.Owner(1))
		if w.generation == lockimpl.Hardened {
			refused(t, err, lockimpl.ErrNotHeld)
			return
		}
		is(t, true)(released, err) // redisson
		must(t, c.FairLock("x").Lock(ctx, c.Owner(1)))
		_, err = c.FairLock("x").Unlock(ctx, c.Owner(2))
		refused(t, err, lockimpl.ErrNotHeld)
	})
}

func TestFairLockTellsOfLosses(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, o := a.FairLock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		order := fairWaiters(t, ctx, b)
		work, cancel := l.HoldContext(ctx, o)
		defer cancel()
		time.Sleep(time.Hour)
		must(t, work.Err())
		first, _ := l.Token(o)
		is(t, true)(b.FairLock("x").ForceUnlock(ctx))
		synctest.Wait()
		if !errors.Is(context.Cause(work), lockimpl.ErrLost) || len(order) != 1 {
			t.Errorf("%v, %d granted", context.Cause(work), len(order))
		}
		if second, ok := b.FairLock("x").Token(b.Owner(10)); !ok || second <= first {
			t.Errorf("token %d after %d", second, first)
		}
		is(t, true)(b.FairLock("x").Unlock(ctx, b.Owner(10)))
		w.atRest(fairChannel + "a:1")
	})
}

// A copy of an attempt that comes when its owner has left, or has had the lock, takes no place.
func TestFairLockLateCopies(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
		calls := w.fates("b")
		is(t, false)(b.FairLock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(time.Second)))
		is(t, false)(b.FairLock("x").TryLock(ctx, b.Owner(1)))
		if n := w.admin.Exists(ctx, "holdfast_lock_queue:{x}").Val(); n != 0 {
			t.Error("it has a place still")
		}
		is(t, true)(a.FairLock("x").Unlock(ctx, a.Owner(1)))
		for _, call := range calls() {
			w.replay(call)
		}
		is(t, int64(0))(w.admin.Exists(ctx, "x", "holdfast_lock_queue:{x}").Result())
	})
}

func TestFairLockCancellationAtAnyMoment(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		must(t, b.FairLock("x").Lock(ctx, b.Owner(1)))
		is(t, true)(b.FairLock("x").Unlock(ctx, b.Owner(1)))
		always := make([]fate, 1000)
		for i := range always {
			always[i] = isLate
		}
		w.fates("b", always...)
		acquired := 0
		for at := time.Duration(0); at <= 6*lateBy; at += lateBy / 10 {
			must(t, a.FairLock("x").Lock(ctx, a.Owner(1)))
			time.AfterFunc(2*lateBy+lateBy/2, func() { a.FairLock("x").Unlock(ctx, a.Owner(1)) })
			short, cancel := context.WithTimeout(ctx, at)
			switch err := b.FairLock("x").Lock(short, b.Owner(1)); {
			case err == nil:
				acquired++
				is(t, true)(b.FairLock("x").Unlock(ctx, b.Owner(1)))
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			is(t, int64(0))(w.admin.Exists(ctx, "x", "holdfast_lock_queue:{x}").Result())
			w.atRest(fairChannel + "b:1")
		}
		if acquired == 0 || acquired > 40 {
			t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
		}
	})
}

// Fair locks are excluded by other forms, and by an RLock of the name.
func TestFairLockExcludesOthers(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, f := w.client("h"), w.client("f", func(o *lockimpl.Options) { o.Generation = lockimpl.Latch })
		for _, pair := range [][2]*lockimpl.Client{{h, f}, {f, h}, {h, h}, {f, f}} {
			one, other := pair[0], pair[1]
			must(t, one.FairLock("x").Lock(ctx, one.Owner(1)))
			is(t, false)(other.FairLock("x").TryLock(ctx, other.Owner(2)))
			is(t, false)(other.Lock("x").TryLock(ctx, other.Owner(2)))
			is(t, true)(one.FairLock("x").Unlock(ctx, one.Owner(1)))
		}
	})
}

// Many strands of two clients on real servers: one at a time, everybody in the end, and nothing is left.
func TestFairLockOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		must(t, rdb.FlushAll(ctx).Err())
		var clients []*lockimpl.Client
		for range 2 {
			c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
			must(t, err)
			defer c.Close()
			clients = append(clients, c)
		}
		in := make(chan struct{}, 1)
		each(8, func(i int) {
			c := clients[i%2]
			l, o := c.FairLock("x"), c.Owner(int64(i))
			for range 15 {
				if err := l.Lock(ctx, o); err != nil {
					t.Error(err)
					return
				}
				select {
				case in <- struct{}{}:
					<-in
				default:
					t.Error("two at once")
				}
				if _, err := l.Unlock(ctx, o); err != nil {
					t.Error(err)
				}
			}
		})
		for _, key := range rdb.Keys(ctx, "*").Val() {
			if ttl := rdb.PTTL(ctx, key).Val(); ttl < 0 || key == "x" {
				t.Errorf("key %s is left, for %v", key, ttl)
			}
		}
	})
}
