package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// lostAndAnew is a re-entry that finds the lock deleted, or not, whose owner is told of a loss at its return, and renews.
func lostAndAnew(s *script, deleted bool) {
	s.take("c1:1", at(0), at(0.002), 0)
	if deleted {
		s.event(history.Delete, at(1))
	}
	s.take("c1:1", at(2), at(2.002), 0)
	s.event(history.Lost, at(2.002)).Owner = "c1:1"
	s.renew("c1:1", at(12), history.Renewed)
	s.unlock("c1:1", at(13), history.Released)
}

func TestWatchdog(t *testing.T) {
	tests := []struct {
		name  string
		write func(s *script)
		rules []contract.Rule
	}{
		{"renewed on every third", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.renewals("c1:1", 0, at(65))
			s.unlock("c1:1", at(65), history.Released)
		}, nil},
		{"nobody renews before there is a hold without a lease", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 24*sec)
			s.take("c1:1", at(20), at(20.002), 0)
			s.renewals("c1:1", at(20), at(35))
			s.unlock("c1:1", at(35), history.Decremented)
			s.unlock("c1:1", at(36), history.Released)
		}, nil},
		{"within the slack", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.renew("c1:1", at(10.9), history.Renewed)
			s.unlock("c1:1", at(21.8), history.Released)
		}, nil},
		{"one renewal missing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.renew("c1:1", at(10), history.Renewed)
			s.renew("c1:1", at(30), history.Renewed)
			s.unlock("c1:1", at(31), history.Released)
		}, []contract.Rule{contract.RenewedInTime}},
		{"the last renewal missing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(25), history.Released)
		}, []contract.Rule{contract.RenewedInTime}},
		{"a renewal whose request was lost is missing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.renew("c1:1", at(10), history.Unknown)
			op.Evidence, op.Return, op.Outcome = history.NotSent, 0, ""
			s.unlock("c1:1", at(15), history.Released)
		}, []contract.Rule{contract.RenewedInTime}},
		{"a renewal whose reply was lost is none the less one", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.renew("c1:1", at(10), history.Renewed)
			op.Return, op.Outcome = 0, ""
			s.unlock("c1:1", at(15), history.Released)
		}, nil},
		{"held to the end of the run without renewal", func(s *script) {
			s.take("c1:1", at(100), at(100.002), 0)
		}, []contract.Rule{contract.RenewedInTime}},
		{"an explicit lease is nobody's to renew", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 25*sec)
			s.unlock("c1:1", at(20), history.Released)
		}, nil},
		{"a hold without one is still there below it", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c1:1", at(1), at(1.002), 25*sec)
			s.take("c1:1", at(2), at(2.002), 0)
			s.op("c1:1", history.Unlock, at(3), at(3.002), history.Decremented).Lease = 25 * sec
			s.renew("c1:1", at(10), history.Renewed)
			s.op("c1:1", history.Unlock, at(11), at(11.002), history.Decremented).Lease = dog
			s.unlock("c1:1", at(12), history.Released)
		}, nil},
		{"the hold without one was given back, by an unlock that sets no lease", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 25*sec)
			s.take("c1:1", at(1), at(1.002), 0)
			s.op("c1:1", history.Unlock, at(2), at(2.002), history.Decremented)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(12), history.Released)
		}, nil},
		{"the hold without one was given back", func(s *script) {
			claiming(s, contract.SetsLease)
			s.take("c1:1", at(0), at(0.002), 25*sec)
			s.take("c1:1", at(1), at(1.002), 0)
			s.op("c1:1", history.Unlock, at(2), at(2.002), history.Decremented).Lease = 25 * sec
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(12), history.Released)
		}, []contract.Rule{contract.NoRenewalAsked}},
		{"an explicit lease is renewed", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 25*sec)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(20), history.Released)
		}, []contract.Rule{contract.NoRenewalAsked}},
		{"an explicit lease within a hold that has none", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c1:1", at(1), at(1.002), 25*sec)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(12), history.Decremented)
			s.unlock("c1:1", at(13), history.Released)
		}, nil},
		{"re-entry and partial unlock set the lease anew", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c1:1", at(9), at(9.002), 0)
			s.unlock("c1:1", at(18), history.Decremented)
			s.unlock("c1:1", at(27), history.Released)
		}, nil},
		{"a dead holder owes nothing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.died("c1", at(5))
			s.event(history.Expire, at(30.001))
		}, nil},
		{"nobody owes a renewal of what was taken away", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Delete, at(5))
			s.renew("c1:1", at(10), history.NotHeld)
			s.unlock("c1:1", at(50), history.NotHeld)
		}, nil},
		{"nobody owes a renewal of what was told lost", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Lost, at(5)).Owner = "c1:1"
			s.event(history.Expire, at(30.001))
		}, nil},
		{"who was granted the lock anew by the answer that told of a loss renews it", func(s *script) { lostAndAnew(s, true) }, nil},
		{"who was told of the loss of all that it holds renews nothing", func(s *script) { lostAndAnew(s, false) },
			[]contract.Rule{contract.NoRenewalAfter}},
		{"nobody owes a renewal of what it never heard it held", func(s *script) {
			op := s.take("c1:1", at(0), at(0.002), 0)
			op.Return, op.Outcome = at(3), history.Unknown
			s.event(history.Expire, at(30.001))
		}, nil},
		{"renewal sent after the unlock returned", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.renew("c1:1", at(10), history.NotHeld)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal on its way while the unlock returns", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c1:1", history.Renew, at(4.9), at(5.1), history.NotHeld)
			s.unlock("c1:1", at(5), history.Released)
		}, nil},
		{"renewal sent at the instant of the unlock's return: it could not know", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.renew("c1:1", at(5.002), history.NotHeld)
		}, nil},
		{"renewal sent at the instant of being told: it could not know", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Lost, at(5)).Owner = "c1:1"
			s.renew("c1:1", at(5), history.Renewed)
		}, nil},
		{"renewal sent at the instant of being told, which comes some nanoseconds later", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Lost, at(5)).Owner = "c1:1"
			s.renew("c1:1", at(5)+2, history.NotHeld)
		}, nil},
		{"renewal sent some microseconds after being told", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Lost, at(5)).Owner = "c1:1"
			s.renew("c1:1", at(5)+2*time.Microsecond, history.NotHeld)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal after an unlock that failed: it must not go on for ever", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.unlock("c1:1", at(5), history.Unknown)
			op.Evidence, op.Answer, op.Executed = history.NotSent, "", 0
			s.renew("c1:1", at(10), history.Renewed)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal between the inner and the outer unlock", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.take("c1:1", at(1), at(1.002), 0)
			s.unlock("c1:1", at(5), history.Decremented)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(12), history.Released)
		}, nil},
		{"renewal of the next hold of the same owner", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
			s.take("c1:1", at(6), at(6.002), 0)
			s.renew("c1:1", at(10), history.Renewed)
			s.unlock("c1:1", at(12), history.Released)
		}, nil},
		{"renewal after an acquire was given up: a ghost", func(s *script) {
			op := s.take("c1:1", at(0), at(0.002), 0)
			op.Outcome = history.Unknown
			s.renew("c1:1", at(10), history.Renewed)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal after one for an earlier hold was refused", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c1:1", history.Unlock, at(9.99), at(10.002), history.Released)
			late := s.renew("c1:1", at(9.995), history.NotHeld)
			late.Return, late.Executed = at(10.1), at(10.002)
			s.take("c1:1", at(10.003), at(10.005), 0)
			s.renew("c1:1", at(20), history.Renewed)
			s.unlock("c1:1", at(25), history.Released)
		}, nil},
		{"renewal after a refusal was known", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Delete, at(5))
			s.renew("c1:1", at(10), history.NotHeld)
			s.renew("c1:1", at(20), history.NotHeld)
			s.unlock("c1:1", at(25), history.NotHeld)
		}, []contract.Rule{contract.NoRenewalOnceNo}},
		{"renewal after a refusal that never arrived", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Delete, at(5))
			op := s.renew("c1:1", at(10), history.NotHeld)
			op.Return, op.Outcome = 0, ""
			s.renew("c1:1", at(20), history.NotHeld)
			s.unlock("c1:1", at(25), history.NotHeld)
		}, nil},
		{"renewal after the hold was told lost", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.Lost, at(5)).Owner = "c1:1"
			s.renew("c1:1", at(10), history.Renewed)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal after the holder forced the lock free: the refusal tells its watchdog", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c1:1", history.ForceUnlock, at(5), at(5.002), history.Released).Executed = at(5.001)
			s.renew("c1:1", at(10), history.NotHeld)
		}, nil},
		{"a second renewal after the holder forced the lock free", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.op("c1:1", history.ForceUnlock, at(5), at(5.002), history.Released).Executed = at(5.001)
			s.renew("c1:1", at(10), history.NotHeld)
			s.renew("c1:1", at(20), history.NotHeld)
		}, []contract.Rule{contract.NoRenewalAfter}},
		{"renewal by the dead", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.died("c1", at(5))
			s.renew("c1:1", at(10), history.Renewed)
			s.event(history.Expire, at(40.001))
		}, []contract.Rule{contract.NoRenewalByDead}},
		{"a pause excuses nothing", func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.fault("pause-watchdog", "c1", at(5), at(14))
			s.renew("c1:1", at(14), history.Renewed)
			s.unlock("c1:1", at(15), history.Released)
		}, []contract.Rule{contract.RenewedInTime}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			v := verdict(t, s)
			if got := rules(v, contract.Watchdog); !slices.Equal(got, tt.rules) || v.Result(contract.Watchdog).Status != map[bool]Status{true: Holds, false: Broken}[len(tt.rules) == 0] {
				t.Errorf("%s: broke %q, want %q", v.Result(contract.Watchdog).Status, got, tt.rules)
			}
			s.h.Header.RenewEvery = 0 // then it is a third of the timeout
			if got := rules(verdict(t, s), contract.Watchdog); !slices.Equal(got, tt.rules) {
				t.Errorf("with the period left out: broke %q, want %q", got, tt.rules)
			}
			s.h.Header.WatchdogTimeout = 0
			if r := verdict(t, s).Result(contract.Watchdog); r.Status != NotClaimed {
				t.Errorf("a watchdog that promises nothing: %s", r.Status)
			}
			s.h.Header.Abilities = nil
			if r := verdict(t, s).Result(contract.Watchdog); r.Status != NotClaimed {
				t.Errorf("a lock without a watchdog: %s", r.Status)
			}
		})
	}
}

