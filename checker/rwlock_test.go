package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// newRW writes a history of a read-write lock by hand.
func newRW(claims ...contract.Claim) *script {
	s := newScript()
	s.h.Header.Subject, s.h.Header.Abilities = "rrwlock-classic", []string{string(contract.ReadWrite), "reentrant", "watchdog"}
	for _, c := range claims {
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(c))
	}
	return s
}

// held is a call on a read-write lock that took effect; one that acquires has a lease, 0: the watchdog's.
func (s *script) held(owner string, kind history.Kind, call, ret float64, out history.Outcome, lease time.Duration) *history.Op {
	op := s.op(owner, kind, at(call), at(ret), out)
	if op.Lease = lease; lease == 0 && kind.Acquires() {
		op.Lease, op.Watchdog = dog, true
	}
	return op
}

const writer1, writer2 = "c1:1" + history.WriterSuffix, "c2:1" + history.WriterSuffix

// unrenewedWriter is a writer that nobody renews, and beside whom another writes. unlocks says that it gives a read lock back before.
func unrenewedWriter(unlocks bool, claims ...contract.Claim) *script {
	s := newRW(claims...)
	s.held(writer1, history.WriteLock, 1, 1.004, history.Acquired, 0)
	if unlocks {
		s.held("c1:1", history.ReadLock, 2, 2.004, history.Acquired, 0)
		s.held("c1:1", history.ReadUnlock, 3, 3.004, history.Released, 0)
	}
	s.event(history.Expire, at(1.003)+dog).Owner = writer1
	s.held(writer2, history.WriteLock, 32, 32.004, history.Acquired, 10*time.Minute)
	s.held(writer1, history.WriteUnlock, 40, 40.004, history.NotHeld, 0)
	s.held(writer2, history.WriteUnlock, 41, 41.004, history.Released, 0)
	return s
}

// unrenewedByForce is a writer whose client forces the readers away, of whom there are none, and that is renewed no more.
func unrenewedByForce(client string, claims ...contract.Claim) *script {
	s := newRW(claims...)
	s.held(writer1, history.WriteLock, 1, 1.004, history.Acquired, 0)
	s.held(client+":2", history.ForceRead, 2, 2.004, history.NotHeld, 0)
	s.event(history.Expire, at(1.003)+dog).Owner = writer1
	s.held(writer2, history.WriteLock, 32, 32.004, history.Acquired, 10*time.Minute)
	s.held(writer1, history.WriteUnlock, 40, 40.004, history.NotHeld, 0)
	s.held(writer2, history.WriteUnlock, 41, 41.004, history.Released, 0)
	return s
}

func TestAForcedReadWriteLock(t *testing.T) {
	forced := func(out history.Outcome) *script {
		s := newRW(contract.Forces)
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		s.held("c2:1", history.ReadLock, 2, 2.004, history.Acquired, time.Minute)
		s.held("c3:1", history.ForceRead, 5, 5.004, out, 0)
		s.held(writer2, history.WriteLock, 6, 6.004, history.Acquired, time.Minute)
		s.held(writer2, history.WriteUnlock, 7, 7.004, history.Released, 0)
		return s
	}
	v := verdict(t, forced(history.Released))
	want(t, v, contract.Exclusion)
	for _, x := range v.Result(contract.Exclusion).Violations {
		if x.Cause.Class != contract.Forced || x.Ruling.Kind == Defect {
			t.Errorf("%s: %s", x.Cause.Class, x.Ruling)
		}
	}
	breaking(t, forced(history.NotHeld), contract.ForceTellsTruth)
}

