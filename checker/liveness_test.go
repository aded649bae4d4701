package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// sleepsOn has c2 wait for a lock that c3 forces free at 5 s. It takes that at 29 s, before the lease of which it had heard is over.
func sleepsOn(s *script) {
	s.take("c1:1", at(0), at(0.002), 0)
	s.op("c3:1", history.ForceUnlock, at(5), at(5.002), history.Released)
	s.take("c2:1", at(1), at(29), 0)
	s.unlock("c2:1", at(30), history.Released)
}

// cutOff is a tryLock that waits for 3 s, and does not return for as long as a fault lasts.
func cutOff(s *script, fault string) {
	s.take("c1:1", at(0), at(0.002), 0)
	s.fault(fault, "c2", at(1.5), at(8))
	op := s.op("c2:1", history.TryLock, at(1), at(8.1), history.Unknown)
	op.Wait, op.Evidence, op.Executed, op.Answer, op.Error = 3*sec, history.Sent, 0, "", "i/o timeout"
	s.unlock("c1:1", at(9), history.Released)
}

// givesUp is a tryLock that waits for 8 s, is cancelled after 3 s, at 4 s, and is refused at a time.
func givesUp(s *script, when time.Duration) {
	s.take("c1:1", at(0), at(0.002), 0)
	op := s.op("c2:1", history.TryLock, at(1), when, history.Busy)
	op.Wait, op.Cancel = 8*sec, 3*sec
	s.unlock("c1:1", at(5), history.Released)
}

// overwritten is a key that another program overwrites at 5 s, and deletes at a time, and a call that fails at 15 s.
func overwritten(s *script, deleted time.Duration) {
	s.fault("overwrite-key", "", at(5), at(5)).Lock = job
	restore := s.event(history.Restore, at(5))
	restore.Owner, restore.Count = history.AnotherProgram, 1
	s.event(history.Delete, deleted)
	s.op("c1:1", history.Unlock, at(15), at(15.002), history.Failed).Lease = dog
}

// unreplicated is a call that fails at 15 s, waits for a replica or not, and a replica that follows no more from a time on.
func unreplicated(s *script, stopped time.Duration, waits bool) {
	s.op("c1:1", history.TryLock, at(15), at(15.9), history.Failed).Lease = dog
	s.fault("stop-replication", "", stopped, at(40))
	if waits {
		s.h.Served = append(s.h.Served, history.Served{At: at(15.1), Sent: at(15.05), Client: "c1", Text: "wait 1 1000"})
	}
}

// brokenTwo is a client whose two connections break at 5 s, and so many calls that fail 10 s later.
func brokenTwo(s *script, calls int) {
	for _, conn := range []string{"c1#1", "c1#2"} {
		s.h.Served = append(s.h.Served, history.Served{At: at(1), Sent: at(0.9), Client: "c1", Conn: conn, Text: "ping"})
	}
	s.fault("close-connection", "c1", at(5), at(5))
	for i := range calls {
		s.op("c1:1", history.TryLock, at(15+float64(i)), at(15.002+float64(i)), history.Failed).Lease = dog
	}
}

// triesBroken is a try without a wait that takes 1.2 s, when the two connections of its client broke 10 s before. The last 0.1 s of it is
// on a connection that it opens, if it begins with that step.
func triesBroken(s *script, step history.Step) {
	brokenTwo(s, 0)
	s.take("c2:1", at(14), at(14.002), 0)
	op := s.op("c1:1", history.TryLock, at(15), at(16.2), history.Busy)
	op.Executed = at(16.15)
	s.h.Served = append(s.h.Served, history.Served{At: at(16.11), Sent: at(16.1), Got: at(16.12), Client: "c1", Conn: "c1#3", Op: op.ID, Step: step, Text: "hello 3"})
	s.unlock("c2:1", at(17), history.Released)
}

// lostWith is an unlock at 5 s that never arrives, and a renewal, sent at a time, that arrives at 15 s.
func lostWith(s *script, sent time.Duration) {
	s.take("c1:1", at(0), at(0.002), 0)
	op := s.unlock("c1:1", at(5), history.Unknown)
	op.Evidence, op.Answer, op.Executed, op.Error = history.NotSent, "", 0, "context canceled"
	late := s.renew("c1:1", sent, history.Renewed)
	late.Executed, late.Return = at(15), at(15.001)
	s.event(history.Expire, at(45.001))
}

