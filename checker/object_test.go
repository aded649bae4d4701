package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// key is a lock's key with one owner, or none.
func key(owner string, count int64, deadline time.Duration) *history.KeyState {
	k := &history.KeyState{Deadline: deadline}
	if owner != "" {
		k.Holdings = []history.Holding{{Owner: owner, Count: count}}
	}
	return k
}

// served logs the execution of an operation, with the key as it was and became.
func (s *script) served(op *history.Op, at time.Duration, before, after *history.KeyState) {
	s.h.Served = append(s.h.Served, history.Served{At: at, Sent: at - lat, Client: op.Client, Step: history.StepAcquire,
		Op: op.ID, Owner: op.Owner, Lock: op.Lock, Before: before, After: after, Got: at + lat})
}

// comesLate is a call for 5 s that the server executes after it has ended. The key then ends at a time; 0: never.
func comesLate(s *script, ends time.Duration) {
	op := s.op("c1:1", history.TryLock, at(0), at(1), history.Unknown)
	op.Lease, op.Evidence, op.Executed, op.Answer = 5*sec, history.Executed, at(2), history.Acquired
	s.served(op, at(2), key("", 0, 0), key("c1:1", 1, ends))
	if ends > 0 {
		s.event(history.Expire, ends)
		return
	}
	s.event(history.Leftover, at(20)).Owner = "c1:1"
}

// mistaken is an unlock whose caller expects the lease of its first hold, of so many seconds, to be set: that of the two after it is.
func mistaken(s *script, first float64) {
	lease := time.Duration(first * float64(sec))
	op, outer := s.take("c1:1", at(0), at(0.1), lease), int64(1)
	s.served(op, op.Executed, key("", 0, 0), key("c1:1", 1, op.Executed+lease))
	if op.Executed+lease < at(1) {
		s.event(history.Expire, op.Executed+lease)
		outer = 0
	}
	before := key("c1:1", outer, op.Executed+lease)
	if outer == 0 {
		before = key("", 0, 0)
	}
	for i := range int64(2) {
		when := at(1 + 0.2*float64(i))
		op = s.take("c1:1", when, when+at(0.1), 5*sec)
		after := key("c1:1", outer+1+i, op.Executed+5*sec)
		s.served(op, op.Executed, before, after)
		before = after
	}
	op = s.unlock("c1:1", at(1.5), history.Decremented)
	op.Lease = lease
	s.served(op, op.Executed, before, key("c1:1", outer+1, op.Executed+5*sec))
}

