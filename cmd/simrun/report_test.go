package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

func TestReportRendersAgainWhatIsStored(t *testing.T) {
	dir := t.TempDir()
	first, _, _ := run(t, dir, "-scenario", "watchdog-death")
	latest := filepath.Join("simrun-out", "watchdog-death", "latest")
	page := filepath.Join(dir, latest, "report.html")
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("torn"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := run(t, dir, "report", latest, "-markdown", "summary.md")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	got, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the page is another than at first: %v", err)
	}
	above, _, _ := strings.Cut(first, "  report  ")
	if again, _, _ := strings.Cut(out, "  report  "); again != above {
		t.Errorf("the summary is another than at first:\n%s", out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "summary.md")); err != nil || !strings.Contains(string(text), "REPRODUCED") {
		t.Errorf("%v %s", err, text)
	}
}

// A run that was killed has neither verdict nor server log, and half a line at its end.
func TestReportJudgesWhatWasNeverJudged(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "watchdog-death")
	folder, err := filepath.EvalSymlinks(filepath.Join(dir, "simrun-out", "watchdog-death", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdict.json", "report.html", "porcupine.html", "server.jsonl"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "history.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)*2/3], 0o666); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := run(t, dir, "report", folder)
	if code == checker.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "incomplete") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, name := range []string{"verdict.json", "report.html"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestReportSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"old/verdict.json": `{"version":99}`, "torn/verdict.json": `{`, "odd/history.jsonl": "[1]\n", "empty/x": ""} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"report", "say which runs"}, {"report nowhere", "nowhere"}, {"report empty", "there is no history.jsonl"},
		{"report old", "version 99"}, {"report torn", "verdict.json"}, {"report odd", "line 1"}, {"report x -jnit y", "did you mean -junit?"},
	} {
		stdout, stderr, code := run(t, dir, strings.Fields(tt.args)...)
		if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", tt.args, code, stdout, stderr)
		}
	}
}
