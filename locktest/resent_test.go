package locktest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// remembering is a semaphore that is judged by its answers alone, and claims to take each request once. Of a release it keeps the answer.
type remembering struct {
	endSemaphore
	forgets bool // a copy of a release finds no permit
}

var endGiveOnce = redis.NewScript(`local was = redis.call('get', KEYS[2])
if was then return tonumber(was) end
local gave = redis.call('zrem', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], gave)
return gave`)

func (s remembering) Idempotent() time.Duration { return 0 }

func (s remembering) Release(ctx context.Context, permit string) error {
	if s.forgets {
		return s.endSemaphore.Release(ctx, permit)
	}
	return s.onPermit(endGiveOnce.Run(ctx, s.rdb, []string{s.key + ":out", s.key + ":gave:" + permit}, permit).Int())
}

// What a copy of a request is answered is held against a lock that claims to be idempotent, also if nobody can read its keys: faults strike its requests,
// and its answer is not taken for that of another copy.
func TestAnUnreadLockAnswersForCopiesIfItClaimsTo(t *testing.T) {
	for forgets, broken := range map[bool]bool{false: false, true: true} {
		stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
			return locktest.PermitSemaphores(func(name string) locktest.PermitSemaphore {
				return remembering{endSemaphore{rdb: e.Redis, key: name}, forgets}
			}), nil
		}, locktest.Only("permit-lost-release-reply", "permit-delayed-release"), locktest.Drawn(0))
		if said := strings.Join(stories, "\n"); err != nil || strings.Contains(said, "object in permit-lost-release-reply") != broken || strings.Contains(said, "permit-delayed") != broken {
			t.Errorf("it forgets: %v: %v: %s", forgets, err, said)
		}
	}
}

// repeating is a latch whose client counts down in the background what its caller does not know of.
type repeating struct {
	elsewhere
	c *repeats
}

type repeats struct {
	locktest.Latches
	ctx   context.Context
	close context.CancelFunc
	work  sync.WaitGroup
	id    string
	mu    sync.Mutex
	n     int
}

var downOnce = redis.NewScript(`if redis.call('SET', KEYS[2], '1', 'NX') and redis.call('EXISTS', KEYS[1]) == 1 and redis.call('DECR', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[1])
end
return 0`)

func (c *repeats) Close() error {
	c.close()
	c.work.Wait()
	return nil
}

func (l repeating) CountDown(ctx context.Context) error {
	l.c.mu.Lock()
	l.c.n++
	id := fmt.Sprintf("down-%s-%d", l.c.id, l.c.n)
	l.c.mu.Unlock()
	down := func(ctx context.Context) error { return downOnce.Run(ctx, l.rdb, []string{l.key, id}).Err() }
	err := down(ctx)
	if err != nil {
		l.c.work.Go(func() {
			for down(l.c.ctx) != nil && l.c.ctx.Err() == nil {
				select {
				case <-time.After(time.Second):
				case <-l.c.ctx.Done():
				}
			}
		})
	}
	return err
}

// cut is a plan in which a client is cut off before it counts a latch down, twice.
const cut = `{"version": 1, "name": "cut-off",
	"clients": [{"name": "c1", "threads": [
		{"id": 1, "steps": [{"do": "sleep", "for": "1s"}, {"do": "countDown", "lock": "a"}]},
		{"id": 2, "steps": [{"do": "sleep", "for": "8s"}, {"do": "countDown", "lock": "a"}]},
		{"id": 3, "steps": [{"do": "trySetCount", "lock": "a", "count": 2}]}]}],
	"faults": [{"kind": "partition", "client": "c1", "from": "500ms", "to": "60s", "direction": "both"}]}`

// What a client does in the background may be what a call was to do, also where nobody can read the keys.
func TestAnUnreadLatchMayBeCountedDownInTheBackground(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("testdata/locktest", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/locktest/cut-off.json", []byte(cut), 0o666); err != nil {
		t.Fatal(err)
	}
	stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
		c := &repeats{id: e.ID}
		c.ctx, c.close = context.WithCancel(context.Background())
		c.Latches = func(name string) locktest.Latch {
			return repeating{elsewhere{rdb: e.Redis, key: "count-of-" + name}, c}
		}
		return c, nil
	}, locktest.Only("cut-off"), locktest.Drawn(0))
	if err != nil || len(stories) > 0 {
		t.Errorf("%v: %q", err, stories)
	}
}

// owing is a latch that claims to see to what its callers do not know of, and does not.
type owing struct{ pollLatch }

func (owing) TakesBack() {}

// owingLock is a lock that claims so.
type owingLock struct{ locktest.Funcs }

func (owingLock) TakesBack() {}

// Who claims to take back what nobody was told of answers for that, and nobody else.
func TestWhatNobodyWasToldOfIsTakenBackByWhoClaimsTo(t *testing.T) {
	latch := func(claims bool) locktest.NewLock {
		return func(e locktest.Env) (locktest.Client, error) {
			return locktest.Latches(func(name string) locktest.Latch {
				if l := (pollLatch{rdb: e.Redis, key: name}); !claims {
					return l
				}
				return owing{pollLatch{rdb: e.Redis, key: name}}
			}), nil
		}
	}
	lock := func(claims bool) locktest.NewLock {
		return func(e locktest.Env) (locktest.Client, error) {
			return locktest.Locks(func(name, _ string) locktest.Lock {
				if !claims {
					return redisLock(e, name)
				}
				return owingLock{redisLock(e, name)}
			}), nil
		}
	}
	for _, tt := range []struct {
		scenario string
		lock     func(claims bool) locktest.NewLock
		rule     contract.Rule
	}{
		{"latch-ghost-down", latch, contract.DownsCount},
		{"trylock-timeout-ghost", lock, contract.GhostIsGone},
	} {
		for _, claims := range []bool{false, true} {
			stories, err := locktest.Accused(t, tt.lock(claims), locktest.Only(tt.scenario), locktest.Drawn(0))
			if said := strings.Join(stories, "\n"); err != nil || strings.Contains(said, string(tt.rule)) != claims {
				t.Errorf("%s: it claims to: %v: %v: %s", tt.scenario, claims, err, said)
			}
		}
	}
}

// undeleted is a latch whose Delete says that it deleted, and does nothing.
type undeleted struct{ pollLatch }

func (undeleted) Delete(context.Context) (bool, error) { return true, nil }

// Drawn plans have the calls by which an object is changed as a whole, if it has them.
func TestDrawnPlansAlterWhatCanBeAltered(t *testing.T) {
	stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Latches(func(name string) locktest.Latch { return undeleted{pollLatch{rdb: e.Redis, key: name}} }), nil
	}, locktest.Only("drawn-"), locktest.Drawn(25))
	if err != nil || len(stories) == 0 {
		t.Errorf("%v: it is accused of nothing", err)
	}
}
