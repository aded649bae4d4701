package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
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

// killedRun leaves what a run leaves that is killed when two thirds of its records are written, and half of one more.
func killedRun(t *testing.T, dir, scenario string) string {
	t.Helper()
	sc, _ := scenarios.Find(scenario)
	subject, _ := libraries.Find(defaultSubject)
	p, _ := sc.For(1, subject.Can)
	var records []any
	o := sim.Options{Seed: 1, Scenario: scenario, Sink: func(r any) { records = append(records, r) }}
	if _, err := sim.Run(bubble.In(t), p, subject, o); err != nil {
		t.Fatal(err)
	}
	f, err := newFolder(filepath.Join(dir, "simrun-out"), scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records[:len(records)*2/3] {
		f.record(r)
	}
	_, torn := f.history.WriteString(`{"record":"op"`)
	if err := errors.Join(f.err, torn, f.history.Close(), f.served.Close()); err != nil {
		t.Fatal(err)
	}
	return f.dir
}

func TestReportJudgesWhatWasNeverJudged(t *testing.T) {
	dir := t.TempDir()
	folder := killedRun(t, dir, "watchdog-death")
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

// Without its server log nothing is certain of a run that was killed. In one file with it, its history is as good as beside it.
func TestAKilledRunIsJudgedByItsServerLog(t *testing.T) {
	dir := t.TempDir()
	folder := killedRun(t, dir, "baseline")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(read("history.jsonl"), "\n")
	write("moved.jsonl", read("history.jsonl"))
	write("both.jsonl", strings.Join(lines[:len(lines)-1], "")+read("server.jsonl"))
	write("elsewhere.jsonl", strings.Replace(lines[0], `"scenario":"baseline",`, "", 1))
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"check " + folder, checker.ExitExpected, "incomplete"},
		{"check both.jsonl", checker.ExitExpected, "incomplete"},
		{"check moved.jsonl", checker.ExitUsage, "server.jsonl must be beside history.jsonl"},
		{"check elsewhere.jsonl", checker.ExitExpected, ""},
	} {
		if _, stderr, code := run(t, dir, strings.Fields(tt.args)...); code != tt.code || !strings.Contains(stderr, tt.says) || tt.says == "" && stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", tt.args, code, stderr)
		}
	}
	if err := os.Remove(filepath.Join(folder, "server.jsonl")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"check", "report"} {
		if _, stderr, code := run(t, dir, command, folder); code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, "server.jsonl must be beside history.jsonl") {
			t.Errorf("%s: exit code %d, stderr %q", command, code, stderr)
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

// A run whose server cannot be had leaves nothing, and is none that was killed.
func TestARunThatCannotBeginLeavesNoFolder(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "simrun-out", "baseline", "20260101T000000Z-1")
	for range 2 { // the second time beside an older run of the same seed
		_, stderr, code := run(t, dir, "-scenario", "baseline", "-addr", "redis://127.0.0.1:1/")
		if left, _ := filepath.Glob(filepath.Join(dir, "simrun-out", "*", "*")); code != checker.ExitHarness || len(left) > 0 && left[0] != old || len(left) > 1 ||
			!strings.Contains(stderr, "nobody listens there") || strings.Contains(stderr, "history") {
			t.Errorf("exit code %d, stderr %q, left %q", code, stderr, left)
		}
		if err := os.MkdirAll(old, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}
