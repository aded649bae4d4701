package model

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of every rule. Operations are executed at 10 s and ask for 30 s.
func TestRWLockStep(t *testing.T) {
	hard := RWLock{}
	hold := func(owner string, write bool, count int64, end time.Duration) RWHold {
		return RWHold{Owner: owner, Write: write, Count: count, life: life{end, end}}
	}
	reads := func(owner string, end time.Duration) RWHold { return hold(owner, false, 1, end) }
	writes := func(owner string, end time.Duration) RWHold { return hold(owner, true, 1, end) }
	is := func(holds ...RWHold) RWState { return rwState(holds) }
	rejects, once, upgrades := RWLock{RefusesUpgrade: true}, RWLock{Mutex: true}, RWLock{Upgrades: true}
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
		{"a writer beside a reader whose lease ends within the server's millisecond", hard, is(reads(b, 10*sec+sec/2000)), op(history.WriteLock, a, history.Acquired), is(writes(a, 40*sec)), ""},
		{"a writer beside a reader whose lease ends two milliseconds later", hard, is(reads(b, 10*sec+sec/500)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"a writer waits for a reader whose lease is over", hard, is(reads(b, 9*sec)), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"who reads becomes a writer", hard, is(reads(a, 20*sec)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"who reads becomes a writer of a lock that upgrades, and reads on", upgrades, is(reads(a, 20*sec)), op(history.WriteLock, a, history.Acquired), is(reads(a, 20*sec), writes(a, 40*sec)), ""},
		{"and beside another it does not", upgrades, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.WriteLock, a, history.Acquired), is(), contract.WritersAlone},
		{"and need not", upgrades, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(reads(a, 20*sec)), ""},
		{"who reads is told", hard, is(reads(a, 20*sec)), op(history.WriteLock, a, history.Rejected), is(reads(a, 20*sec)), ""},
		{"who does not read is told that it does", hard, is(), op(history.WriteLock, a, history.Rejected), is(), contract.UpgradeOfAReader},
		{"a reader would write, and waits for itself", hard, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(reads(a, 20*sec)), ""},
		{"a reader would write, and is to be rejected", rejects, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(), contract.UpgradeIsRefused},
		{"a reader would write, and is", rejects, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Rejected), is(reads(a, 20*sec)), ""},
		{"a reader would write, and nobody knows what became of it", rejects, is(reads(a, 20*sec)), op(history.TryWrite, a, history.Unknown), is(reads(a, 20*sec)), ""},
		{"a reader would write beside another", rejects, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.TryWrite, a, history.Busy), is(), contract.UpgradeIsRefused},
		{"who writes is refused", hard, is(writes(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"who writes is refused a lock that it can have once", once, is(writes(a, 20*sec)), op(history.TryWrite, a, history.Busy), is(writes(a, 20*sec)), ""},
		{"who writes is refused to read a lock that it can have once", once, is(writes(a, 20*sec)), op(history.TryRead, a, history.Busy), is(writes(a, 20*sec)), ""},
		{"who reads is granted anew what it can have once", once, is(reads(a, 20*sec)), op(history.ReadLock, a, history.Acquired), is(reads(a, 40*sec)), ""},
		{"who has nothing is refused a lock that it can have once", once, is(), op(history.TryWrite, a, history.Busy), is(), contract.SharedIsBusy},
		{"who writes and reads writes again", hard, is(reads(a, 20*sec), writes(a, 20*sec)), op(history.TryWrite, a, history.Acquired),
			is(reads(a, 20*sec), hold(a, true, 2, 40*sec)), ""},
		{"an unknown attempt that got it", hard, is(), op(history.WriteLock, a, history.Unknown), is(writes(a, 40*sec)), ""},
		{"an unknown attempt that did not", hard, is(writes(b, 20*sec)), op(history.WriteLock, a, history.Unknown), is(writes(b, 20*sec)), ""},
		{"a failed attempt", hard, is(), op(history.WriteLock, a, history.Failed), is(), ""},

		{"a reader leaves", hard, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released), is(reads(b, 20*sec)), ""},
		{"two holds end with one unlock", hard, is(hold(a, false, 2, 20*sec)), op(history.ReadUnlock, a, history.Released), is(), contract.SharedIsReleased},
		{"a writer's unlock leaves its reads", hard, is(reads(a, 20*sec), writes(a, 20*sec)), op(history.WriteUnlock, a, history.Released), is(reads(a, 20*sec)), ""},
		{"a writer's inner unlock", hard, is(hold(a, true, 2, 20*sec)), op(history.WriteUnlock, a, history.Decremented), is(writes(a, 40*sec)), ""},
		{"another unlocks", hard, is(writes(b, 20*sec)), op(history.WriteUnlock, a, history.Released), is(), contract.SharedIsHeld},
		{"a reader unlocks as a writer", hard, is(reads(a, 20*sec)), op(history.WriteUnlock, a, history.Released), is(), contract.SharedIsHeld},
		{"another is refused", hard, is(writes(b, 20*sec)), op(history.WriteUnlock, a, history.NotHeld), is(writes(b, 20*sec)), ""},
		{"the holder is refused", hard, is(writes(a, 20*sec)), op(history.WriteUnlock, a, history.NotHeld), is(), contract.SharedNotRefused},
		{"whose lease is over is refused", hard, is(reads(a, 9*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.NotHeld), is(reads(b, 20*sec)), ""},
		{"whose lease is over unlocks", hard, is(reads(a, 9*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released), is(), contract.SharedIsHeld},

		{"readers are forced away", hard, is(reads(a, 20*sec), reads(b, 20*sec)), op(history.ForceRead, a, history.Released), is(), ""},
		{"readers are forced away, and who writes and reads writes on", hard, is(reads(b, 20*sec), writes(b, 20*sec)), op(history.ForceRead, a, history.Released), is(writes(b, 20*sec)), ""},
		{"a writer is forced away, and reads on", hard, is(reads(b, 20*sec), writes(b, 20*sec)), op(history.ForceWrite, a, history.Released), is(reads(b, 20*sec)), ""},
		{"there is no reader to force away", hard, is(writes(b, 20*sec)), op(history.ForceRead, a, history.NotHeld), is(writes(b, 20*sec)), ""},
		{"there is a reader to force away", hard, is(reads(b, 20*sec)), op(history.ForceRead, a, history.NotHeld), is(), contract.ForceTellsTruth},
		{"nobody is forced away", hard, is(), op(history.ForceWrite, a, history.Released), is(), contract.ForceTellsTruth},
		{"readers are forced away, and nobody knows", hard, is(reads(b, 20*sec)), op(history.ForceRead, a, history.Unknown), is(), ""},
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

// Both sides of what only Redisson's lock does. Operations are executed at 10 s and ask for 30 s.
func TestRedissonRWLockStep(t *testing.T) {
	plain, last := RWLock{Redisson: true}, RWLock{Redisson: true, LastReader: true}
	reads := func(owner string, ends ...time.Duration) RWHold {
		h := RWHold{Owner: owner, Count: int64(len(ends))}
		for _, end := range ends {
			h.each = append(h.each, life{end, end})
		}
		return h
	}
	maybe := func(owner string, from, to time.Duration) RWHold {
		return RWHold{Owner: owner, Count: 1, each: []life{{from, to}}}
	}
	writes := func(owner string, count int64) RWHold { return RWHold{Owner: owner, Write: true, Count: count} }
	between := func(from, to time.Duration, holds ...RWHold) RWState {
		s := rwState(holds)
		s.end = life{from, to}
		return s
	}
	key := func(end time.Duration, holds ...RWHold) RWState { return between(end, end, holds...) }
	asked := func(end time.Duration, holds ...RWHold) RWState { return between(end-Granularity, end, holds...) } // by PTTL
	free := RWState{}
	for _, tt := range []struct {
		name string
		kind RWLock
		from RWState
		op   history.Op
		to   RWState
		rule contract.Rule
	}{
		{"in redisson a writer is forced away with all it reads", plain, key(20*sec, reads(b, 20*sec), writes(b, 1)), op(history.ForceWrite, a, history.Released), free, ""},
		{"in redisson who writes is not forced away as a reader", plain, key(20*sec, reads(b, 20*sec), writes(b, 1)), op(history.ForceRead, a, history.Released), free, contract.ForceTellsTruth},
		{"a free lock is read", plain, free, op(history.ReadLock, a, history.Acquired), key(40*sec, reads(a, 40*sec)), ""},
		{"a reader does not shorten the key's end", plain, key(50*sec, reads(b, 50*sec)), op(history.ReadLock, a, history.Acquired),
			asked(50*sec, reads(a, 40*sec), reads(b, 50*sec)), ""},
		{"each level has its lease", plain, key(50*sec, reads(a, 50*sec)), op(history.ReadLock, a, history.Acquired), asked(50*sec, reads(a, 50*sec, 40*sec)), ""},
		{"a writer reads", plain, key(20*sec, writes(a, 1)), op(history.ReadLock, a, history.Acquired), key(40*sec, reads(a, 40*sec), writes(a, 1)), ""},
		{"a key that is over is read anew", plain, key(9*sec, reads(a, 9*sec)), op(history.ReadLock, a, history.Acquired), key(40*sec, reads(a, 40*sec)), ""},
		{"a reader beside a writer", plain, key(20*sec, writes(b, 1)), op(history.ReadLock, a, history.Acquired), free, contract.ReadersWithReaders},
		{"a writer waits for one whose key others keep", plain, key(20*sec, reads(b, 9*sec), reads("c3:1", 20*sec)), op(history.TryWrite, a, history.Busy),
			key(20*sec, reads(b, 9*sec), reads("c3:1", 20*sec)), ""},
		{"a writer waits for a key that is over", plain, key(9*sec, reads(b, 9*sec)), op(history.TryWrite, a, history.Busy), free, contract.SharedIsBusy},
		{"who reads waits for itself", plain, key(20*sec, reads(a, 20*sec)), op(history.TryWrite, a, history.Busy), key(20*sec, reads(a, 20*sec)), ""},
		{"a writer's re-entry adds its lease", plain, key(20*sec, writes(a, 1)), op(history.TryWrite, a, history.Acquired), asked(50*sec, writes(a, 2)), ""},

		{"of two levels that last the inner goes", plain, key(50*sec, reads(a, 20*sec, 50*sec)), op(history.ReadUnlock, a, history.Decremented), asked(20*sec, reads(a, 20*sec)), ""},
		{"of two levels that last none is left", plain, key(50*sec, reads(a, 20*sec, 50*sec)), op(history.ReadUnlock, a, history.Released), free, contract.SharedIsReleased},
		{"the outer level is over", plain, key(50*sec, reads(a, 9*sec, 50*sec)), op(history.ReadUnlock, a, history.Released), free, ""},
		{"the outer level is over, and left", plain, key(50*sec, reads(a, 9*sec, 50*sec)), op(history.ReadUnlock, a, history.Decremented), free, contract.SharedIsReleased},
		{"the outer level may be over", plain, key(50*sec, RWHold{Owner: a, Count: 2, each: []life{{9 * sec, 20 * sec}, {50 * sec, 50 * sec}}}),
			op(history.ReadUnlock, a, history.Released), free, ""},
		{"a level of another lasts", last, key(50*sec, reads(a, 50*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Decremented), asked(20*sec, reads(b, 20*sec)), ""},
		{"a level of another lasts, and it answers for the owner", plain, key(50*sec, reads(a, 50*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released),
			asked(20*sec, reads(b, 20*sec)), ""},
		{"a level of another lasts, and nobody is there", last, key(50*sec, reads(a, 50*sec), reads(b, 20*sec)), op(history.ReadUnlock, a, history.Released), free, contract.SharedIsReleased},
		{"a level of another is over", last, key(50*sec, reads(a, 50*sec), reads(b, 9*sec)), op(history.ReadUnlock, a, history.Released), free, ""},
		{"a level of another is over, and it answers for the owner", plain, key(50*sec, reads(a, 50*sec), reads(b, 9*sec)), op(history.ReadUnlock, a, history.Released), free, ""},
		{"a level of another may be over", plain, key(50*sec, reads(a, 50*sec), maybe(b, 9*sec, 20*sec)), op(history.ReadUnlock, a, history.Released),
			between(0, 20*sec, maybe(b, 9*sec, 20*sec)), ""},
		{"the last goes", last, key(20*sec, reads(a, 20*sec)), op(history.ReadUnlock, a, history.Released), free, ""},
		{"the last goes, and others are there", last, key(20*sec, reads(a, 20*sec)), op(history.ReadUnlock, a, history.Decremented), free, contract.SharedIsReleased},
		{"a writer keeps the key", plain, key(20*sec, reads(a, 20*sec), writes(a, 1)), op(history.ReadUnlock, a, history.Released), key(20*sec, writes(a, 1)), ""},
		{"a reader's lease cuts a writer's", plain, key(50*sec, reads(a, 20*sec, 40*sec), writes(a, 1)), op(history.ReadUnlock, a, history.Decremented),
			asked(20*sec, reads(a, 20*sec), writes(a, 1)), ""},
		{"a writer's inner unlock sets the lease", plain, key(20*sec, writes(a, 2)), op(history.WriteUnlock, a, history.Decremented), key(40*sec, writes(a, 1)), ""},
		{"a writer reads on", plain, key(20*sec, reads(a, 15*sec), writes(a, 1)), op(history.WriteUnlock, a, history.Released), key(20*sec, reads(a, 15*sec)), ""},
		{"who holds nothing is refused", plain, key(20*sec, writes(b, 1)), op(history.ReadUnlock, a, history.NotHeld), key(20*sec, writes(b, 1)), ""},
		{"the holder is refused", plain, key(20*sec, reads(a, 9*sec)), op(history.ReadUnlock, a, history.NotHeld), free, contract.SharedNotRefused},

		{"levels that last are renewed", plain, key(20*sec, reads(a, 9*sec, 20*sec)), op(history.RenewRead, a, history.Renewed), key(40*sec, reads(a, 9*sec, 40*sec)), ""},
		{"a writer is renewed", plain, key(50*sec, writes(a, 1)), op(history.RenewWrite, a, history.Renewed), key(40*sec, writes(a, 1)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
	both := key(20*sec, reads(a, 9*sec), reads(b, 20*sec))
	s, err := plain.Environment(both, history.Event{Kind: history.Expire, At: 20 * sec, Owner: a})
	stepped(t, s, err, key(20*sec, reads(b, 20*sec)), "")
	s, err = plain.Environment(s, history.Event{Kind: history.Expire, At: 20 * sec, Owner: b})
	stepped(t, s, err, free, "")
	_, err = plain.Environment(both, history.Event{Kind: history.Expire, At: 9 * sec, Owner: a})
	stepped(t, both, err, both, contract.NotBeforeLease) // the key keeps it
	s, err = plain.Environment(both, history.Event{Kind: history.ClockJump, By: 5 * sec})
	stepped(t, s, err, key(15*sec, reads(a, 4*sec), reads(b, 15*sec)), "")
	s, err = plain.Environment(both, history.Event{Kind: history.ForceTTL, Deadline: 11 * sec})
	stepped(t, s, err, key(11*sec, reads(a, 9*sec), reads(b, 20*sec)), "")
	if s := RWKey(20*sec, reads(a, 1, 2)); s != (RWState{rwState([]RWHold{{Owner: a, Count: 2, each: []life{{0, Never}, {0, Never}}}}).holds, life{20 * sec, 20 * sec}}) {
		t.Errorf("a key that was seen: %v", s)
	}
}
