package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Semaphores is a [Client] that has counting semaphores, and no locks. It is called once for each name, and what it returns is used by
// all threads of its process at once.
//
// The server's view of a semaphore is its key, which says how many permits are free, as Redisson's RSemaphore has it. [Key] tells which
// key that is. A semaphore that is kept otherwise is judged by its answers alone.
type Semaphores func(name string) Semaphore

// Lock returns nil: there are none.
func (f Semaphores) Lock(string, string) Lock { return nil }

// Semaphore calls f.
func (f Semaphores) Semaphore(name string) Semaphore { return f(name) }

// Semaphore is the least that a counting semaphore can do. It may be [Idempotent], [Undoer], [Polling] and, with [Drainer], [Resizer].
type Semaphore interface {
	// SetPermits makes the semaphore, of so many permits, and reports whether it did: it does not if there is one.
	SetPermits(ctx context.Context, permits int64) (made bool, err error)
	// Acquire takes so many permits at once and returns nil, or says [ErrBusy] or [ErrFailed]. Any other error says that
	// it is not known whether they were taken. The request asks for no lease.
	Acquire(ctx context.Context, permits int64, r Request) error
	// Release gives so many back and returns nil, or says [ErrNotHeld] or [ErrFailed]. Where nobody has set the permits it either
	// says [ErrNotHeld] or makes a semaphore of so many, as Redisson's does: always the same.
	Release(ctx context.Context, permits int64) error
}

// Latches is a [Client] that has count-down latches, and no locks. It is called once for each name, and what it returns is used by all
// threads of its process at once. The server's view of a latch is its key, which says the count as a number, and is gone at 0.
type Latches func(name string) Latch

// Lock returns nil: there are none.
func (f Latches) Lock(string, string) Lock { return nil }

// Latch calls f.
func (f Latches) Latch(name string) Latch { return f(name) }

// Latch is the least that a count-down latch can do. It may be [Idempotent], [Undoer], [Polling] and [Deleter].
type Latch interface {
	// SetCount sets the count, of 1 or more, and reports whether it did: it does not while the count is above 0.
	SetCount(ctx context.Context, count int64) (set bool, err error)
	// CountDown makes the count one less, if it is above 0. It may say [ErrFailed]; any other error says that it is not known.
	CountDown(ctx context.Context) error
	// Await returns nil once the count is 0, or says [ErrBusy]: its time is over.
	Await(ctx context.Context, r Request) error
}

// ReadWriteLocks is a [Client] that has read-write locks, each of which is two locks in the hands of one owner: many owners may have
// the first at once, and one the second while nobody else has either. The two are of one kind: either both are [Reentrant], say, or none.
// The second may say [ErrReads], at once, rather than have its owner wait for itself.
// The server's view of one is its key, as Redisson's RReadWriteLock has it; one that is kept otherwise is judged by its answers alone.
type ReadWriteLocks func(name, owner string) (read, write Lock)

// Lock returns nil: there are none but these.
func (f ReadWriteLocks) Lock(string, string) Lock { return nil }

// ReadWriteLock calls f.
func (f ReadWriteLocks) ReadWriteLock(name, owner string) (read, write Lock) { return f(name, owner) }

// Sharer is a read-write lock that promises more than the least; both of the two locks are asked.
type Sharer interface{ Sharing() Sharing }

// Sharing is what a read-write lock may promise.
type Sharing struct {
	// LeasePerHold says that each hold lasts as long as its own lease, whatever becomes of other holds.
	LeasePerHold bool
	// TellsDowngrade says that a write unlock wakes those who wait, also if its owner reads on.
	TellsDowngrade bool
	// RefusesUpgrade says that who reads and asks for the second lock is told [ErrReads] at once.
	RefusesUpgrade bool
	// WritersFirst says that no reader comes in while a writer waits, unless it has the lock already.
	WritersFirst bool
	// MarkKept is for how long, at most, readers are kept out by a writer that waited and is gone without having said so: its process died, say. A writer
	// that gives up takes its mark away, or readers may come in at once. 0 is Env.WatchdogTimeout. It is asked for with WritersFirst alone.
	MarkKept time.Duration
}

