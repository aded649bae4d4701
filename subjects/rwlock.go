package subjects

import (
	"context"
	"errors"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// ReadWriteLocks is a client of read-write locks, each of which is two locks. Owners have one name for both: the locks tell them
// apart, and so does history.WriterOf.
type ReadWriteLocks interface {
	ReadLock(name string) Lock
	// WriteLock returns the lock whose Acquire may also answer Rejected: the owner reads, and who reads cannot write.
	WriteLock(name string) Lock
}

// AllRWLocks returns the two forms of the reference read-write lock.
func AllRWLocks() []Subject {
	return []Subject{
		rwlock(lockimpl.Classic, "Redisson's RReadWriteLock 4.7.0: a read unlock touches its owner's write lock, and a downgrade wakes nobody"),
		rwlock(lockimpl.Hardened, "the read-write lock we would ship: a lease for each hold, a downgrade wakes, and a request counts once"),
	}
}

// OfRWLocks are the limitations of Redisson's read-write lock.
func OfRWLocks() []history.Limitation {
	const page = "docs/family.md: "
	return []history.Limitation{
		notIdempotent("scenario delayed-duplicate-unlock: a latch lives for 20 s, and until the client has the answer", rwUnlocks),
		notIdempotent(page+"acquire sent again", rwAcquires),
		notIdempotent(page+"a forced release sent again", rwForces),
		without(contract.TakesBack, "docs/lock.md: call that failed, outcome unknown"),
		without(contract.RenewsOn, page+"a forced release that frees nobody, or fails"),
		without(contract.RefusesAgain, page+"an unlock of a free lock sent again"),
		without(contract.LeasePerHold, page+"a writer unlocks a read lock of its own; a reader whose lease is over, others read on"),
		without(contract.TellsDowngrade, page+"a write unlock of an owner that reads on"),
	}
}

// rwlock is the reference read-write lock in one of its two forms.
func rwlock(g lockimpl.Generation, about string) Subject {
	s := Subject{Name: "rrwlock-" + string(g), About: about, Object: history.ARWLock,
		SilenceNoticed: 2 * lockimpl.DefaultPingInterval, Unsubscribed: lockimpl.DefaultSubscriptionLinger,
		Abilities: []string{string(contract.ReadWrite), "reentrant", "watchdog", "idempotent", "force", string(contract.NoticesSilence),
			string(contract.Waits), string(contract.AnyLease), string(contract.Steady), string(contract.Unsubscribes), string(contract.LeavesNothing)}}
	open := opened(g)
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return rwClient{c.(rlockClient), g == lockimpl.Hardened}, nil
	}
	if g == lockimpl.Hardened {
		s.Abilities = append(s.Abilities, "unlock-sets-lease", "fencing", "lost", string(contract.HearsForce), "keeps-longest", "takes-back", "tokens-go-on", string(contract.RefusesAgain),
			string(contract.LeasePerHold), string(contract.TellsDowngrade), string(contract.RefusesUpgrade), string(contract.ReturnsUnanswered), string(contract.RenewsOn))
		s.RetriesAfter, s.TokenUnit = 5, lockimpl.TokenUnit
		s.Idempotent = []history.Idempotence{{Calls: Changing(s.Object), For: resentFor, ForOnce: latchLife}}
		return s
	}
	s.Idempotent = []history.Idempotence{{Calls: rwUnlocks, For: latchLife, UntilAnswered: true, Effective: true}}
	s.Limitations = OfRWLocks()
	return s
}

var (
	rwAcquires = []history.Kind{history.ReadLock, history.TryRead, history.WriteLock, history.TryWrite}
	rwUnlocks  = []history.Kind{history.ReadUnlock, history.WriteUnlock}
	rwForces   = []history.Kind{history.ForceRead, history.ForceWrite}
)

type rwClient struct {
	rlockClient
	hardened bool
}

func (c rwClient) ReadLock(name string) Lock {
	return half{c.c.ReadWriteLock(name).ReadLock(), !c.hardened}
}

func (c rwClient) WriteLock(name string) Lock {
	return half{c.c.ReadWriteLock(name).WriteLock(), false}
}

// half is one of the two locks of a read-write lock.
type half struct {
	l *lockimpl.HalfLock
	// last says that an unlock answers whether nobody holds either lock any more, which says nothing of what its owner has left.
	last bool
}

func (h half) Acquire(ctx context.Context, owner string, r Request) Answer {
	a := acquired(ctx, h.l, owner, r)
	if errors.Is(a.Err, lockimpl.ErrUpgrade) {
		a.Outcome = history.Rejected
	}
	return a
}

func (h half) Release(ctx context.Context, owner string) Answer {
	released, err := h.l.Unlock(ctx, lockimpl.Owner(owner))
	if h.last {
		return freed(released, err, history.Unlocked)
	}
	return freed(released, err, history.Decremented)
}

func (h half) ForceRelease(ctx context.Context) Answer {
	return yesOrNo(history.Released, history.NotHeld)(h.l.ForceUnlock(ctx))
}

func (h half) Lost(owner string) <-chan struct{} { return h.l.Lost(lockimpl.Owner(owner)) }

func (h half) HoldContext(parent context.Context, owner string) (context.Context, context.CancelFunc) {
	return h.l.HoldContext(parent, lockimpl.Owner(owner))
}
