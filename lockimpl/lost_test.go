package lockimpl_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestLostBeforeTheServerCanGiveTheLockAway(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		work, cancel := l.HoldContext(ctx, o)
		defer cancel()
		time.Sleep(65 * time.Second)
		if isClosed(lost) {
			t.Fatal("lost while renewed")
		}
		w.cut("a")
		cut := time.Now()
		<-lost
		if held := time.Since(cut); held > 25*time.Second || held < 20*time.Second {
			t.Fatalf("lost %v after the last contact", held)
		}
		if !w.server.Exists("x") {
			t.Fatal("the server gave the lock away before its holder was told")
		}
		<-work.Done()
		if !errors.Is(context.Cause(work), lockimpl.ErrLost) {
			t.Fatal(context.Cause(work))
		}
		time.Sleep(lockimpl.Margin(30 * time.Second))
		if w.server.Exists("x") {
			t.Fatal("told much too early")
		}
	})
}

func TestLostAtOnceWhenReleasedByForce(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		synctest.Wait()
		is(t, true)(b.Lock("x").ForceUnlock(ctx))
		if !isClosed(lost) {
			t.Fatal("not told")
		}
		if _, err := l.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) {
			t.Fatal(err)
		}
	})
}

func TestLostWhenARenewalIsRefused(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		w.server.Del("x")
		start := time.Now()
		<-lost
		if d := time.Since(start); d > 11*time.Second {
			t.Fatal(d)
		}
	})
}

// A renewal is refused while another request of its owner is under way, whose answer says nothing of the hold.
func TestLostWhenAReentryIsRefused(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		w.server.Del("x")
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		is(t, false)(l.TryLock(ctx, o))
		if !isClosed(lost) {
			t.Fatal("not told")
		}
		is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
		is(t, true)(l.TryLock(ctx, o))
		if _, err := l.Unlock(ctx, o); err != nil {
			t.Fatal(err)
		}
		if w.server.Exists("x") {
			t.Fatal("the hold that was lost is counted")
		}
	})
}

func TestLostWhenARenewalIsRefusedDuringACall(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		start := time.Now()
		time.Sleep(9800 * time.Millisecond)
		w.server.Del("x")
		must(t, w.server.Set("x", "another program's"))
		w.fates("a", isLate)
		if ok, err := l.TryLock(ctx, o); ok || err == nil {
			t.Fatal(ok, err)
		}
		<-lost
		if d := time.Since(start); d > 11*time.Second {
			t.Fatal(d)
		}
	})
}

func TestLostAtTheEndOfAnExplicitLease(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		start := time.Now()
		<-l.Lost(o)
		if d := time.Since(start); d != 10*time.Second-lockimpl.Margin(10*time.Second) {
			t.Fatal(d)
		}
		is(t, true)(l.Unlock(ctx, o)) // there was a margin
	})
}

func TestUnlockIsNoLoss(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, l.Lock(ctx, o))
		lost := l.Lost(o)
		work, cancel := l.HoldContext(ctx, o)
		defer cancel()
		time.Sleep(time.Minute)
		is(t, false)(l.Unlock(ctx, o))
		if work.Err() != nil {
			t.Fatal("ended with the inner hold")
		}
		is(t, true)(l.Unlock(ctx, o))
		if isClosed(lost) {
			t.Fatal("told of a loss")
		}
		if work.Err() == nil || errors.Is(context.Cause(work), lockimpl.ErrLost) {
			t.Fatal(context.Cause(work))
		}
		if !isClosed(l.Lost(o)) {
			t.Fatal("nothing is held")
		}
		time.Sleep(3 * time.Second)
		if n := w.subscribers("x"); n != 0 {
			t.Fatalf("%d subscriptions left", n)
		}
	})
}

