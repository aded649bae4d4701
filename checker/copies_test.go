package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// failedButTook is a tryLock that says after some seconds that it has failed, and takes the lock at 8 s.
func failedButTook(fault string, after float64) *script {
	s := newScript()
	op := s.op("c1:1", history.TryLock, at(1), at(1+after), history.Failed)
	op.Lease, op.Evidence, op.Executed, op.Answer = 5*sec, history.Executed, at(8), history.Acquired
	s.h.Served = append(s.h.Served, history.Served{At: at(8), Sent: at(1), Client: "c1", Owner: "c1:1", Op: op.ID, Request: 3, Lock: job, Step: history.StepAcquire,
		Before: key("", 0, 0), After: key("c1:1", 1, at(13))})
	s.event(history.Expire, at(13))
	s.fault(fault, "c1", at(1), at(8))
	return s
}

// A command of a call may take back permits whose lease is over, and do nothing else. That is no effect of its call.
func TestWhatTakesBackPermitsThatAreOverIsNoEffectOfItsCall(t *testing.T) {
	key := func(free int64, taken ...history.TakenPermit) *history.KeyState {
		return &history.KeyState{Permits: &free, Taken: taken}
	}
	over, other := history.TakenPermit{Permit: 1, Deadline: sec}, history.TakenPermit{Permit: 2}
	for _, tt := range []struct {
		name          string
		kind          history.Kind
		before, after *history.KeyState
		reply         string
		reclaims      bool
	}{
		{"it takes back, and has to wait", history.AcquirePermit, key(-1, over, other), key(0, other), "5", true},
		{"it takes back, and takes one", history.TryAcquirePermit, key(0, over), key(0, other), "nil", false},
		{"it takes the same one anew", history.AcquirePermit, key(0, over), key(0, history.TakenPermit{Permit: 1, Deadline: 9 * sec}), "nil", false},
		{"it takes one more for the same permit", history.AcquirePermit, key(1, over), key(0, over), "nil", false},
		{"it takes back the permit whose lease it was for", history.UpdateLease, key(0, over), key(1), "0", true},
		{"it takes back another", history.UpdateLease, key(0, over, history.TakenPermit{Permit: 3, Deadline: sec}), key(1, over), "1", true},
		{"it sets the lease", history.UpdateLease, key(0, over), key(0, history.TakenPermit{Permit: 1}), "1", false},
		{"it gives it back", history.ReleasePermit, key(0, over), key(1), "1", false},
		{"it takes it back, and finds none", history.ReleasePermit, key(0, over), key(1), "0", true},
		{"what is added", history.AddTotal, key(0, over), key(2, over), "", false},
	} {
		op := &history.Op{Kind: tt.kind, Token: 1}
		if got := reclaims(op, &history.Served{Before: tt.before, After: tt.after, Reply: tt.reply}); got != tt.reclaims {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Owners of a client that exclude each other within its process wait for each other there, also while the server would let them in.
func TestAnOwnerWaitsWithinItsProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claims []contract.Claim
		holder string
		broken bool
	}{
		{"for another of its client", []contract.Claim{contract.LocalHolds}, "c1:2", false},
		{"for another client's, whose lease is over", []contract.Claim{contract.LocalHolds}, "c2:1", true},
		{"for another of its client, of a lock that does not have that", nil, "c1:2", true},
	} {
		s := claiming(newScript(), tt.claims...)
		s.take(tt.holder, at(0), at(0.002), 3*sec)
		s.event(history.Expire, at(3.001))
		s.op("c1:1", history.Lock, at(1), at(12.002), history.Acquired).Lease = 5 * sec
		op := &s.h.Ops[1]
		op.Evidence, op.Executed, op.Answer = history.Executed, at(12.001), history.Acquired
		s.op(tt.holder, history.Unlock, at(11.9), at(11.995), history.NotHeld)
		s.event(history.Expire, at(17.001))
		if is := slices.Contains(rules(verdict(t, s), contract.Liveness), contract.FreeIsTaken); is != tt.broken {
			t.Errorf("%s: broken: %v, want %v", tt.name, is, tt.broken)
		}
	}
}

// An inner unlock that a client counts by itself says nothing of the server, which may have let the lock's lease end. One that was sent does.
func TestAnInnerUnlockThatAsksNobodySaysNothingOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		name     string
		claims   []contract.Claim
		evidence history.Evidence
		broken   bool
	}{
		{"that asks nobody", []contract.Claim{contract.LocalHolds}, history.NotSent, false},
		{"that asks the server", []contract.Claim{contract.LocalHolds}, "", true},
		{"that asks nobody, of a lock that counts at the server", nil, history.NotSent, true},
	} {
		inner := told("a", history.Unlock, 6000, 6001, 0, history.Decremented)
		inner.Evidence = tt.evidence
		abilities := []string{string(contract.Reentrant)}
		for _, c := range tt.claims {
			abilities = append(abilities, string(c))
		}
		v := unseen(abilities, nil, told("a", history.TryLock, 1, 2, 5*sec, history.Acquired), told("a", history.TryLock, 3, 4, 5*sec, history.Acquired),
			told("b", history.TryLock, 5500, 5502, sec, history.Acquired), inner, told("b", history.Unlock, 6100, 6101, 0, history.Released),
			told("a", history.Unlock, 7000, 7001, 0, history.NotHeld))
		if is := v.Result(contract.Object).Status == Broken; is != tt.broken {
			t.Errorf("%s: broken: %v, want %v", tt.name, is, tt.broken)
		}
	}
}

