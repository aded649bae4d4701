package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// proofOf runs and judges a plan, and has its causes proved.
func proofOf(t *testing.T, p *plan.Plan, s subjects.Subject, seed uint64) (*history.History, *checker.Verdict) {
	t.Helper()
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: seed, Scenario: p.Name})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", s.Name, seed, err)
	}
	o := checker.Options{Unpredicted: true}
	v := checker.Judge(context.Background(), h, o)
	if why := v.Trouble(); why != "" {
		t.Fatalf("%s, seed %d: %s", s.Name, seed, why)
	}
	explore.Prove(bubble.In(t), p, s, h, v, o)
	return h, v
}

// proofs are the violations of a verdict that were proved.
func proofs(v *checker.Verdict) (all []checker.Violation) {
	for _, r := range v.Results {
		for _, x := range r.Violations {
			if x.Proof != nil {
				all = append(all, x)
			}
		}
	}
	return all
}

// differs words a violation whose cause the runs do not show.
func differs(x checker.Violation) string {
	return fmt.Sprintf("%s (%s, %s): %s\n  argued %v: %s\n  %s %v: %s", x.Rule, x.Cause.Class, x.Ruling.Kind, x.Text,
		x.Cause.Faults, x.Cause.Text, x.Proof.Outcome, x.Proof.Faults, x.Proof.Text)
}

// The causes of what breaks in the catalogue are argued from its history. The runs must show the same.
func TestArguedCausesOfTheCatalogueAreTheProvedOnes(t *testing.T) {
	outcomes := map[checker.ProofOutcome]int{}
	for _, sc := range scenarios.All() {
		for _, s := range append(subjects.All(), libraries.All()...) {
			if testing.Short() && s.Name != "rlock-latch" && s.Name != "redsync" {
				continue
			}
			p, why := sc.For(1, s.Can)
			if why != "" {
				continue
			}
			h, v := proofOf(t, p, s, 1)
			all := proofs(v)
			for _, x := range all {
				if outcomes[x.Proof.Outcome]++; !x.Agrees() {
					t.Errorf("%s, %s: %s", sc.Name, s.Name, differs(x))
				}
				if x.Proof.Outcome != checker.ByItself && len(x.Proof.Faults) == 0 {
					t.Errorf("%s, %s: without what? %+v", sc.Name, s.Name, x.Proof)
				}
				for _, i := range x.Proof.Faults {
					if h.Faults[i].Missed {
						t.Errorf("%s, %s: without a fault that never struck: %+v", sc.Name, s.Name, x.Proof)
					}
				}
			}
			if broke(v) != (len(all) > 0) {
				t.Errorf("%s, %s: %d proofs of what broke: %v", sc.Name, s.Name, len(all), broke(v))
			}
		}
	}
	t.Log(outcomes)
	for _, o := range []checker.ProofOutcome{checker.Proved, checker.ByItself, checker.Besides} {
		if outcomes[o] == 0 {
			t.Errorf("no cause was %s: %v", o, outcomes)
		}
	}
}

// The same of drawn plans, evenly and with priorities.
func TestArguedCausesOfDrawnPlansAreTheProvedOnes(t *testing.T) {
	runs := uint64(300)
	if testing.Short() {
		runs = 60
	}
	outcomes := map[checker.ProofOutcome]int{}
	all := append(subjects.All(), libraries.All()...)
	for _, name := range []string{"uniform", "pct"} {
		strategy, _ := explore.FindStrategy(name)
		for seed := range runs {
			s := all[seed%uint64(len(all))]
			_, v := proofOf(t, strategy.Draw(seed, explore.ScopeFor(s, scenarios.Whole())), s, seed)
			for _, x := range proofs(v) {
				if outcomes[x.Proof.Outcome]++; !x.Agrees() {
					t.Errorf("%s, %s, seed %d: %s", name, s.Name, seed, differs(x))
				}
			}
		}
	}
	// Where the argument was wrong, or the lock's own doing took a fault to show: the lock, and the seed of the run.
	known, err := filepath.Glob("testdata/proofs/*.json")
	if err != nil || len(known) == 0 {
		t.Fatal("there are no plans", err)
	}
	for _, file := range known {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		dash := strings.LastIndex(name, "-")
		seed, err := strconv.ParseUint(name[dash+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		_, v := proofOf(t, p, find(t, name[:dash]), seed)
		if len(proofs(v)) == 0 {
			t.Errorf("%s: nothing broke", name)
		}
		for _, x := range proofs(v) {
			if outcomes[x.Proof.Outcome]++; !x.Agrees() {
				t.Errorf("%s: %s", name, differs(x))
			}
		}
	}
	t.Log(outcomes)
	if outcomes[checker.Proved] == 0 || outcomes[checker.Besides] == 0 || outcomes[checker.Occasion] == 0 {
		t.Errorf("nothing was proved: %v", outcomes)
	}
}

// No lock that is broken on purpose is acquitted for faults that its violation does not need. Where more violations
// of a guarantee were found than a verdict keeps, nobody knows that one is gone.
func TestNoBrokenLockIsAcquittedForFaultsThatAreNotNeeded(t *testing.T) {
	runs := uint64(300)
	if testing.Short() {
		runs = 60
	}
	locks, excused := broken.All(), 0
	for seed := range runs {
		s := locks[seed%uint64(len(locks))].Subject
		_, v := proofOf(t, scenarios.DrawnBy(seed, explore.ScopeFor(s, scenarios.Whole())), s, seed)
		for _, r := range v.Results {
			for _, x := range r.Violations {
				if x.Proof == nil || x.Ruling.Kind == checker.Defect || len(r.Violations) == 16 {
					continue
				}
				if excused++; !x.Agrees() {
					t.Errorf("%s, seed %d: %s", s.Name, seed, differs(x))
				}
			}
		}
	}
	if excused == 0 {
		t.Error("nothing was excused")
	}
}

// A proof changes nothing of a run and its verdict but what it adds, and says the same each time.
func TestProofsLeaveTheVerdictAsItIs(t *testing.T) {
	sc, _ := scenarios.Find("partition-holder")
	s := find(t, "rlock-latch")
	p := sc.Plan(7)
	before := string(p.JSON())
	h, v := proofOf(t, p, s, 7)
	bare := checker.Judge(context.Background(), h, checker.Options{Unpredicted: true})
	again, second := proofOf(t, p, s, 7)
	one, _ := json.Marshal(v)
	other, _ := json.Marshal(second)
	if !bytes.Equal(one, other) || h.End.Trace != again.End.Trace || string(p.JSON()) != before {
		t.Errorf("two proofs differ:\n%s\n%s", one, other)
	}
	if len(proofs(v)) == 0 || v.Explanation == bare.Explanation {
		t.Errorf("nothing was proved: %s", v.Explanation)
	}
	for i := range v.Results {
		for j := range v.Results[i].Violations {
			v.Results[i].Violations[j].Proof = nil
		}
	}
	v.Explanation = bare.Explanation
	one, _ = json.Marshal(v)
	other, _ = json.Marshal(bare)
	if !bytes.Equal(one, other) {
		t.Errorf("the proof changed the verdict:\n%s\n%s", one, other)
	}
	if !reflect.DeepEqual(h, again) {
		t.Error("the proof changed the history")
	}
}

func broke(v *checker.Verdict) bool {
	for _, r := range v.Results {
		if r.Status == checker.Broken {
			return true
		}
	}
	return false
}
