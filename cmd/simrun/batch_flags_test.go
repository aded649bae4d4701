package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
)

func TestNamesAreChosenByPatterns(t *testing.T) {
	all := []string{"gc-pause", "gc-pause-fenced", "failover-async", "failover-wait"}
	for asked, want := range map[string][]string{
		"all":                      all,
		"gc-pause":                 {"gc-pause"},
		"failover-wait,gc-pause":   {"gc-pause", "failover-wait"},
		"failover-*":               {"failover-async", "failover-wait"},
		"failover-*,failover-wait": {"failover-async", "failover-wait"},
		"*-fenced,all":             all,
		"[a":                       nil,
		"nothing-*":                nil,
	} {
		if got := chosen(asked, all); !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", asked, got, want)
		}
	}
	for asked, want := range map[string]string{
		"nothing-*":         `no scenario fits "nothing-*": there are gc-pause, `,
		"gc-pause,fail-*s":  `no scenario fits "fail-*s": did you mean failover-async, failover-wait?`,
		"failovr-*":         `no scenario fits "failovr-*": did you mean failover-async, failover-wait?`,
		"gc-puase,gc-pause": `unknown scenario "gc-puase": did you mean gc-pause?`,
	} {
		if err := known("scenario", asked, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", asked, err)
		}
	}
}

// Where names are many, a pattern that none fits is answered by those that are like it, or by where they are told.
func TestAPatternThatNothingFitsDoesNotListAllNames(t *testing.T) {
	for asked, want := range map[string]string{
		"nothing-*": `^no scenario fits "nothing-\*": none of \d+ is like it; simrun list names them all$`,
		"lach-x*":   `^no scenario fits "lach-x\*": did you mean latch-baseline, latch-[a-z-]+, latch-[a-z-]+ and \d+ more\?$`,
	} {
		if err := known("scenario", asked, scenarios.Names()); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s: %v", asked, err)
		}
	}
}

// A name is suggested that was probably meant: of a short word one wrong letter, and two that have changed places.
func TestOnlyWhatIsNearIsSuggested(t *testing.T) {
	all := []string{"man", "merge", "shrink", "report", "failover-async"}
	for asked, want := range map[string]string{"run": "", "mna": "man", "shrnk": "shrink", "repotr": "report", "failover": "failover-async", "tcsh": "", "": ""} {
		if got, _ := near(asked, all); got != want {
			t.Errorf("%q: %q; want %q", asked, got, want)
		}
	}
}

// A batch ends with how long it took, and how long a run took its worker.
func TestTheTotalTellsHowLongRunsTook(t *testing.T) {
	of := func(wall time.Duration) reports.Summary {
		return reports.Summary{Verdict: &checker.Verdict{}, Wall: wall}
	}
	for _, tt := range []struct {
		runs []reports.Summary
		took time.Duration
		want string
	}{
		{[]reports.Summary{of(20 * time.Millisecond), of(41 * time.Millisecond)}, 61234567 * time.Microsecond, "2 runs in 1m1.23s, 30.5ms each and 41ms at most: "},
		{[]reports.Summary{of(1234567 * time.Nanosecond), of(0)}, 999 * time.Microsecond, "2 runs in 999µs: "},
		{slices.Repeat([]reports.Summary{of(0)}, 1234), 1500 * time.Millisecond, "1,234 runs in 1.5s: 1,234 UNEXPECTED"},
		{[]reports.Summary{of(0)}, 1500 * time.Millisecond, "1 run in 1.5s: "},
	} {
		var b strings.Builder
		if total(&b, tt.runs, tt.took); !strings.HasPrefix(b.String(), tt.want) {
			t.Errorf("%q; want %q", b.String(), tt.want)
		}
	}
}

