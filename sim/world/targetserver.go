package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// What faults do to servers and keys.

// FlushScripts implements [fault.Target].
func (w *World) FlushScripts(server string) { w.forgetScripts(w.server(server)) }

func (w *World) forgetScripts(s *server) {
	w.do(s, "SCRIPT", "FLUSH")
	clear(s.knows)
}

// StopServer implements [fault.Target].
func (w *World) StopServer(server string, data bool) int {
	s := w.server(server)
	broken := s.net.Break("")
	s.net.Refuse(true)
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Restart})
	w.forgetScripts(s)
	if !data {
		before := w.snapshotStates(s)
		w.do(s, "FLUSHALL")
		w.lost(s, before, "by a restart")
		w.unread(s, history.Event{Kind: history.Delete, Note: "by a restart"})
	}
	w.check(s.stop())
	w.tell(s, broken)
	return len(broken)
}

// StartServer implements [fault.Target].
func (w *World) StartServer(server string) {
	s := w.server(server)
	w.check(s.start())
	s.net.Refuse(false)
}

// JumpClock implements [fault.Target]. The keys whose time is over expire at once: the command that
// comes next finds them gone.
func (w *World) JumpClock(server string, by time.Duration) int {
	s := w.server(server)
	now, before := w.Now(), w.snapshotStates(s)
	names, ends, timed := slices.Sorted(maps.Keys(s.lockOf)), 0, false
	if w.layout.Unknown != "" { // any key may be a lock's
		names, ends, timed = w.ending(s, now, by)
	}
	w.check(s.jump(by, names))
	var expired []string
	for _, key := range s.keys {
		state := s.state[key]
		if state.Deadline == 0 && (len(state.Taken) == 0 || w.layout.TakenOf(key) != "") {
			continue
		}
		state, over := sooner(state, by, now)
		if over {
			expired = append(expired, key)
		}
		w.changed(s, key, state, func(l *lock, _, after history.KeyState) {
			if l.simple() {
				w.rec.Event(history.Event{At: now, Kind: history.ClockJump, Lock: l.name, By: by})
				return
			}
			w.rec.Event(history.Event{At: now, Kind: history.ForceTTL, Lock: l.name, Deadline: after.Deadline,
				Note: "the clock of " + s.name + " jumped"})
		})
	}
	if timed { // or else leases end by the clocks of clients, if they end
		w.unread(s, history.Event{Kind: history.ClockJump, By: by})
	}
	w.doSince(before, s, "TIME")
	for _, key := range expired {
		w.expire(s, key, now)
	}
	return max(len(expired), ends)
}

// ending lists the keys of the run on a server, counts those whose time is over within so long, and reports whether any has a time to live.
func (w *World) ending(s *server, now, by time.Duration) (all []string, n int, timed bool) {
	all, err := s.stored()
	w.check(err)
	for _, key := range all {
		v, err := s.read(key)
		if w.check(err); v.deadline > now && v.deadline <= now+by {
			n++
		}
		timed = timed || v.deadline > 0
	}
	return all, n, timed
}

// JumpClientClock implements [fault.Target].
func (w *World) JumpClientClock(client string, by time.Duration) {
	w.mu.Lock()
	w.ahead[client] += by
	w.mu.Unlock()
	w.outside.jumpClock(client, by)
}

// Clock is the time by the clock of a client. It may be called from any goroutine.
func (w *World) Clock(client string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead[client])
}

// unread records what befell all keys of a server, of locks whose keys nobody can read.
func (w *World) unread(s *server, e history.Event) {
	if w.layout.Unknown == "" {
		return
	}
	e.At = w.Now()
	for _, l := range w.locks {
		if slices.ContainsFunc(l.parts, func(p part) bool { return p.server == s }) {
			e.Lock = l.name
			w.rec.Event(e)
		}
	}
}

// lost records what became of locks when a server lost data, or went back to older data.
func (w *World) lost(s *server, before []history.KeyState, note string) int {
	now := w.Now()
	n := 0
	for i, key := range s.keys {
		after := w.look(s, key)
		if before[i].Equal(after) {
			continue
		}
		n++
		w.changed(s, key, after, func(l *lock, was, is history.KeyState) {
			e := history.Event{At: now, Kind: history.Delete, Lock: l.name, Deadline: is.Deadline, Note: note}
			left(&e, was, is)
			w.rec.Event(e)
		})
	}
	return n
}

// beside is what a server has beside the states of its keys: the round of a latch, and who waits for a fair lock.
func (w *World) beside(s *server) []string {
	texts := make([]string, len(s.keys))
	for i, key := range s.keys {
		if round := w.layout.RoundOf(key); round != "" && s.objects[key] == history.ALatch {
			texts[i] = w.get(s, round).text
		}
		if queue := w.layout.QueueOf(key); queue != "" {
			texts[i] = strings.Join(w.waiting(w.get(s, queue)), "\n")
		}
	}
	return texts
}

