package model

import (
	"errors"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of every rule that a fair lock has of its own. Operations are executed at 10 s and ask for 30 s.
func TestFairStep(t *testing.T) {
	hard, redisson := Fair{}, Fair{Redisson: true}
	is := func(lock State, queue ...string) FairState { return FairState{Lock: lock}.with(queue) }
	mine, other := held(a, 1, 40*sec), held(b, 1, 20*sec)
	const c = "c3:1"
	for _, tt := range []struct {
		name string
		kind Fair
		from FairState
		op   history.Op
		to   FairState
		rule contract.Rule
	}{
		{"free", hard, is(free), op(history.TryLock, a, history.Acquired), is(mine), ""},
		{"held", hard, is(other), op(history.TryLock, a, history.Busy), is(other), ""},
		{"held, and granted", hard, is(other), op(history.TryLock, a, history.Acquired), is(free), contract.OneHolder},
		{"free, but waited for", hard, is(free, b), op(history.TryLock, a, history.Busy), is(free, b), ""},
		{"free, waited for, and granted to one who comes", hard, is(free, b), op(history.TryLock, a, history.Acquired), is(free), contract.QueueOrder},
		{"free, and refused", hard, is(free), op(history.TryLock, a, history.Busy), is(free), contract.QueueBusy},
		{"free, and refused to the first", hard, is(free, a, b), op(history.Grant, a, history.Busy), is(free), contract.QueueBusy},
		{"refused to its holder", hard, is(mine, b), op(history.TryLock, a, history.Busy), is(free), contract.QueueBusy},
		{"its holder need not wait", hard, is(mine, b), op(history.TryLock, a, history.Acquired), is(held(a, 2, 40*sec), b), ""},
		{"who comes waits", hard, is(other, c), op(history.Enqueue, a, history.Busy), is(other, c, a), ""},
		{"who waits does not do so twice", hard, is(other, a, c), op(history.Enqueue, a, history.Busy), is(other, a, c), ""},
		{"who comes to a free lock has it", hard, is(free), op(history.Enqueue, a, history.Acquired), is(mine), ""},
		{"the first is granted", hard, is(free, a, c), op(history.Grant, a, history.Acquired), is(mine, c), ""},
		{"the second is granted", hard, is(free, c, a), op(history.Grant, a, history.Acquired), is(free), contract.QueueOrder},
		{"the second waits on", hard, is(free, c, a), op(history.Grant, a, history.Busy), is(free, c, a), ""},
		{"who has no place is granted", hard, is(free), op(history.Grant, a, history.Acquired), is(free), contract.QueuePlace},
		{"busy after the deadline", hard, is(held(b, 1, 9*sec)), op(history.Enqueue, a, history.Busy), is(free), contract.NotAfterLease},
		{"an unknown wait", hard, is(other), op(history.Enqueue, a, history.Unknown), is(other, a), ""},
		{"an unknown grant", hard, is(free, a), op(history.Grant, a, history.Unknown), is(mine), ""},
		{"a failed one", hard, is(other), op(history.Enqueue, a, history.Failed), is(other), ""},
		{"who leaves", hard, is(other, a, c), op(history.Leave, a, history.OK), is(other, c), ""},
		{"who leaves without a place", hard, is(other, c), op(history.Leave, a, history.OK), is(other, c), ""},
		{"unlocked", hard, is(held(a, 1, 20*sec), c), op(history.Unlock, a, history.Released), is(free, c), ""},
		{"a free lock is unlocked", hard, is(free, c), op(history.Unlock, a, history.Released), is(free), contract.HolderReleases},
		{"a free lock is unlocked, in redisson", redisson, is(free, c), op(history.Unlock, a, history.Released), is(free, c), ""},
		{"a free lock's unlock is refused, in redisson", redisson, is(free), op(history.Unlock, a, history.NotHeld), is(free), contract.HolderReleases},
		{"another's lock is unlocked, in redisson", redisson, is(other), op(history.Unlock, a, history.Released), is(free), contract.HolderReleases},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			var illegal *Illegal
			if errors.As(err, &illegal) {
				err = &Violation{Rule: illegal.Rule, State: tt.from, Op: tt.op}
			}
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
	s, err := hard.Environment(is(free, c, a), history.Event{Kind: history.GivenUp, Owner: c})
	stepped(t, s, err, is(free, a), "")
	_, err = hard.Environment(is(free, c), history.Event{Kind: history.GivenUp, Owner: a})
	stepped(t, s, err, s, contract.QueuePlace)
	s, err = hard.Environment(is(held(b, 1, 9*sec), a), history.Event{Kind: history.Expire, At: 9 * sec})
	stepped(t, s, err, is(free, a), "")
}
