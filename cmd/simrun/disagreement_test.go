package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/history/formats"
)

// A checker that is wrong: it refuses what is granted twice, in turn.
func wrong(h *history.History) checker.Status {
	grants := 0
	for _, op := range h.Ops {
		if op.Outcome == history.Acquired {
			grants++
		}
	}
	if grants > 1 {
		return checker.Broken
	}
	return checker.Holds
}

// On a disagreement the exit code is 3, and the smallest history that shows it is where the line says.
func TestCheckLeavesADisagreement(t *testing.T) {
	opinion = wrong
	defer func() { opinion = nil }()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("turns.edn", []byte(inTurn), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := command(t.Context(), []string{"check", "-model", "mutex", "turns.edn"}, &stdout, &stderr)
	if code != checker.ExitDisagree || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "disagreement-turns.jsonl") ||
		!strings.Contains(stdout.String(), "THE CHECKERS DISAGREE") {
		t.Fatalf("exit code %d, stderr %q, stdout:\n%s", code, stderr.String(), stdout.String())
	}
	h, err := formats.Open(t.Context(), "disagreement-turns.jsonl", 0)
	if err != nil || len(h.Ops) != 3 {
		t.Fatalf("two grants and the release between them show it: %v, %+v", err, h)
	}
}

// A run leaves it in its folder.
func TestARunLeavesADisagreement(t *testing.T) {
	h, err := formats.LoadAny(t.Context(), strings.NewReader(inTurn), 0)
	if err != nil {
		t.Fatal(err)
	}
	store := &folder{dir: t.TempDir()}
	says := leaveDisagreement(t.Context(), store, disagreementFile, h, checker.Options{Also: wrong, Model: "mutex"})
	path := filepath.Join(store.dir, disagreementFile)
	if !strings.Contains(says, path) {
		t.Errorf("it says %q", says)
	}
	if small, err := formats.Open(t.Context(), path, 0); err != nil || len(small.Ops) != 3 {
		t.Errorf("%v: %+v", err, small)
	}
}
