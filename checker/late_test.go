package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// An unlock that its owner was not told of takes effect in the owner's next hold, and gives back one of its two. So the unlock of
// the inner one frees the lock, though its owner takes it for held once.
func TestAnUnlockThatComesLateTakesAPartOfTheNextHold(t *testing.T) {
	decremented := func(executed float64, err string) *script {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		s.unlock("c1:1", at(1), history.Released)
		late := s.op("c1:1", history.Unlock, at(1.5), at(1.502), history.Unknown)
		late.Error, late.Executed, late.Answer, late.Lease = err, at(executed), history.Decremented, dog
		s.take("c1:1", at(2), at(2.002), 0)
		s.take("c1:1", at(3), at(3.002), 0)
		inner := s.op("c1:1", history.Unlock, at(6), at(6.002), history.Decremented)
		inner.Answer, inner.Lease = history.Released, dog
		s.take("c2:1", at(6.5), at(6.502), 0)
		return s
	}
	const late = string(FailedAssumption) + "unlocked-late"
	for _, tt := range []struct {
		name   string
		script *script
		want   string
	}{
		{"its answer was lost", answerLost(decremented(5, "EOF")), late},
		{"nothing kept its answer", decremented(5, "EOF"), defect},
		{"its answer was lost, of a lock that takes back", claiming(answerLost(decremented(5, "EOF")), contract.TakesBack), defect},
		{"its caller gave it up", decremented(5, "context canceled"), string(FailedAssumption) + "given-up-late"},
	} {
		if got := ruledOn(t, tt.script, contract.OneBeliever); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A copy of a request takes a lock that its owner has lost unheard. Nobody renews that: what its end is blamed on is the loss.
func TestWhatACopyTakesAgainIsBlamedOnTheLossBefore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		again bool // it is taken by a copy of the request, not by another
		want  string
	}{
		{"a copy takes it", true, string(FailedAssumption) + "key-touched"},
		{"a request of another call takes it", false, defect},
	} {
		s := newScript()
		op := s.take("c1:1", at(0), at(0.002), 0)
		s.event(history.Delete, at(5))
		s.h.Served = append(s.h.Served,
			history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
		if tt.again {
			op.Repeats = 1
			s.h.Served = append(s.h.Served,
				history.Served{At: at(9), Sent: at(0), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(39))})
			s.fault("duplicate-message", "c1", at(0), at(9))
		} else {
			s.take("c1:1", at(8.999), at(9.001), 0)
		}
		s.event(history.Expire, at(39))
		s.take("c2:1", at(40), at(40.002), 0)
		if got := ruledOn(t, s, contract.OneBeliever); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			for _, x := range verdict(t, s).Result(contract.Exclusion).Violations {
				t.Log(x.Text, x.Cause.Text)
			}
		}
	}
}

// The lease of a group's first member has begun while the others are taken: a jump of its server's clock then ends the whole. One
// before the call does not.
func TestTheClockJumpsBetweenTheMembersOfAGroup(t *testing.T) {
	for called, want := range map[float64]string{0: string(FailedAssumption) + "clock-moved", 1.5: defect} {
		s := newGroupScript(history.Multi, "a", "b")
		jump := s.event(history.ClockJump, at(1))
		jump.Lock, jump.By = "", at(25)
		s.fault("clock-jump", "", at(1), at(1))
		op := s.take("x:1", at(called), at(2.1), 0)
		s.set(op, "a", at(called+0.05), 1, at(called+30.05))
		s.set(op, "b", at(2.099), 1, at(32.099))
		s.event(history.Expire, at(5.05))
		op = s.take("y:1", at(6), at(6.2), 0)
		s.state = map[memberKey]history.KeyState{}
		s.set(op, "a", at(6.1), 1, at(36.1))
		s.set(op, "b", at(6.199), 1, at(36.199))
		if got := ruledOn(t, s.script, contract.OneBeliever); got != want {
			t.Errorf("called at %v: %q, want %q", called, got, want)
			for _, x := range verdict(t, s.script).Result(contract.Exclusion).Violations {
				t.Log(x.Text, x.Cause.Text)
			}
		}
	}
}

