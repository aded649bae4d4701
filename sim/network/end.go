package network

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// End is one end of a connection, a [net.Conn].
type End struct {
	net      *Network
	link     *Link
	receives Direction

	// guarded by net.mu
	in       []byte
	eof      bool // the other end's close has arrived
	closed   bool // this end was closed
	readable *sync.Cond
	timer    *time.Timer
	timeout  int  // numbers the deadlines set
	expired  bool // the last one is over

	overslept bool // the last one came due while the client was frozen

	server   Server     // who gets commands, if nobody reads
	commands [][]string // that have arrived
	gone     bool       // the server was told

	stamp func() string // see StampBy
}

// Server is who gets the commands of a connection without reading it. It is called by [Network.HandOver].
type Server interface {
	Command(args []string)
	Gone() // the connection has ended, for whatever reason, and is to be closed
}

// Serve gives this end, the server's, to s. It is to be called when the end is accepted, before anything arrives.
func (e *End) Serve(s Server) { e.server = s }

// StampBy stamps the commands whose last bytes a Write writes with what stamp returns in its caller's goroutine, unless their client has stamped
// them; "" is no stamp. It is to be called before anything is written.
func (e *End) StampBy(stamp func() string) { e.stamp = stamp }

// take gets what a message brings.
func (e *End) take(m *Message) {
	if e.server != nil {
		e.commands = append(e.commands, m.Args)
	} else {
		e.in = append(e.in, m.Data...)
	}
}

// stir is called when something has happened that whoever is at this end is to notice.
func (e *End) stir() {
	e.readable.Broadcast()
	if e.server != nil {
		e.net.stirred = append(e.net.stirred, e)
	}
}

// HandOver hands to servers what has arrived for them. It is for the world's goroutine.
func (n *Network) HandOver() {
	for {
		n.mu.Lock()
		if len(n.stirred) == 0 {
			n.mu.Unlock()
			return
		}
		e := n.stirred[0]
		n.stirred = n.stirred[1:]
		commands, over := e.commands, e.closed || e.link.broken
		e.commands = nil
		gone := (over || e.eof) && !e.gone
		e.gone = e.gone || gone
		n.mu.Unlock()
		for _, args := range commands {
			if !over {
				e.server.Command(args)
			}
		}
		if gone {
			e.server.Gone()
		}
	}
}

// Name is the connection's name, for the server's end as for the client's.
func (e *End) Name() string { return e.link.Name }

// Read blocks until there is data, the other end's close, a local close, or the deadline.
func (e *End) Read(p []byte) (int, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	for {
		switch {
		case e.closed:
			return 0, net.ErrClosed
		case e.link.broken:
			return 0, ErrReset
		case len(e.in) > 0:
			k := copy(p, e.in)
			if e.in = e.in[k:]; len(e.in) == 0 {
				e.in = nil
			}
			return k, nil
		case e.eof:
			return 0, io.EOF
		case e.expired:
			return 0, os.ErrDeadlineExceeded
		}
		e.readable.Wait()
	}
}

// Write queues p and never blocks.
func (e *End) Write(p []byte) (int, error) {
	stamp := ""
	if e.stamp != nil {
		stamp = e.stamp()
	}
	e.net.mu.Lock()
	if e.closed {
		e.net.mu.Unlock()
		return 0, net.ErrClosed
	}
	if e.eof || e.link.broken {
		e.net.mu.Unlock()
		return 0, syscall.EPIPE
	}
	out := e.receives ^ 1
	e.net.write(e.link, out, chunk{kind: Data, data: append([]byte(nil), p...), stamp: stamp})
	e.net.mu.Unlock()
	e.net.notify()
	return len(p), nil
}

// Close closes this end; the other learns of it by a message behind all that was written.
func (e *End) Close() error {
	e.net.mu.Lock()
	if e.closed {
		e.net.mu.Unlock()
		return nil
	}
	e.closed = true
	if e.timer != nil {
		e.timer.Stop()
	}
	if out := e.receives ^ 1; e.link.broken {
		e.net.forget(e.link)
	} else {
		e.net.write(e.link, out, chunk{kind: Close})
	}
	e.stir()
	e.net.mu.Unlock()
	e.net.notify()
	return nil
}

// SetReadDeadline has a blocked Read end at t; the zero time clears it.
func (e *End) SetReadDeadline(t time.Time) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.closed {
		return net.ErrClosed
	}
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	e.timeout++
	e.expired, e.overslept = false, false
	if t.IsZero() {
		return nil
	}
	wait := time.Until(t)
	if wait <= 0 {
		e.expired = true
		e.readable.Broadcast()
		return nil
	}
	e.wakeAfter(wait)
	return nil
}

// wakeAfter has the deadline come after a while, if no other is set meanwhile.
func (e *End) wakeAfter(wait time.Duration) {
	this := e.timeout
	e.timer = time.AfterFunc(wait, func() {
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		switch {
		case e.timeout != this:
		case e.receives == ToClient && e.net.frozen[e.link.Client] > 0:
			e.overslept = true
		default:
			e.expired = true
			e.readable.Broadcast()
		}
	})
}

// SetWriteDeadline does nothing: writes never block.
func (e *End) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline is [End.SetReadDeadline].
func (e *End) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// LocalAddr is the same made-up address for all.
func (e *End) LocalAddr() net.Addr { return address }

// RemoteAddr is the same made-up address for all.
func (e *End) RemoteAddr() net.Addr { return address }

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379}
