package redisserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options configure a server. The zero value is usable.
type Options struct {
	// Path of the program, or its name on PATH. Default: redis-server.
	Path string

	// Port to listen on, on 127.0.0.1. 0: a free one.
	Port int

	// Second is the directive of another port to listen on, as "tls-port" or "cluster-port". It gets a
	// free one, which [Server.SecondPort] tells. Default: none.
	Second string

	// AtLeast is the oldest version that will do, as "6.2". Default: any.
	AtLeast string

	// Password that clients need, and that it presents to its master. Default: none.
	Password string

	// Durable has every write on disk before it is answered, so that even [Server.Kill] loses
	// nothing that was answered. Default: nothing is written but by [Server.Restart].
	Durable bool

	// Config are further lines of redis.conf, as "maxmemory 10mb".
	Config []string

	ports func() (int, error) // in tests: where free ports come from
}

// Server is a redis-server process of our own. It is safe for concurrent use.
type Server struct {
	o      Options
	second int // the port of o.Second
	dir    string
	guard  *guard
	client *redis.Client

	mu      sync.Mutex
	process *process // nil: we ended it
	is      Software
	closed  bool
}

// startTime bounds how long a server may take to answer; a loaded machine takes a second.
const startTime = 20 * time.Second

var errPortInUse = errors.New("the port is in use")

// Start starts a server, and returns when it answers. The caller closes it. Errors say in one line
// what is wrong, followed by the server's last log lines if it ended.
func Start(ctx context.Context, o Options) (*Server, error) {
	quiet()
	if o.ports == nil {
		o.ports = freePort
	}
	path, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	o.Path = path
	s := &Server{o: o}
	if s.dir, err = os.MkdirTemp("", "holdfast-redis-"); err != nil {
		return nil, fmt.Errorf("a folder for redis-server: %w", err)
	}
	if s.guard, err = watch(s.dir); err != nil {
		_ = os.RemoveAll(s.dir)
		return nil, fmt.Errorf("the guard of redis-server: %w", err)
	}
	// Between our finding a port free and the server's taking it, somebody else may.
	for range 10 {
		if err = s.choosePorts(o); err != nil {
			break
		}
		if err = s.launch(ctx); err == nil {
			s.client = redis.NewClient(s.RedisOptions())
			return s, nil
		}
		if !errors.Is(err, errPortInUse) || o.Port != 0 && o.Second == "" {
			break
		}
	}
	s.clear()
	return nil, err
}

// choosePorts has the server listen on free ports where o says no other.
func (s *Server) choosePorts(o Options) (err error) {
	if o.Port == 0 {
		s.o.Port, err = o.ports()
	}
	if o.Second != "" && err == nil {
		s.second, err = o.ports()
	}
	return err
}

// Addr is where it listens, as "127.0.0.1:40123"; it stays the same over restarts.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.o.Port)) }

// SecondPort is the number of the port that [Options.Second] is about; it stays the same over restarts.
func (s *Server) SecondPort() int { return s.second }

// Path is that of the program.
func (s *Server) Path() string { return s.o.Path }

// Software is what the program says that it is.
func (s *Server) Software() Software {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// RedisOptions are what a client needs to connect to it.
func (s *Server) RedisOptions() *redis.Options {
	o := plainOptions()
	o.Addr, o.Password = s.Addr(), s.o.Password
	return o
}

// Client is one that the server's keeper uses. It is closed with the server.
func (s *Server) Client() *redis.Client { return s.client }

// Err says that the server ended though nobody asked it to, with its last log lines; nil: it did not.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.ended() {
		return nil
	}
	return s.process.failure("redis-server on " + s.Addr() + " ended")
}

// launch starts the process and waits until it answers.
func (s *Server) launch(ctx context.Context) error {
	conf := filepath.Join(s.dir, "redis.conf")
	// A file, rather than arguments: those are for all to see.
	if err := os.WriteFile(conf, []byte(s.config()), 0o600); err != nil {
		return fmt.Errorf("the configuration of redis-server: %w", err)
	}
	p, err := start(s.o.Path, []string{conf}, s.dir)
	if err != nil {
		return fmt.Errorf("redis-server cannot be started: %w", err)
	}
	p.secret = s.o.Password
	info, err := s.answers(ctx, p)
	if err == nil && older(info[versionOfRedis], s.o.AtLeast) {
		err = tooOld("the server "+s.o.Path, info[versionOfRedis], s.o.AtLeast)
	}
	if err != nil {
		p.kill()
		return err
	}
	s.process, s.is = p, softwareOf(info)
	return nil
}

