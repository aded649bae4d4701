package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// subjectOf puts a lock into the harness's terms, without what it claims, which [suite.probe] finds.
func subjectOf(newLock NewLock, o *options) subjects.Subject {
	return subjects.Subject{
		Name: o.name, Abilities: []string{"mutex"}, Lease: o.lease, ConnectsOnce: true,
		Open: func(e subjects.Env) (subjects.Client, error) {
			c, err := newLock(e)
			if err == nil && c == nil {
				err = errors.New("newLock returned no client")
			}
			if err != nil {
				return nil, err
			}
			return &client{c: c, id: e.ID, names: o.names, by: map[string]Lock{}, objects: map[string]any{}}, nil
		},
	}
}

// client is a process's client. The harness hands an owner to every call; here each owner has a lock
// of its own.
type client struct {
	c     Client
	id    string
	names map[string]string // of locks, by their keys

	mu      sync.Mutex
	by      map[string]Lock // by name and owner
	objects map[string]any  // what else it has, by key
}

// name is the name of the lock, or of another object, that has a key.
func (c *client) name(key string) string {
	if name, ok := c.names[key]; ok {
		return name
	}
	return key
}

func (c *client) Owner(thread int64) string { return fmt.Sprintf("%s:%d", c.id, thread) }

func (c *client) Lock(key string) subjects.Lock {
	return &lock{key: key, of: func(owner string) (Lock, error) { return c.lock(key, owner), nil }}
}

