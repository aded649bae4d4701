package history

import (
	"fmt"
	"strings"
)

// Object is a kind of object that clients share. Each has operations of its own.
type Object string

// The kinds of objects that are judged.
const (
	ALock      Object = "lock"
	ASemaphore Object = "semaphore"
	ALatch     Object = "latch"
	ARWLock    Object = "read-write lock"
	// APermitSemaphore is a semaphore of which each permit that is taken has a number of its own, and may have a lease.
	APermitSemaphore Object = "permit semaphore"
)

// Objects lists the kinds of objects.
func Objects() []Object { return []Object{ALock, ASemaphore, ALatch, ARWLock, APermitSemaphore} }

// Plural names several of a kind.
func (o Object) Plural() string {
	if o == ALatch {
		return "latches"
	}
	return string(o) + "s"
}

// Counted reports whether an object is a number that its operations make larger or smaller, so that Op.Value is no
// answer but what was asked for, except of [DrainPermits].
func (o Object) Counted() bool { return o == ASemaphore || o == ALatch || o == APermitSemaphore }

// Object is the kind of object that an operation is on; the resource is a part of its lock.
func (k Kind) Object() Object {
	switch k {
	case TrySetPermits, AddPermits, AcquirePermits, TryAcquirePermits, ReleasePermits, DrainPermits:
		return ASemaphore
	case TrySetTotal, AddTotal, AcquirePermit, TryAcquirePermit, ReleasePermit, UpdateLease:
		return APermitSemaphore
	case TrySetCount, CountDown, DeleteLatch, Await, TryAwait:
		return ALatch
	case ReadLock, TryRead, ReadUnlock, ForceRead, WriteLock, TryWrite, WriteUnlock, ForceWrite, RenewRead, RenewWrite:
		return ARWLock
	}
	return ALock
}

// WriterSuffix ends the name of an owner of a write lock, as Redisson has it: who reads and writes has two names, one for
// each of its holds.
const WriterSuffix = ":write"

// WriterOf is an owner's name as a writer of a read-write lock.
func WriterOf(owner string) string { return owner + WriterSuffix }

// ReaderOf is the name of an owner of a read-write lock as a reader, which is also that of both its holds together.
func ReaderOf(owner string) string { return strings.TrimSuffix(owner, WriterSuffix) }

// Writes reports whether an owner of a read-write lock is one of the write lock.
func Writes(owner string) bool { return strings.HasSuffix(owner, WriterSuffix) }

// OnWriteLock reports whether the operation is one on the write lock of a read-write lock.
func (k Kind) OnWriteLock() bool {
	return k == WriteLock || k == TryWrite || k == WriteUnlock || k == ForceWrite || k == RenewWrite
}

// Plain is the operation of a lock that one of a read-write lock corresponds to; every other is its own.
func (k Kind) Plain() Kind {
	switch k {
	case ReadLock, WriteLock:
		return Lock
	case TryRead, TryWrite:
		return TryLock
	case ReadUnlock, WriteUnlock:
		return Unlock
	case RenewRead, RenewWrite:
		return Renew
	case ForceRead, ForceWrite:
		return ForceUnlock
	}
	return k
}

// As is what an operation of a lock is called when an owner of that name does it to an object of a kind.
func (k Kind) As(o Object, owner string) Kind {
	if o != ARWLock {
		return k
	}
	for _, of := range []Kind{ReadLock, TryRead, ReadUnlock, ForceRead, RenewRead, WriteLock, TryWrite, WriteUnlock, ForceWrite, RenewWrite} {
		if of.Plain() == k && of.OnWriteLock() == Writes(owner) {
			return of
		}
	}
	return k
}

// Unlocks reports whether the operation gives back one hold of a lock.
func (k Kind) Unlocks() bool { return k.Plain() == Unlock }

// Forces reports whether the operation frees a lock whoever holds it.
func (k Kind) Forces() bool { return k.Plain() == ForceUnlock }

