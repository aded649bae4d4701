package checker

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// broken is the first violation of a rule in a verdict; nil: there is none.
func broken(v *Verdict, rule contract.Rule) *Violation {
	for _, r := range v.Results {
		for i := range r.Violations {
			if r.Violations[i].Rule == rule {
				return &r.Violations[i]
			}
		}
	}
	return nil
}

// A waiter asks more than once: that is no copy of its request, unless it had no answer to the one before.
func TestAWaiterThatAsksAgainSendsNoCopy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		second  float64 // when the second request is sent
		request int64   // its number, where that of the first is 1; 0: neither is known
		class   contract.Class
	}{
		{"it had the answer", 6, 2, contract.Unexplained},
		{"it had the answer, and nobody knows which request is which", 6, 0, contract.Unexplained},
		{"it had none yet", 2.0005, 2, contract.DoubleExecution},
		{"the network copied it", 6, 1, contract.DoubleExecution},
	} {
		g := newGate(1)
		op := g.await("c2:1", 2, 12)
		op.Kind, op.Wait, op.Outcome = history.TryAwait, 10*sec, history.Busy
		g.h.Served[len(g.h.Served)-1].Request = min(tt.request, 1)
		id := op.ID
		g.down("c1:1", 5)
		g.h.Served = append(g.h.Served, history.Served{At: at(tt.second + 0.001), Sent: at(tt.second), Got: at(tt.second + 0.002), Client: "c2", Op: id,
			Lock: g.lock, Before: g.key(), After: g.key(), Request: tt.request})
		slices.SortStableFunc(g.h.Served, func(a, b history.Served) int { return cmp.Compare(a.At, b.At) })
		x := broken(verdict(t, g.script), contract.TimeIsUpAbove)
		if x == nil || x.Cause.Class != tt.class {
			t.Errorf("%s: %+v, not %s", tt.name, x, tt.class)
		}
	}
}

// Who reads and would write is told at once, of a lock that says so: that it is busy is another answer, whoever else reads.
func TestAnUpgradeThatIsMadeToWait(t *testing.T) {
	for _, claims := range [][]contract.Claim{nil, {contract.RefusesUpgrade}} {
		s := newRW(append(claims, contract.LeasePerHold)...)
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, 60*sec)
		s.held("c2:1", history.ReadLock, 2, 2.004, history.Acquired, 60*sec)
		s.held(writer1, history.TryWrite, 3, 3.004, history.Busy, 0)
		v := verdict(t, s)
		if got := rules(v, contract.Object); slices.Contains(got, contract.UpgradeIsRefused) != (len(claims) > 0) || slices.Contains(got, contract.SharedIsBusy) {
			t.Errorf("claiming %v: %q", claims, got)
		}
	}
}

// An answer of which nothing is to be seen on the server is told apart from one that the server never gave.
func TestAnAnswerWithoutAnEffect(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind history.Kind
		step history.Step // of the command that the server executed; empty: none
		rule contract.Rule
		says string
	}{
		{"nothing was sent", history.ReleasePermits, "", contract.AnswerHasRoot, "the server never executed it"},
		{"a question was", history.ReleasePermits, history.StepQuery, contract.AnswerHasRoot, "the server never executed it"},
		{"a release", history.ReleasePermits, history.StepRelease, contract.EffectIsThere, "what the server executed for it at 10.001 s changed nothing"},
		{"a drain", history.DrainPermits, history.StepForce, contract.EffectIsThere, "what the server executed for it at 10.001 s changed nothing"},
	} {
		p := shared()
		op := p.op("c4:1", tt.kind, at(10), at(10.002), history.OK)
		op.Value, op.Evidence, op.Executed, op.Answer = 1, history.Sent, 0, ""
		if tt.step != "" {
			p.h.Served = append(p.h.Served, history.Served{At: at(10.001), Sent: at(10), Got: at(10.002), Client: "c4", Op: op.ID, Lock: p.lock, Step: tt.step,
				Before: p.key(), After: p.key()})
		}
		v := verdict(t, p.script)
		if x := broken(v, tt.rule); x == nil || !strings.Contains(x.Text, tt.says) || x.Ruling.Kind != Defect {
			t.Errorf("%s: %+v in %q", tt.name, x, rules(v, contract.Object))
		}
	}
}

