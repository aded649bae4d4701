package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// actions lists all, in the order of the documentation.
func actions() []Action {
	return []Action{Lock, TryLock, Unlock, ForceUnlock, Work, Sleep, IsLocked, IsHeldBy, HoldCount, RemainingTTL,
		TrySetPermits, AddPermits, AcquirePermits, TryAcquirePermits, ReleasePermits, DrainPermits, TrySetCount, CountDown, DeleteLatch, Await, TryAwait,
		TrySetTotal, AddTotal, AcquirePermit, TryAcquirePermit, ReleasePermit, UpdateLease,
		ReadLock, TryRead, ReadUnlock, ForceRead, WriteLock, TryWrite, WriteUnlock, ForceWrite}
}

// object is the kind of object that an action is on; "": none, or any that protects a resource.
func (a Action) object() history.Object {
	if a == Sleep || a == Work {
		return ""
	}
	return history.Kind(a).Object()
}

// Objects tells of each name of the plan's steps which kind of object it stands for: what the first step is on
// that is on one kind alone; a lock, if none is.
func (p *Plan) Objects() map[string]history.Object {
	all := map[string]history.Object{}
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if s.Lock != "" {
					all[s.Lock] = cmp.Or(all[s.Lock], s.Do.object())
				}
			}
		}
	}
	for name, is := range all {
		all[name] = cmp.Or(is, history.ALock)
	}
	return all
}

// checkObjects refuses a name that stands for two kinds of objects, and groups of what is no lock.
func (p *Plan) checkObjects() error {
	objects := p.Objects()
	for i, c := range p.Clients {
		for j, th := range c.Threads {
			for k, s := range th.Steps {
				is := objects[s.Lock]
				at := fmt.Sprintf("$.clients[%d].threads[%d].steps[%d]", i, j, k)
				switch _, group := p.Group(s.Lock); {
				case s.Lock == "" || s.Do == Work && !is.Counted():
				case s.Do == Work:
					return fmt.Errorf("%s.lock: work is done under a lock, and %q is a %s", at, s.Lock, is)
				case s.Do.object() != is:
					return fmt.Errorf("%s.lock: %s is on a %s, and %q is a %s by a step before it", at, s.Do, s.Do.object(), s.Lock, is)
				case group && is != history.ALock:
					return fmt.Errorf("%s.lock: %q is a group, which is made of locks", at, s.Lock)
				}
			}
		}
	}
	for i, s := range p.Servers {
		for _, name := range p.Locks() {
			if is := objects[name]; s.Replicas > 0 && (is == history.ARWLock || is == history.APermitSemaphore) {
				return fmt.Errorf("$.servers[%d].replicas: %q is a %s, of which it is not judged what a replica makes", i, name, is)
			}
		}
	}
	for i, g := range p.Groups {
		for j, m := range g.Members {
			if is, called := objects[m.Lock]; called && is != history.ALock {
				return fmt.Errorf("$.groups[%d].members[%d].lock: %q is a %s, and a group is made of locks", i, j, m.Lock, is)
			}
		}
	}
	return nil
}

// checkOnObject refuses faults that say something of an object for which there is no rule: nobody holds the key of a counted
// one, and a key that is none of the object's answers with errors for ever.
func (p *Plan) checkOnObject(f Fault, at string) error {
	permits := slices.Contains(slices.Collect(maps.Values(p.Objects())), history.APermitSemaphore)
	if f.Kind == "clock-jump" && f.Client != "" && !permits {
		return fmt.Errorf("%s.client: only clients of permit semaphores tell the server the time, and the plan has none", at)
	}
	if is, used := p.Objects()[f.Lock]; used && is != history.ALock && (f.Kind == "overwrite-key" || f.Kind == "force-unlock") {
		return fmt.Errorf("%s.lock: %s strikes locks, and %q is a %s", at, f.Kind, f.Lock, is)
	}
	return nil
}
