package lockimpl_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// virtualCluster is three servers in one bubble with a third of the slots each, and a client of
// them.
type virtualCluster struct {
	nodes [3]*world
	rdb   *redis.ClusterClient

	mu        sync.Mutex
	pipelines [3][]int // the number of commands in each that was sent to a node
}

const slots = 16384

func newVirtualCluster(w *world) *virtualCluster {
	vc := &virtualCluster{nodes: [3]*world{w, newWorld(w.t, w.generation), newWorld(w.t, w.generation)}}
	addrs := map[string]int{}
	var shards []redis.ClusterSlot
	for i := range vc.nodes {
		addr := fmt.Sprintf("192.0.2.%d:6379", i) // go-redis would replace a loopback address, and look up a name
		addrs[addr] = i
		shards = append(shards, redis.ClusterSlot{Start: i * slots / 3, End: (i+1)*slots/3 - 1, Nodes: []redis.ClusterNode{{Addr: addr}}})
	}
	vc.rdb = redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return shards, nil },
		Dialer: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return vc.nodes[addrs[addr]].connect(ctx, "cluster")
		},
		NewClient: func(o *redis.Options) *redis.Client {
			c := redis.NewClient(o)
			c.AddHook(pipelines(func(n int) {
				vc.mu.Lock()
				defer vc.mu.Unlock()
				i := addrs[o.Addr]
				vc.pipelines[i] = append(vc.pipelines[i], n)
			}))
			return c
		},
		MinRetryBackoff: time.Millisecond,
		MaxRetryBackoff: time.Millisecond,
	})
	w.t.Cleanup(func() { vc.rdb.Close() })
	return vc
}

// sent lists the pipelines to each node since it was last asked.
func (vc *virtualCluster) sent() [3][]int {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	sent := vc.pipelines
	vc.pipelines = [3][]int{}
	return sent
}

// node is where the lock's key is.
func (vc *virtualCluster) node(t *testing.T, lock string) int {
	t.Helper()
	for i, node := range vc.nodes {
		if node.server.Exists(lock) {
			return i
		}
	}
	t.Fatalf("%s is nowhere", lock)
	return 0
}

// pipelines is a hook that is told of the sizes of pipelines, but not of those by which go-redis
// opens connections.
type pipelines func(commands int)

func (pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (told pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" || cmds[0].Name() == "eval" {
			told(len(cmds))
		}
		return next(ctx, cmds)
	}
}

func TestRenewalsInAClusterArePipelinedByNode(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestASilentNodeKeepsOthersHoldsFromRenewal)
		const locks, batch = 60, 12
		vc := newVirtualCluster(w)
		c := w.clientOver(vc.rdb, "a", func(o *lockimpl.Options) { o.WatchdogBatch = batch })
		o := c.Owner(1)
		var on [3]int
		for i := range locks {
			name := fmt.Sprint("lock", i)
			must(t, c.Lock(name).Lock(ctx, o))
			on[vc.node(t, name)]++
		}
		must(t, multi(t, locksOf(c, "{tag}a", "{tag}b", "{tag}c")...).Lock(ctx, o)) // one command for the three
		tagged := vc.node(t, "{tag}a")
		time.Sleep(15 * time.Second) // the script is known now
		vc.sent()
		time.Sleep(10 * time.Second)
		for i, sent := range vc.sent() {
			holds, commands := on[i], on[i]
			if i == tagged {
				holds, commands = holds+3, commands+1
			}
			total := 0
			for _, n := range sent {
				total += n
			}
			if pipelines := (holds + batch - 1) / batch; len(sent) != pipelines || total != commands {
				t.Errorf("node %d, %d holds: pipelines of %v commands, want %d with %d", i, holds, sent, pipelines, commands)
			}
		}
		time.Sleep(time.Minute)
		for i := range locks {
			is(t, true)(c.Lock(fmt.Sprint("lock", i)).IsHeldBy(ctx, o))
		}
		is(t, int64(1))(c.Lock("{tag}c").HoldCount(ctx, o))
	})
}

func TestASilentNodeKeepsNoOthersHoldsFromRenewal(t *testing.T) { // reference list, H6
	eachGeneration(t, func(t *testing.T, w *world) {
		w.lacks(lockimpl.Current, TestASilentNodeKeepsOthersHoldsFromRenewal)
		const locks = 30
		vc := newVirtualCluster(w)
		c := w.clientOver(vc.rdb, "a", func(o *lockimpl.Options) { o.WatchdogBatch = 3 })
		o := c.Owner(1)
		var on [3][]*lockimpl.RLock
		for i := range locks {
			l := c.Lock(fmt.Sprint("lock", i))
			must(t, l.Lock(ctx, o))
			node := vc.node(t, l.Name())
			on[node] = append(on[node], l)
		}
		time.Sleep(15 * time.Second)
		lift := vc.nodes[1].silence("cluster")
		for range 15 {
			time.Sleep(5 * time.Second)
			for _, i := range []int{0, 2} {
				for _, l := range on[i] {
					between(t, 10*time.Second, 30*time.Second)(l.RemainingTTL(ctx))
					if l.Lost(o) != nil && isClosed(l.Lost(o)) {
						t.Fatal("lost")
					}
				}
			}
		}
		for _, l := range on[1] {
			if l.Lost(o) != nil && !isClosed(l.Lost(o)) {
				t.Fatal("not lost")
			}
		}
		lift()
		for _, l := range on[1] {
			must(t, l.Lock(ctx, o))
			is(t, int64(1))(l.HoldCount(ctx, o))
		}
	})
}
