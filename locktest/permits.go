package locktest

import (
	"context"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// PermitSemaphores is a [Client] that has semaphores whose permits have ids and leases, and no locks. It is called once for each name, and
// what it returns is used by all threads of its process at once.
//
// The server's view of one is its keys, as Redisson's RPermitExpirableSemaphore has them. A semaphore that is kept otherwise is judged by its
// answers alone.
type PermitSemaphores func(name string) PermitSemaphore

// Lock returns nil: there are none.
func (f PermitSemaphores) Lock(string, string) Lock { return nil }

// PermitSemaphore calls f.
func (f PermitSemaphores) PermitSemaphore(name string) PermitSemaphore { return f(name) }

// PermitSemaphore is the least that a semaphore can do whose permits have ids and leases. It may be [Idempotent], [Undoer], [Polling] and [Leaser].
// A lease of 0 is none: the permit is out until it is given back. A semaphore that cannot do what is asked does nothing, and says [ErrFailed].
type PermitSemaphore interface {
	// SetPermits makes the semaphore, of so many permits, and reports whether it did: it does not if there is one.
	SetPermits(ctx context.Context, permits int64) (made bool, err error)
	// Acquire takes a permit and returns its id, which is not empty and no other permit's, or says [ErrBusy] or [ErrFailed]. Any other
	// error says that it is not known whether one was taken.
	Acquire(ctx context.Context, r Request) (permit string, err error)
	// Release gives a permit back and returns nil, or says [ErrFailed], or [ErrNotHeld]: it is not out, or its lease is over.
	Release(ctx context.Context, permit string) error
	// UpdateLease has a permit end after a lease from now and returns nil, or says [ErrFailed], or [ErrNotHeld] as Release does.
	UpdateLease(ctx context.Context, permit string, lease time.Duration) error
}

// Leaser is a [PermitSemaphore] that promises more than the least.
type Leaser interface{ Leasing() Leasing }

// Leasing is what a semaphore may promise whose permits have leases.
type Leasing struct {
	// ServerClock says that leases end by the server's clock, whatever the clients' clocks say.
	ServerClock bool
	// OneKey says that its server cannot lose how many permits are free, and know on which are out. Such a semaphore never has fewer than 0 permits.
	OneKey bool
}

// permitSemaphores is a client of them; one that has to be closed embeds [PermitSemaphores].
type permitSemaphores interface {
	PermitSemaphore(name string) PermitSemaphore
}

// PermitSemaphore implements [subjects.PermitSemaphores].
func (c *client) PermitSemaphore(key string) subjects.PermitSemaphore {
	return permitSemaphore{made(c, key, c.c.(permitSemaphores).PermitSemaphore)}
}

type permitSemaphore struct{ s PermitSemaphore }

func (s permitSemaphore) Set(ctx context.Context, permits int64) subjects.Answer {
	return didOrNot(s.s.SetPermits(ctx, permits))
}

func (s permitSemaphore) Take(ctx context.Context, r Request) subjects.Answer {
	permit, err := s.s.Acquire(ctx, r)
	a := answered(err, history.Acquired)
	if a.Outcome == history.Acquired {
		a.Permit = permit
	}
	return a
}

// Add implements [subjects.Resizer], of a semaphore that is one.
func (s permitSemaphore) Add(ctx context.Context, permits int64) subjects.Answer {
	return answered(s.s.(Resizer).AddPermits(ctx, permits), history.OK)
}

func (s permitSemaphore) Give(ctx context.Context, permit string) subjects.Answer {
	return answered(s.s.Release(ctx, permit), history.OK)
}

func (s permitSemaphore) Update(ctx context.Context, permit string, lease time.Duration) subjects.Answer {
	return answered(s.s.UpdateLease(ctx, permit, lease), history.OK)
}

// leasing adds to a subject what its semaphore promises of leases.
func leasing(s *subjects.Subject, one PermitSemaphore) {
	s.Abilities = []string{string(contract.PermitLeases)}
	l, ok := one.(Leaser)
	if !ok {
		return
	}
	promised := l.Leasing()
	if promised.ServerClock {
		s.Abilities = append(s.Abilities, string(contract.ServerClock))
	}
	if promised.OneKey {
		s.Abilities = append(s.Abilities, string(contract.OneKey))
	}
}

// permitProbe are the steps of a client alone with two permits.
func permitProbe(add func(s plan.Step, outcome ...history.Outcome)) {
	lease := plan.Duration(20 * time.Second)
	add(plan.Step{Do: plan.TrySetTotal, Permits: 2}, history.OK)
	add(plan.Step{Do: plan.AcquirePermit, Lease: lease}, history.Acquired)
	add(plan.Step{Do: plan.TryAcquirePermit, Lease: lease}, history.Acquired)
	add(plan.Step{Do: plan.TryAcquirePermit, Lease: lease}, history.Busy)
	add(plan.Step{Do: plan.UpdateLease, Lease: lease}, history.OK, history.Failed)
	add(plan.Step{Do: plan.ReleasePermit}, history.OK)
	add(plan.Step{Do: plan.ReleasePermit}, history.OK)
}
