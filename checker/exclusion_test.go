package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of exclusion: where a belief begins and where it ends.
func TestExclusion(t *testing.T) {
	type span struct{ from, to time.Duration }
	tests := []struct {
		name     string
		write    func(s *script)
		overlaps []span
	}{
		{"one after the other", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.Released)
			s.take("c2:1", at(0), at(2.1), 0)
		}, nil},
		// c1 |-------hold------|
		// c2         |--hold--|
		{"one within the other", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c2:1", at(4), history.Released)
			s.unlock("c1:1", at(5), history.NotHeld)
		}, []span{{at(3), at(4)}}},
		{"three at once are three pairs", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c2:1", at(0), at(2), 0)
			s.take("c3:1", at(0), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
			s.unlock("c2:1", at(5), history.NotHeld)
			s.unlock("c3:1", at(6), history.Released)
		}, []span{{at(2), at(4)}, {at(3), at(4)}, {at(3), at(5)}}},
		{"meeting at an instant is no overlap", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.Released)
			s.take("c2:1", at(0), at(2), 0)
		}, nil},
		{"belief ends at the call of the unlock, not at its return", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.op("c1:1", history.Unlock, at(2), at(9), history.NotHeld)
			s.take("c2:1", at(0), at(3), 0)
		}, nil},
		{"the inner unlock of two ends no belief", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(1.1), at(1.2), 0)
			s.unlock("c1:1", at(2), history.Decremented)
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
		}, []span{{at(3), at(4)}}},
		{"a refused inner unlock tells that all is lost", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(1.1), at(1.2), 0)
			s.unlock("c1:1", at(2), history.NotHeld)
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
		}, nil},
		{"an unlock that fails before it is sent ends belief: the work is done", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.unlock("c1:1", at(2), history.Failed)
			s.take("c2:1", at(2), at(3), 0)
		}, nil},
		{"an inner unlock that fails: the work under that hold is done, too", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(1.1), at(1.2), 0)
			s.unlock("c1:1", at(2), history.Failed).Evidence = history.NotSent
			s.unlock("c1:1", at(3), history.Decremented)
			s.event(history.Expire, at(33.001))
			s.take("c2:1", at(34), at(35), 0)
		}, nil},
		{"an inner unlock that ends unknown: whoever is seen again works under the outer hold", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(1.1), at(1.2), 0)
			s.unlock("c1:1", at(2), history.Unknown).Answer = history.Decremented
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
		}, []span{{at(3), at(4)}}},
		{"an inner unlock that ends unknown: whoever is seen no more has given up", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:1", at(1.1), at(1.2), 0)
			s.unlock("c1:1", at(2), history.Unknown).Answer = history.Decremented
			s.take("c2:1", at(2), at(3), 0)
		}, nil},
		{"belief ends when the lock says it is lost", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.event(history.Lost, at(2)).Owner = "c1:1"
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
		}, nil},
		{"what one owner is told another does not know", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.event(history.Lost, at(2)).Owner = "c1:2"
			s.take("c2:1", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.NotHeld)
		}, []span{{at(3), at(4)}}},
		{"the dead believe nothing", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.died("c1", at(2))
			s.take("c2:1", at(2), at(3), 0)
		}, nil},
		{"belief that nobody ends lasts to the end of the run", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c2:1", at(2), at(3), 0)
		}, []span{{at(3), at(120)}}},
		{"an owner whose acquire ended unknown believes nothing", func(s *script) {
			s.take("c1:1", at(0), at(1), 0).Outcome = history.Unknown
			s.take("c2:1", at(2), at(3), 0)
		}, nil},
		{"owners of one client are two owners", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.take("c1:2", at(2), at(3), 0)
			s.unlock("c1:1", at(4), history.Released)
		}, []span{{at(3), at(4)}}},
		{"two locks are two locks", func(s *script) {
			s.take("c1:1", at(0), at(1), 0)
			s.lock = "order:43"
			s.take("c2:1", at(0), at(1), 0)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			r := verdict(t, s).Result(contract.Exclusion)
			var got []span
			for _, v := range r.Violations {
				got = append(got, span{v.From, v.To})
			}
			if !slices.Equal(got, tt.overlaps) || r.Status != map[bool]Status{true: Holds, false: Broken}[len(tt.overlaps) == 0] {
				t.Errorf("%s: overlaps %v, want %v", r.Status, got, tt.overlaps)
			}
		})
	}
}

