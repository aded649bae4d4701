package locktest_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// byToken is a lock whose value is its holder's fencing token, and nothing else tells its owners apart.
type byToken struct {
	rdb   redis.UniversalClient
	name  string
	lease time.Duration
	token int64
}

var takesByToken = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 1 then return 0 end
local token = redis.call('incr', KEYS[2])
redis.call('set', KEYS[1], token, 'px', ARGV[1])
return token`)

var givesByToken = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])`)

func (l *byToken) Acquire(ctx context.Context, r locktest.Request) error {
	lease := r.Lease
	if lease == 0 {
		lease = l.lease
	}
	for begun := time.Now(); ; {
		token, err := takesByToken.Run(ctx, l.rdb, []string{l.name, l.name + ":token"}, lease.Milliseconds()).Int64()
		if err != nil {
			return err
		}
		if token > 0 {
			l.token = token
			return nil
		}
		if !r.Forever && time.Since(begun) >= r.Wait {
			return locktest.ErrBusy
		}
		select { // of the world's time
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(locktest.ErrFailed, ctx.Err())
		}
	}
}

func (l *byToken) Release(ctx context.Context) error {
	freed, err := givesByToken.Run(ctx, l.rdb, []string{l.name}, strconv.FormatInt(l.token, 10)).Int64()
	if err == nil && freed == 0 {
		err = locktest.ErrNotHeld
	}
	return err
}

func (l *byToken) Token() int64 { return l.token }

// A server that has lost the counter grants one token twice, and who has it first frees the lock of who has it then. The story says
// why that unlock found the lock its own.
func TestOneTokenOfTwoOwnersIsNamed(t *testing.T) {
	stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return &byToken{rdb: e.Redis, name: name, lease: e.WatchdogTimeout}
		}), nil
	}, locktest.Only("key-deleted"), locktest.Drawn(0))
	told := strings.Join(strings.Fields(strings.Join(stories, "\n")), " ")
	if err != nil || !strings.Contains(told, "c1:1 had been granted token 1, and so had c2:1") {
		t.Errorf("%v: %s", err, told)
	}
}
