package locktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// A tombstone is a lock whose key says itself when the lease ends, by the server's clock, and stays for a minute after that.
const (
	tombstoneTake = `local t = redis.call('time'); local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('hmget', KEYS[1], 'owner', 'until')
if held[1] and tonumber(held[2]) > now then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
redis.call('pexpire', KEYS[1], ARGV[2] + 60000)
return 1`
	tombstoneGive = `local t = redis.call('time'); local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('hmget', KEYS[1], 'owner', 'until')
if not held[1] or held[1] ~= ARGV[1] or tonumber(held[2]) <= now then return 0 end
return redis.call('del', KEYS[1])`
)

func newTombstones(give string) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			ask := func(ctx context.Context, script string, no error, args ...any) error {
				n, err := redis.NewScript(script).Run(ctx, e.Redis, []string{name}, append([]any{owner}, args...)...).Int()
				if err == nil && n == 0 {
					return no
				}
				return err
			}
			return locktest.Funcs{
				Try: func(ctx context.Context, lease time.Duration) error {
					return ask(ctx, tombstoneTake, locktest.ErrBusy, lease.Milliseconds())
				},
				Unlock: func(ctx context.Context) error { return ask(ctx, give, locktest.ErrNotHeld) },
				Lease:  e.WatchdogTimeout,
			}
		}), nil
	}
}

// What a key says of a lease counts, and not how long the key is there.
func TestALockWhoseKeyOutlivesItsLeaseIsJudgedByItsAnswers(t *testing.T) {
	stories := locktest.Only("baseline", "old-owner-unlock", "key-expiry", "gc-pause")
	if told, err := locktest.Accused(t, newTombstones(tombstoneGive), stories, locktest.Drawn(10)); err != nil || len(told) > 0 {
		t.Errorf("%v: %q", err, told)
	}
	careless := strings.Replace(tombstoneGive, "held[1] ~= ARGV[1] or ", "", 1)
	if told, err := locktest.Accused(t, newTombstones(careless), locktest.Only("non-owner-unlock"), locktest.Drawn(0)); err != nil || len(told) == 0 {
		t.Errorf("an unlock that asks for no owner is not accused: %v", err)
	}
}
