package locktest_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// waiting is a lock that waits by the pub/sub of go-redis, which holds a mutex while it connects, and pings.
type waiting struct {
	env         locktest.Env
	rdb         redis.UniversalClient
	mu          *sync.Mutex // held all along, if there is one
	name, owner string
	grants      int
	value       string
}

var release = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then
	redis.call('del', KEYS[1]) redis.call('publish', KEYS[1] .. ':free', '1') return 1 end return 0`)

func (l *waiting) Acquire(ctx context.Context, r locktest.Request) error {
	if l.mu != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
	}
	l.grants++
	value := l.owner + strings.Repeat("+", l.grants)
	var freed <-chan *redis.Message
	for begun := time.Now(); ; {
		got, err := l.rdb.SetNX(ctx, l.name, value, cmp.Or(r.Lease, l.env.WatchdogTimeout)).Result()
		switch {
		case got:
			l.value = value
			return nil
		case err != nil:
			return err
		case !r.Forever && time.Since(begun) >= r.Wait:
			return locktest.ErrBusy
		}
		if freed == nil {
			sub := l.rdb.Subscribe(ctx, l.name+":free")
			defer sub.Close()
			freed = sub.Channel()
		}
		select {
		case <-freed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *waiting) Release(ctx context.Context) error {
	n, err := release.Run(ctx, l.rdb, []string{l.name}, l.value).Int()
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

// waitingBy is such a lock over a client that connect makes.
func waitingBy(connect func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error)) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		rdb, mu, err := connect(e)
		return closing{locktest.Locks(func(name, owner string) locktest.Lock {
			return &waiting{env: e, rdb: rdb, mu: mu, name: name, owner: owner}
		}), rdb}, err
	}
}

type closing struct {
	locktest.Client
	rdb redis.UniversalClient
}

func (c closing) Close() error { return c.rdb.Close() }

// What locks do that a bubble does not take for rest, sound locks get a verdict with.
func TestALockMayHoldMutexesAndConnectAsItLikes(t *testing.T) {
	for name, connect := range map[string]func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error){
		"pub/sub of go-redis": func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error) { return e.Redis, nil, nil },
		"a mutex all along":   func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error) { return e.Redis, new(sync.Mutex), nil },
		"an eager connection": func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error) {
			return e.Redis, nil, e.Redis.Ping(context.Background()).Err()
		},
		"a host's name, and a dial with a background context": func(e locktest.Env) (redis.UniversalClient, *sync.Mutex, error) {
			return redis.NewClient(&redis.Options{Addr: "localhost:6379", Dialer: func(context.Context, string, string) (net.Conn, error) {
				return e.Dial(context.Background())
			}}), nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{"baseline", "partition-holder", "gc-pause", "closed-connections", "many-waiters", "redis-down"}
			if name == "pub/sub of go-redis" {
				names = append(names, "holder-crash", "drawn-with")
			}
			if err := locktest.Inside(t, waitingBy(connect), locktest.Only(names...), locktest.Drawn(6)); err != nil {
				t.Error(err)
			}
		})
	}
}

// together is a lock whose waiters share the one subscription of their client, as clients of a busy service do.
type together struct {
	waiting
	shared *redis.PubSub
}

func (l *together) Acquire(ctx context.Context, r locktest.Request) error {
	for begun := time.Now(); ; {
		err := l.waiting.Acquire(ctx, locktest.Request{Lease: r.Lease})
		if !errors.Is(err, locktest.ErrBusy) || !r.Forever && time.Since(begun) >= r.Wait {
			return err
		}
		if err := l.shared.Subscribe(ctx, l.name+":free"); err != nil && ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// go-redis has a subscription's mutex while it connects: whoever subscribes besides waits for that, and no time passes.
func TestASharedSubscriptionMayConnectUnderFaults(t *testing.T) {
	shared := func(e locktest.Env) (locktest.Client, error) {
		sub := e.Redis.Subscribe(context.Background())
		sub.Channel()
		return subscribed{locktest.Locks(func(name, owner string) locktest.Lock {
			return &together{waiting{env: e, rdb: e.Redis, name: name, owner: owner}, sub}
		}), sub}, nil
	}
	locktest.Explore(t, shared, locktest.Seed(34), locktest.Runs(4))
}

type subscribed struct {
	locktest.Client
	sub *redis.PubSub
}

func (c subscribed) Close() error { return c.sub.Close() }

// What no verdict can be had of is told in one line, with the goroutine and where it was started.
func TestWhoStandsInTheWayIsNamed(t *testing.T) {
	real := make(chan struct{}) // nobody sends
	for _, c := range []struct {
		name string
		made func(e locktest.Env)
		want string
	}{
		{"left behind", func(locktest.Env) { go func() { <-make(chan int) }() }, "left behind after Close: the goroutine locktest_test.TestWhoStandsInTheWayIsNamed.func1.1, started at locktest/stall_test.go:"},
		{"sleeping under a mutex", func(locktest.Env) {
			var mu sync.Mutex
			for range 2 {
				go func() {
					mu.Lock()
					defer mu.Unlock()
					time.Sleep(time.Second)
				}()
			}
		}, "virtual time stands still while anybody waits for a mutex, and its holder sleeps: the goroutine locktest_test.TestWhoStandsInTheWayIsNamed.func2.1, started at locktest/stall_test.go:"},
		{"waiting for the real world", func(locktest.Env) { go func() { <-real }() }, "the goroutine locktest_test.TestWhoStandsInTheWayIsNamed.func3.1, started at locktest/stall_test.go:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
				c.made(e)
				return newRedislock(e)
			}, locktest.Only("baseline"), locktest.Drawn(0))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it is told: %v", err)
			}
			t.Logf("after %v", time.Since(begun))
		})
	}
	close(real)
}

// Who connects again and again, with a context that never ends, is refused when the run is over.
func TestWhoConnectsForEverIsRefusedInTheEnd(t *testing.T) {
	var refused atomic.Int64
	stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
		go func() {
			for {
				conn, err := e.Dial(context.Background())
				if err != nil {
					refused.Add(1)
					return
				}
				conn.Close()
				time.Sleep(10 * time.Second)
			}
		}()
		return newRedislock(e)
	}, locktest.Only("baseline"), locktest.Drawn(0))
	if err != nil || len(stories) > 0 || refused.Load() == 0 {
		t.Errorf("%d refused; %v: %q", refused.Load(), err, stories)
	}
}

// A call that does not come back is told as such.
func TestACallThatNeverReturnsIsNamed(t *testing.T) {
	err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return locktest.Funcs{
				Try: func(ctx context.Context, lease time.Duration) error {
					return e.Redis.SetNX(ctx, name, owner, lease).Err()
				},
				Unlock: func(context.Context) error { <-make(chan int); return nil },
				Lease:  e.WatchdogTimeout,
			}
		}), nil
	}, locktest.Only("baseline"), locktest.Drawn(0))
	want := "the unlock of locktest by c1:1, called at 1.0"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " never returned: left behind after Close: the goroutine locktest_test.TestACallThatNeverReturnsIsNamed") {
		t.Errorf("it is told: %v", err)
	}
}

// setNX is one attempt.
func setNX(e locktest.Env, name, owner string) func(ctx context.Context, lease time.Duration) error {
	return func(ctx context.Context, lease time.Duration) error {
		if ok, err := e.Redis.SetNX(ctx, name, owner, lease).Result(); ok || err != nil {
			return err
		}
		return locktest.ErrBusy
	}
}

// A call whose goroutine was left behind is told of, rather than one that was called before it and returned when the run was over.
func TestOfCallsUnderWayTheOneLeftBehindIsNamed(t *testing.T) {
	var waiting atomic.Bool
	err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			try := setNX(e, name, owner)
			return locktest.Funcs{
				Try: try,
				Wait: func(ctx context.Context, lease time.Duration) error {
					err := try(ctx, lease)
					if err != locktest.ErrBusy {
						return err
					}
					waiting.Store(true)
					<-ctx.Done()
					return err
				},
				Unlock: func(ctx context.Context) error {
					if waiting.Load() {
						<-make(chan int)
					}
					return e.Redis.Del(ctx, name).Err()
				},
				Lease: e.WatchdogTimeout,
			}
		}), nil
	}, locktest.Only("baseline"), locktest.Drawn(0))
	if err == nil || !strings.Contains(err.Error(), "the unlock of order:42 by c1:1, called at 5.") ||
		!strings.Contains(err.Error(), " never returned: left behind after Close: the goroutine locktest_test.TestOfCallsUnderWayTheOneLeftBehindIsNamed") {
		t.Errorf("it is told: %v", err)
	}
}

// A lock that is woken by what Redis tells of its keys is refused, since the server of virtual time tells nothing: its waiters were
// accused of not waking.
func TestALockThatNeedsKeyspaceNotificationsIsRefused(t *testing.T) {
	for _, channel := range []string{"__keyspace*:order", "__keyevent@0__:del", "order"} {
		err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
			return locktest.Locks(func(name, owner string) locktest.Lock {
				try := setNX(e, name, owner)
				return locktest.Funcs{
					Try: try,
					Wait: func(ctx context.Context, lease time.Duration) error {
						for err := try(ctx, lease); ; err = try(ctx, lease) {
							if err != locktest.ErrBusy || ctx.Err() != nil {
								return err
							}
							s := e.Redis.PSubscribe(ctx, channel)
							select {
							case <-s.Channel():
							case <-time.After(100 * time.Millisecond):
							case <-ctx.Done():
							}
							s.Close()
						}
					},
					Unlock: func(ctx context.Context) error {
						if n, err := e.Redis.Eval(ctx, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", []string{name}, owner).Int(); err != nil || n > 0 {
							return err
						}
						return locktest.ErrNotHeld
					},
					Lease: e.WatchdogTimeout,
				}
			}), nil
		}, locktest.Only("baseline"), locktest.Drawn(0))
		want := " subscribes to " + channel + ", and the server of this world has no keyspace notifications"
		if channel == "order" {
			if err != nil {
				t.Errorf("%s: %v", channel, err)
			}
		} else if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%s: %v", channel, err)
		}
	}
}

// A lock that comes to a stop after others have failed: what was found is told, and nothing waits for each plan anew.
func TestWhatWasFoundBeforeAStopIsTold(t *testing.T) {
	real := make(chan struct{})
	defer close(real)
	made := 0
	err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
		if made++; made > 20 {
			go func() { <-real }()
		}
		return claiming(e)
	}, locktest.Only("lost-unlock-reply", "many-waiters", "canceled-waiter"), locktest.Drawn(0))
	var f *locktest.Failure
	if !errors.As(err, &f) || f.Guarantee != "object" || len(f.Violations) == 0 {
		t.Errorf("what was found: %v", err)
	}
	if n := strings.Count(err.Error(), "came to a stop"); n != 1 {
		t.Errorf("it is told %d times that a run came to a stop", n)
	}
}

// restless is a lock with a goroutine that sends what go-redis refuses to send, and tries again at once.
type restless struct{ waiting }

func (l *restless) Acquire(ctx context.Context, r locktest.Request) error {
	err := l.waiting.Acquire(ctx, r)
	if err == nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		go func() {
			for l.rdb.Get(over, l.name).Err() == context.Canceled {
			}
		}()
	}
	return err
}

// impatient is a lock that asks again as soon as it was refused.
type impatient struct{ waiting }

func (l *impatient) Acquire(ctx context.Context, r locktest.Request) error {
	for begun := time.Now(); ; {
		err := l.waiting.Acquire(ctx, locktest.Request{Lease: r.Lease})
		if !errors.Is(err, locktest.ErrBusy) || !r.Forever && time.Since(begun) >= r.Wait {
			return err
		}
	}
}

// A call that waits so ends the run, and is what the lock is accused of.
func TestALockThatAsksWithoutAPauseIsJudged(t *testing.T) {
	err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return &impatient{waiting{env: e, rdb: e.Redis, name: name, owner: owner}}
		}), nil
	}, locktest.Only("baseline"), locktest.Drawn(0))
	var f *locktest.Failure
	if !errors.As(err, &f) || f.Guarantee != "liveness" {
		t.Fatalf("%v", err)
	}
	for _, what := range []string{"sent 10,000 commands within ", "locktest_test.(*impatient).Acquire, started at "} {
		if !strings.Contains(err.Error(), what) {
			t.Errorf("%q is not in: %v", what, err)
		}
	}
}

// Time does not pass while somebody sends one command after the other: the run ends, and names him.
func TestALockThatNeverPausesIsNamed(t *testing.T) {
	err := locktest.Inside(t, func(e locktest.Env) (locktest.Client, error) {
		return locktest.Locks(func(name, owner string) locktest.Lock {
			return &restless{waiting{env: e, rdb: e.Redis, name: name, owner: owner}}
		}), nil
	}, locktest.Only("baseline"), locktest.Drawn(0))
	for _, what := range []string{"sends one command after the other and waits for nothing in between: 10000 within ", "the last of them get ",
		"locktest_test.(*restless).Acquire.func1, started at locktest/stall_test.go:"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q is not in: %v", what, err)
		}
	}
}
