package locktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// countsGrants is a lock that counts its grants in a key of its own, which stays for ever unless it is told to end. It tries once.
func countsGrants(rdb redis.UniversalClient, name, owner string, ends bool) locktest.Funcs {
	return locktest.Funcs{
		Lease: 30 * time.Second,
		Try: func(ctx context.Context, lease time.Duration) error {
			set, err := rdb.SetNX(ctx, name, owner, lease).Result()
			if err == nil && !set {
				err = locktest.ErrBusy
			}
			count := "grants of " + name
			if err == nil {
				err = rdb.Incr(ctx, count).Err()
			}
			if err == nil && ends {
				err = rdb.Expire(ctx, count, time.Minute).Err()
			}
			return err
		},
		Unlock: func(ctx context.Context) error {
			n, err := rdb.Eval(ctx, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", []string{name}, owner).Int()
			if err == nil && n == 0 {
				return locktest.ErrNotHeld
			}
			return err
		},
	}
}

type tidy struct{ locktest.Funcs }

func (tidy) LeavesNothing() {}

// A key that stays for ever is a defect of a lock that claims to leave none, and of no other.
func TestALockThatClaimsToLeaveNothing(t *testing.T) {
	for _, tt := range []struct{ claims, ends, accused bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
			return locktest.Locks(func(name, owner string) locktest.Lock {
				l := countsGrants(e.Redis, name, owner, tt.ends)
				if tt.claims {
					return tidy{l}
				}
				return l
			}), nil
		}, locktest.Only("baseline"), locktest.Drawn(0))
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(strings.Join(stories, "\n"), string(contract.KeysHaveAnEnd)); told != tt.accused {
			t.Errorf("%+v: accused: %q", tt, stories)
		}
	}
}
