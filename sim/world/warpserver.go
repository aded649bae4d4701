package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/warp"
)

// warped is a server that is a process in virtual time, with processes for its replicas. They are at rest whenever the
// world looks at them.
type warped struct {
	*warpServer // the master
	follows     []*warpFollower
}

// warpServer is one process of a server.
type warpServer struct {
	*admin
	w       *World
	words   []string // that start it
	socket  string   // at which it listens
	process *warp.Process
}

// warpFollower is a replica, behind a connection that takes its time.
type warpFollower struct {
	*warpServer
	link *lagging
}

// WarpOn is as [Warp], with a process in virtual time for each server and replica. The program is the one given, by its
// path or its name on PATH.
func WarpOn(program string) Ground {
	g := Warp()
	g.Versions = map[string]string{}
	g.open = func(w *World, p plan.Server, _ uint64) (backend, error) {
		path, err := redisserver.Find(program)
		if err != nil {
			return nil, err
		}
		v := &warped{}
		if v.warpServer, err = w.launch(path); err != nil {
			return nil, err
		}
		for range p.Replicas {
			if err := v.follow(path, p.Lag.Duration()); err != nil {
				v.close()
				return nil, err
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), adminTime)
		defer cancel()
		is, err := redisserver.SoftwareOf(ctx, v.Client)
		if err != nil {
			v.close()
			return nil, fmt.Errorf("%s does not answer: %w", path, err)
		}
		w.ground.served(is)
		return v, nil
	}
	return g
}