// untoldReader is a reader who waits for a writer to give its lock back, and 20 s more. reads says that the writer reads on.
func untoldReader(reads bool, claims ...contract.Claim) *script {
	s := newRW(claims...)
	s.held(writer1, history.WriteLock, 1, 1.004, history.Acquired, 25*time.Second)
	if reads {
		s.held("c1:1", history.ReadLock, 2, 2.004, history.Acquired, time.Minute)
	}
	s.held("c2:1", history.ReadLock, 3, 26, history.Acquired, time.Minute)
	s.held(writer1, history.WriteUnlock, 5, 5.004, history.Released, 0)
	if reads {
		s.held("c1:1", history.ReadUnlock, 27, 27.004, history.Released, 0)
	}
	s.held("c2:1", history.ReadUnlock, 28, 28.004, history.Released, 0)
	return s
}

// keyOf is the key of a read-write lock, with one hold for each owner.
func keyOf(deadline float64, owners ...string) *history.KeyState {
	k := &history.KeyState{}
	for _, o := range owners {
		k.Deadline = at(deadline)
		k.Holdings = append(k.Holdings, history.Holding{Owner: o, Count: 1})
	}
	return k
}

// removedReader is a reader with a lease of so many seconds, whose hold the unlock of another reader at 7 s removes. Then a writer gets the lock.
func removedReader(lease float64, claims ...contract.Claim) *script {
	s := newRW(claims...)
	op := s.held("c2:1", history.ReadLock, 1, 1.004, history.Acquired, time.Duration(lease*float64(sec)))
	s.served(op, op.Executed, keyOf(0), keyOf(1+lease, "c2:1"))
	op = s.held("c1:1", history.ReadLock, 2, 2.004, history.Acquired, time.Minute)
	s.served(op, op.Executed, keyOf(1+lease, "c2:1"), keyOf(62, "c1:1", "c2:1"))
	op = s.held("c1:1", history.ReadUnlock, 7, 7.004, history.Released, 0)
	s.served(op, op.Executed, keyOf(62, "c1:1", "c2:1"), keyOf(0))
	op = s.held(writer1, history.WriteLock, 8, 8.004, history.Acquired, time.Minute)
	s.served(op, op.Executed, keyOf(0), keyOf(68, writer1))
	op = s.held("c2:1", history.ReadUnlock, 9, 9.004, history.NotHeld, 0)
	s.served(op, op.Executed, keyOf(68, writer1), keyOf(68, writer1))
	return s
}

// deadWriter is a writer that has entered the lock twice, so that its key ends at 62 s, and dies. The hold ends at a time.
func deadWriter(end float64, claims ...contract.Claim) *script {
	s := newRW(claims...)
	op := s.held(writer1, history.WriteLock, 1, 1.004, history.Acquired, 30*time.Second)
	s.served(op, op.Executed, keyOf(0), keyOf(31.002, writer1))
	op = s.held(writer1, history.WriteLock, 2, 2.004, history.Acquired, 30*time.Second)
	twice := keyOf(61.002, writer1)
	twice.Holdings[0].Count = 2
	s.served(op, op.Executed, keyOf(31.002, writer1), twice)
	s.died("c1", at(3))
	s.event(history.Expire, at(end)).Owner = writer1
	return s
}

// keptFromFresh is a writer whose two calls took the lock, though it was told of neither, so that its key ends at a time. A fresh client asks at
// 117 s, when each lease is over.
func keptFromFresh(end float64, claims ...contract.Claim) *script {
	s := newRW(claims...)
	before := keyOf(0)
	for i := range 2 {
		op := s.held(writer1, history.WriteLock, 80+float64(i), 80.004+float64(i), history.Unknown, 30*time.Second)
		op.Answer = history.Acquired
		after := keyOf(110.002, writer1)
		if i == 1 {
			after = keyOf(end, writer1)
			after.Holdings[0].Count = 2
		}
		s.served(op, op.Executed, before, after)
		before = after
	}
	s.event(history.Healed, at(100)).Lock = ""
	op := s.held(history.WriterOf("fresh:1"), history.TryWrite, 117, 118, history.Busy, 30*time.Second)
	op.Wait = sec
	s.served(op, op.Executed, before, before)
	return s
}

