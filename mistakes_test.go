package holdfast_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// What locks with one mistake did in the plans that were written for it (package broken), when those were not told of at first. Each history is
// judged from what was recorded, and accuses the lock. The plan corpus has the sound lock under the same plans. To add one: the lines of the
// run's history.jsonl and server.jsonl. More than one of a mistake have an @ in their names, after its own.
func TestWhatMistakesDidIsToldOf(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		mistake, _, _ := strings.Cut(name, "@")
		if _, known := broken.FindSourceMutant(mistake); !known {
			t.Errorf("%s is no mistake", name)
		}
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := history.Load(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if v := checker.Judge(t.Context(), evidence.Conclude(h), checker.Options{Unpredicted: true}); len(explore.Accuse(v)) == 0 {
				t.Errorf("nobody is accused: %s", v.Explanation)
			}
		})
	}
}
