package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// A stored run is exported into its folder, to a file, or to standard output, and says the same there.
func TestAStoredRunIsExported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "-scenario", "failover-async", "-no-proof")
	latest := "simrun-out/failover-async/latest"
	calls := len(load(t, filepath.Join(dir, latest)).Ops)
	for _, tt := range []struct{ form, call string }{{"perfetto", `"cat":"call"`}, {"otlp", `"holdfast.outcome"`}} {
		stdout, stderr, code := run(t, dir, "export", latest, "-format", tt.form)
		if want := latest + "/" + tt.form + ".json is written\n"; code != checker.ExitExpected || stderr != "" || stdout != want {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q", tt.form, code, stderr, stdout)
		}
		text, err := os.ReadFile(filepath.Join(dir, latest, tt.form+".json"))
		if err != nil || !json.Valid(text) || calls == 0 || strings.Count(string(text), tt.call) != calls {
			t.Errorf("%s: %v, %q is there %d times; there are %d calls", tt.form, err, tt.call, strings.Count(string(text), tt.call), calls)
		}
		if stdout, _, code := run(t, dir, "export", "-format", tt.form, "-out", "-", latest); code != checker.ExitExpected || stdout != string(text) {
			t.Errorf("%s: exit code %d, another text on standard output", tt.form, code)
		}
		write(t, dir, "mine.json", "old")
		run(t, dir, "export", "-format", tt.form, "-out", "mine.json", latest)
		if mine, err := os.ReadFile(filepath.Join(dir, "mine.json")); err != nil || string(mine) != string(text) {
			t.Errorf("%s: %v, another text in -out", tt.form, err)
		}
	}
	// The time of day is that of the folder's name.
	target, err := os.Readlink(filepath.Join(dir, latest))
	if err != nil || beginning(filepath.Join(dir, latest)).Format("20060102T150405Z") != strings.TrimSuffix(target, "-1") {
		t.Errorf("%v: %s began at %v", err, target, beginning(filepath.Join(dir, latest)))
	}
	// What is no file is written to, and stays what it is.
	if _, stderr, code := run(t, dir, "export", "-format", "otlp", "-out", "/dev/null", latest); code != checker.ExitExpected {
		t.Errorf("/dev/null: exit code %d, %s", code, stderr)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Errorf("/dev/null is %v, %v", info.Mode(), err)
	}
}

func TestWhatIsNoRunIsNotExported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed, err := filepath.Rel(dir, killedRun(t, dir, "baseline"))
	if err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, dir, "export", "-format", "perfetto", killed); code != checker.ExitExpected || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "incomplete") {
		t.Errorf("a killed run: exit code %d, stderr %q", code, stderr)
	}
	write(t, dir, "judged/verdict.json", `{"version":2}`)
	write(t, dir, "empty/x", "")
	for args, want := range map[string]string{
		"export":                                 "say which run",
		"export empty":                           "say in which form: -format perfetto or otlp",
		"export -format perfeto empty":           "did you mean perfetto?",
		"export -format otlp a b":                "say which run",
		"export -format otlp nowhere":            "nowhere",
		"export -format otlp empty":              "there is no history.jsonl",
		"export -format otlp empty/x":            "it is no folder of a run",
		"export -format otlp judged":             "the run's history is missing",
		"export -format otlp -out a/b " + killed: "a/b: no such file or directory",
	} {
		stdout, stderr, code := run(t, dir, strings.Fields(args)...)
		if code != checker.ExitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 && !strings.Contains(stderr, "incomplete") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
