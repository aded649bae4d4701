package world

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
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

type value struct {
	key      string
	text     string
	fields   map[string]string // of a hash
	deadline time.Duration     // 0: none
}

// record notes the data of a server that has replicas, after they may have changed.
func (w *World) record(s *server) {
	if len(s.replicas) == 0 {
		return
	}
	now := w.Now()
	snap := snapshot{at: now}
	for _, key := range s.redis.Keys() { // sorted
		v := value{key: key}
		if s.redis.Type(key) == "hash" {
			v.fields = map[string]string{}
			fields, _ := s.redis.HKeys(key)
			for _, f := range fields {
				v.fields[f] = s.redis.HGet(key, f)
			}
		} else {
			v.text, _ = s.redis.Get(key)
		}
		if ttl := s.redis.TTL(key); ttl > 0 {
			v.deadline = now + ttl
		}
		snap.keys = append(snap.keys, v)
	}
	for _, r := range s.replicas {
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

// acknowledged returns how many replicas have received everything, and when one more will have; 0
// if none will.
func (s *server) acknowledged(now time.Duration) (n int, next time.Duration) {
	for _, r := range s.replicas {
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
	return n, next
}

// Failover implements [fault.Target].
func (w *World) Failover(server string, replica int) int {
	s := w.server(server)
	now := w.Now()
	has := s.replicas[replica-1].arrived(now)
	w.rec.Event(history.Event{At: now, Kind: history.Failover})
	s.net.ResetAll("")
	before := w.snapshotStates(s)
	s.redis.FlushAll()
	w.forgetScripts(s)
	for _, v := range has.keys {
		if v.deadline != 0 && v.deadline <= now {
			continue
		}
		for f, text := range v.fields {
			s.redis.HSet(v.key, f, text)
		}
		if v.fields == nil {
			_ = s.redis.Set(v.key, v.text)
		}
		if v.deadline != 0 {
			s.redis.SetTTL(v.key, v.deadline-now)
		}
	}
	for _, r := range s.replicas {
		r.past, r.stopped = nil, 0
	}
	w.record(s)
	return w.lost(s, before, "by failover")
}

// StopReplication implements [fault.Target].
func (w *World) StopReplication(server string, replica int) {
	w.server(server).replicas[replica-1].stopped = max(w.Now(), 1)
}

// ResumeReplication implements [fault.Target].
func (w *World) ResumeReplication(server string, replica int) {
	s := w.server(server)
	s.replicas[replica-1].stopped = 0
	w.record(s)
}

// waits answers WAIT: it keeps the command until enough replicas have received everything, or its
// time is over, and reports whether m was a WAIT.
func (w *World) waits(s *server, m *network.Message) bool {
	n := noteOf(m)
	if n == nil || m.Dir != network.ToServer || len(m.Args) != 3 || !strings.EqualFold(m.Args[0], "wait") || w.log.closed {
		return false
	}
	now := w.Now()
	if n.waiting == 0 {
		n.waiting = max(now, 1)
	}
	want, _ := strconv.Atoi(m.Args[1])
	ms, _ := strconv.ParseInt(m.Args[2], 10, 64)
	end := n.waiting + time.Duration(ms)*time.Millisecond
	have, next := s.acknowledged(now)
	if have < want && now < end {
		if next == 0 || next > end {
			next = end
		}
		s.net.Postpone(m, w.start.Add(max(next, now+1)))
		return true
	}
	w.count++
	w.traced(m)
	w.arriving(m)
	s.net.Take(m)
	s.net.Answer(m.Link, []byte(":"+strconv.Itoa(have)+"\r\n"))
	return true
}
