package scenarios_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// explored runs drawn plans, and fails where complaints finds something wrong with a violation.
// Failures carry no times or ids, for rapid compares them when it shrinks; the plan that fails is
// logged.
func explored(t *testing.T, scope scenarios.Scope, complaint func(s subjects.Subject, g contract.Guarantee, v checker.Violation) string) {
	for _, s := range subjects.All() {
		t.Run(s.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				p := scenarios.Draw(rt, scope)
				seed := uint64(rapid.IntRange(1, 1000).Draw(rt, "seed"))
				rt.Logf("seed %d, plan %s", seed, oneLine(rt, p))
				if err := p.Check(fault.Needs()); err != nil {
					rt.Fatalf("a drawn plan makes no sense: %v", err)
				}
				for _, what := range complaints(t, p, s, seed, complaint) {
					rt.Errorf("%s", what)
				}
			})
		})
	}
}

func oneLine(rt *rapid.T, p *plan.Plan) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, p.JSON()); err != nil {
		rt.Fatal(err)
	}
	return b.Bytes()
}

// complaints runs and judges a plan, and lists what is wrong, each thing once.
func complaints(t *testing.T, p *plan.Plan, s subjects.Subject, seed uint64, complaint func(subjects.Subject, contract.Guarantee, checker.Violation) string) []string {
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: seed})
	if err != nil {
		return []string{fmt.Sprintf("harness: %T", err)}
	}
	v := checker.Judge(context.Background(), h, checker.Options{})
	if len(v.Refused) > 0 {
		return []string{"the history was refused"}
	}
	var all []string
	for _, r := range v.Results {
		if !r.Status.Valid() || r.Status == checker.Undecided {
			all = append(all, fmt.Sprintf("%s is %q", r.Guarantee, r.Status))
		}
		for _, violation := range r.Violations {
			if what := complaint(s, r.Guarantee, violation); what != "" {
				all = append(all, fmt.Sprintf("%s: %s: %s (%s)", r.Guarantee, what, violation.Rule, violation.Cause.Class))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestWithoutFaultsEveryGuaranteeHolds(t *testing.T) {
	explored(t, scenarios.Scope{}, func(_ subjects.Subject, _ contract.Guarantee, v checker.Violation) string {
		return "broken without a fault"
	})
}

// theThree are the faults of issue 2.
var theThree = []string{"pause-watchdog", "partition", "expire-key"}

func TestWithFaultsObjectHoldsAndBreaksOfExclusionHaveACause(t *testing.T) {
	explored(t, scenarios.Scope{Faults: theThree, ShortLeases: true},
		func(s subjects.Subject, g contract.Guarantee, v checker.Violation) string {
			blamed := len(v.Cause.Faults) > 0
			switch g {
			case contract.Object:
				// Copies that go-redis sends again take effect twice in the faithful generations, or are
				// refused although the first was not.
				again := v.Cause.Class == contract.DoubleExecution || v.Rule == contract.ToldTheTruth
				if s.Name != "rlock-hardened" && again && blamed {
					return ""
				}
				return "broken"
			case contract.Exclusion, contract.Effect:
				switch {
				case v.Ruling.Kind == checker.Defect:
					return "a defect"
				case !blamed && v.Cause.Class != contract.LeaseOutlived:
					return "nothing to blame"
				}
			}
			return ""
		})
}

// A drawn plan is one that simrun can read, and the vocabulary is used to the full.
func TestDrawnPlansUseTheWholeVocabulary(t *testing.T) {
	var single []string // those that strike a world of one server
	for _, k := range fault.Kinds() {
		if !k.Needs.Replica {
			single = append(single, k.Name)
		}
	}
	drawn := rapid.Custom(func(rt *rapid.T) *plan.Plan {
		return scenarios.Draw(rt, scenarios.Scope{Faults: single, ShortLeases: true})
	})
	var all strings.Builder
	for i := range 500 {
		p := drawn.Example(i)
		if _, err := plan.Decode(p.JSON()); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(fault.Needs()); err != nil {
			t.Fatal(err)
		}
		all.Write(p.JSON())
	}
	words := append(single, "both", "requests", "replies", "regardless", "wait", "lease")
	for _, action := range []plan.Action{plan.Lock, plan.TryLock, plan.Unlock, plan.Work, plan.Sleep,
		plan.IsLocked, plan.IsHeldBy, plan.HoldCount, plan.RemainingTTL} {
		words = append(words, string(action))
	}
	for _, word := range words {
		if !strings.Contains(all.String(), `"`+word+`"`) {
			t.Errorf("no plan has %q", word)
		}
	}
}