// A lock that tells its holders of a loss tells the truth: too early is a violation, at the end of the lease as its
// client knows it is none.
func TestNobodyIsToldOfALossTooEarly(t *testing.T) {
	for _, tt := range []struct {
		name  string
		told  float64
		fault bool
		early bool
	}{
		{"at the end of what its client knows", 29.7, false, false},
		{"while the lease lasts", 20, false, true},
		{"while the lease lasts, after a fault of its client, which knows of the lease all the same", 20, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := claiming(newScript(), contract.TellsLoss)
			op := s.take("c1:1", at(0), at(0.002), 0)
			s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: 0, Got: at(0.002), Client: "c1", Op: op.ID, Lock: job,
				Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
			lost := s.event(history.Lost, at(tt.told))
			lost.Owner, lost.Client = "c1:1", "c1"
			s.event(history.Expire, at(30.001))
			if tt.fault {
				s.fault("partition", "c1", at(5), at(15))
			}
			if got := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); got != tt.early {
				t.Errorf("told too early: %v, want %v", got, tt.early)
			}
		})
	}
}

// What its client knew of a hold that it was told to have given back says nothing of the next one, though the server kept the first.
func TestALeaseThatWasGivenBackIsNotKnownAnyMore(t *testing.T) {
	for told, early := range map[float64]bool{5: true, 12: false} {
		s := claiming(newScript(), contract.TellsLoss)
		row := func(op *history.Op, when float64, holds int64, until time.Duration) {
			s.h.Served = append(s.h.Served, history.Served{At: at(when), Sent: at(when) - lat, Got: at(when) + lat, Client: "c1", Op: op.ID, Lock: job,
				Before: key("c1:1", 1, at(30.001)), After: key("c1:1", holds, until)})
		}
		s.take("c1:1", at(0), at(0.002), 0)
		row(s.take("c1:1", at(0.1), at(0.102), 0), 0.101, 2, at(30.101))
		op := s.unlock("c1:1", at(1), history.Released)
		op.Answer = history.Decremented
		row(op, 1.001, 1, at(30.101))
		row(s.take("c1:1", at(2), at(2.002), 10*sec), 2.001, 2, at(30.101))
		lost := s.event(history.Lost, at(told))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, at(30.101))
		if got := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); got != early {
			t.Errorf("told at %g s: too early: %t, want %t", told, got, early)
		}
	}
}