// lostBeside is lost, of what a server has beside the states of keys, where these are as before. It tells of a latch that is in another
// round: that its count is the same says nothing then.
func (w *World) lostBeside(s *server, before []history.KeyState, beside []string, note string) int {
	n := 0
	for i, is := range w.beside(s) {
		now := s.state[s.keys[i]]
		if is == beside[i] || !before[i].Equal(now) {
			continue
		}
		n++
		if now.Left == nil {
			continue
		}
		for _, l := range w.of(s, s.keys[i]) {
			w.rec.Event(history.Event{At: w.Now(), Kind: history.Restore, Lock: l.name, Count: now.Number(), Deadline: now.Deadline, Note: note})
		}
	}
	return n
}

// each calls strike for every key of a lock, also for those that were overwritten and of which nobody knows any more whose they are, and tells what became
// of the lock.
func (w *World) each(name string, kind history.EventKind, note string, strike func(p part, key string)) bool {
	hit := false
	for _, p := range w.parts(name) {
		if p.server.state[p.key].Absent() {
			continue
		}
		hit = true
		keys := w.layout.KeysOf(p.key, w.saysOfHolder(p.server, p.key))
		for _, key := range w.overwritten[p] {
			if !slices.Contains(keys, key) && w.get(p.server, key).text == foreign {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			if w.get(p.server, key).kind != "" {
				strike(p, key)
			}
		}
		w.changed(p.server, p.key, w.look(p.server, p.key), func(l *lock, was, is history.KeyState) {
			e := history.Event{At: w.struck, Kind: kind, Lock: l.name, Note: note, Deadline: is.Deadline}
			if l.name != name && kind == history.Expire {
				e.Kind = history.Delete // the fault names another lock: this one's lease has not ended
			}
			left(&e, was, is) // the other members may be enough
			w.rec.Event(e)
		})
	}
	return hit
}

// parts are the keys of a lock, or, of a name that is only a member's, the first one of that name.
func (w *World) parts(name string) []part {
	for _, l := range w.locks {
		if l.name == name {
			return l.parts
		}
	}
	for _, l := range w.locks {
		for _, p := range l.parts {
			if p.key == name {
				return []part{p}
			}
		}
	}
	return nil
}

// ExpireKey implements [fault.Target].
func (w *World) ExpireKey(lock string) bool {
	return w.each(lock, history.Expire, "ended from outside", func(p part, key string) { w.do(p.server, "PEXPIRE", key, "0") })
}

// DeleteKey implements [fault.Target].
func (w *World) DeleteKey(lock string) bool {
	if lock != "" {
		return w.each(lock, history.Delete, "deleted from outside", func(p part, key string) { w.do(p.server, "DEL", key) })
	}
	hit := false
	for _, s := range w.servers {
		before := w.snapshotStates(s)
		all, err := s.stored()
		w.check(err)
		hit = hit || len(all) > 0
		w.do(s, "FLUSHALL")
		w.lost(s, before, "by FLUSHALL")
		w.unread(s, history.Event{Kind: history.Delete, Note: "by FLUSHALL"})
	}
	return hit
}

// OverwriteKey implements [fault.Target].
func (w *World) OverwriteKey(lock string) bool {
	return w.each(lock, history.Delete, "overwritten from outside", func(p part, key string) {
		w.do(p.server, "SET", key, foreign)
		w.overwritten[p] = append(w.overwritten[p], key)
	})
}

// ForceUnlock implements [fault.Target].
func (w *World) ForceUnlock(lock string) { w.Operator(lock) }

// Failover implements [fault.Target].
func (w *World) Failover(server string, replica int) int {
	s := w.server(server)
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Failover})
	broken := s.net.Break("")
	before, beside := w.snapshotStates(s), w.beside(s)
	w.check(s.promote(replica))
	w.logged(s, before, history.Served{Text: "(replica " + strconv.Itoa(replica) + " becomes the master)"})
	n := w.lost(s, before, "by failover")
	n += w.lostBeside(s, before, beside, "by failover")
	w.forgetScripts(s)
	w.tell(s, broken)
	return n
}

// StopReplication implements [fault.Target].
func (w *World) StopReplication(server string, replica int) {
	w.server(server).stopReplication(replica)
}

// ResumeReplication implements [fault.Target].
func (w *World) ResumeReplication(server string, replica int) {
	w.server(server).resumeReplication(replica)
}

// waits answers WAIT: it keeps the command until enough replicas have received everything, or its
// time is over, and reports whether m was a WAIT.
func (w *World) waits(s *server, m *network.Message) bool {
	n := noteOf(m)
	if n == nil || m.Dir != network.ToServer || len(m.Args) != 3 || !strings.EqualFold(m.Args[0], "wait") || w.log.closed {
		return false
	}
	have, next, known := s.acknowledged()
	if !known {
		return false
	}
	now := w.Now()
	if n.waiting == 0 {
		n.waiting = max(now, 1)
	}
	want, _ := strconv.Atoi(m.Args[1])
	ms, _ := strconv.ParseInt(m.Args[2], 10, 64)
	end := n.waiting + time.Duration(ms)*time.Millisecond
	if have < want && now < end {
		if next == 0 || next > end {
			next = end
		}
		s.net.Postpone(m, w.began.Add(max(next, now+1)))
		return true
	}
	w.count++
	w.traced(m)
	w.arriving(m)
	s.net.Take(m)
	s.net.Answer(m.Link, []byte(":"+strconv.Itoa(have)+"\r\n"))
	return true
}