// Both sides of object. What is not named in a story holds; every history is also given to the
// checkers without the server's evidence, where sees says whether clients alone can tell.
func TestObject(t *testing.T) {
	tests := []struct {
		name  string
		write func(s *script)
		rules []contract.Rule // broken, in order; none: holds
		sees  Status          // of the same history with the clients' side only
	}{
		{"lock, re-entry, unlock twice", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.Decremented)
			s.unlock("c1:1", at(5), history.Released)
		}, nil, Holds},
		{"busy while another holds", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.op("c2:1", history.TryLock, at(2), at(3), history.Busy)
			s.unlock("c1:1", at(4), history.Released)
		}, nil, Holds},
		{"a question whose answer nobody heard", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.op("c2:1", history.IsLocked, at(2), at(3), history.Unknown).Answer = history.OK
			s.unlock("c1:1", at(4), history.Released)
		}, nil, Holds},
		// c1 |--hold--|
		// c2            |-try: busy-|
		{"busy while free", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.Released)
			s.op("c2:1", history.TryLock, at(3), at(4), history.Busy)
		}, []contract.Rule{contract.BusyWhileHeld}, Broken},
		{"granted to two", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c2:1", at(2), at(3), 0)
		}, []contract.Rule{contract.OneHolder}, Broken},
		{"freed by one who did not hold it, then taken", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c2:1", at(2), history.Released)
			s.take("c3:1", at(3), at(4), 0)
		}, []contract.Rule{contract.HolderReleases}, Broken},
		{"one unlock gives back two holds", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.Released)
		}, []contract.Rule{contract.OneHoldAnUnlock}, Broken},
		{"the holder is refused, and goes on", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.NotHeld)
			s.unlock("c1:1", at(3), history.Released)
		}, []contract.Rule{contract.HolderNotRefused}, Broken},
		{"expires with its lease", func(s *script) {
			s.take("c1:1", at(0), at(1), 5*sec) // executed at 0.999
			s.event(history.Expire, at(5.999))
			s.take("c2:1", at(1), at(6.5), 0)
		}, nil, Holds},
		{"expires before its lease: no PEXPIRE on re-entry", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			s.take("c1:1", at(3), at(3.002), 5*sec)
			s.event(history.Expire, at(5.001))
		}, []contract.Rule{contract.NotBeforeLease}, Broken},
		{"outlives its lease: no PEXPIRE at all", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			s.op("c2:1", history.TryLock, at(7), at(8), history.Busy)
		}, []contract.Rule{contract.NotAfterLease}, Broken},
		{"left over after its lease", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			s.event(history.Leftover, at(100))
		}, []contract.Rule{contract.NotAfterLease}, Broken},
		{"deleted from outside", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.event(history.Delete, at(2))
			s.take("c2:1", at(3), at(4), 0)
			s.unlock("c1:1", at(5), history.NotHeld)
		}, nil, Holds},
		{"the server's clock jumps: leases end sooner", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			e := s.event(history.ClockJump, at(1))
			e.Lock, e.By = "", 3*sec
			s.event(history.Expire, at(2.001))
			s.take("c2:1", at(3), at(4), 0)
		}, nil, Holds},
		{"expired from outside", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.fault("expire-key", "", at(2), 0).Lock = job
			s.event(history.Expire, at(2))
			s.take("c2:1", at(3), at(4), 0)
		}, nil, Holds},
		{"another's lease is renewed", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.renew("c2:1", at(2), history.Renewed)
		}, []contract.Rule{contract.HolderRenews}, Broken},
		{"the server's order decides among calls that overlap", func(s *script) {
			// c1 |-----lock-----|   executed at 2: after the unlock of c2
			// c2 lock |-unlock-|    executed at 1.5
			s.take("c2:1", at(0), at(0.5), 0)
			s.take("c1:1", at(1), at(3), 0).Executed = at(2)
			s.op("c2:1", history.Unlock, at(1), at(4), history.Released).Executed = at(1.5)
		}, nil, Holds},
		{"the server's order is wrong though another would do", func(s *script) {
			s.take("c2:1", at(0), at(0.5), 0)
			s.take("c1:1", at(1), at(3), 0).Executed = at(1.5)
			s.op("c2:1", history.Unlock, at(1), at(4), history.Released).Executed = at(2)
		}, []contract.Rule{contract.OneHolder, contract.HolderReleases}, Holds},
		{"takes effect after its return", func(s *script) {
			s.take("c1:1", at(0), at(1), 0).Executed = at(2)
		}, []contract.Rule{contract.WithinCall}, Holds},
		{"takes effect after its caller gave up: allowed, since it did not know", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 0)
			op.Outcome, op.Error, op.Executed = history.Unknown, "i/o timeout", at(2)
			s.op("c2:1", history.TryLock, at(3), at(4), history.Busy)
			s.event(history.Expire, at(32))
		}, nil, Holds},
		{"the reply was lost: what the server did counts", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			op := s.unlock("c1:1", at(2), history.Released)
			op.Outcome, op.Return = "", 0
			s.take("c2:1", at(3), at(4), 0)
		}, nil, Holds},
		{"the request was lost: it did not happen", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			op := s.unlock("c1:1", at(2), history.Unknown)
			op.Evidence, op.Answer, op.Executed = history.NotSent, "", 0
			s.op("c2:1", history.TryLock, at(3), at(4), history.Busy)
		}, nil, Holds},
		{"the request was lost, and the lock is free all the same", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			op := s.unlock("c1:1", at(2), history.Unknown)
			op.Evidence, op.Answer, op.Executed = history.NotSent, "", 0
			s.take("c2:1", at(3), at(4), 0)
		}, []contract.Rule{contract.OneHolder}, Holds},
		{"told not held by the second copy, released by the first", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.NotHeld).Answer = history.Released
		}, []contract.Rule{contract.ToldTheTruth}, Broken},
		{"failed, but took effect", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 0)
			op.Outcome = history.Failed
		}, []contract.Rule{contract.FailedIsVoid}, Holds},
		{"acquired without asking the server", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 0)
			op.Evidence, op.Executed, op.Answer = history.NotSent, 0, ""
		}, []contract.Rule{contract.AnswerHasRoot}, Holds},
		{"busy without asking the server, which was true", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			op := s.op("c2:1", history.TryLock, at(2), at(4), history.Busy)
			op.Evidence, op.Executed, op.Answer = history.NotSent, 0, ""
			s.unlock("c1:1", at(3), history.Released)
		}, nil, Holds},
		{"busy without asking the server, which was false", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.Released)
			op := s.op("c2:1", history.TryLock, at(3), at(4), history.Busy)
			op.Evidence, op.Executed, op.Answer = history.NotSent, 0, ""
		}, []contract.Rule{contract.BusyWhileHeld}, Broken},
		{"unlock refused by the client after the hold was told lost", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.event(history.Lost, at(29)).Owner = "c1:1"
			op := s.unlock("c1:1", at(29.5), history.NotHeld)
			op.Evidence, op.Executed, op.Answer = history.NotSent, 0, ""
			s.event(history.Expire, at(30.999))
		}, nil, Holds},
		{"one call counts twice, by its own report", func(s *script) {
			s.take("c1:1", at(0), at(1), 0).Repeats = 1
			s.unlock("c1:1", at(2), history.Decremented)
		}, []contract.Rule{contract.AtMostOnce}, Broken},
		{"one call counts twice, in the server log", func(s *script) {
			op := s.take("c1:1", at(0), at(4), 0)
			op.Executed, op.Repeats = at(1), 1
			s.served(op, at(1), key("", 0, 0), key("c1:1", 1, at(31)))
			s.served(op, at(3), key("c1:1", 1, at(31)), key("c1:1", 2, at(33)))
			s.event(history.Expire, at(33))
		}, []contract.Rule{contract.AtMostOnce}, Holds},
		{"a copy takes the lock at the instant at which another is refused", func(s *script) {
			op := s.take("c1:1", at(0), at(4), sec)
			op.Executed, op.Repeats = at(1), 1
			s.served(op, at(1), key("", 0, 0), key("c1:1", 1, at(2)))
			s.event(history.Expire, at(2))
			s.served(op, at(3), key("", 0, 0), key("c1:1", 1, at(4)))
			busy := s.op("c2:1", history.TryLock, at(2.5), at(3)+lat, history.Busy)
			s.served(busy, at(3), key("c1:1", 1, at(4)), key("c1:1", 1, at(4)))
			s.event(history.Expire, at(4))
		}, []contract.Rule{contract.AtMostOnce}, Broken},
		{"two copies at one instant", func(s *script) {
			op := s.take("c1:1", at(0), at(4), 0)
			op.Executed, op.Repeats = at(3), 1
			s.served(op, at(3), key("", 0, 0), key("c1:1", 1, at(33)))
			s.served(op, at(3), key("c1:1", 1, at(33)), key("c1:1", 2, at(33)))
			s.unlock("c1:1", at(5), history.Decremented)
		}, []contract.Rule{contract.AtMostOnce}, Broken},
		{"a delayed copy of an unlock frees the next hold", func(s *script) {
			s.take("c1:1", at(0), at(0.1), 0)
			op := s.unlock("c1:1", at(1), history.Released)
			op.Repeats = 1
			s.served(op, op.Executed, key("c1:1", 1, at(30)), key("", 0, 0))
			s.take("c1:1", at(2), at(2.1), 0)
			s.h.Served = append(s.h.Served, history.Served{At: at(3), Sent: at(1), Client: "c1", Op: op.ID, Lock: job,
				Before: key("c1:1", 1, at(32)), After: key("", 0, 0)})
			s.take("c2:1", at(4), at(4.1), 0)
		}, []contract.Rule{contract.AtMostOnce}, Broken},
		{"the key expires with the lease that was asked for", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 5*sec)
			s.served(op, op.Executed, key("", 0, 0), key("c1:1", 1, op.Executed+5*sec))
			s.unlock("c1:1", at(2), history.Released)
		}, nil, Holds},
		{"the key expires sooner than the lease that was asked for", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 5*sec)
			s.served(op, op.Executed, key("", 0, 0), key("c1:1", 1, op.Executed+4*sec))
			s.unlock("c1:1", at(2), history.Released)
		}, []contract.Rule{contract.LeaseIsSet}, Holds},
		{"a call that comes when it is over leaves the key without an end", func(s *script) { comesLate(s, 0) }, []contract.Rule{contract.LeaseIsSet}, Holds},
		{"a call that comes when it is over sets another lease", func(s *script) { comesLate(s, at(6)) }, []contract.Rule{contract.LeaseIsSet}, Holds},
		{"a call that comes when it is over sets its lease", func(s *script) { comesLate(s, at(7)) }, nil, Holds},
		{"an unlock sets the lease of the hold that is there, not of one that was over before", func(s *script) { mistaken(s, 0.5) }, nil, Holds},
		{"an unlock sets the lease of the outer hold that is there, not of the inner", func(s *script) { mistaken(s, 2) },
			[]contract.Rule{contract.LeaseIsSet}, Holds},
		{"the key counts two holds for one", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 5*sec)
			s.served(op, op.Executed, key("", 0, 0), key("c1:1", 2, op.Executed+5*sec))
		}, []contract.Rule{contract.KeyFits}, Holds},
		{"the key has two owners", func(s *script) {
			s.take("c2:1", at(0), at(0.1), 5*sec)
			op := s.take("c1:1", at(1), at(2), 5*sec)
			both := key("c2:1", 1, op.Executed+5*sec)
			both.Holdings = append(both.Holdings, history.Holding{Owner: "c1:1", Count: 1})
			s.served(op, op.Executed, key("c2:1", 1, at(5)), both)
		}, []contract.Rule{contract.OneHolder}, Broken},
		{"a key that names nobody of the history is not looked at", func(s *script) {
			op := s.take("c1:1", at(0), at(1), 5*sec)
			s.served(op, op.Executed, key("", 0, 0), key("3f9c", 1, op.Executed+4*sec))
			s.unlock("c1:1", at(2), history.Released)
		}, nil, Holds},
		{"locks do not concern each other", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.lock = "order:43"
			s.take("c2:1", at(0), at(1), 0)
		}, nil, Holds},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			v := Judge(context.Background(), s.done(), Options{})
			r := v.Result(contract.Object)
			if len(v.Refused) > 0 {
				t.Fatalf("refused: %v", v.Refused)
			}
			if got := rules(v, contract.Object); !slices.Equal(got, tt.rules) || (r.Status == Broken) != (len(tt.rules) > 0) || r.Status == Undecided {
				t.Errorf("%s: %s; broke %q, want %q", r.Status, r.Summary, got, tt.rules)
			}
			if !strings.Contains(r.By, "witness replay") || !strings.Contains(r.By, "porcupine") {
				t.Errorf("decided by %q", r.By)
			}
			if (tt.sees == Broken || r.Status == Holds) && strings.Contains(r.Summary, unseenByClients) {
				t.Errorf("clients can tell, but: %s", r.Summary)
			}
			if b := Judge(context.Background(), blind(s.done()), Options{}).Result(contract.Object); b.Status != tt.sees || !strings.HasSuffix(b.By, " checker, porcupine") {
				t.Errorf("without evidence: %s by %s, want %s", b.Status, b.By, tt.sees)
			}
		})
	}
}

