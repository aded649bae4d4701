package subjects

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// All implements [MultiLocker] with lockimpl's MultiLock.
func (c rlockClient) All(locks []Lock) (Lock, error) {
	members, err := rlocks(locks)
	if err != nil {
		return nil, err
	}
	m, err := lockimpl.NewMultiLock(members...)
	return allOf{several{m, members, len(members), false}, m}, err
}

// Quorum implements [MultiLocker] with lockimpl's RedLock.
func (c rlockClient) Quorum(locks []Lock) (Lock, error) {
	members, err := rlocks(locks)
	if err != nil {
		return nil, err
	}
	r, err := lockimpl.NewRedLock(members...)
	return several{r, members, len(members)/2 + 1, true}, err
}

func rlocks(locks []Lock) ([]*lockimpl.RLock, error) {
	var members []*lockimpl.RLock
	for _, l := range locks {
		r, _ := l.(rlockLock)
		member, ok := r.l.(*lockimpl.RLock)
		if !ok {
			return nil, fmt.Errorf("subjects: a %T cannot be a member of a reference lock", l)
		}
		members = append(members, member)
	}
	return members, nil
}

// allOf is a MultiLock.
type allOf struct {
	several
	m *lockimpl.MultiLock
}

func (a allOf) HoldContext(parent context.Context, owner string) (context.Context, context.CancelFunc) {
	return a.m.HoldContext(parent, lockimpl.Owner(owner))
}

// several is a MultiLock or a RedLock.
type several struct {
	l interface {
		Lock(ctx context.Context, owner lockimpl.Owner, opts ...lockimpl.Option) error
		TryLock(ctx context.Context, owner lockimpl.Owner, opts ...lockimpl.Option) (bool, error)
		UnlockMembers(ctx context.Context, owner lockimpl.Owner) ([]lockimpl.Unlocked, error)
		Lost(owner lockimpl.Owner) <-chan struct{}
	}
	members []*lockimpl.RLock
	quorum  int
	red     bool
}

func (s several) Acquire(ctx context.Context, owner string, r Request) Answer {
	o := lockimpl.Owner(owner)
	var opts []lockimpl.Option
	if r.Lease > 0 {
		opts = append(opts, lockimpl.Lease(r.Lease))
	}
	got, err := true, error(nil)
	if r.Forever {
		err = s.l.Lock(ctx, o, opts...)
	} else {
		if r.Wait > 0 {
			opts = append(opts, lockimpl.Wait(r.Wait))
		}
		got, err = s.l.TryLock(ctx, o, opts...)
	}
	switch {
	case errors.Is(err, lockimpl.ErrElapsed), s.red && (!got || err != nil):
		// Enough members may have held it for a while, of which some answered too late, until that was given back.
		return Answer{Outcome: history.Unknown, Err: cmp.Or(err, errNotAll)}
	case err != nil:
		return failure(err)
	case !got:
		return Answer{Outcome: history.Failed, Err: errNotAll}
	}
	return Answer{Outcome: history.Acquired}
}

// errNotAll says that too few members could be had. That is not history.Busy: nobody need hold the
// others' whole.
var errNotAll = errors.New("too few members could be had")

// Release answers for the whole, from what became of each member. The owner held the whole if it held
// enough members, and holds it still if it does so still. Where some members were lost, or did not
// answer, the answer may be open: a member may have been lost before the call or within it.
func (s several) Release(ctx context.Context, owner string) Answer {
	results, err := s.l.UnlockMembers(ctx, lockimpl.Owner(owner))
	if err != nil {
		return failure(err)
	}
	var released, held, lost int // the rest did not answer
	for _, r := range results {
		switch {
		case errors.Is(r.Err, lockimpl.ErrNotHeld), errors.Is(r.Err, lockimpl.ErrLost):
			lost++
		case r.Err != nil:
		case r.Released:
			released++
		default: // also a member that was left alone
			held++
		}
		err = errors.Join(err, r.Err)
	}
	silent := len(results) - released - held - lost
	switch {
	case held >= s.quorum:
		return Answer{Outcome: history.Decremented, Err: err}
	case released+held >= s.quorum && held+silent < s.quorum:
		return Answer{Outcome: history.Released, Err: err}
	case lost == len(results):
		return Answer{Outcome: history.NotHeld, Err: err}
	}
	return Answer{Outcome: history.Unknown, Err: err}
}

// Lost is closed when so many members are lost that the rest is none.
func (s several) Lost(owner string) <-chan struct{} { return s.l.Lost(lockimpl.Owner(owner)) }
