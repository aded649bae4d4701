package goals

import (
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// situation is a goal that is read from a history once it is made ready.
type situation struct {
	contract.Goal
	in func(r *run) bool
}

// situations are the goals that are no exemptions.
var situations = slices.Concat(branches, renewals, late, unheard, waiting, losses, groups)

// goal makes a situation. needs are what a lock must be able to do.
func goal(name, means string, in func(r *run) bool, needs ...string) situation {
	return situation{contract.Goal{Name: name, Means: means, Needs: needs}, in}
}

// by has a situation take a fault with one of these effects.
func (s situation) by(effects ...history.Effect) situation {
	s.Effects = effects
	return s
}

const (
	lock       = string(history.ALock)
	semaphore  = string(history.ASemaphore)
	reentrant  = string(contract.Reentrant)
	renews     = string(contract.Renews)
	forces     = string(contract.Forces)
	idempotent = string(contract.Idempotent)
	keeps      = string(contract.KeepsLongest)
)

// branch is a goal that a script of the lock's protocol took a way: told by the step and by what became of the key, so that it
// is the same for locks of any library.
func branch(name, means string, step history.Step, such func(s *row) bool, needs ...string) situation {
	object := history.ALock
	if slices.Contains(needs, semaphore) {
		object = history.ASemaphore
	}
	return goal(name, means, func(r *run) bool {
		return r.row(func(s *row) bool { return s.Step == step && r.object(s.Lock) == object && such(s) })
	}, needs...)
}

// unchanged says that a command left who holds, and how many permits are free, as it was.
func unchanged(s *row) bool { return s.Before.Alike(*s.After) }

var branches = []situation{
	branch("acquire-takes", "An attempt took a free lock.", history.StepAcquire, func(s *row) bool { return s.before == 0 && s.after == 1 }, lock),
	branch("acquire-re-enters", "An attempt of the holder counted one hold more.", history.StepAcquire,
		func(s *row) bool { return s.before > 0 && s.after == s.before+1 }, lock, reentrant),
	branch("acquire-refused", "An attempt was refused, since another held the lock.", history.StepAcquire,
		func(s *row) bool { return s.others() && s.after == s.before && unchanged(s) }, lock),
	branch("acquire-without-effect", "An attempt came to a lock that was free or its owner's, and changed nothing: it was a copy, or too old.", history.StepAcquire,
		func(s *row) bool { return !s.others() && unchanged(s) }, lock).by(history.Resends()...),
	branch("release-last", "An unlock freed the lock.", history.StepRelease, func(s *row) bool { return s.before > 0 && s.after == 0 }, lock),
	branch("release-one", "An unlock left holds.", history.StepRelease, func(s *row) bool { return s.after > 0 && s.after < s.before }, lock, reentrant),
	branch("release-of-nothing", "An unlock came to a lock that nobody held.", history.StepRelease, func(s *row) bool { return s.Before.Absent() }, lock),
	branch("release-of-others", "An unlock came to a lock that another held.", history.StepRelease, func(s *row) bool { return s.before == 0 && s.others() }, lock),
	branch("release-without-effect", "An unlock of the holder changed nothing: it was a copy, or too old.", history.StepRelease,
		func(s *row) bool { return s.before > 0 && unchanged(s) }, lock).by(history.Resends()...),
	branch("renew-extends", "A renewal set the lease of a hold anew.", history.StepRenew, func(s *row) bool { return s.before > 0 && s.After.Deadline > s.Before.Deadline }, renews),
	branch("renew-keeps", "A renewal left the lease of its hold, which was longer.", history.StepRenew,
		func(s *row) bool { return s.before > 0 && s.After.Deadline == s.Before.Deadline }, renews, keeps),
	branch("renew-of-nothing", "A renewal came to a lock that nobody held.", history.StepRenew, func(s *row) bool { return s.Before.Absent() }, renews),
	branch("renew-of-others", "A renewal came to a lock that another held.", history.StepRenew, func(s *row) bool { return s.before == 0 && s.others() }, renews),
	branch("force-frees", "A forced unlock freed the lock.", history.StepForce, func(s *row) bool { return !s.Before.Absent() && s.After.Absent() }, forces).by(history.ForcedFree),
	branch("force-of-nothing", "A forced unlock came to a lock that nobody held.", history.StepForce, func(s *row) bool { return s.Before.Absent() }, forces).by(history.ForcedFree),
	branch("force-without-effect", "A forced unlock left a lock held: it was a copy.", history.StepForce, func(s *row) bool { return !s.Before.Absent() && unchanged(s) }, forces, idempotent).
		by(history.Resends()...),
	branch("permits-set", "The number of permits was set.", history.StepSet, func(s *row) bool { return s.Before.Absent() && !s.After.Absent() }, semaphore),
	branch("permits-set-already", "The number of permits was set already.", history.StepSet, func(s *row) bool { return !s.Before.Absent() && unchanged(s) }, semaphore),
	branch("permits-taken", "Permits were taken.", history.StepAcquire, func(s *row) bool { return s.After.Number() < s.Before.Number() }, semaphore),
	branch("permits-too-few", "An attempt was refused, since some permits were free, but too few.", history.StepAcquire,
		func(s *row) bool { return unchanged(s) && s.Before.Number() > 0 }, semaphore),
	branch("permits-none", "An attempt was refused, since no permit was free.", history.StepAcquire,
		func(s *row) bool { return unchanged(s) && !s.Before.Absent() && s.Before.Number() == 0 }, semaphore),
	branch("permits-back", "Permits were given back.", history.StepRelease, func(s *row) bool { return s.After.Number() > s.Before.Number() }, semaphore),
	branch("permits-back-to-nothing", "Permits were given back to a semaphore that was not there.", history.StepRelease, func(s *row) bool { return s.Before.Absent() }, semaphore),
}
