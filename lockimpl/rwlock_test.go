package lockimpl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/model"
)

const rwChannel = "redisson_rwlock:{x}"

// Random calls, one after the other, answer what the sequential specification allows.
func TestReadWriteLockKeepsToItsModel(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		drawn(t, rdb, g, func(t *rapid.T, clients []*lockimpl.Client) {
			spec, state := model.RWLock{Redisson: g != lockimpl.Hardened, LastReader: g != lockimpl.Hardened}, model.RWState{}
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				c := clients[rapid.IntRange(0, 1).Draw(t, "client")]
				l, o := c.ReadWriteLock("x"), c.Owner(int64(rapid.IntRange(1, 2).Draw(t, "thread")))
				lease := rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Hour}).Draw(t, "lease")
				var opts []lockimpl.Option
				if lease > 0 {
					opts = append(opts, lockimpl.Lease(lease))
				}
				var op history.Op
				var err error
				kind := rapid.SampledFrom([]history.Kind{history.TryRead, history.TryRead, history.ReadUnlock, history.ReadUnlock, history.TryWrite,
					history.TryWrite, history.WriteUnlock, history.WriteUnlock, history.ReadCount, history.WriteCount, "delete"}).Draw(t, "op")
				half, tries, unlocks, counts := l.ReadLock(), history.TryRead, history.ReadUnlock, history.ReadCount
				if strings.HasPrefix(strings.ToLower(string(kind)), "write") || kind == history.TryWrite {
					half, tries, unlocks, counts = l.WriteLock(), history.TryWrite, history.WriteUnlock, history.WriteCount
				}
				switch kind {
				case tries:
					var ok bool
					ok, err = half.TryLock(ctx, o, opts...)
					out := either(ok, history.Acquired, history.Busy)
					if errors.Is(err, lockimpl.ErrUpgrade) {
						err, out = nil, history.Rejected
					}
					op = asked(kind, o, 0, out)
				case unlocks:
					var released bool
					released, err = half.Unlock(ctx, o)
					out := either(released, history.Released, history.Decremented)
					if errors.Is(err, lockimpl.ErrNotHeld) {
						err, out = nil, history.NotHeld
					}
					op = asked(kind, o, 0, out)
				case counts:
					var count int64
					count, err = half.HoldCount(ctx, o)
					op = asked(kind, o, count, history.OK)
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
				readers, writers := false, false
				for _, h := range state.Holds() {
					readers, writers = readers || !h.Write, writers || h.Write
				}
				if locked, err := l.ReadLock().IsLocked(ctx); err != nil || locked != readers {
					t.Fatalf("it is read: %v, %v; the model: %v", locked, err, state)
				}
				if locked, err := l.WriteLock().IsLocked(ctx); err != nil || locked != writers {
					t.Fatalf("it is written: %v, %v; the model: %v", locked, err, state)
				}
			}
		})
	})
}

