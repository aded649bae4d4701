package checker

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A lock that claims to heed the message of a forced release tells a holder at once, whose client has subscribed to it.
func TestAForcedReleaseIsToldAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name       string
		claims     []contract.Claim
		subscribed time.Duration // when the subscription was confirmed; 0: never
		told       time.Duration
		late       bool
		again      history.Served // another subscription, if it has a text
	}{
		{"at once", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(5.05), false, history.Served{}},
		{"by the next renewal only", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(10.003), true, history.Served{}},
		{"which is enough without the claim", []contract.Claim{contract.TellsLoss}, at(0.5), at(10.003), false, history.Served{}},
		{"and without a subscription", []contract.Claim{contract.TellsLoss, contract.HearsForce}, 0, at(10.003), false, history.Served{}},
		{"or before it was confirmed", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(5.01), at(10.003), false, history.Served{}},
		{"or on a connection that was closed", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(10.003), false,
			history.Served{At: at(5.01), Sent: at(4.99), Got: at(5.02), Conn: "c1#2"}},
		{"or that had been closed, as it shows at once", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(10.003), false,
			history.Served{At: at(5.02), Sent: at(5.01), Got: at(5.03), Conn: "c1#2"}},
		{"but on one that is closed only later", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(10.003), true,
			history.Served{At: at(8.01), Sent: at(8), Got: at(8.02), Conn: "c1#2"}},
		{"or at another server", []contract.Claim{contract.TellsLoss, contract.HearsForce}, 0, at(10.003), false,
			history.Served{At: at(0.51), Sent: at(0.5), Got: at(0.52), Server: "s2", Conn: "c1@s2#1"}},
		{"but at the same one", []contract.Claim{contract.TellsLoss, contract.HearsForce}, 0, at(10.003), true,
			history.Served{At: at(0.51), Sent: at(0.5), Got: at(0.52), Conn: "c1#1"}},
	} {
		s := newScript()
		for _, c := range tt.claims {
			claiming(s, c)
		}
		op := s.take("c1:1", at(0), at(0.002), 0)
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
			Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
		if tt.subscribed > 0 {
			s.h.Served = append(s.h.Served, history.Served{At: tt.subscribed - ms, Sent: tt.subscribed - 2*ms, Got: tt.subscribed, Client: "c1",
				Step: history.StepSubscribe, Text: "subscribe channel:" + job})
		}
		if r := tt.again; r.Got > 0 {
			r.Client, r.Step, r.Text = "c1", history.StepSubscribe, "subscribe channel:"+job
			s.h.Served = append(s.h.Served, r)
		}
		force := s.op("c9:1", history.ForceUnlock, at(5), at(5.002), history.Released)
		s.h.Served = append(s.h.Served, history.Served{At: at(5.001), Sent: at(5), Got: at(5.002), Client: "c9", Owner: "c9:1", Op: force.ID, Lock: job,
			Before: key("c1:1", 1, at(30.001)), After: key("", 0, 0)})
		slices.SortStableFunc(s.h.Served, func(a, b history.Served) int { return cmp.Compare(a.At, b.At) })
		s.renew("c1:1", at(10), history.NotHeld)
		s.event(history.Lost, tt.told).Owner = "c1:1"
		found := slices.Contains(rules(verdict(t, s), contract.Exclusion), contract.ToldInTime)
		if found != tt.late {
			t.Errorf("%s: told too late: %v", tt.name, found)
		}
	}
}

