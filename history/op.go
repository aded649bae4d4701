package history

import "time"

// Kind names an operation. The names are those of the worker protocol and of plans.
type Kind string

// Operations on a lock, and on the resource that the lock protects.
const (
	Lock         Kind = "lock"         // waits until acquired or cancelled
	TryLock      Kind = "tryLock"      // waits at most Op.Wait, 0: one attempt
	Unlock       Kind = "unlock"       // one decrement of the hold count
	ForceUnlock  Kind = "forceUnlock"  // frees the lock whoever holds it
	Renew        Kind = "renew"        // the watchdog's (or a client's) extension of the lease
	IsLocked     Kind = "isLocked"     // Value 1 or 0
	IsHeldBy     Kind = "isHeldBy"     // Value 1 or 0, for Op.Owner
	HoldCount    Kind = "holdCount"    // Value: the count of Op.Owner
	RemainingTTL Kind = "remainingTTL" // Value: nanoseconds; -1 no expiry, -2 no key
	Read         Kind = "read"         // of the shared resource named like the lock; Value
	Write        Kind = "write"        // to the shared resource; Value
)

// Outcome is what the client was told. The zero value means that the call has not returned.
type Outcome string

// Outcomes, by operation: lock and tryLock: Acquired, Busy; unlock: Decremented, Released, Unlocked,
// NotHeld, or OK, which tells nothing; forceUnlock: Released, NotHeld; renew: Renewed, NotHeld; queries, read and write: OK;
// write with a stale fencing token: Rejected. Every operation may end Failed or Unknown.
const (
	Acquired    Outcome = "acquired"
	Busy        Outcome = "busy" // Value: remaining TTL in nanoseconds as told, when told
	Decremented Outcome = "decremented"
	Released    Outcome = "released"
	Unlocked    Outcome = "unlocked" // Decremented or Released, and the caller was not told which
	NotHeld     Outcome = "notHeld"
	Renewed     Outcome = "renewed"
	OK          Outcome = "ok"
	Rejected    Outcome = "rejected"
	Failed      Outcome = "failed"  // an error that proves that nothing happened
	Unknown     Outcome = "unknown" // an error that does not tell whether it happened
)

// outcomes lists what each operation can be told, besides Failed and Unknown.
var outcomes = map[Kind][]Outcome{
	Lock: {Acquired, Busy}, TryLock: {Acquired, Busy},
	Unlock: {Decremented, Released, Unlocked, NotHeld, OK}, ForceUnlock: {Released, NotHeld},
	Renew:    {Renewed, NotHeld},
	IsLocked: {OK}, IsHeldBy: {OK}, HoldCount: {OK}, RemainingTTL: {OK},
	Read: {OK}, Write: {OK, Rejected},

	TrySetPermits: {OK, Rejected}, AcquirePermits: {Acquired, Busy}, TryAcquirePermits: {Acquired, Busy},
	ReleasePermits: {OK, NotHeld}, AddPermits: {OK}, DrainPermits: {OK},

	TrySetTotal: {OK, Rejected}, AddTotal: {OK}, AcquirePermit: {Acquired, Busy}, TryAcquirePermit: {Acquired, Busy},
	ReleasePermit: {OK, NotHeld}, UpdateLease: {OK, NotHeld},

	ReadLock: {Acquired, Busy}, TryRead: {Acquired, Busy}, ReadUnlock: {Decremented, Released, Unlocked, NotHeld, OK}, RenewRead: {Renewed, NotHeld},
	WriteLock: {Acquired, Busy, Rejected}, TryWrite: {Acquired, Busy, Rejected}, WriteUnlock: {Decremented, Released, Unlocked, NotHeld, OK},
	RenewWrite: {Renewed, NotHeld}, ForceRead: {Released, NotHeld}, ForceWrite: {Released, NotHeld},

	TrySetCount: {OK, Rejected}, CountDown: {OK}, DeleteLatch: {Released, NotHeld}, Await: {OK, Busy}, TryAwait: {OK, Busy},
}

// Evidence is what the world knows of a call beyond what the client was told.
type Evidence string

