package libraries

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// redsyncExpiry is the lease of a redsync.Mutex that asks for none.
const redsyncExpiry = 8 * time.Second

var redsyncClaims = []subjects.Claim{
	{Guarantee: "exclusion", Text: "after a lock is obtained, no one else can obtain it until it is unlocked", Source: "README, Usage"},
	{Guarantee: "exclusion", Text: "a mutex expires after WithExpiry, 8 s by default", Source: "redsync.WithExpiry"},
	{Guarantee: "exclusion", Text: "over several pools: the algorithm of redis.io/topics/distlock", Source: "README"},
	{Guarantee: "object", Text: "Unlock unlocks and returns the status of unlock", Source: "Mutex.UnlockContext"},
	{Guarantee: "liveness", Text: "acquiring is attempted WithTries times, 32 by default, after delays of 50 to 250 ms", Source: "redsync.WithTries, WithRetryDelay"},
	{Guarantee: "liveness", Text: "TryLock attempts once and returns immediately", Source: "Mutex.TryLockContext"},
}

// redsyncDefault is redsync as it comes: 32 tries, and a lease that nobody extends.
func redsyncDefault() subjects.Subject {
	return subjects.Subject{
		Name: "redsync", About: "go-redsync/redsync with its defaults: a lease of 8 s, 32 tries",
		Module: "github.com/go-redsync/redsync/v4", Claims: redsyncClaims, Polls: true,
		Abilities: []string{"mutex"}, Groups: []string{"red"}, Lease: redsyncExpiry,
		Limitations: append(subjects.OfValues(),
			history.Limitation{Rule: string(contract.AllOrNone), Calls: []history.Kind{history.Lock, history.TryLock},
				Source: "redsync, Mutex.LockContext: what failed is given back under the caller's context, and not once that is over"}),
		Open: func(e subjects.Env) (subjects.Client, error) {
			return &redsyncClient{env: e, pool: goredis.NewPool(e.Redis)}, nil
		},
	}
}

// redsyncExtend is redsync as its documentation has careful users use it.
func redsyncExtend() subjects.Subject {
	s := redsyncDefault()
	s.Name, s.Lease = "redsync-extend", 0
	s.Unclaimed = []string{string(contract.Renews), string(contract.TellsLoss)}
	s.About = "redsync, its users calling Extend every third of the lease and stopping at Until; waiting as long as asked"
	s.Claims = append([]subjects.Claim{
		{Guarantee: "exclusion", Text: "Extend resets the expiry and returns the status of that", Source: "Mutex.ExtendContext"},
		{Guarantee: "exclusion", Text: "Until returns the time of validity of the acquired lock, and is to be used instead of Valid", Source: "Mutex.Until, Mutex.Valid"},
	}, redsyncClaims...)
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		return &redsyncClient{env: e, pool: goredis.NewPool(e.Redis), careful: true}, nil
	}
	return s
}

type redsyncClient struct {
	env     subjects.Env
	pool    syncredis.Pool
	careful bool
	locks   named[*redsyncLock]
	drawing sync.Mutex
}

func (c *redsyncClient) Owner(thread int64) string { return fmt.Sprintf("%s:%d", c.env.ID, thread) }
func (c *redsyncClient) Close() error              { return nil }

func (c *redsyncClient) Lock(name string) subjects.Lock {
	return c.locks.get(name, func() *redsyncLock {
		return &redsyncLock{c: c, name: name, pools: []syncredis.Pool{c.pool}}
	})
}

// All implements [subjects.MultiLocker]: redsync has no such lock.
func (c *redsyncClient) All([]subjects.Lock) (subjects.Lock, error) {
	return nil, errors.New("subjects: redsync has no lock of which all members must be held")
}

// Quorum implements [subjects.MultiLocker] with a mutex of several pools.
func (c *redsyncClient) Quorum(locks []subjects.Lock) (subjects.Lock, error) {
	whole := &redsyncLock{c: c}
	for _, l := range locks {
		m, ok := l.(*redsyncLock)
		switch {
		case !ok:
			return nil, fmt.Errorf("subjects: a %T cannot be a member of a redsync mutex", l)
		case whole.name != "" && m.name != whole.name:
			return nil, fmt.Errorf("subjects: a redsync mutex has one name on all servers, not %q and %q", whole.name, m.name)
		}
		whole.name, whole.pools = m.name, append(whole.pools, m.pools...)
	}
	return whole, nil
}

