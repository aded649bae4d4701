package lockimpl

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// RedLock is one lock kept on several independent servers, held by whoever holds it on more than
// half of them: the Redlock algorithm (redis.io, "Distributed Locks with Redis"), as Redisson's
// RedissonRedLock meant it. It tolerates the failure of a minority of the servers.
//
// What is known against it, and true of this one, too: a holder that is paused past the lease goes
// on believing (Kleppmann 2016; the remedy is fencing, which a quorum of counters cannot give); one
// server's clock that jumps, or one that restarts without its data, lets a second owner get a quorum
// (both there; antirez, "Is Redlock safe?", 2016, answers: synchronized restarts and sane clocks).
// Redisson has deprecated its own since 3.12.5, for plain locks that wait for replicas.
//
// Beyond Redisson's: the time spent and the clocks' drift ([Margin]) are subtracted from the lease,
// and nothing left is a failure; all servers are asked at once.
type RedLock struct {
	members []*RLock
	quorum  int
	holds   groupHolds
}

// NewRedLock returns a lock over locks, one for each server, each of a client of its own; their
// names may be the same.
func NewRedLock(locks ...*RLock) (*RedLock, error) {
	if len(locks) == 0 {
		return nil, errors.New("lockimpl: a RedLock needs locks")
	}
	for i, l := range locks {
		if l == nil {
			return nil, errors.New("lockimpl: a RedLock of a nil lock")
		}
		for _, other := range locks[:i] {
			if other.client == l.client {
				return nil, errors.New("lockimpl: a RedLock needs a client for each lock")
			}
		}
	}
	return &RedLock{members: slices.Clone(locks), quorum: len(locks)/2 + 1}, nil
}

// Lost returns a channel that is closed when owner holds so few members, as [RLock.Lost] tells of each, that no quorum is left. The
// last unlock does not close it; one that leaves owner a hold without a quorum does. If owner has no quorum, it is closed already. Unlock
// all the same, once for each grant: what is left of the members is renewed until then. The faithful generations do not tell: they return nil.
func (r *RedLock) Lost(owner Owner) <-chan struct{} {
	return r.holds.lost(r.members, owner, len(r.members)-r.quorum+1)
}

// ErrNoQuorum says that the lock was not acquired since too many servers failed; it comes with
// their errors.
var ErrNoQuorum = errors.New("no quorum of servers answered")

// Delays between attempts, drawn anew each time so that contenders which split the votes do not do
// so again.
// They are from 20 to 200 ms by default.
func (o Options) voteDelay(random *rand.Rand) time.Duration {
	least, most := o.ResponseTimeout/150, o.ResponseTimeout/15
	return least + time.Duration(random.Int64N(max(int64(most-least), 1)))
}

// Lock takes the lock for owner and waits for it as long as ctx lasts. Lease as with [RLock.Lock].
// A minority of servers that fail are as good as refusing; [ErrNoQuorum] says that more did.
func (r *RedLock) Lock(ctx context.Context, owner Owner, opts ...Option) error {
	co, err := r.members[0].client.opts.call(opts)
	if err == nil && co.bounded {
		err = ErrBadWait
	}
	if err == nil {
		_, err = r.take(ctx, owner, co)
	}
	return r.members[0].wrap("Lock", owner, err)
}

// TryLock takes the lock for owner if that can be done within [Wait], and reports whether it did.
// [ErrNoQuorum] says that, at the last attempt, not enough servers answered.
func (r *RedLock) TryLock(ctx context.Context, owner Owner, opts ...Option) (bool, error) {
	co, err := r.members[0].client.opts.call(opts)
	if err != nil {
		return false, r.members[0].wrap("TryLock", owner, err)
	}
	co.bounded = true
	ok, err := r.take(ctx, owner, co)
	return ok, r.members[0].wrap("TryLock", owner, err)
}

func (r *RedLock) take(ctx context.Context, owner Owner, co callOptions) (bool, error) {
	if owner == "" {
		return false, ErrBadOwner
	}
	end, err := beginAll(r.members)
	if err != nil {
		return false, err
	}
	defer end()
	deadline := time.Now().Add(co.wait)
	random, err := r.newRandom()
	if err != nil {
		return false, err
	}
	var open error // what the attempts left open
	for {
		again := time.Now().Before(r.Until(owner))
		members, unanswered, err := r.attempt(ctx, owner, co)
		ok := members != nil
		if ok {
			r.holds.granted(owner, again, members, r.Until)
		}
		if ok || err != nil && !co.bounded {
			return ok, err
		}
		if OutcomeUnknown(unanswered) {
			open = unanswered
		}
		delay := r.members[0].client.opts.voteDelay(random)
		if co.bounded && time.Until(deadline) < delay {
			return false, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, joinMembers(open, notSent(ctx))
		case <-r.members[0].client.closing.Done():
			timer.Stop()
			return false, joinMembers(open, ErrClosed)
		}
	}
}