// A hold that ends by a clock that moved is renewed in vain: from then on its holder knows, though its own clock says nothing.
func TestARefusedRenewalTellsOfAClockThatMoved(t *testing.T) {
	for _, tt := range []struct {
		told float64
		late bool
	}{{10.003, false}, {25, true}} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.take("c1:1", at(0), at(0.002), 0)
		s.served(op, at(0.001), key("", 0, 0), key("c1:1", 1, at(30.001)))
		s.fault("clock-jump", "", at(5), 0)
		s.event(history.ClockJump, at(5)).By = 40 * sec
		s.event(history.Expire, at(5))
		s.renew("c1:1", at(10), history.NotHeld)
		s.take("c2:1", at(6), at(6.002), 60*sec)
		s.event(history.Lost, at(tt.told)).Owner = "c1:1"
		v := verdict(t, s)
		if x := broken(v, contract.ToldInTime); (x != nil) != tt.late || x != nil && x.Ruling.Kind != Defect {
			t.Errorf("told at %v s: %+v", tt.told, x)
		}
		if x := broken(v, contract.OneBeliever); x == nil || x.Ruling.Row != "clock-moved" {
			t.Errorf("the overlap: %+v", x)
		}
	}
}

// The holder of a quorum knows by its renewals that it is lost, and not only when one more member is gone; faults of long before do not
// keep it from that.
func TestAQuorumIsLostWithItsMajority(t *testing.T) {
	for _, tt := range []struct {
		told    float64
		refused int // how many of the three members refuse the renewal at 10 s
		late    bool
	}{{11, 2, false}, {16, 2, true}, {16, 1, false}} {
		s := newGroupScript(history.Red, "a", "b", "c")
		claiming(s.script, contract.TellsLoss)
		op := s.take("x:1", 0, at(0.1), 0)
		for i, key := range []string{"a", "b", "c"} {
			s.set(op, key, at(0.05+0.001*float64(i)), 1, at(30.05))
		}
		admin := *op
		for _, key := range []string{"a", "b"} {
			s.set(&admin, key, at(5), 0, 0)
			last := &s.h.Served[len(s.h.Served)-1]
			last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
		}
		s.event(history.Delete, at(5))
		s.fault("delete-key", "", at(5), at(5)).Lock = "all"
		s.fault("restart", "", at(0), at(4)).Server = "s3" // what its client does after that may be late by as much
		for i, key := range []string{"a", "b", "c"} {
			renewal := s.op("x:1", history.Renew, at(10), at(10.1), history.Renewed)
			switch {
			case i < tt.refused:
				renewal.Outcome, renewal.Answer = history.NotHeld, history.NotHeld
				s.set(renewal, key, at(10.05+0.001*float64(i)), 0, 0)
			case key == "c":
				s.set(renewal, key, at(10.052), 1, at(40.052))
			default:
				continue
			}
			s.h.Served[len(s.h.Served)-1].Step = history.StepRenew
		}
		s.event(history.Lost, at(tt.told)).Owner = "x:1"
		v := verdict(t, s.script)
		x := broken(v, contract.ToldInTime)
		if (x != nil) != tt.late || x != nil && (x.Ruling.Kind != Defect || !strings.Contains(x.Text, "by the answers to its renewals")) {
			t.Errorf("told at %v s, after %d refused: %+v; %v", tt.told, tt.refused, x, v.Refused)
		}
	}
}

// A member may be taken away while the next ones are still asked, and asked a second time at that: the holder counts on the leases that it was told of,
// and not from when it called.
func TestAQuorumLostWhileItIsTakenEndsWithItsMembersLeases(t *testing.T) {
	for _, tt := range []struct {
		told float64
		late bool
	}{{7.9, false}, {8.5, true}} {
		s := newGroupScript(history.Red, "a", "b", "c")
		claiming(s.script, contract.TellsLoss)
		op := s.take("x:1", 0, at(3.2), 5*sec)
		op.Executed = at(0.001)
		s.event(history.Delete, at(0.001)+1).Note = "a member was taken away while others were acquired"
		s.set(op, "a", at(3), 1, at(8))
		admin := *op
		s.set(&admin, "a", at(3.05), 0, 0)
		last := &s.h.Served[len(s.h.Served)-1]
		last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
		s.fault("delete-key", "", at(3.05), at(3.05)).Lock = "a"
		s.set(op, "b", at(3.1), 1, at(8.1))
		s.event(history.Lost, at(tt.told)).Owner = "x:1"
		v := verdict(t, s.script)
		x := broken(v, contract.ToldInTime)
		if (x != nil) != tt.late || x != nil && x.Ruling.Kind != Defect {
			t.Errorf("told at %v s: %+v; %v", tt.told, x, v.Refused)
		}
	}
}

