package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Owners of a client that exclude each other within its process wait there for one who never gives back what it has lost. Nobody else does.
func TestAnOwnerWaitsForEverWithinItsProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claims []contract.Claim
		holder string
		healed bool // there is a time at the end in which no fault acts
		broken bool
	}{
		{"for another of its client", []contract.Claim{contract.LocalHolds}, "c1:2", false, false},
		{"for another of its client, once all is healed", []contract.Claim{contract.LocalHolds}, "c1:2", true, false},
		{"for another client's", []contract.Claim{contract.LocalHolds}, "c2:1", false, true},
		{"for another client's, once all is healed", []contract.Claim{contract.LocalHolds}, "c2:1", true, true},
		{"for another of its client, of a lock that does not have that", nil, "c1:2", true, true},
	} {
		s := newScript()
		for _, c := range append(tt.claims, contract.TellsLoss) {
			s.h.Header.Abilities = append(s.h.Header.Abilities, string(c))
		}
		s.take(tt.holder, at(0), at(0.002), sec)
		lost := s.event(history.Lost, at(1))
		lost.Owner, lost.Client = tt.holder, clientOf(tt.holder)
		s.event(history.Expire, at(1.001))
		s.op("c1:1", history.Lock, at(0.5), 0, history.Unknown).Evidence = history.Sent
		if tt.healed {
			s.event(history.Healed, at(100)).Lock = ""
		}
		s.h.End.At = at(300)
		broke := rules(verdict(t, s), contract.Liveness)
		if is := slices.Contains(broke, contract.CallsReturn) || slices.Contains(broke, contract.HealedCallsReturn); is != tt.broken {
			t.Errorf("%s: broken: %v (%v), want %v", tt.name, is, broke, tt.broken)
		}
	}
}

// An owner waits within its process for the end of what another has asked, also if the caller of that has given it up; of a lock that does not have
// that, it waits no longer than the other's call.
func TestAnOwnerWaitsForAnothersAttemptWithinItsProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claims []contract.Claim
		lock   string // of the other's attempt
		late   bool
	}{
		{"that its caller has given up", []contract.Claim{contract.LocalHolds}, job, false},
		{"for another lock", []contract.Claim{contract.LocalHolds}, "another", true},
		{"of a lock that does not have that", nil, job, true},
	} {
		s := claiming(newScript(), tt.claims...)
		other := s.op("c1:2", history.TryLock, at(0), at(1), history.Unknown)
		other.Lock, other.Evidence = tt.lock, history.Sent
		fault := s.fault("reorder-message", "c1", at(0.1), at(5))
		fault.On, fault.Op, fault.Lock = "reply acquire", s.h.Ops[0].ID, tt.lock
		tries := s.op("c1:1", history.TryLock, at(0.9), at(5.2), history.Acquired)
		tries.Lease, tries.Executed = dog, at(5.1)
		s.unlock("c1:1", at(6), history.Released)
		if is := slices.Contains(rules(verdict(t, s), contract.Liveness), contract.ReturnsInTime); is != tt.late {
			t.Errorf("%s: late: %v, want %v", tt.name, is, tt.late)
		}
	}
}

// A lock that is judged by its answers alone may grant its holder anew what it has, if the probe has seen that. One that was not seen to do so
// may not. Either way another is granted nothing that is held.
func TestALockIsGrantedAnewByItsAnswersAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		anew   bool
		by     string // who is granted it then
		broken bool
	}{
		{"its holder, of a lock that does so", true, "c1:1", false},
		{"its holder, of another", false, "c1:1", true},
		{"another, of a lock that does so", true, "c2:1", true},
	} {
		s := newScript()
		s.h.Header.Abilities = []string{string(contract.TellsLoss)}
		s.h.Header.Layout = history.Layout{Unknown: "its key is a zset", Anew: tt.anew}
		byItsAnswer(s, "c1:1", history.Lock, at(0), at(1), history.Acquired).Lease = 60 * sec
		byItsAnswer(s, "c1:1", history.Unlock, at(2), at(2.1), history.Failed)
		byItsAnswer(s, tt.by, history.TryLock, at(3), at(4), history.Acquired).Lease = 60 * sec
		byItsAnswer(s, tt.by, history.Unlock, at(5), at(6), history.Released)
		if broke := rules(verdict(t, s), contract.Object); len(broke) > 0 != tt.broken {
			t.Errorf("%s: %v", tt.name, broke)
		}
	}
}

// An unlock without an answer gives back a lock that counts nothing, whether or not its holder may be granted it anew.
func TestAnUnlockWithoutAnAnswerGivesBackWhatCountsNothing(t *testing.T) {
	for _, anew := range []bool{false, true} {
		for outcome, broken := range map[history.Outcome]bool{history.Acquired: false, history.Busy: true} {
			s := newScript()
			s.h.Header.Abilities = []string{string(contract.TellsLoss)}
			s.h.Header.Layout = history.Layout{Unknown: "its key is a zset", Anew: anew}
			byItsAnswer(s, "c1:1", history.Lock, at(0), at(1), history.Acquired).Lease = 60 * sec
			byItsAnswer(s, "c1:1", history.Unlock, at(2), at(2.1), history.Unlocked)
			byItsAnswer(s, "c2:1", history.TryLock, at(3), at(4), outcome).Lease = 60 * sec
			if broke := rules(verdict(t, s), contract.Object); len(broke) > 0 != broken {
				t.Errorf("anew %v, then %s: %v", anew, outcome, broke)
			}
		}
	}
}

// byItsAnswer is an operation of which nobody saw what the server did.
func byItsAnswer(s *script, owner string, kind history.Kind, call, ret time.Duration, out history.Outcome) *history.Op {
	op := s.op(owner, kind, call, ret, out)
	op.Evidence, op.Executed, op.Answer = "", 0, ""
	return op
}
