package lockimpl_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/model"
)

const latchChannel = "redisson_countdownlatch__channel__{x}"

// Random calls, one after the other, answer what the sequential specification allows.
func TestCountDownLatchKeepsToItsModel(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		drawn(t, rdb, g, func(t *rapid.T, clients []*lockimpl.Client) {
			spec, state := model.Latch{AtZero: g != lockimpl.Hardened}, model.LatchState{}
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				l := clients[rapid.IntRange(0, 1).Draw(t, "client")].CountDownLatch("x")
				var op history.Op
				var err error
				switch kind := rapid.SampledFrom([]history.Kind{history.TrySetCount, history.CountDown, history.CountDown, history.TryAwait,
					history.GetCount, history.DeleteLatch, "delete"}).Draw(t, "op"); kind {
				case history.TrySetCount:
					count, least := int64(0), 0
					if g == lockimpl.Hardened {
						least = 1
					}
					count = int64(rapid.IntRange(least, 4).Draw(t, "count"))
					var ok bool
					ok, err = l.TrySetCount(ctx, count)
					op = asked(kind, "", count, either(ok, history.OK, history.Rejected))
				case history.CountDown:
					err = l.CountDown(ctx)
					op = asked(kind, "", 0, history.OK)
				case history.TryAwait:
					var ok bool
					ok, err = l.TryAwait(ctx)
					op = asked(kind, "", 0, either(ok, history.OK, history.Busy))
				case history.GetCount:
					var count int64
					count, err = l.Count(ctx)
					op = asked(kind, "", count, history.OK)
				case history.DeleteLatch:
					var ok bool
					ok, err = l.Delete(ctx)
					op = asked(kind, "", 0, either(ok, history.Released, history.NotHeld))
				default:
					err = rdb.Del(ctx, "x").Err()
					state, _ = spec.Environment(state, history.Event{Kind: history.Delete})
				}
				if err == nil {
					state, err = spec.Step(state, op)
				}
				if err != nil {
					t.Fatal(err)
				}
				count, err := rdb.Get(ctx, "x").Int64()
				if there := state != (model.LatchState{}); errors.Is(err, redis.Nil) == there || count != state.Count {
					t.Fatalf("the key is %d, %v; the model: %v", count, err, state)
				}
			}
		})
	})
}

func TestCountDownLatchWireFormat(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		l := w.client("a").CountDownLatch("x")
		sub := w.admin.Subscribe(ctx, latchChannel)
		messages := sub.Channel()
		synctest.Wait()
		is(t, true)(l.TrySetCount(ctx, 2))
		is(t, "2")(w.admin.Get(ctx, "x").Result())
		must(t, l.CountDown(ctx))
		is(t, int64(1))(l.Count(ctx))
		must(t, l.CountDown(ctx))
		is(t, int64(0))(w.admin.Exists(ctx, "x").Result())
		must(t, l.CountDown(ctx)) // nothing
		is(t, true)(l.TrySetCount(ctx, 1))
		is(t, true)(l.Delete(ctx))
		last := "1" // redisson: the gate stays closed
		if w.generation == lockimpl.Hardened {
			last = "0"
		}
		for _, want := range []string{"1", "0", "1", last} {
			if m := <-messages; m.Payload != want {
				t.Fatal(m, "want", want)
			}
		}
		must(t, sub.Close())
		w.atRest(latchChannel)
	})
}

func TestCountDownLatchLetsEverybodyReturnAtZero(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").CountDownLatch("x"), w.primed("b").CountDownLatch("x")
		must(t, b.Await(ctx)) // never set: 0
		is(t, true)(a.TrySetCount(ctx, 2))
		results := make(chan error, 20)
		for range 20 {
			go func() { results <- b.Await(ctx) }()
		}
		time.Sleep(time.Second)
		must(t, a.CountDown(ctx))
		synctest.Wait()
		if len(results) != 0 || w.listening(latchChannel) != 1 {
			t.Fatalf("%d returned, %d subscribers", len(results), w.listening(latchChannel))
		}
		start := time.Now()
		is(t, false)(b.TryAwait(ctx, lockimpl.Wait(time.Second)))
		if d := time.Since(start); d != time.Second {
			t.Errorf("gave up after %v", d)
		}
		must(t, a.CountDown(ctx))
		synctest.Wait()
		if len(results) != 20 {
			t.Errorf("%d returned", len(results))
		}
		w.atRest(latchChannel)
	})
}