// News that came late did come: it is no reason to sleep on, as news that was lost is.
func TestNewsThatCameIsNotWhatAWaiterMissed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		kind, on string
		comes    float64 // 0: the fault has no end
		rounds   bool    // whether the latch claims them
		class    contract.Class
		row      string
	}{
		{"late news of a release, and a lock that tells rounds apart", "delay-message", "reply publish", 15, true, contract.SetAgain, ""},
		{"and one that does not", "delay-message", "reply publish", 15, false, contract.SetAgain, "set-again"},
		{"news that never came", "drop-message", "reply publish", 0, true, contract.LostMessage, "waiter-hindered"},
		{"a subscription that came late", "delay-message", "request subscribe", 15, true, contract.LostMessage, "waiter-hindered"},
	} {
		g := newGate(1).claiming(contract.LooksAgain)
		if tt.rounds {
			g.claiming(contract.Rounds)
		}
		g.await("c2:1", 2, 18.017)
		g.down("c1:1", 5)
		x := g.fault(tt.kind, "c2", at(5.0005), at(tt.comes))
		x.On, x.Hits = tt.on, 1
		g.set("c1:1", 1, 8)
		g.down("c1:1", 18)
		v := broken(verdict(t, g.script), contract.AwaitReturns)
		if v == nil || v.Cause.Class != tt.class || v.Ruling.Row != tt.row {
			t.Errorf("%s: %+v", tt.name, v)
		}
	}
}

// A latch is set again after its round is over. What set it when the call had begun, and before it looked, began the round.
func TestTheSetOfARoundIsNotTheNext(t *testing.T) {
	for _, tt := range []struct {
		again bool
		class contract.Class
	}{{false, contract.Unexplained}, {true, contract.SetAgain}} {
		g := newGate(1)
		g.down("c1:1", 1)
		early := g.op("c2:1", history.Await, at(2), at(20), history.OK)
		early.Evidence, early.Executed, early.Answer = history.Sent, 0, ""
		id := early.ID
		g.set("c1:1", 1, 2.001)
		g.h.Served = append(g.h.Served, history.Served{At: at(2.005), Sent: at(2.004), Got: at(2.006), Client: "c2", Op: id, Lock: g.lock, Before: g.key(), After: g.key()})
		g.down("c1:1", 5)
		if tt.again {
			g.set("c1:1", 1, 6)
			g.down("c1:1", 7)
		}
		v := broken(verdict(t, g.script), contract.AwaitReturns)
		if v == nil || v.Cause.Class != tt.class {
			t.Errorf("set again: %v: %+v", tt.again, v)
		}
	}
}

// What a client sends by itself while a call waits is told of as such.
func TestAClientThatSpinsByItselfIsNamed(t *testing.T) {
	for by, says := range map[string]string{"": "await of c2:1 sent 10,000 commands", "c2": "while the await of c2:1 waited, its client c2 sent 10,000 commands"} {
		g := spinning(false)
		g.h.End.Spin.By = by
		x := broken(verdict(t, g.script), contract.WaitsQuietly)
		if x == nil || !strings.HasPrefix(x.Text, says) || x.Ruling.Kind != Defect {
			t.Errorf("by %q: %+v", by, x)
		}
	}
}

// retaken is a hold that is to be renewed, and that is taken away. Its owner takes the lock anew, for more of it: by a lease of a second, and by
// one of so many, which may be to be renewed.
func retaken(watched bool, lease float64) *script {
	s := claiming(newScript(), contract.KeepsLongest)
	s.take("c1:1", at(1), at(1.002), 0)
	s.event(history.Delete, at(1.006))
	s.fault("expire-key", "", at(1.006), at(1.006)).Lock = job
	anew := s.take("c1:1", at(1.007), at(1.009), sec)
	anew.Fresh = sec
	more := s.take("c1:1", at(1.01), at(1.012), at(lease))
	more.Fresh, more.Watchdog, more.FreshWatchdog = at(lease), true, watched
	s.event(history.Expire, at(1.011+lease))
	s.take("c2:1", at(1.1+lease), at(1.102+lease), 60*sec)
	s.unlock("c2:1", at(2+lease), history.Released)
	s.unlock("c1:1", at(4+lease), history.NotHeld)
	return s
}

