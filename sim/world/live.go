package world

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// live is a server of real time, reached over TCP. Every command of a client reaches it through the
// world, one at a time, so that the world can look at the keys before and after.
type live struct {
	w       *World
	options *redis.Options // to reach it
	*admin
	process *redisserver.Server // ours; nil: there is none that could be started again
	program string              // that it and its replicas run
	follows []*follower         // its replicas
	ahead   int64               // how far the server's clock is ahead of this machine's, in µs
	close1  func()

	// counts says that the server counts times to live down and knows no deadlines, so that these come
	// out a little different each time; then seen has those seen last.
	counts bool
	seen   map[string]time.Duration

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newLive looks at the clock of a server that answers at o.
func newLive(w *World, o *redis.Options) (*live, error) {
	l := &live{w: w, options: o, close1: func() {}, conns: map[net.Conn]bool{}}
	l.admin = &admin{Client: adminOf(o), timeOf: l.timeOf, real: w.Real}
	if err := l.compareClocks(); err != nil {
		l.admin.Client.Close()
		return nil, err
	}
	return l, nil
}

// compareClocks finds out how far the server's clock is ahead, by the quickest of some answers.
func (l *live) compareClocks() error {
	best := time.Hour
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), adminTime)
		before := time.Now()
		at, err := l.admin.Time(ctx).Result()
		took := time.Since(before)
		cancel()
		if err != nil {
			return err
		}
		if took < best {
			best = took
			l.ahead = at.UnixMicro() - before.Add(took/2).UnixMicro()
		}
	}
	return nil
}

// timeOf puts a time of the server's clock, in ms, into that of the run.
func (l *live) timeOf(ms int64) time.Duration {
	return l.w.Planned(time.Duration(ms*1000-l.ahead-l.w.start.Load().UnixMicro()) * time.Microsecond)
}

// serve joins the world's end of a connection to one of TCP.
func (l *live) serve(c *network.End) {
	go func() {
		defer c.Close()
		upstream, err := l.dial()
		if health.Exhausted(err) {
			l.w.Fail(err)
		}
		if err != nil {
			return
		}
		defer upstream.Close()
		if !l.note(upstream, true) {
			return
		}
		defer l.note(upstream, false)
		go func() {
			buf := make([]byte, 16<<10)
			for {
				n, err := c.Read(buf)
				if n > 0 {
					if _, err := upstream.Write(buf[:n]); err != nil {
						break
					}
				}
				if err != nil {
					break
				}
			}
			upstream.Close()
		}()
		replies(upstream, func(reply []byte) bool {
			_, err := c.Write(reply)
			return err == nil
		})
	}()
}

// replies calls take for each whole reply, until it says no, something else comes or the connection ends.
func replies(c io.Reader, take func(reply []byte) bool) {
	var rest []byte
	var parts network.Replies
	buf := make([]byte, 16<<10)
	for {
		n, err := c.Read(buf)
		rest = append(rest, buf[:n]...)
		for {
			size := parts.Next(rest)
			if size == 0 {
				break
			}
			if size < 0 || !take(rest[:size]) {
				return
			}
			rest = rest[size:]
		}
		if err != nil {
			return
		}
	}
}

// note keeps a connection, so that close ends it; it reports whether it may go on.
func (l *live) note(c net.Conn, open bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		return false
	}
	if open {
		l.conns[c] = true
	} else {
		delete(l.conns, c)
	}
	return true
}

// dial connects to the server, and presents the password if it wants one, so that no client has to
// know it.
func (l *live) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	o := l.options
	var c net.Conn
	var err error
	if o.TLSConfig != nil {
		c, err = (&tls.Dialer{Config: o.TLSConfig}).DialContext(ctx, cmp.Or(o.Network, "tcp"), o.Addr)
	} else {
		c, err = (&net.Dialer{}).DialContext(ctx, cmp.Or(o.Network, "tcp"), o.Addr)
	}
	if err != nil {
		return nil, err
	}
	var hello [][]string
	switch {
	case o.Username != "":
		hello = append(hello, []string{"AUTH", o.Username, o.Password})
	case o.Password != "":
		hello = append(hello, []string{"AUTH", o.Password})
	}
	if o.DB != 0 {
		hello = append(hello, []string{"SELECT", strconv.Itoa(o.DB)})
	}
	for _, command := range hello {
		if err == nil {
			_, err = c.Write(wireCommand(command))
		}
		if err == nil {
			replies(c, func(reply []byte) bool {
				if reply[0] == '-' {
					err = errors.New(network.ReplyText(reply))
				}
				return false
			})
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (l *live) tick() {}

func (l *live) read(key string) (value, error) {
	v, err := l.admin.read(key)
	if !l.counts || err != nil {
		return v, err
	}
	was := l.seen[key]
	if was != 0 && v.deadline != 0 && v.deadline != was {
		again, err := l.admin.read(key) // what came late in between makes it later, never sooner
		if err != nil {
			return v, err
		}
		if again.deadline != 0 {
			v.deadline = min(v.deadline, again.deadline)
		}
		if (v.deadline - was).Abs() <= l.w.exactly() {
			v.deadline = was
		}
	}
	l.seen[key] = v.deadline
	return v, nil
}

func (l *live) written() {}

// stop has nothing to do: nobody reaches a server whose network refuses connections. The process
// ends when it is to start again.
func (l *live) stop() error { return nil }

func (l *live) start() error {
	if l.process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	return l.process.Restart(ctx, true) // what it is to lose was flushed
}

func (l *live) acknowledged() (n int, next time.Duration, known bool) { return 0, 0, false }

func (l *live) close() {
	l.mu.Lock()
	for c := range l.conns {
		c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	if l.part != "" {
		l.sweep()
	}
	l.admin.Client.Close()
	for _, f := range l.follows {
		f.close()
	}
	if l.process != nil {
		l.process.Close()
	}
	l.close1()
}

// sweep removes the run's keys from a server that stays: those whose names contain that of the run, since a
// lock's further keys have the lock's name inside of theirs.
func (l *live) sweep() {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	if _, err := redisserver.Sweep(ctx, l.admin.Client, l.part, nil); err != nil {
		l.w.unclean = err
	}
}

// blocks reports whether a command may be answered only later.
func blocks(args []string) bool {
	if len(args) == 0 {
		return true
	}
	switch name := strings.ToLower(args[0]); name {
	case "wait", "waitaof", "xread", "xreadgroup":
		return true
	default:
		return strings.HasPrefix(name, "bl") || strings.HasPrefix(name, "br") || strings.HasPrefix(name, "bz")
	}
}

// margin is how close to a key's end nothing is delivered to its server, in real time, so that it is
// certain which of the two came first.
const margin = 4 * time.Millisecond

// clear returns the time before which m should not arrive, which is when a key that is about to end
// has ended; 0: now.
func (w *World) clear(s *server, m *network.Message) time.Duration {
	if !w.ground.Live || m.Dir != network.ToServer {
		return 0
	}
	free := time.Duration(0)
	near := w.Now() + w.Planned(margin)
	for _, key := range s.keys {
		if d := s.state[key].Deadline; d != 0 && d <= near {
			free = max(free, d)
		}
	}
	return free
}
