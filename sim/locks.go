package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// lock returns the lock of that name, which may be a group of others.
func (t *thread) lock(name string) subjects.Lock {
	g, ok := t.run.plan.Group(name)
	if !ok {
		return t.process.on[t.run.plan.ServerNames()[0]].Lock(name)
	}
	if t.groups[name] == nil {
		l, err := t.group(g)
		if err != nil {
			t.run.world.Fail(err)
			l = unusable{err}
		}
		t.groups[name] = l
	}
	return t.groups[name]
}

// half returns the lock that a hold is of: one of the two of a read-write lock, or the lock itself.
func (t *thread) half(h half) subjects.Lock {
	if t.run.objects[h.lock] != history.ARWLock {
		return t.lock(h.lock)
	}
	client, ok := t.first().(subjects.ReadWriteLocks)
	if !ok {
		err := fmt.Errorf("%s has no read-write locks", t.run.subject.Name)
		t.run.world.Fail(err)
		return unusable{err}
	}
	if history.Writes(h.owner) {
		return client.WriteLock(h.lock)
	}
	return client.ReadLock(h.lock)
}

func (t *thread) group(g plan.Group) (subjects.Lock, error) {
	var members []subjects.Lock
	first := t.run.plan.ServerNames()[0]
	for _, m := range g.Members {
		server := m.Server
		if server == "" {
			server = first
		}
		members = append(members, t.process.on[server].Lock(m.Lock))
	}
	multi, ok := t.process.on[first].Client.(subjects.MultiLocker)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s cannot make a lock of several", t.run.subject.Name)
	case g.Kind == plan.Red:
		return multi.Quorum(members)
	}
	return multi.All(members)
}

// groupsOf describes the groups of a plan to those who read the history.
func groupsOf(p *plan.Plan) []history.Group {
	var all []history.Group
	for _, g := range p.Groups {
		seen := history.Group{Name: g.Name, Kind: string(g.Kind)}
		for _, m := range g.Members {
			seen.Members = append(seen.Members, m.Lock)
			seen.Servers = append(seen.Servers, cmp.Or(m.Server, p.ServerNames()[0]))
		}
		all = append(all, seen)
	}
	return all
}

// unusable is a lock that could not be made; the run is over.
type unusable struct{ err error }

func (u unusable) Acquire(context.Context, string, subjects.Request) subjects.Answer {
	return subjects.Answer{Outcome: history.Failed, Err: u.err}
}

func (u unusable) Release(context.Context, string) subjects.Answer {
	return subjects.Answer{Outcome: history.Failed, Err: u.err}
}

var errNotReplicated = errors.New("too few replicas have received it; it was given back")

// replicated waits until enough replicas have received what was acquired, or gives it back.
func (t *thread) replicated(s plan.Step, lock subjects.Lock, a subjects.Answer) subjects.Answer {
	rdb := t.process.on[t.run.plan.ServerNames()[0]].redis
	n, err := rdb.Wait(t.run.ctx, s.Replicas, time.Second).Result()
	if err == nil && n >= int64(s.Replicas) {
		return a
	}
	lock.Release(t.run.ctx, t.owner)
	return subjects.Answer{Outcome: history.Unknown, Err: errors.Join(errNotReplicated, err)}
}
