package locktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// oneLease makes locks that have one lease only: whatever else is asked for, they do nothing, and say so. The idle ones do so always once their
// client has used one.
func oneLease(idle bool) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		used := false
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return locktest.Funcs{
				Try: func(ctx context.Context, lease time.Duration) error {
					if lease != 0 || idle && (used || e.ID == "fresh") {
						return locktest.ErrFailed
					}
					ok, err := e.Redis.SetNX(ctx, name, owner, e.WatchdogTimeout).Result()
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
	stories, err := locktest.Accused(t, oneLease(false), locktest.Drawn(5))
	if err != nil || len(stories) > 0 {
		t.Errorf("%v: %s", err, strings.Join(stories, "\n"))
	}
	stories, err = locktest.Accused(t, oneLease(true), locktest.Only("baseline", "holder-crash"), locktest.Drawn(0))
	if err != nil || !strings.Contains(strings.Join(stories, "\n"), string(contract.FreshGets)) {
		t.Errorf("nobody is told that it does nothing at all: %v: %q", err, stories)
	}
}