// What is on the server, to the letter, as other implementations see it.
func TestReadWriteLockWireFormat(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		c := w.client("a")
		o := c.Owner(1)
		for name, tag := range map[string]string{"x": "{x}", "a{b}c": "a{b}c"} {
			l := c.ReadWriteLock(name)
			var heard []string
			sub := w.admin.Subscribe(ctx, "redisson_rwlock:"+tag)
			messages := sub.Channel()
			synctest.Wait()
			must(t, l.WriteLock().Lock(ctx, o))
			must(t, l.ReadLock().Lock(ctx, o))
			must(t, l.ReadLock().Lock(ctx, o))
			hash := w.admin.HGetAll(ctx, name).Val()
			if w.generation == lockimpl.Hardened {
				if hash["mode"] != "holdfast" { // which others wait for to end
					t.Fatal(hash)
				}
			} else if len(hash) != 3 || hash["mode"] != "write" || hash[string(o)] != "2" || hash[string(o)+":write"] != "1" ||
				w.admin.Exists(ctx, tag+":"+string(o)+":rwlock_timeout:1", tag+":"+string(o)+":rwlock_timeout:2").Val() != 2 {
				t.Fatal(hash, w.server.Keys())
			}
			is(t, true)(l.WriteLock().Unlock(ctx, o)) // a downgrade
			is(t, false)(l.ReadLock().Unlock(ctx, o))
			is(t, true)(l.ReadLock().Unlock(ctx, o))
			must(t, l.WriteLock().Lock(ctx, o))
			is(t, true)(l.WriteLock().Unlock(ctx, o))
			synctest.Wait()
			for len(messages) > 0 {
				heard = append(heard, (<-messages).Payload)
			}
			want := "0 1" // redisson tells nobody of the downgrade
			if w.generation == lockimpl.Hardened {
				want = "1 0 1"
			}
			if got := strings.Join(heard, " "); got != want {
				t.Errorf("published %s, want %s", got, want)
			}
			must(t, sub.Close())
			is(t, int64(0))(w.admin.Exists(ctx, name).Result())
		}
		w.atRest(rwChannel)
	})
}

func TestReadersShareAndWritersDoNot(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		la, lb := a.ReadWriteLock("x"), b.ReadWriteLock("x")
		must(t, la.ReadLock().Lock(ctx, a.Owner(1)))
		must(t, lb.ReadLock().Lock(ctx, b.Owner(1)))
		is(t, false)(lb.WriteLock().TryLock(ctx, b.Owner(2)))
		writer := soon(func() error { return lb.WriteLock().Lock(ctx, b.Owner(2)) })
		time.Sleep(time.Minute) // they are renewed
		must(t, errOf(la.ReadLock().Unlock(ctx, a.Owner(1))))
		pending(t, writer)
		is(t, true)(lb.ReadLock().Unlock(ctx, b.Owner(1)))
		synctest.Wait()
		must(t, <-writer)
		var readers []<-chan error
		for i := range 5 {
			readers = append(readers, soon(func() error { return la.ReadLock().Lock(ctx, a.Owner(int64(i))) }))
		}
		time.Sleep(time.Minute)
		for _, r := range readers {
			pending(t, r)
		}
		is(t, true)(lb.WriteLock().Unlock(ctx, b.Owner(2)))
		synctest.Wait()
		for _, r := range readers {
			if len(r) != 1 {
				t.Fatal("a reader was not woken")
			}
		}
		if _, err := lb.ReadLock().Unlock(ctx, b.Owner(1)); !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
		for i := range 5 {
			must(t, errOf(la.ReadLock().Unlock(ctx, a.Owner(int64(i)))))
		}
		w.atRest(rwChannel)
	})
}

// Two writers at once without any fault, in redisson (4.7.0; verified there).
func TestAReadUnlockOfAWriter(t *testing.T) {
	t.Run("cuts its lease", func(t *testing.T) {
		eachForm(t, func(t *testing.T, w *world) {
			a, b := w.client("a"), w.client("b")
			l, o := a.ReadWriteLock("x"), a.Owner(1)
			must(t, l.WriteLock().Lock(ctx, o, lockimpl.Lease(time.Minute)))
			must(t, l.ReadLock().Lock(ctx, o, lockimpl.Lease(5*time.Second)))
			must(t, l.ReadLock().Lock(ctx, o, lockimpl.Lease(5*time.Second)))
			is(t, false)(l.ReadLock().Unlock(ctx, o))
			time.Sleep(6 * time.Second)
			two, err := b.ReadWriteLock("x").WriteLock().TryLock(ctx, b.Owner(1))
			if must(t, err); two != (w.generation != lockimpl.Hardened) {
				t.Errorf("another writes: %v", two)
			}
		})
	})
	t.Run("ends its watchdog", func(t *testing.T) {
		eachForm(t, func(t *testing.T, w *world) {
			a, b := w.client("a"), w.client("b")
			l, o := a.ReadWriteLock("x"), a.Owner(1)
			must(t, l.WriteLock().Lock(ctx, o))
			must(t, l.ReadLock().Lock(ctx, o))
			must(t, errOf(l.ReadLock().Unlock(ctx, o)))
			time.Sleep(time.Minute)
			two, err := b.ReadWriteLock("x").WriteLock().TryLock(ctx, b.Owner(1))
			if must(t, err); two != (w.generation != lockimpl.Hardened) {
				t.Errorf("another writes: %v", two)
			}
		})
	})
}

