package soak

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// gate holds up a client while it is paused.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // not nil: until it is closed
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// wait returns when the gate is open, or ctx ends.
func (g *gate) wait(ctx context.Context) {
	g.mu.Lock()
	until := g.closed
	g.mu.Unlock()
	if until == nil {
		return
	}
	select {
	case <-until:
	case <-ctx.Done():
	}
}

// scheduler runs a watchdog's timers, which a paused or dead client does not.
type scheduler struct{ c *client }

func (s scheduler) AfterFunc(d time.Duration, f func()) subjects.Timer {
	return time.AfterFunc(d, func() {
		s.c.gate.wait(s.c.ctx)
		if !s.c.dead() {
			f()
		}
	})
}