// Polling is a semaphore, of either kind, or a latch whose waiters look again by themselves, at least once in each Env.WatchdogTimeout, so that no message
// that is lost keeps them waiting for longer.
type Polling interface{ LooksAgain() }

// Resizer is a semaphore, of either kind, of which permits can be added and taken away. A [Semaphore] must be [Drainer], too.
type Resizer interface {
	// AddPermits makes it so many permits more, or, below 0, fewer, whoever has some, and returns nil, or says [ErrFailed]. Where nobody has set permits
	// it makes a semaphore of so many. What is taken away beyond what there is, is owed: what is added next makes up for that first. A
	// [PermitSemaphore] that claims OneKey owes nothing: it has 0 permits then.
	AddPermits(ctx context.Context, permits int64) error
}

// Drainer is a [Semaphore] of which all can be taken that is free.
type Drainer interface {
	// Drain takes all permits that are free, and says how many, or [ErrFailed].
	Drain(ctx context.Context) (permits int64, err error)
}

// Deleter is a [Latch] that can be deleted. Whoever waits for it returns.
type Deleter interface {
	// Delete has the count be 0, and reports whether it was more; it may say [ErrFailed].
	Delete(ctx context.Context) (deleted bool, err error)
}

// What a client may have: see [Semaphores], [Latches] and [ReadWriteLocks]. One that has to be closed embeds them.
type (
	semaphores interface{ Semaphore(name string) Semaphore }
	latches    interface{ Latch(name string) Latch }
	rwLocks    interface {
		ReadWriteLock(name, owner string) (read, write Lock)
	}
)

// objectOf is what a client has.
func objectOf(c Client) history.Object {
	switch c.(type) {
	case semaphores:
		return history.ASemaphore
	case permitSemaphores:
		return history.APermitSemaphore
	case latches:
		return history.ALatch
	case rwLocks:
		return history.ARWLock
	}
	return history.ALock
}

// Semaphore implements [subjects.Semaphores].
func (c *client) Semaphore(key string) subjects.Semaphore {
	return semaphore{made(c, key, c.c.(semaphores).Semaphore)}
}

// Latch implements [subjects.Latches].
func (c *client) Latch(key string) subjects.Latch { return latch{made(c, key, c.c.(latches).Latch)} }

// made is the client's object of a key, which it makes once.
func made[T any](c *client, key string, by func(name string) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.objects[key].(T)
	if !ok {
		x = by(c.name(key))
		c.objects[key] = x
	}
	return x
}

// ReadLock implements [subjects.ReadWriteLocks].
func (c *client) ReadLock(key string) subjects.Lock { return c.half(key, "read") }

// WriteLock implements [subjects.ReadWriteLocks].
func (c *client) WriteLock(key string) subjects.Lock { return c.half(key, "write") }

func (c *client) half(key, of string) subjects.Lock {
	return &lock{key: key, of: func(owner string) (Lock, error) {
		both := made(c, key+"\x00"+owner, func(string) [2]Lock {
			read, write := c.c.(rwLocks).ReadWriteLock(c.name(key), owner)
			return [2]Lock{read, write}
		})
		if of == "read" {
			return both[0], nil
		}
		return both[1], nil
	}}
}

type semaphore struct{ s Semaphore }

func (s semaphore) Set(ctx context.Context, permits int64) subjects.Answer {
	return didOrNot(s.s.SetPermits(ctx, permits))
}

func (s semaphore) Take(ctx context.Context, permits int64, r Request) subjects.Answer {
	return answered(s.s.Acquire(ctx, permits, r), history.Acquired)
}

func (s semaphore) Give(ctx context.Context, permits int64) subjects.Answer {
	return answered(s.s.Release(ctx, permits), history.OK)
}

// Add implements [subjects.Resizer], of a semaphore that is one.
func (s semaphore) Add(ctx context.Context, permits int64) subjects.Answer {
	return answered(s.s.(Resizer).AddPermits(ctx, permits), history.OK)
}

// Drain implements [subjects.Drainer], of a semaphore that is one.
func (s semaphore) Drain(ctx context.Context) subjects.Answer {
	n, err := s.s.(Drainer).Drain(ctx)
	a := answered(err, history.OK)
	if a.Outcome == history.OK {
		a.Value = n
	}
	return a
}

