package locktest

import (
	"fmt"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Inside is [Test] in a test.
func Inside(t *testing.T, newLock NewLock, opts ...Option) error {
	return test(bubble.In(t), newLock, optionsOf("lock", opts))
}

// Accused are the stories of what a lock answers for, each behind its case, guarantee and rule. Nobody looks for smaller plans.
func Accused(t *testing.T, newLock NewLock, opts ...Option) (stories []string, err error) {
	b := bubble.In(t)
	s, err := newSuite(b, newLock, optionsOf("lock", opts))
	if err != nil {
		return nil, fmt.Errorf("locktest: %w", err)
	}
	for _, c := range s.cases {
		if c.why != "" {
			continue
		}
		if s.run(b, c); c.err != nil {
			return stories, fmt.Errorf("%s: %w", c.name, c.err)
		}
		for _, g := range contract.Guarantees() {
			for _, f := range s.broke(c, c.verdict, g) {
				stories = append(stories, fmt.Sprintf("%s in %s: %s: %s", g, c.name, f.Rule, c.verdict.Explanation))
			}
		}
	}
	return stories, nil
}

// Learned is how a lock is kept, as the probe learned it.
func Learned(t *testing.T, newLock NewLock) (history.Layout, error) {
	s, err := probed(t, newLock)
	return s.Layout, err
}

// Resends reports whether the probe learned that requests may be sent again, whatever a plan says.
func Resends(t *testing.T, newLock NewLock) (bool, error) {
	s, err := probed(t, newLock)
	return s.Resends, err
}

func probed(t *testing.T, newLock NewLock) (subjects.Subject, error) {
	o := optionsOf("lock", nil)
	o.noPlans = true
	s, err := newSuite(bubble.In(t), newLock, o)
	if err != nil {
		return subjects.Subject{}, err
	}
	return s.subject, nil
}
