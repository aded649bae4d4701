package history

// Operations of the rest of the lock family, as package model specifies them. [Kind.Valid] knows those that are judged: all but
// releaseIfExists, availablePermits, getCount, readCount and writeCount. No reader takes a history with those before there is a judge
// for them.
const (
	TrySetPermits     Kind = "trySetPermits"     // Value: how many; Lease: the time to live, 0: none
	AddPermits        Kind = "addPermits"        // Value: how many, also below 0
	AcquirePermits    Kind = "acquirePermits"    // Value: how many; waits until acquired or cancelled
	TryAcquirePermits Kind = "tryAcquirePermits" // Value: how many; waits at most Op.Wait
	ReleasePermits    Kind = "releasePermits"    // Value: how many
	ReleaseIfExists   Kind = "releaseIfExists"   // Value: how many
	DrainPermits      Kind = "drainPermits"      // Value: how many were free
	AvailablePermits  Kind = "availablePermits"  // Value: how many are free
	TrySetCount       Kind = "trySetCount"       // Value: the count
	CountDown         Kind = "countDown"         // one less
	Await             Kind = "await"             // waits until the count is 0, or cancelled
	TryAwait          Kind = "tryAwait"          // waits at most Op.Wait
	GetCount          Kind = "getCount"          // Value: the count
	DeleteLatch       Kind = "deleteLatch"       // the count is 0

	// Of a permit semaphore. Op.Token is the number of the permit; Op.Value is 1, but for trySetTotal and addTotal.
	TrySetTotal      Kind = "trySetTotal"      // Value: how many permits there are
	AddTotal         Kind = "addTotal"         // Value: how many more permits there are, also below 0
	AcquirePermit    Kind = "acquirePermit"    // to Op.Lease, 0: none; waits until acquired or cancelled
	TryAcquirePermit Kind = "tryAcquirePermit" // to Op.Lease, 0: none; waits at most Op.Wait
	ReleasePermit    Kind = "releasePermit"    // the permit Op.Token
	UpdateLease      Kind = "updateLease"      // of the permit Op.Token, to Op.Lease, 0: none

	// Of a read-write lock. Op.Owner of those on the write lock is [WriterOf] the owner.
	ReadLock    Kind = "readLock"    // waits as Lock
	TryRead     Kind = "tryRead"     // waits as TryLock
	ReadUnlock  Kind = "readUnlock"  // one decrement of the owner's read holds
	WriteLock   Kind = "writeLock"   // waits as Lock
	TryWrite    Kind = "tryWrite"    // waits as TryLock
	WriteUnlock Kind = "writeUnlock" // one decrement of the owner's write holds
	ForceRead   Kind = "forceRead"   // as ForceUnlock, of all who read
	ForceWrite  Kind = "forceWrite"  // as ForceUnlock, of who writes
	RenewRead   Kind = "renewRead"   // as Renew
	RenewWrite  Kind = "renewWrite"  // as Renew
	ReadCount   Kind = "readCount"   // Value: how often Op.Owner reads
	WriteCount  Kind = "writeCount"  // Value: how often Op.Owner writes

	// Of a fair lock, besides Lock, TryLock and Unlock: a call that waits takes its place in the queue by its
	// first request, and the lock by a later one.
	Enqueue Kind = "enqueue" // Acquired, or Busy: it waits now
	Grant   Kind = "grant"   // Acquired, or Busy: it waits on
	Leave   Kind = "leave"   // OK: it waits no more
)

// GivenUp is the end of a waiter's place in a fair lock's queue: Event.Owner had not kept it.
const GivenUp EventKind = "givenUp"

// Permits of a permit semaphore are taken and given back one at a time; Op.Token says which: a number that whoever
// records the operation gives to the permit's id.

// Outcomes of these: trySetPermits, trySetTotal, trySetCount: OK, Rejected (it is set already); acquirePermits,
// tryAcquirePermits, acquirePermit, tryAcquirePermit: Acquired, Busy; releasePermit: OK, NotHeld (it is not taken, or over);
// releasePermits: OK, NotHeld (there is no semaphore); releaseIfExists,
// deleteLatch: Released, NotHeld; updateLease: OK, NotHeld; await, tryAwait: OK (the count was 0), Busy;
// readLock, tryRead: Acquired, Busy; writeLock, tryWrite: Acquired, Busy, Rejected (who reads cannot write); readUnlock,
// writeUnlock: as unlock; renewRead, renewWrite: Renewed, NotHeld; the others: OK.
