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

// countsGrants is a lock that counts its grants in a key of its own, which stays for ever unless it is told to end.
type countsGrants struct {
	rdb   redis.UniversalClient
	name  string
	owner string
	ends  bool
}

func (l countsGrants) Acquire(ctx context.Context, r locktest.Request) error {
	for end := time.Now().Add(r.Wait); ; {
		set, err := l.rdb.SetNX(ctx, l.name, l.owner, max(r.Lease, 30*time.Second)).Result()
		if err != nil {
			return err
		}
		if set {
			count := "grants of " + l.name
			if err := l.rdb.Incr(ctx, count).Err(); err != nil || !l.ends {
				return err
			}
			return l.rdb.Expire(ctx, count, time.Minute).Err()
		}
		if !r.Forever && time.Now().After(end) {
			return locktest.ErrBusy
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l countsGrants) Release(ctx context.Context) error {
	n, err := l.rdb.Eval(ctx, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", []string{l.name}, l.owner).Int()
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

type tidy struct{ countsGrants }

func (tidy) LeavesNothing() {}

// A key that stays for ever is a defect of a lock that claims to leave none, and of no other.
func TestALockThatClaimsToLeaveNothing(t *testing.T) {
	for _, tt := range []struct{ claims, ends, accused bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
			return locktest.Locks(func(name, owner string) locktest.Lock {
				l := countsGrants{e.Redis, name, owner, tt.ends}
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