// Renews reports whether the operation extends a lease.
func (k Kind) Renews() bool { return k.Plain() == Renew }

// Asks reports whether the operation asks for what others may have: it may be refused, or wait.
func (k Kind) Asks() bool {
	return k.Acquires() || k == AcquirePermits || k == TryAcquirePermits || k == AcquirePermit || k == TryAcquirePermit
}

// Awaits reports whether the operation waits for a count, and takes nothing.
func (k Kind) Awaits() bool { return k == Await || k == TryAwait }

// Tries reports whether the operation asks or awaits, and waits at most Op.Wait.
func (k Kind) Tries() bool {
	return k.Plain() == TryLock || k == TryAcquirePermits || k == TryAcquirePermit || k == TryAwait
}

// Sets reports whether the operation makes a counted object.
func (k Kind) Sets() bool { return k == TrySetPermits || k == TrySetTotal || k == TrySetCount }

// Gives reports whether the operation gives back what one that asks has taken, or does what others await.
func (k Kind) Gives() bool {
	return k.Unlocks() || k == ReleasePermits || k == ReleasePermit || k == CountDown
}

// Alters reports whether the operation changes a counted object as a whole, whoever has taken what: it adds permits, or takes some away,
// or takes all that are free, or deletes the object.
func (k Kind) Alters() bool { return k.Adds() || k == DrainPermits || k == DeleteLatch }

// Adds reports whether the operation makes the permits that there are more, or fewer.
func (k Kind) Adds() bool { return k == AddPermits || k == AddTotal }

// OnPermit reports whether the operation is one on a permit that was taken: Op.Token says which, from the call on.
func (k Kind) OnPermit() bool { return k == ReleasePermit || k == UpdateLease }

// Units is by how much an operation makes a counted object larger or smaller when it takes effect.
func (o *Op) Units() int64 {
	switch {
	case o.Kind == CountDown:
		return 1
	case o.Kind.Awaits() || o.Kind == UpdateLease || o.Kind == DeleteLatch:
		return 0
	}
	return o.Value
}

// MaxPermits is the largest number of permits of one call, and the largest count: what Redisson can represent.
const MaxPermits = 1<<31 - 1

// least is the smallest number that an operation on a counted object can be about.
func (k Kind) least() int64 {
	if k.Adds() || k == DrainPermits { // fewer than 0 permits may be free
		return -MaxPermits
	}
	return 0
}

// OutOfBounds reports whether an operation on a counted object is about a number that is none of its.
func (o *Op) OutOfBounds() bool {
	return o.Kind.Object().Counted() && (o.Value < o.Kind.least() || o.Value > MaxPermits)
}

// Objects tells of each name in a history which kind of object it is. A name that no operation has is a lock's.
func (h *History) Objects() map[string]Object {
	all := map[string]Object{}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind.OnLock() || all[op.Lock] == "" {
			all[op.Lock] = op.Kind.Object()
		}
	}
	return all
}

// Mixed says which name stands for two kinds of objects, or "".
func (h *History) Mixed() string {
	_, what := h.mixed()
	return what
}

// mixed also says by which operation that shows.
func (h *History) mixed() (i int, what string) {
	all := map[string]Object{}
	for i := range h.Ops {
		op := &h.Ops[i]
		if !op.Kind.OnLock() { // what any lock protects
			continue
		}
		before, known := all[op.Lock]
		if all[op.Lock] = op.Kind.Object(); known && before != op.Kind.Object() {
			return i, fmt.Sprintf("op %d: %s of %s, which is a %s; a name stands for one object", op.ID, op.Kind, op.Lock, before)
		}
	}
	return 0, ""
}

// Unanswered is the operation as it was before its caller was told anything.
func (o Op) Unanswered() Op {
	o.Return, o.Outcome, o.Error = 0, "", ""
	if !o.Kind.OnPermit() {
		o.Token = 0
	}
	if !o.Kind.Object().Counted() || o.Kind == DrainPermits {
		o.Value = 0
	}
	return o
}
