package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Goals are told, on the page too, add up when the search goes on, and are its end if one asks for that.
func TestExploreTellsGoals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "explore", "-runs", "25", "-v", "-faults", "none")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "goals reached: ") ||
		!strings.Contains(stdout, "  acquire-takes                                25, first by seed 1\n") || !strings.Contains(stdout, "  never: ") {
		t.Fatalf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	if strings.Contains(stdout, "wake-up-lost-while-three-wait") {
		t.Errorf("without faults no message is lost:\n%s", stdout)
	}
	stdout, _, _ = run(t, dir, "explore", "-runs", "50", "-v", "-faults", "none")
	if !strings.Contains(stdout, "  acquire-takes                                50, first by seed 1\n") {
		t.Errorf("going on:\n%s", stdout)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "simrun-out/explore/*/report.html"))
	if len(pages) != 1 {
		t.Fatalf("pages: %v", pages)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil || !strings.Contains(string(page), "Which goals were reached") || !strings.Contains(string(page), "<td>acquire-takes</td>") ||
		!strings.Contains(string(page), "<dt>lease-outlived</dt>") && !strings.Contains(string(page), "<td>lease-outlived</td>") {
		t.Errorf("the page, %v", err)
	}
	// There are too few runs for all: that is an end of its own kind.
	stdout, stderr, code = run(t, dir, "explore", "-runs", "25", "-until-goals", "-out", "none")
	if code != checker.ExitUndecided || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "not reached: ") || !strings.Contains(stderr, "counter-") && !strings.Contains(stderr, "held-again") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// A search ends with the shard that reaches the last of its goals: of a semaphore without faults there are few.
func TestExploreEndsOnceAllGoalsAreReached(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, t.TempDir(), "explore", "-subject", "rsemaphore-classic", "-until-goals", "-faults", "none", "-out", "none", "-runs", "2000")
	if code != checker.ExitExpected || stderr != "" || strings.Contains(stdout, "2,000 runs") || strings.Contains(stdout, "never: ") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}
