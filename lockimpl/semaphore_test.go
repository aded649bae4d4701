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

const semaphoreChannel = "redisson_sc:{x}"

// Random calls, one after the other, answer what the sequential specification allows.
func TestSemaphoreKeepsToItsModel(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		drawn(t, rdb, g, func(t *rapid.T, clients []*lockimpl.Client) {
			spec, state := model.Semaphore{Keeps: g == lockimpl.Hardened}, model.SemaphoreState{}
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				s := clients[rapid.IntRange(0, 1).Draw(t, "client")].Semaphore("x")
				k := int64(rapid.IntRange(0, 4).Draw(t, "permits"))
				var op history.Op
				var err error
				switch kind := rapid.SampledFrom([]history.Kind{history.TrySetPermits, history.TryAcquirePermits, history.TryAcquirePermits,
					history.ReleasePermits, history.ReleaseIfExists, history.AddPermits, history.DrainPermits, history.AvailablePermits,
					"delete"}).Draw(t, "op"); kind {
				case history.TrySetPermits:
					var ok bool
					var opts []lockimpl.Option
					var lease time.Duration
					if rapid.Bool().Draw(t, "ends") {
						lease = time.Hour
						opts = append(opts, lockimpl.Lease(lease))
					}
					ok, err = s.TrySetPermits(ctx, k, opts...)
					op = asked(kind, "", k, either(ok, history.OK, history.Rejected))
					op.Lease = lease
				case history.TryAcquirePermits:
					var ok bool
					ok, err = s.TryAcquire(ctx, k)
					op = asked(kind, "", k, either(ok, history.Acquired, history.Busy))
				case history.ReleasePermits:
					err = s.Release(ctx, k)
					op = asked(kind, "", k, either(!errors.Is(err, lockimpl.ErrNotSet), history.OK, history.NotHeld))
					if errors.Is(err, lockimpl.ErrNotSet) {
						err = nil
					}
				case history.ReleaseIfExists:
					var ok bool
					ok, err = s.ReleaseIfExists(ctx, k)
					op = asked(kind, "", k, either(ok, history.Released, history.NotHeld))
				case history.AddPermits:
					k -= 2
					err = s.AddPermits(ctx, k)
					op = asked(kind, "", k, history.OK)
				case history.DrainPermits:
					k, err = s.Drain(ctx)
					op = asked(kind, "", k, history.OK)
				case history.AvailablePermits:
					k, err = s.AvailablePermits(ctx)
					op = asked(kind, "", k, history.OK)
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
				free, err := rdb.Get(ctx, "x").Int64()
				if errors.Is(err, redis.Nil) != !state.Set || free != state.Free {
					t.Fatalf("the key is %d, %v; the model: %v", free, err, state)
				}
				if ttl := rdb.PTTL(ctx, "x").Val(); state.Set && (ttl > 0) != (state.Latest < model.Never) {
					t.Fatalf("the key ends in %v; the model: %v", ttl, state.Latest)
				}
			}
		})
	})
}

// What is on the server, to the letter.
func TestSemaphoreWireFormat(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		c := w.client("a")
		for name, channel := range map[string]string{"x": semaphoreChannel, "a{b}c": "redisson_sc:a{b}c"} {
			sub := w.admin.Subscribe(ctx, channel)
			messages := sub.Channel()
			synctest.Wait()
			s := c.Semaphore(name)
			is(t, true)(s.TrySetPermits(ctx, 5))
			must(t, s.Acquire(ctx, 3))
			must(t, s.AddPermits(ctx, 10))
			must(t, s.Release(ctx, 2))
			for _, want := range []string{"5", "12", "14"} {
				if m := <-messages; m.Payload != want {
					t.Fatal(m)
				}
			}
			is(t, "14")(w.admin.Get(ctx, name).Result())
			must(t, sub.Close())
		}
		w.atRest(semaphoreChannel, "x", "a{b}c")
	})
}

func TestSemaphoreWakesAsManyAsPermitsAreFree(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").Semaphore("x"), w.primed("b").Semaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 0))
		results := make(chan error, 10)
		for range 10 {
			go func() { results <- b.Acquire(ctx, 1) }()
		}
		time.Sleep(time.Second)
		calls := w.fates("b")
		must(t, a.Release(ctx, 4))
		synctest.Wait()
		if len(results) != 4 || len(calls()) > 8 {
			t.Errorf("%d served, by %d calls", len(results), len(calls()))
		}
		for range 3 {
			must(t, a.Release(ctx, 2))
		}
		synctest.Wait()
		if len(results) != 10 {
			t.Errorf("%d served", len(results))
		}
		is(t, int64(0))(a.AvailablePermits(ctx))
		w.atRest(semaphoreChannel, "x")
	})
}