// What a group's call asks of a member is given up with it.
func TestAMembersRequestIsGivenUpWithItsGroup(t *testing.T) {
	for err, want := range map[string]contract.Class{"context deadline exceeded": contract.Abandoned, "EOF": contract.Untold} {
		s := newGroupScript(history.Multi, "a", "b")
		whole := s.op("x:1", history.TryLock, at(1), at(1.1), history.Unknown)
		whole.Error, whole.Evidence = err, history.Sent
		s.set(whole, "a", at(1.05), 1, at(31.05))
		part := s.op("x:1", history.TryLock, at(1), at(1.1), history.Unknown)
		part.Lock, part.Aside, part.Executed, part.Answer, part.Lease, part.Watchdog = "a", true, at(1.05), history.Acquired, dog, true
		h := s.done()
		f := collect(h, Options{}.withDefaults(h))
		asked := 0
		for _, l := range f.locks {
			for _, op := range l.ops {
				if op.Lock != "a" {
					continue
				}
				asked++
				if got := f.untold(l, op, at(31), "it took a"); got.Class != want {
					t.Errorf("%s: %s, want %s", err, got.Class, want)
				}
			}
		}
		if asked != 1 {
			t.Errorf("%d requests for a", asked)
		}
	}
}

// A copy of an unlock may find more holds than the first did, or fewer. Who made the copy answers for what its owner loses by it.
func TestACopyOfAnUnlockFindsOtherHolds(t *testing.T) {
	for name, script := range map[string]func() (s *script, client string){
		"none at first, then an inner one":   foundNothing,
		"one that the first left of a group": foundTheLast,
	} {
		for fault, want := range map[string]string{"duplicate-message": string(FailedAssumption) + "held-twice", "": defect} {
			s, client := script()
			if fault != "" {
				s.fault(fault, client, at(2), at(6))
			}
			if got := ruledOn(t, s, contract.OneBeliever); got != want {
				t.Errorf("%s, fault %q: %q, want %q", name, fault, got, want)
			}
		}
	}
}

// foundNothing is an unlock that found no hold. Its copy, at 5 s, gives back one of the two that its owner has by then, who gives the
// lock back once less than it believes.
func foundNothing() (s *script, client string) {
	s = newScript()
	s.take("c1:1", at(0), at(0.002), sec)
	s.event(history.Expire, at(1.001))
	op := s.unlock("c1:1", at(2), history.NotHeld)
	s.served(op, op.Executed, key("", 0, 0), key("", 0, 0))
	op.Executed, op.Answer = at(5), history.Decremented
	s.take("c1:1", at(3), at(3.002), 0)
	s.take("c1:1", at(4), at(4.002), 0)
	s.h.Served = append(s.h.Served, history.Served{At: at(5), Sent: at(2), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Step: history.StepRelease,
		Before: key("c1:1", 2, at(34)), After: key("c1:1", 1, at(35))})
	s.unlock("c1:1", at(6), history.Released).Answer = history.Released
	s.h.Ops[len(s.h.Ops)-1].Outcome = history.Unknown // it was not answered: its owner takes the lock for held once
	s.take("c2:1", at(7), at(7.002), 0)
	s.unlock("c1:1", at(9), history.NotHeld)
	return s, "c1"
}

// foundTheLast is the unlock of a re-entry of a group. Its copy, at 6 s, finds the only hold of its owner, who has the group no longer.
func foundTheLast() (*script, string) {
	s := newGroupScript(history.Multi, "a", "b")
	both := func(op *history.Op, when float64, holds int64) {
		s.set(op, "a", at(when), holds, at(when+60))
		s.set(op, "b", at(when)+1, holds, at(when+60))
	}
	both(s.take("x:1", at(0), at(0.1), 60*sec), 0.05, 1)
	both(s.take("x:1", at(1), at(1.1), 60*sec), 1.05, 2)
	both(s.unlock("x:1", at(2), history.Decremented), 2.001, 1)
	both(s.unlock("x:1", at(3), history.Released), 3.001, 0)
	both(s.take("x:1", at(4), at(4.1), 60*sec), 4.05, 1)
	inner := &s.h.Ops[2]
	inner.Repeats = 1
	both(inner, 6, 0)
	both(s.take("y:1", at(7), at(7.1), 60*sec), 7.05, 1)
	s.unlock("x:1", at(9), history.NotHeld)
	return s.script, "x"
}