// Every class of cause, each with the words that name it.
func TestExclusionCauses(t *testing.T) {
	// overlap is c1 working from 0 to 50 s, and c2 coming in at 40 s.
	overlap := func(lease time.Duration, between func(s *script)) *script {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), lease) // executed at 0.001
		between(s)
		s.take("c2:1", at(39), at(40), 0)
		s.unlock("c1:1", at(50), history.NotHeld)
		return s
	}
	expire := func(s *script, when float64) { s.event(history.Expire, at(when)) }
	tests := []struct {
		name       string
		script     *script
		class      contract.Class
		assumption bool
		text       string
		faults     []int
	}{
		{"watchdog paused", overlap(0, func(s *script) {
			s.fault("pause-watchdog", "c1", at(12), at(45))
			s.renew("c1:1", at(9), history.Renewed)
			expire(s, 39.001)
		}), contract.PausedHolder, true, "the key of order:42 expired at 39.001 s: its lease of 30 s was last renewed at 9.001 s, because the watchdog of c1 was paused from 12.000 s to 45.000 s", []int{0}},
		{"another's watchdog paused", overlap(0, func(s *script) {
			s.fault("pause-watchdog", "c2", at(5), at(45))
			expire(s, 30.001)
		}), contract.LeaseExpired, false, "the key of order:42 expired at 30.001 s: its lease of 30 s began at 0.001 s and was never renewed, and no fault explains why", nil},
		{"another lock's key expired from outside", overlap(0, func(s *script) {
			s.fault("expire-key", "", at(5), 0).Lock = "order:43"
			expire(s, 30.001)
		}), contract.LeaseExpired, false, "the key of order:42 expired at 30.001 s: its lease of 30 s began at 0.001 s and was never renewed, and no fault explains why", nil},
		{"cut off", overlap(0, func(s *script) {
			s.fault("partition", "c1", at(5), 0).Step = "requests"
			expire(s, 30.001)
		}), contract.CutOff, true, "the key of order:42 expired at 30.001 s: its lease of 30 s began at 0.001 s and was never renewed, because nothing that c1 sent reached the server from 5.000 s on", []int{0}},
		{"a message lost, and enough time left", overlap(0, func(s *script) {
			s.fault("drop-message", "c1", at(10), 0)
			expire(s, 30.001)
		}), contract.LeaseExpired, false, "the key of order:42 expired at 30.001 s: its lease of 30 s began at 0.001 s and was never renewed, though its client had 14.9 s of opportunity besides the time that faults took: the network lost a message between c1 and the server at 10.000 s", nil},
		{"two messages lost", overlap(0, func(s *script) {
			s.fault("drop-message", "c1", at(6), 0)
			s.fault("drop-message", "c1", at(20), 0)
			expire(s, 30.001)
		}), contract.LostMessage, true, "the key of order:42 expired at 30.001 s: its lease of 30 s began at 0.001 s and was never renewed, after the network lost a message between c1 and the server at 6.000 s and the network lost a message between c1 and the server at 20.000 s", []int{0, 1}},
		{"an explicit lease outlived", overlap(20*sec, func(s *script) { expire(s, 20.001) }),
			contract.LeaseOutlived, true, "the key of order:42 expired at 20.001 s: its lease of 20 s began at 0.001 s, and the work took longer", nil},
		{"an explicit lease outlived in a pause", overlap(20*sec, func(s *script) {
			s.fault("pause-client", "c1", at(5), at(45))
			expire(s, 20.001)
		}), contract.PausedHolder, true, "the key of order:42 expired at 20.001 s: its lease of 20 s began at 0.001 s, and c1 was paused from 5.000 s to 45.000 s", []int{0}},
		{"expired from outside", overlap(0, func(s *script) {
			s.fault("expire-key", "", at(7), 0).Lock = job
			expire(s, 7)
		}), contract.KeyLost, true, "the key of order:42 was expired from outside at 7.000 s, while c1:1 held it", []int{0}},
		{"its TTL cut from outside", overlap(0, func(s *script) {
			s.event(history.ForceTTL, at(5)).Deadline = at(7)
			expire(s, 7)
		}), contract.KeyLost, true, "the key of order:42 was expired from outside at 7.000 s, while c1:1 held it", nil},
		{"deleted from outside", overlap(0, func(s *script) { s.event(history.Delete, at(7)) }),
			contract.KeyLost, true, "the key of order:42 was deleted from outside at 7.000 s, while c1:1 held it", nil},
		{"lost in a failover", overlap(0, func(s *script) {
			s.event(history.Failover, at(7)).Lock = ""
			s.event(history.Delete, at(7))
		}), contract.ServerLost, true, "the server lost the key of order:42 in the failover at 7.000 s", nil},
		{"forgotten by a replica that is behind", overlap(0, func(s *script) {
			s.event(history.Failover, at(7)).Lock = ""
			back := s.event(history.Restore, at(7))
			back.Owner, back.Count, back.Deadline = "c3:1", 1, at(20)
			expire(s, 20)
		}), contract.ServerLost, true, "the server forgot the hold of c1:1 on order:42 in the failover at 7.000 s, and took it for held by c3:1 again", nil},
		{"the server's clock jumped", overlap(0, func(s *script) {
			e := s.event(history.ClockJump, at(7))
			e.Lock, e.By = "", 20*sec
			expire(s, 10.001)
		}), contract.ClockJumped, true, "the key of order:42 expired at 10.001 s: its lease of 30 s began at 0.001 s and was never renewed, and the server's clock jumped by 20 s at 7.000 s", nil},
		{"forced", overlap(0, func(s *script) { s.op("c3:1", history.ForceUnlock, at(7), at(7.002), history.Released) }),
			contract.Forced, true, "the lock order:42 was forced free by c3:1 at 7.001 s, while c1:1 held it", nil},
		{"freed by another's unlock", overlap(0, func(s *script) { s.unlock("c3:1", at(7), history.Released) }),
			contract.ForeignRelease, false, "the unlock of c3:1, which did not hold order:42, ended the hold of c1:1 at 7.001 s", nil},
		{"granted under the holder", overlap(0, func(s *script) { s.renewals("c1:1", 0, at(39)) }),
			contract.GrantedTwice, false, "the server gave order:42 away at 39.999 s while c1:1 held it", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := verdict(t, tt.script).Result(contract.Exclusion)
			if len(r.Violations) != 1 {
				t.Fatalf("%s: %s", r.Status, r.Summary)
			}
			c := r.Violations[0].Cause
			if c.Class != tt.class || (r.Violations[0].Ruling.Kind != Defect) != tt.assumption || c.Text != tt.text || !slices.Equal(c.Faults, tt.faults) {
				t.Errorf("cause %+v\nwant  %s, assumption %v, faults %v: %s", c, tt.class, tt.assumption, tt.faults, tt.text)
			}
		})
	}
}