func TestLiveness(t *testing.T) {
	tests := []struct {
		name  string
		write func(s *script)
		rules []contract.Rule
	}{
		{"a released lock is taken at once", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(5.01), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.unlock("c2:1", at(6), history.Released)
		}, nil},
		// c1 |--hold--|
		// c2    |------waits--------------|
		{"the release message was lost: the waiter sleeps to the TTL", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(30.01), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.unlock("c2:1", at(31), history.Released)
		}, []contract.Rule{contract.FreeIsTaken}},
		{"a free lock that nobody ever takes", func(s *script) {
			op := s.take("c2:1", at(100), at(101), 0)
			op.Return, op.Outcome, op.Evidence, op.Answer, op.Executed = 0, "", history.Sent, "", 0
		}, []contract.Rule{contract.FreeIsTaken, contract.CallsReturn}},
		{"nobody waits for a copy of a call that has returned", func(s *script) {
			op := s.take("c2:1", at(1), at(30), 0)
			op.Return, op.Outcome, op.Aside = 0, "", true
		}, nil},
		{"a lock that expires is taken at once", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			s.event(history.Expire, at(5.001))
			s.take("c2:1", at(1), at(5.01), 0)
			s.unlock("c2:1", at(6), history.Released)
		}, nil},
		{"nobody is told of an expiry from outside: the TTL it saw is what a waiter has", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(30.01), 0)
			s.event(history.Delete, at(5))
			s.unlock("c2:1", at(31), history.Released)
		}, nil},
		{"but not more than that", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(40), 0)
			s.event(history.Delete, at(5))
			s.unlock("c2:1", at(41), history.Released)
		}, []contract.Rule{contract.FreeIsTaken}},
		{"a waiter that is cut off is excused, and has a moment after", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(20.5), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.fault("partition", "c2", at(4), at(20)).Step = "both"
			s.unlock("c2:1", at(31), history.Released)
		}, nil},
		{"a waiter that was cut off long ago is not", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(20.5), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.fault("partition", "c2", at(4), at(6)).Step = "both"
			s.unlock("c2:1", at(31), history.Released)
		}, []contract.Rule{contract.FreeIsTaken}},
		{"a waiter whose watchdog is paused can take a lock all the same", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c2:1", at(1), at(20.5), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.fault("pause-watchdog", "c2", at(4), 0)
			s.unlock("c2:1", at(31), history.Released)
		}, []contract.Rule{contract.FreeIsTaken}},
		{"the dead wait for nothing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.take("c2:1", at(1), at(2), 0)
			op.Return, op.Outcome, op.Evidence, op.Answer, op.Executed = 0, "", history.NotSent, "", 0
			s.died("c2", at(2))
			s.unlock("c1:1", at(5), history.Released)
		}, nil},
		{"tryLock gives up after its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.TryLock, at(1), at(4), history.Busy).Wait = 3 * sec
			s.unlock("c1:1", at(5), history.Released)
		}, nil},
		{"tryLock gives up before its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.TryLock, at(1), at(3.9), history.Busy).Wait = 3 * sec
			s.unlock("c1:1", at(5), history.Released)
		}, []contract.Rule{contract.WaitsItsTime}},
		{"waiter sleeps on after a forced release, of a lock whose message of that is heard", func(s *script) {
			claiming(s, contract.HearsForce)
			sleepsOn(s)
		}, []contract.Rule{contract.FreeIsTaken}},
		{"waiter sleeps on after a forced release, of a lock that promises no message of that", func(s *script) { sleepsOn(s) }, nil},
		{"tryLock gives up when its caller does, before its wait", func(s *script) { givesUp(s, at(4)) }, nil},
		{"tryLock gives up before its caller does", func(s *script) { givesUp(s, at(3.9)) }, []contract.Rule{contract.WaitsItsTime}},
		{"tryLock outlasts its wait while its client is cut off", func(s *script) { cutOff(s, "partition") }, nil},
		{"tryLock outlasts its wait while its client is cut off, of a lock that claims to return unanswered", func(s *script) {
			claiming(s, contract.ReturnsUnanswered)
			cutOff(s, "partition")
		}, []contract.Rule{contract.ReturnsInTime}},
		{"tryLock outlasts its wait while its client is stopped, of a lock that claims to return unanswered", func(s *script) {
			claiming(s, contract.ReturnsUnanswered)
			cutOff(s, "pause-client")
		}, nil},
		{"tryLock gives up long after its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.TryLock, at(1), at(5.1), history.Busy).Wait = 3 * sec
			s.unlock("c1:1", at(6), history.Released)
		}, []contract.Rule{contract.ReturnsInTime}},
		{"tryLock gives up late, since it meets broken connections first", func(s *script) { triesBroken(s, history.StepSession) }, nil},
		{"tryLock gives up late, on a connection that stands", func(s *script) { triesBroken(s, history.StepAcquire) },
			[]contract.Rule{contract.ReturnsInTime}},
		{"tryLock is granted long after its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(10), history.Released)
			op := s.op("c2:1", history.TryLock, at(1), at(10.1), history.Acquired)
			op.Wait, op.Lease = 3*sec, dog
			s.unlock("c2:1", at(11), history.Released)
		}, []contract.Rule{contract.ReturnsInTime}},
		{"tryLock comes late because its client was cut off", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.TryLock, at(1), at(8), history.Busy).Wait = 3 * sec
			s.fault("partition", "c2", at(2), at(7)).Step = "both"
			s.unlock("c1:1", at(9), history.Released)
		}, nil},
		{"tryLock gives up early, for which no fault is a reason", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.TryLock, at(1), at(3), history.Busy).Wait = 3 * sec
			s.fault("partition", "c2", at(2), at(7)).Step = "replies"
			s.unlock("c1:1", at(9), history.Released)
		}, []contract.Rule{contract.WaitsItsTime}},
		{"a call that is given up returns at once", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.op("c2:1", history.Lock, at(1), at(5.01), history.Failed)
			op.Cancel, op.Error = 4*sec, "context deadline exceeded"
			s.unlock("c1:1", at(9), history.Released)
		}, nil},
		{"a call that is given up, and goes on waiting", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.Lock, at(1), at(9.01), history.Acquired).Cancel = 4 * sec
			s.unlock("c1:1", at(9), history.Released)
			s.unlock("c2:1", at(10), history.Released)
		}, []contract.Rule{contract.GivenUpReturns}},
		{"a call that is given up while its client is cut off", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c2:1", history.Lock, at(1), at(8), history.Failed).Cancel = 4 * sec
			s.fault("partition", "c2", at(2), at(7)).Step = "both"
			s.unlock("c1:1", at(9), history.Released)
		}, nil},
		{"the hold of a dead client ends with its lease", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.died("c1", at(5))
			s.event(history.Expire, at(30.001))
		}, nil},
		{"somebody renews for the dead", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.died("c1", at(5))
			s.renewals("c1:1", 0, at(60))
			s.event(history.Expire, at(80.001))
		}, []contract.Rule{contract.DeadHoldEnds}},
		{"one unlock too few on the server: held for nobody", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0).Repeats = 1
			s.unlock("c1:1", at(5), history.Decremented)
			s.event(history.Expire, at(35.001))
		}, []contract.Rule{contract.UnlockEndsHold}},
		{"an unlock that was lost leaves the hold to its lease", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Unknown)
			op.Evidence, op.Answer, op.Executed, op.Error = history.NotSent, "", 0, "context canceled"
			s.event(history.Expire, at(30.001))
		}, nil},
		{"an unlock that was lost, and a watchdog that goes on", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Unknown)
			op.Evidence, op.Answer, op.Executed, op.Error = history.NotSent, "", 0, "context canceled"
			s.renewals("c1:1", 0, at(60))
			s.event(history.Expire, at(80.001))
		}, []contract.Rule{contract.UnlockEndsHold}},
		{"an unlock that was lost, and a watchdog that goes on with the outer hold", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c1:1", at(1), at(1.002), 0)
			op := s.unlock("c1:1", at(5), history.Unknown)
			op.Evidence, op.Answer, op.Executed, op.Error = history.NotSent, "", 0, "context canceled"
			s.renewals("c1:1", 0, at(60))
			s.event(history.Expire, at(80.001))
		}, nil},
		{"an unlock that was lost, and a renewal under way with it that arrives late", func(s *script) { lostWith(s, at(4.9)) }, nil},
		{"an unlock that was lost, and a late renewal that was sent after it", func(s *script) { lostWith(s, at(5.1)) },
			[]contract.Rule{contract.UnlockEndsHold}},
		{"a call that fails for no reason", func(s *script) {
			s.op("c1:1", history.TryLock, at(5), at(5.002), history.Failed).Lease = dog
		}, []contract.Rule{contract.CallsSucceed}},
		{"a call that was told busy, of which it is not known what a copy did, since nobody reads the keys", func(s *script) { copiedUnread(s, "") }, nil},
		{"a call of such a lock that was told an error", func(s *script) { copiedUnread(s, "i/o timeout") }, []contract.Rule{contract.CallsSucceed}},
		{"an unlock that ends unknown for no reason", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Unknown)
			op.Answer, op.Executed = history.Released, at(5.001)
		}, []contract.Rule{contract.CallsSucceed}},
		{"a call without an answer, on a machine that was late by as long as a client waits", func(s *script) { unheard(s, 0.2, 0.2) }, nil},
		{"a call without an answer, on a machine that was late by less", func(s *script) { unheard(s, 0.2, 0.199) }, []contract.Rule{contract.CallsSucceed}},
		{"a call that ends sooner than a client gives up, on a late machine", func(s *script) { unheard(s, 0.199, 0.2) }, []contract.Rule{contract.CallsSucceed}},
		{"a call that fails as the server refuses it", func(s *script) {
			s.op("c1:1", history.TryLock, at(5), at(5.002), history.Failed).Lease = dog
			s.fault("server-error", "", at(5.001), at(5.001))
		}, nil},
		{"a call that fails long after the server refused others", func(s *script) {
			s.op("c1:1", history.TryLock, at(15), at(15.002), history.Failed).Lease = dog
			s.fault("server-error", "", at(5.001), at(5.001))
		}, []contract.Rule{contract.CallsSucceed}},
		{"a call that fails as its client's process ends", func(s *script) {
			s.op("c1:1", history.TryLock, at(5), at(5.002), history.Failed).Lease = dog
			s.died("c1", at(5.001))
		}, nil},
		{"a call that fails at a key that another program has overwritten", func(s *script) { overwritten(s, at(20)) }, nil},
		{"a call that fails at a key that had been overwritten, and was deleted", func(s *script) { overwritten(s, at(14)) },
			[]contract.Rule{contract.CallsSucceed}},
		{"a call that fails as a replica that it waits for does not follow", func(s *script) { unreplicated(s, at(14), true) }, nil},
		{"a call that fails as replication stops, though it waits for no replica", func(s *script) { unreplicated(s, at(14), false) },
			[]contract.Rule{contract.CallsSucceed}},
		{"a call that fails before replication stops", func(s *script) { unreplicated(s, at(16), true) }, []contract.Rule{contract.CallsSucceed}},
		{"calls that fail by the two connections that broke", func(s *script) { brokenTwo(s, 2) }, nil},
		{"a call more that fails than connections broke", func(s *script) { brokenTwo(s, 3) }, []contract.Rule{contract.CallsSucceed}},
		{"a call that fails after another client's connection broke, and another key was overwritten", func(s *script) {
			s.op("c1:1", history.TryLock, at(15), at(15.002), history.Failed).Lease = dog
			s.fault("overwrite-key", "", at(5), at(5)).Lock = "another"
			s.fault("close-connection", "c2", at(5), at(5))
		}, []contract.Rule{contract.CallsSucceed}},
		{"a call that fails at its next use of a connection that a fault broke", func(s *script) {
			s.op("c1:1", history.TryLock, at(15), at(15.002), history.Failed).Lease = dog
			s.fault("close-connection", "c1", at(5), at(5))
		}, nil},
		{"a call that never returns", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Released)
			op.Return, op.Outcome = 0, ""
		}, []contract.Rule{contract.CallsReturn}},
		{"a call that cannot return, since its client is cut off", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Released)
			op.Return, op.Outcome = 0, ""
			s.fault("partition", "c1", at(5), 0).Step = "replies"
		}, nil},
		{"whoever waits for a lock that is rightly held waits rightly", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.renewals("c1:1", 0, at(120))
			op := s.take("c2:1", at(5), at(6), 0)
			op.Return, op.Outcome, op.Evidence, op.Answer, op.Executed = 0, "", history.NotSent, "", 0
		}, nil},
		{"a key without a time to live is left behind", func(s *script) {
			s.take("c1:1", at(100), at(100.002), 0)
			s.event(history.Leftover, at(120))
		}, []contract.Rule{contract.KeysHaveAnEnd}},
		{"a key with a time to live is left behind", func(s *script) {
			s.take("c1:1", at(100), at(100.002), 0)
			s.event(history.Leftover, at(120)).Deadline = at(130.001)
		}, nil},
		{"a run that was killed says nothing about its end", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Released)
			op.Return, op.Outcome = 0, ""
			s.h.End = nil
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			v := verdict(t, s)
			if got := rules(v, contract.Liveness); !slices.Equal(got, tt.rules) || v.Result(contract.Liveness).Status != map[bool]Status{true: Holds, false: Broken}[len(tt.rules) == 0] {
				t.Errorf("%s: broke %q, want %q", v.Result(contract.Liveness).Status, got, tt.rules)
				for _, x := range v.Result(contract.Liveness).Violations {
					t.Log(x.Text)
				}
			}
			for _, x := range v.Result(contract.Liveness).Violations {
				if x.Cause.Class == "" || x.Cause.Text == "" || x.Lock == "" || x.From > x.To || (len(x.Ops) == 0 && x.Rule != contract.KeysHaveAnEnd) {
					t.Errorf("not explained: %+v", x)
				}
			}
		})
	}
}

