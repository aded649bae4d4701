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
	latch      = string(history.ALatch)
	readWrite  = string(contract.ReadWrite)
	reentrant  = string(contract.Reentrant)
	renews     = string(contract.Renews)
	forces     = string(contract.Forces)
	idempotent = string(contract.Idempotent)
	keeps      = string(contract.KeepsLongest)
	readable   = Readable
)

// branch is a goal that a script of the lock's protocol took a way: told by the step and by what became of the key, so that it
// is the same for locks of any library.
func branch(name, means string, step history.Step, such func(s *row) bool, needs ...string) situation {
	objects := []history.Object{history.ALock, history.ARWLock} // which is two locks
	switch {
	case slices.Contains(needs, semaphore):
		objects = []history.Object{history.ASemaphore}
	case slices.Contains(needs, latch):
		objects = []history.Object{history.ALatch}
	case slices.Contains(needs, readWrite):
		objects = []history.Object{history.ARWLock}
	}
	return goal(name, means, func(r *run) bool {
		return r.row(func(s *row) bool { return s.Step == step && slices.Contains(objects, r.object(s.Lock)) && such(s) })
	}, needs...)
}

// unless has a situation be one of locks that do not claim something.
func (s situation) unless(claim contract.Claim) situation {
	s.Unless = []contract.Claim{claim}
	return s
}

// writes reports whether a command on a read-write lock is for a writer.
func (s *row) writes() bool { return s.op != nil && s.op.Kind.OnWriteLock() }

// readers reports whether the command's owner, or another owner, read before the command.
func (s *row) readers(own bool) bool {
	return s.had(func(h history.Holding) bool { return !history.Writes(h.Owner) && s.own(h) == own })
}

// writer reports whether the command's owner, or another owner, wrote before the command.
func (s *row) writer(own bool) bool {
	return s.had(func(h history.Holding) bool { return history.Writes(h.Owner) && s.own(h) == own })
}

// own reports whether a hold of a read-write lock is of the command's owner, as a reader or as a writer.
func (s *row) own(h history.Holding) bool {
	return history.ReaderOf(h.Owner) == history.ReaderOf(s.Owner)
}

func (s *row) had(such func(history.Holding) bool) bool {
	return slices.ContainsFunc(s.Before.Holdings, such)
}

// unchanged says that a command left who holds, and how many permits are free, as it was.
func unchanged(s *row) bool { return s.Before.Alike(*s.After) }

