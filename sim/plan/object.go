package plan

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
)

// actions lists all, in the order of the documentation.
func actions() []Action {
	return []Action{Lock, TryLock, Unlock, ForceUnlock, Work, Sleep, IsLocked, IsHeldBy, HoldCount, RemainingTTL,
		TrySetPermits, AcquirePermits, TryAcquirePermits, ReleasePermits, TrySetCount, CountDown, Await, TryAwait}
}

// object is the kind of object that an action is on; "": none.
func (a Action) object() history.Object {
	if a == Sleep {
		return ""
	}
	return history.Kind(a).Object()
}

// Objects tells of each name of the plan's steps which kind of object it stands for: what the first step is on.
func (p *Plan) Objects() map[string]history.Object {
	all := map[string]history.Object{}
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if _, known := all[s.Lock]; !known && s.Lock != "" {
					all[s.Lock] = s.Do.object()
				}
			}
		}
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
				case s.Lock == "":
				case s.Do.object() != is:
					return fmt.Errorf("%s.lock: %s is on a %s, and %q is a %s by a step before it", at, s.Do, s.Do.object(), s.Lock, is)
				case group && is != history.ALock:
					return fmt.Errorf("%s.lock: %q is a group, which is made of locks", at, s.Lock)
				}
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

// checkOnCounted refuses faults that say something of a counted object for which there is no rule: nobody holds its
// key, and a key that is no number answers with errors for ever.
func (p *Plan) checkOnCounted(f Fault, at string) error {
	if is := p.Objects()[f.Lock]; f.Lock != "" && is.Counted() && (f.Kind == "overwrite-key" || f.Kind == "force-unlock") {
		return fmt.Errorf("%s.lock: %s strikes locks, and %q is a %s", at, f.Kind, f.Lock, is)
	}
	return nil
}