// Of two read holds, the shorter lease must not outlive the longer, nor the other way round.
func TestEachReadHoldHasALease(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, o := a.ReadWriteLock("x"), a.Owner(1)
		must(t, l.ReadLock().Lock(ctx, o, lockimpl.Lease(time.Second)))
		must(t, l.ReadLock().Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		time.Sleep(2 * time.Second)
		released, err := l.ReadLock().Unlock(ctx, o)
		must(t, err)
		if w.generation == lockimpl.Hardened { // one hold is left, under the lease that it asked for
			is(t, false)(released, nil)
			is(t, int64(1))(l.ReadLock().HoldCount(ctx, o))
		}
		// A reader whose lease is over, while others read on.
		must(t, b.ReadWriteLock("x").ReadLock().Lock(ctx, b.Owner(1)))
		must(t, l.ReadLock().Lock(ctx, a.Owner(2), lockimpl.Lease(time.Second)))
		time.Sleep(time.Minute)
		held, err := l.ReadLock().IsHeldBy(ctx, a.Owner(2))
		if must(t, err); held != (w.generation != lockimpl.Hardened) {
			t.Errorf("a reader whose lease is over is held: %v", held)
		}
		_, err = l.ReadLock().Unlock(ctx, a.Owner(2))
		if told := errors.Is(err, lockimpl.ErrNotHeld); told != (w.generation == lockimpl.Hardened) {
			t.Errorf("it is told: %v", err)
		}
	})
}

func TestADowngradeLetsReadersIn(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, o := a.ReadWriteLock("x"), a.Owner(1)
		must(t, l.WriteLock().Lock(ctx, o))
		must(t, l.ReadLock().Lock(ctx, o))
		reader := soon(func() error { return b.ReadWriteLock("x").ReadLock().Lock(ctx, b.Owner(1)) })
		time.Sleep(time.Second)
		is(t, true)(l.WriteLock().Unlock(ctx, o))
		synctest.Wait()
		if in := len(reader) == 1; in != (w.generation == lockimpl.Hardened) {
			t.Errorf("the reader is in: %v", in)
		}
		must(t, <-reader)
		is(t, true)(l.ReadLock().IsHeldBy(ctx, o))
	})
}

func TestAReaderCannotBecomeAWriter(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.ReadWriteLock("x"), c.Owner(1)
		must(t, l.ReadLock().Lock(ctx, o))
		if w.generation == lockimpl.Hardened {
			refused(t, l.WriteLock().Lock(ctx, o), lockimpl.ErrUpgrade)
			refused(t, errOf(l.WriteLock().TryLock(ctx, o, lockimpl.Wait(time.Hour))), lockimpl.ErrUpgrade)
		} else {
			is(t, false)(l.WriteLock().TryLock(ctx, o, lockimpl.Wait(time.Hour))) // it waits for itself
		}
		is(t, true)(l.ReadLock().Unlock(ctx, o))
		must(t, l.WriteLock().Lock(ctx, o))
		must(t, l.ReadLock().Lock(ctx, o)) // the other way round
		is(t, int64(1))(l.WriteLock().HoldCount(ctx, o))
		is(t, int64(1))(l.ReadLock().HoldCount(ctx, o))
	})
}

