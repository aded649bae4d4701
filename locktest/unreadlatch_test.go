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

// elsewhere is a latch whose count is in a key that is not named like it, so that it is judged by its answers alone. Who waits looks now and then.
type elsewhere struct {
	rdb   redis.UniversalClient
	key   string
	early bool // who waits passes when one is left
}

var downElsewhere = redis.NewScript(`
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left > 1 then
  redis.call('DECR', KEYS[1])
elseif left == 1 then
  redis.call('DEL', KEYS[1])
end
return left`)

func (l elsewhere) SetCount(ctx context.Context, n int64) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, n, 0).Result()
}

func (l elsewhere) CountDown(ctx context.Context) error {
	return downElsewhere.Run(ctx, l.rdb, []string{l.key}).Err()
}

func (l elsewhere) Await(ctx context.Context, r locktest.Request) error {
	for begun := time.Now(); ; {
		left, err := l.rdb.Get(ctx, l.key).Int64()
		switch {
		case err == redis.Nil, err == nil && l.early && left == 1:
			return nil
		case err != nil:
			return err
		case !r.Forever && time.Since(begun) >= r.Wait:
			return locktest.ErrBusy
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func newElsewhere(early bool) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		return locktest.Latches(func(name string) locktest.Latch { return elsewhere{e.Redis, "count-of-" + name, early} }), nil
	}
}

// A latch of which nobody knows the count is not held to what its count was, and is held to what its callers are told.
func TestALatchWhoseCountNobodyCanRead(t *testing.T) {
	l, err := locktest.Learned(t, newElsewhere(false))
	if err != nil || l.Unknown == "" {
		t.Fatalf("it can be read: %+v, %v", l, err)
	}
	for early, broken := range map[bool]bool{false: false, true: true} {
		stories, err := locktest.Accused(t, newElsewhere(early), locktest.Drawn(20))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(stories, "\n"); (said != "") != broken || broken && !strings.Contains(said, string(contract.Object)+" in") {
			t.Errorf("who waits passes early: %v: %s", early, said)
		}
	}
}
