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

// Random calls, one after the other, answer what the sequential specification allows.
func TestPermitExpirableSemaphoreKeepsToItsModel(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client, g lockimpl.Generation) {
		drawn(t, rdb, g, func(t *rapid.T, clients []*lockimpl.Client) {
			spec, state := model.Permits{Redisson: g != lockimpl.Hardened}, model.PermitsState{}
			permits := []lockimpl.Permit{"", "00", "0123456789abcdef0123456789abcdef", "total"} // by number; these are nobody's
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				s := clients[rapid.IntRange(0, 1).Draw(t, "client")].PermitExpirableSemaphore("x")
				k := int64(rapid.IntRange(0, 3).Draw(t, "permits"))
				lease := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "lease")
				which := rapid.IntRange(1, 8).Draw(t, "which") % len(permits)
				which = max(which, 1)
				var opts []lockimpl.Option
				if lease > 0 {
					opts = append(opts, lockimpl.Lease(lease))
				}
				var op history.Op
				var err error
				switch kind := rapid.SampledFrom([]history.Kind{history.TrySetTotal, history.AddTotal, history.TryAcquirePermit,
					history.TryAcquirePermit, history.ReleasePermit, history.ReleasePermit, history.UpdateLease, history.AvailablePermits,
					"delete"}).Draw(t, "op"); kind {
				case history.TrySetTotal:
					var ok bool
					ok, err = s.TrySetPermits(ctx, k)
					op = asked(kind, "", k, either(ok, history.OK, history.Rejected))
				case history.AddTotal:
					k--
					err = s.AddPermits(ctx, k)
					op = asked(kind, "", k, history.OK)
				case history.TryAcquirePermit:
					var permit lockimpl.Permit
					var ok bool
					permit, ok, err = s.TryAcquire(ctx, opts...)
					op = asked(kind, "", 1, either(ok, history.Acquired, history.Busy))
					if ok {
						op.Token = int64(len(permits))
						permits = append(permits, permit)
					}
				case history.ReleasePermit, history.UpdateLease:
					if kind == history.ReleasePermit {
						err = s.Release(ctx, permits[which])
					} else {
						err = s.UpdateLease(ctx, permits[which], opts...)
					}
					op = asked(kind, "", 1, either(!errors.Is(err, lockimpl.ErrNotHeld), history.OK, history.NotHeld))
					op.Token = int64(which)
					if errors.Is(err, lockimpl.ErrNotHeld) {
						err = nil
					}
				case history.AvailablePermits:
					k, err = s.AvailablePermits(ctx)
					op = asked(kind, "", k, history.OK)
				default:
					err = rdb.Del(ctx, "x", "{x}:timeout").Err()
					state, _ = spec.Environment(state, history.Event{Kind: history.Delete})
				}
				op.Lease = lease
				if err == nil {
					state, err = spec.Step(state, op)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// What is on the server, to the letter, as other implementations see it.
func TestPermitExpirableSemaphoreWireFormat(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		s := w.client("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 3))
		one, err := s.Acquire(ctx, lockimpl.Lease(time.Minute))
		must(t, err)
		two, err := s.Acquire(ctx)
		must(t, err)
		if len(one) != 32 || one == two {
			t.Error(one, two)
		}
		if w.generation == lockimpl.Hardened {
			is(t, "zset")(w.admin.Type(ctx, "x").Result()) // which Redisson's scripts refuse
			is(t, int64(3))(w.admin.ZCard(ctx, "x").Result())
		} else {
			is(t, "1")(w.admin.Get(ctx, "x").Result())
			deadlines := w.admin.ZRangeWithScores(ctx, "{x}:timeout", 0, -1).Val()
			if len(deadlines) != 2 || len(deadlines[0].Member.(string)) != 16 || deadlines[0].Score != float64(time.Now().Add(time.Minute).UnixMilli()) ||
				deadlines[1].Score != 922337203685477 {
				t.Error(deadlines)
			}
		}
		must(t, s.Release(ctx, one))
		refused(t, s.Release(ctx, one), lockimpl.ErrNotHeld)
		must(t, s.UpdateLease(ctx, two, lockimpl.Lease(time.Second)))
		is(t, int64(2))(s.AvailablePermits(ctx))
		time.Sleep(time.Second)
		is(t, int64(3))(s.AvailablePermits(ctx))
		refused(t, s.Release(ctx, two), lockimpl.ErrNotHeld) // a late holder is told
		refused(t, s.UpdateLease(ctx, two), lockimpl.ErrNotHeld)
		w.atRest(semaphoreChannel, "x")
	})
}

func TestPermitExpirableSemaphoreWaits(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.client("a").PermitExpirableSemaphore("x"), w.client("b").PermitExpirableSemaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 1))
		_, err := a.Acquire(ctx, lockimpl.Lease(10*time.Second))
		must(t, err)
		start := time.Now()
		if _, ok, err := b.TryAcquire(ctx, lockimpl.Wait(time.Second)); ok || err != nil || time.Since(start) != time.Second {
			t.Error(ok, err, time.Since(start))
		}
		permit, err := b.Acquire(ctx) // when the lease is over
		if must(t, err); time.Since(start) > 11*time.Second {
			t.Errorf("after %v", time.Since(start))
		}
		got := soon(func() error { return errOf(a.Acquire(ctx)) })
		pending(t, got)
		must(t, b.Release(ctx, permit))
		synctest.Wait()
		if len(got) != 1 {
			t.Error("not woken")
		}
		<-got
		w.atRest(semaphoreChannel, "x", "{x}:timeout")
	})
}

