package holdfast_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// The corpus: plans that were found and shrunk ("simrun shrink"), each with what it breaks for
// every subject in expect.json. What was found once is looked for ever after, and nobody is accused
// of it who was found not to be to blame. To add one: put the plan there, and a line in expect.json.
func TestThePlanCorpusBreaksWhatItBroke(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	b, err := os.ReadFile("testdata/plans/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var expect map[string]map[string][]contract.Guarantee // plan, subject, what breaks
	if err := json.Unmarshal(b, &expect); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile("testdata/plans/seeds.json"); err != nil {
		t.Fatal(err)
	}
	var seeds map[string]uint64 // plan, and the seed it was found with, where another one shows nothing; otherwise 1
	if err := json.Unmarshal(b, &seeds); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(expect[p.Name]) == 0 {
			t.Errorf("expect.json does not say what %s breaks", p.Name)
		}
		for _, subject := range slices.Concat(subjects.Everything(), libraries.All()) {
			want, ok := expect[p.Name][subject.Name]
			if !ok {
				continue
			}
			t.Run(p.Name+"/"+subject.Name, func(t *testing.T) {
				h, err := sim.Run(bubble.In(t), p, subject, sim.Options{Seed: cmp.Or(seeds[p.Name], 1)})
				if err != nil {
					t.Fatal(err)
				}
				v := checker.Judge(t.Context(), h, checker.Options{})
				var got []contract.Guarantee
				for _, r := range v.Results {
					if r.Status == checker.Broken {
						got = append(got, r.Guarantee)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("broken: %v, expected %v\n%s", got, want, v.Explanation)
				}
				for _, a := range explore.Accuse(v) {
					t.Errorf("accused: %s: %s", a.Cause(), a.Text)
				}
			})
		}
	}
}
