package lockimpl_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// generations is all of them: most properties are everybody's.
var generations = []lockimpl.Generation{lockimpl.Classic, lockimpl.Combined, lockimpl.Latch}

// eachGeneration runs f in a bubble of its own for each generation.
func eachGeneration(t *testing.T, f func(t *testing.T, w *world)) {
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) { inBubble(t, g, f) })
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
	random     *rand.ChaCha8

	mu    sync.Mutex
	conns map[net.Conn]string // by the name of the client that dialed
	down  map[string]bool     // clients that cannot dial
}

func newWorld(t *testing.T, g lockimpl.Generation) *world {
	w := &world{
		t: t, server: miniredis.NewMiniRedis(), generation: g, random: rand.NewChaCha8([32]byte{1}),
		conns: map[net.Conn]string{}, down: map[string]bool{},
	}
	w.server.ClockTTL(true)
	t.Cleanup(w.server.Close)
	w.admin = w.dial("admin")
	return w
}

// dial returns a go-redis client whose connections are in memory.
func (w *world) dial(name string) *redis.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.down[name] {
				return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
			}
			conn, err := w.server.Dial()
			if err != nil {
				return nil, err
			}
			w.conns[conn] = name
			return pipe{conn}, nil
		},
		MinRetryBackoff: time.Millisecond,
		MaxRetryBackoff: time.Millisecond,
	})
	w.t.Cleanup(func() { rdb.Close() })
	return rdb
}

// pipe ends as a TCP connection does when the peer closes it, with an error that go-redis retries.
type pipe struct{ net.Conn }

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, eof(err)
}

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	return n, eof(err)
}

func (p pipe) SetReadDeadline(t time.Time) error  { return eof(p.Conn.SetReadDeadline(t)) }
func (p pipe) SetWriteDeadline(t time.Time) error { return eof(p.Conn.SetWriteDeadline(t)) }

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

func (w *world) heal(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[name] = false
}

func (w *world) client(name string, opts ...func(*lockimpl.Options)) *lockimpl.Client {
	w.t.Helper()
	o := lockimpl.Options{Generation: w.generation, ID: name, Random: w.random}
	for _, opt := range opts {
		opt(&o)
	}
	c, err := lockimpl.New(w.dial(name), o)
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