func (r *RedLock) newRandom() (*rand.Rand, error) {
	var seed [32]byte
	if err := r.members[0].client.random(seed[:]); err != nil {
		return nil, err
	}
	return rand.New(rand.NewChaCha8(seed)), nil
}

// attempt asks all servers at once. Unless a quorum granted a lease that is not over yet, it gives
// back what was granted; what may have been granted, the members' clients give back when they know. If it got the lock, it returns
// the members that an unlock is to ask. It also returns the errors of members, which are an error of the whole if a quorum was out of
// reach by them.
func (r *RedLock) attempt(ctx context.Context, owner Owner, co callOptions) (asks []bool, failed, err error) {
	called := time.Now()
	results := make([]memberResult, len(r.members))
	r.each(ctx, co.lease, func(ctx context.Context, i int, l *RLock) {
		results[i].ttl, results[i].err = l.proto.attempt(ctx, l, owner, co)
	})
	votes, failures := 0, []error{}
	asks = make([]bool, len(results))
	for i, result := range results {
		asks[i] = result.err == nil || OutcomeUnknown(result.err) && !r.members[i].proto.takesBack(result.err)
		if result.err != nil {
			failures = append(failures, r.members[i].wrap("attempt", owner, result.err))
		} else if result.ttl == granted {
			votes++
		}
	}
	if votes >= r.quorum && time.Now().Before(safe(called, co.lease)) {
		return asks, nil, nil
	}
	failed = joinMembers(failures...)
	r.each(context.WithoutCancel(ctx), max(co.lease, r.unlockLimit()), func(ctx context.Context, i int, l *RLock) {
		if results[i].err == nil && results[i].ttl == granted {
			_, _ = l.proto.unlock(ctx, l, owner)
		}
	})
	if len(r.members)-len(failures) < r.quorum {
		return nil, failed, joinMembers(failed, ErrNoQuorum)
	}
	return nil, failed, nil
}

type memberResult struct {
	ttl time.Duration
	err error
}

// unlockLimit is the lease whose tenth an unlock has, also the one of a failed attempt: what is not given back lasts, whatever
// lease was asked for.
func (r *RedLock) unlockLimit() time.Duration { return r.members[0].client.opts.WatchdogTimeout }

// each calls f for all members at once, each with a tenth of the lease's time.
func (r *RedLock) each(ctx context.Context, lease time.Duration, f func(ctx context.Context, i int, l *RLock)) {
	ctx, cancel := context.WithTimeout(ctx, lease/10)
	defer cancel()
	var wg sync.WaitGroup
	for i, l := range r.members {
		wg.Go(func() { f(ctx, i, l) })
	}
	wg.Wait()
}

// Unlock takes back the innermost of owner's holds, and returns on how many servers it did. Where owner has an outer hold, it leaves
// alone the servers that answered the attempt with an error, and those whose clients did not learn in time whether they granted it, and
// give it back by themselves: what is there is the outer hold's. Otherwise it asks every server.
// Fewer than a quorum is an error, which joins those of the servers.
func (r *RedLock) Unlock(ctx context.Context, owner Owner) (unlocked int, err error) {
	results, err := r.UnlockMembers(ctx, owner)
	if err != nil {
		return 0, err
	}
	if unlocked, err = tookBack(results); unlocked >= r.quorum {
		err = nil
	}
	return unlocked, err
}

// UnlockMembers is [RedLock.Unlock], but returns what it did on each server, in the order in which
// [NewRedLock] was given their locks. The error says that nothing was tried.
func (r *RedLock) UnlockMembers(ctx context.Context, owner Owner) ([]Unlocked, error) {
	if owner == "" {
		return nil, r.members[0].wrap("Unlock", owner, ErrBadOwner)
	}
	end, err := beginAll(r.members)
	if err != nil {
		return nil, r.members[0].wrap("Unlock", owner, err)
	}
	defer end()
	asks, _ := r.holds.unlocking(owner)
	results := make([]Unlocked, len(r.members))
	r.each(ctx, r.unlockLimit(), func(ctx context.Context, i int, l *RLock) {
		if results[i].Left = asks != nil && !asks[i] && time.Now().Before(l.client.holds.until(l, owner)); results[i].Left {
			return
		}
		released, err := l.proto.unlock(ctx, l, owner)
		results[i] = Unlocked{Released: released, Err: l.wrap("Unlock", owner, err)}
	})
	leaveRest(results, r.members, owner)
	return results, nil
}

// Until returns until when owner may count on holding a quorum, the zero time if it holds none.
func (r *RedLock) Until(owner Owner) time.Time {
	ends := make([]time.Time, len(r.members))
	for i, l := range r.members {
		ends[i] = l.client.holds.until(l, owner)
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-r.quorum]
}
