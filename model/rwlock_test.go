package model

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of every rule. Operations are executed at 10 s and ask for 30 s.
func TestRWLockStep(t *testing.T) {
	hard, redisson := RWLock{}, RWLock{Redisson: true, LastReader: true}
	hold := func(owner string, write bool, count int64, end time.Duration) RWHold {
		return RWHold{Owner: owner, Write: write, Count: count, life: life{end, end}}
	}
	reads := func(owner string, end time.Duration) RWHold { return hold(owner, false, 1, end) }
	writes := func(owner string, end time.Duration) RWHold { return hold(owner, true, 1, end) }
	is := func(holds ...RWHold) RWState { return rwState(holds) }
	rejects := RWLock{RefusesUpgrade: true}
	const c = "c3:1"
	for _, tt := range []struct {
		name string
		kind RWLock
		from RWState
		op   history.Op
		to   RWState
		rule contract.Rule
	}{
		{"a free lock is read", hard, is(), op(history.ReadLock, a, history.Acquired), is(reads(a, 40*sec)), ""},
		{"readers share", hard, is(reads(b, 20*sec)), op(history.TryRead, a, history.Acquired), is(reads(a, 40*sec), reads(b, 20*sec)), ""},
		{"a reader is refused for a reader", hard, is(reads(b, 20*sec)), op(history.TryRead, a, history.Busy), is(), contract.SharedIsBusy},
		{"a reader is refused a free lock", hard, is(), op(history.TryRead, a, history.Busy), is(), contract.SharedIsBusy},
		{"a reader beside a writer", hard, is(writes(b, 20*sec)), op(history.ReadLock, a, history.Acquired), is(), contract.ReadersWithReaders},
		{"a reader waits for a writer", hard, is(writes(b, 20*sec)), op(history.TryRead, a, history.Busy), is(writes(b, 20*sec)), ""},
		{"a writer reads", hard, is(writes(a, 20*sec)), op(history.ReadLock, a, history.Acquired), is(reads(a, 40*sec), writes(a, 20*sec)), ""},
		{"a reader reads again, and the lease is not shortened", hard, is(reads(a, 90*sec)), op(history.ReadLock, a, history.Acquired), is(hold(a, false, 2, 90*sec)), ""},
		{"a free lock is written", hard, is(), op(history.WriteLock, a, history.Acquired), is(writes(a, 40*sec)), ""},
		{"a writer beside a writer", hard, is(writes(b, 20*sec)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"a writer beside a reader", hard, is(reads(b, 20*sec)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"a writer beside a reader whose lease is over", hard, is(reads(b, 9*sec)), op(history.WriteLock, a, history.Acquired), is(writes(a, 40*sec)), ""},
		{"a writer waits for a reader whose lease is over", hard, is(reads(b, 9*sec)), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"a writer waits for one whose key others keep", redisson, is(reads(b, 9*sec), reads(c, 20*sec)), op(history.TryWrite, a, history.Busy),
			is(reads(b, 9*sec), reads(c, 20*sec)), ""},
		{"who reads becomes a writer", hard, is(reads(a, 20*sec)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"who reads is told", hard, is(reads(a, 20*sec)), op(history.WriteLock, a, history.Rejected), is(reads(a, 20*sec)), ""},
		{"who reads waits for itself", redisson, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(reads(a, 20*sec)), ""},
		{"who does not read is told that it does", hard, is(), op(history.WriteLock, a, history.Rejected), is(), contract.UpgradeOfAReader},
		{"a reader would write, and waits for itself", hard, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(reads(a, 20*sec)), ""},
		{"a reader would write, and is to be rejected", rejects, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"a reader would write, and is", rejects, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Rejected), is(reads(a, 20*sec)), ""},
		{"a reader would write beside another", rejects, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.TryWrite, a, history.Busy), is(reads(a, 20*sec), reads(b, 20*sec)), ""},
		{"who writes is refused", hard, is(writes(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"who writes and reads writes again", hard, is(reads(a, 20*sec), writes(a, 20*sec)), op(history.TryWrite, a, history.Acquired),
			is(reads(a, 20*sec), hold(a, true, 2, 40*sec)), ""},
		{"redisson adds leases", redisson, is(writes(a, 20*sec)), op(history.TryWrite, a, history.Acquired), is(hold(a, true, 2, 50*sec)), ""},
		{"an unknown attempt that got it", hard, is(), op(history.WriteLock, a, history.Unknown), is(writes(a, 40*sec)), ""},
		{"an unknown attempt that did not", hard, is(writes(b, 20*sec)), op(history.WriteLock, a, history.Unknown), is(writes(b, 20*sec)), ""},
		{"a failed attempt", hard, is(), op(history.WriteLock, a, history.Failed), is(), ""},

		{"a reader leaves", hard, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released), is(reads(b, 20*sec)), ""},
		{"a reader leaves others behind", redisson, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Decremented), is(reads(b, 20*sec)), ""},
		{"a reader leaves others behind, but is told that nobody is there", redisson, is(reads(a, 20*sec), reads(b, 20*sec)),
			op(history.ReadUnlock, a, history.Released), is(), contract.SharedIsReleased},
		{"the last reader leaves, and is told of others", redisson, is(reads(a, 20*sec)), op(history.ReadUnlock, a, history.Decremented), is(), contract.SharedIsReleased},
		{"the last reader leaves", redisson, is(reads(a, 20*sec)), op(history.ReadUnlock, a, history.Released), is(), ""},
		{"two holds end with one unlock", hard, is(hold(a, false, 2, 20*sec)), op(history.ReadUnlock, a, history.Released), is(), contract.SharedIsReleased},
		{"a writer's unlock leaves its reads", hard, is(reads(a, 20*sec), writes(a, 20*sec)), op(history.WriteUnlock, a, history.Released), is(reads(a, 20*sec)), ""},
		{"a writer's inner unlock", hard, is(hold(a, true, 2, 20*sec)), op(history.WriteUnlock, a, history.Decremented), is(writes(a, 40*sec)), ""},
		{"another unlocks", hard, is(writes(b, 20*sec)), op(history.WriteUnlock, a, history.Released), is(), contract.SharedIsHeld},
		{"a reader unlocks as a writer", hard, is(reads(a, 20*sec)), op(history.WriteUnlock, a, history.Released), is(), contract.SharedIsHeld},
		{"another is refused", hard, is(writes(b, 20*sec)), op(history.WriteUnlock, a, history.NotHeld), is(writes(b, 20*sec)), ""},
		{"the holder is refused", hard, is(writes(a, 20*sec)), op(history.WriteUnlock, a, history.NotHeld), is(), contract.SharedNotRefused},
		{"whose lease is over is refused", hard, is(reads(a, 9*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.NotHeld), is(reads(b, 20*sec)), ""},
		{"whose lease is over unlocks", hard, is(reads(a, 9*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released), is(), contract.SharedIsHeld},
		{"whose lease is over unlocks, in redisson", redisson, is(reads(a, 9*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Decremented),
			is(reads(b, 20*sec)), ""},
		{"the last whose lease lasts unlocks, in redisson", RWLock{Redisson: true}, is(reads(a, 20*sec), reads(b, 9*sec)), op(history.ReadUnlock, a, history.Released), is(), ""},
		{"a writer keeps the key, in redisson", RWLock{Redisson: true}, is(reads(a, 20*sec), writes(b, 9*sec)), op(history.ReadUnlock, a, history.Released), is(writes(b, 9*sec)), ""},

		{"renewed", hard, is(reads(a, 20*sec)), op(history.RenewRead, a, history.Renewed), is(reads(a, 40*sec)), ""},
		{"a stranger is renewed", hard, is(reads(b, 20*sec)), op(history.RenewRead, a, history.Renewed), is(), contract.SharedIsHeld},
		{"the holder's renewal is refused", hard, is(writes(a, 20*sec)), op(history.RenewWrite, a, history.NotHeld), is(), contract.SharedNotRefused},
		{"counted", hard, is(hold(a, false, 2, 20*sec)), query(history.ReadCount, a, 2), is(hold(a, false, 2, 20*sec)), ""},
		{"counted wrong", hard, is(hold(a, false, 2, 20*sec)), query(history.ReadCount, a, 1), is(), contract.SharedTellsTruth},
		{"counted as the other", hard, is(reads(a, 20*sec)), query(history.WriteCount, a, 1), is(), contract.SharedTellsTruth},
		{"another object's business", hard, is(reads(a, 20*sec)), op(history.CountDown, a, history.OK), is(reads(a, 20*sec)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.from
			got, err := tt.kind.Step(tt.from, tt.op)
			stepped(t, got, err, tt.to, tt.rule)
			if tt.from != before {
				t.Error("the argument was changed")
			}
		})
	}
	both := is(reads(a, 9*sec), reads(b, 20*sec))
	s, err := hard.Environment(both, history.Event{Kind: history.Expire, At: 9 * sec, Owner: a})
	stepped(t, s, err, is(reads(b, 20*sec)), "")
	_, err = hard.Environment(both, history.Event{Kind: history.Expire, At: 9 * sec})
	stepped(t, s, err, s, contract.NotBeforeLease) // a writer's lease that a read unlock cut ends like this
	_, err = hard.Environment(is(), history.Event{Kind: history.Expire, At: 9 * sec})
	stepped(t, s, err, s, contract.ExpiryOfAHold)
	s, err = hard.Environment(both, history.Event{Kind: history.Delete})
	stepped(t, s, err, is(), "")
	if got, want := is(hold(a, false, 2, sec), writes(b, sec)).String(), "c1:1 reads 2 times, c2:1 writes"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
