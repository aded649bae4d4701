package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// rlock is the reference lock in one of its generations.
func rlock(g lockimpl.Generation, about string) Subject {
	s := Subject{Name: "rlock-" + string(g), About: about, Groups: []string{"multi", "red"}, SilenceNoticed: 2 * lockimpl.DefaultPingInterval,
		Unsubscribed: lockimpl.DefaultSubscriptionLinger,
		Abilities:    []string{"reentrant", "watchdog", "force", "inspect", "unlock-sets-lease", string(contract.NoticesSilence), string(contract.Waits), string(contract.AnyLease), string(contract.Steady), string(contract.Unsubscribes), string(contract.LeavesNothing)},
		Open:         opened(g)}
	const latchEnds = "scenario delayed-duplicate-unlock: a latch lives for 20 s, and until the client has the answer"
	const again, force = "Redisson #7367: an acquire that is sent again is a new one", "docs/lock.md: ForceUnlock sent again"
	switch g {
	case lockimpl.Hardened:
		s.Abilities = append(s.Abilities, "fencing", "lost", string(contract.HearsForce), "keeps-longest", "takes-back", "idempotent", string(contract.RefusesAgain), "tokens-go-on", string(contract.ReturnsUnanswered), string(contract.RenewsOn))
		s.RetriesAfter, s.TokenUnit = 5, lockimpl.TokenUnit
		s.Idempotent = []history.Idempotence{{Calls: Changing(s.Object), For: resentFor, ForOnce: latchLife}}
		return s
	case lockimpl.Latch:
		s.Abilities = append(s.Abilities, "idempotent", string(contract.RefusesAgain))
		s.Idempotent = []history.Idempotence{{Calls: unlocks, For: latchLife, UntilAnswered: true, Effective: true}}
		s.Limitations = []history.Limitation{notIdempotent(latchEnds, unlocks)}
	case lockimpl.Current:
		s.Limitations = []history.Limitation{notIdempotent(latchEnds, unlocks)}
	default:
		s.Limitations = []history.Limitation{notIdempotent("Redisson #4871", unlocks)}
	}
	s.Limitations = append(s.Limitations, notIdempotent(again, acquires), notIdempotent(force, forces),
		without(contract.TakesBack, "docs/lock.md: call that failed, outcome unknown"),
		without(contract.RenewsOn, "docs/lock.md: ForceUnlock that fails"))
	return s
}

// opened opens a client of a generation.
func opened(g lockimpl.Generation) func(Env) (Client, error) {
	return func(e Env) (Client, error) {
		c, err := lockimpl.New(e.Redis, lockimpl.Options{
			Generation: g, ID: e.ID, WatchdogTimeout: e.WatchdogTimeout, Scheduler: e.Scheduler, Random: e.Random, Now: e.Now,
			// The defaults, as short as the watchdog's timeout is.
			ResponseTimeout: e.Scaled(lockimpl.DefaultResponseTimeout), RetryDelay: e.Scaled(lockimpl.DefaultRetryDelay),
			SubscribeTimeout: e.Scaled(lockimpl.DefaultSubscribeTimeout), SubscriptionLinger: e.Scaled(lockimpl.DefaultSubscriptionLinger),
			PingInterval: e.Scaled(lockimpl.DefaultPingInterval), FairWaitTimeout: e.Scaled(fairWait),
		})
		if err != nil {
			return nil, err
		}
		return rlockClient{c}, nil
	}
}

type rlockClient struct{ c *lockimpl.Client }

func (c rlockClient) Owner(thread int64) string { return string(c.c.Owner(thread)) }
func (c rlockClient) Lock(name string) Lock     { return rlockLock{c.c.Lock(name)} }
func (c rlockClient) Close() error              { return c.c.Close() }

// rlockLock is an [lockimpl.RLock], or what has all that it has.
type rlockLock struct{ l anRLock }

