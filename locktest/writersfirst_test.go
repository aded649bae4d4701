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

// keepOut is one of the two locks of a read-write lock as [twoKeys] is, in which a writer that waits keeps new readers out: by a mark in a third key,
// which it sets anew whenever it asks, and takes away when it has the lock or leaves.
type keepOut struct {
	rdb    redis.UniversalClient
	keys   []string
	owner  string
	lease  time.Duration
	kept   time.Duration // of a mark
	write  bool
	claims bool
	bad    string // the mistake; "": none
}

// The mistakes.
const (
	marksOn    = "a grant leaves the mark"
	staysAhead = "who leaves does not take its mark away"
	marksNone  = "a writer that waits keeps nobody out"
	refusesOwn = "a reader is refused once, whoever waits"
)

const keepOutNow = twoKeysNow + `redis.call('zremrangebyscore', KEYS[3], '-inf', now)
`

var (
	keepOutRead = redis.NewScript(keepOutNow + `if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('zcard', KEYS[3]) > 0 and not redis.call('zscore', KEYS[2], ARGV[1]) then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
return 1`)
	keepOutWrite = redis.NewScript(keepOutNow + `if redis.call('zcard', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
if ARGV[4] == '1' then redis.call('zrem', KEYS[3], ARGV[1]) end
return 1 end
if tonumber(ARGV[3]) > 0 then
redis.call('zadd', KEYS[3], now + ARGV[3], ARGV[1])
redis.call('pexpire', KEYS[3], ARGV[3])
end
return 0`)
)

func (l keepOut) Acquire(ctx context.Context, r locktest.Request) error {
	lease := cmp.Or(r.Lease, l.lease)
	refused := l.bad == refusesOwn
	if !l.write {
		return waits(ctx, r, func() (bool, error) {
			if refused {
				refused = false
				return false, nil
			}
			n, err := keepOutRead.Run(ctx, l.rdb, l.keys, l.owner, lease.Milliseconds()).Int()
			return n == 1, err
		})
	}
	kept, takesAway := l.kept, 1
	if l.bad == marksNone || !r.Forever && r.Wait == 0 {
		kept = 0
	}
	if l.bad == marksOn {
		takesAway = 0
	}
	err := waits(ctx, r, func() (bool, error) {
		n, err := keepOutWrite.Run(ctx, l.rdb, l.keys, l.owner, lease.Milliseconds(), kept.Milliseconds(), takesAway).Int()
		return n == 1, err
	})
	if err != nil && kept > 0 && l.bad != staysAhead {
		l.rdb.ZRem(context.WithoutCancel(ctx), l.keys[2], l.owner)
	}
	return err
}

func (l keepOut) Release(ctx context.Context) error {
	return twoKeys{rdb: l.rdb, keys: l.keys[:2], owner: l.owner, write: l.write}.Release(ctx)
}

func (l keepOut) Sharing() locktest.Sharing {
	return locktest.Sharing{WritersFirst: l.claims, MarkKept: l.kept}
}

func writersFirst(claims bool, bad string) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		return locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
			l := keepOut{rdb: e.Redis, keys: []string{name + ":writer", name + ":readers", name + ":waiting"}, owner: owner, lease: e.WatchdogTimeout,
				kept: 10 * time.Second, claims: claims, bad: bad}
			w := l
			w.write = true
			return l, w
		}), nil
	}
}

func TestWritersFirst(t *testing.T) {
	drawn := 100
	if testing.Short() {
		drawn = 5
	}
	locktest.Run(t, writersFirst(true, ""), locktest.Drawn(drawn))
}

func TestWritersFirstExplored(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 10
	}
	locktest.Explore(t, writersFirst(true, ""), locktest.Runs(runs))
}

// Who does not say that writers are first is accused of it, and who says so and does otherwise is accused, too.
func TestWhoIsNotWritersFirst(t *testing.T) {
	for _, c := range []struct {
		claims bool
		bad    string
		want   []string // guarantees and rules, one of which a story tells
	}{
		{false, "", []string{"object in"}},
		{true, marksOn, []string{"object in", "a free lock that somebody waits for"}},
		{true, staysAhead, []string{"a free lock that somebody waits for"}},
		{true, marksNone, []string{"no reader is let in before a writer"}},
		{true, refusesOwn, []string{"object in"}},
	} {
		t.Run(cmp.Or(c.bad, "no claim"), func(t *testing.T) {
			stories, err := locktest.Accused(t, writersFirst(c.claims, c.bad))
			all := strings.Join(stories, "\n")
			for _, want := range c.want {
				if err != nil || !strings.Contains(all, want) {
					t.Errorf("%v: none of %d stories tells %q", err, len(stories), want)
				}
			}
			if len(stories) > 0 {
				t.Log(stories[0])
			}
		})
	}
}