// refusedUnlock is an unlock that is told "released" by a copy of its request, at 3 s. held says that the owner held the lock when the first came.
func refusedUnlock(fault, held bool, claims ...contract.Claim) *script {
	s := newRW(claims...)
	op := s.held("c1:1", history.ReadUnlock, 2, 3.004, history.Released, 0)
	op.Executed, op.Answer = at(2.002), history.NotHeld
	before := keyOf(0)
	if held {
		before = keyOf(60, "c1:1")
		s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.ReadUnlock}, For: time.Minute}}
	}
	s.served(op, at(2.002), before, before)
	s.served(op, at(3.002), before, before)
	if fault {
		s.fault("drop-message", "c1", at(2), at(3))
	}
	return s
}

// sidesOfRWLocks are the sides of the table's rows that read-write locks have.
func sidesOfRWLocks() map[string][]side {
	return map[string][]side{
		"force-ends-renewals": {
			{contract.OneBeliever, true, unrenewedByForce("c1")},
			{contract.OneBeliever, false, unrenewedByForce("c2")},
			{contract.OneBeliever, false, unrenewedByForce("c1", contract.RenewsOn)},
			{contract.RenewedInTime, true, unrenewedByForce("c1")},
			{contract.RenewedInTime, false, unrenewedByForce("c2")},
			{contract.RenewedInTime, false, unrenewedByForce("c1", contract.RenewsOn)},
		},
		"other-hold": {
			{contract.OneBeliever, true, unrenewedWriter(true)},
			{contract.OneBeliever, false, unrenewedWriter(false)},
			{contract.OneBeliever, false, unrenewedWriter(true, contract.LeasePerHold)},
			{contract.RenewedInTime, true, unrenewedWriter(true)},
			{contract.RenewedInTime, false, unrenewedWriter(false)},
			{contract.RenewedInTime, false, unrenewedWriter(true, contract.LeasePerHold)},
			{contract.DeadHoldEnds, true, deadWriter(61.002)},
			{contract.DeadHoldEnds, false, deadWriter(65)},
			{contract.DeadHoldEnds, false, deadWriter(61.002, contract.LeasePerHold)},
			{contract.FreshGets, true, keptFromFresh(140)},
			{contract.FreshGets, false, keptFromFresh(115)},
			{contract.FreshGets, false, keptFromFresh(140, contract.LeasePerHold)},
		},
		"lease-outlived": {
			{contract.OneBeliever, true, removedReader(3)},
			{contract.OneBeliever, false, removedReader(60)},
			{contract.OneBeliever, false, removedReader(3, contract.LeasePerHold)},
		},
		"refusal-lost": {
			{contract.ToldTheTruth, true, refusedUnlock(true, false)},
			{contract.ToldTheTruth, false, refusedUnlock(false, false)},
			{contract.ToldTheTruth, false, refusedUnlock(true, false, contract.RefusesAgain)},
			{contract.ToldTheTruth, false, refusedUnlock(true, true, contract.Idempotent)},
			{contract.ToldTheTruth, true, refusedUnlock(true, false, contract.Idempotent)},
		},
		"downgraded": {
			{contract.FreeIsTaken, true, untoldReader(true)},
			{contract.FreeIsTaken, false, untoldReader(false)},
			{contract.FreeIsTaken, false, untoldReader(true, contract.TellsDowngrade)},
		},
	}
}

// Readers share, and an owner may read while it writes: neither is an overlap.
func TestReadersAndAWriterThatReadsExcludeNobody(t *testing.T) {
	s := newRW()
	s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
	s.held("c2:1", history.ReadLock, 2, 2.004, history.Acquired, time.Minute)
	s.held("c1:1", history.ReadUnlock, 3, 3.004, history.Released, 0)
	s.held("c2:1", history.ReadUnlock, 4, 4.004, history.Released, 0)
	s.held(writer1, history.WriteLock, 5, 5.004, history.Acquired, time.Minute)
	s.held("c1:1", history.ReadLock, 6, 6.004, history.Acquired, time.Minute)
	s.held(writer1, history.WriteUnlock, 7, 7.004, history.Released, 0)
	s.held("c1:1", history.ReadUnlock, 8, 8.004, history.Released, 0)
	for _, r := range Judge(context.Background(), s.done(), Options{}).Results {
		if r.Status == Broken {
			t.Errorf("%s: %s", r.Guarantee, r.Summary)
		}
	}
}