type redsyncLock struct {
	c     *redsyncClient
	name  string
	pools []syncredis.Pool
	held  holds[*redsync.Mutex]
}

func (l *redsyncLock) mutex(lease time.Duration) *redsync.Mutex {
	// The default's delays, but drawn by the world: math/rand cannot be seeded any more.
	opts := []redsync.Option{redsync.WithRetryDelayFunc(func(int) time.Duration {
		return l.c.env.Scaled(50*time.Millisecond + l.c.draw(200)*time.Millisecond)
	})}
	if l.c.careful {
		opts = append(opts, redsync.WithTries(math.MaxInt32))
	}
	opts = append(opts, redsync.WithExpiry(cmp.Or(lease, l.c.env.WatchdogTimeout)))
	return redsync.New(l.pools...).NewMutex(l.name, opts...)
}

// draw returns a number below n.
func (c *redsyncClient) draw(n uint64) time.Duration {
	c.drawing.Lock()
	defer c.drawing.Unlock()
	var b [8]byte
	_, _ = io.ReadFull(c.env.Random, b[:]) // the world's source never fails
	return time.Duration(binary.BigEndian.Uint64(b[:]) % n)
}

func (l *redsyncLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	m := l.mutex(r.Lease)
	var err error
	if r.Forever || r.Wait > 0 {
		if r.Wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, r.Wait)
			defer cancel()
		}
		err = m.LockContext(ctx)
	} else {
		err = m.TryLockContext(ctx)
	}
	if err != nil {
		return l.refused(ctx, r, err)
	}
	h := l.held.take(owner, m)
	if l.c.careful && r.Lease == 0 {
		h.keep(l.c.env, l.c.env.WatchdogTimeout/3, func() error { return extend(m) })
		h.endAt(m.Until())
		h.extended = func() time.Time { return m.Until() }
	}
	return subjects.Answer{Outcome: history.Acquired}
}

// refused puts an error of acquiring into terms.
func (l *redsyncLock) refused(ctx context.Context, r subjects.Request, err error) subjects.Answer {
	var server *redsync.RedisError
	var taken *redsync.ErrTaken
	switch {
	case errors.As(err, &server), len(l.pools) > 1: // votes may be split, so that nobody holds it
		return subjects.Answer{Outcome: history.Unknown, Err: err}
	case r.Wait > 0 && ctx.Err() == nil: // it ran out of tries before its time
		return subjects.Answer{Outcome: history.Failed, Err: err}
	case errors.As(err, &taken):
		return subjects.Answer{Outcome: history.Busy, Err: err}
	}
	return subjects.Answer{Outcome: history.Unknown, Err: err} // ErrFailed says that it was in vain, not why
}

func extend(m *redsync.Mutex) error {
	ok, err := m.ExtendContext(context.Background())
	var server *redsync.RedisError
	if ok || errors.As(err, &server) || errors.Is(err, redsync.ErrExtendFailed) {
		return nil // extended, or worth another try before Until
	}
	return errGone
}

func (l *redsyncLock) Release(ctx context.Context, owner string) subjects.Answer {
	m, held := l.held.give(owner)
	if !held {
		m = l.mutex(0)
	}
	ok, err := m.UnlockContext(ctx)
	if !ok && held && ctx.Err() != nil {
		l.held.take(owner, m) // the caller gave up, and has the mutex still
	}
	var server *redsync.RedisError
	switch {
	case ok:
		return subjects.Answer{Outcome: history.Released}
	case errors.As(err, &server), len(l.pools) > 1: // some members may have been its own still, though not enough to say so
		return subjects.Answer{Outcome: history.Unknown, Err: err}
	}
	return subjects.Answer{Outcome: history.NotHeld, Err: err}
}

// Lost implements [subjects.Loser] for careful users.
func (l *redsyncLock) Lost(owner string) <-chan struct{} { return l.held.lost(owner) }