// A waiter who asks for more than there are sleeps on, and not in place of one who does not.
func TestHardenedSemaphoreWakesWhoCanBeServed(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").Semaphore("x"), w.primed("b").Semaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 0))
		many := soon(func() error { return b.Acquire(ctx, 3) })
		time.Sleep(time.Second)
		one := soon(func() error { return b.Acquire(ctx, 1) })
		time.Sleep(time.Second)
		must(t, a.Release(ctx, 1))
		synctest.Wait()
		if served := len(one) == 1; served != (w.generation == lockimpl.Hardened) {
			t.Errorf("who asks for one is served: %v", served) // Redisson wakes the other
		}
		must(t, a.Release(ctx, 3)) // 4 are free now, or 3
		must(t, <-one)
		must(t, <-many)
		w.atRest(semaphoreChannel, "x")
	})
}

// A release that is published while nobody hears it: redisson's waiters sleep for ever (4.7.0; verified
// there).
func TestSemaphoreLostMessage(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").Semaphore("x"), w.primed("b").Semaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 0))
		short, cancel := context.WithCancel(ctx)
		got := soon(func() error { return b.Acquire(short, 1) })
		other := soon(func() error { return b.Acquire(short, 1) })
		time.Sleep(time.Second)
		w.cutSubscriptions("b")
		must(t, a.Release(ctx, 2))
		if w.generation != lockimpl.Hardened {
			time.Sleep(24 * time.Hour)
			pending(t, got)
			cancel()
			if err := <-got; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			<-other
		} else {
			time.Sleep(time.Second)
			synctest.Wait()
			if len(got) != 1 || len(other) != 1 {
				t.Error("they do not look when the subscription stands again")
			}
			must(t, <-got)
			must(t, <-other)
		}
		cancel()
		w.atRest(semaphoreChannel, "x")
	})
}

// A message that is not sent at all costs at most the watchdog's timeout.
func TestHardenedSemaphorePolls(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		b := w.primed("b").Semaphore("x")
		got := soon(func() error { return b.Acquire(ctx, 1) })
		time.Sleep(10 * time.Second)
		other := soon(func() error { return b.Acquire(ctx, 1) })
		time.Sleep(time.Second)
		must(t, w.admin.Set(ctx, "x", 2, 0).Err())
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(got) != 1 || len(other) != 1 { // who finds that more are free tells the next
			t.Fatalf("served: %v, %v", len(got) == 1, len(other) == 1)
		}
		must(t, <-got)
		must(t, <-other)
	})
}

// What becomes of the calls whose reply is lost, so that go-redis sends them again.
func TestSemaphoreResent(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		s := w.primed("a").Semaphore("x")
		once := w.generation == lockimpl.Hardened
		is(t, true)(s.TrySetPermits(ctx, 10))
		must(t, errOf(s.TryAcquire(ctx, 1)))
		must(t, s.Release(ctx, 1))
		must(t, s.AddPermits(ctx, 0))
		must(t, errOf(s.Drain(ctx)))
		must(t, s.AddPermits(ctx, 10)) // the scripts are known
		for _, tt := range []struct {
			name        string
			call        func() error
			once, twice int64
		}{
			{"acquire", func() error { return s.Acquire(ctx, 3) }, 7, 4},
			{"release", func() error { return s.Release(ctx, 3) }, 10, 10},
			{"add", func() error { return s.AddPermits(ctx, 5) }, 15, 20},
		} {
			w.fates("a", isLost)
			must(t, tt.call())
			want := tt.twice
			if once {
				want = tt.once
			}
			is(t, want)(s.AvailablePermits(ctx))
		}
		w.fates("a", isLost)
		drained, err := s.Drain(ctx)
		must(t, err)
		if want := int64(15); once && drained != want || !once && drained != 0 {
			t.Errorf("drained %d", drained)
		}
		must(t, w.admin.Del(ctx, "x").Err())
		w.fates("a", isLost)
		is(t, once)(s.TrySetPermits(ctx, 2)) // redisson denies what it did
		w.atRest(semaphoreChannel, "x")
	})
}