// A lock may have no such lease as a call asks for: it sends nothing, and says so. One that claims to have any does not.
func TestALockMayDeclineWhatItDoesNotHave(t *testing.T) {
	for _, tt := range []struct {
		name     string
		lease    time.Duration
		evidence history.Evidence
		claims   []contract.Claim
		other    time.Duration // the lease of an attempt for which something was sent
		own      bool          // who asks for the timeout asked for none
		broken   bool
	}{
		{"nothing was sent", 7 * sec, history.NotSent, nil, 7 * sec, true, false},
		{"something was sent", 7 * sec, history.Sent, nil, 7 * sec, true, true},
		{"nothing was sent, of a lock that has any lease", 7 * sec, history.NotSent, []contract.Claim{contract.AnyLease}, 7 * sec, true, true},
		{"nothing was sent for one attempt with the lock's own lease", dog, history.NotSent, nil, 7 * sec, true, false},
		{"nothing was sent for one of two attempts with the lock's own lease", dog, history.NotSent, nil, dog, true, true},
		{"nothing was sent for a lease that is as long as the lock's own", dog, history.NotSent, nil, dog, false, false},
	} {
		s := claiming(newScript(), tt.claims...)
		op := s.op("c1:1", history.TryLock, at(1), at(1.001), history.Failed)
		op.Lease, op.OwnLease, op.Evidence, op.Error = tt.lease, tt.own && tt.lease == dog, tt.evidence, "nothing happened"
		another := s.take("c1:1", at(2), at(2.002), tt.other)
		another.Kind = history.TryLock
		another.OwnLease = tt.other == dog
		s.unlock("c1:1", at(3), history.Released)
		v := verdict(t, s)
		broken := slices.ContainsFunc(v.Result(contract.Liveness).Violations, func(v Violation) bool { return v.Rule == contract.CallsSucceed })
		if broken != tt.broken {
			t.Errorf("%s: broken %v", tt.name, broken)
		}
		if says := strings.Contains(v.Untried, "of "+s.lock+" by c1:1 for "+short(tt.lease)+" (operation 1) failed and sent nothing"); says == tt.broken {
			t.Errorf("%s: the verdict says of calls that were not tried: %q", tt.name, v.Untried)
		}
	}
}

// Nor does who is given up long before his time is over: he need not know of a count-down that came meanwhile.
func TestAWaitThatIsGivenUpEarly(t *testing.T) {
	for _, ret := range []float64{4, 12} {
		g := newGate(1)
		op := g.await("c2:1", 2, ret)
		op.Kind, op.Wait, op.Outcome = history.TryAwait, 10*sec, history.Busy
		g.down("c1:1", 3)
		if x := broken(verdict(t, g.script), contract.TimeIsUpAbove); (x != nil) != (ret == 12) {
			t.Errorf("given up at %v: %+v", ret, x)
		}
	}
}

// Who waits in vain looks in the end, unless the key has ended by itself meanwhile: nobody is told of that.
func TestAWaitInVainForAKeyThatEnded(t *testing.T) {
	for _, gone := range []bool{true, false} {
		g := newGate(1)
		op := g.await("c2:1", 2, 12)
		op.Kind, op.Wait, op.Outcome = history.TryAwait, 10*sec, history.Busy
		if gone {
			g.left = nil
			g.h.Events = append(g.h.Events, history.Event{Kind: history.Delete, Lock: "gate", At: at(5)})
			g.struck("delete-key", "", 5)
		} else {
			g.down("c1:1", 5)
		}
		if x := broken(verdict(t, g.script), contract.TimeIsUpAbove); (x == nil) != gone {
			t.Errorf("the key ended by itself %v: %+v", gone, x)
		}
	}
}

// An owner that re-enters what it was told it had lost has its outer hold still, if the token is the same: after one unlock it believes in that. With another
// token it was one hold, which that unlock gave back.
func TestAReEntryOfWhatWasTakenForOverLeavesTheOuterHold(t *testing.T) {
	for token, believes := range map[int64]bool{7: true, 8: false} {
		s := newScript()
		first := s.take("c1:1", at(0), at(0.002), 2*sec)
		first.Token = 7
		s.event(history.Lost, at(1.9)).Owner = "c1:1"
		again := s.take("c1:1", at(0.5), at(3), 0)
		again.Token, again.Executed = token, at(1)
		s.unlock("c1:1", at(4), history.Decremented)
		s.event(history.Delete, at(5))
		s.take("c2:1", at(6), at(6.002), 0).Token = 9
		if x := broken(verdict(t, s), contract.OneBeliever); (x != nil) != believes {
			t.Errorf("token %d: %+v", token, x)
		}
	}
}
