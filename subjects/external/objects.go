package external

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Objects that are no locks, as a worker serves them. Semaphores and latches know no owners: requests name none.

// Semaphore implements [subjects.Semaphores].
func (c *client) Semaphore(name string) subjects.Semaphore { return semaphore{c, name} }

// PermitSemaphore implements [subjects.PermitSemaphores].
func (c *client) PermitSemaphore(name string) subjects.PermitSemaphore {
	return permitSemaphore{c, name}
}

// Latch implements [subjects.Latches].
func (c *client) Latch(name string) subjects.Latch { return latch{c, name} }

// ReadLock implements [subjects.ReadWriteLocks].
func (c *client) ReadLock(name string) subjects.Lock {
	return c.half(lock{c: c, name: name, object: history.ARWLock})
}

// WriteLock implements [subjects.ReadWriteLocks].
func (c *client) WriteLock(name string) subjects.Lock {
	return c.half(lock{c: c, name: name, object: history.ARWLock, writes: true})
}

// half is one of the two locks of a read-write lock, with what the worker claims.
func (c *client) half(l lock) subjects.Lock {
	if slices.Contains(c.hello.Abilities, string(contract.Forces)) {
		return struct {
			lock
			forcer
		}{l, forcer{l}}
	}
	return l
}

type semaphore struct {
	c    *client
	name string
}

func (s semaphore) Set(ctx context.Context, permits int64) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.TrySetPermits, Lock: s.name, Value: permits})
}

func (s semaphore) Take(ctx context.Context, permits int64, r subjects.Request) subjects.Answer {
	if r.Forever {
		return s.c.do(ctx, request{Kind: history.AcquirePermits, Lock: s.name, Value: permits})
	}
	return s.c.do(ctx, request{Kind: history.TryAcquirePermits, Lock: s.name, Value: permits, Wait: r.Wait})
}

func (s semaphore) Give(ctx context.Context, permits int64) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.ReleasePermits, Lock: s.name, Value: permits})
}

// Add implements [subjects.Resizer].
func (s semaphore) Add(ctx context.Context, permits int64) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.AddPermits, Lock: s.name, Value: permits})
}

// Drain implements [subjects.Drainer].
func (s semaphore) Drain(ctx context.Context) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.DrainPermits, Lock: s.name})
}

type permitSemaphore struct {
	c    *client
	name string
}

func (s permitSemaphore) Set(ctx context.Context, permits int64) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.TrySetTotal, Lock: s.name, Value: permits})
}

// Add implements [subjects.Resizer].
func (s permitSemaphore) Add(ctx context.Context, permits int64) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.AddTotal, Lock: s.name, Value: permits})
}

func (s permitSemaphore) Take(ctx context.Context, r subjects.Request) subjects.Answer {
	if r.Forever {
		return s.c.do(ctx, request{Kind: history.AcquirePermit, Lock: s.name, Lease: r.Lease})
	}
	return s.c.do(ctx, request{Kind: history.TryAcquirePermit, Lock: s.name, Wait: r.Wait, Lease: r.Lease})
}

func (s permitSemaphore) Give(ctx context.Context, permit string) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.ReleasePermit, Lock: s.name, Permit: permit})
}

func (s permitSemaphore) Update(ctx context.Context, permit string, lease time.Duration) subjects.Answer {
	return s.c.do(ctx, request{Kind: history.UpdateLease, Lock: s.name, Permit: permit, Lease: lease})
}

type latch struct {
	c    *client
	name string
}

func (l latch) Set(ctx context.Context, count int64) subjects.Answer {
	return l.c.do(ctx, request{Kind: history.TrySetCount, Lock: l.name, Value: count})
}

func (l latch) Down(ctx context.Context) subjects.Answer {
	return l.c.do(ctx, request{Kind: history.CountDown, Lock: l.name})
}

// Delete implements [subjects.Deleter].
func (l latch) Delete(ctx context.Context) subjects.Answer {
	return l.c.do(ctx, request{Kind: history.DeleteLatch, Lock: l.name})
}

func (l latch) Await(ctx context.Context, r subjects.Request) subjects.Answer {
	if r.Forever {
		return l.c.do(ctx, request{Kind: history.Await, Lock: l.name})
	}
	return l.c.do(ctx, request{Kind: history.TryAwait, Lock: l.name, Wait: r.Wait})
}
