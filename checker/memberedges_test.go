package checker

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// The two sides of what the judge says of groups beside their rules, or by the whole verdict.

// A group of all members may claim to return unanswered. One of which a majority is enough awaits its servers.
func TestAGroupReturnsUnanswered(t *testing.T) {
	for kind, late := range map[string]bool{history.Multi: true, history.Red: false} {
		s := claiming(newGroupScript(kind, "a", "b", "c").script, contract.ReturnsUnanswered)
		s.fault("partition", "x", at(1.5), at(8))
		op := s.op("x:1", history.TryLock, at(1), at(8.1), history.Unknown)
		op.Wait, op.Evidence, op.Executed, op.Answer, op.Error = 3*sec, history.Sent, 0, "", "i/o timeout"
		if got := slices.Contains(rules(verdict(t, s), contract.Liveness), contract.ReturnsInTime); got != late {
			t.Errorf("%s: %t", kind, got)
		}
	}
}

// An attempt that its client gives back in the background is no effect of the call, if a later attempt of it takes the member.
func TestAnAttemptGivenBackIsNoEffect(t *testing.T) {
	for _, given := range []bool{true, false} {
		s := newGroupScript(history.Red, "a", "b", "c")
		op := s.op("x:1", history.TryLock, 0, at(1), history.Acquired)
		op.Lease, op.Wait = 30*sec, 2*sec
		back := *op
		back.ID, back.Kind = 0, history.Unlock
		s.set(op, "c", at(0.1), 1, at(30.1))
		if given {
			s.set(&back, "c", at(0.2), 0, 0)
		}
		s.set(op, "a", at(0.8), 1, at(30.8))
		s.set(op, "b", at(0.9), 1, at(30.9))
		again := s.take("x:1", at(1.1), at(1.3), 30*sec)
		holds := s.state[memberKey{"s3", "c"}].Count("x:1")
		s.set(again, "c", at(1.15), holds+1, at(31.15))
		s.set(op, "c", at(1.2), holds+2, at(31.2)) // late
		s.set(again, "a", at(1.25), 2, at(31.25))
		s.set(again, "b", at(1.26), 2, at(31.26))
		if got := slices.Contains(rules(verdict(t, s.script), contract.Object), contract.AtMostOnce); got == given {
			t.Errorf("given back %t: %t", given, got)
		}
	}
}

// An unlock that is given up leaves a hold of a member that its owner has by another group. That is renewed with it, unless the lock takes back.
func TestAnotherGroupKeepsWhatAnUnlockLeft(t *testing.T) {
	for _, takesBack := range []bool{false, true} {
		s := newGroupScript(history.Multi, "a", "b")
		s.h.Header.Groups = append(s.h.Header.Groups, history.Group{Name: "pair", Kind: history.Multi, Members: []string{"b", "c"}, Servers: []string{"s2", "s3"}})
		if takesBack {
			claiming(s.script, contract.TakesBack)
		}
		outer := s.take("x:1", 0, at(0.1), 30*sec)
		outer.Lock, outer.Watchdog = "pair", true
		s.set(outer, "b", at(0.05), 1, at(30.05))
		s.set(outer, "c", at(0.06), 1, at(30.06))
		op := s.take("x:1", at(1), at(1.1), 30*sec)
		s.set(op, "a", at(1.05), 1, at(31.05))
		s.set(op, "b", at(1.06), 2, at(31.06))
		op = s.op("x:1", history.Unlock, at(2), at(2.1), history.Unknown)
		op.Cancel, op.Error, op.Evidence = at(0.1), "context deadline exceeded", history.Sent
		s.set(op, "a", at(2.05), 0, 0)
		for n := range 3 {
			when := at(10 + 10*float64(n))
			renewal := s.op("x:1", history.Renew, when, when+10*ms, history.Renewed)
			renewal.Lock = "pair"
			s.set(renewal, "b", when+5*ms, 2, when+30*sec)
			s.set(renewal, "c", when+6*ms, 1, when+30*sec)
		}
		s.take("z:1", at(40), at(40.1), 10*sec).Lock = "z"
		if got := slices.Contains(rules(verdict(t, s.script), contract.Liveness), contract.EveryMemberReleased); got != takesBack {
			t.Errorf("takes back %t: %t", takesBack, got)
		}
	}
}
