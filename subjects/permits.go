package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// PermitSemaphores is a client of semaphores whose permits have ids and leases.
type PermitSemaphores interface {
	PermitSemaphore(name string) PermitSemaphore
}

// PermitSemaphore is one semaphore of permits with ids and leases as one client sees it. A lease of 0 is none.
type PermitSemaphore interface {
	// Set makes it of so many permits: OK, Rejected (there is one), Failed or Unknown.
	Set(ctx context.Context, permits int64) Answer
	// Take takes a permit, whose id Answer.Permit is: Acquired, Busy, Failed or Unknown.
	Take(ctx context.Context, r Request) Answer
	// Give gives a permit back: OK, NotHeld (it is not taken, or its lease is over), Failed or Unknown.
	Give(ctx context.Context, permit string) Answer
	// Update has a permit end after a lease from now: OK, NotHeld, Failed or Unknown.
	Update(ctx context.Context, permit string, lease time.Duration) Answer
}

// AllPermitSemaphores returns the two forms of the reference semaphore of permits that expire.
func AllPermitSemaphores() []Subject {
	return []Subject{
		permitSemaphore(lockimpl.Classic, "Redisson's RPermitExpirableSemaphore 4.7.0: copies take permits that never come back, and leases end by the clients' clocks"),
		permitSemaphore(lockimpl.Hardened, "the one we would ship: one key, the server's clock, and a request counts once"),
	}
}

// OfPermitSemaphores are the limitations of Redisson's semaphore of permits that expire.
func OfPermitSemaphores() []history.Limitation {
	const page = "docs/family.md: "
	return []history.Limitation{
		notIdempotent(page+"acquire of an expirable permit sent again", takesOne),
		notIdempotent(page+"release of an expirable permit sent again", givesOne),
		notIdempotent(page+"TrySetPermits of expirable permits sent again", setsTotal),
		notIdempotent(page+"AddPermits of expirable permits sent again", addsTotal),
		without(contract.TakesBack, page+"acquire of an expirable permit whose caller gave up, outcome unknown"),
		without(contract.LooksAgain, page+"message lost with the subscription"),
		without(contract.ServerClock, page+"a client's clock is ahead, or its request is late"),
		without(contract.OneKey, page+"the counter is evicted, and set anew"),
	}
}

// permitSemaphore is the reference semaphore of permits that expire in one of its two forms.
func permitSemaphore(g lockimpl.Generation, about string) Subject {
	s := Subject{Name: "rpermitsemaphore-" + string(g), About: about, Object: history.APermitSemaphore, Abilities: []string{string(contract.PermitLeases), string(contract.Resizes), string(contract.AnyLease)}}
	open := opened(g)
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return permitClient{c.(rlockClient)}, nil
	}
	if g == lockimpl.Hardened {
		s.Abilities = append(s.Abilities, string(contract.TakesBack), string(contract.Idempotent), string(contract.LooksAgain), string(contract.NoticesSilence),
			string(contract.ServerClock), string(contract.OneKey), string(contract.ReturnsUnanswered), string(contract.LeavesNothing))
		s.Idempotent = []history.Idempotence{{Calls: Changing(s.Object), For: resentFor, ForOnce: latchLife}}
		s.SilenceNoticed = 2 * lockimpl.DefaultPingInterval
		return s
	}
	s.Layout = history.Layout{Taken: "{*}:timeout", Absolute: true}
	s.Limitations = OfPermitSemaphores()
	return s
}

var (
	takesOne  = []history.Kind{history.AcquirePermit, history.TryAcquirePermit}
	givesOne  = []history.Kind{history.ReleasePermit, history.UpdateLease}
	setsTotal = []history.Kind{history.TrySetTotal}
	addsTotal = []history.Kind{history.AddTotal}
)

type permitClient struct{ rlockClient }

func (c permitClient) PermitSemaphore(name string) PermitSemaphore {
	return rpermits{c.c.PermitExpirableSemaphore(name)}
}

type rpermits struct {
	s *lockimpl.PermitExpirableSemaphore
}

func (s rpermits) Set(ctx context.Context, permits int64) Answer {
	return yesOrNo(history.OK, history.Rejected)(s.s.TrySetPermits(ctx, permits))
}

func (s rpermits) Add(ctx context.Context, permits int64) Answer {
	return done(s.s.AddPermits(ctx, permits))
}

func (s rpermits) Take(ctx context.Context, r Request) Answer {
	var opts []lockimpl.Option
	if r.Lease > 0 {
		opts = append(opts, lockimpl.Lease(r.Lease))
	}
	if r.Wait > 0 {
		opts = append(opts, lockimpl.Wait(r.Wait))
	}
	permit, ok, err := lockimpl.Permit(""), true, error(nil)
	if r.Forever {
		permit, err = s.s.Acquire(ctx, opts...)
	} else {
		permit, ok, err = s.s.TryAcquire(ctx, opts...)
	}
	a := yesOrNo(history.Acquired, history.Busy)(ok, err)
	if a.Outcome == history.Acquired {
		a.Permit = string(permit)
	}
	return a
}

func (s rpermits) Give(ctx context.Context, permit string) Answer {
	return ofPermit(s.s.Release(ctx, lockimpl.Permit(permit)))
}

func (s rpermits) Update(ctx context.Context, permit string, lease time.Duration) Answer {
	if lease > 0 {
		return ofPermit(s.s.UpdateLease(ctx, lockimpl.Permit(permit), lockimpl.Lease(lease)))
	}
	return ofPermit(s.s.UpdateLease(ctx, lockimpl.Permit(permit)))
}

// ofPermit puts the answer to a call on a permit that was taken into history's terms.
func ofPermit(err error) Answer {
	switch {
	case errors.Is(err, lockimpl.ErrNotHeld):
		return Answer{Outcome: history.NotHeld, Err: err}
	case err != nil:
		return failure(err)
	}
	return Answer{Outcome: history.OK}
}
