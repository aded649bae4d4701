package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// The report of a run, of a batch and of a stored run is shown; where nothing can show it, one line says where it is.
func TestOpenShowsTheReport(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	opener, _ := opener()
	write(t, bin, opener, "#!/bin/sh\necho \"$@\" > shown\n")
	if err := os.Chmod(filepath.Join(bin, opener), 0o755); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	for _, tt := range []struct{ args, page string }{
		{"-scenario watchdog-death -no-proof", "simrun-out/watchdog-death/*/report.html"},
		{"-scenario watchdog-death -runs 2 -no-proof -json", "simrun-out/batch/*/report.html"},
		{"report simrun-out/watchdog-death/latest", "simrun-out/watchdog-death/latest/report.html"},
	} {
		args := append(strings.Fields(tt.args), "-open")
		t.Setenv("PATH", bin+":"+path)
		if _, stderr, code := run(t, dir, args...); code != checker.ExitExpected || stderr != "" {
			t.Errorf("%q: exit code %d, stderr %q", args, code, stderr)
		}
		shown, err := os.ReadFile(filepath.Join(dir, "shown"))
		page := strings.TrimSpace(string(shown))
		if fits, _ := filepath.Match(filepath.Join(dir, tt.page), page); err != nil || !fits {
			t.Errorf("%q: it shows %q, %v", args, page, err)
		}
		if _, err := os.Stat(page); err != nil {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(dir, "shown")); err != nil {
			t.Error(err)
		}
		t.Setenv("PATH", dir)
		_, stderr, code := run(t, dir, args...)
		_, where, _ := strings.Cut(stderr, "there is no "+opener+" here, which would show it; the report is ")
		if fits, _ := filepath.Match(tt.page, strings.TrimSpace(where)); code != checker.ExitExpected || strings.Count(stderr, "\n") != 1 || !fits {
			t.Errorf("%q without %s: exit code %d, stderr %q", args, opener, code, stderr)
		}
	}
	write(t, bin, opener, "#!/bin/sh\nexit 3\n")
	t.Setenv("PATH", bin)
	if _, stderr, code := run(t, dir, "report", "simrun-out/watchdog-death/latest", "-open"); code != checker.ExitExpected || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, "-open: "+opener+": exit status 3; the report is simrun-out") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for args, want := range map[string]string{
		"-scenario baseline -open -out none": "-out none leaves none",
		"report -open a b":                   "-open shows one report: name one run",
	} {
		if _, stderr, code := run(t, dir, strings.Fields(args)...); code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
	}
}