// What redisson's waiters sleep on after, for ever (4.7.0; verified there), and how long ours do.
func TestCountDownLatchWaitersThatNobodyWakes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		zero   func(t *testing.T, w *world, a *lockimpl.CountDownLatch)
		within time.Duration // for Hardened
	}{
		{"deleted", func(t *testing.T, w *world, a *lockimpl.CountDownLatch) { is(t, true)(a.Delete(ctx)) }, 0},
		{"expired", func(t *testing.T, w *world, a *lockimpl.CountDownLatch) {
			is(t, true)(w.admin.PExpire(ctx, "x", time.Second).Result())
		}, 31 * time.Second},
		{"subscription broken", func(t *testing.T, w *world, a *lockimpl.CountDownLatch) {
			w.cutSubscriptions("b")
			must(t, a.CountDown(ctx))
		}, time.Second},
		{"set anew at once", func(t *testing.T, w *world, a *lockimpl.CountDownLatch) {
			lift := w.silence("b") // it hears the message, but its question is lost
			must(t, a.CountDown(ctx))
			is(t, true)(a.TrySetCount(ctx, 1))
			synctest.Wait()
			lift()
		}, 10 * time.Second}, // go-redis asks again
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachForm(t, func(t *testing.T, w *world) {
				a, b := w.primed("a").CountDownLatch("x"), w.primed("b").CountDownLatch("x")
				is(t, true)(a.TrySetCount(ctx, 1))
				short, cancel := context.WithCancel(ctx)
				defer cancel()
				got := soon(func() error { return b.Await(short) })
				time.Sleep(time.Second)
				tt.zero(t, w, a)
				if w.generation == lockimpl.Hardened {
					time.Sleep(tt.within)
					synctest.Wait()
					if len(got) != 1 {
						t.Fatal("it still waits")
					}
					must(t, <-got)
				} else {
					time.Sleep(24 * time.Hour)
					pending(t, got)
					cancel()
					<-got
				}
				must(t, w.admin.Del(ctx, "x").Err())
				must(t, errOf(a.TryAwait(ctx))) // whoever looks at a latch that expired sees to its round
				w.atRest(latchChannel)
			})
		})
	}
}

// Who begins to wait in one round, and looks again in the next, returns.
func TestHardenedLatchKnowsItsRound(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.primed("a").CountDownLatch("x"), w.primed("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 1))
		got := soon(func() error { return b.Await(ctx) })
		time.Sleep(time.Second)
		w.deafen("b") // neither message is heard
		must(t, a.CountDown(ctx))
		is(t, true)(a.TrySetCount(ctx, 5))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(got) != 1 {
			t.Fatal("it waits in the next round")
		}
		must(t, <-got)
		next := soon(func() error { return b.Await(ctx) })
		pending(t, next)
		must(t, w.admin.Del(ctx, "holdfast_round:{x}").Err()) // a round that is forgotten is not over
		time.Sleep(time.Hour)
		pending(t, next)
		is(t, true)(a.Delete(ctx))
		time.Sleep(time.Minute)
		must(t, <-next)
		w.atRest(latchChannel)
	})
}

// A message of 0 that comes late has redisson's waiters ask without pause.
func TestFaithfulLatchSpinsAtAnOpenGate(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").CountDownLatch("x"), w.primed("b").CountDownLatch("x")
		is(t, true)(a.TrySetCount(ctx, 1))
		short, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		got := soon(func() error { return b.Await(short) })
		time.Sleep(time.Second)
		asked := 0
		w.mu.Lock()
		w.judge["b"] = func(command []byte) fate { // each answer takes a second, so that the spinning takes time
			asked++
			return isLate
		}
		w.mu.Unlock()
		must(t, w.admin.Publish(ctx, latchChannel, "0").Err())
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		n := asked
		w.mu.Unlock()
		if spins := n >= 9; spins != (w.generation != lockimpl.Hardened) {
			t.Errorf("asked %d times in 10 s", n)
		}
		must(t, w.admin.Publish(ctx, latchChannel, "1").Err())
		time.Sleep(5 * time.Second)
		w.mu.Lock()
		if more := asked - n; more > 2 {
			t.Errorf("asked %d times with the gate closed", more)
		}
		w.mu.Unlock()
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A count-down whose reply is lost, and that is sent again, or called again.
func TestCountDownLatchCountsOnce(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		l := w.primed("a").CountDownLatch("x")
		is(t, true)(l.TrySetCount(ctx, 10))
		must(t, l.CountDown(ctx)) // the script is known
		w.fates("a", isLost)
		must(t, l.CountDown(ctx))
		want := int64(7)
		if w.generation == lockimpl.Hardened {
			want = 8
			calls := w.fates("a", isLost, isLost, isLost, isLost)
			if err := l.CountDown(ctx, lockimpl.RequestID("mine")); !lockimpl.OutcomeUnknown(err) {
				t.Fatal(err)
			}
			must(t, l.CountDown(ctx, lockimpl.RequestID("mine")))
			time.Sleep(time.Minute) // it is also repeated in the background
			must(t, l.CountDown(ctx))
			w.replay(calls()[0])
			want = 6
		} else {
			refused(t, l.CountDown(ctx, lockimpl.RequestID("mine")), lockimpl.ErrGeneration)
		}
		is(t, want)(l.Count(ctx))
		w.atRest(latchChannel, "x", "holdfast_round:{x}") // it counts still
	})
}

