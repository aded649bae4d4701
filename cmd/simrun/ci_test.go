package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tested is the test in a module as docs/ci.md expects one; its lock is that of an example of locktest.
const tested = `package locktest_test

import (
	"testing"

	"github.com/holdfast-sim/holdfast/locktest"
)

func TestLock(t *testing.T) {
	locktest.Run(t, newRedislock)
}
`

// commands returns the commands of each step of the page's workflow, by their names.
func commands(t *testing.T) (names []string, by map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	by = map[string]string{}
	name, inside, margin := "", false, ""
	for line := range strings.Lines(string(page)) {
		text := strings.TrimSpace(line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		switch {
		case inside && (text == "" || len(indent) > len(margin)):
			by[name] += line
		case strings.HasPrefix(text, "- name: "):
			name, inside = strings.TrimPrefix(text, "- name: "), false
		case text == "run: |":
			inside, margin = true, indent
			names = append(names, name)
		default:
			inside = false
			if strings.HasPrefix(text, "run: ") || strings.HasPrefix(text, "- run: ") {
				t.Fatalf("a command that this test would not run: %s", text)
			}
		}
	}
	return names, by
}

func TestTheCommandsOfTheCIPageWork(t *testing.T) {
	t.Parallel()
	names, by := commands(t)
	if len(names) != 6 || len(by) != 6 {
		t.Fatalf("steps: %q", names)
	}
	dir := module(t)
	for _, name := range names {
		if name == "keep what was found" {
			found := `{"version": 1, "clients": [{"name": "c1", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "a"}, {"do": "unlock", "lock": "a"}]}]}]}`
			write(t, dir, "found/a/drawn-1-object.json", found)
		}
		step(t, dir, name, by[name])
	}
	for file, want := range map[string]string{
		"reports/go-test.txt":   "--- PASS: TestLock/object/drawn-25",
		"found/go-test.txt":     "--- PASS: TestLock/object/drawn-3",
		"reports/go-test.xml":   "<testcase",
		"reports/scenarios.xml": "<testcase",
		"summary.md":            "watchdog-death",
		"locks/testdata/locktest/night-7-drawn-1-object.json": `"version"`,
		"gh.txt": "pr create --fill",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v; it lacks %q", file, err, want)
		}
	}
	if out, err := exec.Command("git", "-C", filepath.Join(dir, "origin.git"), "log", "--oneline", "found-7").CombinedOutput(); err != nil || !strings.Contains(string(out), "Plans that night 7 has found") {
		t.Errorf("what was pushed: %v %s", err, out)
	}
	step(t, dir, "the kept plan is run", `go test -v -run 'TestLock/object/night-7' ./locks/... | grep -e '--- PASS: TestLock/object/night-7-drawn-1-object'`)
	if states, _ := filepath.Glob(filepath.Join(dir, "nightly/explore/*/state.jsonl")); len(states) != 1 {
		t.Errorf("what was explored: %q", states)
	}
}

// module makes the module in a folder, with a remote repository.
func module(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, requires, ok := strings.Cut(string(ours), "\nrequire (")
	if !ok {
		t.Fatal("go.mod requires nothing")
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/mine\n\ngo 1.26.0\n\ntool github.com/holdfast-sim/holdfast/cmd/simrun\n\n"+
		"require github.com/holdfast-sim/holdfast v0.0.0\n\nreplace github.com/holdfast-sim/holdfast => "+root+"\n\nrequire ("+requires)
	write(t, dir, "go.sum", string(sum))
	lock, err := os.ReadFile(filepath.Join(root, "locktest/example_redislock_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "locks/redislock_test.go", string(lock))
	write(t, dir, "locks/lock_test.go", tested)
	write(t, dir, "bin/gh", "#!/bin/sh\necho \"$@\" > gh.txt\n") // which nobody should really ask
	if err := os.Chmod(filepath.Join(dir, "bin/gh"), 0o755); err != nil {
		t.Fatal(err)
	}
	step(t, dir, "a repository", `git init -q --bare origin.git
git init -q . && git remote add origin "$PWD/origin.git"
git add go.mod go.sum locks && git -c user.name=a -c user.email=a@localhost commit -qm begin`)
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// step runs the commands of a step as a job does, with little to do.
func step(t *testing.T, dir, name, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUNS=1", "DRAWN=3", "HUNT=-runs 50", "GITHUB_RUN_NUMBER=7", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"),
		"GOFLAGS=-mod=mod", "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if name == "explore" && errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(string(out), "kept ") {
		t.Logf("it found something, which is not the page's fault:\n%s", out)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
