package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A group's lease is renewed while its owner has enough members by calls that want that. What another call took with a lease of its own may keep
// the group held when a fault has taken one of those, and is not renewed.
func TestAGroupIsRenewedWhileItsWatchedMembersAreEnough(t *testing.T) {
	for _, tt := range []struct {
		name   string
		struck bool // a fault took a
		fresh  bool // c was taken with a lease of its own
		broken bool
	}{
		{"a is lost, c has a lease of its own", true, true, false},
		{"a is lost, c was taken to be renewed", true, false, true},
		{"nothing is lost", false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newGroupScript(history.Red, "a", "b", "c")
			claiming(s.script, contract.KeepsLongest)
			op := s.take("x:1", 0, at(0.1), 0)
			s.set(op, "a", at(0.05), 1, at(30.05))
			s.set(op, "b", at(0.06), 1, at(30.06))
			op = s.take("x:1", at(1), at(1.1), 0)
			if tt.fresh {
				op.Fresh = 28 * sec
			}
			s.set(op, "a", at(1.05), 2, at(30.05))
			s.set(op, "b", at(1.06), 2, at(30.06))
			s.set(op, "c", at(1.07), 1, at(29.07))
			if tt.struck {
				s.set(op, "a", at(5), 0, 0)
				r := &s.h.Served[len(s.h.Served)-1]
				r.Op, r.Owner, r.Step, r.Client = 0, "", history.StepAdmin, "faults"
			}
			s.event(history.Lost, at(29)).Owner = "x:1"
			if got := slices.Contains(rules(verdict(t, s.script), contract.Watchdog), contract.RenewedInTime); got != tt.broken {
				t.Errorf("broken: %v, want %v", got, tt.broken)
			}
		})
	}
}

// What a call took by a command that was answered later than a message and its answer take may be of an attempt of it that was over: its client
// gives that back, and an inner unlock then gives back what the inner call took alone.
func TestAnAttemptThatWasOverLeavesTheOuterHoldNothing(t *testing.T) {
	for got, broken := range map[float64]bool{0.031: true, 0.4: false} {
		s := newGroupScript(history.Red, "a", "b", "c")
		s.gaveEarlier(false)
		for i := range s.h.Served {
			if r := &s.h.Served[i]; r.Lock == "a" && r.At == at(0.03) {
				r.Sent, r.Got = at(0.029), at(got)
			}
		}
		if is := slices.Contains(rules(verdict(t, s.script), contract.Object), contract.OneHoldAnUnlock); is != broken {
			t.Errorf("answered at %v s: broken: %v, want %v", got, is, broken)
		}
	}
}

// memberShortened has x:1 enter a quorum of three twice. The second time it sets a shorter lease on a, of which it is told at a time, and not on b; c it
// never has. The unlock leaves a alone, whose lease is over.
func memberShortened(told time.Duration, faults ...string) *groupScript {
	s := newGroupScript(history.Red, "a", "b", "c")
	op := s.take("x:1", 0, at(0.1), 30*sec)
	s.set(op, "a", at(0.05), 1, at(30.05))
	s.set(op, "b", at(0.06), 1, at(30.06))
	op = s.take("x:1", at(1), at(1.1), sec)
	s.set(op, "a", at(1.05), 2, at(2.05))
	s.h.Served[len(s.h.Served)-1].Got = told
	s.set(op, "b", at(1.06), 2, at(30.06))
	for _, kind := range faults {
		s.fault(kind, "x", at(1), at(4))
	}
	op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Decremented)
	s.set(op, "b", at(3.05), 1, at(33.05))
	op = s.op("x:1", history.Unlock, at(4), at(4.1), history.Unknown)
	op.Evidence, op.Error = history.Sent, "one of two"
	s.set(op, "b", at(4.05), 0, 0)
	return s
}

