package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

func TestShrinkTellsTheSmallestStoryAndWritesATest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "-scenario", "partition-holder", "-seed", "5")
	stdout, stderr, code := run(t, dir, "shrink", filepath.Join("simrun-out", "partition-holder", "latest"))
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "exclusion broke: cut off. ") {
		t.Fatalf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	base := filepath.Join(dir, "simrun-out", "partition-holder-shrunk")
	b, err := os.ReadFile(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	// The page about both tells both, and how to run each.
	page, err := os.ReadFile(base + ".html")
	page = regexp.MustCompile(`</?(span|wbr)[^>]*>`).ReplaceAll(page, nil) // which keep a command's words whole
	for _, want := range []string{"The smallest plan that breaks the same", "-plan " + filepath.Join("simrun-out", "partition-holder-shrunk.json"),
		filepath.Join("simrun-out", "partition-holder", "latest", "plan.json")} {
		if err != nil || !strings.Contains(string(page), want) || !strings.Contains(stdout, "partition-holder-shrunk.html") {
			t.Errorf("the page about both does not say %q: %v", want, err)
		}
	}
	// Two who lock, and the fault, are what it takes.
	if len(p.Clients) != 2 || len(p.Faults) != 1 || len(p.Clients[0].Threads[0].Steps) != 1 || len(p.Clients[1].Threads[0].Steps) != 1 {
		t.Errorf("the smallest plan is %s", b)
	}
	// The test that it wrote compiles, and fails for the reason that it was written for.
	out, err := exec.Command("go", "test", base+"_test.go").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestPartitionHolderShrunk") || !strings.Contains(string(out), "both believed") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestShrinkRefusesWhatCannotBeShrunk(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "non-owner-unlock")
	whole := filepath.Join("simrun-out", "non-owner-unlock", "latest")
	for _, c := range []struct{ args, want string }{
		{"shrink", "say which plan or run"},
		{"shrink nowhere.json", "no such file"},
		{"shrink -guarantee exclusoin " + whole, "did you mean exclusion?"},
		{"shrink " + whole, "nothing is broken"},
		{"shrink .", "there is no history.jsonl"},
		{"shrink -sed 1 " + whole, "-seed"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, strings.Fields(c.args)...)
			if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}
