package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// follower is a real replica, behind a connection that takes its time.
type follower struct {
	*redisserver.Server
	link *lagging
}

// follow starts a replica of the server, and waits until it has its data.
func (l *live) follow(ctx context.Context, lag time.Duration) (err error) {
	f := &follower{}
	if f.Server, err = redisserver.Start(ctx, ours(l.program)); err != nil {
		return err
	}
	l.follows = append(l.follows, f)
	if err := l.attach(ctx, f, lag); err != nil {
		return err
	}
	for {
		info, err := f.Client().Info(ctx, "replication").Result()
		switch {
		case err != nil:
			return fmt.Errorf("a replica: %w", err)
		case strings.Contains(info, "master_link_status:up"):
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a replica did not get its master's data: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond): // it does not say when
		}
	}
}

// attach makes f a replica of the server.
func (l *live) attach(ctx context.Context, f *follower, lag time.Duration) error {
	f.link = newLagging(lag)
	at, err := f.link.overTCP(l.options.Addr)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(at.String())
	return f.Client().Do(ctx, "REPLICAOF", host, port).Err()
}

func (l *live) stopReplication(replica int)   { l.follows[replica-1].link.hold(true) }
func (l *live) resumeReplication(replica int) { l.follows[replica-1].link.hold(false) }

// promote makes a replica the master that is reached from now on. The others follow it, and the master that was takes its
// place among them.
func (l *live) promote(replica int) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	heir := l.follows[replica-1]
	for _, f := range l.follows {
		f.link.Close() // what is under way is lost
	}
	if err := heir.Client().Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return err
	}
	l.process, heir.Server = heir.Server, l.process
	l.options = l.process.RedisOptions()
	l.admin.Client.Close()
	l.admin.Client = adminOf(l.options)
	for _, f := range l.follows {
		if err := l.attach(ctx, f, f.link.lag); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) close() {
	if f.link != nil {
		f.link.Close()
	}
	f.Server.Close()
}

// lagging passes on what replicas and their master say, later: from the master by lag, to it at once. While it holds,
// nothing comes from the master.
type lagging struct {
	lag   time.Duration
	wrote func() // is called when something came from the master; may be nil

	mu    sync.Mutex
	cond  *sync.Cond
	held  bool
	over  chan struct{} // is closed with it
	ended bool          // over is closed
	ends  []io.Closer
}

func newLagging(lag time.Duration) *lagging {
	l := &lagging{lag: lag, wrote: func() {}, over: make(chan struct{})}
	l.cond = sync.NewCond(&l.mu)
	return l
}

// overTCP has it listen for the replicas of a server, and returns where.
func (l *lagging) overTCP(server string) (net.Addr, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || !l.keep(listener) {
		return nil, cmp.Or(err, net.ErrClosed)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			master, err := net.Dial("tcp", server)
			if err != nil {
				c.Close()
				continue
			}
			l.join(c, master)
		}
	}()
	return listener.Addr(), nil
}

// join passes on what a replica and its master say, until one of them ends.
func (l *lagging) join(replica, master io.ReadWriteCloser) {
	if !l.keep(replica, master) {
		return
	}
	go func() {
		_, _ = io.Copy(master, replica)
		master.Close()
	}()
	go l.pass(replica, master)
}

// keep notes what ends with it.
func (l *lagging) keep(ends ...io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		for _, e := range ends {
			e.Close()
		}
		return false
	}
	l.ends = append(l.ends, ends...)
	return true
}

// late is what is to be passed on, when it is due.
type late struct {
	due  time.Time
	data []byte
}

func (l *lagging) pass(to io.WriteCloser, from io.Reader) {
	defer to.Close()
	queue := make(chan late, 1<<16)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				queue <- late{time.Now().Add(l.lag), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for m := range queue {
		due := time.NewTimer(time.Until(m.due))
		select {
		case <-due.C:
		case <-l.over:
			due.Stop()
			return
		}
		l.mu.Lock()
		for l.held && !l.ended {
			l.cond.Wait()
		}
		ended := l.ended
		l.mu.Unlock()
		if ended {
			return
		}
		if _, err := to.Write(m.data); err != nil {
			return
		}
		l.wrote()
	}
}

// hold has nothing more come, or lets it come again.
func (l *lagging) hold(held bool) {
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	l.cond.Broadcast()
}

// Close ends all that it keeps: what is under way is lost.
func (l *lagging) Close() error {
	l.mu.Lock()
	if !l.ended {
		close(l.over)
	}
	l.ended = true
	ends := l.ends
	l.ends = nil
	l.mu.Unlock()
	l.cond.Broadcast()
	var errs []error
	for _, e := range ends {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}
