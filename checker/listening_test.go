package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A client that claims to give back a subscription which it needs no more may not have it long after its last call, or its last hold.
func TestASubscriptionThatNobodyNeedsIsGivenBack(t *testing.T) {
	const channel = "redisson_lock__channel:{" + job + "}"
	for _, tt := range []struct {
		name    string
		channel string
		seen    time.Duration // when it is subscribed
		more    func(s *script)
		broken  bool
	}{
		{"soon after its unlock", channel, at(4), func(*script) {}, false},
		{"long after its unlock", channel, at(4.1), func(*script) {}, true},
		{"it does not claim that", channel, at(9), func(s *script) { s.h.Header.Abilities = s.h.Header.Abilities[:len(s.h.Header.Abilities)-1] }, false},
		{"to a channel of no lock", "another", at(9), func(*script) {}, false},
		{"its process was stopped", channel, at(4.1), func(s *script) { s.fault("pause-client", "c1", at(2.1), at(3)) }, false},
		{"another's process was stopped", channel, at(4.1), func(s *script) { s.fault("pause-client", "c2", at(2.1), at(3)) }, true},
		{"it died", channel, at(9), func(s *script) { s.died("c1", at(2.5)) }, false},
		{"it asks again", channel, at(9), func(s *script) {
			s.op("c1:2", history.TryLock, at(8), at(8.002), history.Busy)
			s.take("c9:1", at(3), at(3.002), 0)
		}, false},
		{"another asks again", channel, at(9), func(s *script) {
			s.op("c2:2", history.TryLock, at(8), at(8.002), history.Busy)
			s.take("c9:1", at(3), at(3.002), 0)
		}, true},
		{"it holds the lock again", channel, at(9), func(s *script) { s.take("c1:1", at(3), at(3.002), 0) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			claiming(s, contract.Unsubscribes).h.Header.Unsubscribed = sec
			s.take("c1:1", at(1), at(1.002), 0)
			s.unlock("c1:1", at(2), history.Released)
			tt.more(s)
			e := s.event(history.Listening, tt.seen)
			e.Lock, e.Client, e.Note = "", "c1", tt.channel
			if got := slices.Contains(rules(verdict(t, s), contract.Liveness), contract.Unsubscribed); got != tt.broken {
				t.Errorf("broken: %v, want %v", got, tt.broken)
			}
		})
	}
}

// Nobody tells a client that a fault took a member of a group which its unlock left: until the lease of that is over it may still need its
// subscription. What its own unlock gave back it knows.
func TestASubscriptionIsNeededForAMemberThatIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  bool // took the member that was left; else the client gave it back
		seen   time.Duration
		broken bool
	}{
		{"a fault took it, its lease lasts", true, at(9), false},
		{"a fault took it, its lease is over", true, at(13), true},
		{"it was given back", false, at(9), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newGroupScript(history.Red, "a", "b", "c")
			claiming(s.script, contract.Unsubscribes).h.Header.Unsubscribed = sec
			op := s.take("x:1", 0, at(0.1), 10*sec)
			for i, m := range []string{"a", "b", "c"} {
				s.set(op, m, at(0.05+0.01*float64(i)), 1, at(10.05+0.01*float64(i)))
			}
			op = s.op("x:1", history.Unlock, at(1), at(1.1), history.Released)
			s.set(op, "a", at(1.05), 0, 0)
			s.set(op, "b", at(1.06), 0, 0)
			s.set(op, "c", at(1.5), 0, 0)
			if tt.fault {
				r := &s.h.Served[len(s.h.Served)-1]
				r.Op, r.Owner, r.Step, r.Client = 0, "", history.StepAdmin, "faults"
			}
			e := s.event(history.Listening, tt.seen)
			e.Lock, e.Client, e.Note = "", "x", "redisson_lock__channel:{c}"
			if got := slices.Contains(rules(verdict(t, s.script), contract.Liveness), contract.Unsubscribed); got != tt.broken {
				t.Errorf("broken: %v, want %v", got, tt.broken)
			}
		})
	}
}
