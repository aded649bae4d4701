package locktest_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// counted is a read-write lock in one hash with the field mode, as Redisson's, which counts its readers besides. Who reads alone may write, too.
type counted struct {
	rdb         redis.UniversalClient
	name, owner string
	lease       time.Duration
	write       bool
	bad         bool // who reads may write whoever else reads
}

const countedLasts = `redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2]))
return 1`

var (
	countedRead = redis.NewScript(`if redis.call('hget', KEYS[1], 'mode') == 'write' and redis.call('hexists', KEYS[1], 'w:' .. ARGV[1]) == 0 then return 0 end
redis.call('hsetnx', KEYS[1], 'mode', 'read')
if redis.call('hincrby', KEYS[1], 'r:' .. ARGV[1], 1) == 1 then redis.call('hincrby', KEYS[1], 'readers', 1) end
` + countedLasts)
	countedWrite = redis.NewScript(`local others = tonumber(redis.call('hget', KEYS[1], 'readers') or 0) - redis.call('hexists', KEYS[1], 'r:' .. ARGV[1])
if redis.call('hexists', KEYS[1], 'w:' .. ARGV[1]) == 0 then
  local upgrade = ARGV[3] == '1' and redis.call('hexists', KEYS[1], 'r:' .. ARGV[1]) == 1
  if redis.call('hget', KEYS[1], 'mode') == 'write' or others > 0 and not upgrade then return 0 end
end
redis.call('hset', KEYS[1], 'mode', 'write')
redis.call('hincrby', KEYS[1], 'w:' .. ARGV[1], 1)
` + countedLasts)
	countedGiven = redis.NewScript(`local field = ARGV[2] .. ARGV[1]
if redis.call('hexists', KEYS[1], field) == 0 then return -1 end
local left = redis.call('hincrby', KEYS[1], field, -1)
if left > 0 then return left end
redis.call('hdel', KEYS[1], field)
if ARGV[2] == 'r:' then redis.call('hincrby', KEYS[1], 'readers', -1) end
local reads = tonumber(redis.call('hget', KEYS[1], 'readers') or 0) > 0
if ARGV[2] == 'w:' and reads then redis.call('hset', KEYS[1], 'mode', 'read') end
if not reads and (ARGV[2] == 'w:' or redis.call('hget', KEYS[1], 'mode') == 'read') then redis.call('del', KEYS[1]) end
return 0`)
)

func (l counted) Acquire(ctx context.Context, r locktest.Request) error {
	script, bad := countedRead, 0
	if l.write {
		script = countedWrite
	}
	if l.bad {
		bad = 1
	}
	return waits(ctx, r, func() (bool, error) {
		n, err := script.Run(ctx, l.rdb, []string{l.name}, l.owner, cmp.Or(r.Lease, l.lease).Milliseconds(), bad).Int()
		return n == 1, err
	})
}

func (l counted) Release(ctx context.Context) error {
	_, err := l.ReleaseOne(ctx)
	return err
}

func (l counted) ReleaseOne(ctx context.Context) (last bool, err error) {
	half := "r:"
	if l.write {
		half = "w:"
	}
	n, err := countedGiven.Run(ctx, l.rdb, []string{l.name}, l.owner, half).Int()
	if err == nil && n < 0 {
		return false, locktest.ErrNotHeld
	}
	return n == 0, err
}

// A hash that has more than the holders in it is not taken for Redisson's, and a lock that lets its only reader write is held to that alone.
func TestAReadWriteLockThatUpgrades(t *testing.T) {
	upgrading := func(bad bool) locktest.NewLock {
		return func(e locktest.Env) (locktest.Client, error) {
			return locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
				l := counted{rdb: e.Redis, name: name, owner: owner, lease: e.WatchdogTimeout, bad: bad}
				w := l
				w.write = true
				return l, w
			}), nil
		}
	}
	layout, err := locktest.Learned(t, upgrading(false))
	if err != nil || !layout.Upgrades || !strings.Contains(layout.Unknown, "has a hash of mode, r:c1:1, readers; right:") {
		t.Fatalf("learned %+v, %v", layout, err)
	}
	locktest.Run(t, upgrading(false))
	stories, err := locktest.Accused(t, upgrading(true), locktest.Drawn(150))
	if err != nil || len(stories) == 0 {
		t.Fatalf("%v: who writes beside another reader is accused of nothing", err)
	}
}
