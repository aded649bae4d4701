package lockimpl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MultiLock takes several locks, all or none of them. The locks may be of different clients, and so
// on different servers.
//
// Where the locks are of one client of generation [Hardened], on one server or in one Cluster slot,
// one script takes them all and one gives them back. Otherwise they are taken one after the other,
// in the order of their names, and if one cannot be had, or the time that was spent has used up the
// lease of one, those taken are given back. Nobody holds a lock while waiting for another, so
// MultiLocks over the same locks in different orders do not wait for each other for ever. A call that
// is refused at one lock after another waits up to 20 ms, by default, before it asks again.
//
// Each member is an ordinary hold of its lock, renewed like any other. The guarantee is that all
// were held at one time, when Lock returned; [MultiLock.Lost] tells when it ends.
type MultiLock struct {
	members []*RLock
	one     *hardened // can take all by one script; nil: cannot
	holds   groupHolds
}

// NewMultiLock returns a lock over locks, which must be at least one, and no two the same.
func NewMultiLock(locks ...*RLock) (*MultiLock, error) {
	if len(locks) == 0 {
		return nil, errors.New("lockimpl: a MultiLock needs locks")
	}
	m := &MultiLock{members: slices.Clone(locks)}
	slices.SortStableFunc(m.members, func(a, b *RLock) int { return strings.Compare(a.name, b.name) })
	for i, l := range m.members {
		if l == nil {
			return nil, errors.New("lockimpl: a MultiLock of a nil lock")
		}
		if i > 0 && l.client == m.members[i-1].client && l.name == m.members[i-1].name {
			return nil, fmt.Errorf("lockimpl: a MultiLock of lock %q twice", l.name)
		}
	}
	m.one = oneScriptFor(m.members)
	return m, nil
}

// oneScriptFor returns the protocol by which one script can take all locks, or nil.
func oneScriptFor(locks []*RLock) *hardened {
	c := locks[0].client
	p, ok := c.proto.(*hardened)
	if !ok {
		return nil
	}
	for _, l := range locks {
		if l.client != c || l.proto != c.proto || l.bad != nil || l.fenced != locks[0].fenced {
			return nil
		}
		if !c.oneServer() && hashTag(l.name) != hashTag(locks[0].name) {
			return nil
		}
	}
	return p
}

// Lock takes all locks for owner and waits for them as long as ctx lasts. Lease and errors are as
// with [RLock.Lock]. [ErrElapsed] says that taking them took longer than the lease.
func (m *MultiLock) Lock(ctx context.Context, owner Owner, opts ...Option) error {
	co, err := m.members[0].client.opts.call(opts)
	if err == nil && co.bounded {
		err = ErrBadWait
	}
	if err == nil {
		_, err = m.take(ctx, owner, co)
	}
	return m.wrap("Lock", owner, err)
}

// TryLock takes all locks for owner if that can be done within [Wait], and reports whether it did. Generation Hardened
// awaits a request that is under way when the time is over a little longer, as [RLock.TryLock] does.
func (m *MultiLock) TryLock(ctx context.Context, owner Owner, opts ...Option) (bool, error) {
	co, err := m.members[0].client.opts.call(opts)
	if err != nil {
		return false, m.wrap("TryLock", owner, err)
	}
	co.bounded = true
	ok, err := m.take(ctx, owner, co)
	return ok, m.wrap("TryLock", owner, err)
}

func (m *MultiLock) take(ctx context.Context, owner Owner, co callOptions) (acquired bool, err error) {
	if owner == "" {
		return false, ErrBadOwner
	}
	end, err := beginAll(m.members)
	if err != nil {
		return false, err
	}
	defer end()
	wait := waiting{bounded: co.bounded, deadline: time.Now().Add(co.wait)}
	defer func() { wait.end(acquired) }()
	first := m.members[0]
	_, hard := first.proto.(*hardened)
	attempting, cancel := first.client.attempting(ctx, hard && co.wait > 0, wait.deadline)
	defer cancel()
	for moves := 0; ; {
		again := time.Now().Before(allUntil(m.members, owner))
		busy, ttl, err := m.attempt(attempting, owner, co)
		if err != nil {
			return false, noReply(attempting, err)
		}
		if ttl == granted {
			m.holds.granted(owner, again, nil, func(o Owner) time.Time { return allUntil(m.members, o) })
			return true, nil
		}
		if at := busy.waitsAt(owner); wait.place != at {
			wait.end(false)
			wait.place, wait.w = at, nil
			if moves++; moves > 2 { // other groups take the locks in turn, too
				step := m.stepBack(moves)
				if wait.bounded {
					step = min(step, time.Until(wait.deadline))
				}
				if _, err := wait.pause(ctx, nil, step, func() (bool, error) { return true, nil }); err != nil {
					return false, err
				}
			}
		}
		if again, err := wait.next(ctx, ttl); !again {
			return false, err
		}
	}
}

