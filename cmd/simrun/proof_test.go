package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

const tried = "Run again without the pause of the watchdog of c1 from 5.000 s on: every guarantee holds."

// kept is the verdict in a run's folder, and its report.
func kept(t *testing.T, dir string) (v checker.Verdict, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, verdictFile))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	return v, strings.ReplaceAll(string(html), "\u00a0", " ")
}

// says checks that a kept run was proved, or that nothing says of a proof.
func says(t *testing.T, dir string, proved bool) checker.Verdict {
	t.Helper()
	v, page := kept(t, dir)
	x := v.Result(contract.Exclusion).Violations[0]
	if (x.Proof != nil) != proved || strings.Contains(v.Explanation, tried) != proved || strings.Contains(page, "Tried</span> "+tried) != proved {
		t.Errorf("%s: proof %+v; %s", dir, x.Proof, v.Explanation)
	}
	return v
}

func TestARunThatIsKeptIsProved(t *testing.T) {
	dir := t.TempDir()
	one, _, code := run(t, dir, "-scenario", "watchdog-death", "-out", "a")
	if code != checker.ExitExpected || !strings.Contains(strings.Join(strings.Fields(one), " "), tried) {
		t.Errorf("exit code %d; %s", code, one)
	}
	with := says(t, filepath.Join(dir, "a", "watchdog-death", "latest"), true)
	run(t, dir, "-scenario", "watchdog-death", "-out", "b", "-no-proof")
	without := says(t, filepath.Join(dir, "b", "watchdog-death", "latest"), false)
	if with.Trace != without.Trace || with.Messages != without.Messages || with.Virtual != without.Virtual {
		t.Errorf("the proof changed the run: %+v, %+v", with, without)
	}

	run(t, dir, "-scenario", "watchdog-death", "-runs", "2", "-out", "c")
	says(t, filepath.Join(dir, "c", "watchdog-death", "latest"), true)
	run(t, dir, "-scenario", "watchdog-death", "-runs", "2", "-out", "d", "-no-proof")
	says(t, filepath.Join(dir, "d", "watchdog-death", "latest"), false)

	stdout, stderr, code := run(t, dir, "shrink", filepath.Join("b", "watchdog-death", "latest"), "-out", "e")
	if code != checker.ExitExpected || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "Run again without the pause of the watchdog of c1") {
		t.Errorf("exit code %d, %s%s", code, stderr, stdout)
	}
	page, err := os.ReadFile(filepath.Join(dir, "e", "watchdog-death-shrunk.html"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(page), "\u00a0", " "), "Tried</span> "+tried) {
		t.Errorf("the page about both does not say what was tried: %v", err)
	}
}

// In real time a run does not come again: nothing is said of it.
func TestARunInRealTimeIsNotProved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stderr, code := run(t, dir, "-scenario", "key-deleted", "-world", "miniredis", "-timescale", "1/20", "-out", "a")
	if code != checker.ExitExpected {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	v, page := kept(t, filepath.Join(dir, "a", "key-deleted", "latest"))
	if x := v.Result(contract.Exclusion).Violations[0]; x.Proof != nil || strings.Contains(v.Explanation, "Run again") || strings.Contains(page, "Tried</span>") {
		t.Errorf("proof %+v; %s", x.Proof, v.Explanation)
	}
}

// What explore finds is proved where it is kept.
func TestWhatExploreFindsIsProved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		tried bool
	}{{nil, true}, {[]string{"-no-proof"}, false}} {
		dir := t.TempDir()
		args := append([]string{"explore", "-subject", "broken-acquire-anyway", "-first", "-faults", "none"}, c.flags...)
		if _, stderr, code := run(t, dir, args...); code != checker.ExitUnexpected {
			t.Fatalf("exit code %d, %s", code, stderr)
		}
		stories, err := filepath.Glob(filepath.Join(dir, "simrun-out", "explore", "*", "found", "*", "story.txt"))
		if err != nil || len(stories) == 0 {
			t.Fatalf("no story: %v", err)
		}
		for _, file := range stories {
			story, err := os.ReadFile(file)
			if err != nil || strings.Contains(strings.Join(strings.Fields(string(story)), " "), "The run had no fault to leave out.") != c.tried {
				t.Errorf("%v: %v: %s", c.flags, err, story)
			}
		}
	}
}