// Who takes a lock that a replica brought back for it re-enters it, and gives back one hold of two.
func TestAHoldThatWasBroughtBackOutlivesItsOwnersUnlock(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.unlock("c1:1", at(1), history.Released)
	s.event(history.Failover, at(2)).Lock = ""
	back := s.event(history.Restore, at(2))
	back.Owner, back.Count, back.Deadline = "c1:1", 1, at(30)
	s.take("c1:1", at(3), at(3.002), 0)
	s.unlock("c1:1", at(5), history.Decremented)
	s.event(history.Expire, at(35.001))
	v := verdict(t, s)
	want(t, v, contract.Liveness)
	if x := v.Result(contract.Liveness).Violations[0]; x.Cause.Class != contract.ServerLost || x.Ruling.Kind != FailedAssumption {
		t.Errorf("%+v", x)
	}
}

// A waiter that asks a hundred times a second and more is a load; one that polls every 50 ms is none.
func TestTheLoadOfAWaiter(t *testing.T) {
	for _, tt := range []struct {
		every time.Duration
		rules []contract.Rule
	}{
		{50 * ms, nil},
		{5 * ms, []contract.Rule{contract.WaitsQuietly}},
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		op := s.op("c2:1", history.TryLock, at(1), at(4), history.Busy)
		op.Wait = 3 * sec
		for when := op.Call + ms; when < op.Return; when += tt.every {
			s.h.Served = append(s.h.Served, history.Served{At: when, Sent: when, Got: when, Client: "c2", Op: op.ID, Lock: job,
				Before: key("c1:1", 1, 30*sec), After: key("c1:1", 1, 30*sec)})
		}
		s.unlock("c1:1", at(5), history.Released)
		if got := rules(verdict(t, s), contract.Liveness); !slices.Equal(got, tt.rules) {
			t.Errorf("every %v: broke %q, want %q", tt.every, got, tt.rules)
		}
	}
}

