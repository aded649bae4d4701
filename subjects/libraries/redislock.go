package libraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

var redislockClaims = []subjects.Claim{
	{Guarantee: "exclusion", Text: "distributed locking using Redis", Source: "README"},
	{Guarantee: "exclusion", Text: "Obtain tries to obtain a lock with the given TTL, and says ErrNotObtained if it cannot", Source: "Client.Obtain"},
	{Guarantee: "object", Text: "Release releases the lock, and may say ErrLockNotHeld", Source: "Lock.Release"},
	{Guarantee: "liveness", Text: "a lock that cannot be obtained is not tried again, unless there is a RetryStrategy", Source: "redislock.Options"},
}

// redislockDefault is redislock without options: it tries once.
func redislockDefault() subjects.Subject {
	return subjects.Subject{
		Name: "redislock", About: "bsm/redislock without options: it tries once, and nobody refreshes",
		Module: "github.com/bsm/redislock", Claims: redislockClaims, Polls: true, Abilities: []string{"mutex"}, Limitations: subjects.OfValues(),
		Open: func(e subjects.Env) (subjects.Client, error) {
			return &redislockClient{env: e, c: redislock.New(e.Redis)}, nil
		},
	}
}

// redislockRefresh is redislock as its documentation has careful users use it.
func redislockRefresh() subjects.Subject {
	s := redislockDefault()
	s.Name = "redislock-refresh"
	s.Unclaimed = []string{string(contract.Renews), string(contract.TellsLoss)}
	s.About = "redislock with ExponentialBackoff(16 ms, 512 ms), its users calling Refresh every third of the lease"
	s.Claims = append([]subjects.Claim{
		{Guarantee: "exclusion", Text: "Refresh extends the lock with a new TTL, and may say ErrNotObtained", Source: "Lock.Refresh"},
		{Guarantee: "liveness", Text: "ExponentialBackoff tries again after 2^n ms, at least 16 ms being recommended", Source: "redislock.ExponentialBackoff"},
	}, redislockClaims...)
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		return &redislockClient{env: e, c: redislock.New(e.Redis), careful: true}, nil
	}
	return s
}

type redislockClient struct {
	env     subjects.Env
	c       *redislock.Client
	careful bool
	locks   named[*redislockLock]
}

func (c *redislockClient) Owner(thread int64) string { return fmt.Sprintf("%s:%d", c.env.ID, thread) }
func (c *redislockClient) Close() error              { return nil }

func (c *redislockClient) Lock(name string) subjects.Lock {
	return c.locks.get(name, func() *redislockLock { return &redislockLock{c: c, name: name} })
}

type redislockLock struct {
	c    *redislockClient
	name string
	held holds[*redislock.Lock]
}

func (l *redislockLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	lease := l.c.env.WatchdogTimeout
	if r.Lease > 0 {
		lease = r.Lease
	}
	var opts *redislock.Options
	retries := &retries{RetryStrategy: redislock.ExponentialBackoff(16*time.Millisecond, 512*time.Millisecond)}
	if l.c.careful && (r.Forever || r.Wait > 0) {
		opts = &redislock.Options{RetryStrategy: retries}
		wait := r.Wait
		if r.Forever {
			wait = 24 * time.Hour // without a deadline it gives up after the lease
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	lock, err := l.c.c.Obtain(ctx, l.name, lease, opts)
	switch {
	case errors.Is(err, redislock.ErrNotObtained) && r.Wait > 0: // it does not wait
		return subjects.Answer{Outcome: history.Failed, Err: err}
	case errors.Is(err, redislock.ErrNotObtained):
		return subjects.Answer{Outcome: history.Busy, Err: err}
	case err != nil && err == ctx.Err() && retries.refused: // while it waited for its next attempt
		return subjects.Answer{Outcome: history.Busy, Err: err}
	case err != nil:
		return subjects.Answer{Outcome: history.Unknown, Err: err}
	}
	h := l.held.take(owner, lock)
	if l.c.careful && r.Lease == 0 {
		h.keep(l.c.env, lease/3, func() error { return refresh(lock, lease) })
	}
	return subjects.Answer{Outcome: history.Acquired}
}

// retries knows whether some attempt was refused: without, who ran out of time knows of no other holder.
type retries struct {
	redislock.RetryStrategy
	refused bool
}

func (r *retries) NextBackoff() time.Duration {
	r.refused = true
	return r.RetryStrategy.NextBackoff()
}

func refresh(lock *redislock.Lock, lease time.Duration) error {
	if errors.Is(lock.Refresh(context.Background(), lease, nil), redislock.ErrNotObtained) {
		return errGone
	}
	return nil // refreshed, or an error after which the next one may be in time
}

func (l *redislockLock) Release(ctx context.Context, owner string) subjects.Answer {
	lock, _ := l.held.give(owner) // its methods take a nil one for not held
	switch err := lock.Release(ctx); {
	case err == nil:
		return subjects.Answer{Outcome: history.Released}
	case errors.Is(err, redislock.ErrLockNotHeld):
		return subjects.Answer{Outcome: history.NotHeld, Err: err}
	default:
		return subjects.Answer{Outcome: history.Unknown, Err: err}
	}
}

// Lost implements [subjects.Loser] for careful users.
func (l *redislockLock) Lost(owner string) <-chan struct{} { return l.held.lost(owner) }
