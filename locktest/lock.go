package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// NewLock makes the lock client of one client process. It is called once for each process of a run,
// in virtual time, so that timers and goroutines are best started here and not before.
type NewLock func(e Env) (Client, error)

// Env is what the world gives to one client process: its Redis client (or, for a lock over another library,
// Dial, which connects to the same server), its name, the lease that a hold
// should get for which none is asked, and a source for what it draws by chance. A lock that draws from
// crypto/rand draws from the run's seed too.
type Env = subjects.Env

// Client is one process's lock client. It must be safe for concurrent use. A Client that is an
// [io.Closer] is closed at the end of the run; goroutines that it leaves behind are an error.
type Client interface {
	// Lock returns a lock in the hands of one owner, which it is called once for. An owner is a thread of
	// a process; it calls one method at a time.
	Lock(name, owner string) Lock
}

// Locks is a [Client] that has nothing but locks.
type Locks func(name, owner string) Lock

// Lock calls f.
func (f Locks) Lock(name, owner string) Lock { return f(name, owner) }

// Request says how to acquire: whether to wait for ever, or else how long, and for what lease. A lease of
// 0 is the lock's own: Env.WatchdogTimeout, unless [Lease] says another.
type Request = subjects.Request

// Lock is the least that a lock can do. More is found by the interfaces [Reentrant], [Silent], [Watchdog],
// [Fencer], [Loser], [Idempotent], [Undoer], [ForceReleaser], [ForceTeller], [Inspector], [LeaseKeeper], [LeaseSetter], [Local], [Patient], [Tidy] and [Fair],
// which it may implement,
// and [MultiLocker] and [QuorumLocker], which its Client may.
type Lock interface {
	// Acquire takes the lock and returns nil, or says [ErrBusy] or [ErrFailed]. Any other error says that
	// it is not known whether it was taken. ctx may end after Acquire has returned, and the hold lasts.
	Acquire(ctx context.Context, r Request) error
	// Release gives it back and returns nil, or says [ErrNotHeld], or [ErrFailed]. Any other error says
	// that it is not known.
	Release(ctx context.Context) error
}

// What a lock's errors say, when they are or wrap these.
var (
	ErrBusy    = errors.New("somebody else holds the lock")
	ErrNotHeld = errors.New("the lock is not held")
	ErrFailed  = errors.New("nothing happened")
	ErrReads   = errors.New("its owner reads, and who reads cannot write") // of the second of [ReadWriteLocks] only
)

// Reentrant is a lock that its owner may take again. ReleaseOne stands for Release, and reports whether
// the last hold was given back.
type Reentrant interface {
	ReleaseOne(ctx context.Context) (last bool, err error)
}

// Silent is a lock whose Release returns nil whatever it did: whether the hold was still its own, and, if it is
// [Reentrant], whether that was the last. What it did is then known from Redis alone. A lock that knows that the hold
// was not its own may say [ErrNotHeld] all the same.
type Silent interface{ Silent() }

// Watchdog is a lock that extends a lease by itself for which none was asked, and promises how often. The lease is Env.WatchdogTimeout, which
// differs from plan to plan, or what [Lease] says. RenewEvery is asked once, for 30 s or for that: it renews after the same part of each lease.
// A renewal that failed it is taken to try again after as long, unless it is a [Retrier].
type Watchdog interface{ RenewEvery() time.Duration }

// Retrier is a [Watchdog] that promises how soon it tries a renewal again that failed. It is asked as RenewEvery is. A watchdog that renews late in a
// lease, and says nothing of this, has no time to try again: a failed renewal then exempts it.
type Retrier interface{ RetryEvery() time.Duration }

// Fencer is a lock that hands out fencing tokens; Token is that of the hold acquired last.
type Fencer interface{ Token() int64 }

