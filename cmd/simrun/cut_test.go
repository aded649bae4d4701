package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/evidence"
)

// every is how many records apart the test cuts. (All cuts of all stories with all locks take ten minutes.)
const every = 17

// A run may be killed at any time. What is there is judged, and nobody is accused of what is not there.
func TestAKilledRunAccusesNobody(t *testing.T) {
	b := bubble.In(t)
	for i, subject := range onPage() {
		for _, scenario := range scenarios.Stories(history.ALock) {
			p, why := scenario.For(1, subject.Can)
			if why != "" || scenario.Sweep {
				continue
			}
			var lines [][]byte
			sink := func(r any) {
				line, err := history.Append(nil, r)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, line)
			}
			whole, err := sim.Run(b, p, subject, sim.Options{Seed: 1, Scenario: scenario.Name, Sink: sink})
			if err != nil {
				t.Fatal(err)
			}
			defects := map[string]bool{}
			for _, h := range []*history.History{whole, cut(t, lines)} {
				for _, d := range defectsOf(h) {
					defects[string(d.Rule)] = true
				}
			}
			for n := 1 + i; n < len(lines); n += every {
				for _, d := range defectsOf(cut(t, lines[:n])) {
					if !defects[string(d.Rule)] {
						t.Errorf("%s, %s, cut after line %d: %s: %s\n%s", scenario.Name, subject.Name, n, d.Rule, d.Text, d.Cause.Text)
					}
				}
			}
		}
	}
}

func defectsOf(h *history.History) (all []checker.Violation) {
	v, _ := judge(context.Background(), h, checker.Options{Unpredicted: true})
	for _, r := range v.Results {
		all = append(all, r.Defects()...)
	}
	return all
}

// cut reads what was written until then.
func cut(t *testing.T, lines [][]byte) *history.History {
	h, err := history.Load(bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil && !errors.Is(err, history.ErrTruncated) {
		t.Fatal(err)
	}
	return evidence.Certain(h)
}
