package world

import (
	"fmt"
	"time"
)

// replica is a server that follows another: it has the data that the other had some time ago.
// Redis's replication is asynchronous, and so is this. That is all that is needed of it: nobody
// reads from a replica before it becomes the master.
type replica struct {
	lag     time.Duration
	stopped time.Duration // since when it receives nothing; 0: it does
	past    []snapshot    // of the master, the last one that has arrived first
}

// snapshot is all data of a server at a time.
type snapshot struct {
	at   time.Duration
	keys []value
}

// written notes the data of a server that has replicas.
func (v *virtual) written() {
	if len(v.replicas) == 0 {
		return
	}
	now := v.now()
	snap := snapshot{at: now}
	for _, key := range v.redis.Keys() { // sorted
		one, _ := v.read(key)
		snap.keys = append(snap.keys, one)
	}
	for _, r := range v.replicas {
		if r.stopped == 0 {
			r.past = append(r.past, snap)
			r.arrived(now)
		}
	}
}

// arrived returns what the replica has at a time, and forgets what was before that.
func (r *replica) arrived(now time.Duration) snapshot {
	has := snapshot{}
	if r.stopped != 0 {
		now = min(now, r.stopped)
	}
	for len(r.past) > 0 && r.past[0].at+r.lag <= now {
		has = r.past[0]
		if len(r.past) == 1 || r.past[1].at+r.lag > now {
			break
		}
		r.past = r.past[1:]
	}
	return has
}

func (v *virtual) acknowledged() (n int, next time.Duration, known bool) {
	now := v.now()
	for _, r := range v.replicas {
		last := time.Duration(0)
		if len(r.past) > 0 {
			last = r.past[len(r.past)-1].at + r.lag
		}
		switch {
		case r.stopped != 0:
		case last <= now:
			n++
		case next == 0 || last < next:
			next = last
		}
	}
	return n, next, true
}

func (v *virtual) promote(replica int) error {
	now := v.now()
	has := v.replicas[replica-1].arrived(now)
	v.redis.FlushAll()
	for _, one := range has.keys {
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
		default:
			return fmt.Errorf("a replica cannot have %s, which is a %s", one.key, one.kind)
		}
		if one.deadline != 0 {
			v.redis.SetTTL(one.key, one.deadline-now)
		}
	}
	for _, r := range v.replicas {
		r.past, r.stopped = nil, 0
	}
	v.written()
	return nil
}

func (v *virtual) stopReplication(replica int) {
	v.replicas[replica-1].stopped = max(v.now(), 1)
}

func (v *virtual) resumeReplication(replica int) {
	v.replicas[replica-1].stopped = 0
	v.written()
}