// A hold that was called lost may be unlocked while the server still has it. What remains then has
// its own lease, not the watchdog's.
func TestUnlockAfterALossSetsTheLeaseOfTheHoldThatRemains(t *testing.T) {
	unlocks := map[string]func(t *testing.T, l *lockimpl.RLock, o lockimpl.Owner) bool{
		"lock": func(t *testing.T, l *lockimpl.RLock, o lockimpl.Owner) bool {
			released, err := l.Unlock(ctx, o)
			must(t, err)
			return released
		},
		"multi": func(t *testing.T, l *lockimpl.RLock, o lockimpl.Owner) bool {
			is(t, 1)(multi(t, l).Unlock(ctx, o))
			held, err := l.IsHeldBy(ctx, o)
			must(t, err)
			return !held
		},
	}
	for name, unlock := range unlocks {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				a := w.client("a")
				l, o := a.Lock("x"), a.Owner(1)
				for _, lease := range []time.Duration{4 * time.Second, 7 * time.Second, 10 * time.Second} {
					must(t, l.Lock(ctx, o, lockimpl.Lease(lease)))
				}
				<-l.Lost(o) // the key lives on for the margin
				for _, left := range []time.Duration{7 * time.Second, 4 * time.Second} {
					if unlock(t, l, o) {
						t.Fatal("released too early")
					}
					is(t, left)(l.RemainingTTL(ctx))
					if _, ok := l.Token(o); ok || !isClosed(l.Lost(o)) {
						t.Fatal("held again")
					}
				}
				if !unlock(t, l, o) {
					t.Fatal("not released")
				}
				is(t, true)(l.TryLock(ctx, a.Owner(2)))
			})
		})
	}
}

// An unlock that failed, before the loss or after it, leaves the server more holds than the owner gives back after it: the last unlock of
// the owner must leave nothing.
func TestNothingIsLeftOfALostHoldOfWhichAnUnlockFailed(t *testing.T) {
	for name, lostFirst := range map[string]bool{"before the loss": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				a := w.client("a")
				l, o := a.Lock("x"), a.Owner(1)
				for range 2 {
					must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
				}
				if lostFirst {
					<-l.Lost(o)
				}
				w.fates("a", slices.Repeat([]fate{isRefusal}, 100)...)
				if _, err := l.Unlock(ctx, o); err == nil {
					t.Fatal("the server is busy")
				}
				<-l.Lost(o) // the key lives on for the margin
				w.fates("a")
				w.server.SetError("")
				if _, err := l.Unlock(ctx, o); !errors.Is(err, lockimpl.ErrNotHeld) {
					t.Errorf("unlock: %v", err)
				}
				if w.server.Exists("x") {
					t.Errorf("the lock has a lease of %v", w.server.TTL("x"))
				}
			})
		})
	}
}

func TestLockAfterALossIsANewGrant(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		must(t, l.Lock(ctx, o, lockimpl.Lease(10*time.Second)))
		first, _ := l.Token(o)
		<-l.Lost(o) // the key lives on for the margin
		must(t, l.Lock(ctx, o))
		is(t, int64(1))(l.HoldCount(ctx, o))
		if second, ok := l.Token(o); !ok || second <= first {
			t.Fatalf("token %d after %d", second, first)
		}
		is(t, true)(l.Unlock(ctx, o))
	})
}

func TestTokensRiseByGrant(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l := a.Lock("x")
		last := int64(0)
		for i := range 20 {
			o := a.Owner(int64(i % 3))
			must(t, l.Lock(ctx, o))
			token, ok := l.Token(o)
			if !ok || token <= last {
				t.Fatalf("token %d after %d", token, last)
			}
			last = token
			must(t, l.Lock(ctx, o))
			if again, _ := l.Token(o); again != token {
				t.Fatalf("re-entry changed the token from %d to %d", token, again)
			}
			is(t, false)(l.Unlock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			if i == 10 {
				w.server.FlushAll() // the counter is lost, the clock is not
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestFaithfulGenerationsDoNotTell(t *testing.T) {
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		if l.Lost(o) != nil {
			t.Fatal("a channel")
		}
	})
}

// A partial unlock sets the lease of the hold that remains, which may be shorter than the one that was watched.
func TestLostFollowsTheLeaseThatAPartialUnlockSets(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(5*time.Second)))
		must(t, l.Lock(ctx, o, lockimpl.Lease(time.Minute)))
		lost := l.Lost(o)
		is(t, false)(l.Unlock(ctx, o))
		start := time.Now()
		<-lost
		if d := time.Since(start); d != 5*time.Second-lockimpl.Margin(5*time.Second) {
			t.Fatal(d)
		}
	})
}