// A delayed copy of an unlock frees the hold that its own owner took in the meantime.
func TestExclusionBrokenByADelayedCopy(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.1), 0)
	op := s.unlock("c1:1", at(1), history.Released)
	op.Repeats = 1
	s.served(op, op.Executed, key("c1:1", 1, at(30)), key("", 0, 0))
	s.h.Served = append(s.h.Served, history.Served{At: at(3), Sent: at(1), Client: "c1", Op: op.ID, Lock: job,
		Before: key("c1:1", 1, at(32)), After: key("", 0, 0)})
	s.take("c1:1", at(2), at(2.1), 0)
	s.take("c2:1", at(4), at(4.1), 0)
	s.unlock("c1:1", at(5), history.NotHeld)
	r := verdict(t, s).Result(contract.Exclusion)
	if len(r.Violations) != 1 || r.Violations[0].Cause.Class != contract.DoubleExecution || r.Violations[0].Ruling.Kind != Defect {
		t.Errorf("%+v", r)
	}
}

// A late copy of a request takes a lock again that its owner has lost and believes to hold. Nobody renews that hold, and its end
// explains nothing: what took the first one away does, if something did.
func TestExclusionBrokenWhenACopyHadTakenALostLock(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		s := newScript()
		op := s.take("c1:1", at(1), at(1.1), 0)
		op.Executed, op.Repeats = at(1.05), 1
		s.served(op, at(1.05), key("", 0, 0), key("c1:1", 1, at(31.05)))
		lost := history.Expire
		if deleted {
			lost = history.Delete
		}
		s.event(lost, map[bool]time.Duration{true: at(2), false: at(31.051)}[deleted])
		s.h.Served = append(s.h.Served, history.Served{At: at(40), Sent: at(1), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(70))})
		s.fault("duplicate-message", "c1", at(1.04), at(40))
		if deleted {
			s.fault("delete-key", "", at(2), 0)
		}
		s.event(history.Expire, at(70.001))
		s.take("c2:1", at(71), at(71.1), 0)
		s.unlock("c2:1", at(72), history.Released)
		s.unlock("c1:1", at(80), history.NotHeld)
		r := verdict(t, s).Result(contract.Exclusion)
		if len(r.Violations) != 1 || (r.Violations[0].Cause.Class == contract.KeyLost) != deleted || (r.Violations[0].Ruling.Kind != Defect) != deleted {
			t.Errorf("deleted %v: %+v", deleted, r)
		}
	}
}

