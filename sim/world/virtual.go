package world

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// virtual is a miniredis in this process: keys expire by the clock of the bubble that it is made in,
// or by the wall clock outside of one.
type virtual struct {
	redis    *miniredis.Miniredis
	now      func() time.Duration // of the run
	admin    net.Conn             // for what faults do
	skew     time.Duration        // how far its clock is ahead
	replicas []*replica
	touched  touched // since the replicas were last told
	conns    []*conn // all that ever were
	fail     func(error)
}

func (w *World) newVirtual(p plan.Server, runSeed uint64) (*virtual, error) {
	v := &virtual{redis: miniredis.NewMiniRedis(), now: w.Now, fail: w.Fail}
	v.redis.ClockTTL(true)
	v.redis.Seed(int(runSeed))
	var err error
	if v.admin, err = v.redis.Dial(); err != nil { // starts it without a listener
		return nil, fmt.Errorf("miniredis: %w", err)
	}
	for range p.Replicas {
		v.replicas = append(v.replicas, &replica{lag: p.Lag.Duration(), keys: map[string]value{}})
	}
	runScripts(v.redis, v.sees())
	return v, nil
}

// sees is what is to be called with each command; nil: nobody asks.
func (v *virtual) sees() func(name string, args []string) {
	if len(v.replicas) == 0 {
		return nil
	}
	v.touched.keys = map[string]bool{}
	return v.touched.command
}

func (v *virtual) serve(end *network.End) {
	c := &conn{server: v.redis.Server(), end: end, peer: mini.NewPeer(bufio.NewWriter(end)), info: v.info, fail: v.fail}
	v.conns = append(v.conns, c)
	end.Serve(c)
}

// info is what clients ask for who want to know whether a server is a master, and with how many replicas: Redisson does, to send
// WAIT. It has the same sections whichever are asked for.
func (v *virtual) info() string {
	return fmt.Sprintf("# Server\r\nredis_version:8.4.0\r\nredis_mode:standalone\r\n\r\n# Replication\r\nrole:master\r\nconnected_slaves:%d\r\n", len(v.replicas))
}

// tick sets the server's clock, if it is not that of the run.
func (v *virtual) tick() {
	if v.skew != 0 {
		v.redis.SetTime(time.Now().Add(v.skew))
	}
}

func (v *virtual) do(args ...string) (string, error) {
	v.tick()
	if args[0] == "FLUSHALL" { // other than Redis's, miniredis's tells no transaction that watches a key
		for _, key := range v.redis.Keys() {
			v.redis.Del(key)
		}
	}
	v.admin.Write(wireCommand(args)) // a pipe that the server reads: it neither fails nor blocks for long
	return bufio.NewReader(v.admin).ReadString('\n')
}

func (v *virtual) read(key string) (value, error) {
	v.tick()
	got := value{key: key, kind: v.redis.Type(key)}
	switch got.kind {
	case "hash":
		got.fields = map[string]string{}
		fields, _ := v.redis.HKeys(key)
		for _, f := range fields {
			got.fields[f] = v.redis.HGet(key, f)
		}
	case "string":
		got.text, _ = v.redis.Get(key)
	case "list":
		items, _ := v.redis.List(key)
		got.items = slices.Clone(items) // what miniredis gives it goes on with
	case "set":
		got.items, _ = v.redis.Members(key)
	case "zset":
		scores, _ := v.redis.SortedSet(key)
		got.scores = maps.Clone(scores)
	case "stream":
		entries, _ := v.redis.Stream(key)
		for _, e := range entries {
			got.entries = append(got.entries, entry{e.ID, slices.Clone(e.Values)})
		}
	}
	if ttl := v.redis.TTL(key); ttl > 0 {
		got.deadline = v.now() + ttl
	}
	return got, nil
}

func (v *virtual) stored() ([]string, error) { return v.redis.Keys(), nil }

// stop and start have nothing to do: nobody reaches a server whose network refuses connections.
func (v *virtual) stop() error  { return nil }
func (v *virtual) start() error { return nil }

func (v *virtual) jump(by time.Duration, _ []string) error {
	v.skew += by
	v.touched.everything() // each lease ends at another time now
	return nil
}

func (v *virtual) close() {
	v.admin.Close()
	for _, c := range v.conns {
		c.Gone()
	}
	v.redis.Close()
}