// A copy that arrives late, when the slot has gone on.
func TestHardenedSemaphoreLateCopies(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		s := w.primed("a").Semaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 10))
		must(t, s.Acquire(ctx, 1))
		must(t, s.Release(ctx, 1))
		calls := w.fates("a")
		must(t, s.Acquire(ctx, 4))
		must(t, s.Release(ctx, 2))
		is(t, false)(s.TryAcquire(ctx, 100))
		for _, call := range calls() {
			w.replay(call)
			is(t, int64(8))(s.AvailablePermits(ctx))
		}
		must(t, w.admin.IncrBy(ctx, "x", 1000).Err()) // the refused one could be had now
		w.replay(calls()[2])
		is(t, int64(1008))(s.AvailablePermits(ctx))
	})
}

// Calls that fail without a word of what became of them: whether they ran or not, in the end they did once,
// or an acquire not at all.
func TestHardenedSemaphoreSettles(t *testing.T) {
	for _, f := range []fate{isLost, neverRan} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			s := w.prime(w.clientOver(w.dialRetrying("a", -1), "a")).Semaphore("x")
			is(t, true)(s.TrySetPermits(ctx, 10))
			must(t, errOf(s.TryAcquire(ctx, 1)))
			must(t, s.Release(ctx, 1))
			unknown := func(err error) {
				t.Helper()
				if !lockimpl.OutcomeUnknown(err) {
					t.Fatalf("got %v", err)
				}
				time.Sleep(time.Second)
			}
			w.fates("a", f)
			unknown(s.Acquire(ctx, 3))
			is(t, int64(10))(s.AvailablePermits(ctx)) // given back
			must(t, s.Acquire(ctx, 5))
			w.fates("a", f)
			unknown(s.Release(ctx, 2))
			is(t, int64(7))(s.AvailablePermits(ctx)) // given once
			for range 3 {
				w.fates("a", f, f)
				err := s.Release(ctx, 1, lockimpl.RequestID("the same"))
				if !lockimpl.OutcomeUnknown(err) {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
			must(t, s.Release(ctx, 1, lockimpl.RequestID("the same")))
			is(t, int64(8))(s.AvailablePermits(ctx))
			w.atRest(semaphoreChannel, "x")
		})
	}
}

// Wherever in the course of a call its context ends, no permit is lost or made, and nothing is left.
func TestSemaphoreCancellationAtAnyMoment(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").Semaphore("x"), w.primed("b").Semaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 2))
		must(t, b.Acquire(ctx, 2)) // the script is known
		must(t, b.Release(ctx, 2))
		always := make([]fate, 1000)
		for i := range always {
			always[i] = isLate
		}
		w.fates("b", always...)
		acquired := 0
		for at := time.Duration(0); at <= 4*lateBy; at += lateBy / 10 {
			must(t, a.Acquire(ctx, 2))
			time.AfterFunc(2*lateBy+lateBy/2, func() { a.Release(ctx, 2) })
			short, cancel := context.WithTimeout(ctx, at)
			err := b.Acquire(short, 2)
			switch {
			case err == nil:
				acquired++
				must(t, a.Release(ctx, 2))
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			is(t, int64(2))(a.AvailablePermits(ctx))
			w.atRest(semaphoreChannel, "x")
		}
		if acquired == 0 || acquired > 15 {
			t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
		}
	})
}

// Two clients with one id, against the rules, use each other's slots. They do what they say all the same, one
// call at a time.
func TestHardenedSemaphoreOfClientsWithOneID(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		same := func(o *lockimpl.Options) { o.ID = "same" }
		a, b := w.client("a", same).Semaphore("x"), w.client("b", same).Semaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 100))
		for i := range int64(20) {
			must(t, a.Acquire(ctx, 1))
			must(t, b.Acquire(ctx, 2))
			must(t, a.Release(ctx, 1))
			is(t, 100-2*(i+1))(b.AvailablePermits(ctx))
		}
	})
}

func TestSemaphoreWaits(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		is(t, true)(a.Semaphore("x").TrySetPermits(ctx, 1, lockimpl.Lease(time.Minute)))
		start := time.Now()
		is(t, false)(b.Semaphore("x").TryAcquire(ctx, 2, lockimpl.Wait(3*time.Second)))
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("gave up after %v", d)
		}
		got := soon(func() error { return b.Semaphore("x").Acquire(ctx, 2) })
		must(t, b.Close())
		if err := <-got; !errors.Is(err, lockimpl.ErrClosed) {
			t.Error(err)
		}
		time.Sleep(time.Minute) // it ends
		err := a.Semaphore("x").Release(ctx, 1)
		if w.generation == lockimpl.Hardened {
			refused(t, err, lockimpl.ErrNotSet)
			is(t, false)(a.Semaphore("x").ReleaseIfExists(ctx, 1))
			is(t, int64(0))(w.admin.Exists(ctx, "x").Result())
			w.atRest(semaphoreChannel)
		} else {
			must(t, err) // and makes a new one, without an end
			is(t, time.Duration(-1))(w.admin.PTTL(ctx, "x").Result())
			is(t, true)(a.Semaphore("x").ReleaseIfExists(ctx, 1))
			w.atRest(semaphoreChannel, "x")
		}
	})
}