func (s *Server) config() string {
	lines := []string{
		"bind 127.0.0.1", "port " + strconv.Itoa(s.o.Port), "daemonize no", `logfile ""`,
		"dir " + quote(s.dir), "pidfile " + quote(filepath.Join(s.dir, pidFile)),
		`save ""`, "appendonly no",
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0", // a replica need not wait for others
	}
	if s.o.Second != "" {
		lines = append(lines, s.o.Second+" "+strconv.Itoa(s.second))
	}
	if s.o.Durable {
		lines = append(lines, "appendonly yes", "appendfsync always")
	}
	if s.o.Password != "" {
		lines = append(lines, "requirepass "+quote(s.o.Password), "masterauth "+quote(s.o.Password))
	}
	return strings.Join(append(lines, s.o.Config...), "\n") + "\n"
}

// quote puts a value as redis.conf reads it.
func quote(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// answers waits until it is process p that answers on our port, and returns what it says of itself.
func (s *Server) answers(ctx context.Context, p *process) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	o := s.RedisOptions()
	o.ReadTimeout = 200 * time.Millisecond // whoever else may have the port need not answer
	client := redis.NewClient(o)
	defer client.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if client.Ping(ctx).Err() == nil {
			info, err := infoOf(ctx, client, "server")
			if err == nil && info["process_id"] == strconv.Itoa(p.pid()) {
				return info, nil
			}
		}
		select {
		case <-p.done:
			if p.tail.contains("Address already in use") {
				return nil, fmt.Errorf("redis-server cannot listen on %s: %w", s.Addr(), errPortInUse)
			}
			return nil, p.failure("redis-server died at start")
		case <-ctx.Done():
			return nil, p.failure("redis-server on " + s.Addr() + " does not answer")
		case <-tick.C:
		}
	}
}

// Kill ends the process at once, as a crash does. It does nothing if it is down.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Restart ends the process if it runs, and starts it on the same port. With keep it has the data
// that it had: all of it if the server is Durable or was running, else none is kept and that is an
// error. What it was a replica of it is no longer.
func (s *Server) Restart(ctx context.Context, keep bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if keep && !s.o.Durable {
		if s.process == nil {
			return fmt.Errorf("redis-server on %s was killed, and keeps its data then only if it is Durable", s.Addr())
		}
		s.process.resume()
		if err := s.client.Save(ctx).Err(); err != nil {
			return fmt.Errorf("redis-server on %s cannot save its data: %w", s.Addr(), err)
		}
	}
	s.kill()
	if !keep {
		if err := s.forget(); err != nil {
			return err
		}
	}
	if err := s.launch(ctx); err != nil {
		return err
	}
	if !s.o.Durable {
		return s.forget() // or a later restart would find data of long ago
	}
	return nil
}

// forget removes what the server saved.
func (s *Server) forget() error {
	for _, name := range []string{"dump.rdb", "appendonlydir", "appendonly.aof"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("the data of redis-server: %w", err)
		}
	}
	return nil
}

// Pause stops the process where it is (SIGSTOP): its connections stay, and nothing is answered
// until Resume.
func (s *Server) Pause() error { return s.signal((*process).pause) }

// Resume has a paused process go on (SIGCONT).
func (s *Server) Resume() error { return s.signal((*process).resume) }

func (s *Server) signal(send func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("redis-server on %s is down", s.Addr())
	}
	return send(s.process)
}

// ReplicaOf makes the server a replica, and returns when it has its master's data.
func (s *Server) ReplicaOf(ctx context.Context, master *Server) error {
	host, port, _ := net.SplitHostPort(master.Addr())
	if err := s.client.ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("redis-server on %s cannot become a replica: %w", s.Addr(), err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := infoOf(ctx, s.client, "replication")
		switch {
		case err == nil && info["master_link_status"] == "up":
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("redis-server on %s has not reached its master %s: %w", s.Addr(), master.Addr(), context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Promote makes a replica a master, with the data that it has.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.client.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return fmt.Errorf("redis-server on %s cannot be promoted: %w", s.Addr(), err)
	}
	return nil
}

var errClosed = errors.New("this redis-server was closed")

// Close ends the process and removes its folder. Further calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.kill()
	return errors.Join(s.client.Close(), s.clear())
}

// clear removes the folder, and dismisses the guard, which else would.
func (s *Server) clear() error {
	err := os.RemoveAll(s.dir)
	s.guard.dismiss()
	return err
}

// freePort is one that nobody listens on now. It is below those that systems give to connections (Linux:
// from 32768, others: from 49152), so that none takes it while the server is down for a restart.
func freePort() (int, error) {
	var err error
	for range 100 {
		var l net.Listener
		l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(16384+rand.IntN(16384))))
		if err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port, nil
		}
	}
	return 0, fmt.Errorf("a free port for redis-server: %w", err)
}
