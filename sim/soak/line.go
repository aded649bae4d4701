package soak

import (
	"errors"
	"sync"
)

// line is what all wires have in common: the way to the server, which comes and goes with it.
type line struct {
	mu     sync.Mutex
	wires  map[*wire]bool
	cutOff chan struct{} // not nil: nobody gets through until it is closed
	era    int           // how many servers there have been before this one
	addr   string        // where the server is; empty: where it was at first
}

var errCut = errors.New("soak: the server is away")

func (l *line) join(w *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wires == nil {
		l.wires = map[*wire]bool{}
	}
	l.wires[w] = true
}

func (l *line) leave(w *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wires, w)
}

// closed is what to wait for before a connection can come about; nil: nothing.
func (l *line) closed() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cutOff
}

func (l *line) now() (era int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.era
}

// cut breaks all connections, and returns how many; there will be no others until mend.
func (l *line) cut() (broken int) {
	l.mu.Lock()
	l.cutOff = make(chan struct{})
	wires := make([]*wire, 0, len(l.wires))
	for w := range l.wires {
		wires = append(wires, w)
	}
	l.mu.Unlock()
	for _, w := range wires {
		broken += w.reset()
	}
	return broken
}

// at is where the server is, and which it is.
func (l *line) at() (addr string, era int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr, l.era
}

// mend lets connections come about, to a server that knows none of those before; it is at addr, or, if that is
// empty, where it was.
func (l *line) mend(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.era++
	if addr != "" {
		l.addr = addr
	}
	for w := range l.wires {
		w.mu.Lock()
		w.ids = nil
		w.mu.Unlock()
	}
	close(l.cutOff)
	l.cutOff = nil
}
