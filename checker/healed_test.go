package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// tries has the fresh client ask for the lock, and be told; the release is there if it was granted.
func (s *script) tries(call, ret time.Duration, out history.Outcome) *history.Op {
	op := s.op("fresh:1", history.TryLock, call, ret, out)
	op.Wait, op.Lease = sec, dog
	if out == history.Acquired {
		s.unlock("fresh:1", ret+ms, history.Released).Lease = 0
	}
	return &s.h.Ops[slices.IndexFunc(s.h.Ops, func(o history.Op) bool { return o.Owner == "fresh:1" })]
}

// refusedAKey has c1 rightly hold key a of server s1, and the fresh client be refused by an equal key of a server.
func (s *script) refusedAKey(server string) {
	grant := s.take("c1:1", at(90), at(90.002), 0)
	grant.Lock = "a"
	for n := range 2 {
		s.renew("c1:1", at(100+10*float64(n)), history.Renewed).Lock = "a"
	}
	refused := s.tries(at(117), at(118), history.Busy)
	held := &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: 1}}, Deadline: at(140)}
	s.h.Served = []history.Served{
		{At: at(90.001), Client: "c1", Op: s.h.Ops[0].ID, Owner: "c1:1", Lock: "a", Server: "s1", Before: &history.KeyState{}, After: held},
		{At: at(117.001), Client: "fresh", Op: refused.ID, Owner: "fresh:1", Lock: "a", Server: server, Before: held, After: held},
	}
}

// ranOut has the fresh client take key b for a group of which another program has key a. It does not give b back: its time
// is over at a second.
func (s *script) ranOut(wait float64) {
	group := s.tries(at(110), at(111), history.Unknown)
	group.Wait, group.Evidence, group.Lock = at(wait), history.Sent, "all"
	id := group.ID
	part := s.op("fresh:1", history.Lock, at(110.5), at(110.9), history.Unknown)
	part.Aside, part.Evidence, part.Executed, part.Answer, part.Lease, part.Lock = true, history.Executed, at(110.6), history.Acquired, dog, "b"
	other := &history.KeyState{Holdings: []history.Holding{{Owner: history.AnotherProgram, Count: 1}}}
	s.h.Served = []history.Served{
		{At: at(110.55), Client: "fresh", Op: id, Owner: "fresh:1", Lock: "a", Server: "s1", Before: other, After: other},
		{At: at(110.6), Client: "fresh", Op: id, Owner: "fresh:1", Lock: "b", Server: "s1", Before: key("", 0, 0), After: key("fresh:1", 1, at(140.6))},
	}
}

// takenAgain has c1 unlock in vain, and take the lock again before that unlock takes effect; the fresh client then finds it busy.
func (s *script) takenAgain(told history.Outcome) {
	s.take("c1:1", at(90), at(90.002), 0)
	late := s.op("c1:1", history.Unlock, at(91), at(95), history.Unknown)
	late.Evidence, late.Executed, late.Answer = history.Executed, at(95.208), history.Decremented
	again := s.take("c1:1", at(95.206), at(95.209), 0)
	again.Executed = at(95.207)
	if again.Outcome = told; told == history.Unknown {
		again.Answer = history.Acquired
	}
	for n := range 3 {
		s.renew("c1:1", at(100+10*float64(n)), history.Renewed)
	}
	s.fault("partition", "c1", at(91), at(95.208))
	s.tries(at(117), at(118), history.Busy)
}

// givesOneBack has c1 be told that it lost the lock, which it gets again all the same. It gives an unlock up, and its client gives one hold back for
// that, which leaves others or none.
func (s *script) givesOneBack(answer history.Outcome) {
	s.take("c1:1", at(80), at(80.002), 0)
	lost := s.event(history.Lost, at(81))
	lost.Owner, lost.Client = "c1:1", "c1"
	s.take("c1:1", at(82), at(82.002), 0)
	given := s.op("c1:1", history.Unlock, at(83), at(83.01), history.Unknown)
	given.Cancel, given.Error, given.Evidence, given.Executed, given.Answer = at(0.01), "context deadline exceeded (with a command under way)", history.Sent, 0, ""
	back := s.op("c1:1", history.Unlock, at(83.1), at(83.2), answer)
	back.Aside, back.Lease = true, dog
	for n := range 3 {
		s.renew("c1:1", at(91+10*float64(n)), history.Renewed)
	}
	s.tries(at(117), at(118), history.Busy)
}

