package subjects

import (
	"context"
	"errors"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Semaphores is a client of semaphores.
type Semaphores interface {
	Semaphore(name string) Semaphore
}

// Semaphore is one semaphore as one client sees it.
type Semaphore interface {
	// Set makes it of so many permits: OK, Rejected (there is one), Failed or Unknown.
	Set(ctx context.Context, permits int64) Answer
	// Take takes so many permits at once: Acquired, Busy, Failed or Unknown.
	Take(ctx context.Context, permits int64, r Request) Answer
	// Give gives so many permits: OK, NotHeld (there is none), Failed or Unknown.
	Give(ctx context.Context, permits int64) Answer
}

// Resizer is a [Semaphore], or a [PermitSemaphore], of which permits can be added, or taken away.
type Resizer interface {
	// Add makes it so many permits more, or fewer: OK, Failed or Unknown.
	Add(ctx context.Context, permits int64) Answer
}

// Drainer is a [Semaphore] of which all can be taken that is free.
type Drainer interface {
	// Drain takes all permits that are free: OK, with their number as value, Failed or Unknown.
	Drain(ctx context.Context) Answer
}

// AllSemaphores returns the two forms of the reference semaphore.
func AllSemaphores() []Subject {
	return []Subject{
		semaphore(lockimpl.Classic, "Redisson's RSemaphore 4.7.0: copies count, and a waiter hears by messages alone"),
		semaphore(lockimpl.Hardened, "the semaphore we would ship: a request counts once, and a waiter looks again by itself"),
	}
}

// OfSemaphores are the limitations of Redisson's semaphore.
func OfSemaphores() []history.Limitation {
	return []history.Limitation{
		notIdempotent("Redisson #6517: an acquire that is sent again is a new one", takes),
		notIdempotent("docs/family.md: release, or addPermits, sent again", gives),
		notIdempotent("docs/family.md: TrySetPermits sent again", sets),
		notIdempotent("docs/family.md: Drain sent again", drains),
		without(contract.TakesBack, "docs/family.md: acquire whose caller gave up, outcome unknown"),
		without(contract.LooksAgain, "docs/family.md: message lost with the subscription"),
		without(contract.WakesByNeed, "docs/family.md: release of m permits"),
	}
}

// semaphore is the reference semaphore in one of its two forms.
func semaphore(g lockimpl.Generation, about string) Subject {
	s := Subject{Name: "rsemaphore-" + string(g), About: about, Object: history.ASemaphore, Abilities: []string{string(contract.Permits), string(contract.Resizes), string(contract.AnyLease)}}
	open := opened(g)
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return semaphoreClient{c.(rlockClient)}, nil
	}
	if g == lockimpl.Hardened {
		s.Abilities = append(s.Abilities, string(contract.TakesBack), string(contract.Idempotent), string(contract.LooksAgain), string(contract.NoticesSilence), string(contract.WakesByNeed), string(contract.MadeBySet), string(contract.ReturnsUnanswered), string(contract.LeavesNothing))
		s.Idempotent = []history.Idempotence{{Calls: Changing(s.Object), For: resentFor, ForOnce: latchLife}}
		s.SilenceNoticed = 2 * lockimpl.DefaultPingInterval
		return s
	}
	s.Limitations = OfSemaphores()
	return s
}

var (
	takes  = []history.Kind{history.AcquirePermits, history.TryAcquirePermits}
	gives  = []history.Kind{history.ReleasePermits, history.AddPermits}
	sets   = []history.Kind{history.TrySetPermits}
	drains = []history.Kind{history.DrainPermits}
)

type semaphoreClient struct{ rlockClient }

func (c semaphoreClient) Semaphore(name string) Semaphore {
	return rsemaphore{c.c.Semaphore(name)}
}

type rsemaphore struct{ s *lockimpl.Semaphore }

func (s rsemaphore) Set(ctx context.Context, permits int64) Answer {
	return yesOrNo(history.OK, history.Rejected)(s.s.TrySetPermits(ctx, permits))
}

func (s rsemaphore) Take(ctx context.Context, permits int64, r Request) Answer {
	answer := yesOrNo(history.Acquired, history.Busy)
	switch {
	case r.Forever:
		return answer(true, s.s.Acquire(ctx, permits))
	case r.Wait > 0:
		return answer(s.s.TryAcquire(ctx, permits, lockimpl.Wait(r.Wait)))
	}
	return answer(s.s.TryAcquire(ctx, permits))
}

func (s rsemaphore) Give(ctx context.Context, permits int64) Answer {
	err := s.s.Release(ctx, permits)
	switch {
	case errors.Is(err, lockimpl.ErrNotSet):
		return Answer{Outcome: history.NotHeld, Err: err}
	case err != nil:
		return failure(err)
	}
	return Answer{Outcome: history.OK}
}

func (s rsemaphore) Add(ctx context.Context, permits int64) Answer {
	return done(s.s.AddPermits(ctx, permits))
}

func (s rsemaphore) Drain(ctx context.Context) Answer {
	n, err := s.s.Drain(ctx)
	a := done(err)
	if a.Outcome == history.OK {
		a.Value = n
	}
	return a
}

// done puts the end of a call that is told nothing into history's terms.
func done(err error) Answer {
	if err != nil {
		return failure(err)
	}
	return Answer{Outcome: history.OK}
}
