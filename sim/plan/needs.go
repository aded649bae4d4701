package plan

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// Abilities that a plan can need of a lock, beyond to be taken and given back. Those that a lock
// claims have the same names in package history.
const (
	NeedsReentrant = "reentrant" // a thread takes a lock that it holds
	NeedsForce     = "force"     // somebody forces a lock free
	NeedsResize    = "resizes"   // permits are added or drained
	NeedsDelete    = "deletes"   // a latch is deleted
	NeedsInspect   = "inspect"   // a lock is asked about its state
	NeedsWatchdog  = "watchdog"  // a fault strikes the watchdog itself
	NeedsMessages  = "messages"  // a fault strikes a waiter's subscription, or a message that tells of a release
	NeedsMulti     = "multi"     // a group of kind [Multi]
	NeedsRed       = "red"       // a group of kind [Red]
	NeedsLock      = "lock"      // steps on locks
	NeedsSemaphore = "semaphore" // steps on semaphores
	NeedsLatch     = "latch"     // steps on latches
	NeedsRWLock    = string(history.ARWLock)
	NeedsPermits   = string(history.APermitSemaphore)
)

// Needs lists what a lock must be able to do for the plan to be run, in a fixed order. Whether a
// thread holds what it takes again is told from its steps, as if every acquire succeeded.
func (p *Plan) Needs() []string {
	found := map[string]bool{}
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for i, s := range th.Steps {
				found[NeedsInspect] = found[NeedsInspect] || s.Do.inspects()
				found[NeedsForce] = found[NeedsForce] || history.Kind(s.Do).Forces()
				found[NeedsResize] = found[NeedsResize] || s.Do != DeleteLatch && history.Kind(s.Do).Alters()
				found[NeedsDelete] = found[NeedsDelete] || s.Do == DeleteLatch
				found[NeedsReentrant] = found[NeedsReentrant] || th.reenters(i)
				found[string(s.Do.object())] = true
			}
		}
	}
	for _, f := range p.Faults {
		found[NeedsForce] = found[NeedsForce] || f.Kind == "force-unlock"
		found[NeedsWatchdog] = found[NeedsWatchdog] || f.Kind == "pause-watchdog"
		found[NeedsMessages] = found[NeedsMessages] || f.When.listens()
	}
	for _, g := range p.Groups {
		found[string(g.Kind)] = true
	}
	all := []string{NeedsLock, NeedsSemaphore, NeedsLatch, NeedsRWLock, NeedsPermits, NeedsReentrant, NeedsForce, NeedsResize, NeedsDelete, NeedsInspect, NeedsWatchdog, NeedsMessages, NeedsMulti, NeedsRed}
	return slices.DeleteFunc(all, func(need string) bool { return !found[need] })
}

// listens reports whether a trigger waits for what only comes to who listens for releases.
func (t *Trigger) listens() bool {
	of := func(m MessageKind) bool { return m == Subscribe || m == Publish }
	return t != nil && (of(t.Request) || of(t.Reply) || slices.ContainsFunc(t.Between, of))
}

// inspects reports whether an action only asks.
func (a Action) inspects() bool {
	return a == IsLocked || a == IsHeldBy || a == HoldCount || a == RemainingTTL
}

func (a Action) acquires() bool { return history.Kind(a).Acquires() }
func (a Action) unlocks() bool  { return history.Kind(a).Unlocks() }

// A hold is what a thread has of a lock: of a read-write lock, it may have one of each kind.
type hold struct {
	lock   string
	writes bool
}

func (s Step) hold() hold { return hold{s.Lock, history.Kind(s.Do).OnWriteLock()} }

// reenters reports whether step i takes a lock that the thread has taken and not given back. Of a call that may be given up nobody knows whether it has.
func (th Thread) reenters(i int) bool {
	s := th.Steps[i]
	if !s.Do.acquires() {
		return false
	}
	held := 0
	for _, before := range th.Steps[:i] {
		switch {
		case before.hold() != s.hold():
		case before.Do.acquires() && before.Cancel == 0:
			held++
		case before.Do.unlocks():
			held = max(held-1, 0)
		}
	}
	return held > 0
}

// Without returns the plan without the steps that need [NeedsInspect], or [NeedsReentrant]: there a
// re-entry goes together with the unlock that gives it back.
func (p *Plan) Without(need string) *Plan {
	q := p.Clone()
	if need == NeedsMessages {
		q.Faults = slices.DeleteFunc(q.Faults, func(f Fault) bool { return f.When.listens() })
		return q
	}
	for i := range q.Clients {
		for j := range q.Clients[i].Threads {
			th := &q.Clients[i].Threads[j]
			th.Steps = th.without(need)
		}
	}
	return q
}

func (th Thread) without(need string) []Step {
	var left []Step
	taken := map[hold][]bool{} // for each hold: it is a re-entry
	for i, s := range th.Steps {
		switch {
		case need == NeedsInspect && s.Do.inspects():
			continue
		case need != NeedsReentrant:
		case s.Do.acquires():
			again := th.reenters(i)
			if taken[s.hold()] = append(taken[s.hold()], again); again {
				continue
			}
		case s.Do.unlocks() && len(taken[s.hold()]) > 0:
			last := len(taken[s.hold()]) - 1
			again := taken[s.hold()][last]
			if taken[s.hold()] = taken[s.hold()][:last]; again {
				continue
			}
		}
		left = append(left, s)
	}
	return left
}