func TestSemaphoreRefusesBadArguments(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		open, closed := w.client("open"), w.client("closed")
		must(t, closed.Close())
		operations := map[string]func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error{
			"TrySetPermits": func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error {
				return errOf(s.TrySetPermits(ctx, k, opts...))
			},
			"AddPermits": func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error {
				return s.AddPermits(ctx, k*lockimpl.MaxPermits, opts...) // which may be below 0
			},
			"Acquire": func(s *lockimpl.Semaphore, k int64, _ ...lockimpl.Option) error { return s.Acquire(ctx, k) },
			"TryAcquire": func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error {
				return errOf(s.TryAcquire(ctx, k, opts...))
			},
			"Release": func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error { return s.Release(ctx, k, opts...) },
			"ReleaseIfExists": func(s *lockimpl.Semaphore, k int64, opts ...lockimpl.Option) error {
				return errOf(s.ReleaseIfExists(ctx, k, opts...))
			},
		}
		for name, call := range operations {
			refused(t, call(open.Semaphore("a{b"), 1), lockimpl.ErrBadName)
			refused(t, call(closed.Semaphore("x"), 1), lockimpl.ErrClosed)
			refused(t, call(open.Semaphore("x"), -2), lockimpl.ErrBadPermits)
			refused(t, call(open.Semaphore("x"), lockimpl.MaxPermits+1), lockimpl.ErrBadPermits)
			if name == "Acquire" {
				continue
			}
			refused(t, call(open.Semaphore("x"), 1, lockimpl.RequestID("")), lockimpl.ErrBadOption)
			if name != "TryAcquire" {
				refused(t, call(open.Semaphore("x"), 1, lockimpl.Wait(1)), lockimpl.ErrBadOption)
				if w.generation != lockimpl.Hardened {
					refused(t, call(open.Semaphore("x"), 1, lockimpl.RequestID("1")), lockimpl.ErrGeneration)
				}
			}
		}
		refused(t, errOf(open.Semaphore("x").TryAcquire(ctx, 1, lockimpl.Wait(-1))), lockimpl.ErrBadWait)
		refused(t, errOf(open.Lock("x").TryLock(ctx, "o", lockimpl.RequestID("1"))), lockimpl.ErrBadOption)
		must(t, open.Semaphore("x").Acquire(ctx, 0))
		must(t, open.Semaphore("x").Release(ctx, 0))
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Errorf("keys written: %q", keys)
		}
	})
}

// Many strands of two clients never have more permits out than there are, on real servers.
func TestSemaphoreBound(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		must(t, rdb.FlushAll(ctx).Err())
		const permits = 5
		var clients []*lockimpl.Client
		for range 2 {
			c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
			must(t, err)
			defer c.Close()
			clients = append(clients, c)
		}
		is(t, true)(clients[0].Semaphore("x").TrySetPermits(ctx, permits))
		out := make(chan struct{}, permits) // blocks nobody while the bound is kept
		each(12, func(i int) {
			s, k := clients[i%2].Semaphore("x"), int64(1+i%3)
			for range 30 {
				if err := s.Acquire(ctx, k); err != nil {
					t.Error(err)
					return
				}
				for range k {
					select {
					case out <- struct{}{}:
					default:
						t.Error("more permits are out than there are")
					}
				}
				for range k {
					<-out
				}
				if err := s.Release(ctx, k); err != nil {
					t.Error(err)
				}
			}
		})
		is(t, int64(permits))(clients[0].Semaphore("x").AvailablePermits(ctx))
		for _, key := range rdb.Keys(ctx, "*").Val() {
			if ttl := rdb.PTTL(ctx, key).Val(); key != "x" && ttl < 0 {
				t.Errorf("key %s has no end", key)
			}
		}
		if n := len(rdb.Keys(ctx, "*").Val()); n > 1+12 {
			t.Errorf("%d keys", n)
		}
	})
}