// Which of two goroutines comes first, the one that opens a second channel or the one that subscribes to the first, is for
// nobody to see.
func TestSubscriptionsDoNotDependOnWhoComesFirst(t *testing.T) {
	written := map[bool][][]byte{}
	for _, waits := range []bool{false, true} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			c := w.client("a")
			owner := c.Owner(1)
			for _, name := range []string{"x", "y"} {
				must(t, c.Lock(name).Lock(ctx, owner))
			}
			w.mu.Lock()
			w.judge["a"] = func(command []byte) fate {
				if bytes.Contains(command, []byte("subscribe")) {
					written[waits] = append(written[waits], bytes.Clone(command))
				}
				return arrives
			}
			w.mu.Unlock()
			c.Lock("y").Lost(owner)
			if waits {
				synctest.Wait()
			}
			c.Lock("x").Lost(owner)
			time.Sleep(time.Second)
		})
	}
	if len(written[true]) != 2 || !slices.EqualFunc(written[true], written[false], bytes.Equal) {
		t.Errorf("%q, and %q if the first goes on at once", written[false], written[true])
	}
}

// A renewal does not shorten either: a hold that was taken for longer than the watchdog's timeout lasts as long as was
// asked for, also when its client dies.
func TestARenewalDoesNotShorten(t *testing.T) {
	for _, watchedFirst := range []bool{false, true} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			a := w.client("a")
			l, o := a.Lock("x"), a.Owner(1)
			first, second := []lockimpl.Option{lockimpl.Lease(time.Minute)}, []lockimpl.Option(nil)
			if watchedFirst {
				first, second = second, first
			}
			must(t, l.Lock(ctx, o, first...))
			must(t, l.Lock(ctx, o, second...))
			lost := l.Lost(o)
			start := time.Now()
			time.Sleep(15 * time.Second) // a renewal was sent
			between(t, 45*time.Second-time.Millisecond, 45*time.Second)(l.RemainingTTL(ctx))
			record := w.server.TTL("holdfast:{x}:" + string(o))
			if record < 45*time.Second+20*time.Second {
				t.Errorf("the record of the last request ends in %v, too soon after the lease", record)
			}
			w.cut("a")
			<-lost
			if d := time.Since(start); d != time.Minute-lockimpl.Margin(time.Minute) {
				t.Errorf("the loss was told after %v", d)
			}
		})
	}
}

// What is left of a longer lease is renewed when it is shorter than the watchdog's timeout.
func TestALongerLeaseIsRenewedWhenItIsNoLongerTheLongest(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(time.Minute)))
		must(t, l.Lock(ctx, o))
		time.Sleep(10*time.Minute + 5*time.Second)
		between(t, 20*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
		select {
		case <-l.Lost(o):
			t.Error("told of a loss")
		default:
		}
		is(t, false)(l.Unlock(ctx, o))
		between(t, time.Minute-time.Millisecond, time.Minute)(l.RemainingTTL(ctx))
		is(t, true)(l.Unlock(ctx, o))
	})
}

// A key whose time to live somebody took away gets one again, or the hold would outlive its dead client for ever.
func TestARenewalGivesAKeyWithoutAnEndOneAgain(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o))
		must(t, w.admin.Persist(ctx, "x").Err())
		time.Sleep(10*time.Second + time.Millisecond)
		between(t, 29*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
	})
}

// An unlock whose answer does not come may have set the lease of the hold that remains: who counts on the longer one of the
// hold that it gives back would be told too late.
func TestLostWhenTheAnswerToAPartialUnlockDoesNotCome(t *testing.T) {
	for name, lock := range map[string]func(*testing.T, *lockimpl.Client) (take func(time.Duration) error, give func() error){
		"one lock": func(_ *testing.T, a *lockimpl.Client) (func(time.Duration) error, func() error) {
			return func(d time.Duration) error { return a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(d)) },
				func() error { _, err := a.Lock("x").Unlock(ctx, a.Owner(1)); return err }
		},
		"several": func(t *testing.T, a *lockimpl.Client) (func(time.Duration) error, func() error) {
			m, err := lockimpl.NewMultiLock(a.Lock("x"), a.Lock("y"))
			must(t, err)
			return func(d time.Duration) error { return m.Lock(ctx, a.Owner(1), lockimpl.Lease(d)) },
				func() error { _, err := m.Unlock(ctx, a.Owner(1)); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				a := w.client("a")
				take, give := lock(t, a)
				must(t, take(10*time.Second))
				must(t, take(time.Minute))
				lost := a.Lock("x").Lost(a.Owner(1))
				lift := w.silence("a")
				start, done := time.Now(), make(chan error)
				go func() { done <- give() }()
				<-lost
				if d := time.Since(start); d != 10*time.Second-lockimpl.Margin(10*time.Second) {
					t.Errorf("the loss was told after %v", d)
				}
				lift()
				<-done
			})
		})
	}
}