func TestOnceHealed(t *testing.T) {
	tests := []struct {
		name  string
		write func(s *script)
		rules []contract.Rule
	}{
		{"a call that was over long before is not late, though faults outlast the healing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			for _, to := range []float64{105, 110, 115} {
				s.fault("slow-server", "", at(1), at(to))
			}
		}, nil},
		{"nor is one that is short, though faults outlast it", func(s *script) {
			s.tries(at(110), at(110.01), history.Acquired)
			for _, to := range []float64{150, 200, 250} {
				s.fault("slow-server", "", at(1), at(to))
			}
		}, nil},
		{"a fresh client gets a lock that was given back", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(110.002), history.Acquired)
		}, nil},
		{"and one that another lost and does not know", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 5*sec)
			s.event(history.Expire, at(5.001))
			s.tries(at(110), at(110.002), history.Acquired)
		}, nil},
		{"a fresh client is refused a lock that is free", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(111), history.Busy)
		}, []contract.Rule{contract.FreshGets}},
		{"its attempt fails", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(110.1), history.Failed).Evidence = history.Sent
		}, []contract.Rule{contract.FreshGets}},
		{"before everything was healed, or by another client, that says nothing", func(s *script) {
			s.tries(at(99), at(99.9), history.Busy).Wait = 900 * ms
			op := s.op("c2:1", history.TryLock, at(110), at(111), history.Busy)
			op.Evidence, op.Wait = history.Sent, sec
		}, nil},
		{"it hears nothing while the machine stops the server", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(113), history.Failed)
			s.fault("starve-server", "", at(110.5), at(112.9))
		}, nil},
		{"it hears nothing after the machine stopped the server", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(113), at(116), history.Failed)
			s.fault("starve-server", "", at(110.5), at(112.9))
		}, []contract.Rule{contract.FreshGets}},
		{"it is refused when the machine stopped for much of its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(111), history.Busy)
			s.fault("pause-harness", "", at(110.1), at(110.4))
			s.fault("starve-server", "", at(110.3), at(110.7))
		}, nil},
		{"it is refused when the machine stopped for a little of its wait", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.tries(at(110), at(111), history.Busy)
			s.fault("pause-harness", "", at(110.25), at(110.4))
			s.fault("starve-server", "", at(110.3), at(110.45))
		}, []contract.Rule{contract.FreshGets}},
		{"it is refused what a dead client left, which no lease ends", func(s *script) {
			s.take("c1:1", at(50), at(50.002), 0)
			for n := range 7 {
				s.renew("c1:1", at(60+10*float64(n)), history.Renewed)
			}
			s.died("c1", at(55))
			s.tries(at(118), at(119), history.Busy)
		}, []contract.Rule{contract.FreshGets, contract.DeadHoldEnds}},
		{"it is refused what a client that lives holds, and its watchdog renews", func(s *script) {
			s.take("c1:1", at(90), at(90.002), 0)
			s.renew("c1:1", at(100), history.Renewed)
			s.renew("c1:1", at(110), history.Renewed)
			s.tries(at(117), at(118), history.Busy)
		}, nil},
		{"it is refused what its owner has to give back once more", func(s *script) { s.givesOneBack(history.Decremented) }, nil},
		{"it is refused what its owner has given back", func(s *script) { s.givesOneBack(history.Released) }, []contract.Rule{contract.FreshGets}},
		{"it is refused what its owner wanted to force free, and has still", func(s *script) {
			s.take("c1:1", at(80), at(80.002), 0)
			force := s.op("c1:1", history.ForceUnlock, at(81), at(86), history.Unknown)
			force.Evidence, force.Executed, force.Answer = history.Sent, 0, ""
			s.fault("delay-message", "c1", at(81), at(86))
			for n := range 4 {
				s.renew("c1:1", at(90+10*float64(n)), history.Renewed)
			}
			s.tries(at(117), at(118), history.Busy)
		}, nil},
		{"it is refused what its owner was told it has forced free", func(s *script) {
			s.take("c1:1", at(80), at(80.002), 0)
			force := s.op("c1:1", history.ForceUnlock, at(81), at(81.1), history.Released)
			force.Evidence, force.Executed, force.Answer = history.Sent, 0, ""
			for n := range 4 {
				s.renew("c1:1", at(90+10*float64(n)), history.Renewed)
			}
			s.tries(at(117), at(118), history.Busy)
		}, []contract.Rule{contract.FreshGets}},
		{"but not what it holds for longer than its lease", func(s *script) {
			s.take("c1:1", at(50), at(50.002), 20*sec)
			s.tries(at(117), at(118), history.Busy)
		}, []contract.Rule{contract.FreshGets}},
		{"it fails at a key that another program has overwritten", func(s *script) {
			e := s.event(history.Restore, at(40))
			e.Owner, e.Count = history.AnotherProgram, 1
			op := s.tries(at(117), at(118), history.Failed)
			op.Evidence = history.Sent
		}, nil},
		{"it is refused a group of which somebody rightly holds a key", func(s *script) {
			s.refusedAKey("s1")
		}, nil},
		{"but not a group because of an equal key on another server", func(s *script) {
			s.refusedAKey("s2")
		}, []contract.Rule{contract.FreshGets}},
		{"it leaves a member of a group that it did not get, its time being over", func(s *script) { s.ranOut(1) }, nil},
		{"but not with time left", func(s *script) { s.ranOut(5) }, []contract.Rule{contract.FreshGets}},
		{"nor one that takes back what it took", func(s *script) {
			s.ranOut(1)
			claiming(s, contract.TakesBack)
		}, []contract.Rule{contract.FreshGets}},
		{"its unlock is refused", func(s *script) {
			s.tries(at(110), at(110.002), history.Acquired)
			last := &s.h.Ops[len(s.h.Ops)-1]
			last.Outcome, last.Answer = history.NotHeld, history.NotHeld
		}, []contract.Rule{contract.FreshGets, contract.FreshGets}}, // and the lock is held to the end
		{"its unlock does not end the hold", func(s *script) {
			s.tries(at(110), at(110.002), history.Acquired)
			last := &s.h.Ops[len(s.h.Ops)-1]
			last.Evidence, last.Executed, last.Answer = history.NotSent, 0, ""
		}, []contract.Rule{contract.FreshGets}},

		{"a call that faults kept up returns once everything is healed", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c1:1", history.Unlock, at(5), at(101), history.Released)
			s.fault("partition", "c1", at(4), at(100))
		}, nil},
		{"a call that returns a lease and more too late", func(s *script) {
			s.h.End.At = 200 * sec
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.op("c1:1", history.Unlock, at(5), at(132), history.Released)
			op.Executed = at(6)
			s.fault("partition", "c1", at(4), at(100))
		}, []contract.Rule{contract.HealedCallsReturn}},
		{"a call that never returns, although the run was long", func(s *script) {
			s.h.End.At = 200 * sec
			op := s.op("c1:1", history.Unlock, at(95), 0, "")
			op.Evidence, op.Executed = history.NotSent, 0
		}, []contract.Rule{contract.HealedCallsReturn}},
		{"whose client died", func(s *script) {
			s.h.End.At = 200 * sec
			op := s.op("c1:1", history.Unlock, at(95), 0, "")
			op.Evidence, op.Executed = history.NotSent, 0
			s.died("c1", at(96))
		}, nil},
		{"a hold that goes on by a later call, since the unlock before that came late", func(s *script) {
			s.takenAgain(history.Acquired)
		}, nil},
		{"a hold that goes on by a later call, of which nobody was told", func(s *script) {
			s.takenAgain(history.Unknown)
		}, []contract.Rule{contract.FreshGets}},
		{"a waiter that is not served although the lock is free", func(s *script) {
			s.h.End.At = 200 * sec
			op := s.op("c2:1", history.Lock, at(5), 0, "")
			op.Evidence, op.Executed, op.Lease = history.Sent, 0, dog
		}, []contract.Rule{contract.HealedCallsReturn, contract.FreeIsTaken}},
		{"a waiter that is not served because another holds the lock to the end", func(s *script) {
			s.h.End.At = 200 * sec
			s.take("c1:1", at(90), at(90.002), 0)
			for n := range 10 {
				s.renew("c1:1", at(100+10*float64(n)), history.Renewed)
			}
			op := s.op("c2:1", history.Lock, at(95), 0, "")
			op.Evidence, op.Executed, op.Lease = history.Sent, 0, dog
		}, nil},
		{"a tryLock may take the time that it was given", func(s *script) {
			s.h.End.At = 300 * sec
			s.take("c1:1", at(90), at(90.002), 0)
			for n := range 20 {
				s.renew("c1:1", at(100+10*float64(n)), history.Renewed)
			}
			s.op("c2:1", history.TryLock, at(95), at(195), history.Busy).Wait = 100 * sec
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			s.event(history.Healed, at(100)).Lock = ""
			tt.write(s)
			v := verdict(t, s)
			got, want := rules(v, contract.Liveness), slices.Sorted(slices.Values(tt.rules))
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("broke %q, want %q", got, want)
			}
			for _, x := range v.Result(contract.Liveness).Violations {
				if x.Cause.Class == "" || x.Cause.Text == "" || x.Lock == "" || x.From > x.To || len(x.Ops) == 0 || x.Ruling.Kind != Defect {
					t.Errorf("not explained: %+v", x)
				}
			}
			// A history that says nothing of healing, such as an older one, breaks none of these rules.
			s.h.Events = slices.DeleteFunc(s.h.Events, func(e history.Event) bool { return e.Kind == history.Healed })
			if got := rules(verdict(t, s), contract.Liveness); slices.Contains(got, contract.FreshGets) || slices.Contains(got, contract.HealedCallsReturn) {
				t.Errorf("not healed, and broken: %v", got)
			}
		})
	}
}

