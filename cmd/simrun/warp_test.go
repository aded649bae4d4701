package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// needsWarp skips a test where processes cannot run in virtual time.
func needsWarp(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("world warp is Linux's")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PYTHON") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_PYTHON=1, but no cc is on PATH")
		}
		t.Skip("no cc is on PATH")
	}
}

// Workers of other languages play whole scenarios in virtual time, which is where they are played by default. Faults
// strike their messages and themselves, and what comes out is the same again.
func TestForeignLocksInVirtualTime(t *testing.T) {
	needsWarp(t)
	interpreters := map[string]func(*testing.T) string{".mjs": node, ".py": python}
	const inNode, inPython = "../../examples/workers/node/worker.mjs", "../../examples/workers/python/worker.py"
	for _, c := range []struct{ worker, scenario, server, broken string }{
		{inPython, "gc-pause", "", "exclusion effect"},
		{inPython, "partition-holder", "", "exclusion effect"},
		{inPython, "partition-holder", "redis-server", "exclusion effect"},
		{inPython, "restart-empty", "redis-server", "exclusion effect"},
		{inNode, "gc-pause", "", "exclusion effect watchdog"},
		{inNode, "gc-pause", "redis-server", "exclusion effect watchdog"},
		{inNode, "holder-crash", "", ""},
		{inNode, "failover-async", "", "exclusion effect"},
		{inNode, "restart-empty", "", "exclusion effect"},
	} {
		t.Run(filepath.Ext(c.worker)[1:]+"/"+c.scenario+"/"+c.server, func(t *testing.T) {
			t.Parallel()
			command := []string{"-subject", "exec:" + interpreters[filepath.Ext(c.worker)](t) + " " + c.worker}
			if c.server != "" {
				redisserver.Need(t)
				command = append(command, "-server", c.server)
			}
			for range 2 {
				stdout, stderr, code := run(t, ".", slices.Concat([]string{"-scenario", c.scenario, "-out", "none", "-json"}, command)...)
				var v checker.Verdict
				if err := json.Unmarshal([]byte(stdout), &v); err != nil || v.World != "warp" || code != checker.ExitExpected {
					t.Fatalf("exit code %d: %v\n%s%s", code, err, stdout, stderr)
				}
				if c.scenario == "gc-pause" && len(v.Unstruck) > 0 { // it holds up a program that works
					t.Errorf("struck nothing: %v", v.Unstruck)
				}
				var broken []string
				for _, r := range v.Results {
					if r.Status == checker.Broken {
						broken = append(broken, string(r.Guarantee))
					}
				}
				if got := strings.Join(broken, " "); got != c.broken {
					t.Errorf("broken: %q, want %q", got, c.broken)
				}
			}
		})
	}
}

// A lock whose key is not its name alone is watched before it is judged, so that what it does is known for its own.
func TestAKeyWithAPrefixIsLearnedInVirtualTime(t *testing.T) {
	needsWarp(t)
	interpreter := python(t)
	source, err := os.ReadFile("../../examples/workers/python/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	const plain = `client.lock(request["lock"]`
	if !strings.Contains(string(source), plain) {
		t.Fatalf("the worker has no %s", plain)
	}
	file := filepath.Join(t.TempDir(), "worker.py")
	prefixed := strings.Replace(string(source), plain, `client.lock("app:{" + request["lock"] + "}"`, 1)
	if err := os.WriteFile(file, []byte(prefixed), 0o600); err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]string{"holder-crash": "", "key-deleted": "exclusion effect"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			stdout, stderr, code := run(t, ".", "-scenario", scenario, "-subject", "exec:"+interpreter+" "+file, "-out", out, "-json")
			var v checker.Verdict
			if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != checker.ExitExpected {
				t.Fatalf("exit code %d: %v\n%s%s", code, err, stdout, stderr)
			}
			var broken []string
			for _, r := range v.Results {
				if r.Status == checker.Broken {
					broken = append(broken, string(r.Guarantee))
				}
			}
			if got := strings.Join(broken, " "); got != want {
				t.Errorf("broken: %q, want %q", got, want)
			}
			history, err := os.ReadFile(filepath.Join(out, scenario, "latest", historyFile))
			if err != nil || !strings.Contains(string(history), `"key":"app:{*}"`) {
				t.Errorf("the history does not say which key it is (%v)", err)
			}
		})
	}
}

// What a worker cannot do in virtual time ends the run with one line, and no verdict.
func TestAWorkerThatCannotRunInVirtualTimeIsNamed(t *testing.T) {
	needsWarp(t)
	interpreter := python(t)
	for name, c := range map[string]struct{ first, want string }{
		"spins":     {"while True: pass", "without sleeping"},
		"ends":      {"sys.exit(3)", "it ended: exit status 3"},
		"elsewhere": {"import socket; socket.create_connection(('127.0.0.1', 1))", "connects to 127.0.0.1, port 1, which is not of the world"},
		"prints":    {"print('hello')", "it wrote a line that is no message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "worker.py")
			source := fmt.Sprintf(`import sys, json
print(json.dumps({"hello": 2, "name": "x", "version": "1"}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["kind"] == "start":
        print(json.dumps({"id": request["id"], "outcome": "ok"}), flush=True)
    else:
        %s
        sys.stdout.flush()
`, c.first)
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := run(t, ".", "-scenario", "gc-pause", "-subject", "exec:"+interpreter+" "+file, "-out", "none")
			if code != checker.ExitHarness || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// A machine without a C compiler is told so.
func TestWithoutACompilerThereIsNoWarp(t *testing.T) {
	needsWarp(t)
	t.Setenv("PATH", t.TempDir())
	interpreter, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PYTHON") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	stdout, stderr, code := run(t, ".", "-scenario", "gc-pause", "-subject", "exec:"+interpreter+" ../../examples/workers/python/worker.py", "-out", "none")
	if code != checker.ExitHarness || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "there is no cc on PATH") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
