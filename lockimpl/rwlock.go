package lockimpl

import (
	"context"
	"time"
)

// ReadWriteLock is two locks: any number of owners may hold the one to read, or one owner the other to write,
// and that owner may also read. It is Redisson's RReadWriteLock (4.7), re-entrant and with leases as [RLock].
// It is not fair: readers that follow each other without a gap keep a writer waiting (redisson#5379: by
// design).
//
// Classic, Combined and Latch are one form here, Redisson's 4.7.0 with the unlock latch, on its keys and
// channel, with what is weak in it. Who holds the write lock and unlocks a read lock of its own has the lease
// cut to the longest of a reader's, and its watchdog ends: another writes beside it. A write unlock of an
// owner that reads on wakes nobody. Of two read holds of one owner it is the lease of the later that ends
// with the first unlock. Readers whose leases are over still count as holders as long as others read. An
// owner that reads and asks for the write lock waits for itself (redisson#4796). A copy of an acquire counts
// again, and adds its lease to a writer's.
//
// Hardened keeps a lease for each hold, in the lock's one key, by the server's clock, and counts each request
// once; it tells of losses and gives fencing tokens ([HalfLock.Lost], [HalfLock.Token]); a downgrade wakes
// those who wait; who reads and asks for the write lock gets [ErrUpgrade] at once.
//
// Clients of Hardened and others exclude each other altogether: also a reader of the one kind waits for the
// readers of the other, and does not hear them leave.
type ReadWriteLock struct{ read, write *HalfLock }

// ReadWriteLock returns the lock of that name. It costs nothing on the server.
func (c *Client) ReadWriteLock(name string) *ReadWriteLock {
	half := func(proto protocol, suffix, anyone string) *HalfLock {
		l := c.Lock(name)
		l.proto, l.anyone = proto, anyone
		l.channel = rwChannelOf(name)
		l.channelArg = l.channel
		l.asks, l.manner = rwAsk, sharers
		if _, ok := proto.(*hardened); ok {
			l.asks = rwAskHardened
		}
		return &HalfLock{l, suffix}
	}
	return &ReadWriteLock{half(c.readers, "", ":read"), half(c.writers, writerSuffix, ":write")}
}

// ReadLock returns the lock that many may hold.
func (l *ReadWriteLock) ReadLock() *HalfLock { return l.read }

// WriteLock returns the lock that one may hold.
func (l *ReadWriteLock) WriteLock() *HalfLock { return l.write }

// HalfLock is the read lock or the write lock of a [ReadWriteLock]. Its operations are those of [RLock], of
// which it says only what differs. Errors name the owner of a write lock as Redisson does: with ":write".
//
// It is a handle, safe for concurrent use.
type HalfLock struct {
	lock   *RLock
	suffix string
}

// of is the owner as the lock's key has it.
func (h *HalfLock) of(owner Owner) Owner {
	if owner == "" {
		return ""
	}
	return owner + Owner(h.suffix)
}

// Name returns the name of the read-write lock, which is its key.
func (h *HalfLock) Name() string { return h.lock.name }

// Lock takes the lock for owner: see [RLock.Lock].
func (h *HalfLock) Lock(ctx context.Context, owner Owner, opts ...Option) error {
	return h.lock.Lock(ctx, h.of(owner), opts...)
}

// TryLock takes the lock for owner within [Wait]: see [RLock.TryLock].
func (h *HalfLock) TryLock(ctx context.Context, owner Owner, opts ...Option) (bool, error) {
	return h.lock.TryLock(ctx, h.of(owner), opts...)
}

// Unlock takes back one of owner's holds: see [RLock.Unlock]. It reports whether owner has none left; of a
// read lock, with the faithful generations, whether nobody holds either lock any more.
func (h *HalfLock) Unlock(ctx context.Context, owner Owner) (released bool, err error) {
	return h.lock.Unlock(ctx, h.of(owner))
}

// ForceUnlock frees the lock whoever holds it: a read lock from all readers, a write lock from its writer.
// With the faithful generations everything goes, and only if the lock is held in this way: by readers, or
// with a writer.
func (h *HalfLock) ForceUnlock(ctx context.Context) (bool, error) { return h.lock.ForceUnlock(ctx) }