// An owner takes the lock twice, and unlocks it twice, once under a context that has ended. So it holds the lock once more, unless the lock goes on with
// what it was not begun to give back.
func TestTheFreshClientIsRefusedWhatAnOwnerDidNotGiveBack(t *testing.T) {
	for _, takesBack := range []bool{false, true} {
		s := newScript()
		if takesBack {
			claiming(s, contract.TakesBack)
		}
		s.event(history.Healed, at(100)).Lock = ""
		s.take("c1:1", at(80), at(80.002), 0)
		s.take("c1:1", at(81), at(81.002), 0)
		ended := s.op("c1:1", history.Unlock, at(83), at(83), history.Failed)
		ended.Cancel, ended.Error, ended.Evidence, ended.Executed, ended.Answer = history.Ended, "context deadline exceeded", history.NotSent, 0, ""
		s.op("c1:1", history.Unlock, at(84), at(84.002), history.Decremented).Lease = dog
		for n := range 3 {
			s.renew("c1:1", at(91+10*float64(n)), history.Renewed)
		}
		s.tries(at(117), at(118), history.Busy)
		if got := broken(verdict(t, s), contract.FreshGets); (got != nil) != takesBack {
			t.Errorf("a lock that goes on with it: %v; %+v", takesBack, got)
		}
	}
}

