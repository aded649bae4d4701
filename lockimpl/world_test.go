package lockimpl_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it logs the faults that the tests inject
	goleak.VerifyTestMain(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

var ctx = context.Background()

// generations is all of them: most properties are everybody's.
var generations = []lockimpl.Generation{lockimpl.Classic, lockimpl.Combined, lockimpl.Latch, lockimpl.Current, lockimpl.Hardened}

// eachGeneration runs f in a bubble of its own for each generation.
func eachGeneration(t *testing.T, f func(t *testing.T, w *world)) {
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) { inBubble(t, g, f) })
	}
}

// lacks leaves a test out of a property that a generation does not have by design. What it does instead, another test shows. No part of the
// machine is missing where it does so, so that nothing can require it.
func (w *world) lacks(g lockimpl.Generation, shown func(*testing.T)) {
	w.t.Helper()
	if w.generation == g {
		w.t.Skipf("not so with generation %s: %s", g, runtime.FuncForPC(reflect.ValueOf(shown).Pointer()).Name())
	}
}

func inBubble(t *testing.T, g lockimpl.Generation, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, g)
		f(t, w)
	})
}

// world is a miniredis in a bubble: time is virtual and keys age with it.
type world struct {
	t          *testing.T
	server     *miniredis.Miniredis
	generation lockimpl.Generation
	admin      *redis.Client

	mu    sync.Mutex
	conns map[net.Conn]string // by the name of the client that dialed
	down  map[string]bool     // clients that cannot dial
	judge map[string]func(command []byte) fate
}

func newWorld(t *testing.T, g lockimpl.Generation) *world {
	w := &world{
		t: t, server: miniredis.NewMiniRedis(), generation: g,
		conns: map[net.Conn]string{}, down: map[string]bool{},
		judge: map[string]func([]byte) fate{},
	}
	w.server.ClockTTL(true)
	t.Cleanup(func() {
		time.Sleep(2 * time.Second) // go-redis dials on, a little while after it was closed
		w.server.Close()
	})
	w.admin = w.dial("admin")
	return w
}

// dial returns a go-redis client whose connections are in memory.
func (w *world) dial(name string) *redis.Client { return w.dialRetrying(name, 3) }

func (w *world) dialRetrying(name string, retries int) *redis.Client {
	rdb := redis.NewClient(&redis.Options{
		MaxRetries: retries,
		Addr:       "127.0.0.1:6379",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return w.connect(ctx, name)
		},
		MinRetryBackoff: time.Millisecond,
		MaxRetryBackoff: time.Millisecond,
	})
	w.t.Cleanup(func() { rdb.Close() })
	return rdb
}

func (w *world) connect(ctx context.Context, name string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.isDown(name) {
		return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
	}
	// w.mu must not be held here: the server may be busy publishing to somebody who reads on only when
	// a write of his, which w.mu is for, is through.
	conn, err := w.server.Dial()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[name] { // since then
		conn.Close()
		return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
	}
	p := newPipe(conn, w, name)
	w.conns[p] = name
	return p, nil
}

func (w *world) isDown(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down[name]
}

// fate is what becomes of a command's reply.
type fate int

const (
	arrives   fate = iota
	isLost         // the server executes the command, then the connection breaks
	isLate         // the reply takes lateBy
	isRefusal      // the server is BUSY
	neverRan       // the connection breaks before the server reads the command
	vanishes       // nobody ever hears of the command
)

const lateBy = time.Second

// fates sets what becomes of the replies to the client's next script calls, in order; later ones
// arrive. The function that it returns lists the script calls made since, as they were written.
func (w *world) fates(name string, fates ...fate) (made func() [][]byte) {
	var calls [][]byte
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge[name] = func(command []byte) fate {
		if !bytes.Contains(command, []byte("evalsha")) {
			return arrives
		}
		calls = append(calls, bytes.Clone(command))
		if len(fates) == 0 {
			return arrives
		}
		f := fates[0]
		fates = fates[1:]
		return f
	}
	return func() [][]byte {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(calls)
	}
}

// silence has nothing of what the client sends arrive, until it is lifted.
func (w *world) silence(name string) (lift func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge[name] = func([]byte) fate { return vanishes }
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.judge, name)
	}
}

// replay sends a call once more, on a connection of its own, as a delayed duplicate.
func (w *world) replay(call []byte) {
	w.t.Helper()
	conn, err := w.server.Dial()
	must(w.t, err)
	_, err = conn.Write(call)
	must(w.t, err)
	_, err = conn.Read(make([]byte, 1024))
	must(w.t, err)
	conn.Close()
}

