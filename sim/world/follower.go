package world

import (
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

// follow starts a replica of a server.
func (l *live) follow(ctx context.Context, lag time.Duration) (err error) {
	f := &follower{}
	if f.Server, err = redisserver.Start(ctx, redisserver.Options{AtLeast: OldestRedis}); err != nil {
		return err
	}
	l.follows = append(l.follows, f)
	return l.attach(ctx, f, lag)
}

// attach makes f a replica of the server, and waits until it has its data.
func (l *live) attach(ctx context.Context, f *follower, lag time.Duration) (err error) {
	if f.link, err = newLagging(l.options.Addr, lag); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(f.link.Addr().String())
	if err := f.Client().Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
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

func (l *live) stopReplication(replica int)   { l.follows[replica-1].link.hold(true) }
func (l *live) resumeReplication(replica int) { l.follows[replica-1].link.hold(false) }

// promote ends the master, and makes a replica the master that is reached from now on. The others
// follow it.
func (l *live) promote(replica int) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	heir := l.follows[replica-1]
	for _, f := range l.follows {
		f.link.Close() // what is under way is lost
	}
	if old, ok := l.process.(*redisserver.Server); ok {
		old.Kill()
	}
	if err := heir.Client().Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return err
	}
	l.options = heir.RedisOptions()
	l.process = heir.Server
	l.admin.Close()
	l.admin = adminOf(l.options)
	for _, f := range l.follows {
		if f != heir {
			if err := l.attach(ctx, f, f.link.lag); err != nil {
				return err
			}
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

// lagging passes on what is sent over TCP, later: from the server on whose behalf it listens by lag,
// to it at once. While it holds, nothing comes from that server.
type lagging struct {
	net.Listener
	lag time.Duration

	mu     sync.Mutex
	cond   *sync.Cond
	held   bool
	closed bool
	conns  []net.Conn
}

func newLagging(to string, lag time.Duration) (*lagging, error) {
	l := &lagging{lag: lag}
	l.cond = sync.NewCond(&l.mu)
	var err error
	if l.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil || !l.keep(c, server) {
				c.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(server, c)
				server.Close()
			}()
			go l.pass(c, server)
		}
	}()
	return l, nil
}

// keep notes connections that end with it.
func (l *lagging) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		for _, c := range conns {
			c.Close()
		}
		return false
	}
	l.conns = append(l.conns, conns...)
	return true
}

// late is what is to be passed on, when it is due.
type late struct {
	due  time.Time
	data []byte
}

func (l *lagging) pass(to, from net.Conn) {
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
		time.Sleep(time.Until(m.due))
		l.mu.Lock()
		for l.held && !l.closed {
			l.cond.Wait()
		}
		closed := l.closed
		l.mu.Unlock()
		if _, err := to.Write(m.data); err != nil || closed {
			return
		}
	}
}

// hold has nothing more come, or lets it come again.
func (l *lagging) hold(held bool) {
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	l.cond.Broadcast()
}

func (l *lagging) Close() error {
	l.mu.Lock()
	l.closed = true
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	l.cond.Broadcast()
	errs := []error{l.Listener.Close()}
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