// What a late call sets a lease to is seen in the server log alone. The replay accepts it, and the searching checkers, which hold it to the lease that
// its caller expected, are not asked.
func TestALateUnlockMaySetAnotherLease(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.1), 30*sec)
	s.take("c1:1", at(1), at(1.1), 5*sec)
	op := s.op("c1:1", history.Unlock, at(2), at(3), history.Unknown)
	op.Lease, op.Evidence, op.Executed, op.Answer = 30*sec, history.Executed, at(3.5), history.Decremented
	s.served(op, at(3.5), key("c1:1", 2, at(31)), key("c1:1", 1, at(8.5)))
	s.event(history.Expire, at(8.5))
	v := verdict(t, s)
	if r := v.Result(contract.Object); r.Status != Holds || r.By != byWitness || v.Disagreement != "" {
		t.Errorf("%s by %s: %s", r.Status, r.By, v.Disagreement)
	}
}

const unseenByClients = "from what the clients were told alone it could not be seen"

func TestObjectSaysWhatOnlyTheServerLogShows(t *testing.T) {
	s := newScript()
	s.take("c2:1", at(0), at(0.5), 0)
	s.take("c1:1", at(1), at(3), 0).Executed = at(1.5)
	s.op("c2:1", history.Unlock, at(1), at(4), history.Released).Executed = at(2)
	if r := verdict(t, s).Result(contract.Object); r.Status != Broken || !strings.Contains(r.Summary, unseenByClients) {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
}

// A call of which it is known when it can no longer take effect, and not whether it did.
func TestObjectClosesWindows(t *testing.T) {
	// c1 |hold| unlock sent at 2 s, no answer; its connection is seen gone at the given time.
	// c2                busy from 3 to 4 s |  granted from 5 to 6 s
	until := func(gone time.Duration) *history.History {
		s := newScript()
		s.take("c1:1", at(0), at(1), 0)
		op := s.unlock("c1:1", at(2), history.Unknown)
		op.Evidence, op.Answer, op.Executed, op.Until = history.Sent, "", 0, gone
		s.op("c2:1", history.TryLock, at(3), at(4), history.Busy)
		s.take("c2:1", at(5), at(6), 0)
		return s.done()
	}
	for _, tt := range []struct {
		gone   time.Duration
		status Status
	}{{at(2.5), Broken}, {at(4.5), Holds}, {0, Holds}} {
		r := Judge(context.Background(), until(tt.gone), Options{}).Result(contract.Object)
		if r.Status != tt.status || r.By != "frontier checker, porcupine" {
			t.Errorf("gone at %s: %s by %s: %s", Stamp(tt.gone), r.Status, r.By, r.Summary)
		}
	}
}

func TestObjectCauses(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(1), 0)
	s.unlock("c2:1", at(2), history.Released)
	s.fault("partition", "c2", at(1.5), at(3))
	x := verdict(t, s).Result(contract.Object).Violations[0]
	if x.Cause.Class != contract.ForeignRelease || x.Ruling.Kind != Defect || !slices.Equal(x.Cause.Faults, []int{0}) {
		t.Errorf("cause %+v", x.Cause)
	}
	if want := "order:42: unlock by c2:1 answered released, but the lock is held by c1:1"; x.Text != want {
		t.Errorf("text %q", x.Text)
	}
}

