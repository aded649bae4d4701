package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain builds the programs, once for all tests.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "simrun-fleet")
	if err == nil {
		if err = build(dir); err == nil {
			built = dir
			code := m.Run()
			_ = os.RemoveAll(dir)
			os.Exit(code)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var built string // the folder of the programs

// build builds simrun and simrun-fleet into a folder, with the flags for simrun that are given.
func build(dir string, flags ...string) error {
	for _, p := range []struct {
		in, what string
		flags    []string
	}{{"../..", "./cmd/simrun", flags}, {".", ".", nil}} {
		build := exec.Command("go", append(append([]string{"build", "-o", dir + string(filepath.Separator)}, p.flags...), p.what)...)
		build.Dir = p.in
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// process is one that a test has started.
type process struct {
	*exec.Cmd
	lines chan string // of its output, and of what it says

	mu   sync.Mutex
	said bytes.Buffer
}

// start starts a program of a folder, in a folder of the test's.
func start(t *testing.T, dir, program string, args ...string) *process {
	p := &process{Cmd: exec.Command(filepath.Join(dir, program), args...), lines: make(chan string, 1000)}
	p.Dir = t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = w, w
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(io.TeeReader(r, p)); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// Write keeps what the process said.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

// says waits for a line that has some words in it.
func (p *process) says(t *testing.T, words string) string {
	for line := range p.lines {
		if strings.Contains(line, words) {
			return line
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Fatalf("%v ended, and never said %q: %s", p.Args, words, p.said.String())
	return ""
}

// explored is what simrun explore says of a search on some seeds.
func explored(t *testing.T, ctx context.Context, out string, args ...string) map[string]any {
	all := append([]string{"explore", "-subject", "redislock", "-runs", "1000", "-json", "-out", out}, args...)
	explore := exec.CommandContext(ctx, filepath.Join(built, "simrun"), all...)
	var said bytes.Buffer
	explore.Stderr = &said
	b, err := explore.Output()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", all, err, said.String())
	}
	var total map[string]any
	if err := json.Unmarshal(b, &total); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	delete(total, "dir")
	return total
}

// address is one that nobody listens at, and that no connection gets while the broker is down: systems give
// connections ports from 32768 on.
func address(t *testing.T) string {
	var err error
	for range 100 {
		var l net.Listener
		l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", 16384+rand.IntN(16384)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal(err)
	return ""
}

// A search that many machines do comes to the same total as on one, though workers, the broker and the program that hands the shards out are killed.
func TestAFleetComesToTheSameTotal(t *testing.T) {
	dir := t.TempDir()
	alone, fleet := explored(t, t.Context(), filepath.Join(dir, "alone")), filepath.Join(dir, "fleet")
	at := address(t)
	serve := func() *process {
		p := start(t, built, "simrun-fleet", "serve", "-listen", at, "-store", filepath.Join(dir, "store"))
		p.says(t, "nats://"+at)
		return p
	}
	broker := serve()
	work := func() *process {
		p := start(t, built, "simrun-fleet", "work", "-on", "nats://"+at)
		p.says(t, "shards at once")
		return p
	}
	killed, _ := work(), work()

	// The first search is killed when its state has a shard.
	first, kill := context.WithCancel(t.Context())
	over := make(chan bool)
	go func() {
		explored(t, first, fleet, "-on", "nats://"+at)
		close(over)
	}()
	done := func() (n int) {
		states, _ := filepath.Glob(filepath.Join(fleet, "explore", "*", "state.jsonl"))
		for _, s := range states {
			b, _ := os.ReadFile(s)
			n += bytes.Count(b, []byte("\n")) - 1
		}
		return n
	}
	until(t, func() bool { return done() > 0 })
	_ = killed.Process.Kill()
	_ = broker.Process.Kill()
	_ = broker.Wait()
	kill()
	<-over
	if n := done(); n == 0 || n >= 40 {
		t.Fatalf("%d shards of 40 were done when the search was killed", n)
	}

	serve()
	work()
	if total := explored(t, t.Context(), fleet, "-on", "nats://"+at); !reflect.DeepEqual(total, alone) {
		t.Errorf("by a fleet: %v\nalone: %v", total, alone)
	}
}

// until waits for a condition that another process makes true.
func until(t *testing.T, holds func() bool) {
	for tick := time.NewTicker(5 * time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}

// A worker whose simrun is of another build than that of the search that waits says so, and ends.
func TestAWorkerOfAnotherBuildIsRefused(t *testing.T) {
	other := t.TempDir()
	if err := build(other, "-ldflags=-s"); err != nil {
		t.Fatal(err)
	}
	at := address(t)
	start(t, built, "simrun-fleet", "serve", "-listen", at, "-store", "store").says(t, "nats://"+at)
	start(t, built, "simrun", "explore", "-runs", "100", "-on", "nats://"+at)
	p := start(t, other, "simrun-fleet", "work", "-on", "nats://"+at)
	p.says(t, "install the same one")
	if err := p.Wait(); p.ProcessState.ExitCode() != exitUsage {
		t.Errorf("it ended with %v", err)
	}
}

// Whoever hands out waits for a broker that cannot be reached, and says so once.
func TestABrokerThatCannotBeReached(t *testing.T) {
	at := address(t)
	p := start(t, built, "simrun", "explore", "-subject", "redislock", "-runs", "25", "-out", "none", "-on", "nats://"+at)
	p.says(t, "waiting for nats://"+at)
	start(t, built, "simrun-fleet", "serve", "-listen", at, "-store", "store")
	start(t, built, "simrun-fleet", "work", "-on", "nats://"+at)
	p.says(t, "25 runs")
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "serve"},
		{[]string{"help"}, 0, "serve"},
		{[]string{"wrok"}, exitUsage, `unknown command "wrok"`},
		{[]string{"work"}, exitUsage, "-on: name the broker"},
		{[]string{"work", "-help"}, 0, "-simrun"},
		{[]string{"work", "-on", "nats://127.0.0.1:1", "-simrun", "/nowhere/simrun"}, exitUsage, "no simrun"},
		{[]string{"work", "-on", "nats://127.0.0.1:1", "-simrun", "cat"}, exitUsage, "it is no simrun"},
		{[]string{"work", "stray"}, exitUsage, `stray argument "stray"`},
		{[]string{"serve", "-listen", "4222"}, exitUsage, "must be HOST:PORT"},
		{[]string{"serve", "-listen", "127.0.0.1:70000"}, exitUsage, "from 0 to 65535"},
		{[]string{"serve", "-store", "/dev/null/x"}, exitUsage, "-store"},
		{[]string{"hand"}, exitUsage, "simrun explore -on gives them"},
		{[]string{"hand", "-on", "nats://[", "-build", "b", "-search", "s"}, exitHarness, "nats://["},
	} {
		var out, err bytes.Buffer
		in, end := io.Pipe() // its end would be the end of the search
		code := command(t.Context(), tt.args, std{in, &out, &err})
		end.Close()
		if code != tt.code || !strings.Contains(out.String()+err.String(), tt.says) || strings.Count(err.String(), "\n") > 1 && tt.args != nil && tt.code != exitUsage {
			t.Errorf("%q: %d, %s%s", tt.args, code, out.String(), err.String())
		}
	}
}
