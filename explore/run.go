package explore

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// ScopeFor narrows a scope to what a subject can.
func ScopeFor(s subjects.Subject, scope scenarios.Scope) scenarios.Scope {
	scope.NoReentry = scope.NoReentry || !s.Can("reentrant")
	scope.NoAsking = scope.NoAsking || !s.Can("inspect")
	scope.MixedLeases = scope.MixedLeases && s.Can("keeps-longest")
	if most := s.Remembers() / 2; most > 0 && (scope.Latest == 0 || scope.Latest > most) {
		scope.Latest = most // go-redis sends again for some seconds, besides
	}
	scope.Faults = slices.DeleteFunc(slices.Clone(scope.Faults), func(f string) bool {
		return f == "force-unlock" && !s.Can("force") || f == "pause-watchdog" && !s.Can("watchdog")
	})
	return scope
}

// Run is one run that was judged.
type Run struct {
	Plan        *plan.Plan
	History     *history.History
	Verdict     *checker.Verdict
	Accusations []Accusation
}

// One runs and judges a plan. An error is the harness's, or a panic of the lock.
func One(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, seed uint64) (Run, error) {
	r := Run{Plan: p}
	var err error
	if r.History, err = sim.Run(b, p, s, sim.Options{Seed: seed}); err != nil {
		return r, err
	}
	r.Verdict = checker.Judge(context.Background(), r.History, checker.Options{Unpredicted: true})
	switch v := r.Verdict; {
	case len(v.Refused) > 0:
		return r, fmt.Errorf("the history was refused: %s", v.Refused[0])
	case v.Disagreement != "":
		return r, &Disagreement{v.Disagreement, r.History}
	}
	r.Accusations = Accuse(r.Verdict)
	return r, nil
}

// Disagreement is the error of a run on which the checkers disagree.
type Disagreement struct {
	Text    string
	History *history.History
}

func (d *Disagreement) Error() string { return d.Text }

// Accuses reports whether the lock was found to be to blame for a cause.
func (r Run) Accuses(cause string) bool {
	return slices.ContainsFunc(r.Accusations, func(a Accusation) bool { return a.Cause() == cause })
}
