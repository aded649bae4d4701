package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// ownUnlock is a hold with a lease of 30 s that its owner gives back by a call from 5 s to 7 s, executed at 6 s. Its owner is told of a
// loss at a time.
func ownUnlock(told time.Duration) (*script, *history.Op) {
	s := claiming(newScript(), contract.TellsLoss)
	op := s.take("c1:1", at(0), at(0.002), 30*sec)
	s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: 0, Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
		Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
	lost := s.event(history.LostGiving, told)
	lost.Owner, lost.Client = "c1:1", "c1"
	op = s.op("c1:1", history.Unlock, at(5), at(7), history.Released)
	op.Executed = at(6)
	s.h.Served = append(s.h.Served, history.Served{At: at(6), Sent: at(5), Got: at(7), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
		Before: key("c1:1", 1, at(30.001)), After: key("", 0, 0)})
	return s, op
}

// An unlock closes the channel of its own hold in no case. A hold that was lost meanwhile may be told.
func TestAnOwnUnlockIsNoLoss(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func() *script
		told  bool
	}{
		{"when the server has executed it", func() *script { s, _ := ownUnlock(at(6.5)); return s }, true},
		{"before the server has executed it", func() *script { s, _ := ownUnlock(at(5.5)); return s }, true},
		{"by a lock that does not tell", func() *script {
			s, _ := ownUnlock(at(6.5))
			s.h.Header.Abilities = []string{"reentrant"}
			return s
		}, false},
		{"but its lease is over by then", func() *script {
			s, op := ownUnlock(at(29.7))
			op.Call, op.Executed, op.Return = at(29), at(29.9), at(29.95)
			s.h.Served[1].At, s.h.Served[1].Sent, s.h.Served[1].Got = at(29.9), at(29), at(29.95)
			return s
		}, false},
		{"but somebody removed the key before", func() *script {
			s, _ := ownUnlock(at(6.5))
			s.event(history.Delete, at(5.5))
			s.h.Served[1].Before = key("", 0, 0)
			return s
		}, false},
		{"but the lock was forced free before", func() *script {
			s, op := ownUnlock(at(6.5))
			op.Outcome, op.Answer = history.NotHeld, history.NotHeld
			s.h.Served[1].Before = key("", 0, 0)
			s.op("c9:1", history.ForceUnlock, at(5.5), at(5.502), history.Released)
			return s
		}, false},
		{"but it does not know what became of an earlier call", func() *script {
			s, _ := ownUnlock(at(6.5))
			op := s.op("c1:1", history.TryLock, at(2), at(3), history.Unknown)
			op.Evidence = history.Sent
			return s
		}, false},
		{"but it was given up before anything was sent, and the hold is its own", func() *script {
			s, op := ownUnlock(at(6.5))
			op.Outcome, op.Answer, op.Evidence, op.Executed, op.Error = history.Failed, "", history.NotSent, 0, "context deadline exceeded"
			s.h.Served = s.h.Served[:1]
			return s
		}, false},
	} {
		if got := slices.Contains(rules(verdict(t, tt.write()), contract.Object), contract.UnlockIsNoLoss); got != tt.told {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