// pipe is one connection of a client. It ends with an error that go-redis retries, and its writes
// do not block, as those of a TCP connection hardly ever do: on a bare net.Pipe, a redis.PubSub
// that is written to while it is read can deadlock with its server.
type pipe struct {
	net.Conn
	world *world
	name  string
	fate  atomic.Int32 // a fate
	hears atomic.Bool  // it subscribed
	deaf  atomic.Bool  // what comes and goes is dropped
	out   chan []byte
	ended chan struct{}
	end   sync.Once
}

func newPipe(conn net.Conn, w *world, name string) *pipe {
	p := &pipe{Conn: conn, world: w, name: name, out: make(chan []byte, 1024), ended: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-p.out:
				p.Conn.Write(b)
			case <-p.ended:
				return
			}
		}
	}()
	return p
}

func (p *pipe) Close() error {
	p.end.Do(func() { close(p.ended) })
	return p.Conn.Close()
}

func (p *pipe) Write(b []byte) (int, error) {
	f := arrives
	p.world.mu.Lock()
	if judge := p.world.judge[p.name]; judge != nil {
		f = judge(b)
	}
	p.world.mu.Unlock()
	if p.deaf.Load() {
		f = vanishes
	}
	p.fate.Store(int32(f))
	if bytes.Contains(b, []byte("\r\nsubscribe\r\n")) {
		p.hears.Store(true)
	}
	switch f {
	case neverRan:
		p.Close()
	case vanishes:
		return len(b), nil
	case isRefusal:
		p.world.server.SetError("BUSY Redis is busy running a script")
	}
	select {
	case <-p.ended:
		return 0, io.EOF
	default:
		p.out <- bytes.Clone(b)
		return len(b), nil
	}
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	for err == nil && p.deaf.Load() {
		n, err = p.Conn.Read(b)
	}
	switch fate(p.fate.Swap(int32(arrives))) {
	case isLost:
		p.Close()
		return 0, io.EOF
	case isLate:
		time.Sleep(lateBy)
	case isRefusal:
		p.world.server.SetError("")
	}
	return n, eof(err)
}

func (p *pipe) SetReadDeadline(t time.Time) error  { return eof(p.Conn.SetReadDeadline(t)) }
func (p *pipe) SetWriteDeadline(t time.Time) error { return eof(p.Conn.SetWriteDeadline(t)) }

func eof(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// cut closes the client's connections, and keeps it from dialing until healed.
func (w *world) cut(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[name] = true
	for conn, owner := range w.conns {
		if owner == name {
			conn.Close()
			delete(w.conns, conn)
		}
	}
}

// cutSubscriptions closes those of the client's connections that subscribed to something.
func (w *world) cutSubscriptions(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn, owner := range w.conns {
		if owner == name && conn.(*pipe).hears.Load() {
			conn.Close()
			delete(w.conns, conn)
		}
	}
}

// deafen has nothing arrive, at either end, on those of the client's connections that subscribed to something.
func (w *world) deafen(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn, owner := range w.conns {
		if p := conn.(*pipe); owner == name && p.hears.Load() {
			p.deaf.Store(true)
		}
	}
}

func (w *world) heal(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[name] = false
}

func (w *world) client(name string, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	w.t.Helper()
	return w.clientOver(w.dial(name), name, opts...)
}

func (w *world) clientOver(rdb redis.UniversalClient, name string, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	w.t.Helper()
	var seed [32]byte
	copy(seed[:], name)
	o := lockimpl.Options{Generation: w.generation, ID: name, Random: rand.NewChaCha8(seed)}
	for _, opt := range opts {
		opt(&o)
	}
	c, err := lockimpl.New(rdb, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) subscribers(lock string) int64 {
	w.t.Helper()
	channel := "redisson_lock__channel:{" + lock + "}"
	counts, err := w.admin.PubSubNumSub(ctx, channel).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return counts[channel]
}

// primed is a client whose scripts the server knows, so that its calls are EVALSHAs that run.
func (w *world) primed(name string, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	w.t.Helper()
	return w.prime(w.client(name, opts...))
}

func (w *world) prime(c *lockimpl.Client) *lockimpl.Client {
	w.t.Helper()
	l, o := c.Lock("prime"), c.Owner(1)
	must(w.t, l.Lock(ctx, o))
	is(w.t, true)(l.Unlock(ctx, o))
	return c
}

// ---- assertions

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is fails unless the call answered want without an error.
func is[T comparable](t *testing.T, want T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	}
}

func between(t *testing.T, low, high time.Duration) func(got time.Duration, err error) {
	return func(got time.Duration, err error) {
		t.Helper()
		if err != nil || got < low || got > high {
			t.Fatalf("got %v, %v; want %v to %v", got, err, low, high)
		}
	}
}
