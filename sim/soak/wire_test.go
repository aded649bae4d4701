package soak

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// echo answers every line with itself, and hands out what it got.
func echo(t *testing.T) (addr string, got chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						got <- "gone"
						return
					}
					got <- line
					c.Write([]byte(line))
				}
			}()
		}
	}()
	return l.Addr().String(), got
}

func dial(t *testing.T, w *wire, addr string) net.Conn {
	t.Helper()
	c, err := w.dial(t.Context(), &redis.Options{DialTimeout: time.Second}, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, 100)
	n := 0
	for n < len(want) {
		m, err := c.Read(b[n:])
		if err != nil {
			t.Fatalf("%q, then %v", b[:n], err)
		}
		n += m
	}
	if got := string(b[:n]); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// readsNothing looks for what a connection hands out, for a while.
func readsNothing(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v", n, err)
	}
	c.SetReadDeadline(time.Time{})
}

func TestRequestsThatAreHeldBackArriveInOrder(t *testing.T) {
	addr, got := echo(t)
	w := newWire(&line{})
	c := dial(t, w, addr)
	w.hold(true, false)
	write(t, c, "one\n")
	write(t, c, "two\n")
	other := dialInBackground(t, w, addr) // nothing gets through, neither does a connection
	select {
	case line := <-got:
		t.Fatalf("%q got through", line)
	case <-other:
		t.Fatal("a connection came about")
	default:
	}
	w.heal(true, false)
	write(t, c, "three\n")
	for _, want := range []string{"one\n", "two\n", "three\n"} {
		if line := <-got; line != want {
			t.Errorf("%q, not %q", line, want)
		}
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
}

func dialInBackground(t *testing.T, w *wire, addr string) chan error {
	done := make(chan error, 1)
	go func() {
		c, err := w.dial(context.Background(), &redis.Options{DialTimeout: time.Second}, "tcp", addr)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
		done <- err
	}()
	return done
}

func TestRepliesThatAreHeldBackArriveLater(t *testing.T) {
	addr, got := echo(t)
	w := newWire(&line{})
	c := dial(t, w, addr)
	w.hold(false, true)
	write(t, c, "one\n")
	<-got
	readsNothing(t, c)
	w.heal(false, true)
	write(t, c, "two\n")
	read(t, c, "one\ntwo\n")
}

// The end of one fault is not that of another that strikes at the same time.
func TestFaultsThatOverlap(t *testing.T) {
	addr, got := echo(t)
	w := newWire(&line{})
	c := dial(t, w, addr)
	w.hold(true, true)
	w.hold(false, true)
	w.hold(true, false)
	write(t, c, "one\n")
	w.heal(true, true)
	if w.requests.until() == nil || w.replies.until() == nil {
		t.Error("the end of the first let go what the others hold back")
	}
	select {
	case line := <-got:
		t.Errorf("%q got through", line)
	default:
	}
	w.heal(true, false)
	<-got
	readsNothing(t, c)
	w.heal(false, true)
	read(t, c, "one\n")
	w.slow(2 * time.Millisecond)
	w.slow(3 * time.Millisecond)
	if w.slow(-2 * time.Millisecond); w.delay != 3*time.Millisecond {
		t.Errorf("replies come %s late", w.delay)
	}
}

func TestDeadWire(t *testing.T) {
	addr, got := echo(t)
	w := newWire(&line{})
	c := dial(t, w, addr)
	w.hold(true, true)
	write(t, c, "never\n")
	waiting := dialInBackground(t, w, addr)
	w.kill()
	if line := <-got; line != "gone" {
		t.Errorf("%q got through", line)
	}
	if err := <-waiting; !errors.Is(err, errDead) {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("read from a dead wire")
	}
	if _, err := w.dial(t.Context(), &redis.Options{}, "tcp", addr); !errors.Is(err, errDead) {
		t.Error(err)
	}
	w.hold(true, true) // nothing waits for ever for what is dead
	if n := w.reset(); n != 0 {
		t.Errorf("%d connections left", n)
	}
}

func TestResetBreaksConnectionsAndOthersComeAbout(t *testing.T) {
	addr, got := echo(t)
	w := newWire(&line{})
	c := dial(t, w, addr)
	dial(t, w, addr)
	write(t, c, "one\n")
	<-got
	if n := w.reset(); n != 2 {
		t.Errorf("%d connections", n)
	}
	if _, err := c.Write([]byte("two\n")); err == nil {
		t.Error("wrote to a broken connection")
	}
	c = dial(t, w, addr)
	w.slow(time.Millisecond)
	write(t, c, "three\n")
	read(t, c, "three\n")
}

// While the server is away nobody is connected, and nobody connects; what the server before called its
// connections is forgotten.
func TestLineThatIsCut(t *testing.T) {
	addr, got := echo(t)
	l := &line{}
	w := newWire(l)
	c := dial(t, w, addr)
	era := l.now()
	w.connected(7, era)
	if n := l.cut(); n != 1 {
		t.Errorf("%d connections broken", n)
	}
	if line := <-got; line != "gone" {
		t.Errorf("%q", line)
	}
	if _, err := c.Write([]byte("late\n")); err == nil {
		t.Error("it could be written to")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.dial(ctx, &redis.Options{DialTimeout: time.Second}, "tcp", addr); !errors.Is(err, context.Canceled) {
		t.Errorf("connected, %v", err)
	}
	l.mend("")
	w.connected(8, era) // it heard so from the server before
	if ids := w.known(); len(ids) > 0 {
		t.Error(ids)
	}
	write(t, dial(t, w, addr), "again\n")
	if line := <-got; line != "again\n" {
		t.Errorf("%q", line)
	}
	w.connected(9, l.now())
	if ids := w.known(); len(ids) != 1 || ids[0] != 9 {
		t.Error(ids)
	}
	l.leave(w)
	if n := l.cut(); n != 0 {
		t.Errorf("%d connections of a wire that left are broken", n)
	}
}