func TestFaithfulLatchOfZeroIsStuck(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		l := w.client("a").CountDownLatch("x")
		if w.generation == lockimpl.Hardened {
			refused(t, errOf(l.TrySetCount(ctx, 0)), lockimpl.ErrBadPermits)
			return
		}
		is(t, true)(l.TrySetCount(ctx, 0))
		is(t, false)(l.TrySetCount(ctx, 1))
		must(t, l.CountDown(ctx))
		is(t, true)(l.TrySetCount(ctx, 1))
	})
}

func TestCountDownLatchCancellationAtAnyMoment(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").CountDownLatch("x"), w.primed("b").CountDownLatch("x")
		w.mu.Lock()
		w.judge["b"] = func([]byte) fate { return isLate }
		w.mu.Unlock()
		over := 0
		for at := time.Duration(0); at <= 6*lateBy; at += lateBy / 10 {
			is(t, true)(a.TrySetCount(ctx, 1))
			time.AfterFunc(2*lateBy+lateBy/2, func() { a.CountDown(ctx) })
			short, cancel := context.WithTimeout(ctx, at)
			switch err := b.Await(short); {
			case err == nil:
				over++
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			w.atRest(latchChannel)
		}
		if over == 0 || over > 30 {
			t.Fatalf("returned %d times: the sweep does not cover what it is meant to", over)
		}
	})
}

func TestCountDownLatchRefusesBadArguments(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		open, closed := w.client("open"), w.client("closed")
		waits := soon(func() error {
			must(t, errOf(closed.CountDownLatch("x").TrySetCount(ctx, 1)))
			return closed.CountDownLatch("x").Await(ctx)
		})
		must(t, closed.Close())
		refused(t, <-waits, lockimpl.ErrClosed)
		must(t, w.admin.FlushAll(ctx).Err())
		for _, call := range []func(l *lockimpl.CountDownLatch) error{
			func(l *lockimpl.CountDownLatch) error { return errOf(l.TrySetCount(ctx, 1)) },
			func(l *lockimpl.CountDownLatch) error { return l.CountDown(ctx) },
			func(l *lockimpl.CountDownLatch) error { return errOf(l.Count(ctx)) },
			func(l *lockimpl.CountDownLatch) error { return errOf(l.Delete(ctx)) },
			func(l *lockimpl.CountDownLatch) error { return l.Await(ctx) },
			func(l *lockimpl.CountDownLatch) error { return errOf(l.TryAwait(ctx)) },
		} {
			refused(t, call(open.CountDownLatch("a{b")), lockimpl.ErrBadName)
			refused(t, call(closed.CountDownLatch("x")), lockimpl.ErrClosed)
		}
		l := open.CountDownLatch("x")
		refused(t, errOf(l.TrySetCount(ctx, -1)), lockimpl.ErrBadPermits)
		refused(t, errOf(l.TrySetCount(ctx, lockimpl.MaxPermits+1)), lockimpl.ErrBadPermits)
		refused(t, l.CountDown(ctx, lockimpl.Wait(1)), lockimpl.ErrBadOption)
		refused(t, errOf(l.TryAwait(ctx, lockimpl.Lease(1))), lockimpl.ErrBadOption)
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Errorf("keys written: %q", keys)
		}
	})
}
