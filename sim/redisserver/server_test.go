package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// childVariable has this test program be a harness that starts a server and ends as it says.
const childVariable = "HOLDFAST_TEST_REDISSERVER_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		child(how)
	}
	os.Exit(m.Run())
}

func child(how string) {
	s, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.dir, s.Addr())
	if how == "panic" {
		panic("as asked")
	}
	select {} // until the parent kills us
}

// server starts one that the test's end closes.
func server(t *testing.T, o Options) *Server {
	t.Helper()
	Need(t)
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func value(t *testing.T, s *Server, key string) string {
	t.Helper()
	got, err := s.Client().Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return got
}

func set(t *testing.T, s *Server, key, value string) {
	t.Helper()
	if err := s.Client().Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func gone(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// eventually waits for what another process is about to do.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("still not so: %s", what)
		}
	}
}

func silent(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		c.Close()
	}
	return err != nil
}

func TestServersComeAndGo(t *testing.T) {
	a, b := server(t, Options{}), server(t, Options{AtLeast: "2.6"})
	set(t, a, "k", "a")
	if a.Addr() == b.Addr() || value(t, b, "k") != "" || a.Software().Version == "" {
		t.Errorf("%s and %s, version %q", a.Addr(), b.Addr(), a.Software().Version)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if !gone(a.dir) || !silent(a.Addr()) || gone(b.dir) {
		t.Error("Close took too little or too much")
	}
	if err := errors.Join(a.Close(), b.Err()); err != nil {
		t.Error(err)
	}
	if err := a.Restart(t.Context(), false); err == nil {
		t.Error("a closed server started")
	}
}

func TestRestart(t *testing.T) {
	s := server(t, Options{})
	addr := s.Addr()
	restart := func(keep bool, want string) {
		t.Helper()
		if err := s.Restart(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		if got := value(t, s, "k"); got != want || s.Addr() != addr {
			t.Errorf("%s at %s after a restart, keep=%v", got, s.Addr(), keep)
		}
	}
	set(t, s, "k", "1")
	restart(true, "1")
	restart(false, "")
	set(t, s, "k", "2")
	s.Kill()
	if !silent(addr) || s.Err() != nil {
		t.Errorf("killed: %v", s.Err())
	}
	if err := s.Pause(); err == nil {
		t.Error("a dead server was paused")
	}
	if err := s.Restart(t.Context(), true); err == nil {
		t.Error("kept what was lost")
	}
	restart(false, "")
}

func TestDurableSurvivesAKill(t *testing.T) {
	s := server(t, Options{Durable: true})
	set(t, s, "k", "1")
	s.Kill()
	for _, keep := range []bool{true, false} {
		if err := s.Restart(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		if got := value(t, s, "k"); (got == "1") != keep {
			t.Errorf("keep=%v: %q", keep, got)
		}
	}
}

func TestPausedServerKeepsConnectionsAndAnswersLater(t *testing.T) {
	s := server(t, Options{})
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "PING\r\n")
	stat := fmt.Sprintf("/proc/%d/stat", s.process.pid())
	if text, err := os.ReadFile(stat); err == nil {
		eventually(t, "stopped", func() bool {
			text, err = os.ReadFile(stat)
			return err == nil && strings.Contains(string(text), ") T ")
		})
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); line != "+PONG\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := s.Pause(); err != nil { // closing ends a paused one, too
		t.Fatal(err)
	}
}

func TestReplicaIsPromotedWithItsData(t *testing.T) {
	const password = `p "w\ é`
	master, replica := server(t, Options{Password: password}), server(t, Options{Password: password})
	set(t, master, "k", "1")
	if err := replica.ReplicaOf(t.Context(), master); err != nil {
		t.Fatal(err)
	}
	eventually(t, "replicated", func() bool { return value(t, replica, "k") == "1" })
	if err := replica.Client().Set(t.Context(), "k", "2", 0).Err(); err == nil {
		t.Error("a replica took a write")
	}
	master.Kill()
	if err := replica.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	set(t, replica, "k", "2")
}

func TestServerThatEndsIsToldOf(t *testing.T) {
	s := server(t, Options{})
	p, _ := os.FindProcess(s.process.pid())
	p.Kill()
	eventually(t, "ended", func() bool { return s.Err() != nil })
	if err := s.Err().Error(); !strings.Contains(err, s.Addr()) || !strings.Contains(err, "killed") || !strings.Contains(err, "Ready to accept") {
		t.Error(err)
	}
	if err := s.Restart(t.Context(), false); err != nil || s.Err() != nil {
		t.Error(err, s.Err())
	}
}

func TestPortThatIsTakenMeanwhile(t *testing.T) {
	Need(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	asked := 0
	s := server(t, Options{ports: func() (int, error) {
		if asked++; asked < 3 {
			return taken, nil
		}
		return freePort()
	}})
	if asked != 3 || s.o.Port == taken {
		t.Errorf("asked %d times, port %d", asked, s.o.Port)
	}
	// The second port is taken, whether the first is given or not.
	for _, port := range []func() (int, error){freePort, func() (int, error) { return 0, nil }} {
		given, err := port()
		if err != nil {
			t.Fatal(err)
		}
		second := 0
		s := server(t, Options{Port: given, Second: "cluster-port", Config: []string{"cluster-enabled yes"}, ports: func() (int, error) {
			if second++; second == 1 {
				return taken, nil
			}
			return freePort()
		}})
		if second < 2 || s.SecondPort() == taken || s.o.Port == taken {
			t.Errorf("asked %d times, ports %d and %d", second, s.o.Port, s.SecondPort())
		}
	}
	if _, err := Start(t.Context(), Options{Port: taken}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("127.0.0.1:%d: the port is in use", taken)) {
		t.Error(err)
	}
}

// Another server answers on the port: that is not ours, though it answers.
func TestPortOfAnotherServer(t *testing.T) {
	other := server(t, Options{})
	if _, err := Start(t.Context(), Options{Port: other.o.Port}); !errors.Is(err, errPortInUse) {
		t.Error(err)
	}
}

func TestServersThatCannotBe(t *testing.T) {
	Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	dies := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(dies, []byte("#!/bin/sh\necho one; echo two >&2; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		o    Options
		want []string
	}{
		{Options{Path: "redis-sevrer"}, []string{"no redis-sevrer on PATH", "the path of the program"}},
		{Options{Path: dies}, []string{"died at start: exit status 3", "\n  one\n  two"}},
		{Options{AtLeast: "99.1"}, []string{"is version ", "version 99.1 or later is needed"}},
		{Options{Password: "pa55word", Config: []string{"requirepass pa55word pa55word"}}, []string{"died at start: exit status 1", "***"}},
		{Options{Config: []string{"colour blue"}}, []string{"died at start", "Bad directive"}},
	}
	for _, tt := range tests {
		s, err := Start(t.Context(), tt.o)
		if err == nil {
			s.Close()
			t.Errorf("%+v started", tt.o)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
		if strings.Contains(err.Error(), "pa55word") {
			t.Errorf("%q tells the password", err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStartHeedsItsContext(t *testing.T) {
	Need(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Options{}); err == nil {
		s.Close()
		t.Error("started")
	}
}

func TestNothingOutlivesAHarnessThatDies(t *testing.T) {
	Need(t)
	for _, how := range []string{"panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var dir, addr string
			if _, err := fmt.Fscan(out, &dir, &addr); err != nil || dir == "error:" {
				t.Fatal(dir, addr, err)
			}
			if how == "kill" {
				if silent(addr) || gone(dir) {
					t.Error("it never was there")
				}
				cmd.Process.Kill()
			}
			cmd.Wait()
			eventually(t, "the server is gone", func() bool { return silent(addr) })
			eventually(t, "its folder is gone", func() bool { return gone(dir) })
		})
	}
}

func TestWhoHasNoServerIsToldHowToGetOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find("")
	for _, want := range []string{"no redis-server on PATH", "apt install redis-server", "brew install redis"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