// A holder whose client asks for the lock, for a call that it has given up, learns by the answer that another program has it; not by the answer to a
// command that gives back its place, or settles what became of a request.
func TestALossIsHeardByWhoAsksForTheLock(t *testing.T) {
	for script, late := range map[string]bool{"evalsha takes 1": true, "eval takes 1": true, "evalsha leaves 1": false} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.take("c1:1", at(0), at(0.002), 0)
		other := &history.KeyState{Holdings: []history.Holding{{Owner: history.AnotherProgram, Count: 1}}}
		s.fault("overwrite-key", "", at(5), 0).Lock = job
		s.event(history.Delete, at(5)).Note = "overwritten from outside"
		s.h.Served = append(s.h.Served,
			history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Step: history.StepAcquire, Text: "evalsha takes 1",
				Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))},
			history.Served{At: at(5.001), Sent: at(5), Got: at(5.002), Client: "c1", Owner: "c1:1", Lock: job, Step: history.StepAcquire, Text: script, Before: other, After: other})
		s.renew("c1:1", at(10), history.NotHeld)
		s.event(history.Lost, at(10.003)).Owner = "c1:1"
		if found := slices.Contains(rules(verdict(t, s), contract.Exclusion), contract.ToldInTime); found != late {
			t.Errorf("%s: told too late: %v, want %v", script, found, late)
		}
	}
}

// A holder counts on the lease that its client set for it in the background, and not on one that somebody else set.
func TestALeaseThatTheLockSetByItselfIsKnownToItsHolder(t *testing.T) {
	for _, tt := range []struct {
		name, owner string
		told        time.Duration
		late        bool
	}{
		{"by its own client", "c1:1", at(40), false},
		{"for another owner", "c2:1", at(40), true},
		{"from outside", "", at(40), true},
		{"and only until that lease ends", "c1:1", at(47), true},
	} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.take("c1:1", at(0), at(0.002), at(26))
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
			Before: key("", 0, 0), After: key("c1:1", 1, at(26.001))})
		e := s.event(history.ForceTTL, at(20))
		e.Owner, e.Deadline = tt.owner, at(46)
		s.event(history.Delete, at(21))
		s.event(history.Lost, tt.told).Owner = "c1:1"
		found := slices.Contains(rules(verdict(t, s), contract.Exclusion), contract.ToldInTime)
		if found != tt.late {
			t.Errorf("%s: told too late: %v", tt.name, found)
		}
	}
}

// Who learns of a grant when its lease is over may be told of that by the grant itself, and no later.
func TestAGrantThatComesTooLateIsToldOfAtOnce(t *testing.T) {
	for _, tt := range []struct {
		told time.Duration
		late bool
	}{{at(9), false}, {at(9.1), true}} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.op("c1:1", history.TryLock, at(0), at(9), history.Acquired)
		op.Lease, op.Evidence, op.Executed, op.Answer = sec, history.Executed, at(0.001), history.Acquired
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: at(0), Got: at(9), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
			Step: history.StepAcquire, Before: key("", 0, 0), After: key("c1:1", 1, at(1.001))})
		s.event(history.Expire, at(1.001))
		s.event(history.Lost, tt.told).Owner = "c1:1"
		r := verdict(t, s).Result(contract.Exclusion)
		if late := r.Status == Broken && r.Summary == "1 hold whose loss was told late"; late != tt.late {
			t.Errorf("told at %s: %s", Stamp(tt.told), r.Summary)
		}
	}
}

// A lock that shortens its holder's lease by itself, with a request that belongs to no call, answers for what comes of it.
func TestALeaseThatTheLockCutsByItselfIsItsOwnDefect(t *testing.T) {
	for _, tt := range []struct {
		name, owner string
		lease       time.Duration
		want        RulingKind
	}{
		{"cut", "c1:1", at(1), Defect},
		{"set to what was asked for", "c1:1", at(30), FailedAssumption},
		{"cut from outside", "", at(1), FailedAssumption},
	} {
		s := newScript()
		op := s.take("c1:1", at(0), at(0.002), at(30))
		s.h.Served = append(s.h.Served,
			history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
				Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))},
			history.Served{At: at(5), Sent: at(4.999), Client: "c1", Owner: "c1:1", Lock: job, Step: history.StepRelease,
				Before: key("c1:1", 1, at(30.001)), After: key("c1:1", 1, at(5)+tt.lease)})
		e := s.event(history.ForceTTL, at(5))
		e.Owner, e.Deadline = tt.owner, at(5)+tt.lease
		s.event(history.Expire, at(5)+tt.lease)
		s.take("c2:1", at(40), at(40.002), at(30))
		vs := verdict(t, s).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != tt.want {
			t.Errorf("%s: %+v", tt.name, vs)
		}
	}
}