// What a call took whose caller was not told is given back by a lock that claims so, once its client can.
func TestAGhostIsTakenBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claims bool
		until  float64
		cut    bool
		rules  []contract.Rule
	}{
		{"soon", true, 8, false, nil},
		{"with its lease", true, 30.001, false, []contract.Rule{contract.GhostIsGone}},
		{"with its lease, of a lock that does not claim it", false, 30.001, false, nil},
		{"with its lease, as its client was cut off", true, 30.001, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			if tt.claims {
				claiming(s, contract.TakesBack)
			}
			op := s.op("c1:1", history.TryLock, at(0), at(2), history.Unknown)
			op.Error = "context canceled"
			op.Answer, op.Executed, op.Lease, op.Watchdog = history.Acquired, at(0.001), dog, true
			s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
			if tt.until > 30 {
				s.event(history.Expire, at(tt.until))
			} else {
				back := s.op("c1:1", history.Unlock, at(tt.until), at(tt.until)+2*lat, history.Released)
				back.Aside = true
			}
			if tt.cut {
				s.fault("partition", "c1", at(1), at(29))
			}
			if got := rules(verdict(t, s), contract.Liveness); !slices.Equal(got, tt.rules) {
				t.Errorf("broke %q, want %q", got, tt.rules)
			}
		})
	}
}

