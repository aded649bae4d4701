package locktest_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/subjects"
)

// listSemaphore keeps its permits as items of a list, beside a key that says that there is one. A waiter asks again every 50 ms.
type listSemaphore struct {
	rdb redis.UniversalClient
	key string
	bad bool // looks, and takes what it saw, in two commands
}

var (
	listSet = redis.NewScript(`if redis.call('incr', KEYS[2]) > 1 then return 0 end
for _ = 1, tonumber(ARGV[1]) do redis.call('rpush', KEYS[1], 'permit') end
return 1`)
	listTake = redis.NewScript(`if redis.call('llen', KEYS[1]) < tonumber(ARGV[1]) then return 0 end
for _ = 1, tonumber(ARGV[1]) do redis.call('lpop', KEYS[1]) end
return 1`)
	listGive = redis.NewScript(`if redis.call('exists', KEYS[2]) == 0 then return 0 end
for _ = 1, tonumber(ARGV[1]) do redis.call('rpush', KEYS[1], 'permit') end
return 1`)
)

func (s listSemaphore) LooksAgain() {}

func (s listSemaphore) run(ctx context.Context, script *redis.Script, args ...any) (bool, error) {
	n, err := script.Run(ctx, s.rdb, []string{s.key, s.key + ":set"}, args...).Int()
	return n == 1, err
}

func (s listSemaphore) SetPermits(ctx context.Context, permits int64) (bool, error) {
	return s.run(ctx, listSet, permits)
}

func (s listSemaphore) Acquire(ctx context.Context, permits int64, r locktest.Request) error {
	return waits(ctx, r, func() (bool, error) { return s.take(ctx, permits) })
}

func (s listSemaphore) take(ctx context.Context, permits int64) (bool, error) {
	if !s.bad {
		return s.run(ctx, listTake, permits)
	}
	n, err := s.rdb.LLen(ctx, s.key).Result()
	if err != nil || n < permits {
		return false, err
	}
	err = s.rdb.LPopCount(ctx, s.key, int(permits)).Err()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return err == nil, err
}

func (s listSemaphore) Release(ctx context.Context, permits int64) error {
	gave, err := s.run(ctx, listGive, permits)
	if err == nil && !gave {
		return locktest.ErrNotHeld
	}
	return err
}

// lowered is a semaphore that lowers the number, and raises it again where too few were left.
type lowered struct {
	rdb redis.UniversalClient
	key string
}

func (s lowered) LooksAgain() {}

func (s lowered) SetPermits(ctx context.Context, permits int64) (bool, error) {
	return s.rdb.SetNX(ctx, s.key, permits, 0).Result()
}

func (s lowered) Acquire(ctx context.Context, permits int64, r locktest.Request) error {
	return waits(ctx, r, func() (bool, error) {
		left, err := s.rdb.DecrBy(ctx, s.key, permits).Result()
		if err == nil && left < 0 {
			return false, s.rdb.IncrBy(ctx, s.key, permits).Err()
		}
		return err == nil, err
	})
}

func (s lowered) Release(ctx context.Context, permits int64) error {
	return s.rdb.IncrBy(ctx, s.key, permits).Err()
}

// What a call takes and gives back because it is refused is no grant. Nobody can tell it from one, and the answers alone are judged.
func TestARefusalMayTakeAndGiveBack(t *testing.T) {
	newLock := func(e locktest.Env) (locktest.Client, error) {
		return locktest.Semaphores(func(name string) locktest.Semaphore { return lowered{e.Redis, name} }), nil
	}
	stories, err := locktest.Accused(t, newLock, locktest.Only("semaphore-baseline"), locktest.Drawn(0))
	if err != nil || len(stories) > 0 {
		t.Errorf("%v: %s", err, strings.Join(stories, "\n"))
	}
	if l, err := locktest.Learned(t, newLock); err != nil || !strings.Contains(l.Unknown, "a call that is refused changes the key") {
		t.Errorf("%q, %v", l.Unknown, err)
	}
}

