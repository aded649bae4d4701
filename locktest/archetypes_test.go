package locktest_test

import (
	"errors"
	"testing"

	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/locktest/archetypes"
)

// told are the failures of a lock, or why it was not tried.
func toldOf(t *testing.T, newLock locktest.NewLock, options ...locktest.Option) (failures []*locktest.Failure, others []error) {
	t.Helper()
	err := locktest.Inside(t, newLock, options...)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err != nil {
			others = append(others, err)
		}
		return nil, others
	}
	for _, one := range joined.Unwrap() {
		var f *locktest.Failure
		if errors.As(one, &f) {
			failures = append(failures, f)
		} else {
			others = append(others, one)
		}
	}
	return failures, others
}

func TestSoundArchetypesAreNotAccused(t *testing.T) {
	for _, a := range archetypes.All() {
		t.Run(a.Name, func(t *testing.T) {
			failures, others := toldOf(t, a.New, locktest.Drawn(25))
			for _, f := range failures {
				t.Errorf("%s in %s: %s", f.Guarantee, f.Scenario, f.Rule)
			}
			for _, err := range others {
				t.Error(err)
			}
		})
	}
}

func TestMistakesOfArchetypesAreCaught(t *testing.T) {
	for _, a := range archetypes.All() {
		for _, m := range a.Mistakes {
			t.Run(a.Name+"/"+m.Name, func(t *testing.T) {
				failures, others := toldOf(t, m.New, locktest.Drawn(25))
				for _, err := range others {
					t.Log(err)
				}
				for _, f := range failures {
					t.Logf("%s in %s: %s", f.Guarantee, f.Scenario, f.Rule)
				}
				if len(failures) == 0 {
					t.Error("not caught")
				}
			})
		}
	}
}