// IsLocked reports whether anybody holds the lock.
func (h *HalfLock) IsLocked(ctx context.Context) (bool, error) { return h.lock.IsLocked(ctx) }

// IsHeldBy reports whether owner holds the lock. The faithful generations may count a reader whose lease is
// over.
func (h *HalfLock) IsHeldBy(ctx context.Context, owner Owner) (bool, error) {
	return h.lock.IsHeldBy(ctx, h.of(owner))
}

// HoldCount returns how many times owner holds the lock; see [HalfLock.IsHeldBy].
func (h *HalfLock) HoldCount(ctx context.Context, owner Owner) (int64, error) {
	return h.lock.HoldCount(ctx, h.of(owner))
}

// RemainingTTL returns how long the longest lease of either lock lasts: see [RLock.RemainingTTL].
func (h *HalfLock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return h.lock.RemainingTTL(ctx)
}

// Lost returns a channel that is closed when owner's hold is lost: see [RLock.Lost].
func (h *HalfLock) Lost(owner Owner) <-chan struct{} { return h.lock.Lost(h.of(owner)) }

// HoldContext returns a context for work under owner's hold: see [RLock.HoldContext].
func (h *HalfLock) HoldContext(parent context.Context, owner Owner) (context.Context, context.CancelFunc) {
	return h.lock.HoldContext(parent, h.of(owner))
}

// Token returns the fencing token of owner's hold: see [RLock.Token]. Readers and writers draw from one
// counter.
func (h *HalfLock) Token(owner Owner) (token int64, ok bool) { return h.lock.Token(h.of(owner)) }

// rwProtocols returns those of the client's read and write locks.
func rwProtocols(c *Client) (readers, writers protocol) {
	if p, ok := c.proto.(*hardened); ok {
		r := *p
		r.acquires, r.releases, r.forces, r.renews = rwAcquireHardened, rwReleaseHardened, rwForceHardened, rwRenewHardened
		w := r
		r.message, w.message = lastReader, writerLeft
		return &r, &w
	}
	return &rwReaders{&faithful{client: c, acquire: rwRead, unlocks: rwReadUnlock, latch: true, forces: rwForce,
			renews:  rwReadRenew,
			message: lastReader}},
		&faithful{client: c, acquire: rwWrite, unlocks: rwWriteUnlock, latch: true, forces: rwForce, renews: renewPlain,
			message: writerLeft}
}

// rwReaders is the faithful protocol of read locks.
type rwReaders struct{ *faithful }

// unlock also ends the renewal of a write lock that the owner holds, as Redisson does since 3.44.0.
func (r *rwReaders) unlock(ctx context.Context, l *RLock, owner Owner) (bool, error) {
	released, err := r.faithful.unlock(ctx, l, owner)
	r.client.holds.unwatchOne(holdKey{l.name, owner + writerSuffix})
	return released, err
}

// unwatchOne has the innermost hold that is renewed not be renewed any more.
func (hs *holds) unwatchOne(key holdKey) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.m[key]
	if h == nil {
		return
	}
	before := h.watched()
	for i := len(h.levels) - 1; i >= 0; i-- {
		if h.levels[i].watched {
			h.levels[i].watched = false
			break
		}
	}
	hs.count(before, h.watched())
}

// What a read-write lock publishes.
const (
	lastReader = "0" // one of those who wait may write
	writerLeft = "1" // all of those who wait may read
)

// sharers is how waiters for a read-write lock hear. After a broken subscription all of them look, for all of them may be readers.
var sharers = &manner{heard: sharersHeard, leaves: sharersLeave, resumed: wakeAll}

func sharersHeard(ch *channel, payload string) {
	switch payload {
	case lastReader:
		ch.wakeOne()
	case writerLeft:
		wakeAll(ch, ch.waiters)
	}
}

func sharersLeave(ch *channel, w *waiter, acquired bool) {
	if w.owes && !acquired || w.unread() {
		ch.wakeOne()
	}
}