func TestReadWriteLockResent(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		c := w.primed("a")
		l, o := c.ReadWriteLock("x"), c.Owner(1)
		want := int64(2)
		if w.generation == lockimpl.Hardened {
			want = 1
		}
		for _, half := range []*lockimpl.HalfLock{l.ReadLock(), l.WriteLock()} {
			must(t, half.Lock(ctx, o))
			is(t, true)(half.Unlock(ctx, o)) // the scripts are known
			w.fates("a", isLost)
			must(t, half.Lock(ctx, o, lockimpl.Lease(time.Minute)))
			is(t, want)(half.HoldCount(ctx, o))
			if ttl, err := half.RemainingTTL(ctx); err != nil || (ttl > time.Minute) != (want == 2 && half == l.WriteLock()) {
				t.Errorf("%v, %v", ttl, err)
			}
			w.fates("a", isLost)
			must(t, errOf(half.Unlock(ctx, o)))
			is(t, want-1)(half.HoldCount(ctx, o))
			must(t, w.admin.FlushAll(ctx).Err())
		}
	})
}

// Clients of the two forms exclude each other, readers included, and wait as long as the key lasts.
func TestFormsOfAReadWriteLockExcludeEachOther(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		h, f := w.client("h"), w.client("f", func(o *lockimpl.Options) { o.Generation = lockimpl.Latch })
		of := func(c *lockimpl.Client) []*lockimpl.HalfLock {
			return []*lockimpl.HalfLock{c.ReadWriteLock("x").ReadLock(), c.ReadWriteLock("x").WriteLock()}
		}
		for _, pair := range [][2]*lockimpl.Client{{h, f}, {f, h}} {
			for _, one := range of(pair[0]) {
				for _, other := range of(pair[1]) {
					must(t, one.Lock(ctx, pair[0].Owner(1), lockimpl.Lease(10*time.Second)))
					is(t, false)(other.TryLock(ctx, pair[1].Owner(1)))
					if _, err := other.Unlock(ctx, pair[1].Owner(1)); !errors.Is(err, lockimpl.ErrNotHeld) {
						t.Fatal(err)
					}
					is(t, false)(other.ForceUnlock(ctx))
					is(t, true)(one.IsHeldBy(ctx, pair[0].Owner(1)))
					is(t, true)(other.TryLock(ctx, pair[1].Owner(1), lockimpl.Wait(20*time.Second)))
					is(t, true)(other.Unlock(ctx, pair[1].Owner(1)))
				}
			}
		}
	})
}

func TestHardenedReadWriteLockTellsOfLosses(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		c := w.client("a")
		l, o := c.ReadWriteLock("x"), c.Owner(1)
		var last int64
		for _, half := range []*lockimpl.HalfLock{l.ReadLock(), l.WriteLock()} {
			must(t, half.Lock(ctx, o))
			if token, ok := half.Token(o); !ok || token <= last {
				t.Errorf("token %d after %d", token, last)
			} else {
				last = token
			}
			work, cancel := half.HoldContext(ctx, o)
			time.Sleep(time.Hour)
			if work.Err() != nil {
				t.Fatal("lost")
			}
			is(t, true)(half.ForceUnlock(ctx))
			synctest.Wait()
			if !errors.Is(context.Cause(work), lockimpl.ErrLost) {
				t.Errorf("got %v", context.Cause(work))
			}
			cancel()
			is(t, false)(half.IsLocked(ctx))
		}
		must(t, l.WriteLock().Lock(ctx, o, lockimpl.Lease(time.Second)))
		must(t, l.ReadLock().Lock(ctx, o))
		time.Sleep(time.Second)
		select {
		case <-l.WriteLock().Lost(o):
		default:
			t.Error("not told")
		}
		is(t, false)(l.WriteLock().IsHeldBy(ctx, o)) // its lease ends alone
		is(t, true)(l.ReadLock().IsHeldBy(ctx, o))
		must(t, c.Close())
		w.atRest(rwChannel, "x")
	})
}

