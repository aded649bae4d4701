package lockimpl

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// What is different where keys are spread over several servers: one script may touch the keys of one
// hash tag only, and one server may fail while the others go on. Waiting is not different: a Cluster
// passes what is published on to all its nodes, so one subscription connection hears of all locks.

// oneServer reports whether all keys are on one server.
func (c *Client) oneServer() bool {
	_, one := c.rdb.(*redis.Client)
	return one
}

// shards splits holds by the servers that their locks are on, as far as that is known.
func (c *Client) shards(due []renewal) [][]renewal {
	cluster, ok := c.rdb.(interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	})
	if !ok {
		return [][]renewal{due}
	}
	var shards [][]renewal
	at := map[*redis.Client]int{}
	for _, r := range due {
		master, err := cluster.MasterForKey(c.closing, r.hold.key.lock)
		if err != nil {
			master = nil
		}
		i, ok := at[master]
		if !ok {
			i = len(shards)
			at[master] = i
			shards = append(shards, nil)
		}
		shards[i] = append(shards[i], r)
	}
	return shards
}

// rounds splits a shard's holds into those of one round trip, at most WatchdogBatch, and these into
// those of one command.
func (c *Client) rounds(shard []renewal) (rounds [][][]renewal) {
	tag := func(r renewal) string { return "" }
	if !c.oneServer() {
		tag = func(r renewal) string { return hashTag(r.hold.key.lock) }
		slices.SortStableFunc(shard, func(a, b renewal) int { return cmp.Compare(tag(a), tag(b)) })
	}
	for chunk := range slices.Chunk(shard, c.opts.WatchdogBatch) {
		var commands [][]renewal
		for len(chunk) > 0 {
			n := slices.IndexFunc(chunk, func(r renewal) bool { return tag(r) != tag(chunk[0]) })
			if n < 0 {
				n = len(chunk)
			}
			commands = append(commands, chunk[:n])
			chunk = chunk[n:]
		}
		rounds = append(rounds, commands)
	}
	return rounds
}
