package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/subjects/external"
)

// passes runs worker-check on a command, and holds it to pass.
func passesWorkerCheck(t *testing.T, name, command string) {
	t.Helper()
	stdout, stderr, code := run(t, t.TempDir(), append([]string{"worker-check"}, strings.Fields(command)...)...)
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "it is "+name) || !strings.Contains(stdout, " 0 FAILED,") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

func TestTheExampleWorkerInGoPassesWorkerCheck(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/workers/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passesWorkerCheck(t, "rlock-hardened 1", program)
}

func TestTheExampleWorkerInPythonPassesWorkerCheck(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs("../../examples/workers/python/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	passesWorkerCheck(t, "redis-py Lock", python(t)+" "+program)
}

// python is one that has redis-py. Debian's package is for its own, which need not be the first on PATH.
func python(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(candidate, "-c", "import redis").Run() == nil {
			return candidate
		}
	}
	if os.Getenv("HOLDFAST_REQUIRE_PYTHON") == "1" {
		t.Fatal("HOLDFAST_REQUIRE_PYTHON=1, but no python3 has redis-py")
	}
	t.Skip("no python3 has redis-py")
	return ""
}

func TestTheWorkerInShellOfTheManualPassesWorkerCheck(t *testing.T) {
	t.Parallel()
	for _, needed := range []string{"bash", "redis-cli"} {
		if _, err := exec.LookPath(needed); err == nil {
			continue
		}
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") == "1" {
			t.Fatalf("HOLDFAST_REQUIRE_REDIS=1, but no %s is on PATH", needed)
		}
		t.Skipf("no %s is on PATH", needed)
	}
	page, err := os.ReadFile("../../docs/worker.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```bash\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/worker.md has no script")
	}
	script := filepath.Join(t.TempDir(), "worker.sh")
	if err := os.WriteFile(script, block[1], 0o777); err != nil {
		t.Fatal(err)
	}
	passesWorkerCheck(t, "SET NX in bash 1", "bash "+script)
}

func TestAProgramThatIsNoWorkerFailsWorkerCheck(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, t.TempDir(), "worker-check", "-json", "echo", "Hello, world!")
	if code != checker.ExitUnexpected || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for i, line := range lines {
		var r external.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case i == 0 && (r.Name != "hello" || r.Status != external.Failed || !strings.Contains(r.Got, `"Hello, world!"`)):
			t.Errorf("%+v", r)
		case i > 0 && r.Status != external.NotReached:
			t.Errorf("%+v", r)
		}
	}
	stdout, _, _ = run(t, t.TempDir(), "worker-check", "echo", "Hello, world!")
	if !strings.Contains(stdout, "0 ok, 1 FAILED, 0 not claimed, ") || !strings.Contains(stdout, "but: worker") {
		t.Errorf("stdout:\n%s", stdout)
	}
}