// Without evidence and with more clients at once than anybody can bear there is no answer, and no
// answer is never a good one.
func TestObjectIsUndecidedWhenNobodyCanTell(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(1), 0)
	for i := range linear.MaxUnderWay + 1 {
		s.op(fmt.Sprintf("w%d:1", i), history.TryLock, at(1), at(2), history.Busy)
	}
	s.op("c1:1", history.Unlock, at(3), at(4), history.Unknown)
	s.take("c2:1", at(5), at(6), 0) // so that somebody has to think about the unlock
	r := Judge(context.Background(), blind(s.done()), Options{}).Result(contract.Object)
	if r.Status != Undecided || r.AsExpected() || !strings.Contains(r.Summary, "under way at once") {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	s = baseline()
	s.op("c9:1", history.TryLock, at(50), at(51), history.Unknown)
	s.unlock("c9:1", at(52), history.Released)
	if r := Judge(canceled, blind(s.done()), Options{}).Result(contract.Object); r.Status != Undecided || !strings.Contains(r.Summary, "cancelled") {
		t.Errorf("after cancellation: %s: %s", r.Status, r.Summary)
	}
}

// A search that has spent its budget says which.
func TestBudgets(t *testing.T) {
	h := traffic{seed: 3, ops: 20000, clients: 32, unknown: 0.05, waits: true}.make()
	flipAt(h, len(h.Ops)/2, false)
	for _, tt := range []struct {
		o   Options
		why string
	}{
		{Options{Memory: 1, Budget: time.Hour}, "its memory budget was spent"},
		{Options{Budget: 1}, "its time budget was spent"},
	} {
		if r := Judge(context.Background(), h, tt.o).Result(contract.Object); r.Status != Undecided || !strings.Contains(r.Summary, tt.why) {
			t.Errorf("want %q: %s: %s", tt.why, r.Status, r.Summary)
		}
	}
}

