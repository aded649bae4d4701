package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// What a night finds is new once. Then it is known, and no longer what makes a night fail.
func TestExploreComparesNights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hunt := []string{"explore", "-subject", "broken-unlock-twice", "-faults", "none", "-no-proof", "-compare", "simrun-out"}
	stdout, stderr, code := run(t, dir, append(hunt, "-runs", "50")...)
	if code != checker.ExitUnexpected || stderr != "" || !strings.Contains(stdout, ": 0 runs before, 50 now\n") || !strings.Contains(stdout, "  new       object: ") {
		t.Fatalf("the first: exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	stdout, stderr, code = run(t, dir, append(hunt, "-runs", "75")...)
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, ": 50 runs before, 25 now\n") || !strings.Contains(stdout, "  ongoing   object: ") || strings.Contains(stdout, "  new  ") {
		t.Errorf("the second: exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	// Without -compare what was found is found.
	if stdout, _, code := run(t, dir, "explore", "-subject", "broken-unlock-twice", "-faults", "none", "-no-proof", "-runs", "75"); code != checker.ExitUnexpected || strings.Contains(stdout, "compared") {
		t.Errorf("alone: exit code %d:\n%s", code, stdout)
	}
}

// nightBefore writes the state of a search of the lock in dir in which one cause was found so often, and returns its name.
func nightBefore(t *testing.T, dir string, runs, found int) string {
	t.Helper()
	states, _ := filepath.Glob(filepath.Join(dir, "simrun-out/explore/*/state.jsonl"))
	if len(states) != 1 {
		t.Fatalf("states: %v", states)
	}
	b, err := os.ReadFile(states[0])
	if err != nil {
		t.Fatal(err)
	}
	config, _, _ := strings.Cut(string(b), "\n")
	text := fmt.Sprintf(`{"shard":{"from":1000000,"runs":%d},"report":{"runs":%d,"found":[{"guarantee":"object","rule":"an old one","class":"none","text":"x","runs":%d,"seed":1000007}]}}`, runs, runs, found)
	name := filepath.Join(t.TempDir(), "before.jsonl")
	if err := os.WriteFile(name, []byte(config+"\n"+text+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestExploreSaysWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hunt := []string{"explore", "-faults", "none", "-runs", "50"}
	if stdout, _, code := run(t, dir, hunt...); code != checker.ExitExpected {
		t.Fatalf("exit code %d:\n%s", code, stdout)
	}
	for _, c := range []struct {
		runs, found int
		want        string
	}{
		{1000, 1, "rare object: an old one (none, ) before in 1 of 1,000 runs: 0.1 % of all runs (0.0025 % to 0.56 %); none in 50 now, and it takes 18,950 more"},
		{1000, 500, "resolved object: an old one (none, ) before in 500 of 1,000 runs: 50 % of all runs (47 % to 53 %); none in 50 now, and 5 are enough"},
	} {
		stdout, stderr, code := run(t, dir, append(hunt, "-compare", nightBefore(t, dir, c.runs, c.found))...)
		if code != checker.ExitExpected || stderr != "" || !strings.Contains(strings.Join(strings.Fields(stdout), " "), c.want) {
			t.Errorf("%d of %d: exit code %d, stderr %q, stdout:\n%s", c.found, c.runs, code, stderr, stdout)
		}
	}
	before := nightBefore(t, dir, 10, 1)
	for _, c := range []struct{ args, want string }{
		{"-compare " + before + " -faults drop-message", "it is of another search"},
		{"-compare " + before + " -subject rlock-classic", "it is of another search"},
		{"-compare there-is-no-such-file", "there is no state of the same search"},
		{"-compare simrun-out -fresh", "-fresh forgets"},
		{"-compare " + before + " -strategy exhaustive", "for strategies that draw plans"},
		{"-compare " + before + " -strategy guided", "are no sample"},
	} {
		stdout, stderr, code := run(t, dir, append(hunt, strings.Fields(c.args)...)...)
		if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
	}
}
