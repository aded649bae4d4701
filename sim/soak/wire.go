package soak

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// wire is the network between one client and the server: its connections, and what faults do to
// them.
type wire struct {
	line     *line
	mu       sync.Mutex
	conns    map[*conn]bool
	dead     bool
	requests gate          // shut while requests are held back
	replies  gate          // the same of replies
	delay    time.Duration // of each reply, as all faults together have it
	ids      []int64       // of all its connections, as the server knows them
}

func newWire(l *line) *wire {
	w := &wire{line: l, conns: map[*conn]bool{}}
	l.join(w)
	return w
}

var errDead = errors.New("soak: this client is dead")

// dial opens a connection; while anything is held back none comes about.
func (w *wire) dial(ctx context.Context, o *redis.Options, network, addr string) (net.Conn, error) {
	for {
		w.mu.Lock()
		dead, gate := w.dead, w.requests.until()
		if gate == nil {
			gate = w.replies.until()
		}
		w.mu.Unlock()
		if gate == nil {
			gate = w.line.closed()
		}
		switch {
		case dead:
			return nil, errDead
		case gate == nil:
			to, era := w.line.at()
			if to == "" {
				to = addr
			}
			real, err := redis.NewDialer(o)(ctx, network, to)
			if err != nil {
				return nil, err
			}
			if c, err := w.add(real, era); !errors.Is(err, errCut) {
				return c, err
			}
			continue
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// add takes a connection to the server of an era, unless that is no more.
func (w *wire) add(real net.Conn, era int) (net.Conn, error) {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if w.line.cutOff != nil || w.line.era != era {
		_ = real.Close()
		return nil, errCut
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		_ = real.Close()
		return nil, errDead
	}
	c := &conn{Conn: real, wire: w, closed: make(chan struct{})}
	w.conns[c] = true
	if raw, ok := real.(syscall.Conn); ok {
		return &checkable{c, raw}, nil
	}
	return c, nil
}

// connected notes how the server of an era calls a connection.
func (w *wire) connected(id int64, era int) {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if era != w.line.era {
		return // that server is no more
	}
	w.mu.Lock()
	w.ids = append(w.ids, id)
	w.mu.Unlock()
}

// known is how the server calls, or called, the connections.
func (w *wire) known() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int64(nil), w.ids...)
}

// reset breaks all connections, and returns how many.
func (w *wire) reset() int {
	w.mu.Lock()
	conns := make([]*conn, 0, len(w.conns))
	for c := range w.conns {
		conns = append(conns, c)
	}
	w.mu.Unlock()
	for _, c := range conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	return len(conns)
}

// kill breaks all connections, and there will be no others.
func (w *wire) kill() {
	w.mu.Lock()
	w.dead = true
	w.mu.Unlock()
	for _, g := range []*gate{&w.requests, &w.replies} { // whoever waits is to see it
		for g.until() != nil {
			g.open()
		}
	}
	w.reset()
}

// hold holds back requests, replies or both, until a heal of the same.
func (w *wire) hold(requests, replies bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if requests && !w.dead {
		w.requests.shut()
	}
	if replies && !w.dead {
		w.replies.shut()
	}
}

// heal takes back one hold, and lets go what no other fault holds back.
func (w *wire) heal(requests, replies bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if requests && w.requests.open() {
		for c := range w.conns {
			go c.flush() // a full socket must not hold up the others
		}
	}
	if replies {
		w.replies.open()
	}
}

// slow has each reply come later, or sooner again.
func (w *wire) slow(by time.Duration) {
	w.mu.Lock()
	w.delay += by
	w.mu.Unlock()
}

// conn is one connection.
type conn struct {
	net.Conn
	wire   *wire
	closed chan struct{}
	once   sync.Once

	out  sync.Mutex
	held []byte // written and held back

	deadlineMu sync.Mutex
	deadline   time.Time // of reads
	in         []byte    // read, and not handed out before a deadline
	inErr      error
}

// checkable lets go-redis see whether an idle connection was closed, as it does without us.
type checkable struct {
	*conn
	raw syscall.Conn
}

func (c *checkable) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.wire.mu.Lock()
		delete(c.wire.conns, c)
		c.wire.mu.Unlock()
	})
	return c.Conn.Close()
}

// Write sends, or keeps what is held back, as a network that retransmits does.
func (c *conn) Write(b []byte) (int, error) {
	c.out.Lock()
	defer c.out.Unlock()
	c.wire.mu.Lock()
	holding, dead := c.wire.requests.until() != nil, c.wire.dead
	c.wire.mu.Unlock()
	if dead { // what was held back goes with its client
		return 0, errDead
	}
	if holding {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	if err := c.flushed(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) flush() {
	c.out.Lock()
	defer c.out.Unlock()
	c.wire.mu.Lock()
	dead := c.wire.dead
	c.wire.mu.Unlock()
	if !dead {
		_ = c.flushed()
	}
}

func (c *conn) flushed() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = nil
	return err
}

// Read waits while replies are held back.
func (c *conn) Read(b []byte) (int, error) {
	n, err := len(c.in), c.inErr
	if n == 0 && err == nil {
		n, err = c.Conn.Read(b)
		c.in = b[:n]
	}
	c.wire.mu.Lock()
	gate, delay := c.wire.replies.until(), c.wire.delay
	c.wire.mu.Unlock()
	if n > 0 && (gate != nil || delay > 0) {
		if late := c.wait(gate, delay); late != nil {
			c.in, c.inErr = append([]byte(nil), c.in...), err
			return 0, late
		}
	}
	n = copy(b, c.in)
	if c.in = c.in[n:]; len(c.in) > 0 {
		return n, nil
	}
	c.in, c.inErr = nil, nil
	return n, err
}

// wait waits for a gate to open, and then a delay, at most until the deadline.
func (c *conn) wait(gate chan struct{}, delay time.Duration) error {
	c.deadlineMu.Lock()
	deadline := c.deadline
	c.deadlineMu.Unlock()
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	if gate != nil {
		select {
		case <-gate:
		case <-late:
			return os.ErrDeadlineExceeded
		case <-c.closed:
			return net.ErrClosed
		}
	}
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-late:
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return net.ErrClosed
	}
}

func (c *conn) SetDeadline(t time.Time) error {
	c.setDeadline(t)
	return c.Conn.SetDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.setDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) setDeadline(t time.Time) {
	c.deadlineMu.Lock()
	c.deadline = t
	c.deadlineMu.Unlock()
}
