package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
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
	scope.Within = scope.Within || s.Can(string(contract.LocalHolds))
	scope.NoAsking = scope.NoAsking || !s.Can("inspect")
	scope.Groups = slices.DeleteFunc(slices.Clone(scope.Groups), func(kind string) bool { return !slices.Contains(s.Groups, kind) })
	scope.Altered = scope.Altered || Alters(s)
	scope.Queued = scope.Queued || s.Can(string(contract.Fair))
	scope.Fenced = scope.Fenced && s.Can("fencing")
	scope.Watchdog = scope.Watchdog && s.Can("watchdog")
	resent, once := s.Remembers()
	scope.Latest = within(scope.Latest, resent)
	scope.LatestOnce = within(cmp.Or(scope.LatestOnce, scope.Latest), once)
	scope.Object = s.Object
	scope.Faults = slices.DeleteFunc(slices.Clone(scope.Faults), func(f string) bool {
		return scenarios.NotOf(cmp.Or(scope.Object, history.ALock), f) || f == "force-unlock" && !s.Can("force") || f == "pause-watchdog" && (s.External || !s.Can("watchdog"))
	})
	return scope
}

// Alters reports whether plans may have calls by which a subject changes as a whole: of a plain lock they are a fault's.
func Alters(s subjects.Subject) bool {
	return s.Can(string(contract.Resizes)) || s.Can(string(contract.Deletes)) || s.Object == history.ARWLock && s.Can(string(contract.Forces))
}

// within caps how late messages may be by how long a lock claims to know a copy of a request; 0: no limit. It is
// half of that, since go-redis sends again for some time, besides.
func within(latest, remembers time.Duration) time.Duration {
	switch {
	case remembers == 0:
		return latest
	case latest == 0:
		return remembers / 2
	}
	return min(latest, remembers/2)
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
	return Within(b, p, s, seed, 0)
}

// Within is One, but a run of more messages ends with [sim.ErrTooMany]; 0: any number.
func Within(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, seed uint64, most int) (Run, error) {
	r := Run{Plan: p}
	var err error
	if r.History, err = sim.Run(b, p, s, sim.Options{Seed: seed, Most: most}); err != nil {
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
