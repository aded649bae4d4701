package lockimpl_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// timers is a scheduler that counts what runs. Watchdogs use it from several goroutines.
type timers struct {
	mu      sync.Mutex
	running int
}

func (ts *timers) AfterFunc(d time.Duration, f func()) lockimpl.Timer {
	ts.add(1)
	return &countedTimer{ts, time.AfterFunc(d, func() {
		ts.add(-1)
		f()
	})}
}

func (ts *timers) add(n int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.running += n
}

func (ts *timers) count() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.running
}

type countedTimer struct {
	ts *timers
	*time.Timer
}

func (t *countedTimer) Stop() bool {
	stopped := t.Timer.Stop()
	if stopped {
		t.ts.add(-1)
	}
	return stopped
}

// goroutines returns the stacks of those that the package under test has.
func goroutines() (stacks []string) {
	b := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(stack, "holdfast/lockimpl.(") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// However the last hold ends, its client is at rest soon after: no timer, no goroutine, no
// subscription, no command. (That nothing is left of a closed client is checked for all tests: see
// TestMain.)
func TestNothingIsLeftOfTheLastHold(t *testing.T) {
	for _, end := range []struct {
		name string
		end  func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner)
		rest time.Duration // until all is quiet
	}{
		{"unlocked", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {
			is(t, true)(l.Unlock(ctx, o))
		}, 3 * time.Second},
		{"unlock not sent", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := l.Unlock(ended, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}, 3 * time.Second},
		{"unlock failed", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {
			w.fates("a", neverRan)
			if _, err := l.Unlock(ctx, o); err == nil {
				t.Fatal("no error")
			}
		}, 35 * time.Second}, // Hardened tries again
		{"unlock failed for good", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {
			w.cut("a")
			if _, err := l.Unlock(ctx, o); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(35 * time.Second)
			w.heal("a")
		}, 15 * time.Second},
		{"forced", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {
			must(t, w.admin.Del(ctx, l.Name()).Err())
		}, 15 * time.Second}, // the next renewal is refused
		{"closed", func(t *testing.T, w *world, l *lockimpl.RLock, o lockimpl.Owner) {}, 0},
	} {
		t.Run(end.name, func(t *testing.T) {
			eachGeneration(t, func(t *testing.T, w *world) {
				w.lacks(lockimpl.Current, TestTimersOfTheTaskAddUp)
				ts := &timers{}
				c := w.prime(w.clientOver(w.dialRetrying("a", -1), "a", func(o *lockimpl.Options) { o.Scheduler = ts }))
				l, o := c.Lock("x"), c.Owner(1)
				must(t, l.Lock(ctx, o))
				_, cancel := l.HoldContext(ctx, o)
				defer cancel()
				is(t, false)(l.TryLock(ctx, c.Owner(2), lockimpl.Wait(time.Second)))
				if ts.count() != 1 {
					t.Fatalf("%d timers", ts.count())
				}
				must(t, c.Lock("y").Lock(ctx, o)) // one timer for all
				if ts.count() != 1 || w.subscribers("x") != 1 || len(goroutines()) == 0 {
					t.Fatalf("%d timers, %d subscribers, %d goroutines", ts.count(), w.subscribers("x"), len(goroutines()))
				}
				is(t, true)(c.Lock("y").Unlock(ctx, o))
				end.end(t, w, l, o)
				if end.rest == 0 {
					must(t, c.Close())
				}
				time.Sleep(end.rest)
				synctest.Wait()
				if ts.count() != 0 {
					t.Errorf("%d timers", ts.count())
				}
				if n := w.subscribers("x"); n != 0 {
					t.Errorf("%d subscribers", n)
				}
				if stacks := goroutines(); len(stacks) != 0 {
					t.Errorf("goroutines:\n%s", strings.Join(stacks, "\n\n"))
				}
				calls := w.fates("a")
				time.Sleep(time.Hour)
				if n := len(calls()); n != 0 {
					t.Errorf("%d scripts called", n)
				}
			})
		})
	}
}

// Wherever in the course of a call its context ends: waiting for an answer, for the subscription, for a
// release, or for the answer to the attempt that follows it.
func TestCancellationAtAnyMomentLeavesNothing(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestACancelledAcquireIsRenewed)
		a, b := w.primed("a"), w.primed("b")
		l := a.Lock("x")
		always := make([]fate, 1000)
		for i := range always {
			always[i] = isLate
		}
		w.fates("b", always...)
		acquired := 0
		for at := time.Duration(0); at <= 4*lateBy; at += lateBy / 10 {
			must(t, l.Lock(ctx, a.Owner(1)))
			time.AfterFunc(2*lateBy+lateBy/2, func() { l.Unlock(ctx, a.Owner(1)) })
			short, cancel := context.WithTimeout(ctx, at)
			err := b.Lock("x").Lock(short, b.Owner(1))
			switch {
			case err == nil:
				acquired++
				is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
			cancel()
			time.Sleep(10 * lateBy)
			is(t, false)(l.IsLocked(ctx))
			if n := w.subscribers("x"); n != 0 {
				t.Fatalf("cancelled after %v: %d subscribers", at, n)
			}
			if stacks := goroutines(); len(stacks) != 0 {
				t.Fatalf("cancelled after %v:\n%s", at, strings.Join(stacks, "\n\n"))
			}
		}
		if acquired == 0 || acquired > 10 {
			t.Fatalf("acquired %d times: the sweep does not cover what it is meant to", acquired)
		}
	})
}