// stepBack is how long a call does nothing that was refused at so many locks in turn, at random: two that give back what they took wake each
// other, and neither gets to wait for the lock that somebody holds.
func (m *MultiLock) stepBack(moves int) time.Duration {
	c := m.members[0].client
	var b [8]byte
	if c.random(b[:]) != nil {
		return 0
	}
	most := min(time.Millisecond<<min(moves, 16), c.opts.ResponseTimeout/150)
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(max(most, 1)))
}

// attempt takes all locks (granted), or none and says which one is busy for how long.
func (m *MultiLock) attempt(ctx context.Context, owner Owner, co callOptions) (*RLock, time.Duration, error) {
	if m.one != nil {
		return m.one.attemptAll(ctx, m.members, owner, co)
	}
	for i, l := range m.members {
		lease := co
		if lease.watched {
			lease.lease = l.client.opts.WatchdogTimeout
		}
		ttl, err := l.proto.attempt(ctx, l, owner, lease)
		if err == nil && ttl == granted && !time.Now().Before(allUntil(m.members[:i+1], owner)) {
			i++ // this one is to be given back, too
			err = ErrElapsed
		}
		if err != nil || ttl != granted {
			back, cancel := l.givesBack(ctx)
			unlockEach(back, m.members[:i], owner)
			cancel()
			return l, ttl, err
		}
	}
	return nil, granted, nil
}

// givesBack is the context in which what an attempt took is given back: giving back must not fail because taking did. Of locks that go on
// with it in the background it does not last long if the attempt's was to end.
func (l *RLock) givesBack(attempt context.Context) (context.Context, context.CancelFunc) {
	back := context.WithoutCancel(attempt)
	ends, bounded := attempt.Deadline()
	if _, hard := l.proto.(*hardened); !hard || !bounded && attempt.Err() == nil {
		return back, func() {}
	}
	if soon := time.Now().Add(l.client.opts.grace()); attempt.Err() != nil || ends.Before(soon) {
		ends = soon
	}
	return context.WithDeadline(back, ends)
}

// allUntil returns until when owner may count on all of locks, the zero time if it does not hold one.
func allUntil(locks []*RLock, owner Owner) time.Time {
	least := locks[0].client.holds.until(locks[0], owner)
	for _, l := range locks[1:] {
		if ends := l.client.holds.until(l, owner); ends.Before(least) {
			least = ends
		}
	}
	return least
}

// Unlock takes back one of owner's holds of each lock. It tries them all, whatever becomes of the
// others, and returns how many it took back; the error, if that is not all, joins an [*Error] for
// each of the others ([ErrNotHeld] for those that were lost before).
func (m *MultiLock) Unlock(ctx context.Context, owner Owner) (unlocked int, err error) {
	results, err := m.UnlockMembers(ctx, owner)
	if err != nil {
		return 0, err
	}
	return tookBack(results)
}

// Unlocked is what an unlock of several locks did to one of them.
type Unlocked struct {
	Released bool  // owner holds the lock no more: the hold that was taken back was its last
	Left     bool  // the lock was not asked, for it has none of the hold that was given back: owner has an outer one
	Err      error // nil: one hold was taken back, or left; otherwise an [*Error], as [RLock.Unlock] returns it
}

// tookBack counts the holds that were taken back, and joins the errors.
func tookBack(results []Unlocked) (unlocked int, err error) {
	var failed []error
	for _, r := range results {
		switch {
		case r.Err != nil:
			failed = append(failed, r.Err)
		case !r.Left:
			unlocked++
		}
	}
	return unlocked, joinMembers(failed...)
}

