package lockimpl

import "context"

// Unlock takes back one of owner's holds. It reports whether that was the last one and the lock is
// free; (false, nil) says that owner still holds it, under a lease set anew to that of the hold
// that remains. An owner that does not hold the lock gets [ErrNotHeld], and nothing changes.
//
// The watchdog forgets the hold whatever the outcome, so that after an error the lock is free
// within its lease. There is one exception: if ctx ends while Unlock waits for an earlier request
// of owner on the lock, or for a connection, the hold is as it was. If ctx has ended before, Unlock sends nothing:
// give it one that lasts ([context.WithoutCancel]). Hardened then gives the hold back in the background, also while an earlier request
// of owner is under way.
//
// Generations: Classic and Combined decrement once for each copy that go-redis sends. Latch
// decrements once, unless a copy arrives after the latch was removed: Unlock removes it, as
// Redisson does, when it has the answer, but before it returns, so that the client's messages have
// an order; if that fails, the latch ends by itself. Current does as Latch, but one server gets its unlock once.
// Hardened decrements once. If its outcome is
// unknown, Hardened goes on trying in the background until the lease is over.
func (l *RLock) Unlock(ctx context.Context, owner Owner) (released bool, err error) {
	if owner == "" {
		return false, l.wrap("Unlock", owner, ErrBadOwner)
	}
	if err := l.begin(); err != nil {
		return false, l.wrap("Unlock", owner, err)
	}
	defer l.client.work.Done()
	over := ctx.Err() != nil
	if released, err = l.proto.unlock(ctx, l, owner); over {
		leaveUnbegun(0, l, owner, err)
	}
	return released, l.wrap("Unlock", owner, err)
}

// ForceUnlock frees the lock whoever holds it, and reports whether anybody did. It needs no owner:
// the holder's watchdog stops when it finds the hold gone, and the holder's unlock is refused.
//
// With the faithful generations, a copy that go-redis sends again after a network error frees the
// lock again, whoever got it meanwhile.
func (l *RLock) ForceUnlock(ctx context.Context) (bool, error) {
	if err := l.begin(); err != nil {
		return false, l.wrap("ForceUnlock", "", err)
	}
	defer l.client.work.Done()
	freed, err := l.proto.force(ctx, l)
	return freed, l.wrap("ForceUnlock", "", err)
}