// A message that is lost on a connection that the fault does not name may have silenced the subscription: not if the client has
// got the answer to one since.
func TestWhatSilencesASubscription(t *testing.T) {
	for _, tt := range []struct {
		on         string
		subscribed time.Duration // when the subscription was sent
		deaf       bool
	}{
		{"reply publish", at(0.5), true},
		{"reply acquire", at(0.5), false},
		{"between acquire and cleanup", at(0.5), true},
		{"between acquire and cleanup", at(1.5), false},
		{"reply cleanup", at(0.5), true}, // it may have unsubscribed
		{"reply cleanup", at(1.5), false},
		{"", at(0.5), true},
		{"", at(9), true}, // too late
	} {
		s := newScript()
		s.fault("drop-message", "c2", at(1), 0).On = tt.on
		s.h.Served = append(s.h.Served, history.Served{At: tt.subscribed + lat, Sent: tt.subscribed, Got: tt.subscribed + 2*lat, Client: "c2", Step: history.StepSubscribe})
		if got := len(collect(s.done(), Options{}).deafened("c2", job, waking{to: at(8)})) > 0; got != tt.deaf {
			t.Errorf("%q, subscribed at %s: silent: %v", tt.on, Stamp(tt.subscribed), got)
		}
	}
}

// unheard has a call end without an answer after so many seconds, on a machine that was so many seconds late.
func unheard(s *script, lasts, late float64) {
	op := s.op("c1:1", history.TryLock, at(5), at(5+lasts), history.Unknown)
	op.Lease, op.Evidence = dog, history.NotSent
	s.h.End.Late = at(late)
}