// What the searching checkers say of a violation: the first answer that no order explains, the
// rule, and what the lock was.
func TestBlackBoxExplains(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(s *script)
		op    int64 // the inexplicable one
		text  string
	}{
		{"freed by another", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c2:1", at(2), history.Released)
		}, 2, "order:42: unlock by c2:1 answered released, but the lock is held by c1:1, in every order that fits the 1 answer before it"},
		// c1 |-hold-|       |-unlock: unknown-...
		// c2          |-busy-|           |-busy-|  |-granted-|
		// c3                                                    |-granted-|
		{"granted to two, one of them after an unknown unlock", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.op("c1:1", history.Unlock, at(2), at(3), history.Unknown)
			s.op("c2:1", history.TryLock, at(4), at(5), history.Busy)
			s.take("c2:1", at(6), at(7), 0)
			s.take("c3:1", at(8), at(9), 0)
		}, 5, "order:42: lock by c3:1 answered acquired, but the lock is held by c2:1, in every order that fits the 3 answers before it"},
		{"busy while it can only be free", func(s *script) {
			s.op("c2:1", history.Unlock, at(1), at(2), history.Unknown)
			s.op("c1:1", history.TryLock, at(3), at(4), history.Busy)
		}, 2, "order:42: tryLock by c1:1 answered busy, but the lock is free, in every order that fits the 0 answers before it"},
		{"expired before its lease", func(s *script) {
			s.take("c1:1", at(0), at(1), 5*sec)
			s.event(history.Expire, at(3))
		}, 0, "order:42: the key expired at 3.000 s, but the lease of c1:1 lasts until 5.000 s, in every order that fits the 1 answer before it"},
		{"counted wrongly", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(2), at(3), 0)
			s.op("c1:1", history.HoldCount, at(4), at(5), history.OK).Value = 1
		}, 3, "order:42: holdCount by c1:1 answered 1, but the lock is held 2 times by c1:1, in every order that fits the 2 answers before it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			r := Judge(context.Background(), blind(s.done()), Options{}).Result(contract.Object)
			if r.Status != Broken || len(r.Violations) != 1 {
				t.Fatalf("%s: %s", r.Status, r.Summary)
			}
			v := r.Violations[0]
			if v.Text != tt.text || tt.op != 0 && !slices.Equal(v.Ops, []int64{tt.op}) {
				t.Errorf("operations %v: %q", v.Ops, v.Text)
			}
		})
	}
}

