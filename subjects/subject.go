package subjects

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Subject is a lock under test.
type Subject struct {
	Name  string
	About string // one line for "simrun list"
	// Object is what it is; "": a lock. The clients of a semaphore are [Semaphores], those of a latch [Latches],
	// and those of a read-write lock [ReadWriteLocks].
	Object history.Object
	// Abilities are what it claims, as history.Header has them and contract.Promises explains;
	// "mutex" for a lock that claims nothing else.
	Abilities []string
	// Unclaimed are abilities that it has and makes no claim of.
	Unclaimed []string
	// Groups are the kinds of locks that it makes of several, as plans name them ("multi", "red"): its
	// clients are [MultiLocker].
	Groups []string
	// Lease is what a hold gets for which no lease was asked, if that is not Env.WatchdogTimeout, which
	// then is the same. RenewEvery is how often its watchdog promises to renew that; 0: every third of it.
	Lease, RenewEvery time.Duration
	// RenewPart is the same as a part of the lease, where that is whatever Env.WatchdogTimeout says.
	RenewPart float64
	// Module is the Go module that it comes from, "" for our own, and Claims are what its documentation
	// says of it.
	Module string
	Claims []Claim
	// External says that it lives in processes of its own, so that it runs only in a world whose servers they can
	// dial.
	External bool
	// RetriesAfter is the part of its period after which its watchdog tries again what failed: 5 is a fifth; 0: a whole one.
	RetriesAfter int
	// Unsubscribed is after how long its client gives a subscription back that it needs no more; 0: it does not say.
	Unsubscribed time.Duration
	// AnswerTimeout is how long its Redis client waits for an answer before it gives up or asks again; 0: as long as go-redis does.
	AnswerTimeout time.Duration
	// SilenceNoticed is after how long its client notices that nothing comes on its subscription; 0: it does not say.
	SilenceNoticed time.Duration
	// PlaceKept is for how long a fair lock keeps the place of who waits: after it asked first, or, as a part of the lease
	// that a watchdog renews, after it asked last. Of a lock whose writers are first it is for how long the mark of one that waited is kept.
	PlaceKept time.Duration
	PlacePart float64
	// Polls says that its waiters subscribe to nothing, and ask again.
	Polls bool
	// TokenUnit is within how much time a counter of tokens that was lost may give the same again; 0: it may not.
	TokenUnit time.Duration
	// Idempotent says of which calls a request that is sent again takes effect once.
	Idempotent []history.Idempotence
	// Limitations are what it is documented not to promise.
	Limitations []history.Limitation
	// Layout is how it is kept in Redis, where that is not as by default.
	Layout history.Layout
	// Patient says that its calls cannot be given up: whatever a plan says, their callers wait.
	Patient bool
	// Resends says that its requests may be sent again though a plan says that they are not.
	Resends bool
	// ConnectsOnce says that its Redis client tries once to connect for a request, and not several times. Between two tries go-redis sleeps, and
	// has the mutex of a subscription: in virtual time nobody who waits for that could go on.
	ConnectsOnce bool
	// Goals are its own states that a search is to reach, besides those that there are for all.
	Goals []contract.Goal
	// Open makes one client process's lock client. What it connects to answers.
	Open func(Env) (Client, error)
}

// Claim is what a lock's documentation says that concerns a guarantee, in our words.
type Claim struct{ Guarantee, Text, Source string }

// Renews is how often its watchdog promises to renew a lease of that length for which none was asked.
func (s Subject) Renews(lease time.Duration) time.Duration {
	return cmp.Or(s.RenewEvery, time.Duration(math.Round(s.RenewPart*float64(lease))), lease/3)
}

// KeepsPlace is for how long it keeps the place of who waits, where a watchdog renews a lease of that length; 0: it has no queue.
func (s Subject) KeepsPlace(lease time.Duration) time.Duration {
	return cmp.Or(s.PlaceKept, time.Duration(s.PlacePart*float64(lease)))
}

// Can reports whether the subject claims an ability, makes a group of that kind, or is an object of that kind.
func (s Subject) Can(ability string) bool {
	if is := history.Object(ability); slices.Contains(history.Objects(), is) {
		return is == cmp.Or(s.Object, history.ALock)
	}
	return slices.Contains(s.Abilities, ability) || slices.Contains(s.Groups, ability) || ability == messages && !s.Polls
}

// messages is plan.NeedsMessages: that waiters hear of releases, if they do not only ask again.
const messages = "messages"