// The unlock of a re-entry may be executed after a renewal that was sent later: then the lease that the unlock sets is the shorter one.
func TestLostWhenAPartialUnlockMayBeExecutedAfterARenewal(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(15*time.Second)))
		must(t, l.Lock(ctx, o)) // its watchdog renews every 10 s
		lost := l.Lost(o)
		start, done := time.Now(), make(chan error)
		w.mu.Lock()
		w.judge["a"] = func(command []byte) fate {
			if time.Since(start) > 10*time.Second || bytes.Contains(command, []byte("redisson_lock__channel")) {
				return vanishes // unlocks at once, renewals after the first
			}
			return arrives
		}
		w.mu.Unlock()
		go func() { _, err := l.Unlock(ctx, o); done <- err }()
		<-lost
		const lease = 15 * time.Second
		if d := time.Since(start); d != 10*time.Second+lease-lockimpl.Margin(lease) {
			t.Errorf("the loss was told after %v", d)
		}
		<-done
	})
}

// now reports whether a channel is closed at once, before any other goroutine runs.
func now(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// several is what a MultiLock and a RedLock have in common.
type several interface {
	Lock(ctx context.Context, owner lockimpl.Owner, opts ...lockimpl.Option) error
	UnlockMembers(ctx context.Context, owner lockimpl.Owner) ([]lockimpl.Unlocked, error)
	Lost(owner lockimpl.Owner) <-chan struct{}
}

var severals = map[string]struct {
	of   func(locks ...*lockimpl.RLock) (several, error)
	most int // of three that may be lost
}{
	"MultiLock": {func(locks ...*lockimpl.RLock) (several, error) { return lockimpl.NewMultiLock(locks...) }, 0},
	"RedLock":   {func(locks ...*lockimpl.RLock) (several, error) { return lockimpl.NewRedLock(locks...) }, 1},
}

// Several locks are lost at the moment at which so many of them are that the rest is none.
func TestSeveralLocksAreLostAtOnce(t *testing.T) {
	for name, c := range severals {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				a := w.client("a")
				o := a.Owner(1)
				members := []*lockimpl.RLock{a.Lock("x"), w.client("b").Lock("y"), w.client("c").Lock("z")}
				l, err := c.of(members...)
				must(t, err)
				if !now(l.Lost(o)) {
					t.Fatal("nothing is held")
				}
				must(t, l.Lock(ctx, o))
				lost := l.Lost(o)
				for i, m := range members {
					w.server.Del([]string{"x", "y", "z"}[i])
					must(t, m.Lock(ctx, o)) // whose answer tells of the loss
					if now(lost) != (i >= c.most) {
						t.Fatalf("lost with %d of 3 gone: %v", i+1, now(lost))
					}
				}
				lost = l.Lost(o)
				if now(lost) {
					t.Fatal("all are held anew")
				}
				if _, err := l.UnlockMembers(ctx, o); err != nil {
					t.Fatal(err)
				}
				if isClosed(lost) {
					t.Fatal("told of a loss by an unlock")
				}
			})
		})
	}
	inBubble(t, lockimpl.Latch, func(t *testing.T, w *world) {
		l, err := lockimpl.NewMultiLock(w.client("a").Lock("x"))
		must(t, err)
		if l.Lost("a:1") != nil {
			t.Fatal("a faithful generation tells")
		}
	})
}

// A group that an unlock leaves without a quorum is lost, although its owner has a hold of it by count.
func TestRedLockIsLostByAnUnlockThatLeavesNoQuorum(t *testing.T) {
	for _, c := range []struct {
		name   string
		uneven bool // two of the three have one hold less than the group
	}{{"two had one hold less", true}, {"all had as many", false}} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
				a := w.client("a")
				o := a.Owner(1)
				members := []*lockimpl.RLock{a.Lock("x"), w.client("b").Lock("y"), w.client("c").Lock("z")}
				r, err := lockimpl.NewRedLock(members...)
				must(t, err)
				must(t, r.Lock(ctx, o))
				must(t, r.Lock(ctx, o))
				if c.uneven {
					for _, m := range members[:2] {
						_, err := m.Unlock(ctx, o)
						must(t, err)
					}
				}
				lost := r.Lost(o)
				if now(lost) {
					t.Fatal("all are held")
				}
				for i := range 2 {
					if _, err := r.UnlockMembers(ctx, o); err != nil {
						t.Fatal(err)
					}
					if isClosed(lost) != c.uneven {
						t.Fatalf("after %d unlocks lost: %v", i+1, isClosed(lost))
					}
				}
			})
		})
	}
}
