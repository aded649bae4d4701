package locktest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/locktest/archetypes"
)

// unsound are the scenarios that a sound archetype cannot stand, and why.
var unsound = map[string]string{
	"absolute/clock-jump": "its clients tell the server by their clocks when a lease ends, and the server's is an hour ahead",
}

// failing are the failures of a lock, and what else kept it from being judged.
func failing(t *testing.T, newLock locktest.NewLock, options ...locktest.Option) (failures []*locktest.Failure, others []error) {
	t.Helper()
	err := locktest.Inside(t, newLock, options...)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok && err != nil {
		return nil, []error{err}
	} else if !ok {
		return nil, nil
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

// Locks that are kept in ways that the harness was not written for are not accused.
func TestSoundArchetypesAreNotAccused(t *testing.T) {
	for _, a := range archetypes.All() {
		t.Run(a.Name, func(t *testing.T) {
			failures, others := failing(t, a.New, locktest.Drawn(10))
			for _, f := range failures {
				if unsound[a.Name+"/"+f.Scenario] == "" {
					t.Errorf("%s in %s: %s", f.Guarantee, f.Scenario, f.Rule)
				}
			}
			for _, err := range others {
				t.Error(err)
			}
		})
	}
}

// Nor is any of their mistakes overlooked, and the story tells of the call that goes wrong.
func TestMistakesOfArchetypesAreCaught(t *testing.T) {
	for _, a := range archetypes.All() {
		for _, m := range a.Mistakes {
			t.Run(a.Name+"/"+m.Name, func(t *testing.T) {
				failures, others := failing(t, m.New, locktest.Only(m.Shows), locktest.Drawn(0))
				told := ""
				for _, f := range failures {
					told += fmt.Sprintf("%s in %s: %s\n", f.Guarantee, f.Scenario, f.Rule)
					if strings.Contains(f.Text, m.Call) {
						return
					}
				}
				t.Errorf("no story tells of its %s: %s%v", m.Call, told, others)
			})
		}
	}
}
