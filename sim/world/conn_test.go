package world

import (
	"context"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

// wires lead to a virtual server.
type wires struct {
	t   *testing.T
	net *network.Network
	all []net.Conn
}

// rest has all that was written arrive.
func (r *wires) rest() {
	for {
		r.net.HandOver()
		bubble.Here().Settle()
		r.net.Collect(time.Now())
		m := r.net.Next()
		if m == nil {
			return
		}
		time.Sleep(time.Until(m.Due))
		r.net.Deliver(m)
	}
}

func (r *wires) dial(client string) net.Conn {
	dialed := make(chan net.Conn, 1)
	go func() {
		c, err := r.net.Dial(context.Background(), client)
		if err != nil {
			r.t.Error(err)
		}
		dialed <- c
	}()
	r.rest()
	c := <-dialed
	r.all = append(r.all, c)
	return c
}

// says sends a command, or nothing, and expects what is then there to be read.
func (r *wires) says(c net.Conn, want string, words ...string) {
	r.t.Helper()
	if len(words) > 0 {
		c.Write(wireCommand(words))
		r.rest()
	}
	c.SetReadDeadline(time.Now())
	defer c.SetReadDeadline(time.Time{})
	got := ""
	for buf := make([]byte, 1000); ; {
		n, err := c.Read(buf)
		if got += string(buf[:n]); err != nil {
			if err != os.ErrDeadlineExceeded {
				got += "(" + err.Error() + ")"
			}
			break
		}
	}
	if got != want {
		r.t.Errorf("after %q: %q, want %q", words, got, want)
	}
}

func TestAConnectionThatBlocksSubscribesOrEnds(t *testing.T) {
	err := bubble.In(t).Run(func() {
		v := &virtual{redis: miniredis.NewMiniRedis()}
		var err error
		if v.admin, err = v.redis.Dial(); err != nil {
			t.Fatal(err)
		}
		r := &wires{t: t, net: network.New(&seed.Chance{Seed: 1}, network.Latency{}, func() {}, v.serve)}
		a, b := r.dial("a"), r.dial("b")

		r.says(a, "", "BLPOP", "queue", "0")
		r.says(a, "", "PING")
		r.says(b, ":1\r\n", "RPUSH", "queue", "x")
		r.says(a, "*2\r\n$5\r\nqueue\r\n$1\r\nx\r\n+PONG\r\n")
		r.says(a, "+PONG\r\n", "PING")

		r.says(a, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "SUBSCRIBE", "c")
		w := &World{servers: []*server{{backend: v}}}
		listens := func(want ...Listener) {
			t.Helper()
			if got := w.Listeners(); !slices.Equal(got, want) {
				t.Errorf("listeners: %v, want %v", got, want)
			}
		}
		listens(Listener{"a", "c"})
		r.says(a, "*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n", "SUBSCRIBE", "d")
		listens(Listener{"a", "c"}, Listener{"a", "d"})
		r.says(a, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nd\r\n:1\r\n", "UNSUBSCRIBE", "d")
		listens(Listener{"a", "c"})
		r.says(b, ":1\r\n", "PUBLISH", "c", "news")
		r.says(a, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nnews\r\n")
		a.Close()
		r.rest()
		listens()
		r.says(b, ":0\r\n", "PUBLISH", "c", "news")

		a = r.dial("a")
		r.says(a, "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n", "PSUBSCRIBE", "*")
		r.net.Tell(r.net.Break("a"), r.rest)
		r.rest()
		r.says(b, ":0\r\n", "PUBLISH", "c", "news")

		a = r.dial("a")
		r.says(a, "", "BLPOP", "queue", "0")
		r.net.Tell(r.net.Break("a"), r.rest)
		r.rest()
		r.says(b, ":1\r\n", "RPUSH", "queue", "y")
		r.says(b, ":1\r\n", "LLEN", "queue") // nobody who is gone took it

		a = r.dial("a")
		r.says(a, "+OK\r\n(EOF)", "QUIT")
		a = r.dial("a")
		r.says(a, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "SUBSCRIBE", "c")
		v.close() // also ends what is still there
		for _, c := range r.all {
			c.Close()
		}
		r.rest()
	})
	if err != nil {
		t.Fatal(err)
	}
}
