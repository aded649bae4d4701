package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

func TestDiffTellsHowRunsDiffer(t *testing.T) {
	dir := t.TempDir()
	for _, scenario := range []string{"key-expiry", "key-deleted"} {
		if _, _, code := run(t, dir, "-scenario", scenario); code != checker.ExitExpected {
			t.Fatalf("%s: exit code %d", scenario, code)
		}
	}
	a, b := filepath.Join("simrun-out", "key-expiry", "latest"), filepath.Join("simrun-out", "key-deleted", "latest")
	stdout, stderr, code := run(t, dir, "diff", a, filepath.Join(b, historyFile), "-html", "both.html")
	if code != checker.ExitExpected || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"First divergence, at ", `-   "name": "key-expiry",`, `+   "name": "key-deleted",`, "is expired from outside"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "both.html"))
	if err != nil || !strings.Contains(string(page), "They diverge first at ") {
		t.Errorf("the page: %v", err)
	}
	var d reports.Difference
	stdout, _, code = run(t, dir, "diff", "-json", a, b)
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != checker.ExitExpected {
		t.Fatalf("exit code %d: %v", code, err)
	}
	if d.Version != reports.DifferenceVersion || d.Same || d.Divergence == nil || len(d.Guarantees) != 2 || d.Runs[0].Scenario != "key-expiry" {
		t.Errorf("%+v", d)
	}
	if stdout, _, code = run(t, dir, "diff", a, a); code != checker.ExitExpected || !strings.Contains(stdout, "\nThe two runs are the same.\n") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"diff":                             "diff: say which two runs: ",
		"diff " + a:                        "diff: say which two runs: ",
		"diff " + a + " " + b + " x":       "diff: say which two runs: ",
		"diff " + a + " no/such":           "diff: no/such: no such file or directory",
		"diff empty " + a:                  "diff: empty: there is no history.jsonl and no verdict.json",
		"diff both.html " + a:              "diff: both.html: it is no folder of a run",
		"diff -jsno " + a:                  "did you mean -json?",
		"diff -html= " + a + " " + b:       `diff: -html "": name a file`,
		"diff -html no/x " + a + " " + b:   "diff: -html no/x: ",
		"diff -html empty/ " + a + " " + b: "diff: -html empty/: ",
	} {
		_, stderr, code := run(t, dir, strings.Fields(args)...)
		if code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("simrun %s: exit code %d: %s", args, code, stderr)
		}
	}
}