// In a long history the violation is found where it shows, at the lie or soon after, and porcupine, given the part around it,
// says so too.
func TestViolationIsCutOut(t *testing.T) {
	h := traffic{seed: 1, ops: 30000, clients: 8, unknown: 0.01, windows: true}.make()
	id := flipAt(h, 20000, true)
	v := Judge(context.Background(), h, Options{})
	r := v.Result(contract.Object)
	if len(v.Refused) > 0 || r.Status != Broken || r.By != "frontier checker, porcupine on the part that shows the violation" {
		t.Fatalf("%s by %s: %s %v", r.Status, r.By, r.Summary, v.Refused)
	}
	lie := h.Ops[id-1]
	if x := r.Violations[0]; x.From > lie.Return+50*ms || x.To < lie.Call || x.To-x.From > 50*ms {
		t.Errorf("operation %d was flipped, called at %s; found from %s to %s: %s", id, Stamp(lie.Call), Stamp(x.From), Stamp(x.To), x.Text)
	}
}

// A witness that accepts what porcupine refuses is a harness error, and said so.
func TestCheckersThatDisagreeAreAHarnessError(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(1), 0)
	s.take("c2:1", at(2), at(3), 0)
	f := collect(s.done(), Options{Budget: DefaultBudget})
	// Take the grant of c2 out of the server's order, as a recorder that forgets would.
	f.locks[0].acts = f.locks[0].acts[:1]
	r := judgeObject(context.Background(), f)
	if r.Status != Undecided || f.disagreement == "" {
		t.Errorf("%s, disagreement %q", r.Status, f.disagreement)
	}
}