func TestOneWaiterOfAProcessTriesAtEachRelease(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestTimersOfTheTaskAddUp)
		const waiters = 16
		a, b := w.primed("a"), w.primed("b")
		must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				l, o := b.Lock("x"), b.Owner(int64(i))
				if err := l.Lock(ctx, o); err != nil {
					t.Error(err)
				}
				time.Sleep(600 * time.Millisecond) // all are over before the watchdog renews
				if _, err := l.Unlock(ctx, o); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		if n := w.subscribers("x"); n != 1 {
			t.Fatalf("%d subscriptions", n)
		}
		calls := w.fates("b")
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		wg.Wait()
		if n := len(calls()); n != 2*waiters {
			t.Fatalf("%d scripts for %d hand-offs", n, waiters)
		}
	})
}

// An unlock that gives up its turn forgets a hold while the client settles what an earlier one left: the server must be told of that
// hold, too.
func TestAnUnlockThatGivesUpItsTurnIsSettledAsWell(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b")
		l, err := lockimpl.NewRedLock(a.Lock("x"), b.Lock("y"))
		must(t, err)
		o := a.Owner(1)
		for range 3 {
			must(t, l.Lock(ctx, o))
		}
		for _, client := range []string{"a", "b"} {
			w.fates(client, isLate, isLate)
		}
		for range 2 { // the first is under way until what settles it is
			giveUp, cancel := context.WithTimeout(ctx, lateBy/4)
			if _, err := l.Unlock(giveUp, o); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("unlock: %v", err)
			}
			cancel()
			time.Sleep(lateBy)
		}
		time.Sleep(4 * lateBy)
		for _, name := range []string{"x", "y"} {
			if count := w.server.HGet(name, string(o)); count != "1" {
				t.Errorf("the server counts %q holds of %s, the owner has one", count, name)
			}
		}
		if n, err := l.Unlock(ctx, o); n != 2 || err != nil {
			t.Errorf("unlock: %d, %v", n, err)
		}
		if w.server.Exists("x") || w.server.Exists("y") {
			t.Error("the owner gave back all, and the lock is not free")
		}
	})
}

// An unlock whose context has ended sends nothing: the hold is given back in the background, rather than left to its lease.
func TestAnUnlockThatIsNotSentIsSettled(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		l, o := a.Lock("x"), a.Owner(1)
		must(t, l.Lock(ctx, o, lockimpl.Lease(time.Hour)))
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := l.Unlock(ended, o); !errors.Is(err, context.Canceled) || lockimpl.OutcomeUnknown(err) {
			t.Errorf("unlock: %v", err)
		}
		time.Sleep(time.Second)
		if w.server.Exists("x") {
			t.Error("a second later the lock is still held")
		}
		w.server.HSet("x", string(o), "1") // of which the client does not know
		if _, err := l.Unlock(ended, o); !errors.Is(err, context.Canceled) {
			t.Errorf("unlock of nothing: %v", err)
		}
		time.Sleep(time.Second)
		if !w.server.Exists("x") {
			t.Error("an unlock of nothing gave something back")
		}
	})
}

// Who unlocks under a context that has ended does not call again, also while an earlier request of it is under way: what waits for its turn is
// settled, and renewed no more.
func TestAnUnlockThatIsNotSentIsSettledWhileAnotherIsUnderWay(t *testing.T) {
	for _, group := range []bool{true, false} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			a := w.client("a")
			l, m, err := a.Lock("x"), (*lockimpl.MultiLock)(nil), error(nil)
			if group {
				m, err = lockimpl.NewMultiLock(l, a.Lock("y"))
				must(t, err)
			}
			o := a.Owner(1)
			take := func() error {
				if group {
					return m.Lock(ctx, o)
				}
				return l.Lock(ctx, o)
			}
			give := func(ctx context.Context) (err error) {
				if group {
					_, err = m.Unlock(ctx, o)
				} else {
					_, err = l.Unlock(ctx, o)
				}
				return err
			}
			must(t, take())
			must(t, take())
			w.fates("a", isLate, isLate)
			giveUp, cancel := context.WithTimeout(ctx, lateBy/4)
			defer cancel()
			for range 2 { // the context ends in the first, and what settles that is under way at the second
				if err := give(giveUp); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("unlock: %v", err)
				}
				time.Sleep(lateBy)
			}
			time.Sleep(4 * lateBy)
			if w.server.Exists("x") || w.server.Exists("y") {
				t.Error("the owner gave back all, and the lock is not free")
			}
			sent := w.server.CommandCount()
			if time.Sleep(time.Minute); w.server.CommandCount() != sent {
				t.Error("the client renews what it holds no more")
			}
		})
	}
}
