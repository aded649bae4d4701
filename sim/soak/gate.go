package soak

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// gate holds up whoever comes to it until it has been opened as often as it was shut: faults overlap, and
// the end of one is not that of another.
type gate struct {
	mu     sync.Mutex
	shuts  int
	closed chan struct{} // not nil: until it is closed
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shuts++; g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// open takes back one shut, and reports whether that was the last.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shuts > 0 {
		g.shuts--
	}
	if g.shuts > 0 || g.closed == nil {
		return false
	}
	close(g.closed)
	g.closed = nil
	return true
}

// until is what to wait for; nil: it is open.
func (g *gate) until() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// wait returns when the gate is open, or ctx ends.
func (g *gate) wait(ctx context.Context) {
	for until := g.until(); until != nil; until = g.until() {
		select {
		case <-until:
		case <-ctx.Done():
			return
		}
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