// What redisson loses, or gives twice (4.7.0; verified there).
func TestPermitExpirableSemaphoreFaults(t *testing.T) {
	fresh := func(t *testing.T, w *world) *lockimpl.PermitExpirableSemaphore {
		s := w.primed("a").PermitExpirableSemaphore("x")
		is(t, true)(s.TrySetPermits(ctx, 10))
		permit, err := s.Acquire(ctx, lockimpl.Lease(time.Minute))
		must(t, err)
		must(t, s.Release(ctx, permit)) // the scripts are known
		return s
	}
	t.Run("an acquire is sent again", func(t *testing.T) {
		eachForm(t, func(t *testing.T, w *world) {
			s := fresh(t, w)
			w.fates("a", isLost)
			permit, err := s.Acquire(ctx)
			must(t, err)
			must(t, s.Release(ctx, permit))
			want := int64(10)
			if w.generation != lockimpl.Hardened {
				want = 9 // for ever
			}
			is(t, want)(s.AvailablePermits(ctx))
		})
	})
	t.Run("a release is sent again", func(t *testing.T) {
		eachForm(t, func(t *testing.T, w *world) {
			s := fresh(t, w)
			permit, err := s.Acquire(ctx)
			must(t, err)
			w.fates("a", isLost)
			err = s.Release(ctx, permit)
			if w.generation == lockimpl.Hardened {
				must(t, err)
			} else {
				refused(t, err, lockimpl.ErrNotHeld)
			}
			is(t, int64(10))(s.AvailablePermits(ctx))
		})
	})
	t.Run("an acquire is lost", func(t *testing.T) {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			s := fresh(t, w)
			w.fates("a", isLost, isLost, isLost, isLost)
			if err := errOf(s.Acquire(ctx)); !lockimpl.OutcomeUnknown(err) {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			is(t, int64(10))(s.AvailablePermits(ctx))
			w.atRest(semaphoreChannel, "x")
		})
	})
	t.Run("the counter is evicted", func(t *testing.T) {
		eachForm(t, func(t *testing.T, w *world) {
			s := w.client("a").PermitExpirableSemaphore("x")
			is(t, true)(s.TrySetPermits(ctx, 2))
			for range 2 {
				must(t, errOf(s.Acquire(ctx, lockimpl.Lease(time.Minute))))
			}
			must(t, w.admin.Del(ctx, "x").Err())
			is(t, true)(s.TrySetPermits(ctx, 2))
			time.Sleep(time.Minute)
			want := int64(2)
			if w.generation != lockimpl.Hardened {
				want = 4
			}
			is(t, want)(s.AvailablePermits(ctx))
		})
	})
}

func TestPermitExpirableSemaphoreCancellationAtAnyMoment(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		a, b := w.primed("a").PermitExpirableSemaphore("x"), w.primed("b").PermitExpirableSemaphore("x")
		is(t, true)(a.TrySetPermits(ctx, 1))
		permit, err := b.Acquire(ctx)
		must(t, err)
		must(t, b.Release(ctx, permit)) // the scripts are known
		always := make([]fate, 1000)
		for i := range always {
			always[i] = isLate
		}
		w.fates("b", always...)
		acquired := 0
		for at := time.Duration(0); at <= 4*lateBy; at += lateBy / 10 {
			permit, err := a.Acquire(ctx)
			must(t, err)
			time.AfterFunc(2*lateBy+lateBy/2, func() { a.Release(ctx, permit) })
			short, cancel := context.WithTimeout(ctx, at)
			switch permit, err := b.Acquire(short); {
			case err == nil:
				acquired++
				must(t, a.Release(ctx, permit))
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			is(t, int64(1))(a.AvailablePermits(ctx))
			w.atRest(semaphoreChannel, "x", "{x}:timeout")
		}
		if acquired == 0 || acquired > 15 {
			t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
		}
	})
}

func TestPermitExpirableSemaphoreRefusesBadArguments(t *testing.T) {
	eachForm(t, func(t *testing.T, w *world) {
		open, closed := w.client("open"), w.client("closed")
		must(t, closed.Close())
		for _, call := range []func(s *lockimpl.PermitExpirableSemaphore) error{
			func(s *lockimpl.PermitExpirableSemaphore) error { return errOf(s.TrySetPermits(ctx, 1)) },
			func(s *lockimpl.PermitExpirableSemaphore) error { return s.AddPermits(ctx, 1) },
			func(s *lockimpl.PermitExpirableSemaphore) error { return errOf(s.Acquire(ctx)) },
			func(s *lockimpl.PermitExpirableSemaphore) error { _, _, err := s.TryAcquire(ctx); return err },
			func(s *lockimpl.PermitExpirableSemaphore) error { return s.Release(ctx, "00") },
			func(s *lockimpl.PermitExpirableSemaphore) error { return s.UpdateLease(ctx, "00") },
			func(s *lockimpl.PermitExpirableSemaphore) error { return errOf(s.AvailablePermits(ctx)) },
		} {
			refused(t, call(open.PermitExpirableSemaphore("a{b")), lockimpl.ErrBadName)
			refused(t, call(closed.PermitExpirableSemaphore("x")), lockimpl.ErrClosed)
		}
		s := open.PermitExpirableSemaphore("x")
		refused(t, errOf(s.TrySetPermits(ctx, -1)), lockimpl.ErrBadPermits)
		refused(t, s.AddPermits(ctx, lockimpl.MaxPermits+1), lockimpl.ErrBadPermits)
		refused(t, errOf(s.Acquire(ctx, lockimpl.Lease(0))), lockimpl.ErrBadLease)
		refused(t, errOf(s.Acquire(ctx, lockimpl.Wait(0))), lockimpl.ErrBadOption)
		if w.generation != lockimpl.Hardened {
			refused(t, s.Release(ctx, "00", lockimpl.RequestID("1")), lockimpl.ErrGeneration)
		}
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Errorf("keys written: %q", keys)
		}
	})
}
