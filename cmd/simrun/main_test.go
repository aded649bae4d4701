package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
)

// The tests run the real program, as a user does, in processes of its own.
var simrun string

// build is how it is built.
var build = []string{"build"}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "simrun-test-*")
	if err != nil {
		panic(err)
	}
	simrun = filepath.Join(dir, "simrun")
	if out, err := exec.Command("go", append(build, "-o", simrun, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run starts simrun in an empty folder of its own, and returns what it printed and its exit code.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(simrun, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

var stamp = regexp.MustCompile(`\d{8}T\d{6}Z`)

func TestTheReadmeShowsWhatReallyComesOut(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	out, _, code := run(t, t.TempDir(), "-scenario", "watchdog-death")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	// The reader starts it with go run; the test started the built program.
	want := strings.Replace(stamp.ReplaceAllString(out, "T"), "again   simrun", "again   go run ./cmd/simrun", 1)
	if !strings.Contains(stamp.ReplaceAllString(string(readme), "T"), "```\n"+want+"```\n") {
		t.Errorf("README.md does not show this output:\n%s", want)
	}
}

func TestBadUsageIsOneHelpfulLineAndExit254(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	bad := filepath.Join(dir, "bad.json")
	for name, text := range map[string]string{file: "", bad: `{"version":1,"clients":[{"name":"c1","threads":[{"id":1,"steps":[{"do":"lick"}]}]}]}`} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		want string // in the line
	}{
		{"", "say which scenario"},
		{"-scenario watchdog-deth", "did you mean watchdog-death?"},
		{"-scenario xyzzy", `unknown scenario "xyzzy": none of `},
		{"-scenario baseline -subject xyzzy-xyzzy-xyzzy-xyzzy", "; simrun list names them all"},
		{"-scenario baseline -subject rlock-lach", "did you mean rlock-latch?"},
		{"-scenario baseline -seed tomorrow", "a seed is a whole number"},
		{"-scenario baseline -seed -1", "a seed is a whole number"},
		{"-scenario baseline -seed 18446744073709551616", "a seed is a whole number"},
		{"-scenario baseline -jobs -1", "-jobs -1: from 1 to 1000, or 0"},
		{"-scenario baseline -runs 0", "at least one run"},
		{"-scenario baseline -runs many", "many"},
		{"-scenario baseline -sede 1", "did you mean -seed?"},
		{"-scenario baseline 7", `stray argument "7"`},
		{"-scenario", "-scenario"},
		{"-scenario baseline -out " + file, "not a directory"},
		{"-scenario baseline -out /proc/nowhere", "-out /proc/nowhere"},
		{"-scenario baseline -plan " + bad, "exclude each other"},
		{"-plan " + file, "-plan " + file},
		{"-plan " + bad, `$.clients[0].threads[0].steps[0].do: unknown action "lick"`},
		{"-plan " + filepath.Join(dir, "none.json"), "no such file"},
		{"-scenario baseline -world sim -subject exec:./worker", "a process of its own cannot run in world sim"},
		{"-scenario baseline -subject redis-py,redsync", "their virtual times are two worlds"},
		{"-scenario baseline -subject redison-4.7.0", "did you mean redisson-4.7.0?"},
		{"matrix -locks redison-4.7.0", "did you mean redisson-4.7.0?"},
		{"matrix -repeats -1", "-repeats -1: from 0 to"},
		{"matrix stray", "stray argument \"stray\""},
		{"-scenario baseline -world warp", "is for processes of their own"},
		{"-scenario baseline -world warp -subject exec:./worker -timescale 1/10", "in warp time costs nothing"},
		{"-scenario baseline -world redis -server no-such-server", "no no-such-server on PATH"},
		{"-scenario baseline -world redis -server /no/such", "/no/such: no such file or directory; it should be the program of a"},
		{"-scenario baseline -world miniredis -server redis-server", "it goes with -world warp or redis"},
		{"-scenario baseline -addr redis://127.0.0.1:1 -server redis-server", "without -addr"},
		{"soak -server no-such-server", "no no-such-server on PATH"},
		{"-scenario baseline -world mars", `unknown world "mars"`},
		{"-scenario baseline -timescale 1/10", "in sim time costs nothing"},
		{"-scenario baseline -world redis -timescale 0", "a timescale is a ratio"},
		{"-scenario baseline -world miniredis -addr redis://127.0.0.1:1", "leave one of them out"},
		{"-scenario baseline -allow-destructive", "it goes with -addr"},
		{"-scenario failover-async -world miniredis", "miniredis has none"},
		{"-scenario baseline -world redis -subject exec:./no-such-worker", "no such file"},
		{"worker-check", "say which program"},
		{"worker-check -v ./worker", "-v"},
		{"worker-check ./no-such-worker", "no such file"},
		{"list -q", "-q"},
		{"list everything", `stray argument "everything"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, strings.Fields(c.args)...)
			if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestARunLeavesItsFiles(t *testing.T) {
	dir := t.TempDir()
	_, stderr, code := run(t, dir, "-scenario", "watchdog-death", "-seed", "0x2a", "-no-proof")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	latest := filepath.Join(dir, "simrun-out", "watchdog-death", "latest")
	target, err := os.Readlink(latest)
	if err != nil || !strings.HasSuffix(target, "Z-42") {
		t.Errorf("latest is %q, %v", target, err)
	}
	h := load(t, latest)
	if h.Header.Seed != 42 || h.End == nil || len(h.Served) == 0 {
		t.Errorf("the history's header is %+v, its end %v, %d commands", h.Header, h.End, len(h.Served))
	}
	for _, name := range []string{"plan.json", "report.html", "porcupine.html"} {
		if info, err := os.Stat(filepath.Join(latest, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(latest, "verdict.json"))
	var v checker.Verdict
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil || v.Result(contract.Exclusion).Status != checker.Broken || v.Trace != h.End.Trace {
		t.Errorf("verdict.json: %v, %+v", err, v)
	}
	// What is on disk is what was judged: judging it again says the same.
	scenario, _ := scenarios.Find("watchdog-death")
	again := checker.Judge(t.Context(), h, judgingOf(scenario, "rlock-latch"))
	want, _ := json.Marshal(v)
	if got, _ := json.Marshal(again); !bytes.Equal(got, want) {
		t.Errorf("judged again:\n%s\nthe first time:\n%s", got, want)
	}
}

func load(t *testing.T, dir string) *history.History {
	t.Helper()
	main, err := os.Open(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer main.Close()
	served, err := os.Open(filepath.Join(dir, "server.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	h, err := history.Load(main, served)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOutNoneLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, stderr, code := run(t, dir, "-scenario", "key-expiry", "-out", "none"); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// The plan that a run leaves, run again with the same seed, is the same run: the same trace.
func TestAPlanFileReproducesItsRun(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "baseline", "-seed", "3", "-out", "a")
	first := filepath.Join(dir, "a", "baseline", "latest")
	_, stderr, code := run(t, dir, "-plan", filepath.Join(first, "plan.json"), "-seed", "3", "-out", "b")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	a, b := load(t, first), load(t, filepath.Join(dir, "b", "baseline", "latest"))
	if a.End.Trace != b.End.Trace {
		t.Errorf("traces %s and %s", a.End.Trace, b.End.Trace)
	}
}

// In a plan a lock is held to what it claims. This one breaks exclusion for every lock that does not tell its
// holders of a loss; what a lock breaks besides is its own defect.
func TestAnUnexpectedVerdictIsExit1(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "old-owner-unlock", "-out", "a")
	for lock, want := range map[string]int{defaultSubject: checker.ExitExpected, "broken-unlock-anybodys": checker.ExitUnexpected} {
		stdout, _, code := run(t, dir, "-plan", filepath.Join(dir, "a", "old-owner-unlock", "latest", "plan.json"), "-subject", lock, "-out", "none")
		if code != want || !strings.Contains(stdout, "exclusion") || strings.Contains(stdout, "a defect of this lock") != (want == checker.ExitUnexpected) {
			t.Errorf("%s: exit code %d, not %d, stdout:\n%s", lock, code, want, stdout)
		}
	}
}