// The server refuses one copy of an unlock, whose caller is told so, and executes another later: in the owner's next hold.
func TestAnUnlockOfWhichACopyWasRefusedComesLate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refused bool
		copied  bool // by a fault
		claims  []contract.Claim
		want    string
	}{
		{"a fault copied it", true, true, nil, string(FailedAssumption) + "unlocked-late"},
		{"a fault copied it, of a lock that takes back", true, true, []contract.Claim{contract.TakesBack}, defect},
		{"nothing copied it", true, false, nil, defect},
		{"no copy was refused", false, true, nil, string(FailedAssumption) + "held-twice"},
	} {
		s := newScript()
		claiming(s, tt.claims...)
		holds := int64(0)
		served := func(op *history.Op, call, executed float64, is int64) {
			s.h.Served = append(s.h.Served, history.Served{At: at(executed), Sent: at(call), Got: op.Return, Client: op.Client, Owner: op.Owner, Op: op.ID, Request: op.ID, Lock: job,
				Before: key(op.Owner, holds, at(executed)+dog), After: key(op.Owner, is, at(executed)+dog)})
			holds = is
		}
		served(s.take("c1:1", at(0), at(0.002), 0), 0, 0.001, 1)
		late := s.op("c1:1", history.Unlock, at(1.5), at(1.502), history.Failed)
		late.Error, late.Executed, late.Answer, late.Lease, late.Evidence = "OOM command not allowed", at(5), history.Released, dog, history.Executed
		if tt.refused {
			s.h.Served = append(s.h.Served, history.Served{At: at(1.501), Sent: at(1.5), Got: at(1.502), Client: "c1", Owner: "c1:1", Op: late.ID, Request: late.ID, Lock: job,
				Before: key("c1:1", 1, at(30)), After: key("c1:1", 1, at(30)), Refused: true, Reply: "OOM command not allowed"})
		}
		again := slices.IndexFunc(s.h.Ops, func(op history.Op) bool { return op.ID == late.ID })
		served(s.unlock("c1:1", at(1.6), history.Released), 1.6, 1.601, 0)
		served(s.take("c1:1", at(2), at(2.002), 0), 2, 2.001, 1)
		served(&s.h.Ops[again], 1.5, 5, 0)
		s.h.Served[len(s.h.Served)-1].Got = 0
		if tt.copied {
			s.fault("duplicate-message", "c1", at(1.5), at(5)).On = "request release"
		}
		served(s.take("c2:1", at(6.5), at(6.502), 0), 6.5, 6.501, 1)
		if got := ruledOn(t, s, contract.OneBeliever); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			for _, x := range verdict(t, s).Result(contract.Exclusion).Violations {
				t.Log(x.Text, x.Cause.Text)
			}
		}
	}
}

// lateRenewal is a hold with an explicit lease, which a renewal changes that its client began at a time: from one end to another.
func lateRenewal(began float64, lease time.Duration, was, is float64) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.unlock("c1:1", at(9.9), history.Released)
	s.take("c1:1", at(10), at(10.002), lease)
	op := s.renew("c1:1", at(began), history.Renewed)
	op.Executed, op.Return = at(10.5), at(10.502)
	s.h.Served = append(s.h.Served, history.Served{At: at(10.5), Sent: at(10.3), Began: at(began), Got: at(10.502), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
		Step: history.StepRenew, Before: key("c1:1", 1, at(was)), After: key("c1:1", 1, at(is))})
	return s
}

// renewedLate is one that is shortened by that, so that another gets the lock.
func renewedLate(began float64) *script {
	s := lateRenewal(began, 60*sec, 70, 40.5)
	s.event(history.Expire, at(40.501))
	s.take("c2:1", at(41), at(41.002), 60*sec)
	s.unlock("c1:1", at(50), history.NotHeld)
	return s
}

// lengthenedLate is one that is lengthened.
func lengthenedLate(began float64) *script {
	s := lateRenewal(began, 5*sec, 15, 40.5)
	s.unlock("c1:1", at(12), history.Released)
	return s
}