// A renewal that leaves a longer lease alone is right for a lock that keeps the longest, and one that shortens it is not.
// For a lock that does not claim that it is the other way round.
func TestRenewalsOfALongerLease(t *testing.T) {
	longer := func(s *script) { // a lease of 60 s, and then a hold that the watchdog renews
		s.take("c1:1", at(0), at(0.002), 60*sec)
		op := s.take("c1:1", at(1), at(1.002), 60*sec)
		op.Watchdog = true
	}
	shows := func(s *script, from, to float64) { // what the renewal of that time did to the key
		s.h.Served = append(s.h.Served, history.Served{At: at(from), Sent: at(from) - lat, Got: at(from) + lat, Client: "c1", Owner: "c1:1",
			Lock: job, Step: history.StepRenew, Before: key("c1:1", 2, at(61.001)), After: key("c1:1", 2, at(to))})
	}
	over := func(s *script, from float64) {
		s.unlock("c1:1", at(from), history.Decremented).Lease = 60 * sec
		s.unlock("c1:1", at(from+1), history.Released)
	}
	tests := []struct {
		name               string
		write              func(s *script)
		claimer, non       []contract.Rule // of object
		watched, unwatched []contract.Rule // of watchdog: of a claimer, and of another
	}{
		{name: "it is shortened", write: func(s *script) {
			longer(s)
			s.renew("c1:1", at(10), history.Renewed)
			shows(s, 10.001, 40.001)
			over(s, 15)
		}, claimer: []contract.Rule{contract.RenewalKeeps}},
		{name: "it is shortened, and ends so", write: func(s *script) {
			longer(s)
			s.renew("c1:1", at(10), history.Renewed)
			s.died("c1", at(15))
			s.event(history.Expire, at(40.001))
		}, claimer: []contract.Rule{contract.NotBeforeLease}},
		{name: "it is left alone, and what is left of it is renewed", write: func(s *script) {
			longer(s)
			s.renew("c1:1", at(39), history.Renewed)
			over(s, 45)
		}, unwatched: []contract.Rule{contract.RenewedInTime}},
		{name: "it is left alone, as the answers say", write: func(s *script) {
			longer(s)
			s.renew("c1:1", at(11), history.Renewed)
			s.died("c1", at(15))
			s.op("c2:1", history.IsLocked, at(50), at(50.002), history.OK).Value = 1
			s.event(history.Expire, at(61.001))
		}, non: []contract.Rule{contract.NotAfterLease}},
		{name: "what is left of it is not renewed", write: func(s *script) {
			longer(s)
			over(s, 45)
		}, watched: []contract.Rule{contract.RenewedInTime}, unwatched: []contract.Rule{contract.RenewedInTime}},
		{name: "somebody else set a longer time to live", write: func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.ForceTTL, at(5)).Deadline = at(50)
			s.renew("c1:1", at(29), history.Renewed)
			s.unlock("c1:1", at(35), history.Released)
		}, unwatched: []contract.Rule{contract.RenewedInTime}},
		{name: "a hold without an end gets one", write: func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.event(history.ForceTTL, at(5))
			s.renew("c1:1", at(10), history.Renewed)
			s.died("c1", at(15))
			s.event(history.Expire, at(40.001))
		}},
	}
	for _, tt := range tests {
		for _, claims := range []bool{true, false} {
			s := newScript()
			if claims {
				claiming(s, contract.KeepsLongest)
			}
			tt.write(s)
			object, watchdog := tt.non, tt.unwatched
			if claims {
				object, watchdog = tt.claimer, tt.watched
			}
			v := verdict(t, s)
			if got := rules(v, contract.Object); !slices.Equal(got, object) {
				t.Errorf("%s, the claim is made: %v: object broke %q, want %q", tt.name, claims, got, object)
			}
			if got := rules(v, contract.Watchdog); !slices.Equal(got, watchdog) {
				t.Errorf("%s, the claim is made: %v: watchdog broke %q, want %q", tt.name, claims, got, watchdog)
			}
			for _, x := range v.Result(contract.Object).Violations {
				if x.Ruling.Kind != Defect {
					t.Errorf("%s: %s", tt.name, x.Ruling)
				}
			}
		}
	}
}