// Loser is a lock that tells its holder that the hold is over, in time: the channel is that of the hold
// acquired last. It is asked for after each grant, of a [Reentrant] lock after each re-entry, too, and that channel tells of the
// hold as long as its owner has it. Such a lock is not excused when its holder goes on after the lease.
type Loser interface{ Lost() <-chan struct{} }

// Idempotent is a lock that takes a request for the one that it answered already, when a client or the
// network sends it again: the copy takes no effect, and gets the first answer. Idempotent is how long after
// the first effect that is so; 0: always. It is promised for acquiring, releasing and forcing free.
//
// go-redis sends a command again after a network error, unless MaxRetries is -1. A lock that is not
// Idempotent does not answer for what comes of a second effect.
type Idempotent interface{ Idempotent() time.Duration }

// Undoer is a lock, or another object, whose client settles by itself, as soon as it can, a call of whose outcome its caller was not told. It
// gives back what such an acquire took. It repeats such a release, or count-down. A lock that is no Undoer leaves that to its leases.
type Undoer interface{ TakesBack() }

// ForceReleaser is a lock that can be freed whoever holds it; ErrNotHeld says that nobody did. The lock goes on renewing what it does not
// free. Of the two locks of a read-write lock, each frees its own holds.
type ForceReleaser interface {
	ForceRelease(ctx context.Context) error
}

// ForceTeller is a [ForceReleaser] that tells of a forced release at once: it wakes who waits, and a [Loser] tells the holder, if its client listens
// at the server for messages of that lock.
type ForceTeller interface{ TellsForce() }

// Inspector is a lock that answers questions: whether anybody holds it, whether and how often its owner
// does, and for how long it is held, as Redis says it: -1 for ever, -2 not at all.
type Inspector interface {
	IsLocked(ctx context.Context) (bool, error)
	IsHeld(ctx context.Context) (bool, error)
	HoldCount(ctx context.Context) (int64, error)
	RemainingTTL(ctx context.Context) (time.Duration, error)
}

// LeaseKeeper is a reentrant lock whose lease a re-entry never shortens.
type LeaseKeeper interface{ KeepsLongestLease() }

// LeaseSetter is a reentrant lock whose lease is set anew by a release that leaves holds.
type LeaseSetter interface{ ReleaseSetsLease() }

// Local is a lock whose owners of one client exclude each other within the process, until Release, whatever became of their leases. A
// re-entry may be counted there, so that an inner release asks no server.
type Local interface{ LocalHolds() }

// Patient is a lock, or another object, whose Redis client waits longer for an answer than go-redis does, or less long, before it gives up or asks
// again. go-redis waits for 5.1 s here: its ReadTimeout and a pause. It awaits the answer to a command that blocks for 10 s more than that may block.
type Patient interface{ AnswerTimeout() time.Duration }

// Tidy is a lock that leaves no key behind without a time to live, also none beside the one that says whether it is held.
type Tidy interface{ LeavesNothing() }

// Fair is a lock that goes to who has waited longest. A place in its queue is kept while its owner asks again, and given up by who waits
// no more.
type Fair interface{ Queue() Queue }

// Queue is where in Redis who waits for a lock is.
type Queue struct {
	// Key is a list of owners, the next one first, or a sorted set of them. * stands for the key of the lock, as the option Key tells it, and
	// {*} for the lock's name in braces, or alone if it has some. What stands there for an owner may be anything: it is of the owner whose
	// attempt made it appear.
	Key string
	// Prefix is what comes before an owner in Key; what begins otherwise is none.
	Prefix string
	// Kept is for how long the place is kept of an owner that does not ask again.
	Kept time.Duration
}

// MultiLocker is a Client that makes one lock of several, held when all are. The members may be of other
// clients of the same process, each with a server of its own.
type MultiLocker interface {
	All(members []Lock) (Lock, error)
}

// QuorumLocker is a Client that makes one lock of several, held when more than half are.
type QuorumLocker interface {
	Quorum(members []Lock) (Lock, error)
}
