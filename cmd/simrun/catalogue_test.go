package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

func TestTheCataloguePageIsCurrent(t *testing.T) {
	const page = "../../docs/scenarios.md"
	var want bytes.Buffer
	catalogue(&want)
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the registry says; make it anew: go run ./cmd/simrun list -markdown > docs/scenarios.md", page)
	}
}

// What the track record says is what the published runs showed.
func TestTheTrackRecordIsShown(t *testing.T) {
	text, err := os.ReadFile("../../docs/" + matrixJSON)
	if err != nil {
		t.Fatal(err)
	}
	m, err := reports.ReadMatrix(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range workers.Defects() {
		if said := shown(m, d); !strings.Contains(said, " runs: ") {
			t.Errorf("%s in %s: %s", d.Lock, d.Scenario, said)
		}
	}
}

// A story in which a lock is not judged rightly accuses it of nothing, and says why.
func TestWhatIsNotJudgedRightlyIsLeftOpen(t *testing.T) {
	text, err := os.ReadFile("../../docs/" + matrixJSON)
	if err != nil {
		t.Fatal(err)
	}
	m, err := reports.ReadMatrix(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range workers.All() {
		for name, why := range l.Unjudged {
			if _, ok := scenarios.Find(name); !ok || why == "" {
				t.Errorf("%s: %s is no story, or there is no reason", l.Name, name)
			}
			if column := m.Lock(l.Name); column != nil {
				if c := column.Cell(name); c == nil || c.Words() != "?" || !strings.Contains(c.Trouble, why) {
					t.Errorf("the matrix does not say of %s in %s that it is not judged rightly: %s", l.Name, name, why)
				}
			}
		}
	}
}

// Locks that run in world sim are run anew. Of the others, whose processes are not to the byte the same, the pages are
// made anew from what was published.
func TestTheMatrixIsCurrent(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	dir := t.TempDir()
	published, err := os.ReadFile(filepath.Join(docs, matrixJSON))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, matrixJSON), published, 0o666); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, s := range linked() {
		if !testing.Short() || i%4 == 0 { // those of the others are left as they are
			names = append(names, s.Name)
		}
	}
	if _, stderr, code := run(t, dir, "matrix", "-out", ".", "-locks", strings.Join(names, ",")); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{matrixJSON, matrixMD, matrixHTML, recordMD} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the runs say (%v); make it anew: go run ./cmd/simrun matrix -locks %s", name, err, strings.Join(names, ","))
		}
	}
}