// A batch tells what was not as expected last, with the total; -quiet tells nothing else, and -fail-fast ends at the first.
func TestABatchTellsWhatMatters(t *testing.T) {
	dir := t.TempDir()
	args := strings.Fields("-scenario key-expiry,gc-* -subject rlock-latch,redsync -runs 4 -out none")
	stdout, stderr, code := run(t, dir, args...)
	if code != checker.ExitExpected || !regexp.MustCompile(`\n24 runs in \S+s, \S+s each and \S+s at most: `).MatchString(stdout) || !strings.Contains(stdout, ": 24 as expected\n") || strings.Contains(stdout, "Not as expected:") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	stdout, _, code = run(t, dir, append(args, "-quiet")...)
	if code != checker.ExitExpected || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, ": 24 as expected\n") {
		t.Errorf("-quiet: exit code %d, stdout:\n%s", code, stdout)
	}

	plan := scenarios.Names()[0] // the locks of its plan break where they are broken
	run(t, dir, "-scenario", plan)
	file := "simrun-out/" + plan + "/latest/plan.json"
	args = []string{"-plan", file, "-subject", "broken-unlock-silent", "-runs", "60", "-out", "none"}
	stdout, _, code = run(t, dir, append(args, "-quiet")...)
	if code != checker.ExitUnexpected || !strings.Contains(stdout, "Not as expected:\nsimrun-out/") || !strings.Contains(stdout, "seed 1:\n    not as expected: liveness: order:42 was free from ") ||
		!strings.Contains(stdout, "\n  not as expected either: seeds 2, 3, ") || !strings.Contains(stdout, ", and 49 more\n") {
		t.Fatalf("exit code %d, stdout:\n%s", code, stdout)
	}
	stdout, stderr, code = run(t, dir, append(args, "-fail-fast")...)
	if code != checker.ExitUnexpected || !strings.Contains(stderr, "-fail-fast: ended after ") || strings.Contains(stdout, "\n60 runs") {
		t.Errorf("-fail-fast: exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// What a batch says fits a terminal of 80 columns, but for what people copy: commands and paths.
func TestABatchFitsATerminal(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"-scenario semaphore-* -subject rsemaphore-* -runs 2 -out none",
		"-scenario key-expiry,baseline -subject redsync,rlock-latch -runs 2 -out none",
	} {
		stdout, _, _ := run(t, dir, strings.Fields(args)...)
		if !strings.Contains(stdout, " 2 runs: ") || !strings.Contains(stdout, "\nbroken ") {
			t.Errorf("%s:\n%s", args, stdout)
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(strings.TrimSpace(line), "simrun ") {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
	}
}

// One is told of in the singular.
func TestABatchCountsInWords(t *testing.T) {
	stdout, _, _ := run(t, t.TempDir(), strings.Fields("-scenario holder-crash -subject redsync -runs 2 -out none")...)
	if text := strings.Join(strings.Fields(stdout), " "); !strings.Contains(text, "faults struck 2 times, in 1 way (kind, step, outcome); ") {
		t.Errorf("%s", stdout)
	}
}

// Stories of semaphores do not fit a lock: who asks for them all, with a lock, is told so.
func TestStoriesOfAnotherKindAreNothingToRun(t *testing.T) {
	stdout, stderr, code := run(t, t.TempDir(), "-scenario", "semaphore-*")
	if code != checker.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "simrun: -subject rlock-latch: nothing to run: the story is about a semaphore") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// Whoever wants quiet hears of one run what is heard of many: the total, and what was not as expected.
func TestOneRunIsQuietToo(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "-scenario", "watchdog-death", "-quiet")
	if code != checker.ExitExpected || stderr != "" || !regexp.MustCompile(`^1 run in [^\n,]+: 1 as expected\n$`).MatchString(stdout) {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	stdout, _, code = run(t, dir, "-plan", strayPlan(t, dir), "-subject", defective, "-quiet")
	if code != checker.ExitUnexpected || !strings.Contains(stdout, "UNEXPECTED  ") || !strings.HasSuffix(stdout, ": 1 UNEXPECTED\n") {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
}