// copiedUnread is a call on a lock whose keys nobody reads, and of which it is not known what it did; what its caller was told is an error, or none.
func copiedUnread(s *script, told string) {
	s.h.Header.Layout.Unknown, s.h.Header.Expiry = "it is a zset", history.Implied
	op := s.op("c1:1", history.TryLock, at(5), at(5.002), history.Unknown)
	op.Lease, op.Evidence, op.Until, op.Error = dog, history.Sent, at(5.002), told
}

// What a dead client had sent before its death may set its lease once more; what it sends afterwards may not.
func TestWhatADeadClientHadSentMaySetItsLease(t *testing.T) {
	for sent, accused := range map[time.Duration]bool{at(4.9): false, at(5.1): true} {
		s := newScript()
		op := s.take("c1:1", at(0), at(0.002), at(8))
		s.h.Served = append(s.h.Served,
			history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
				Before: key("", 0, 0), After: key("c1:1", 1, at(8.001))},
			history.Served{At: at(7.9), Sent: sent, Client: "c1", Owner: "c1:1", Lock: job, Step: history.StepRelease,
				Before: key("c1:1", 1, at(8.001)), After: key("c1:1", 1, at(15.9))})
		s.event(history.Died, at(5)).Client = "c1"
		e := s.event(history.ForceTTL, at(7.9))
		e.Owner, e.Deadline = "c1:1", at(15.9)
		s.event(history.Expire, at(15.9))
		found := false
		for _, x := range verdict(t, s).Result(contract.Liveness).Violations {
			found = found || x.Rule == contract.DeadHoldEnds
		}
		if found != accused {
			t.Errorf("sent at %v: accused: %v\n%s", sent, found, verdict(t, s).Explanation)
		}
	}
}
