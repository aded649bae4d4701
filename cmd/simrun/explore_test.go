package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

func TestExploreKeepsWhatItFindsAndTheTestItWritesFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"explore", "-subject", "broken-unlock-twice", "-first", "-faults", "none"}
	stdout, stderr, code := run(t, dir, args...)
	if code != checker.ExitUnexpected || stderr != "" {
		t.Fatalf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "simrun-out/explore/broken-unlock-twice-uniform-*/found/object-*"))
	if len(found) == 0 {
		t.Fatalf("nothing was kept:\n%s", stdout)
	}
	b, err := os.ReadFile(filepath.Join(found[0], "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := plan.Decode(b); err != nil || len(p.Clients) != 1 || len(p.Faults) != 0 {
		t.Errorf("%v; the smallest plan is %s", err, b)
	}
	for _, name := range []string{"story.txt", "drawn.json"} {
		if info, err := os.Stat(filepath.Join(found[0], name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, err := exec.Command("go", "test", filepath.Join(found[0], "reproduction_test.go")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestDrawn") {
		t.Errorf("the test it wrote: %v\n%s", err, out)
	}
	// Sentences fit a terminal. What is to be copied is in one piece.
	for line := range strings.Lines(stdout) {
		head, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > wide && !slices.Contains([]string{"kept", "again", "report", "state"}, head) {
			t.Errorf("a line of more than %d columns: %s", wide, line)
		}
	}
	// The page about the runs is there, and the command that is told reproduces the failure.
	if page, _ := filepath.Glob(filepath.Join(dir, "simrun-out/explore/*/report.html")); len(page) != 1 {
		t.Errorf("pages: %v", page)
	}
	page, _ := filepath.Glob(filepath.Join(dir, "simrun-out/explore/*/report.html"))
	text, err := os.ReadFile(page[0])
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`href="(found/[^"]*)"`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 5 { // report, plan, story, test, plan as drawn
		t.Errorf("links to what was found: %v", links)
	}
	if strays := regexp.MustCompile(`class="[^"]*stray"[^>]*>\s*<p>.*?</p>`).FindAllString(string(text), -1); len(strays) == 0 || !strings.Contains(strays[0], `<a href="found/`) {
		t.Errorf("the first run that is not as expected leads nowhere: %q", strays)
	}
	for _, l := range links {
		if info, err := os.Stat(filepath.Join(filepath.Dir(page[0]), filepath.FromSlash(l[1]))); err != nil || info.Size() == 0 {
			t.Errorf("the page leads to %s: %v", l[1], err)
		}
	}
	_, again, ok := strings.Cut(stdout, "    again   simrun ")
	again, _, _ = strings.Cut(again, "\n")
	if !ok {
		t.Fatalf("no command in:\n%s", stdout)
	}
	if _, _, code := run(t, dir, strings.Fields(again)...); code != checker.ExitUnexpected {
		t.Errorf("simrun %s: exit code %d", again, code)
	}
	// Done again it finds all done, and says the same.
	if again, _, code := run(t, dir, args...); code != checker.ExitUnexpected || !strings.Contains(again, found[0][len(dir)+1:]) {
		t.Errorf("again: exit code %d:\n%s", code, again)
	}
}

// A search of which no run has ended says nothing good of a lock.
func TestASearchWithoutARunSaysSo(t *testing.T) {
	for runs, want := range map[int]string{0: "nothing is known of the lock", 1: "nothing that the lock claims was broken"} {
		var told strings.Builder
		hunt{}.tell(&told, explore.Total{Report: explore.Report{Runs: runs}}, 0, 0)
		if !strings.Contains(told.String(), want) {
			t.Errorf("%d runs: %q", runs, told.String())
		}
	}
}

func TestExploreOfASoundLockFindsNothing(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "explore", "-runs", "60", "-faults", "none", "-v")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "nothing that the lock claims was broken") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	// Going on: only what is more is done.
	stdout, _, code = run(t, dir, "explore", "-runs", "75", "-faults", "none")
	if code != checker.ExitExpected || !strings.Contains(stdout, "75 runs") {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
	// What is not done takes no time: nobody is told how fast it was.
	stdout, _, code = run(t, dir, "explore", "-runs", "75", "-faults", "none")
	if code != checker.ExitExpected || !strings.Contains(stdout, "75 runs (all done before; ") {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
}

func TestMutantsSaysWhichAreCaught(t *testing.T) {
	stdout, stderr, code := run(t, t.TempDir(), "mutants", "-only", "broken-acquire-never", "-seeds", "2", "-runs", "50")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "2/2") || !strings.Contains(stdout, "object") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// The test runs in a checkout, so that it can build the lock with a mistake, and hunt it.
func TestMutantsHuntsMistakesInTheSource(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, ".", "mutants", "-source", "-only", "lost-never", "-seeds", "1", "-runs", "10")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "1/1") || !strings.Contains(stdout, "baseline: ") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// A mistake that a search does not show in one run, the plan shows that was written for it.
func TestMutantsRunsThePlanOfAMistakeInTheSource(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, ".", "mutants", "-source", "-only", "unacked-survives-reconnection", "-seeds", "1", "-runs", "1")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "1/1") || !strings.Contains(stdout, "its plan: ") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

func TestMutantsNeedsGoForTheSource(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	stdout, stderr, code := run(t, ".", "mutants", "-source")
	if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "install Go") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestExploreRefusesBadUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"explore -strategy unifrom", "did you mean uniform?"},
		{"explore -faults drop-massage", "did you mean drop-message?"},
		{"explore -subject rlock-lach", "did you mean rlock-latch?"},
		{"explore -runs -1", "must not be negative"},
		{"explore -for tomorrow", "-for"},
		{"explore -clients -1", "from 1 to 50"},
		{"explore 7", `stray argument "7"`},
		{"explore -strategy exhaustive -strikes 9", "from 0 to 3"},
		{"explore -strategy exhaustive -until-goals", "has an end of its own"},
		{"explore -plan x.json", "-plan is for -strategy exhaustive"},
		{"mutants -only broken-acquire-nevr", "did you mean broken-acquire-never?"},
		{"mutants -only there-is-nothing-of-this-name", "; simrun mutants -list names them all"},
		{"mutants -source -only there-is-nothing-of-this-name", "; simrun mutants -source -list names them all"},
		{"mutants -runs 0", "at least 1"},
		{"mutants -source -only lost-nevr", "did you mean lost-never?"},
		{"mutants -source", "no checkout of github.com/holdfast-sim/holdfast"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := run(t, t.TempDir(), strings.Fields(c.args)...)
			if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestExploreSaysThatItSawAllOrders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ask.json")
	text := `{"version":1,"name":"ask","clients":[{"name":"c1","threads":[{"id":1,"steps":[{"do":"isLocked","lock":"l"}]}]},
		{"name":"c2","threads":[{"id":1,"steps":[{"do":"tryLock","lock":"l"}]}]}]}`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "explore", "-strategy", "exhaustive", "-plan", file, "-strikes", "0", "-out", "none")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "in 1 choices of faults, one of each class of equivalent ones: ALL there are") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	// Of a lock that is broken it finds the order that shows it, and the plan that it keeps shows it again.
	stdout, _, code = run(t, dir, "explore", "-strategy", "exhaustive", "-subject", "broken-acquire-anyway", "-strikes", "0", "-first")
	_, again, ok := strings.Cut(stdout, "    again   simrun ")
	again, _, _ = strings.Cut(again, "\n")
	if code != checker.ExitUnexpected || !ok {
		t.Fatalf("exit code %d, stdout:\n%s", code, stdout)
	}
	if _, _, code := run(t, dir, strings.Fields(again)...); code != checker.ExitUnexpected {
		t.Errorf("simrun %s: exit code %d", again, code)
	}
}