// A hold that the lock began by itself, after one was lost, is not the one that its owner is told of.
func TestALossIsOfTheHoldThatItsOwnerBelievesIn(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		s := claiming(newScript(), contract.TellsLoss)
		op := s.take("c1:1", at(0), at(0.002), 0)
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: 0, Got: at(0.002), Client: "c1", Op: op.ID, Lock: job,
			Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
		if deleted {
			s.event(history.Delete, at(1))
		}
		again := s.take("c1:1", at(2), at(2.002), 0)
		again.Aside = true
		s.h.Served = append(s.h.Served, history.Served{At: at(2.001), Sent: at(2), Got: at(2.002), Client: "c1", Op: again.ID, Lock: job,
			Before: key("c1:1", 1, at(30.001)), After: key("c1:1", 2, at(32.001))})
		if deleted {
			s.h.Served[1].Before, s.h.Served[1].After = key("", 0, 0), key("c1:1", 1, at(32.001))
		}
		lost := s.event(history.Lost, at(2.003))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, at(32.001))
		if got := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); got == deleted {
			t.Errorf("the first hold was lost: %t; told too early: %t", deleted, got)
		}
	}
}

// What settles an earlier call sets the lease of a hold in the background. That is as good as a renewal, if the lease is as long.
func TestALeaseSetInTheBackgroundIsARenewal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		owner string
		until float64
		want  string
	}{
		{"as long as a renewal would", "c1:1", 40, ""},
		{"shorter", "c1:1", 35, defect},
		{"from outside", "", 40, defect},
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		e := s.event(history.ForceTTL, at(10))
		e.Owner, e.Deadline = tt.owner, at(tt.until)
		s.renew("c1:1", at(20), history.Renewed)
		s.unlock("c1:1", at(22), history.Released)
		if got := ruledOn(t, s, contract.RenewedInTime); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A renewal after a hold is told with the call that ended the hold. An attempt that took nothing came later, and ended none.
func TestARenewalIsToldWithWhatEndedTheHold(t *testing.T) {
	for outcome, want := range map[history.Outcome]string{history.Busy: "the unlock of c1:1", history.Failed: "the unlock of c1:1", history.Unknown: "the tryLock of c1:1"} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		s.unlock("c1:1", at(1), history.Released)
		try := s.op("c1:1", history.TryLock, at(2), at(2.002), outcome)
		if outcome != history.Busy {
			try.Answer, try.Evidence, try.Executed = "", history.NotSent, 0
		}
		s.renew("c1:1", at(10), history.NotHeld)
		all := verdict(t, s).Result(contract.Watchdog).Violations
		if len(all) != 1 || all[0].Rule != contract.NoRenewalAfter || !strings.HasPrefix(all[0].Text, want) {
			t.Errorf("after a tryLock that ended %s: %+v", outcome, all)
		}
	}
}