// What an owner was told contradicts what else it was told, while all the others wait: no order of
// these makes any difference, and none is tried.
func TestAnOwnersOwnAnswersConvictTheLock(t *testing.T) {
	h := traffic{seed: 0, ops: 10_000, clients: 32, unknown: 0.01, waits: true}.make()
	id := flipAt(h, len(h.Ops)/2, false)
	lied := h.Ops[id-1]
	r := Judge(context.Background(), h, Options{Budget: time.Hour}).Result(contract.Object)
	if r.Status != Broken || r.By != "frontier checker, porcupine on the part that shows the violation" || len(r.Violations) != 1 {
		t.Fatalf("%s by %s: %s", r.Status, r.By, r.Summary)
	}
	v := r.Violations[0]
	want := fmt.Sprintf("unlock by %s answered notHeld, but the lock is held by %s, in every order that fits the ", lied.Owner, lied.Owner)
	if v.Ops[0] != id || v.Rule == contract.Linearizable || !strings.Contains(v.Text, want) || !strings.Contains(v.Text, " answers of "+lied.Owner+" before it") {
		t.Errorf("operation %d: %s: %s", v.Ops[0], v.Rule, v.Text)
	}
}

// What the lock does of its own accord at the instant of a call has its place in the server's order.
func TestObjectWhereTheLockSetsATimeToLiveAtTheInstantOfACall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer time.Duration
		want   Status
	}{
		{"what was left before", at(25), Holds},
		{"neither what was left before nor after", at(20), Broken},
	} {
		s := newScript()
		s.take("c1:1", at(0)-lat, at(0)+lat, 0)
		op := s.op("c2:1", history.RemainingTTL, at(5)-lat, at(5)+lat, history.OK)
		op.Value = int64(tt.answer)
		s.served(op, at(5), key("c1:1", 1, at(30)), key("c1:1", 1, at(30)))
		s.event(history.ForceTTL, at(5)).Deadline = at(35)
		s.h.Served = append(s.h.Served, history.Served{At: at(5), Client: "c1", Owner: "c1:1", Lock: job,
			Before: key("c1:1", 1, at(30)), After: key("c1:1", 1, at(35))})
		s.unlock("c1:1", at(6), history.Released)
		if r := verdict(t, s).Result(contract.Object); r.Status != tt.want {
			t.Errorf("%s: %s, %s", tt.name, r.Status, r.Summary)
		}
	}
}

// What strikes the server at one instant comes in the order in which the history has it.
func TestObjectWhereSeveralThingsStrikeAtOneInstant(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0)-lat, at(0)+lat, 0)
	s.event(history.ForceTTL, at(5)).Deadline = at(20)
	over := s.event(history.Restore, at(5)) // without an end
	over.Owner, over.Count = history.AnotherProgram, 1
	s.h.Served = append(s.h.Served, history.Served{At: at(5), Lock: job, Before: key("c1:1", 1, at(30)), After: key("c1:1", 1, at(20))})
	s.op("c2:1", history.RemainingTTL, at(6)-lat, at(6)+lat, history.OK).Value = -1
	if r := verdict(t, s).Result(contract.Object); r.Status != Holds {
		t.Errorf("%s, %s", r.Status, r.Summary)
	}
}