// UnlockMembers is [MultiLock.Unlock], but returns what it did to each lock, in the order of their
// names. The error says that nothing was tried.
func (m *MultiLock) UnlockMembers(ctx context.Context, owner Owner) ([]Unlocked, error) {
	if owner == "" {
		return nil, m.wrap("Unlock", owner, ErrBadOwner)
	}
	end, err := beginAll(m.members)
	if err != nil {
		return nil, m.wrap("Unlock", owner, err)
	}
	defer end()
	_, back := m.holds.unlocking(owner)
	if m.one != nil {
		results, err := m.one.unlockAll(ctx, m.members, owner)
		if err != nil {
			back()
		}
		return results, err
	}
	return unlockEach(ctx, m.members, owner), nil
}

func unlockEach(ctx context.Context, locks []*RLock, owner Owner) []Unlocked {
	results := make([]Unlocked, len(locks))
	for i, l := range locks {
		released, err := l.proto.unlock(ctx, l, owner)
		results[i] = Unlocked{Released: released, Err: l.wrap("Unlock", owner, err)}
	}
	leaveRest(results, locks, owner)
	return results
}

// notBegun is the error of an unlock that was given up while it waited for an earlier request of its owner, or for a
// connection.
type notBegun struct {
	error
	p *hardened
}

func (e *notBegun) Unwrap() error { return e.error }

// leave forgets the innermost hold of an owner, while another request of it may be under way. The server counts it still: that is
// settled in the background. The lock is the n-th of several.
func (e *notBegun) leave(n int, l *RLock, owner Owner) {
	hs := e.p.client.holds
	hs.mu.Lock()
	h := hs.m[holdKey{l.name, owner}]
	hs.mu.Unlock()
	if h != nil {
		e.p.unlockFailedNth(n, l, h, e.error)
	}
}

// leaveRest forgets the innermost hold of each member whose unlock did not begin. That of another may have: the caller
// does not unlock the whole again.
func leaveRest(results []Unlocked, locks []*RLock, owner Owner) {
	for i, l := range locks {
		leaveUnbegun(i, l, owner, results[i].Err)
	}
}

// leaveUnbegun forgets the innermost hold of the n-th of several locks if its unlock did not begin.
func leaveUnbegun(n int, l *RLock, owner Owner, err error) {
	var waited *notBegun
	if errors.As(err, &waited) {
		waited.leave(n, l, owner)
	}
}

// IsHeldBy reports whether owner holds all of the locks.
func (m *MultiLock) IsHeldBy(ctx context.Context, owner Owner) (bool, error) {
	for _, l := range m.members {
		if held, err := l.IsHeldBy(ctx, owner); !held || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Lost returns a channel that is closed when owner holds one of the locks no more, as [RLock.Lost] tells of it. The last unlock does
// not close it; one that leaves owner a hold of some of the locks does. If owner does not hold all, it is closed already. Unlock all the
// same, once for each grant: what is left of the locks is renewed until then. The faithful generations do not tell: they return nil.
func (m *MultiLock) Lost(owner Owner) <-chan struct{} { return m.holds.lost(m.members, owner, 1) }

// HoldContext returns a context for work under owner's holds, which ends when one of them does: see
// [RLock.HoldContext].
func (m *MultiLock) HoldContext(parent context.Context, owner Owner) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	cancels := []context.CancelFunc{cancel}
	for _, l := range m.members {
		ctx, cancel = l.HoldContext(ctx, owner)
		cancels = append(cancels, cancel)
	}
	return ctx, func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// beginAll admits an operation to the clients of all locks.
func beginAll(locks []*RLock) (end func(), err error) {
	for i, l := range locks {
		if err := l.begin(); err != nil {
			for _, begun := range locks[:i] {
				begun.client.work.Done()
			}
			return nil, err
		}
	}
	return func() {
		for _, l := range locks {
			l.client.work.Done()
		}
	}, nil
}

func (m *MultiLock) wrap(op string, owner Owner, err error) error {
	if err == nil {
		return nil
	}
	names := make([]string, len(m.members))
	for i, l := range m.members {
		names[i] = l.name
	}
	return &Error{Op: op, Lock: strings.Join(names, "+"), Owner: owner, Err: err}
}