// Who lost a hold without knowing, and took the lock once more, believes that it holds the lock twice, and gives it
// back with its first unlock. From the call of that unlock on it does nothing under the lock.
func TestAnUnlockThatFreesTheLockEndsTheBeliefAtItsCall(t *testing.T) {
	s := newScript()
	s.fault("expire-key", "", at(5), 0).Lock = job
	s.take("c1:1", at(0), at(0.002), 0)
	s.event(history.Expire, at(5))
	s.take("c1:1", at(8), at(8.002), 0)
	s.op("c1:1", history.Unlock, at(9), at(9.1), history.Released).Executed = at(9.01)
	s.take("c2:1", at(8.5), at(9.05), 0)
	if r := verdict(t, s).Result(contract.Exclusion); r.Status != Holds {
		t.Errorf("%+v", r)
	}
	s = newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.take("c1:1", at(8), at(8.002), 0)
	s.take("c2:1", at(8.5), at(8.9), 0) // before the call
	s.op("c1:1", history.Unlock, at(9), at(9.1), history.Released).Executed = at(9.01)
	if r := verdict(t, s).Result(contract.Exclusion); r.Status != Broken || len(r.Defects()) == 0 {
		t.Errorf("%+v", r)
	}
}

// Whose hold was taken away before it heard of its grant is the one that lost it, though the other
// heard of its own first.
func TestExclusionBrokenByALossBeforeTheAnswer(t *testing.T) {
	s := newScript()
	s.fault("expire-key", "", at(2), 0).Lock = job
	s.take("c2:1", at(0), at(4), 0).Executed = at(1)
	s.event(history.Expire, at(2))
	s.take("c1:1", at(0), at(3), 0).Executed = at(2.5)
	r := verdict(t, s).Result(contract.Exclusion)
	if len(r.Violations) != 1 || r.Violations[0].Cause.Class != contract.KeyLost || r.Violations[0].Ruling.Kind == Defect {
		t.Errorf("%+v", r)
	}
}