type latch struct{ l Latch }

// Delete implements [subjects.Deleter], of a latch that is one.
func (l latch) Delete(ctx context.Context) subjects.Answer {
	deleted, err := l.l.(Deleter).Delete(ctx)
	if err == nil && !deleted {
		return subjects.Answer{Outcome: history.NotHeld}
	}
	return answered(err, history.Released)
}

func (l latch) Set(ctx context.Context, count int64) subjects.Answer {
	return didOrNot(l.l.SetCount(ctx, count))
}

func (l latch) Down(ctx context.Context) subjects.Answer {
	return answered(l.l.CountDown(ctx), history.OK)
}

func (l latch) Await(ctx context.Context, r Request) subjects.Answer {
	return answered(l.l.Await(ctx, r), history.OK)
}

func didOrNot(did bool, err error) subjects.Answer {
	if err == nil && !did {
		return subjects.Answer{Outcome: history.Rejected}
	}
	return answered(err, history.OK)
}

// answered is what an error says; nil: it was done.
func answered(err error, done history.Outcome) subjects.Answer {
	switch {
	case err == nil:
		return subjects.Answer{Outcome: done}
	case errors.Is(err, ErrBusy):
		return subjects.Answer{Outcome: history.Busy, Err: err}
	}
	return failure(err)
}

// anotherObject says that a client has no locks.
type anotherObject struct{ is history.Object }

func (e *anotherObject) Error() string {
	return fmt.Sprintf("the client has objects of the kind %q", e.is)
}

// claims adds to a subject what a client and an object of its are found to be able to do, and returns the object that was asked.
func claims(s *subjects.Subject, asked Client, owner string) (one any) {
	const name = "probe"
	switch c := asked.(type) {
	case semaphores:
		one, s.Abilities = c.Semaphore(name), []string{string(contract.Permits)}
	case permitSemaphores:
		of := c.PermitSemaphore(name)
		leasing(s, of)
		one = of
	case latches:
		one, s.Abilities = c.Latch(name), []string{string(contract.CountsDown)}
	case rwLocks:
		_, write := c.ReadWriteLock(name, owner)
		claim(s, asked, write)
		s.Abilities = append(slices.DeleteFunc(s.Abilities, func(a string) bool { return a == "mutex" }), string(contract.ReadWrite))
		if sharer, ok := write.(Sharer); ok {
			promised := sharer.Sharing()
			for _, p := range []struct {
				claim contract.Claim
				made  bool
			}{{contract.LeasePerHold, promised.LeasePerHold}, {contract.TellsDowngrade, promised.TellsDowngrade}, {contract.RefusesUpgrade, promised.RefusesUpgrade},
				{contract.WritersFirst, promised.WritersFirst}} {
				if p.made {
					s.Abilities = append(s.Abilities, string(p.claim))
				}
			}
			if promised.WritersFirst && promised.MarkKept > 0 {
				s.PlaceKept = promised.MarkKept
			}
		}
		return write
	default:
		lock := asked.Lock(name, owner)
		claim(s, asked, lock)
		return lock
	}
	s.AnswerTimeout = answerTimeout(one)
	if i, ok := one.(Idempotent); ok {
		s.Abilities = append(s.Abilities, string(contract.Idempotent))
		s.Idempotent = []history.Idempotence{{Calls: subjects.Changing(s.Object), For: i.Idempotent()}}
	}
	if _, ok := one.(Undoer); ok {
		s.Abilities = append(s.Abilities, string(contract.TakesBack))
	}
	_, adds := one.(Resizer)
	_, drains := one.(Drainer)
	if adds && (drains || s.Object == history.APermitSemaphore) {
		s.Abilities = append(s.Abilities, string(contract.Resizes))
	}
	if _, ok := one.(Deleter); ok {
		s.Abilities = append(s.Abilities, string(contract.Deletes), string(contract.TellsDeletion))
	}
	if _, ok := one.(Polling); ok {
		s.Abilities = append(s.Abilities, string(contract.LooksAgain))
		if s.Object != history.APermitSemaphore { // who waits for one permit of them needs no more than one
			s.Abilities = append(s.Abilities, string(contract.WakesByNeed))
		}
	}
	return one
}

