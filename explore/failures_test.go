package explore_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/holdfast-sim/holdfast/explore"
)

// Of failures the first of each kind is kept, however the parts of a search were put together.
func TestTheFirstFailureOfEachKindIsKept(t *testing.T) {
	var reports []explore.Report
	for seed := uint64(1); seed <= 40; seed++ {
		kind := string(rune('a' + seed*seed%11))
		reports = append(reports, explore.Report{Runs: 1, Failed: 1, Failure: &explore.Failure{Seed: seed, Error: fmt.Sprintf("%s %q at 0x%x", kind, kind, seed)}})
	}
	whole := explore.Sum(reports)
	if whole.Failure.Seed != 1 || len(whole.Failures) == 0 {
		t.Fatalf("%+v", whole)
	}
	seen := map[string]bool{whole.Failure.Error[:1]: true}
	for _, f := range whole.Failures {
		if seen[f.Error[:1]] {
			t.Errorf("%q is told twice", f.Error)
		}
		seen[f.Error[:1]] = true
	}
	if len(seen) != 6 { // squares modulo 11
		t.Errorf("kinds: %v", seen)
	}
	for cut := 1; cut < len(reports); cut++ {
		parts := []explore.Report{explore.Sum(reports[cut:]).Whole(), explore.Sum(reports[:cut]).Whole()}
		if got := explore.Sum(parts); !reflect.DeepEqual(got.Failure, whole.Failure) || !reflect.DeepEqual(got.Failures, whole.Failures) {
			t.Errorf("cut at %d: %+v, %+v", cut, got.Failure, got.Failures)
		}
	}
}