// The story tells that a writer gets the lock while a reader believes in it, and not that a reader does.
func TestTheStoryOfReadersThatShare(t *testing.T) {
	var told []string
	for _, m := range verdict(t, removedReader(3)).Story {
		if strings.Contains(m.Text, "still believes it holds it") {
			told = append(told, m.Who)
		}
	}
	if !slices.Equal(told, []string{writer1}) {
		t.Errorf("told of %q", told)
	}
}

// The witness replay and porcupine agree on random histories, legal ones and others, of locks with a lease for each hold and without.
func TestTheWitnessOfReadWriteLocksAgreesWithPorcupine(t *testing.T) {
	for _, claims := range [][]contract.Claim{{contract.LeasePerHold}, nil} {
		legal, illegal := 0, 0
		for seed := range uint64(*familyRuns) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newRW(claims...)
			now := 1.0
			kinds := []history.Kind{history.TryRead, history.TryWrite, history.ReadUnlock, history.WriteUnlock}
			for range 2 + r.IntN(5) {
				owner, kind := fmt.Sprintf("c%d:1", 1+r.IntN(2)), kinds[r.IntN(4)]
				out := []history.Outcome{history.Acquired, history.Busy}[r.IntN(8)/7]
				if kind.Unlocks() {
					out = []history.Outcome{history.Released, history.NotHeld}[r.IntN(2)]
				}
				if kind.OnWriteLock() {
					owner = history.WriterOf(owner)
				}
				s.held(owner, kind, now, now+0.004, out, time.Minute)
				now++
			}
			f := collect(s.done(), Options{}.withDefaults(s.h))
			l := f.locks[0]
			found, _ := replayed(f, l, rwSpec(f))
			says := askPorcupineOf(context.Background(), f, l, linear.AsExecuted)
			if (found.all == 0) != (says == porcupine.Ok) {
				t.Errorf("%v, seed %d: the witness finds %d violations, and porcupine says %s", claims, seed, found.all, says)
			}
			if found.all == 0 {
				legal++
			} else {
				illegal++
			}
		}
		if legal < 30 || illegal < 30 {
			t.Errorf("%v: %d legal and %d illegal histories", claims, legal, illegal)
		}
	}
}

// Where nobody sees the server, a read-write lock that does not say whether each hold has a lease of its own may have it either way.
func TestLeasesOfHoldsThatNobodySees(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lease  float64 // of the reader that is refused, in seconds
		other  bool    // somebody else reads on
		claims []contract.Claim
		broken []contract.Guarantee
	}{
		{"its own lease is over, and nobody reads on", 1, false, nil, nil},
		{"its own lease is over, and another reads on", 1, true, nil, nil},
		{"its own lease is over, of a lock that says so", 1, true, []contract.Claim{contract.LeasePerHold}, nil},
		{"its own lease is not over", 60, true, nil, []contract.Guarantee{contract.Object}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRW(tt.claims...)
			s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Duration(tt.lease*float64(time.Second)))
			if tt.other {
				s.held("c2:1", history.ReadLock, 1.5, 1.504, history.Acquired, time.Minute)
			}
			s.held("c1:1", history.ReadUnlock, 5, 5.004, history.NotHeld, 0)
			if tt.other {
				s.held("c2:1", history.ReadUnlock, 6, 6.004, history.Released, 0)
			}
			h := blind(s.done())
			h.Header.Expiry = history.Implied
			want(t, Judge(t.Context(), h, Options{}), tt.broken...)
		})
	}
}
