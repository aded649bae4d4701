package scenarios

import (
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Reentry says what the re-entries of a plan are to its story, for locks that know none.
type Reentry uint8

const (
	Incidental Reentry = iota // they can be left out
	Essential                 // without them there is no story
	Retried                   // what looks like one is another try after one that failed
)

// For returns the scenario's plan for a lock with the abilities that can reports, those of
// [plan.Plan.Needs]; or, if there is none, why not, to follow on "not run: ". Steps that only ask are
// left out for a lock that answers no questions, and incidental re-entries for one that is not reentrant. A sweep for a lock whose
// waiters only ask has no faults on what waiters hear.
func (s Scenario) For(seed uint64, can func(ability string) bool) (p *plan.Plan, why string) {
	p = s.Plan(seed)
	if s.Reentry == Incidental && !can(plan.NeedsReentrant) {
		p = p.Without(plan.NeedsReentrant)
	}
	if !can(plan.NeedsInspect) {
		p = p.Without(plan.NeedsInspect)
	}
	if s.Sweep && !can(plan.NeedsMessages) {
		p = p.Without(plan.NeedsMessages)
	}
	if s.Of != "" && !can(string(s.Of)) {
		return p, reasons[string(s.Of)]
	}
	if s.Drawn && can(string(contract.Fair)) && !can(string(contract.KeepsPlace)) {
		return p, "the waits are drawn, and whether the lock keeps their order depends on them"
	}
	needs := slices.DeleteFunc(p.Needs(), func(n string) bool {
		// A plan that tells no story of ours may have faults that never strike.
		return n == plan.NeedsReentrant && s.Reentry == Retried || n == plan.NeedsMessages && s.Name == ""
	})
	if why = missing(needs, can); why == "" && p.Check(fault.Needs()) != nil {
		why = "a fault waits for what only happens in a lock that can be taken again, or asked"
	}
	return p, why
}

// Fit returns a drawn plan without what a lock with these abilities does not know, as [Scenario.For]
// does, or why there is nothing left to run.
func Fit(p *plan.Plan, can func(ability string) bool) (fitted *plan.Plan, why string) {
	return Scenario{Plan: func(uint64) *plan.Plan { return p }}.For(0, can)
}

// missing says which of the abilities that a plan needs a lock lacks.
func missing(needs []string, can func(string) bool) string {
	for _, n := range needs {
		if !can(n) {
			return reasons[n]
		}
	}
	return ""
}

// OfAnother reports whether the reason for which a subject cannot run a plan is that it is another kind of object, or no fair lock.
func OfAnother(why string) bool {
	return why == reasons[string(contract.Fair)] || slices.ContainsFunc(history.Objects(), func(is history.Object) bool { return why == reasons[string(is)] })
}

var reasons = map[string]string{
	plan.NeedsReentrant:   "the story is about a re-entry, and the lock is not reentrant",
	plan.NeedsForce:       "an operator forces the lock free, which it has no means for",
	plan.NeedsResize:      "permits are added or drained, which the semaphore has no means for",
	plan.NeedsDelete:      "the latch is deleted, which it has no means for",
	plan.NeedsInspect:     "the lock is asked about its state, and answers no questions",
	plan.NeedsWatchdog:    "a fault strikes the watchdog, and the lock has none",
	plan.NeedsMessages:    "a fault strikes what tells waiters of a release, and those of the lock only ask again",
	plan.NeedsMulti:       "the story is about a lock of several, of which all must be held, and there is none",
	string(contract.Fair): "the story is about who waits first, and the lock promises no order (-subject rfair-classic, rfair-hardened)",
	plan.NeedsLock:        "the story is about a lock, and the subject is none",
	plan.NeedsSemaphore:   "the story is about a semaphore, and the subject is none (-subject rsemaphore-classic, rsemaphore-hardened)",
	plan.NeedsPermits:     "the story is about a permit semaphore, and the subject is none (-subject rpermitsemaphore-classic, rpermitsemaphore-hardened)",
	plan.NeedsLatch:       "the story is about a latch, and the subject is none (-subject rcountdownlatch-classic, rcountdownlatch-hardened)",
	plan.NeedsRWLock:      "the story is about a read-write lock, and the subject is none (-subject rrwlock-classic, rrwlock-hardened)",
	plan.NeedsRed:         "the story is about a quorum of several servers, and the lock knows one server",
}
