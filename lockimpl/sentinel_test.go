//go:build unix

package lockimpl_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// sentinel is a master, a replica and a Sentinel that watches them.
type sentinel struct {
	master, replica, watcher *redisserver.Server
}

func newSentinel(t *testing.T) *sentinel {
	t.Helper()
	s := &sentinel{master: startServer(t, redisserver.Options{}), replica: startServer(t, redisserver.Options{})}
	must(t, s.replica.ReplicaOf(ctx, s.master))
	program, err := redisserver.Find("")
	must(t, err)
	named := filepath.Join(t.TempDir(), "redis-sentinel") // under this name the program is one
	must(t, os.Symlink(program, named))
	host, port, err := net.SplitHostPort(s.master.Addr())
	must(t, err)
	s.watcher = startServer(t, redisserver.Options{Path: named, Config: []string{
		fmt.Sprintf("sentinel monitor lock %s %s 1", host, port),
		"sentinel down-after-milliseconds lock 500",
		"sentinel failover-timeout lock 10000",
	}})
	watcher := redis.NewSentinelClient(&redis.Options{Addr: s.watcher.Addr()})
	defer watcher.Close()
	eventually(t, "Sentinel knows the replica", func() error {
		replicas, err := watcher.Replicas(ctx, "lock").Result()
		if err == nil && (len(replicas) != 1 || replicas[0]["master-link-status"] != "ok") {
			err = fmt.Errorf("%v", replicas)
		}
		return err
	})
	return s
}

func (s *sentinel) client(t *testing.T, g lockimpl.Generation, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	t.Helper()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "lock", SentinelAddrs: []string{s.watcher.Addr()}})
	t.Cleanup(func() { rdb.Close() })
	o := lockimpl.Options{Generation: g}
	for _, opt := range opts {
		opt(&o)
	}
	c, err := lockimpl.New(rdb, o)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// failover kills the master, and returns when the replica is one.
func (s *sentinel) failover(t *testing.T) {
	t.Helper()
	s.master.Kill()
	rdb := s.replica.Client()
	eventually(t, "the replica is promoted", func() error {
		if role := rdb.Info(ctx, "replication").Val(); !strings.Contains(role, "role:master") {
			return errors.New(role)
		}
		return nil
	})
}

// A hold that was replicated outlives its server: it is renewed on the new one, excludes others
// there, and its release wakes who has waited since before.
func TestLocksGoOnAfterASentinelFailover(t *testing.T) {
	t.Parallel() // it mostly waits
	s := newSentinel(t)
	rdb := s.master.Client()
	type contest struct {
		a, b *lockimpl.Client
		l    *lockimpl.RLock
		lost <-chan struct{} // nil in the faithful generations
		got  chan error
	}
	var contests []contest
	for _, g := range generations {
		c := contest{a: s.client(t, g), b: s.client(t, g), got: make(chan error, 1)}
		c.l = c.a.Lock(string(g))
		must(t, c.l.Lock(ctx, c.a.Owner(1)))
		c.lost = c.l.Lost(c.a.Owner(1))
		go func() { c.got <- c.b.Lock(string(g)).Lock(ctx, c.b.Owner(1)) }()
		channel := "redisson_lock__channel:{" + string(g) + "}"
		eventually(t, "the waiter has subscribed", func() error {
			want := int64(1)
			if c.lost != nil {
				want++ // the holder's client listens, too
			}
			if n := rdb.PubSubNumSub(ctx, channel).Val()[channel]; n < want {
				return fmt.Errorf("%d subscribers", n)
			}
			return nil
		})
		contests = append(contests, c)
	}
	is(t, int64(1))(rdb.Wait(ctx, 1, 30*time.Second).Result())
	s.failover(t)
	for _, c := range contests {
		eventually(t, "the client finds the new master", func() error {
			held, err := c.l.IsHeldBy(ctx, c.a.Owner(1))
			if err == nil && !held {
				t.Fatal("not held")
			}
			return err
		})
		is(t, false)(c.l.TryLock(ctx, c.a.Owner(2)))
		select {
		case <-c.lost:
			t.Fatal("called lost")
		case err := <-c.got:
			t.Fatal("acquired by another", err)
		default:
		}
	}
	last := time.Hour
	c := contests[len(contests)-1]
	eventually(t, "the hold is renewed on the new master", func() error {
		ttl, err := c.l.RemainingTTL(ctx)
		if err == nil && ttl <= last {
			last, err = ttl, errors.New("not renewed")
		}
		return err
	})
	for _, c := range contests {
		is(t, true)(c.l.Unlock(ctx, c.a.Owner(1)))
		select {
		case err := <-c.got:
			must(t, err)
		case <-time.After(60 * time.Second): // a lease, if the release came before the subscription
			t.Fatal("the waiter was not woken")
		}
		is(t, true)(c.b.Lock(c.l.Name()).Unlock(ctx, c.b.Owner(1)))
	}
}

// A hold that was not replicated is lost with its server. Hardened says so; with the faithful
// generations the unlock does.
func TestAHoldLostInASentinelFailoverIsTold(t *testing.T) {
	t.Parallel() // it mostly waits
	s := newSentinel(t)
	old := s.master.Client()
	clients := make([]*lockimpl.Client, len(generations))
	for i, g := range generations {
		clients[i] = s.client(t, g, func(o *lockimpl.Options) { o.WatchdogTimeout = 15 * time.Second })
		is(t, true)(clients[i].Lock("before").TryLock(ctx, clients[i].Owner(1))) // connected
		is(t, true)(clients[i].Lock("before").Unlock(ctx, clients[i].Owner(1)))
	}
	// The replica stops, and its connection ends: what is written now is only on the master.
	must(t, s.replica.Pause())
	must(t, old.ClientKillByFilter(ctx, "type", "replica").Err())
	tokens := make([]int64, len(generations))
	works := make([]<-chan struct{}, len(generations))
	for i, g := range generations {
		l, o := clients[i].Lock(string(g)), clients[i].Owner(1)
		must(t, l.Lock(ctx, o))
		tokens[i], _ = l.Token(o)
		work, cancel := l.HoldContext(ctx, o)
		defer cancel()
		works[i] = work.Done()
	}
	began := time.Now()
	s.master.Kill()
	must(t, s.replica.Resume())
	s.failover(t)
	for i, g := range generations {
		l, o := clients[i].Lock(string(g)), clients[i].Owner(1)
		if g == lockimpl.Hardened {
			select {
			case <-works[i]:
				if d := time.Since(began); d > 15*time.Second {
					t.Fatalf("told after %v, when the lease was over", d)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("not told")
			}
		}
		eventually(t, "the client finds the new master", func() error {
			_, err := l.Unlock(ctx, o)
			if err == nil {
				t.Fatal("what was lost was unlocked")
			}
			if errors.Is(err, lockimpl.ErrNotHeld) {
				return nil
			}
			return err
		})
		must(t, l.Lock(ctx, o))
		if token, _ := l.Token(o); g == lockimpl.Hardened && token <= tokens[i] {
			t.Fatalf("token %d after %d", token, tokens[i]) // the counter was lost with the hold
		}
		is(t, true)(l.Unlock(ctx, o))
	}
}
