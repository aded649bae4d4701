package locktest_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// oneLease makes locks that have one lease only: whatever else is asked for, they do nothing, and say so. The idle ones do so always once their
// client has used one. Their keys live for longer than the lease, by an extra.
func oneLease(idle bool, extra time.Duration) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		used := false
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return locktest.Funcs{
				Try: func(ctx context.Context, lease time.Duration) error {
					if lease != 0 || idle && (used || e.ID == "fresh") {
						return locktest.ErrFailed
					}
					ok, err := e.Redis.SetNX(ctx, name, owner, e.WatchdogTimeout+extra).Result()
					if err == nil && !ok {
						return locktest.ErrBusy
					}
					used = true
					return err
				},
				Unlock: func(ctx context.Context) error {
					n, err := release.Run(ctx, e.Redis, []string{name}, owner).Int()
					if err == nil && n == 0 {
						return locktest.ErrNotHeld
					}
					return err
				},
			}
		}), nil
	}
}

func TestALockMayHaveOneLeaseOnly(t *testing.T) {
	for _, extra := range []time.Duration{0, time.Second} {
		stories, err := locktest.Accused(t, oneLease(false, extra), locktest.Drawn(5))
		if err != nil || len(stories) > 0 {
			t.Errorf("%v: %s", err, strings.Join(stories, "\n"))
		}
	}
	stories, err := locktest.Accused(t, oneLease(true, 0), locktest.Only("baseline", "holder-crash"), locktest.Drawn(0))
	if err != nil || !strings.Contains(strings.Join(stories, "\n"), string(contract.FreshGets)) {
		t.Errorf("nobody is told that it does nothing at all: %v: %q", err, stories)
	}
}

// simple are locks of one function each: they can but wait, or but try. Nobody can read the keys of the latter, and their release tells nothing.
func simple(waits, careless bool) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			key := name
			if !waits {
				key = fmt.Sprintf("%x", sha1.Sum([]byte(name)))
			}
			try := func(ctx context.Context, lease time.Duration) error {
				ok, err := e.Redis.SetNX(ctx, key, owner, lease).Result()
				if err == nil && !ok {
					return locktest.ErrBusy
				}
				return err
			}
			f := locktest.Funcs{Try: try, Lease: e.WatchdogTimeout}
			f.Unlock = func(ctx context.Context) error {
				if careless {
					return e.Redis.Del(ctx, key).Err()
				}
				n, err := release.Run(ctx, e.Redis, []string{key}, owner).Int()
				if err == nil && n == 0 && waits {
					err = locktest.ErrNotHeld
				}
				return err
			}
			if !waits {
				return quiet{f}
			}
			f.Try, f.Wait = nil, func(ctx context.Context, lease time.Duration) error {
				for {
					if err := try(ctx, lease); !errors.Is(err, locktest.ErrBusy) {
						return err
					}
					select {
					case <-ctx.Done():
						return locktest.ErrBusy
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
			return f
		}), nil
	}
}

// quiet is a lock whose release tells nothing.
type quiet struct{ locktest.Funcs }

func (quiet) Silent() {}

func TestALockMayBeAskedInOneWayOnly(t *testing.T) {
	for name, waits := range map[string]bool{"waits": true, "tries": false} {
		t.Run(name, func(t *testing.T) {
			stories, err := locktest.Accused(t, simple(waits, false))
			if err != nil || len(stories) > 0 {
				t.Errorf("%v: %s", err, strings.Join(stories, "\n"))
			}
			stories, err = locktest.Accused(t, simple(waits, true))
			if err != nil || !strings.Contains(strings.Join(stories, "\n"), "unlock") {
				t.Errorf("nobody is told that it frees another's: %v: %q", err, stories)
			}
		})
	}
}

// choosy is a permit semaphore that declines something.
type choosy struct {
	endSemaphore
	declines string
}

func (s choosy) Acquire(ctx context.Context, r locktest.Request) (string, error) {
	if s.declines == "to wait" && (r.Forever || r.Wait > 0) || s.declines == "to have no lease" && r.Lease == 0 {
		return "", locktest.ErrFailed
	}
	return s.endSemaphore.Acquire(ctx, r)
}

func (s choosy) UpdateLease(ctx context.Context, permit string, lease time.Duration) error {
	if s.declines == "to update" {
		return locktest.ErrFailed
	}
	return s.endSemaphore.UpdateLease(ctx, permit, lease)
}

func TestAPermitSemaphoreMayDecline(t *testing.T) {
	for _, what := range []string{"to wait", "to have no lease", "to update"} {
		t.Run(what, func(t *testing.T) {
			stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
				return locktest.PermitSemaphores(func(name string) locktest.PermitSemaphore {
					return choosy{endSemaphore{e.Redis, name, false}, what}
				}), nil
			})
			if err != nil || len(stories) > 0 {
				t.Errorf("%v: %s", err, strings.Join(stories, "\n"))
			}
		})
	}
}
