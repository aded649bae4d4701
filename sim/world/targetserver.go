package world

import (
	"time"

	"github.com/holdfast-sim/holdfast/history"
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
	broken := s.net.ResetAll("")
	s.net.Refuse(true)
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Restart})
	w.forgetScripts(s)
	if !data {
		before := w.snapshotStates(s)
		w.do(s, "FLUSHALL")
		w.lost(s, before, "by a restart")
	}
	return broken
}

// StartServer implements [fault.Target].
func (w *World) StartServer(server string) { w.server(server).net.Refuse(false) }

// JumpClock implements [fault.Target]. The keys whose time is over expire right after.
func (w *World) JumpClock(server string, by time.Duration) int {
	s := w.server(server)
	now := w.Now()
	s.skew += by
	expired := 0
	for _, key := range s.keys {
		state := s.state[key]
		if state.Deadline == 0 {
			continue
		}
		if state.Deadline = max(state.Deadline-by, now+1); state.Deadline == now+1 {
			expired++
		}
		w.changed(s, key, state, func(l *lock, after history.KeyState) {
			if l.simple() {
				w.rec.Event(history.Event{At: now, Kind: history.ClockJump, Lock: l.name, By: by})
				return
			}
			w.rec.Event(history.Event{At: now, Kind: history.ForceTTL, Lock: l.name, Deadline: after.Deadline,
				Note: "the clock of " + s.name + " jumped"})
		})
	}
	w.do(s, "TIME")
	return expired
}

// lost records what locks lost when a server lost data.
func (w *World) lost(s *server, before []history.KeyState, note string) int {
	now := w.Now()
	n := 0
	for i, key := range s.keys {
		after := w.look(s, key, now)
		if same(before[i], after) {
			continue
		}
		n++
		w.changed(s, key, after, func(l *lock, whole history.KeyState) {
			e := history.Event{At: now, Kind: history.Delete, Lock: l.name, Note: note}
			if len(whole.Holdings) > 0 {
				e.Kind, e.Deadline = history.ForceTTL, whole.Deadline
			}
			w.rec.Event(e)
		})
	}
	return n
}

// each calls strike for every key of a lock, and tells what became of the lock.
func (w *World) each(name string, kind history.EventKind, note string, strike func(s *server, key string)) bool {
	hit := false
	now := w.Now()
	for _, l := range w.locks {
		if l.name != name {
			continue
		}
		for _, p := range l.parts {
			if len(p.server.state[p.key].Holdings) == 0 {
				continue
			}
			hit = true
			strike(p.server, p.key)
			w.changed(p.server, p.key, w.look(p.server, p.key, now), func(l *lock, after history.KeyState) {
				w.rec.Event(history.Event{At: now, Kind: kind, Lock: l.name, Note: note})
			})
		}
	}
	return hit
}

// ExpireKey implements [fault.Target].
func (w *World) ExpireKey(lock string) bool {
	return w.each(lock, history.Expire, "ended from outside", func(s *server, key string) { w.do(s, "PEXPIRE", key, "0") })
}

// DeleteKey implements [fault.Target].
func (w *World) DeleteKey(lock string) bool {
	if lock != "" {
		return w.each(lock, history.Delete, "deleted from outside", func(s *server, key string) { w.do(s, "DEL", key) })
	}
	hit := false
	for _, s := range w.servers {
		before := w.snapshotStates(s)
		hit = hit || len(s.redis.Keys()) > 0
		w.do(s, "FLUSHALL")
		w.lost(s, before, "by FLUSHALL")
	}
	return hit
}

// OverwriteKey implements [fault.Target].
func (w *World) OverwriteKey(lock string) bool {
	return w.each(lock, history.Delete, "overwritten from outside", func(s *server, key string) { w.do(s, "SET", key, foreign) })
}

// ForceUnlock implements [fault.Target].
func (w *World) ForceUnlock(lock string) { w.Operator(lock) }