// Who was told that its hold is over has the lock within its process until it unlocks: until then another of its client is refused, and not after that.
func TestAHoldLastsWithinItsProcessUntilItIsGivenBack(t *testing.T) {
	for _, tt := range []struct {
		claims  []contract.Claim
		unlocks int // ms
		broken  bool
	}{
		{[]contract.Claim{contract.LocalHolds}, 5000, false},
		{[]contract.Claim{contract.LocalHolds}, 1500, true},
		{nil, 5000, true},
	} {
		s := newScript()
		for _, c := range append(tt.claims, contract.TellsLoss) {
			s.h.Header.Abilities = append(s.h.Header.Abilities, string(c))
		}
		s.op("c1:1", history.TryLock, at(0.001), at(0.002), history.Acquired).Lease = sec
		s.h.Ops[0].Evidence, s.h.Ops[0].Executed, s.h.Ops[0].Answer = history.Executed, at(0.001), history.Acquired
		s.event(history.Expire, at(1.001))
		s.h.Events = append(s.h.Events, history.Event{Kind: history.Lost, Lock: job, Client: "c1", Owner: "c1:1", At: at(0.9)})
		s.op("c1:2", history.TryLock, at(2), at(2), history.Busy).Evidence = history.NotSent
		s.op("c1:1", history.Unlock, time.Duration(tt.unlocks)*ms, time.Duration(tt.unlocks+1)*ms, history.NotHeld).Evidence = history.NotSent
		if r := verdict(t, s).Result(contract.Object); (r.Status == Broken) != tt.broken {
			t.Errorf("%v, unlocked at %d ms: %s", tt.claims, tt.unlocks, r.Summary)
		}
	}
}

// A client may count a lease from when it began to look at the key, if the request that took the lock followed at once.
func TestALeaseMayBeCountedFromTheLookBeforeTheTransaction(t *testing.T) {
	for _, tt := range []struct {
		name   string
		text   string
		looked time.Duration // when the answer to the look came
		early  bool
	}{
		{"the transaction follows at once", "watch order:42", at(2), false},
		{"the client rests before it", "watch order:42", at(1.5), true},
		{"it was no look", "evalsha 12345678 1 order:42", at(2), true},
	} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.take("c1:1", at(0.9), at(3.1), 10*sec)
		op.Executed = at(3)
		row := history.Served{Client: "c1", Conn: "c1#1", Owner: "c1:1", Op: op.ID, Lock: job, Step: history.StepAcquire, Before: key("", 0, 0), After: key("", 0, 0)}
		look, exec := row, row
		look.At, look.Sent, look.Got, look.Text = at(1.2), at(1), tt.looked, tt.text
		exec.At, exec.Sent, exec.Got, exec.Text, exec.After = at(3), at(2), at(3.05), "exec", key("c1:1", 1, at(13))
		s.h.Served = append(s.h.Served, look, exec)
		lost := s.event(history.Lost, at(11))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, at(13))
		if is := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); is != tt.early {
			t.Errorf("%s: told too early: %v, want %v", tt.name, is, tt.early)
		}
	}
}

// A command of another request than the one that was refused is no copy of it.
func TestOnlyACopyOfWhatWasRefusedMakesTheRefusalALie(t *testing.T) {
	for request, broken := range map[int64]bool{7: true, 8: false, 0: false} {
		v := verdict(t, copyOfRefused("duplicate-message", request))
		told := slices.ContainsFunc(v.Story, func(m Moment) bool {
			return strings.Contains(m.Text, "by a copy of a request of its tryLock, which was told busy")
		})
		if is := slices.Contains(rules(v, contract.Object), contract.ToldTheTruth); is != broken || told != broken {
			t.Errorf("request %d: broken: %v, told: %v, want %v", request, is, told, broken)
		}
	}
}
