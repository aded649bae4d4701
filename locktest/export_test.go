package locktest

import (
	"fmt"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
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
	o := optionsOf("lock", nil)
	o.noPlans = true
	s, err := newSuite(bubble.In(t), newLock, o)
	if err != nil {
		return history.Layout{}, err
	}
	return s.subject.Layout, nil
}