// What the fresh client gets harms nobody whose program ended while it held the lock.
func TestTheFreshClientBelievesNothing(t *testing.T) {
	s := newScript()
	s.event(history.Healed, at(100)).Lock = ""
	s.take("c1:1", at(0), at(0.002), 5*sec)
	s.event(history.Expire, at(5.001))
	s.tries(at(110), at(110.002), history.Acquired)
	if r := verdict(t, s).Result(contract.Exclusion); r.Status != Holds {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	s.h.Events = s.h.Events[1:]
	if r := verdict(t, s).Result(contract.Exclusion); r.Status != Broken {
		t.Errorf("any other client would have been let in: %s", r.Status)
	}
}

// The story leaves the fresh client out, unless it met with what is broken; then it says when everything was healed.
func TestStoryOfTheFreshClient(t *testing.T) {
	for out, told := range map[history.Outcome]bool{history.Acquired: false, history.Busy: true} {
		s := newScript()
		s.event(history.Healed, at(100)).Lock = ""
		s.fault("pause-watchdog", "c1", at(1), at(100))
		s.take("c1:1", at(0), at(0.002), 0)
		s.unlock("c1:1", at(5), history.Released)
		s.tries(at(110), at(111), out)
		v := verdict(t, s)
		fresh := slices.ContainsFunc(v.Story, func(m Moment) bool { return m.Who == "fresh:1" })
		healed := slices.ContainsFunc(v.Story, func(m Moment) bool { return m.At == at(100) })
		if fresh != told || healed != told {
			t.Errorf("%s: the story tells of the fresh client: %t, of the healing: %t, want %t\n%+v", out, fresh, healed, told, v.Story)
		}
	}
}
