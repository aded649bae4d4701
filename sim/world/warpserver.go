package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/warp"
)

// warped is a server that is a process in virtual time. It is at rest whenever the world looks at it.
type warped struct {
	*admin
	w       *World
	words   []string // that start it
	socket  string   // at which it listens
	process *warp.Process
}

// WarpOn is as [Warp], with a process in virtual time for each server. The program is the one given, by its path or its
// name on PATH.
func WarpOn(program string) Ground {
	g := Warp()
	g.noReplicas, g.Versions = "a server in virtual time has", map[string]string{}
	g.open = func(w *World, _ plan.Server, _ uint64) (backend, error) {
		path, err := redisserver.Find(program)
		if err != nil {
			return nil, err
		}
		v := &warped{w: w}
		dir, err := os.MkdirTemp(w.processes.Folder(), "server-")
		if err != nil {
			return nil, fmt.Errorf("a folder for %s: %w", path, err)
		}
		v.socket = filepath.Join(dir, "socket")
		// It says on its standard output what goes wrong.
		v.words = []string{path, "--port", "0", "--unixsocket", v.socket, "--dir", dir, "--save", "", "--appendonly", "no",
			"--daemonize", "no", "--logfile", "", "--loglevel", "warning"}
		v.admin = &admin{adminOf(&redis.Options{Dialer: v.dial}), v.timeOf, w.Real}
		if err := v.launch(); err != nil {
			v.close()
			return nil, err
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

// launch starts the process, and returns when it listens. The run has not begun: time may pass.
func (v *warped) launch() (err error) {
	if v.process, err = v.w.processes.Start(v.words); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < startTime; {
		for v.w.rest() {
		}
		if err := v.w.Failure(); err != nil {
			return err
		}
		probe, err := v.w.processes.Dial(v.process, v.socket)
		if err == nil {
			return probe.Close()
		}
		if v.w.waitEnds.IsZero() {
			break
		}
		time.Sleep(time.Until(v.w.waitEnds))
		v.w.processes.Wake()
	}
	select {
	case <-v.process.Exited():
		err = fmt.Errorf("%s died at start: %s", v.words[0], v.process.Ending())
	default:
		err = fmt.Errorf("%s does not listen on its socket", v.words[0])
	}
	v.process.Out().Close()
	if text, _ := io.ReadAll(v.process.Out()); len(text) > 0 {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return err
}

// end ends the process, if there is one.
func (v *warped) end() {
	if v.process != nil {
		v.w.check(v.process.Kill())
		v.process = nil
	}
}

// serve joins the world's end of a connection to one of the process.
func (v *warped) serve(end *network.End) {
	go func() {
		defer end.Close()
		upstream, err := v.w.processes.Dial(v.process, v.socket)
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
func (v *warped) dial(context.Context, string, string) (net.Conn, error) {
	if v.process == nil {
		return nil, errors.New("the server has ended")
	}
	s, err := v.w.processes.Dial(v.process, v.socket)
	if err != nil {
		return nil, err
	}
	return &adminConn{s, v.w}, nil
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
func (v *warped) timeOf(ms int64) time.Duration { return time.UnixMilli(ms).Sub(*v.w.start.Load()) }

func (v *warped) tick()    {}
func (v *warped) written() {}

// stop and start have nothing to do: nobody reaches a server whose network refuses connections, and its connections and
// scripts are gone, as are the data that it is to lose. To start anew it would take time of the story.
func (v *warped) stop() error  { return nil }
func (v *warped) start() error { return nil }

func (v *warped) acknowledged() (n int, next time.Duration, known bool) { return 0, 0, false }

// It has no replicas: see [Ground.Suits].
func (v *warped) stopReplication(int)   {}
func (v *warped) resumeReplication(int) {}
func (v *warped) promote(int) error     { return errors.ErrUnsupported }

func (v *warped) close() {
	v.Client.Close()
	v.end()
	v.w.rest() // who reads what it says learns that it has ended
}