// Nobody saw the server: who was granted the lock first is known by tokens only, or not at all.
func TestExclusionWhereNobodySawTheGrants(t *testing.T) {
	// c1 hears late of a grant, c2 meanwhile has another; ended by what comes between.
	late := func(call float64, tokens [2]int64, between func(s *script)) *script {
		s := newScript()
		s.h.Header.World, s.h.Header.Expiry = "redis", history.Implied
		if between != nil {
			between(s)
		}
		for _, o := range []struct {
			owner     string
			call, ret float64
			token     int64
		}{{"c2:1", 7, 8, tokens[1]}, {"c1:1", call, 9, tokens[0]}} {
			op := s.take(o.owner, at(o.call), at(o.ret), 0)
			op.Token, op.Evidence, op.Executed, op.Answer = o.token, "", 0, ""
		}
		s.unlock("c1:1", at(9.1), history.NotHeld).Evidence = ""
		s.unlock("c2:1", at(9.2), history.Released).Evidence = ""
		return s
	}
	gone := func(s *script) { s.event(history.Delete, at(6)).Since = at(5) }
	for _, tt := range []struct {
		name   string
		script *script
		class  contract.Class
		excuse bool
	}{
		{"the key was deleted after the first grant", late(1, [2]int64{1, 2}, gone), contract.KeyLost, true},
		{"the key was deleted before both grants", late(6.5, [2]int64{1, 2}, gone), contract.GrantedTwice, false},
		{"it is not known which grant was the first", late(1, [2]int64{}, gone), contract.KeyLost, true},
		{"the one who was granted it later has no excuse", late(1, [2]int64{2, 1}, gone), contract.GrantedTwice, false},
		{"the one who was granted it later has a lesser token, from a replica", late(1, [2]int64{2, 1}, func(s *script) {
			s.event(history.Failover, at(6)).Lock = ""
			s.event(history.Delete, at(6))
		}), contract.ServerLost, true},
		{"the server failed over before both, and tokens tell", late(6.5, [2]int64{2, 1}, func(s *script) {
			s.event(history.Failover, at(6)).Lock = ""
			s.event(history.Delete, at(6))
		}), contract.GrantedTwice, false},
		{"its answer came when its lease may be over, for it was paused", late(-28, [2]int64{1, 2}, func(s *script) {
			s.fault("pause-client", "c1", at(0.1), at(8.9))
		}), contract.PausedHolder, true},
		{"its answer came when its lease may be over, and nothing held it up", late(-28, [2]int64{1, 2}, nil), contract.LeaseExpired, false},
		{"its answer came in time, and it was paused", late(1, [2]int64{1, 2}, func(s *script) {
			s.fault("pause-client", "c1", at(1.1), at(8.9))
		}), contract.GrantedTwice, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := verdict(t, tt.script).Result(contract.Exclusion)
			if len(r.Violations) != 1 {
				t.Fatalf("%s: %s", r.Status, r.Summary)
			}
			if v := r.Violations[0]; v.Cause.Class != tt.class || (v.Ruling.Kind != Defect) != tt.excuse {
				t.Errorf("%s, %s: %s\nwant %s, excused %v", v.Cause.Class, v.Ruling.Kind, v.Cause.Text, tt.class, tt.excuse)
			}
		})
	}
}

// A lock may tell a caller that it has what the server never gave to it: that is not what the server did.
func TestExclusionBrokenByAWrongAnswer(t *testing.T) {
	for answer, want := range map[history.Outcome]string{
		history.Busy:     "the server never gave order:42 to c2:1, which was told at 4.100 s that it has it",
		history.Acquired: "the lock of c2:1, which did not hold order:42, ended the hold of c1:1 at 4.050 s",
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.1), 0)
		op := s.take("c2:1", at(4), at(4.1), 0)
		op.Evidence, op.Executed, op.Answer = history.Executed, at(4.05), answer
		after := key("c1:1", 1, at(30.05))
		if answer == history.Acquired {
			after = key("c2:1", 1, at(34.05))
		}
		s.h.Served = append(s.h.Served, history.Served{At: at(4.05), Sent: at(4), Got: at(4.1), Client: "c2", Owner: "c2:1", Op: op.ID, Lock: job, Before: key("c1:1", 1, at(30.05)), After: after})
		s.unlock("c1:1", at(5), history.Released)
		r := verdict(t, s).Result(contract.Exclusion)
		if len(r.Violations) != 1 || r.Violations[0].Cause.Text != want || r.Violations[0].Ruling.Kind != Defect {
			t.Errorf("%s: %+v", answer, r)
		}
	}
}