// familyProbe are the steps of a client alone, with the outcomes that they may have.
func familyProbe(is history.Object, name string) (steps []plan.Step, outcomes [][]history.Outcome) {
	add := func(s plan.Step, outcome ...history.Outcome) {
		s.Lock = name
		steps, outcomes = append(steps, s), append(outcomes, outcome)
	}
	switch is {
	case history.ASemaphore:
		add(plan.Step{Do: plan.TrySetPermits, Permits: 3}, history.OK)
		add(plan.Step{Do: plan.AcquirePermits, Permits: 2}, history.Acquired)
		add(plan.Step{Do: plan.TryAcquirePermits, Permits: 2}, history.Busy)
		add(plan.Step{Do: plan.ReleasePermits, Permits: 2}, history.OK)
		name += "-unset"
		add(plan.Step{Do: plan.ReleasePermits, Permits: 1, Regardless: true}, history.NotHeld, history.OK)
	case history.APermitSemaphore:
		permitProbe(add)
	case history.ALatch:
		add(plan.Step{Do: plan.TrySetCount, Count: 2}, history.OK)
		add(plan.Step{Do: plan.TryAwait}, history.Busy)
		add(plan.Step{Do: plan.CountDown}, history.OK)
		add(plan.Step{Do: plan.CountDown}, history.OK)
		add(plan.Step{Do: plan.Await}, history.OK)
	default:
		add(plan.Step{Do: plan.ReadLock}, history.Acquired)
		add(plan.Step{Do: plan.ReadUnlock}, history.Released, history.OK)
		add(plan.Step{Do: plan.WriteLock}, history.Acquired)
		add(plan.Step{Do: plan.WriteUnlock}, history.Released, history.OK)
	}
	return steps, outcomes
}

// before lists the calls that came before one, with their answers.
func before(calls []history.Op) string {
	var all []string
	for _, op := range calls {
		text := fmt.Sprintf("%s %s", op.Kind, op.Outcome)
		if op.Token > 0 && op.Kind.Object() == history.APermitSemaphore {
			text += fmt.Sprintf(" (permit %d)", op.Token)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return ""
	}
	return ", after " + strings.Join(all, ", ")
}

// probeFamily finds out whether an object that is no lock works for a client alone, and whether its key says what it is taken to say.
func (s *suite) probeFamily(b *bubble.Bubbles) error {
	is := s.subject.Object
	steps, outcomes := familyProbe(is, "locktest")
	p := s.keyed(&plan.Plan{Version: plan.Version, Name: "probe", Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: steps}}}}})
	asked, dials := dialing(s.subject)
	h, err := sim.Run(b, p, asked, sim.Options{Seed: s.seed})
	if err != nil {
		return fmt.Errorf("a client alone with a %s: %w", is, err)
	}
	s.dials = dials.Load()
	s.subject.Resends = s.dials
	calls := slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool { return op.Client == history.Fresh || op.Aside || op.Kind.Renews() })
	declined, had := 0, false // a call that cannot be served as it asks
	for i, op := range calls {
		had = had || op.Outcome == history.Acquired
		switch right := outcomes[i]; {
		case op.Kind.Asks() && op.Outcome == history.Failed && op.Evidence == history.NotSent && (had || i+1 < len(calls) && calls[i+1].Kind.Asks()):
			declined++
		case declined > 0 && right[0] == history.Busy && op.Outcome == history.Acquired: // in place of the one before
		case !slices.Contains(right, op.Outcome):
			return fmt.Errorf("a client alone does %s, and it ends %s; %s would be right%s", op.Kind, ended(op), outcomes[i][0], before(calls[:i]))
		}
		if op.Kind == history.ReleasePermits && op.Outcome == history.NotHeld {
			s.subject.Abilities = append(s.subject.Abilities, string(contract.MadeBySet))
		}
	}
	layout, err := sim.Probe(b, s.subject, sim.Options{Seed: s.seed})
	if unread := (*sim.UnreadError)(nil); errors.As(err, &unread) {
		layout.Unknown, err = unread.Why, nil
	}
	if s.key != nil { // it is where the option says
		layout = history.Layout{NoContext: layout.NoContext, Direct: layout.Direct}
	}
	s.subject.Layout = layout
	return err
}
