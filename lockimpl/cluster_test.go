package lockimpl_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// cluster is a real Cluster of three masters, each with a third of the slots, and perhaps a replica
// of the first.
type cluster struct {
	nodes   []*redis.Client // the masters, as they were at first
	servers []*redisserver.Server
	ids     []string
	rdb     *redis.ClusterClient
}

func newCluster(t *testing.T, replicas int) *cluster {
	t.Helper()
	c := &cluster{}
	n := 3 + replicas
	addrs := make([]string, n)
	for i := range n {
		s := startServer(t, redisserver.Options{Second: "cluster-port", Config: []string{
			"cluster-enabled yes", "cluster-replica-validity-factor 0",
		}})
		node := s.Client()
		must(t, node.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		id, err := node.ClusterMyID(ctx).Result()
		must(t, err)
		c.nodes, c.servers, c.ids, addrs[i] = append(c.nodes, node), append(c.servers, s), append(c.ids, id), s.Addr()
	}
	for i, node := range c.nodes {
		if i < 3 {
			must(t, node.ClusterAddSlotsRange(ctx, i*slots/3, (i+1)*slots/3-1).Err())
		}
		host, port, err := net.SplitHostPort(addrs[i])
		must(t, err)
		must(t, c.nodes[0].Do(ctx, "cluster", "meet", host, port, c.servers[i].SecondPort()).Err())
	}
	for i, node := range c.nodes {
		eventually(t, "the nodes know each other", func() error {
			if known := strings.Count(node.ClusterNodes(ctx).Val(), "connected"); known != n {
				return fmt.Errorf("%d connected", known)
			}
			if i < 3 {
				return nil
			}
			return node.ClusterReplicate(ctx, c.ids[0]).Err()
		})
	}
	for _, node := range c.nodes {
		eventually(t, "the Cluster is whole", func() error {
			info, nodes := node.ClusterInfo(ctx).Val(), node.ClusterNodes(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") || strings.Count(nodes, "slave") != replicas {
				return errors.New(info + nodes)
			}
			return nil
		})
	}
	// A master that is about to hand over lets its clients wait. What they send must not be sent again.
	c.rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.rdb.Close() })
	c.flush(t)
	return c
}

// flush removes what earlier tests left.
func (c *cluster) flush(t *testing.T) {
	t.Helper()
	must(t, c.rdb.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		return master.FlushAll(ctx).Err()
	}))
}

// client is a lock client over a Cluster client of its own, which learns the slots by itself.
func (c *cluster) client(t *testing.T, g lockimpl.Generation, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	t.Helper()
	rdb := redis.NewClusterClient(c.rdb.Options())
	t.Cleanup(func() { rdb.Close() })
	o := lockimpl.Options{Generation: g}
	for _, opt := range opts {
		opt(&o)
	}
	client, err := lockimpl.New(rdb, o)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// names returns a name on each of the three masters.
func (c *cluster) names(t *testing.T) []string {
	t.Helper()
	names := make([]string, 3)
	for i, found := 0, 0; found < 3; i++ {
		name := fmt.Sprint("lock", i)
		if node := c.slot(t, name) * 3 / slots; names[node] == "" {
			names[node] = name
			found++
		}
	}
	return names
}

func (c *cluster) slot(t *testing.T, key string) int {
	t.Helper()
	slot, err := c.rdb.ClusterKeySlot(ctx, key).Result()
	must(t, err)
	return int(slot)
}

// calls is how many scripts the masters have been called for since the last time.
func (c *cluster) calls(t *testing.T) (calls []int) {
	t.Helper()
	for _, node := range c.nodes {
		info, err := node.Info(ctx, "commandstats").Result()
		must(t, err)
		n := 0
		for line := range strings.Lines(info) {
			if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
				_, err := fmt.Sscan(strings.Split(rest, ",")[0], &n)
				must(t, err)
			}
		}
		must(t, node.ConfigResetStat(ctx).Err())
		calls = append(calls, n)
	}
	return calls
}

// move moves a slot and what is in it from one master to another.
func (c *cluster) move(t *testing.T, slot, from, to int) {
	t.Helper()
	set := func(node int, args ...any) {
		t.Helper()
		must(t, c.nodes[node].Do(ctx, append([]any{"cluster", "setslot", slot}, args...)...).Err())
	}
	set(to, "importing", c.ids[from])
	set(from, "migrating", c.ids[to])
	keys, err := c.nodes[from].ClusterGetKeysInSlot(ctx, slot, 100).Result()
	must(t, err)
	if len(keys) > 0 {
		host, port, err := net.SplitHostPort(c.servers[to].Addr())
		must(t, err)
		migrate := []any{"migrate", host, port, "", 0, 5000, "keys"}
		for _, key := range keys {
			migrate = append(migrate, key)
		}
		must(t, c.nodes[from].Do(ctx, migrate...).Err())
	}
	for _, node := range []int{to, from, 3 - from - to} {
		set(node, "node", c.ids[to])
	}
}