// Who is told that it lost a group may have that still by a member of which its client had no answer.
func TestAMemberThatNobodyHeardOfDoesNotCount(t *testing.T) {
	for got, early := range map[float64]bool{0.08: true, 0: false, 6: false} {
		s := newGroupScript(history.Red, "a", "b", "c")
		claiming(s.script, contract.TellsLoss)
		op := s.take("x:1", 0, at(0.1), 30*sec)
		s.set(op, "a", at(0.05), 1, at(30.05))
		s.set(op, "b", at(0.06), 1, at(30.06))
		s.set(op, "c", at(0.07), 1, at(30.07))
		s.h.Served[len(s.h.Served)-1].Got = at(got)
		s.set(op, "a", at(4), 0, 0)
		r := &s.h.Served[len(s.h.Served)-1]
		r.Op, r.Owner, r.Step, r.Client = 0, "", history.StepForce, "operator"
		lost := s.event(history.Lost, at(5))
		lost.Owner, lost.Client = "x:1", "x"
		s.event(history.Expire, at(30.06))
		if is := slices.Contains(rules(verdict(t, s.script), contract.Object), contract.NotToldEarly); is != early {
			t.Errorf("c's answer came at %v s: told too early: %v, want %v", got, is, early)
		}
	}
}

// A re-entry may set on a member the lease of a hold that was lost there, if its client had no answer that shows it.
func TestAMembersLeaseIsTheLongestThatItsClientKnowsOf(t *testing.T) {
	for got, broken := range map[float64]bool{1.08: true, 5: false, 0: false} {
		s := newGroupScript(history.Red, "a", "b", "c")
		claiming(s.script, contract.KeepsLongest)
		all := func(op *history.Op, when float64, holds int64, until float64) {
			for i, m := range []string{"a", "b", "c"} {
				s.set(op, m, at(when+0.01*float64(i)), holds, at(until+0.01*float64(i)))
			}
		}
		all(s.take("x:1", 0, at(0.1), 30*sec), 0.05, 1, 30.05)
		admin := s.h.Ops[0]
		all(&admin, 0.5, 0, 0)
		for i := range s.h.Served[3:] {
			r := &s.h.Served[3+i]
			r.Op, r.Owner, r.Step, r.Client = 0, "", history.StepAdmin, "faults"
		}
		s.fault("expire-key", "", at(0.5), at(0.5)).Lock = "all"
		op := s.take("x:1", at(1), at(1.1), sec)
		all(op, 1.05, 1, 2.05)
		s.h.Served[6].Got = at(got)
		lost := s.event(history.Lost, at(1.1))
		lost.Owner, lost.Client = "x:1", "x"
		op = s.take("x:1", at(1.2), at(1.3), at(1.5))
		s.set(op, "b", at(1.25), 2, at(2.75))
		s.set(op, "c", at(1.26), 2, at(2.76))
		s.set(op, "a", at(1.27), 2, at(31.27))
		if is := slices.Contains(rules(verdict(t, s.script), contract.Object), contract.MemberLease); is != broken {
			t.Errorf("a's answer came at %v s: broken: %v, want %v", got, is, broken)
		}
	}
}

// The commands of an unlock that was given up come to one member after the other, when its owner has locked again. That is no second effect, unless one
// member is given back twice.
func TestAGivenUpUnlockComesToEachMember(t *testing.T) {
	for twice, want := range map[bool]contract.Class{false: contract.Abandoned, true: contract.DoubleExecution} {
		s := newGroupScript(history.Red, "a", "b", "c")
		first := s.take("x:1", 0, at(0.1), 5*sec)
		for i, key := range []string{"a", "b", "c"} {
			s.set(first, key, at(0.05+0.001*float64(i)), 1, at(5.05))
		}
		s.event(history.Expire, at(5.05))
		given := s.op("x:1", history.Unlock, at(6), at(6.001), history.Unknown)
		given.Cancel, given.Error = ms, "context deadline exceeded (with a command under way)"
		given.Executed, given.Answer, given.Repeats = at(6.2), history.Released, 1
		again := s.take("x:1", at(6.01), at(6.4), 60*sec)
		again.Executed = at(6.25)
		late := "c"
		if twice {
			late = "a"
		}
		s.set(again, "a", at(6.1), 1, at(66.1))
		s.set(again, "b", at(6.15), 1, at(66.15))
		s.set(given, "a", at(6.2), 0, 0)
		s.set(again, late, at(6.25), 1, at(66.25))
		s.set(given, late, at(6.3), 0, 0)
		other := s.take("y:1", at(7), at(7.1), 10*sec)
		for i, key := range []string{"a", "c"} {
			s.set(other, key, at(7.05+0.001*float64(i)), 1, at(17.05))
		}
		other.Executed = at(7.051)
		x := broken(verdict(t, s.script), contract.OneBeliever)
		if x == nil || x.Cause.Class != want {
			t.Errorf("a member twice: %v: %+v", twice, x)
		}
	}
}

