package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// told are the runs that a command tells of, as JSON of what a run is and of how it ended.
func told(t *testing.T, dir string, args ...string) (runs []string, code int) {
	t.Helper()
	stdout, _, code := run(t, dir, append(args, "-json")...)
	for line := range strings.Lines(stdout) {
		var v checker.Verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text, _ := json.Marshal([]any{v.Scenario, v.Subject, v.Seed, v.World, v.Trace, v.Code()})
		runs = append(runs, string(text))
	}
	return runs, code
}

// What -rerun-failed runs is what was not as expected in the last batch: those scenarios, locks and seeds, and no others.
func TestOnlyWhatFailedIsRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, code := told(t, dir, "-scenario", "baseline,gc-pause,many-waiters,non-owner-unlock", "-subject", "broken-unlock-anybodys", "-runs", "2")
	var failed []string
	for _, r := range first {
		if !strings.HasSuffix(r, ",0]") {
			failed = append(failed, r)
		}
	}
	if code != checker.ExitUnexpected || len(failed) == 0 || len(failed) == len(first) {
		t.Fatalf("exit code %d, %d of %d runs were not as expected: the test needs some, not all", code, len(failed), len(first))
	}
	for range 2 { // the second time from the batch that the first time left
		if again, code := told(t, dir, "-rerun-failed"); code != checker.ExitUnexpected || !slices.Equal(again, failed) {
			t.Errorf("exit code %d, run again:\n%s\nhad failed:\n%s", code, strings.Join(again, "\n"), strings.Join(failed, "\n"))
		}
	}
	// Seeds need not follow each other, and other locks may be between them.
	write(t, dir, "simrun-out/batch/20260101T000000Z-1/batch.json", `{"version": 1, "runs": 9, "place": {"world": "sim", "timescale": 1}, "failed": [
{"scenario": "baseline", "subject": "redsync", "seed": 2}, {"scenario": "baseline", "subject": "redsync", "seed": 3},
{"scenario": "baseline", "subject": "redsync", "seed": 18446744073709551615}, {"scenario": "baseline", "subject": "rlock-latch", "seed": 2}]}`)
	latest := filepath.Join(dir, "simrun-out/batch/latest")
	if err := errors.Join(os.Remove(latest), os.Symlink("20260101T000000Z-1", latest)); err != nil {
		t.Fatal(err)
	}
	again, code := told(t, dir, "-rerun-failed", "-jobs", "1")
	want := []string{`["baseline","redsync",2,`, `["baseline","redsync",3,`, `["baseline","redsync",18446744073709551615,`, `["baseline","rlock-latch",2,`}
	if code != checker.ExitExpected || len(again) != len(want) || !slices.EqualFunc(again, want, strings.HasPrefix) {
		t.Errorf("exit code %d, run again:\n%s", code, strings.Join(again, "\n"))
	}
}

// A batch of a plan keeps the plan, whatever becomes of its file.
func TestTheStoredPlanIsRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := strayPlan(t, dir)
	first, _ := told(t, dir, "-plan", plan, "-subject", defective, "-runs", "3")
	if err := os.Remove(filepath.Join(dir, plan)); err != nil {
		t.Fatal(err)
	}
	if again, code := told(t, dir, "-rerun-failed"); code != checker.ExitUnexpected || len(first) != 3 || !slices.Equal(again, first) {
		t.Errorf("exit code %d, run again:\n%s\nhad failed:\n%s", code, strings.Join(again, "\n"), strings.Join(first, "\n"))
	}
	stdout, _, code := run(t, dir, "-rerun-failed")
	if code != checker.ExitUnexpected || strings.Count(stdout, " 3 runs: 3 UNEXPECTED") != 1 {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
	_, command, _ := strings.Cut(stdout, "\n    simrun ")
	command, _, _ = strings.Cut(command, "\n")
	if _, stderr, code := run(t, dir, strings.Fields(command)...); code != checker.ExitUnexpected {
		t.Errorf("simrun %s: exit code %d: %s", command, code, stderr)
	}
}

func TestWhereNothingFailedNothingIsRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "-scenario", "key-expiry,baseline", "-runs", "2")
	stdout, stderr, code := run(t, dir, "-rerun-failed")
	if code != checker.ExitExpected || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "of 4 runs in simrun-out/batch/") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestWhatCannotBeRunAgainIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored := func(text string) {
		write(t, dir, "old/batch/20260101T000000Z-1/batch.json", text)
	}
	stored("")
	if err := os.Symlink("20260101T000000Z-1", filepath.Join(dir, "old/batch/latest")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ stored, args, want string }{
		{"", "", "no batch is stored below simrun-out: ask for several runs first"},
		{"", "-out none", "-out none has none"},
		{"", "-out ", `-out "": name a folder`},
		{"", "-scenario baseline", "takes -scenario from the last batch: leave it out"},
		{"", "-runs 3", "takes -runs from the last batch"},
		{"{", "-out old", "batch.json: unexpected end"},
		{`{"version":2}`, "-out old", "version 2, but this program reads version 1"},
		{`{"version":1,"place":{"world":"mars"}}`, "-out old", `unknown world "mars"`},
		{`{"version":1,"place":{"world":"sim","timescale":1},"failed":[{"scenario":"key-expriy","subject":"redsync","seed":1}]}`, "-out old", "did you mean key-expiry?"},
		{`{"version":1,"place":{"world":"sim","timescale":1},"failed":[{"scenario":"key-expiry","subject":"resdync","seed":1}]}`, "-out old", "did you mean redsync?"},
		{`{"version":1,"addr":"redis://u:PASSWORD@h:1","place":{"world":"redis"}}`, "-out old", "name the server anew with -addr"},
		{`{"version":1}`, "-out old -addr redis://h:1", "leave -addr out"},
	} {
		stored(tt.stored)
		args := append([]string{"-rerun-failed"}, strings.Fields(tt.args)...)
		if strings.HasSuffix(tt.args, " ") {
			args = append(args, "")
		}
		stdout, stderr, code := run(t, dir, args...)
		if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q with %s: exit code %d, stdout %q, stderr %q", args, tt.stored, code, stdout, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// The password of a server stays out of what a batch leaves.
func TestAStoredBatchHasNoPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := order{place: place{World: redisWorld, Addr: "redis://u:" + secret + "@h:1", URL: "redis://u:" + secret + "@h:1"}}
	if err := o.storeBatch(&folder{dir: dir}, "", nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, batchFile))
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), `"redis://u:PASSWORD@h:1"`) {
		t.Errorf("%v %s", err, text)
	}
}

// What does not suit each other is a line for each scenario and reason, and one line in all for who wants quiet.
func TestWhatIsNotRunIsToldInFewLines(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-scenario", "redlock-split-vote,redlock-restart,baseline", "-subject", "rspin-classic,rspin-hardened", "-out", "none"}
	_, stderr, code := run(t, dir, args...)
	if want := "redlock-split-vote is not run with rspin-classic, rspin-hardened: the story is about a quorum"; code != checker.ExitExpected || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = run(t, dir, append(args, "-quiet")...)
	if code != checker.ExitExpected || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "4 pairs of a scenario and a lock are not run") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// As other programs, it says its version when asked with a flag.
func TestVersionIsAFlagToo(t *testing.T) {
	want, _, _ := run(t, t.TempDir(), "version")
	for _, flag := range []string{"-version", "--version"} {
		if got, stderr, code := run(t, t.TempDir(), flag); got != want || stderr != "" || code != checker.ExitExpected {
			t.Errorf("%s: exit code %d, %q, %q", flag, code, got, stderr)
		}
	}
}

// Locks that are broken on purpose may be named among others, though no list has them.
func TestBrokenLocksAreNamedAmongOthers(t *testing.T) {
	stdout, stderr, code := run(t, t.TempDir(), "-scenario", "old-owner-unlock", "-subject", "rlock-latch,broken-unlock-anybodys", "-out", "none", "-no-proof")
	if code != checker.ExitUnexpected || stderr != "" || !strings.Contains(stdout, "2 runs") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	_, stderr, code = run(t, t.TempDir(), "-scenario", "old-owner-unlock", "-subject", "rlock-latch,broken-unlock-anybody")
	if code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