// launch starts a process, and returns when it listens.
func (w *World) launch(path string) (s *warpServer, err error) {
	dir, err := os.MkdirTemp(w.processes.Folder(), "server-")
	if err != nil {
		return nil, fmt.Errorf("a folder for %s: %w", path, err)
	}
	s = &warpServer{w: w, socket: filepath.Join(dir, "socket")}
	// It says on its standard output what goes wrong.
	s.words = []string{path, "--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--logfile", "", "--loglevel", "warning", "--repl-diskless-sync-delay", "0"}
	s.admin = &admin{Client: adminOf(&redis.Options{Dialer: s.dial}), timeOf: s.timeOf, real: w.Real}
	if s.process, err = w.processes.Start(s.words); err != nil {
		return nil, err
	}
	listens, err := w.prepare(func() (bool, error) {
		probe, err := w.processes.Dial(s.process, s.socket)
		if err == nil {
			err = probe.Close()
		}
		return err == nil, nil
	})
	if listens {
		return s, nil
	}
	defer s.close()
	if err != nil {
		return nil, err
	}
	select {
	case <-s.process.Exited():
		err = fmt.Errorf("%s died at start: %s", path, s.process.Ending())
	default:
		err = fmt.Errorf("%s does not listen on its socket", path)
	}
	s.process.Out().Close()
	if text, _ := io.ReadAll(s.process.Out()); len(text) > 0 {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return nil, err
}

// prepare lets time pass until it is so, or nothing will happen any more. The run has not begun.
func (w *World) prepare(so func() (bool, error)) (bool, error) {
	for begun := time.Now(); time.Since(begun) < startTime; {
		for w.rest() {
			w.bubble.Settle()
		}
		if err := w.Failure(); err != nil {
			return false, err
		}
		if is, err := so(); is || err != nil {
			return is, err
		}
		if w.waitEnds.IsZero() {
			break
		}
		time.Sleep(time.Until(w.waitEnds))
		w.processes.Wake()
	}
	return false, nil
}

// follow starts a replica, and returns when it has the server's data.
func (v *warped) follow(path string, lag time.Duration) error {
	s, err := v.w.launch(path)
	if err != nil {
		return err
	}
	f := &warpFollower{warpServer: s}
	v.follows = append(v.follows, f)
	if err := v.attach(f, lag); err != nil {
		return err
	}
	follows, err := v.w.prepare(func() (bool, error) {
		info, err := f.Info(context.Background(), "replication").Result()
		return strings.Contains(info, "master_link_status:up"), err
	})
	if err == nil && !follows {
		err = errors.New("it did not get its master's data")
	}
	if err != nil {
		return fmt.Errorf("a replica: %w", err)
	}
	return nil
}

// attach makes f a replica of the server.
func (v *warped) attach(f *warpFollower, lag time.Duration) error {
	f.link = newLagging(lag)
	f.link.wrote = v.w.Notify
	link, master := f.link, v.warpServer
	port, err := v.w.processes.Listen(func(replica *warp.Stream) {
		upstream, err := v.w.processes.Dial(master.process, master.socket)
		if err != nil {
			replica.Close()
			return
		}
		link.join(replica, upstream)
	})
	if err == nil {
		_, err = f.do("REPLICAOF", "127.0.0.1", strconv.Itoa(port))
	}
	return err
}

func (v *warped) stopReplication(replica int)   { v.follows[replica-1].link.hold(true) }
func (v *warped) resumeReplication(replica int) { v.follows[replica-1].link.hold(false) }

// promote makes a replica the master that is reached from now on. The others follow it, and the master that was takes its
// place among them.
func (v *warped) promote(replica int) error {
	heir := v.follows[replica-1]
	for _, f := range v.follows {
		f.link.Close() // what is under way is lost
	}
	if _, err := heir.do("REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	v.warpServer, heir.warpServer = heir.warpServer, v.warpServer
	for _, f := range v.follows {
		if err := v.attach(f, f.link.lag); err != nil {
			return err
		}
	}
	return nil
}

func (v *warped) close() {
	for _, f := range v.follows {
		if f.link != nil {
			f.link.Close()
		}
		f.close()
	}
	v.warpServer.close()
}

// serve joins the world's end of a connection to one of the process.
func (s *warpServer) serve(end *network.End) {
	go func() {
		defer end.Close()
		upstream, err := s.w.processes.Dial(s.process, s.socket)
		if err != nil {
			return
		}
		defer upstream.Close()
		go func() {
			_, _ = io.Copy(upstream, end)
			upstream.Close()
		}()
		replies(upstream, func(reply []byte) bool {
			_, err := end.Write(reply)
			return err == nil
		})
	}()
}

// dial connects the world's own client.
func (s *warpServer) dial(context.Context, string, string) (net.Conn, error) {
	c, err := s.w.processes.Dial(s.process, s.socket)
	if err != nil {
		return nil, err
	}
	return &adminConn{c, s.w}, nil
}

// adminConn is the connection of the world's own client. No time passes until it is answered.
type adminConn struct {
	*warp.Stream
	w *World
}

// Read implements net.Conn.
func (c *adminConn) Read(b []byte) (int, error) {
	c.w.rest()
	if !c.Filled() {
		return 0, errors.New("the server does not answer")
	}
	return c.Stream.Read(b)
}

func (*adminConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (*adminConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (*adminConn) SetDeadline(time.Time) error      { return nil }
func (*adminConn) SetReadDeadline(time.Time) error  { return nil }
func (*adminConn) SetWriteDeadline(time.Time) error { return nil }

// timeOf puts a time of the server's clock, in ms, into that of the run.
func (s *warpServer) timeOf(ms int64) time.Duration { return time.UnixMilli(ms).Sub(*s.w.start.Load()) }

func (s *warpServer) tick()    {}
func (s *warpServer) written() {}

// stop and start have nothing to do: nobody reaches a server whose network refuses connections, and its connections and
// scripts are gone, as are the data that it is to lose. To start anew it would take time of the story.
func (s *warpServer) stop() error  { return nil }
func (s *warpServer) start() error { return nil }

func (s *warpServer) acknowledged() (n int, next time.Duration, known bool) { return 0, 0, false }

func (s *warpServer) close() {
	s.Client.Close()
	s.w.bubble.Outside(s.process.Kill)
	s.w.rest() // who reads what it says learns that it has ended
}