var branches = []situation{
	branch("acquire-takes", "An attempt took a free lock.", history.StepAcquire, func(s *row) bool { return s.before == 0 && s.after == 1 }, lock, readable),
	branch("acquire-re-enters", "An attempt of the holder counted one hold more.", history.StepAcquire,
		func(s *row) bool { return s.before > 0 && s.after == s.before+1 }, lock, reentrant, readable),
	branch("acquire-refused", "An attempt was refused, since another held the lock.", history.StepAcquire,
		func(s *row) bool { return s.others() && s.after == s.before && unchanged(s) }, lock),
	branch("acquire-without-effect", "An attempt came to a lock that was free or its owner's, and changed nothing: it was a copy, or too old.", history.StepAcquire,
		func(s *row) bool { return !s.others() && unchanged(s) }, lock, readable).by(history.Resends()...),
	branch("release-last", "An unlock freed the lock.", history.StepRelease, func(s *row) bool { return s.before > 0 && s.after == 0 }, lock, readable),
	branch("release-one", "An unlock left holds.", history.StepRelease, func(s *row) bool { return s.after > 0 && s.after < s.before }, lock, reentrant, readable),
	branch("release-of-nothing", "An unlock came to a lock that nobody held.", history.StepRelease, func(s *row) bool { return s.Before.Absent() }, lock),
	branch("release-of-others", "An unlock came to a lock that another held.", history.StepRelease, func(s *row) bool { return s.before == 0 && s.others() }, lock),
	branch("release-without-effect", "An unlock of the holder changed nothing: it was a copy, or too old.", history.StepRelease,
		func(s *row) bool { return s.before > 0 && unchanged(s) }, lock, readable).by(history.Resends()...),
	branch("renew-extends", "A renewal set the lease of a hold anew.", history.StepRenew, func(s *row) bool { return s.before > 0 && s.After.Deadline > s.Before.Deadline }, renews, readable),
	branch("renew-keeps", "A renewal left the lease of its hold, which was longer.", history.StepRenew,
		func(s *row) bool { return s.before > 0 && s.After.Deadline == s.Before.Deadline }, renews, keeps, readable),
	branch("renew-of-nothing", "A renewal came to a lock that nobody held.", history.StepRenew, func(s *row) bool { return s.Before.Absent() }, renews),
	branch("renew-of-others", "A renewal came to a lock that another held.", history.StepRenew, func(s *row) bool { return s.before == 0 && s.others() }, renews),
	branch("force-frees", "A forced unlock freed the lock.", history.StepForce, func(s *row) bool { return !s.Before.Absent() && s.After.Absent() }, forces).by(history.ForcedFree),
	branch("force-of-nothing", "A forced unlock came to a lock that nobody held.", history.StepForce, func(s *row) bool { return s.Before.Absent() }, forces).by(history.ForcedFree),
	branch("force-without-effect", "A forced unlock left a lock held: it was a copy.", history.StepForce, func(s *row) bool {
		return unchanged(s) && s.had(func(h history.Holding) bool { return history.Writes(h.Owner) == s.writes() })
	}, forces, idempotent).
		by(history.Resends()...),
	branch("read-shared", "A reader got the lock beside another.", history.StepAcquire,
		func(s *row) bool { return !s.writes() && s.before == 0 && s.after > 0 && s.readers(false) }, readWrite),
	branch("read-refused", "A reader was refused, since another owner wrote.", history.StepAcquire,
		func(s *row) bool { return !s.writes() && s.before == 0 && unchanged(s) && s.writer(false) }, readWrite),
	branch("write-refused", "A writer was refused, since others read.", history.StepAcquire,
		func(s *row) bool { return s.writes() && s.before == 0 && unchanged(s) && s.readers(false) }, readWrite),
	branch("upgrade-refused", "An owner that reads asked for the write lock, and did not get it.", history.StepAcquire,
		func(s *row) bool { return s.writes() && s.before == 0 && unchanged(s) && s.readers(true) }, readWrite),
	branch("writer-reads", "An owner that writes got the read lock, too.", history.StepAcquire,
		func(s *row) bool { return !s.writes() && s.after > s.before && s.writer(true) }, readWrite),
	branch("writer-downgrades", "An owner gave its write lock back, and reads on.", history.StepRelease,
		func(s *row) bool { return s.writes() && s.before > 0 && s.after == 0 && s.readers(true) }, readWrite),
	branch("reader-leaves-others", "A reader gave the lock back, and others read on.", history.StepRelease,
		func(s *row) bool {
			return !s.writes() && s.before > 0 && s.after == 0 && !s.After.Absent() && s.readers(false)
		}, readWrite),
	branch("reader-removes-others", "A reader gave the lock back, and holds of others went with its own: their leases were over.", history.StepRelease,
		func(s *row) bool { return !s.writes() && s.before > 0 && s.After.Absent() && s.readers(false) }, readWrite).unless(contract.LeasePerHold),
	branch("count-set", "The count of a latch was set.", history.StepSet, func(s *row) bool { return s.Before.Absent() && !s.After.Absent() }, latch),
	branch("count-set-already", "The count of a latch was set already.", history.StepSet, func(s *row) bool { return !s.Before.Absent() && unchanged(s) }, latch),
	branch("counted-down", "A latch was counted down, and its count is not 0.", history.StepRelease,
		func(s *row) bool { return !s.After.Absent() && s.After.Number() < s.Before.Number() }, latch),
	branch("counted-to-zero", "A latch was counted down to 0.", history.StepRelease, func(s *row) bool { return s.Before.Number() > 0 && s.After.Number() == 0 }, latch),
	branch("counted-at-zero", "A latch was counted down whose count was 0.", history.StepRelease, func(s *row) bool { return s.Before.Number() == 0 }, latch),
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