// Remembers is how long after its first effect another copy of a request takes none, and the same where the Redis
// client sends nothing again; 0: as long as need be, or not at all.
func (s Subject) Remembers() (resent, once time.Duration) {
	least := func(a, b time.Duration) time.Duration {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	for _, i := range s.Idempotent {
		if !i.UntilAnswered {
			resent, once = least(resent, i.For), least(once, cmp.Or(i.ForOnce, i.For))
		}
	}
	return resent, once
}

// Client is one process's lock client. It is safe for concurrent use.
type Client interface {
	// Owner names a thread of this client.
	Owner(thread int64) string
	Lock(name string) Lock
	Close() error
}

// Lock is one lock as one client sees it. Whatever it answers is put into history's terms.
type Lock interface {
	// Acquire takes the lock: Acquired, Busy, Failed or Unknown.
	Acquire(ctx context.Context, owner string, r Request) Answer
	// Release takes back one hold: Decremented, Released, Unlocked, NotHeld, OK, Failed or Unknown.
	Release(ctx context.Context, owner string) Answer
}

// Request says how to acquire.
type Request struct {
	Forever bool          // wait as long as it takes
	Wait    time.Duration // else: at most; 0: one attempt
	Lease   time.Duration // 0: the watchdog's
}

// Answer is what a call was told.
type Answer struct {
	Outcome history.Outcome
	Value   int64
	Token   int64
	Permit  string // the id of the permit that was taken, of a permit semaphore
	Err     error
}

// ForceReleaser frees a lock whoever holds it.
type ForceReleaser interface {
	ForceRelease(ctx context.Context) Answer // Released, NotHeld, Failed or Unknown
}

// Inspector answers questions; Value as history.Op documents it.
type Inspector interface {
	Inspect(ctx context.Context, question history.Kind, owner string) Answer
}

// MultiLocker is a client that makes one lock of several, each of which may be of another client of
// the same process, and so on another server.
type MultiLocker interface {
	All(locks []Lock) (Lock, error)    // held when all are
	Quorum(locks []Lock) (Lock, error) // held when more than half are
}

// A Process is a client that lives in an operating system process of its own, which faults can stop
// and end. The methods are safe for concurrent use; their errors are the operating system's. On a
// process that has ended they do nothing.
type Process interface {
	Pause() error // until Resume; the process does nothing at all, and calls wait
	Resume() error
	Kill() error // for good, and without a word; calls that wait end Unknown
}

// Starter starts a program with its arguments, in a world whose time its processes share.
type Starter func(words []string) (Child, error)

// A Child is a process that a [Starter] has started. Its methods are safe for concurrent use.
type Child interface {
	Process
	In() io.WriteCloser // its standard input; a write does not block
	Out() io.ReadCloser // what it writes to its standard output
	Err() io.ReadCloser // the same of its standard error
	Exited() <-chan struct{}
	Ending() string             // once it has: "exit status 1", "signal: killed"
	Overdue() int               // how many of its waits are over, while it is paused
	JumpClock(by time.Duration) // sets its clock of the day forward
}

// Namer is a client whose owners have names of their own in Redis.
type Namer interface {
	Named(owner string) string // the value or field that stands for an owner
}

// Loser tells a holder that its hold is over. A nil channel never tells. It is asked after each grant, a re-entry's, too: each of its channels tells
// of the hold as long as the owner has it.
type Loser interface {
	Lost(owner string) <-chan struct{}
}

// Holder gives a context for work under an owner's hold, which ends when that is over, at the latest when [Loser] tells so.
type Holder interface {
	HoldContext(parent context.Context, owner string) (context.Context, context.CancelFunc)
}

// All returns the generations of the reference lock, and its fenced kind, in the order of "simrun list".
func All() []Subject {
	return []Subject{
		rlock(lockimpl.Classic, "Redisson 2.2.4 to 3.18: acquire in two branches, unlock without a latch"),
		rlock(lockimpl.Combined, "Redisson 3.19 to 3.23: acquire under one condition, unlock without a latch"),
		rlock(lockimpl.Latch, "Redisson 3.24 and later: a re-sent unlock gets the first answer"),
		rlock(lockimpl.Hardened, "the one we would ship: idempotent, fenced, and it tells its holder of a loss in time"),
		rlockFenced(),
	}
}

// Of returns the subjects that are a kind of object.
func Of(is history.Object) []Subject {
	switch is {
	case history.ASemaphore:
		return AllSemaphores()
	case history.APermitSemaphore:
		return AllPermitSemaphores()
	case history.ALatch:
		return AllLatches()
	case history.ARWLock:
		return AllRWLocks()
	}
	return slices.Concat(All(), AllSpinLocks(), AllFairLocks())
}

// Everything returns the subjects of all kinds of objects, locks first.
func Everything() (all []Subject) {
	for _, is := range history.Objects() {
		all = append(all, Of(is)...)
	}
	return all
}

// Find returns the subject of that name in [Everything].
func Find(name string) (Subject, bool) {
	for _, s := range Everything() {
		if s.Name == name {
			return s, true
		}
	}
	return Subject{}, false
}