// RedissonLockTest.testInCluster, and what issue 3 asks of locks in a Cluster.
func TestInCluster(t *testing.T) {
	t.Parallel() // it mostly waits
	c := newCluster(t, 0)
	names := c.names(t)
	for _, property := range []struct {
		name string
		test func(t *testing.T, g lockimpl.Generation)
	}{
		{"testInCluster", func(t *testing.T, g lockimpl.Generation) {
			for _, name := range names { // MultiLocks in several slots
				story(t, c.rdb, g, name)
			}
		}},
		{"testInClusterOneSlot", func(t *testing.T, g lockimpl.Generation) {
			story(t, c.rdb, g, "{tag}lock")
		}},
		{"everyNodesReleasesAreHeard", func(t *testing.T, g lockimpl.Generation) {
			// One subscription connection, to one node, hears of the releases on all three.
			a, b := c.client(t, g), c.client(t, g)
			got := make(chan error, len(names))
			for i, name := range names {
				must(t, a.Lock(name).Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
				go func() { got <- b.Lock(name).Lock(ctx, b.Owner(int64(i))) }()
				channel := "redisson_lock__channel:{" + name + "}"
				eventually(t, "the waiter has subscribed", func() error { return c.subscribed(channel) })
			}
			for _, name := range names {
				is(t, true)(a.Lock(name).Unlock(ctx, a.Owner(1)))
				select {
				case err := <-got:
					must(t, err)
				case <-time.After(30 * time.Second):
					t.Fatalf("the release of %s was not heard of", name)
				}
			}
		}},
		{"multiLockInOneSlotTakesOneScript", func(t *testing.T, g lockimpl.Generation) {
			a := c.client(t, g)
			calls := func(locks ...string) int {
				m := multi(t, locksOf(a, locks...)...)
				pair := func() {
					must(t, m.Lock(ctx, a.Owner(1)))
					is(t, len(locks))(m.Unlock(ctx, a.Owner(1)))
				}
				pair() // the scripts are known now
				c.calls(t)
				pair()
				sum := 0
				for _, n := range c.calls(t) {
					sum += n
				}
				return sum
			}
			together := 2
			if g != lockimpl.Hardened {
				together = 6 // the faithful take them one by one
			}
			if n := calls("{tag}a", "{tag}b", "{tag}c"); n != together {
				t.Errorf("%d scripts for three locks of one slot", n)
			}
			if n := calls(names...); n != 6 {
				t.Errorf("%d scripts for three locks of three slots", n)
			}
		}},
		{"multiLockOverSlotsLeavesNothing", func(t *testing.T, g lockimpl.Generation) {
			a, b := c.client(t, g), c.client(t, g)
			m := multi(t, locksOf(a, names...)...)
			for i, busy := range names {
				must(t, b.Lock(busy).Lock(ctx, b.Owner(1)))
				is(t, false)(m.TryLock(ctx, a.Owner(1)))
				for j, name := range names {
					is(t, i == j)(a.Lock(name).IsLocked(ctx))
				}
				is(t, true)(b.Lock(busy).Unlock(ctx, b.Owner(1)))
			}
			is(t, true)(m.TryLock(ctx, a.Owner(1)))
			is(t, 3)(m.Unlock(ctx, a.Owner(1)))
		}},
	} {
		t.Run(property.name, func(t *testing.T) {
			for _, g := range generations {
				t.Run(string(g), func(t *testing.T) {
					c.flush(t)
					property.test(t, g)
				})
			}
		})
	}
	// What takes its time happens to all generations at once.
	t.Run("aSlotThatMovesTakesItsLocksAlong", func(t *testing.T) {
		c.flush(t)
		type contest struct {
			a, b *lockimpl.Client
			l    *lockimpl.RLock
			lost <-chan struct{} // nil in the faithful generations
			got  chan error
		}
		var contests []contest
		for _, g := range generations {
			a := c.client(t, g, func(o *lockimpl.Options) { o.WatchdogTimeout = 6 * time.Second })
			l := a.Lock("{" + names[0] + "}" + string(g))
			must(t, l.Lock(ctx, a.Owner(1)))
			w := contest{a: a, b: c.client(t, g), l: l, lost: l.Lost(a.Owner(1)), got: make(chan error, 1)}
			go func() { w.got <- w.b.Lock(l.Name()).Lock(ctx, w.b.Owner(1)) }()
			eventually(t, "the waiter has subscribed", func() error { return c.subscribed("redisson_lock__channel:" + l.Name()) })
			contests = append(contests, w)
		}
		slot := c.slot(t, names[0])
		c.move(t, slot, 0, 1)
		defer c.move(t, slot, 1, 0)
		last, renewed := make([]time.Duration, len(contests)), make([]int, len(contests))
		eventually(t, "all holds are renewed where they are now", func() error {
			for i, w := range contests {
				ttl, err := w.l.RemainingTTL(ctx)
				must(t, err)
				if last[i] > 0 && ttl > last[i] {
					renewed[i]++
				}
				last[i] = ttl
			}
			if slices.Min(renewed) < 2 {
				return fmt.Errorf("%v renewals", renewed)
			}
			return nil
		})
		for _, w := range contests {
			is(t, int64(1))(w.l.HoldCount(ctx, w.a.Owner(1)))
			select {
			case <-w.lost:
				t.Fatal("lost")
			default:
			}
			is(t, true)(w.l.Unlock(ctx, w.a.Owner(1)))
			must(t, <-w.got)
			is(t, true)(w.b.Lock(w.l.Name()).Unlock(ctx, w.b.Owner(1)))
		}
	})
	t.Run("manyHoldsAreRenewed", func(t *testing.T) {
		c.flush(t)
		const locks = 200
		holders := make([]*lockimpl.Client, len(generations))
		name := func(holder, lock int) string { return fmt.Sprint("held", holder, ":", lock) }
		for i, g := range generations {
			holders[i] = c.client(t, g, func(o *lockimpl.Options) { o.WatchdogTimeout = 6 * time.Second })
			for j := range locks {
				must(t, holders[i].Lock(name(i, j)).Lock(ctx, holders[i].Owner(1)))
			}
		}
		c.calls(t)
		renewed := 0
		eventually(t, "all are renewed for longer than a lease", func() error {
			for _, n := range c.calls(t) {
				renewed += n
			}
			if renewed < 4*locks*len(holders) {
				return fmt.Errorf("%d renewals", renewed)
			}
			return nil
		})
		for i, holder := range holders {
			for j := range locks {
				is(t, true)(holder.Lock(name(i, j)).Unlock(ctx, holder.Owner(1)))
			}
		}
	})
	t.Run("fencedLock", func(t *testing.T) {
		c.flush(t)
		a := c.client(t, lockimpl.Hardened)
		for _, name := range names {
			l := a.FencedLock(name)
			for token := range int64(3) {
				is(t, token+1)(l.LockAndGetToken(ctx, a.Owner(1)))
				is(t, true)(l.Unlock(ctx, a.Owner(1)))
			}
		}
	})
}

// subscribed reports whether a client of any node listens on the channel.
func (c *cluster) subscribed(channel string) error {
	for _, node := range c.nodes {
		if n, err := node.PubSubNumSub(ctx, channel).Result(); err == nil && n[channel] > 0 {
			return nil
		}
	}
	return errors.New("nobody listens")
}

// RedissonLockTest.testLockFailoverInCluster: lock and unlock thirty times while a replica takes over.
func TestLockFailoverInCluster(t *testing.T) {
	t.Parallel() // it mostly waits
	c := newCluster(t, 1)
	heir := c.nodes[3]
	replicates := func(what string) {
		eventually(t, what, func() error {
			if info := heir.Info(ctx, "replication").Val(); !strings.Contains(info, what) {
				return errors.New(info)
			}
			return nil
		})
	}
	replicates("master_link_status:up")
	began, name := make(chan struct{}, len(generations)), c.names(t)[0]
	var clients []*lockimpl.Client
	for _, g := range generations {
		clients = append(clients, c.client(t, g))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		each(len(clients), func(i int) {
			a := clients[i]
			l, o := a.Lock("{"+name+"}"+fmt.Sprint(i)), a.Owner(1)
			for n := range 30 {
				if n == 10 {
					began <- struct{}{}
				}
				if ok, err := l.TryLock(ctx, o, lockimpl.Wait(30*time.Second)); !ok || err != nil {
					t.Errorf("%s: lock %d: %v, %v", generations[i], n, ok, err)
					return
				}
				if released, err := l.Unlock(ctx, o); !released || err != nil {
					t.Errorf("%s: unlock %d: %v, %v", generations[i], n, released, err)
					return
				}
			}
		})
	}()
	select {
	case <-began:
	case <-done: // with errors
	}
	must(t, heir.ClusterFailover(ctx).Err())
	<-done
	replicates("role:master")
	for _, a := range clients {
		is(t, true)(a.Lock(name).TryLock(ctx, a.Owner(1), lockimpl.Wait(30*time.Second)))
		is(t, true)(a.Lock(name).Unlock(ctx, a.Owner(1)))
	}
}
