package world

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/subjects"
)

// What faults do to clients and messages.

// PauseWatchdog implements [fault.Target].
func (w *World) PauseWatchdog(client string) { w.Scheduler(client).Pause() }

// ResumeWatchdog implements [fault.Target].
func (w *World) ResumeWatchdog(client string) (held int, any bool) {
	s := w.Scheduler(client)
	return s.Resume(), s.Used()
}

// PauseClient implements [fault.Target]. Timers that the lock library and go-redis started run in
// virtual time also meanwhile; what they make the client send waits until it goes on, as if they
// had run then.
func (w *World) PauseClient(client string) {
	w.Scheduler(client).Pause()
	for _, s := range w.servers {
		s.net.Freeze(client)
	}
	w.check(w.outside.each(client, subjects.Process.Pause))
	w.mu.Lock()
	w.frozen[client]++
	w.mu.Unlock()
}

// ResumeClient implements [fault.Target].
func (w *World) ResumeClient(client string) int {
	held := w.outside.overdue(client)
	w.check(w.outside.each(client, subjects.Process.Resume))
	w.mu.Lock()
	for _, s := range w.sleepers { // a program that would have gone on meanwhile, though its process waited for nothing
		if s.client == client && !s.sends() && s.at <= w.Now() {
			held++
		}
	}
	w.frozen[client]--
	w.mu.Unlock()
	for _, s := range w.servers {
		held += s.net.Thaw(client, w.began.Add(w.Now()))
	}
	return held + w.Scheduler(client).Resume()
}

// KillClient implements [fault.Target].
func (w *World) KillClient(client string, reset bool) {
	w.Scheduler(client).Pause()
	for _, s := range w.servers {
		s.net.Cut(client, reset, w.began.Add(w.Now()))
	}
	w.check(w.outside.each(client, subjects.Process.Kill))
	w.mu.Lock()
	w.dead[client] = true
	w.mu.Unlock()
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Died, Client: client})
}

// Partition implements [fault.Target].
func (w *World) Partition(client, server string, requests, replies bool) {
	for _, s := range w.servers {
		if server != "" && s.name != server {
			continue
		}
		if requests {
			s.net.Block(client, network.ToServer)
		}
		if replies {
			s.net.Block(client, network.ToClient)
		}
	}
}

// Heal implements [fault.Target].
func (w *World) Heal(client, server string, requests, replies bool) int {
	held := 0
	now := w.began.Add(w.Now())
	for _, s := range w.servers {
		if server != "" && s.name != server {
			continue
		}
		if requests {
			held += s.net.Heal(client, network.ToServer, now)
		}
		if replies {
			held += s.net.Heal(client, network.ToClient, now)
		}
	}
	return held
}

// CloseConnections implements [fault.Target].
func (w *World) CloseConnections(client string) int {
	n := 0
	for _, s := range w.servers {
		broken := s.net.Break(client)
		w.tell(s, broken)
		n += len(broken)
	}
	return n
}

// tell tells both ends of connections that they are broken.
func (w *World) tell(s *server, broken []*network.Link) {
	for _, l := range broken {
		w.gaveUp(l)
	}
	s.net.Tell(broken, w.apart)
}

// Drop implements [fault.Target].
func (w *World) Drop(m fault.Message) {
	message := m.(*network.Message)
	noteOf(message).server.net.Drop(message)
	w.vanished()
}

// Reset implements [fault.Target].
func (w *World) Reset(m fault.Message) {
	message := m.(*network.Message)
	noteOf(message).server.net.Reset(message.Link)
	w.gaveUp(message.Link)
	w.snapped(message.Link)
}

// Delay implements [fault.Target].
func (w *World) Delay(m fault.Message, by time.Duration) {
	w.struckSome()
	message := m.(*network.Message)
	noteOf(message).server.net.Postpone(message, w.began.Add(w.Now()+by))
}

// overtaken is a message that waits to be overtaken.
type overtaken struct{ message *network.Message }

// Overtake implements [fault.Target].
func (w *World) Overtake(m fault.Message, most time.Duration) {
	w.Delay(m, most)
	w.overtaking = append(w.overtaking, overtaken{m.(*network.Message)})
}

// passed lets messages go on that m has overtaken.
func (w *World) passed(m *network.Message) {
	w.overtaking = slices.DeleteFunc(w.overtaking, func(o overtaken) bool {
		slow := o.message
		if slow == m {
			return true
		}
		if slow.Link.Client != m.Link.Client || slow.Dir != m.Dir || slow.Link == m.Link {
			return false
		}
		if n := noteOf(slow).server.net; n.Ready(slow) {
			n.Postpone(slow, w.began.Add(w.Now()))
		}
		return true
	})
}
