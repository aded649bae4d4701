package lockimpl

import "context"

// FencedLock is an [RLock] whose tokens come from a counter that is never forgotten: Redisson's
// RFencedLock, on the same keys. The counter has no expiry and outlives the lock's key and
// [RLock.ForceUnlock]; it costs one small key per name for ever (redisson#6510). The tokens of one
// resource must come from one kind of lock: RLock and FencedLock of one name exclude each other but
// count apart.
//
// A resource that remembers the highest token that it has seen, and refuses lower ones, is safe
// from holders that do not know that they are none any more (M. Kleppmann, "How to do distributed
// locking", 2016). That lasts as long as the counter: a failover to a replica that lags, or a
// restart without data, can repeat tokens.
//
// Differences from Redisson: a token is given by grant, not by re-entry, and [RLock.Token] is the
// owner's own, not the latest of anybody. Clients of both kinds can be mixed.
type FencedLock struct{ *RLock }

// FencedLock returns the fenced lock of that name. It needs generation Hardened; in clients of
// others its operations return [ErrGeneration].
func (c *Client) FencedLock(name string) *FencedLock {
	l := c.Lock(name)
	l.counterArg = prefixed("redisson_lock_token", name)
	l.fenced = true
	if _, ok := c.proto.(*hardened); !ok && l.bad == nil {
		l.bad = ErrGeneration
	}
	return &FencedLock{l}
}

// LockAndGetToken is [RLock.Lock] and the hold's token.
func (f *FencedLock) LockAndGetToken(ctx context.Context, owner Owner, opts ...Option) (int64, error) {
	if err := f.Lock(ctx, owner, opts...); err != nil {
		return 0, err
	}
	return f.tokenOrLost("Lock", owner)
}

// TryLockAndGetToken is [RLock.TryLock] and the hold's token; false: the lock was not acquired.
func (f *FencedLock) TryLockAndGetToken(ctx context.Context, owner Owner, opts ...Option) (int64, bool, error) {
	ok, err := f.TryLock(ctx, owner, opts...)
	if !ok || err != nil {
		return 0, false, err
	}
	token, err := f.tokenOrLost("TryLock", owner)
	return token, err == nil, err
}

func (f *FencedLock) tokenOrLost(op string, owner Owner) (int64, error) {
	token, ok := f.Token(owner)
	if !ok { // a lease so short that it is over
		return 0, f.wrap(op, owner, ErrLost)
	}
	return token, nil
}