func (c *client) lock(key, owner string) Lock {
	name := c.name(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.by[name+"\x00"+owner]
	if l == nil {
		l = c.c.Lock(name, owner)
		c.by[name+"\x00"+owner] = l
	}
	return l
}

func (c *client) Close() error {
	if closer, ok := c.c.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// All implements [subjects.MultiLocker].
func (c *client) All(members []subjects.Lock) (subjects.Lock, error) {
	m, ok := c.c.(MultiLocker)
	if !ok {
		return nil, errors.New("locktest: the client is no MultiLocker")
	}
	return group(members, false, m.All), nil
}

// Quorum implements [subjects.MultiLocker].
func (c *client) Quorum(members []subjects.Lock) (subjects.Lock, error) {
	m, ok := c.c.(QuorumLocker)
	if !ok {
		return nil, errors.New("locktest: the client is no QuorumLocker")
	}
	return group(members, true, m.Quorum), nil
}

// group is a lock of several, made for each owner that uses it.
func group(members []subjects.Lock, quorum bool, join func([]Lock) (Lock, error)) subjects.Lock {
	made := map[string]Lock{} // its owner is one thread
	return &lock{group: true, of: func(owner string) (Lock, error) {
		if made[owner] != nil {
			return made[owner], nil
		}
		var all []Lock
		for _, m := range members {
			one, err := m.(*lock).of(owner)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		l, err := join(all)
		if err == nil {
			made[owner] = l
		}
		return l, err
	}}
}

// lock is a lock in whatever hands.
type lock struct {
	key   string
	group bool
	of    func(owner string) (Lock, error)
}

func (l *lock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	held, err := l.of(owner)
	if err != nil {
		return subjects.Answer{Outcome: history.Failed, Err: err}
	}
	err = held.Acquire(ctx, r)
	switch {
	case err == nil:
		a := subjects.Answer{Outcome: history.Acquired}
		if f, ok := held.(Fencer); ok {
			a.Token = f.Token()
		}
		return a
	case errors.Is(err, ErrBusy) && !l.group: // of a group too few members could be had: that says less
		return subjects.Answer{Outcome: history.Busy, Err: err}
	case errors.Is(err, ErrReads):
		return subjects.Answer{Outcome: history.Rejected, Err: err}
	}
	return failure(err)
}

func (l *lock) Release(ctx context.Context, owner string) subjects.Answer {
	held, err := l.of(owner)
	if err != nil {
		return subjects.Answer{Outcome: history.Failed, Err: err}
	}
	last := true
	if r, ok := held.(Reentrant); ok {
		last, err = r.ReleaseOne(ctx)
	} else {
		err = held.Release(ctx)
	}
	_, silent := held.(Silent)
	switch {
	case err == nil && silent:
		return subjects.Answer{Outcome: history.OK}
	case err == nil && !last:
		return subjects.Answer{Outcome: history.Decremented}
	case err == nil:
		return subjects.Answer{Outcome: history.Released}
	}
	return failure(err)
}

func failure(err error) subjects.Answer {
	a := subjects.Answer{Outcome: history.Unknown, Err: err}
	switch {
	case errors.Is(err, ErrNotHeld):
		a.Outcome = history.NotHeld
	case errors.Is(err, ErrFailed):
		a.Outcome = history.Failed
	}
	return a
}

func (l *lock) ForceRelease(ctx context.Context) subjects.Answer {
	held, err := l.of("operator")
	if err == nil {
		err = held.(ForceReleaser).ForceRelease(ctx)
	}
	if err != nil {
		return failure(err)
	}
	return subjects.Answer{Outcome: history.Released}
}

func (l *lock) Inspect(ctx context.Context, question history.Kind, owner string) subjects.Answer {
	held, err := l.of(owner)
	if err != nil {
		return failure(err)
	}
	i := held.(Inspector)
	var value int64
	var yes bool
	switch question {
	case history.IsLocked:
		yes, err = i.IsLocked(ctx)
	case history.IsHeldBy:
		yes, err = i.IsHeld(ctx)
	case history.HoldCount:
		value, err = i.HoldCount(ctx)
	case history.RemainingTTL:
		var ttl time.Duration
		ttl, err = i.RemainingTTL(ctx)
		value = int64(ttl)
	}
	if yes {
		value = 1
	}
	if err != nil {
		return failure(err)
	}
	return subjects.Answer{Outcome: history.OK, Value: value}
}

func (l *lock) Lost(owner string) <-chan struct{} {
	if held, err := l.of(owner); err == nil {
		if loser, ok := held.(Loser); ok {
			return loser.Lost()
		}
	}
	return nil
}

// answerTimeout is how long the Redis client of an object waits for an answer, if the object says so; 0: it does not.
func answerTimeout(of any) time.Duration {
	if p, ok := of.(Patient); ok {
		return p.AnswerTimeout()
	}
	return 0
}

// claim adds to a subject what a lock and its client are found to be able to do.
func claim(s *subjects.Subject, c Client, l Lock) {
	can := func(ability string, yes bool) {
		if yes {
			s.Abilities = append(s.Abilities, ability)
		}
	}
	s.Abilities = nil
	_, reentrant := l.(Reentrant)
	can("reentrant", reentrant)
	w, watchdog := l.(Watchdog)
	can("watchdog", watchdog)
	if watchdog {
		s.RenewEvery = w.RenewEvery()
	}
	if r, retries := l.(Retrier); retries && watchdog && r.RetryEvery() > 0 {
		s.RetriesAfter = int(s.RenewEvery / r.RetryEvery())
	}
	_, fencing := l.(Fencer)
	can("fencing", fencing)
	_, lost := l.(Loser)
	can("lost", lost)
	i, idempotent := l.(Idempotent)
	can("idempotent", idempotent)
	can(string(contract.RefusesAgain), idempotent)
	_, undoes := l.(Undoer)
	can(string(contract.TakesBack), undoes)
	s.Idempotent = nil
	if idempotent {
		s.Idempotent = []history.Idempotence{{Calls: subjects.Changing(s.Object), For: i.Idempotent()}}
	}
	_, force := l.(ForceReleaser)
	can("force", force)
	can(string(contract.RenewsOn), force && watchdog)
	_, tells := l.(ForceTeller)
	can(string(contract.HearsForce), force && tells)
	_, inspect := l.(Inspector)
	can("inspect", inspect)
	_, keeps := l.(LeaseKeeper)
	can("keeps-longest", keeps)
	_, sets := l.(LeaseSetter)
	can(string(contract.SetsLease), sets)
	s.AnswerTimeout = answerTimeout(l)
	_, local := l.(Local)
	can(string(contract.LocalHolds), local)
	_, tidy := l.(Tidy)
	can(string(contract.LeavesNothing), tidy)
	q, fair := l.(Fair)
	can(string(contract.Fair), fair)
	can(string(contract.KeepsPlace), fair)
	can(string(contract.LeavesLine), fair)
	if s.Layout.Queue, s.Layout.QueuePrefix, s.PlaceKept = "", "", 0; fair {
		where := q.Queue()
		s.Layout.Queue, s.Layout.QueuePrefix, s.PlaceKept = where.Key, where.Prefix, where.Kept
	}
	can("mutex", len(s.Abilities) == 0)
	if _, ok := c.(MultiLocker); ok {
		s.Groups = append(s.Groups, string(plan.Multi))
	}
	if _, ok := c.(QuorumLocker); ok {
		s.Groups = append(s.Groups, string(plan.Red))
	}
}
