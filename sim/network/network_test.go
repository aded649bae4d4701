package network_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

const (
	us       = time.Microsecond
	ms       = time.Millisecond
	leastLat = 200 * us
	mostLat  = ms
)

// rig is a network whose messages the test moves, as the world does.
type rig struct {
	t        *testing.T
	net      *network.Network
	accepted []net.Conn
	notes    atomic.Int64 // calls of notify
}

func newRig(t *testing.T, runSeed uint64) *rig {
	r := &rig{t: t}
	r.net = network.New(&seed.Chance{Seed: runSeed}, network.Latency{Min: leastLat, Max: mostLat}, func() { r.notes.Add(1) },
		func(c *network.End) { r.accepted = append(r.accepted, c) })
	return r
}

// collect takes up what was written.
func (r *rig) collect() []*network.Message {
	synctest.Wait()
	return r.net.Collect(time.Now())
}

// step delivers the next message at its time, and returns it, or nil when nothing can move.
func (r *rig) step() *network.Message {
	r.collect()
	m := r.net.Next()
	if m == nil {
		return nil
	}
	time.Sleep(time.Until(m.Due))
	r.net.Deliver(m)
	synctest.Wait()
	return m
}

// settle delivers everything that can move.
func (r *rig) settle() []*network.Message {
	var all []*network.Message
	for {
		m := r.step()
		if m == nil {
			return all
		}
		all = append(all, m)
	}
}

// connect dials and returns both ends.
func (r *rig) connect(client string) (at, server net.Conn) {
	r.t.Helper()
	dialed := make(chan net.Conn, 1)
	go func() {
		c, err := r.net.Dial(context.Background(), client)
		if err != nil {
			r.t.Error(err)
		}
		dialed <- c
	}()
	r.settle()
	if len(dialed) == 0 {
		r.t.Fatal("the dial did not return")
	}
	return <-dialed, r.accepted[len(r.accepted)-1]
}

// finish closes connections, so that nothing outlives the bubble.
func (r *rig) finish(conns ...net.Conn) {
	for _, c := range conns {
		c.Close()
	}
	r.net.HealAll(time.Now())
	r.settle()
}

func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// received reads what has arrived at c.
func received(t *testing.T, c net.Conn) string {
	t.Helper()
	c.SetReadDeadline(time.Now())
	defer c.SetReadDeadline(time.Time{})
	b, err := io.ReadAll(c)
	if err != nil && !isTimeout(err) {
		t.Fatalf("Read: %v", err)
	}
	return string(b)
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func TestMessagesOfOneDirectionKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		var want string
		for i := range 200 {
			text := command("SET", "k", fmt.Sprint(i))
			want += text
			write(t, c, text)
			if i%7 == 0 {
				r.collect() // so that their latencies are drawn at different times
			}
		}
		r.settle()
		if got := received(t, s); got != want {
			t.Errorf("the server got %q", got)
		}
		r.finish(c, s)
	})
}

func TestLatencyIsWithinItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 7)
		c, s := r.connect("c1")
		least, most := time.Hour, time.Duration(0)
		for range 500 {
			write(t, c, command("PING"))
			sent := time.Now()
			m := r.step()
			took := time.Since(sent)
			if m == nil || m.Due.Sub(m.Sent) != took || took < leastLat || took > mostLat {
				t.Fatalf("a message took %v", took)
			}
			least, most = min(least, took), max(most, took)
		}
		if least > leastLat+50*us || most < mostLat-50*us {
			t.Errorf("500 latencies from %v to %v use little of %v to %v", least, most, leastLat, mostLat)
		}
		r.finish(c, s)
	})
}

func TestLatenciesOfAClientDoNotDependOnOthers(t *testing.T) {
	due := func(others bool) []time.Duration {
		var took []time.Duration
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 3)
			ends := []net.Conn{}
			if others {
				a, b := r.connect("c0")
				ends = append(ends, a, b)
			}
			c, s := r.connect("c1")
			for range 20 {
				if others {
					write(t, ends[0], command("PING"))
				}
				write(t, c, command("PING"))
				for _, m := range r.collect() {
					if m.Link.Client == "c1" {
						took = append(took, m.Due.Sub(m.Sent))
					}
				}
				r.settle()
			}
			r.finish(append(ends, c, s)...)
		})
		return took
	}
	if alone, together := due(false), due(true); len(alone) != 20 || !slices.Equal(alone, together) {
		t.Errorf("alone %v\ntogether %v", alone, together)
	}
}

