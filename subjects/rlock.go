package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// rlock is the reference lock in one of its generations.
func rlock(g lockimpl.Generation, about string) Subject {
	abilities := []string{"reentrant", "watchdog", "force", "inspect"}
	if g == lockimpl.Hardened {
		abilities = append(abilities, "fencing", "lost", "keeps-longest")
	}
	resent, once := remembers(g)
	return Subject{
		Name: "rlock-" + string(g), About: about, Abilities: abilities, Groups: []string{"multi", "red"}, Weaknesses: weaknesses(g),
		Remembers: resent, RemembersOnce: once,
		Open: func(e Env) (Client, error) {
			o := lockimpl.Options{Generation: g, ID: e.ID, WatchdogTimeout: e.WatchdogTimeout, Scheduler: e.Scheduler, Random: e.Random}
			if e.Timescale != 0 && e.Timescale != 1 { // the defaults, as short as the watchdog's timeout is
				o.ResponseTimeout, o.RetryDelay = e.scaled(lockimpl.DefaultResponseTimeout), e.scaled(lockimpl.DefaultRetryDelay)
				o.SubscribeTimeout, o.SubscriptionLinger = e.scaled(lockimpl.DefaultSubscribeTimeout), e.scaled(lockimpl.DefaultSubscriptionLinger)
			}
			c, err := lockimpl.New(e.Redis, o)
			if err != nil {
				return nil, err
			}
			return rlockClient{c}, nil
		},
	}
}

// remembers is how long a generation that remembers its requests does so (docs/lock.md, Tuning): as long as go-redis
// may send copies, which is over three minutes with its defaults; and at least.
func remembers(g lockimpl.Generation) (resent, once time.Duration) {
	if g == lockimpl.Hardened {
		return 3 * time.Minute, 20 * time.Second
	}
	return 0, 0
}

// weaknesses are those of docs/lock.md, which package checker sees.
func weaknesses(g lockimpl.Generation) []Weakness {
	const jumped = "docs/lock.md: what a server forgets when its clock jumps"
	jumps := []string{"clock-jump"}
	if g == lockimpl.Hardened {
		return []Weakness{{Guarantee: "object", Rule: once, Class: "double execution", Faults: jumps, Source: jumped}}
	}
	const again, force = "Redisson #7367: an acquire that is sent again is a new one", "docs/lock.md: ForceUnlock sent again"
	all := []Weakness{
		{Guarantee: "object", Rule: once, Call: history.Lock, Faults: copies, Source: again},
		{Guarantee: "object", Rule: once, Call: history.TryLock, Faults: copies, Source: again},
		{Guarantee: "object", Rule: told, Call: history.TryLock, Faults: copies, Source: again},
		{Guarantee: "object", Rule: failed, Call: history.Lock, Faults: copies, Source: again},
		{Guarantee: "object", Rule: failed, Call: history.TryLock, Faults: copies, Source: again},
		{Guarantee: "liveness", Rule: left, Class: "double execution", Call: history.Unlock, Faults: copies, Source: again},
		{Guarantee: "liveness", Rule: left, Class: "lost message", Call: history.Unlock, Faults: copies, Source: "docs/lock.md: call that failed, outcome unknown"},
		{Guarantee: "object", Rule: within, Call: history.Unlock, Faults: delays, Source: "docs/lock.md: delayed copy of an unlock"},
		{Guarantee: "object", Rule: once, Call: history.ForceUnlock, Faults: copies, Source: force},
		{Guarantee: "object", Rule: told, Call: history.ForceUnlock, Faults: copies, Source: force},
		{Guarantee: "object", Rule: within, Call: history.ForceUnlock, Faults: delays, Source: force},
	}
	if g == lockimpl.Latch {
		return append(all,
			Weakness{Guarantee: "object", Rule: once, Call: history.Unlock, Faults: delays, Returned: true, Source: "scenario delayed-duplicate-unlock"},
			Weakness{Guarantee: "object", Rule: told, Call: history.Unlock, Faults: delays, Returned: true, Source: "scenario delayed-duplicate-unlock"},
			Weakness{Guarantee: "object", Rule: once, Call: history.Unlock, Faults: jumps, Source: jumped},
			Weakness{Guarantee: "object", Rule: told, Call: history.Unlock, Faults: jumps, Source: jumped},
			Weakness{Guarantee: "object", Rule: once, Call: history.Unlock, Faults: copies, After: latchLife, Source: "docs/lock.md: a latch lives for 20 s"},
			Weakness{Guarantee: "object", Rule: told, Call: history.Unlock, Faults: copies, After: latchLife, Source: "docs/lock.md: a latch lives for 20 s"})
	}
	return append(all,
		Weakness{Guarantee: "object", Rule: once, Call: history.Unlock, Faults: copies, Source: "Redisson #4871"},
		Weakness{Guarantee: "object", Rule: told, Call: history.Unlock, Faults: copies, Source: "Redisson #4871"})
}

// latchLife is how long the default options keep the answer to an unlock.
const latchLife = 20 * time.Second

type rlockClient struct{ c *lockimpl.Client }

func (c rlockClient) Owner(thread int64) string { return string(c.c.Owner(thread)) }
func (c rlockClient) Lock(name string) Lock     { return rlockLock{c.c.Lock(name)} }
func (c rlockClient) Close() error              { return c.c.Close() }

type rlockLock struct{ l *lockimpl.RLock }

func (l rlockLock) Acquire(ctx context.Context, owner string, r Request) Answer {
	o := lockimpl.Owner(owner)
	var opts []lockimpl.Option
	if r.Lease > 0 {
		opts = append(opts, lockimpl.Lease(r.Lease))
	}
	got, err := true, error(nil)
	if r.Forever {
		err = l.l.Lock(ctx, o, opts...)
	} else {
		if r.Wait > 0 {
			opts = append(opts, lockimpl.Wait(r.Wait))
		}
		got, err = l.l.TryLock(ctx, o, opts...)
	}
	switch {
	case err != nil:
		return failure(err)
	case !got:
		return Answer{Outcome: history.Busy}
	}
	token, _ := l.l.Token(o)
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

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