type anRLock interface {
	reference
	Unlock(ctx context.Context, owner lockimpl.Owner) (bool, error)
	ForceUnlock(ctx context.Context) (bool, error)
	IsLocked(ctx context.Context) (bool, error)
	IsHeldBy(ctx context.Context, owner lockimpl.Owner) (bool, error)
	HoldCount(ctx context.Context, owner lockimpl.Owner) (int64, error)
	RemainingTTL(ctx context.Context) (time.Duration, error)
	Lost(owner lockimpl.Owner) <-chan struct{}
	HoldContext(parent context.Context, owner lockimpl.Owner) (context.Context, context.CancelFunc)
}

func (l rlockLock) Acquire(ctx context.Context, owner string, r Request) Answer {
	return acquired(ctx, l.l, owner, r)
}

// reference is what all locks of the reference library can do.
type reference interface {
	Lock(ctx context.Context, owner lockimpl.Owner, opts ...lockimpl.Option) error
	TryLock(ctx context.Context, owner lockimpl.Owner, opts ...lockimpl.Option) (bool, error)
	Token(owner lockimpl.Owner) (token int64, ok bool)
}

func acquired(ctx context.Context, l reference, owner string, r Request) Answer {
	o := lockimpl.Owner(owner)
	var opts []lockimpl.Option
	if r.Lease > 0 {
		opts = append(opts, lockimpl.Lease(r.Lease))
	}
	got, err := true, error(nil)
	if r.Forever {
		err = l.Lock(ctx, o, opts...)
	} else {
		if r.Wait > 0 {
			opts = append(opts, lockimpl.Wait(r.Wait))
		}
		got, err = l.TryLock(ctx, o, opts...)
	}
	switch {
	case err != nil:
		return failure(err)
	case !got:
		return Answer{Outcome: history.Busy}
	}
	token, _ := l.Token(o)
	return Answer{Outcome: history.Acquired, Token: token}
}

func (l rlockLock) Release(ctx context.Context, owner string) Answer {
	released, err := l.l.Unlock(ctx, lockimpl.Owner(owner))
	return freed(released, err, history.Decremented)
}

func (l rlockLock) ForceRelease(ctx context.Context) Answer {
	was, err := l.l.ForceUnlock(ctx)
	return freed(was, err, history.NotHeld)
}

// freed puts the answer of an unlock into terms; otherwise is what false means.
func freed(released bool, err error, otherwise history.Outcome) Answer {
	switch {
	case errors.Is(err, lockimpl.ErrNotHeld), errors.Is(err, lockimpl.ErrLost):
		return Answer{Outcome: history.NotHeld, Err: err}
	case err != nil:
		return failure(err)
	case released:
		return Answer{Outcome: history.Released}
	}
	return Answer{Outcome: otherwise}
}

func failure(err error) Answer {
	// What came too late was granted, and given back: it had an effect.
	if lockimpl.OutcomeUnknown(err) || errors.Is(err, lockimpl.ErrElapsed) {
		return Answer{Outcome: history.Unknown, Err: err}
	}
	return Answer{Outcome: history.Failed, Err: err}
}

func (l rlockLock) Inspect(ctx context.Context, question history.Kind, owner string) Answer {
	var value int64
	var err error
	switch question {
	case history.IsLocked:
		var yes bool
		yes, err = l.l.IsLocked(ctx)
		value = bit(yes)
	case history.IsHeldBy:
		var yes bool
		yes, err = l.l.IsHeldBy(ctx, lockimpl.Owner(owner))
		value = bit(yes)
	case history.HoldCount:
		value, err = l.l.HoldCount(ctx, lockimpl.Owner(owner))
	case history.RemainingTTL:
		var ttl time.Duration
		ttl, err = l.l.RemainingTTL(ctx)
		switch ttl {
		case lockimpl.TTLNoKey:
			value = -2
		case lockimpl.TTLNoExpiry:
			value = -1
		default:
			value = int64(ttl)
		}
	}
	if err != nil {
		return failure(err)
	}
	return Answer{Outcome: history.OK, Value: value}
}

func (l rlockLock) Lost(owner string) <-chan struct{} { return l.l.Lost(lockimpl.Owner(owner)) }

func (l rlockLock) HoldContext(parent context.Context, owner string) (context.Context, context.CancelFunc) {
	return l.l.HoldContext(parent, lockimpl.Owner(owner))
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