func TestReadWriteLockCancellationAtAnyMoment(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a"), w.primed("b")
		la, lb := a.ReadWriteLock("x"), b.ReadWriteLock("x")
		for _, half := range []*lockimpl.HalfLock{lb.ReadLock(), lb.WriteLock()} {
			must(t, half.Lock(ctx, b.Owner(1)))
			is(t, true)(half.Unlock(ctx, b.Owner(1)))
			always := make([]fate, 1000)
			for i := range always {
				always[i] = isLate
			}
			w.fates("b", always...)
			acquired := 0
			for at := time.Duration(0); at <= 4*lateBy; at += lateBy / 10 {
				must(t, la.WriteLock().Lock(ctx, a.Owner(1)))
				time.AfterFunc(2*lateBy+lateBy/2, func() { la.WriteLock().Unlock(ctx, a.Owner(1)) })
				short, cancel := context.WithTimeout(ctx, at)
				switch err := half.Lock(short, b.Owner(1)); {
				case err == nil:
					acquired++
					must(t, errOf(half.Unlock(ctx, b.Owner(1))))
				case !errors.Is(err, context.DeadlineExceeded):
					t.Fatal(err)
				}
				cancel()
				time.Sleep(10 * lateBy)
				is(t, int64(0))(w.admin.Exists(ctx, "x").Result())
				w.atRest(rwChannel)
			}
			if acquired == 0 || acquired > 15 {
				t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
			}
		}
	})
}

// Many strands of two clients on real servers: never a writer beside anybody.
func TestReadWriteLockExcludes(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		must(t, rdb.FlushAll(ctx).Err())
		var clients []*lockimpl.Client
		for range 2 {
			c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
			must(t, err)
			defer c.Close()
			clients = append(clients, c)
		}
		readers, writer := make(chan struct{}, 100), make(chan struct{}, 1)
		each(8, func(i int) {
			c := clients[i%2]
			o := c.Owner(int64(i))
			for j := range 30 {
				half, in := c.ReadWriteLock("x").ReadLock(), readers
				if (i+j)%3 == 0 {
					half, in = c.ReadWriteLock("x").WriteLock(), writer
				}
				if err := half.Lock(ctx, o); err != nil {
					t.Error(err)
					return
				}
				in <- struct{}{}
				if len(writer) > 0 && len(readers) > 0 || len(writer) > 1 {
					t.Errorf("%d readers, %d writers", len(readers), len(writer))
				}
				<-in
				if _, err := half.Unlock(ctx, o); err != nil {
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

func TestReadWriteLockRefusesBadArguments(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		open, closed := w.client("open"), w.client("closed")
		must(t, closed.Close())
		for _, call := range []func(h *lockimpl.HalfLock, o lockimpl.Owner) error{
			func(h *lockimpl.HalfLock, o lockimpl.Owner) error { return h.Lock(ctx, o) },
			func(h *lockimpl.HalfLock, o lockimpl.Owner) error { return errOf(h.TryLock(ctx, o)) },
			func(h *lockimpl.HalfLock, o lockimpl.Owner) error { return errOf(h.Unlock(ctx, o)) },
			func(h *lockimpl.HalfLock, o lockimpl.Owner) error { return errOf(h.IsHeldBy(ctx, o)) },
			func(h *lockimpl.HalfLock, o lockimpl.Owner) error { return errOf(h.HoldCount(ctx, o)) },
		} {
			for _, half := range []func(l *lockimpl.ReadWriteLock) *lockimpl.HalfLock{(*lockimpl.ReadWriteLock).ReadLock, (*lockimpl.ReadWriteLock).WriteLock} {
				refused(t, call(half(open.ReadWriteLock("a{b")), "o:1"), lockimpl.ErrBadName)
				refused(t, call(half(closed.ReadWriteLock("x")), "o:1"), lockimpl.ErrClosed)
				refused(t, call(half(open.ReadWriteLock("x")), ""), lockimpl.ErrBadOwner)
			}
		}
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Errorf("keys written: %q", keys)
		}
	})
}