// An owner's hold of a lock is forced free, and it takes a group with the same key. Its unlock of that lock gives back what it had for the group. If nobody
// forced it free, that was one hold too many.
func TestAnUnlockOfALostHoldTakesAGroupsMember(t *testing.T) {
	for _, forced := range []bool{true, false} {
		s := newGroupScript(history.Multi, "a", "b")
		s.lock = "a"
		s.set(s.take("x:1", 0, at(0.1), 60*sec), "a", at(0.05), 1, at(60))
		if forced {
			force := s.op("z:1", history.ForceUnlock, at(1), at(1.1), history.Released)
			s.set(force, "a", at(1.05), 0, 0)
			force.Executed = at(1.05)
		}
		s.lock = "all"
		group := s.take("x:1", at(2), at(2.2), 60*sec)
		holds := int64(2)
		if forced {
			holds = 1
		}
		inner := *group
		inner.ID, inner.Lock, inner.Aside, inner.Return, inner.Outcome, inner.Answer = 90, "a", true, at(2.06), history.Unknown, history.Acquired
		inner.Executed = at(2.05)
		s.set(group, "a", at(2.05), holds, at(62.05))
		s.set(group, "b", at(2.1), 1, at(62.1))
		group.Executed = at(2.1)
		s.lock = "a"
		unlock := s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
		unlock.Executed = at(3.05)
		s.set(unlock, "a", at(3.05), 0, 0)
		aside := *unlock
		aside.ID, aside.Lock, aside.Aside = 91, "all", true
		other := s.take("y:1", at(4), at(4.1), 60*sec)
		other.Executed = at(4.05)
		s.set(other, "a", at(4.05), 1, at(64.05))
		s.h.Ops = append(s.h.Ops, inner, aside)
		v := verdict(t, s.script)
		x := broken(v, contract.SharedMember)
		if x == nil || (x.Ruling.Kind == Defect) == forced {
			t.Errorf("forced: %v: %+v", forced, x)
		}
	}
}

// A call of a group is given up, and its client gives the member back that it had taken. If that was lost by then, it takes away what the next call took.
// Otherwise it takes one hold too many.
func TestWhatAGivenUpCallHadLostIsGivenBackForTheNext(t *testing.T) {
	for _, lost := range []bool{true, false} {
		s := newGroupScript(history.Multi, "a", "b")
		given := s.op("x:1", history.Lock, 0, at(0.1), history.Unknown)
		given.Cancel, given.Error, given.Evidence, given.Executed, given.Answer = at(0.1), "context deadline exceeded (with a command under way)", history.Sent, 0, ""
		given.Lease = 60 * sec
		s.set(given, "a", at(0.05), 1, at(60))
		if lost {
			s.fault("expire-key", "", at(0.2), at(0.2)).Lock = "all"
			admin := *given
			s.set(&admin, "a", at(0.2), 0, 0)
			last := &s.h.Served[len(s.h.Served)-1]
			last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
		}
		op := s.take("x:1", at(0.3), at(0.9), 60*sec)
		holds := int64(2)
		if lost {
			holds = 1
		}
		s.set(op, "a", at(0.4), holds, at(60.4))
		back := *given
		back.Kind = history.Unlock
		s.set(&back, "a", at(0.6), 0, 0)
		last := &s.h.Served[len(s.h.Served)-1]
		last.Op, last.Request = 0, 7
		s.set(op, "b", at(0.8), 1, at(60.8))
		op.Executed = at(0.8)
		s.event(history.Delete, at(0.8)+1).Note = "a member was taken away while others were acquired"
		x := broken(verdict(t, s.script), contract.GrantHasMembers)
		if x == nil || (x.Ruling.Kind == Defect) == lost {
			t.Errorf("lost: %v: %+v", lost, x)
		}
	}
}
