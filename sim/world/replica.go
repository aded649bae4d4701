package world

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// replica is a server that follows another: it has the data that the other had some time ago.
// Redis's replication is asynchronous, and so is this. That is all that is needed of it: nobody
// reads from a replica before it becomes the master.
type replica struct {
	lag     time.Duration
	stopped time.Duration // since when it receives nothing; 0: it does
	last    time.Duration // when the master wrote what it is to receive last
	keys    map[string]value
	behind  []change // what has yet to arrive, the oldest first
}

// change is what a master wrote at a time.
type change struct {
	at   time.Duration
	all  bool    // it has no other keys
	keys []value // those without a kind are gone
}

// touched are the keys that commands may have changed since it was last asked. A command that blocks is executed in a goroutine
// of its own.
type touched struct {
	mu   sync.Mutex
	keys map[string]bool
	all  bool
}

// command notes a command, be it a client's or a script's: what it changes it names, but for a few.
func (t *touched) command(name string, args []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = t.all || name == "EXEC" || name == "FLUSHALL" || name == "FLUSHDB"
	for _, a := range args {
		t.keys[a] = true
	}
}

func (t *touched) everything() {
	t.mu.Lock()
	t.all = true
	t.mu.Unlock()
}

// take returns what was noted, in order, and begins anew.
func (t *touched) take() (keys []string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, all = slices.Sorted(maps.Keys(t.keys)), t.all
	t.keys, t.all = map[string]bool{}, false
	return keys, all
}

// written has the replicas receive what has changed.
func (v *virtual) written() {
	if len(v.replicas) == 0 {
		return
	}
	keys, all := v.touched.take()
	if all {
		keys = v.redis.Keys() // sorted
	}
	c := change{at: v.now(), all: all}
	for _, key := range keys {
		one, _ := v.read(key)
		c.keys = append(c.keys, one)
	}
	for _, r := range v.replicas {
		if r.stopped == 0 {
			r.last, r.behind = c.at, append(r.behind, c)
			r.arrived(c.at)
		}
	}
}

// arrived takes what has arrived by a time.
func (r *replica) arrived(now time.Duration) {
	if r.stopped != 0 {
		now = min(now, r.stopped)
	}
	for len(r.behind) > 0 && r.behind[0].at+r.lag <= now {
		c := r.behind[0]
		if r.behind = r.behind[1:]; c.all {
			r.keys = map[string]value{}
		}
		for _, one := range c.keys {
			if r.keys[one.key] = one; one.kind == "" {
				delete(r.keys, one.key)
			}
		}
	}
}

// anew has the replica begin again with nothing.
func (r *replica) anew() { r.stopped, r.last, r.keys, r.behind = 0, 0, map[string]value{}, nil }

func (v *virtual) acknowledged() (n int, next time.Duration, known bool) {
	now := v.now()
	for _, r := range v.replicas {
		last := r.last + r.lag
		switch {
		case r.stopped != 0:
		case r.last == 0 || last <= now:
			n++
		case next == 0 || last < next:
			next = last
		}
	}
	return n, next, true
}

// promote makes a replica the server. Of a stream it has the entries, and no groups of consumers: those are an error.
func (v *virtual) promote(replica int) error {
	now := v.now()
	r := v.replicas[replica-1]
	r.arrived(now)
	for _, key := range slices.Sorted(maps.Keys(r.keys)) {
		if r.keys[key].kind != "stream" || !v.redis.Exists(key) {
			continue
		}
		switch groups, err := v.do("XINFO", "GROUPS", key); {
		case err != nil:
			return fmt.Errorf("whether the stream %s has groups of consumers, which a replica cannot have: %w", key, err)
		case groups != "*0\r\n":
			return fmt.Errorf("a replica of virtual time cannot have groups of consumers, as the stream %s has", key)
		}
	}
	v.redis.FlushAll()
	for _, key := range slices.Sorted(maps.Keys(r.keys)) {
		one := r.keys[key]
		if one.deadline != 0 && one.deadline <= now {
			continue
		}
		switch one.kind {
		case "hash":
			for f, text := range one.fields {
				v.redis.HSet(one.key, f, text)
			}
		case "list":
			_, _ = v.redis.Push(one.key, one.items...)
		case "set":
			_, _ = v.redis.SetAdd(one.key, one.items...)
		case "zset":
			for member, score := range one.scores {
				_, _ = v.redis.ZAdd(one.key, score, member)
			}
		case "string":
			_ = v.redis.Set(one.key, one.text)
		case "stream":
			for _, e := range one.entries {
				if _, err := v.redis.XAdd(one.key, e.id, e.fields); err != nil {
					return fmt.Errorf("a replica cannot have the entry %s of %s: %w", e.id, one.key, err)
				}
			}
		default:
			return fmt.Errorf("a replica cannot have %s, which is a %s", one.key, one.kind)
		}
		if one.deadline != 0 {
			v.redis.SetTTL(one.key, one.deadline-now)
		}
	}
	for _, r := range v.replicas {
		r.anew()
	}
	v.touched.everything()
	v.written()
	return nil
}

func (v *virtual) stopReplication(replica int) {
	v.replicas[replica-1].stopped = max(v.now(), 1)
}

func (v *virtual) resumeReplication(replica int) {
	v.replicas[replica-1].stopped = 0
	v.touched.everything()
	v.written()
}