// waits asks every 50 ms until it has what it asks for, or its time is over.
func waits(ctx context.Context, r locktest.Request, asks func() (bool, error)) error {
	for end := time.Now().Add(r.Wait); ; {
		got, err := asks()
		pause := 50 * time.Millisecond
		switch left := time.Until(end); {
		case got || err != nil:
			return err
		case !r.Forever && left <= 0:
			return locktest.ErrBusy
		case !r.Forever:
			pause = min(pause, left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return locktest.ErrFailed
		}
	}
}

// pollLatch is a latch whose count is a number, asked for every 50 ms.
type pollLatch struct {
	rdb redis.UniversalClient
	key string
	bad bool // waits no more once the count is 1
}

var latchDown = redis.NewScript(`if redis.call('exists', KEYS[1]) == 1 and redis.call('decr', KEYS[1]) <= 0 then redis.call('del', KEYS[1]) end
return 1`)

func (l pollLatch) LooksAgain() {}

func (l pollLatch) SetCount(ctx context.Context, n int64) (bool, error) {
	err := l.rdb.SetArgs(ctx, l.key, n, redis.SetArgs{Mode: "NX"}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func (l pollLatch) CountDown(ctx context.Context) error {
	return latchDown.Run(ctx, l.rdb, []string{l.key}).Err()
}

func (l pollLatch) Await(ctx context.Context, r locktest.Request) error {
	return waits(ctx, r, func() (bool, error) {
		n, err := l.rdb.Get(ctx, l.key).Int()
		if errors.Is(err, redis.Nil) {
			return true, nil
		}
		return l.bad && n == 1, err
	})
}

// twoKeys is one of the two locks of a read-write lock that keeps its writer in one key and its readers in a sorted set, with the ends of
// their leases by the server's clock.
type twoKeys struct {
	rdb   redis.UniversalClient
	keys  []string
	owner string
	lease time.Duration
	write bool
	bad   bool // who stops to write frees the lock, whoever writes
}

const twoKeysNow = `local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
`

var (
	twoRead = redis.NewScript(twoKeysNow + `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
return 1`)
	twoWrite = redis.NewScript(twoKeysNow + `if redis.call('zcard', KEYS[2]) > 0 then return 0 end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`)
	twoReadGiven  = redis.NewScript(twoKeysNow + `return redis.call('zrem', KEYS[2], ARGV[1])`)
	twoWriteGiven = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] or ARGV[2] == '1' then return redis.call('del', KEYS[1]) end
return 0`)
)

func (l twoKeys) Acquire(ctx context.Context, r locktest.Request) error {
	script, lease := twoRead, cmp.Or(r.Lease, l.lease)
	if l.write {
		script = twoWrite
	}
	return waits(ctx, r, func() (bool, error) {
		n, err := script.Run(ctx, l.rdb, l.keys, l.owner, lease.Milliseconds()).Int()
		return n == 1, err
	})
}

func (l twoKeys) Release(ctx context.Context) error {
	script, bad := twoReadGiven, 0
	if l.write {
		script = twoWriteGiven
	}
	if l.bad {
		bad = 1
	}
	n, err := script.Run(ctx, l.rdb, l.keys, l.owner, bad).Int()
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

// family is a client of one of the reference's objects that are no locks.
func family(s subjects.Subject) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		c, err := s.Open(e)
		if err != nil {
			return nil, err
		}
		switch s.Object {
		case history.ASemaphore:
			return pooled{locktest.Semaphores(func(name string) locktest.Semaphore {
				return permits{c.(subjects.Semaphores).Semaphore(name)}
			}), c}, nil
		case history.APermitSemaphore:
			return leased{locktest.PermitSemaphores(func(name string) locktest.PermitSemaphore {
				return leasedPermits{c.(subjects.PermitSemaphores).PermitSemaphore(name)}
			}), c}, nil
		case history.ALatch:
			return counting{locktest.Latches(func(name string) locktest.Latch {
				return rounds{c.(subjects.Latches).Latch(name)}
			}), c}, nil
		}
		return shared{locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
			both := c.(subjects.ReadWriteLocks)
			return half{both.ReadLock(name), owner}, half{both.WriteLock(name), owner}
		}), c}, nil
	}
}

type (
	pooled struct {
		locktest.Semaphores
		io.Closer
	}
	leased struct {
		locktest.PermitSemaphores
		io.Closer
	}
	counting struct {
		locktest.Latches
		io.Closer
	}
	shared struct {
		locktest.ReadWriteLocks
		io.Closer
	}
)

// said is what an answer says, in an error.
func said(a subjects.Answer) error {
	switch a.Outcome {
	case history.Busy:
		return locktest.ErrBusy
	case history.NotHeld:
		return locktest.ErrNotHeld
	case history.Failed:
		return errors.Join(locktest.ErrFailed, a.Err)
	case history.Rejected:
		return locktest.ErrReads
	case history.Unknown:
		return a.Err
	}
	return nil
}

type permits struct{ s subjects.Semaphore }

func (s permits) SetPermits(ctx context.Context, n int64) (bool, error) {
	a := s.s.Set(ctx, n)
	return a.Outcome == history.OK, a.Err
}

func (s permits) Acquire(ctx context.Context, n int64, r locktest.Request) error {
	return said(s.s.Take(ctx, n, r))
}

func (s permits) Release(ctx context.Context, n int64) error { return said(s.s.Give(ctx, n)) }
func (s permits) AddPermits(ctx context.Context, n int64) error {
	return said(s.s.(subjects.Resizer).Add(ctx, n))
}

func (s permits) Drain(ctx context.Context) (int64, error) {
	a := s.s.(subjects.Drainer).Drain(ctx)
	return a.Value, said(a)
}

func (s permits) LooksAgain()               {}
func (s permits) Idempotent() time.Duration { return 3 * time.Minute }
func (s permits) TakesBack()                {}

type leasedPermits struct{ s subjects.PermitSemaphore }

func (s leasedPermits) SetPermits(ctx context.Context, n int64) (bool, error) {
	a := s.s.Set(ctx, n)
	return a.Outcome == history.OK, a.Err
}

func (s leasedPermits) Acquire(ctx context.Context, r locktest.Request) (string, error) {
	a := s.s.Take(ctx, r)
	return a.Permit, said(a)
}

func (s leasedPermits) Release(ctx context.Context, permit string) error {
	return said(s.s.Give(ctx, permit))
}

func (s leasedPermits) UpdateLease(ctx context.Context, permit string, lease time.Duration) error {
	return said(s.s.Update(ctx, permit, lease))
}

func (s leasedPermits) AddPermits(ctx context.Context, n int64) error {
	return said(s.s.(subjects.Resizer).Add(ctx, n))
}

func (s leasedPermits) LooksAgain()               {}
func (s leasedPermits) Idempotent() time.Duration { return 3 * time.Minute }
func (s leasedPermits) TakesBack()                {}
func (s leasedPermits) Leasing() locktest.Leasing {
	return locktest.Leasing{ServerClock: true, OneKey: true}
}

type rounds struct{ l subjects.Latch }

func (l rounds) SetCount(ctx context.Context, n int64) (bool, error) {
	a := l.l.Set(ctx, n)
	return a.Outcome == history.OK, a.Err
}

func (l rounds) CountDown(ctx context.Context) error { return said(l.l.Down(ctx)) }

func (l rounds) Await(ctx context.Context, r locktest.Request) error {
	return said(l.l.Await(ctx, r))
}

func (l rounds) Delete(ctx context.Context) (bool, error) {
	a := l.l.(subjects.Deleter).Delete(ctx)
	return a.Outcome == history.Released, said(a)
}

func (l rounds) LooksAgain()               {}
func (l rounds) Idempotent() time.Duration { return 3 * time.Minute }
func (l rounds) TakesBack()                {}

type half struct {
	l     subjects.Lock
	owner string
}

func (h half) ForceRelease(ctx context.Context) error {
	return said(h.l.(subjects.ForceReleaser).ForceRelease(ctx))
}

func (h half) Acquire(ctx context.Context, r locktest.Request) error {
	return said(h.l.Acquire(ctx, h.owner, r))
}

func (h half) Release(ctx context.Context) error {
	_, err := h.ReleaseOne(ctx)
	return err
}

func (h half) ReleaseOne(ctx context.Context) (bool, error) {
	a := h.l.Release(ctx, h.owner)
	return a.Outcome == history.Released, said(a)
}

func (h half) RenewEvery() time.Duration { return 10 * time.Second }
func (h half) Idempotent() time.Duration { return 3 * time.Minute }
func (h half) TakesBack()                {}
func (h half) KeepsLongestLease()        {}
func (h half) ReleaseSetsLease()         {}
func (h half) Lost() <-chan struct{}     { return h.l.(subjects.Loser).Lost(h.owner) }
func (h half) Sharing() locktest.Sharing {
	return locktest.Sharing{LeasePerHold: true, TellsDowngrade: true, RefusesUpgrade: true}
}

func TestHardenedFamily(t *testing.T) {
	for _, s := range []subjects.Subject{subjects.AllSemaphores()[1], subjects.AllPermitSemaphores()[1], subjects.AllLatches()[1], subjects.AllRWLocks()[1]} {
		t.Run(s.Name, func(t *testing.T) { locktest.Run(t, family(s)) })
	}
}

// foreign are clients of objects that the harness has never seen, sound or bad.
func foreign(bad bool) map[history.Object]locktest.NewLock {
	return map[history.Object]locktest.NewLock{
		history.ASemaphore: func(e locktest.Env) (locktest.Client, error) {
			return locktest.Semaphores(func(name string) locktest.Semaphore { return listSemaphore{e.Redis, name, bad} }), nil
		},
		history.APermitSemaphore: func(e locktest.Env) (locktest.Client, error) {
			return locktest.PermitSemaphores(func(name string) locktest.PermitSemaphore { return endSemaphore{e.Redis, name, bad} }), nil
		},
		history.ALatch: func(e locktest.Env) (locktest.Client, error) {
			return locktest.Latches(func(name string) locktest.Latch { return pollLatch{e.Redis, name, bad} }), nil
		},
		history.ARWLock: func(e locktest.Env) (locktest.Client, error) {
			return locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
				l := twoKeys{rdb: e.Redis, keys: []string{name + ":writer", name + ":readers"}, owner: owner, lease: e.WatchdogTimeout, bad: bad}
				w := l
				w.write = true
				return l, w
			}), nil
		},
	}
}

func TestForeignFamily(t *testing.T) {
	drawn := 25
	if testing.Short() {
		drawn = 5
	}
	for is, newLock := range foreign(false) {
		t.Run(string(is), func(t *testing.T) { locktest.Run(t, newLock, locktest.Drawn(drawn)) })
	}
}

// contextless is a client whose commands have not the context of their call.
type contextless struct{ redis.UniversalClient }

func (c contextless) Eval(_ context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.Eval(context.Background(), script, keys, args...)
}

func (c contextless) EvalSha(_ context.Context, digest string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.EvalSha(context.Background(), digest, keys, args...)
}

func (c contextless) SetArgs(_ context.Context, key string, value any, a redis.SetArgs) *redis.StatusCmd {
	return c.UniversalClient.SetArgs(context.Background(), key, value, a)
}

func (c contextless) SetNX(_ context.Context, key string, value any, d time.Duration) *redis.BoolCmd {
	return c.UniversalClient.SetNX(context.Background(), key, value, d)
}

func (c contextless) Get(_ context.Context, key string) *redis.StringCmd {
	return c.UniversalClient.Get(context.Background(), key)
}

func withoutContexts(newLock locktest.NewLock) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		e.Redis = contextless{e.Redis}
		return newLock(e)
	}
}

// Nor are they accused if their commands do not say by a context which call they belong to.
func TestForeignFamilyWithoutContexts(t *testing.T) {
	drawn := 25
	if testing.Short() {
		drawn = 5
	}
	for is, newLock := range foreign(false) {
		t.Run(string(is), func(t *testing.T) { locktest.Run(t, withoutContexts(newLock), locktest.Drawn(drawn)) })
	}
}

func TestForeignFamilyExplored(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 10
	}
	for is, newLock := range foreign(false) {
		t.Run(string(is), func(t *testing.T) { locktest.Explore(t, newLock, locktest.Runs(runs)) })
	}
}

func TestForeignFamilyWithAMistake(t *testing.T) {
	for is, newLock := range foreign(true) {
		for context, newLock := range map[string]locktest.NewLock{"": newLock, "-without-contexts": withoutContexts(newLock)} {
			t.Run(string(is)+context, func(t *testing.T) {
				stories, err := locktest.Accused(t, newLock)
				if err != nil || len(stories) == 0 {
					t.Fatalf("%v: it is accused of nothing", err)
				}
				t.Log(stories[0])
			})
		}
	}
}
