package locktest_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// endSemaphore keeps its permits that are out in a sorted set, with the ends of their leases by the server's clock, beside a key with how
// many permits there are. A waiter asks again every 50 ms.
type endSemaphore struct {
	rdb redis.UniversalClient
	key string
	bad bool // a release forgets the permit that ends first, whichever it is told of
}

const ends = `local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
local till = ARGV[1] == '0' and '+inf' or now + ARGV[1]
`

var (
	endTake = redis.NewScript(ends + `if redis.call('zcard', KEYS[1]) >= tonumber(redis.call('get', KEYS[2]) or 0) then return 0 end
local id = redis.call('incr', KEYS[3])
redis.call('zadd', KEYS[1], till, id)
return id`)
	endGive = redis.NewScript(ends + `if not redis.call('zscore', KEYS[1], ARGV[2]) then return 0 end
return redis.call('zrem', KEYS[1], ARGV[2])`)
	endGiveFirst = redis.NewScript(ends + `local first = redis.call('zrange', KEYS[1], 0, 0)
return first[1] and redis.call('zrem', KEYS[1], first[1]) or 0`)
	endUpdate = redis.NewScript(ends + `if not redis.call('zscore', KEYS[1], ARGV[2]) then return 0 end
redis.call('zadd', KEYS[1], till, ARGV[2])
return 1`)
)

func (s endSemaphore) LooksAgain() {}

func (s endSemaphore) Leasing() locktest.Leasing { return locktest.Leasing{ServerClock: true} }

func (s endSemaphore) run(ctx context.Context, script *redis.Script, lease time.Duration, args ...any) (int, error) {
	keys := []string{s.key + ":out", s.key + ":total", s.key + ":ids"}
	return script.Run(ctx, s.rdb, keys, append([]any{lease.Milliseconds()}, args...)...).Int()
}

func (s endSemaphore) SetPermits(ctx context.Context, permits int64) (bool, error) {
	return s.rdb.SetNX(ctx, s.key+":total", permits, 0).Result()
}

func (s endSemaphore) Acquire(ctx context.Context, r locktest.Request) (permit string, err error) {
	err = waits(ctx, r, func() (bool, error) {
		id, err := s.run(ctx, endTake, r.Lease)
		permit = strconv.Itoa(id)
		return id > 0, err
	})
	return permit, err
}

func (s endSemaphore) Release(ctx context.Context, permit string) error {
	script := endGive
	if s.bad {
		script = endGiveFirst
	}
	return s.onPermit(s.run(ctx, script, 0, permit))
}

func (s endSemaphore) UpdateLease(ctx context.Context, permit string, lease time.Duration) error {
	return s.onPermit(s.run(ctx, endUpdate, lease, permit))
}

func (s endSemaphore) onPermit(n int, err error) error {
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}