func TestCollectionOrderIsThatOfNamesNotOfWrites(t *testing.T) {
	for _, backwards := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 1)
			var ends []net.Conn
			for _, name := range []string{"c2", "c10", "c1", "c1"} {
				c, s := r.connect(name)
				ends = append(ends, c, s)
			}
			writers := []net.Conn{ends[0], ends[2], ends[4], ends[6]}
			if backwards {
				slices.Reverse(writers)
			}
			for _, c := range writers {
				write(t, c, command("PING"))
			}
			var names []string
			for _, m := range r.collect() {
				names = append(names, m.Link.Name)
			}
			if want := []string{"c1#1", "c1#2", "c10#1", "c2#1"}; !slices.Equal(names, want) {
				t.Errorf("backwards %v: %v, want %v", backwards, names, want)
			}
			r.settle()
			r.finish(ends...)
		})
	}
}

// When nobody delivers anything any more, who dials is refused, and so is who dialed before.
func TestWhoDialsAfterTheEndIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		got := make(chan error, 2)
		dial := func() {
			_, err := r.net.Dial(context.Background(), "c1")
			got <- err
		}
		go dial()
		synctest.Wait()
		r.net.Close()
		dial()
		for range 2 {
			if err := <-got; !errors.Is(err, network.ErrRefused) {
				t.Errorf("told %v", err)
			}
		}
		if r.net.Links() > 0 || r.net.Dialing() > 0 {
			t.Errorf("%d connections, %d dial", r.net.Links(), r.net.Dialing())
		}
	})
}

func TestWritesWakeTheWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		for _, act := range []struct {
			what string
			do   func()
		}{
			{"write", func() { write(t, c, command("PING")) }},
			{"close", func() { c.Close() }}, // last: nothing can be written after it
		} {
			before := r.notes.Load()
			if act.do(); r.notes.Load() == before {
				t.Errorf("%s did not notify", act.what)
			}
		}
		r.finish(c, s)
	})
}

func TestCloseArrivesBehindWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		write(t, s, "+OK\r\n")
		s.Close()
		if _, err := s.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing to a closed end: %v", err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading from a closed end: %v", err)
		}
		r.settle()
		b, err := io.ReadAll(c) // to EOF
		if string(b) != "+OK\r\n" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if _, err := c.Write([]byte(command("PING"))); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("writing to one who has closed: %v", err)
		}
		if n := r.net.Links(); n != 1 {
			t.Errorf("%d links while one end is open", n)
		}
		c.Close()
		c.Close() // twice does nothing
		r.settle()
		if n := r.net.Links(); n != 0 {
			t.Errorf("%d links are left", n)
		}
	})
}

func TestCloseWakesABlockedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		got := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-got; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
		r.finish(c, s)
	})
}

func TestDataForAClosedEndIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		write(t, s, "+OK\r\n")
		c.Close()
		r.collect()
		dropped := false
		for m := r.net.Next(); m != nil; m = r.net.Next() {
			taken := r.net.Deliver(m)
			if m.Kind == network.Data {
				dropped = !taken
			}
			r.collect()
		}
		if !dropped {
			t.Error("the closed end took the message")
		}
		r.finish(s)
	})
}

func TestReadDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		read := func() (time.Duration, error) {
			began := time.Now()
			_, err := c.Read(make([]byte, 100))
			return time.Since(began), err
		}
		c.SetReadDeadline(time.Now().Add(3 * time.Second))
		if took, err := read(); !isTimeout(err) || took != 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		if took, err := read(); !isTimeout(err) || took != 0 { // it stays over
			t.Errorf("again: %v after %v", err, took)
		}
		c.SetReadDeadline(time.Now().Add(-time.Second))
		if took, err := read(); !isTimeout(err) || took != 0 {
			t.Errorf("in the past: %v after %v", err, took)
		}
		// A later deadline replaces an earlier one, and none at all both.
		c.SetDeadline(time.Now().Add(time.Second))
		c.SetDeadline(time.Now().Add(2 * time.Second))
		if took, err := read(); !isTimeout(err) || took != 2*time.Second {
			t.Errorf("replaced: %v after %v", err, took)
		}
		c.SetReadDeadline(time.Now().Add(time.Second))
		c.SetReadDeadline(time.Time{})
		c.SetWriteDeadline(time.Now().Add(-time.Second)) // writes never block
		write(t, c, command("PING"))
		returned := make(chan error, 1)
		go func() {
			_, err := read()
			returned <- err
		}()
		time.Sleep(5 * time.Second)
		write(t, s, "+PONG\r\n")
		if synctest.Wait(); len(returned) > 0 {
			t.Errorf("cleared: %v", <-returned)
		}
		r.settle()
		if err := <-returned; err != nil {
			t.Errorf("cleared: %v", err)
		}
		// What has arrived is read though the deadline is over.
		write(t, s, "+OK\r\n")
		r.settle()
		c.SetReadDeadline(time.Now().Add(-time.Second))
		if _, err := read(); err != nil {
			t.Errorf("data behind a deadline: %v", err)
		}
		r.finish(c, s)
		if err := c.SetReadDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("deadline of a closed end: %v", err)
		}
	})
}
