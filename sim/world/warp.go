package world

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/warp"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Processes in virtual time. They are at rest whenever the bubble is, or the world lets them run until they are. The end
// of a wait of theirs is an event as all others are: one waiter is woken at an instant.

// Processes run in the virtual time of the next world. They are made outside of its bubble.
type Processes struct{ c *warp.Coordinator }

// NewProcesses makes what a warped ground needs. Its error says in one line what the machine lacks.
func NewProcesses() (*Processes, error) {
	c, err := warp.New(bubbleBegins, time.Now)
	if err != nil {
		return nil, fmt.Errorf("world warp: %w", err)
	}
	return &Processes{c}, nil
}

// bubbleBegins is what every bubble's clock begins with.
var bubbleBegins = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Close ends all processes. It is called outside of the bubble.
func (p *Processes) Close() {
	if p != nil {
		p.c.Close()
	}
}

// With is the ground on which these processes run.
func (g Ground) With(p *Processes) Ground {
	g.processes = p.c
	return g
}

// Starter starts processes in the world's time; nil in a world without.
func (w *World) Starter() subjects.Starter {
	if w.processes == nil {
		return nil
	}
	return func(words []string) (subjects.Child, error) {
		p, err := w.processes.Start(words)
		if err != nil {
			return nil, err
		}
		w.Notify()
		return child{p, w.bubble}, nil
	}
}

// child is a process, whose end takes no time of the story either.
type child struct {
	*warp.Process
	bubble *bubble.Bubble
}

func (c child) Kill() error {
	c.bubble.Outside(c.Process.Kill)
	return nil
}

// listenWarped is Listen.
func (w *World) listenWarped(client, server string) (url string, err error) {
	s := w.server(server)
	port, err := w.processes.Listen(func(c *warp.Stream) {
		go func() {
			end, err := s.net.Dial(context.Background(), client)
			if err != nil {
				c.Close()
				return
			}
			join(c, end, func() { c.Close() })
		}()
	})
	return fmt.Sprintf("redis://127.0.0.1:%d", port), err
}

// rest lets processes run until they are at rest. It reports whether the bubble has something to do then.
func (w *World) rest() bool {
	if w.processes == nil {
		return false
	}
	var did bool
	var next time.Time
	var err error
	w.bubble.Outside(func(alive func()) { did, next, err = w.processes.Rest(alive) })
	if err != nil {
		w.Fail(err)
	}
	w.waitEnds = next
	return did
}

// nextWait is the end of a process's wait that comes first.
func (w *World) nextWait() event {
	if w.processes == nil || w.waitEnds.IsZero() {
		return event{}
	}
	at := max(w.waitEnds.Sub(*w.start.Load()), w.woke+1)
	return event{at, func() {
		w.woke = w.Now()
		w.processes.Wake()
	}}
}