const (
	NoEvidence Evidence = ""         // a black-box history
	NotSent    Evidence = "notSent"  // it never reached the server and never will: it did not happen
	Executed   Evidence = "executed" // the server executed it at Op.Executed and answered Op.Answer
	Sent       Evidence = "sent"     // it may take effect until Op.Until (0: for ever)
)

func (e Evidence) valid() bool {
	return e == NoEvidence || e == NotSent || e == Executed || e == Sent
}

// Ended is the Cancel of a call whose context had ended before the call.
const Ended time.Duration = 1

// Op is one operation of one owner: an invocation and, once it returned, its completion.
//
// Owner is what Redisson calls <clientUUID>:<threadId>: one client process has several. An
// owner's calls are sequential; renewals (Kind Renew) are the exception, since a watchdog works
// while its owner does.
type Op struct {
	ID     int64  `json:"id"`
	Client string `json:"client"`
	Owner  string `json:"owner"`
	Lock   string `json:"lock"`
	Kind   Kind   `json:"kind"`

	Wait     time.Duration `json:"wait,omitzero"`     // tryLock: the wait budget
	Cancel   time.Duration `json:"cancel,omitzero"`   // how long after the call its caller gives it up; 0: never, or it is not known; [Ended]: before it
	Lease    time.Duration `json:"lease,omitzero"`    // the TTL this call sets when it takes effect
	Watchdog bool          `json:"watchdog,omitzero"` // the lease is to be renewed by the lock
	OwnLease bool          `json:"ownLease,omitzero"` // none was asked for, of a lock that renews none: Lease is its own
	// Asked is the lease that was asked for, where Lease is the time to live that came of it: of a lock
	// that is made of others, or shares a key with one.
	Asked time.Duration `json:"asked,omitzero"`
	// Fresh is the lease that this call itself asks for, where a re-entry keeps another of the hold: it is set if the
	// owner turns out to hold nothing any more. FreshWatchdog says whether the lock then renews it.
	Fresh         time.Duration `json:"fresh,omitzero"`
	FreshWatchdog bool          `json:"freshWatchdog,omitzero"`

	// Aside says that it is no step of its owner's program: the lock did it by itself, as it does
	// renewals, or the owner did not wait for it. It may overlap its owner's calls.
	Aside bool `json:"aside,omitzero"`

	Call    time.Duration `json:"call"`
	Return  time.Duration `json:"return,omitzero"` // 0 while pending
	Outcome Outcome       `json:"outcome,omitzero"`
	Value   int64         `json:"value,omitzero"`
	Token   int64         `json:"token,omitzero"` // fencing token granted or presented
	Error   string        `json:"error,omitzero"` // the error's text as the client saw it

	Evidence Evidence      `json:"evidence,omitzero"`
	Executed time.Duration `json:"executed,omitzero"` // server time at which it took effect
	Within   time.Duration `json:"within,omitzero"`   // how exactly Executed is known: to so much before or after; 0 in virtual time
	Answer   Outcome       `json:"answer,omitzero"`   // what the server did, whatever the client heard
	Repeats  int           `json:"repeats,omitzero"`  // how many times more than once it took effect
	Until    time.Duration `json:"until,omitzero"`    // for Sent: when it can no longer take effect
}

// Pending reports whether the call has not returned.
func (o Op) Pending() bool { return o.Return == 0 }

// Uncertain reports whether the client does not know what its call did.
func (o Op) Uncertain() bool { return o.Return == 0 || o.Outcome == Unknown }

// Acquires reports whether the operation is one that takes the lock.
func (k Kind) Acquires() bool { p := k.Plain(); return p == Lock || p == TryLock }

// OnLock reports whether the operation is one on the shared object, not on the resource that a lock protects.
func (k Kind) OnLock() bool { return k != Read && k != Write }

// Valid reports whether k is a known operation.
func (k Kind) Valid() bool { _, ok := outcomes[k]; return ok }

// Allows reports whether out is an outcome that an operation of kind k can have.
func (k Kind) Allows(out Outcome) bool {
	if out == Failed || out == Unknown {
		return k.Valid()
	}
	for _, o := range outcomes[k] {
		if o == out {
			return true
		}
	}
	return false
}
