package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// side is a history that breaks a rule: inside an exemption, or just outside of it.
type side struct {
	rule   contract.Rule
	inside bool
	script interface{ done() *history.History }
}

// Each row of the table acquits something sound. Just outside of the row the same is a defect: without the effect, for a
// lock that makes the claim, or with enough opportunity.
func TestEachExemptionHasTwoSides(t *testing.T) {
	rows := map[string][]side{}
	for _, sides := range []map[string][]side{sidesOfLocks(), sidesOfGroups(), sidesOfUnseen(), sidesOfPermits(), sidesOfLeases(), sidesOfLatches(), sidesOfRWLocks(), sidesOfQueues()} {
		for row, more := range sides {
			rows[row] = append(rows[row], more...)
		}
	}
	for _, e := range contract.Exemptions() {
		inside, outside := false, false
		for i, c := range rows[e.Name] {
			v := Judge(t.Context(), c.script.done(), Options{})
			found := false
			for _, r := range v.Results {
				for _, x := range r.Violations {
					if x.Rule != c.rule {
						continue
					}
					found = true
					if acquitted := x.Ruling.Row == e.Name; acquitted != c.inside || c.inside == (x.Ruling.Kind == Defect) {
						t.Errorf("%s, side %d: %+v: %s; %s", e.Name, i, x.Ruling, x.Text, x.Cause.Text)
					}
				}
			}
			if !found {
				t.Errorf("%s, side %d: %q is not broken: %v", e.Name, i, c.rule, v.Refused)
			}
			inside, outside = inside || c.inside, outside || !c.inside
		}
		if !inside || !outside {
			t.Errorf("exemption %s has no test on both sides of its edge", e.Name)
		}
		delete(rows, e.Name)
	}
	for row := range rows {
		t.Errorf("there is no exemption %s", row)
	}
}

// sidesOfLocks are the sides of the table's rows that locks have.
func sidesOfLocks() map[string][]side {
	stopped := func(kind string, from, to float64) func(s *script) {
		return func(s *script) { s.fault(kind, "c1", at(from), at(to)); leaseEnds(s) }
	}
	release := func(s *script) { s.unlock("c1:1", at(5), history.Released) }
	restarted := func(kind history.EventKind, lost bool) *script {
		s := claiming(newScript(), contract.Fences)
		s.take("c1:1", at(0), at(0.002), 0).Token = 7
		s.unlock("c1:1", at(1), history.Released)
		s.event(kind, at(2)).Lock = ""
		if lost {
			s.event(history.Delete, at(2))
		}
		s.take("c2:1", at(3), at(3.002), 0).Token = 1
		return s
	}
	flushedBetween := func(apart time.Duration) *script { // two grants so far apart
		s := claiming(newScript(), contract.Fences)
		s.h.Header.Abilities, s.h.Header.TokenUnit = append(s.h.Header.Abilities, string(contract.TokensGoOn)), 100*time.Microsecond
		first := s.take("c1:1", at(1), at(1.002), 0)
		first.Token = 7
		s.event(history.Restart, first.Executed+10*time.Microsecond).Lock = ""
		s.event(history.Delete, first.Executed+10*time.Microsecond)
		second := s.take("c2:1", first.Call+apart, first.Return+apart, 0)
		second.Token = 7
		return s
	}
	cases := map[string][]side{
		"lease-outlived": {
			{contract.OneBeliever, true, overlapped(30*sec, leaseEnds)},
			{contract.OneBeliever, false, claiming(overlapped(30*sec, leaseEnds), contract.TellsLoss)},
			{contract.OneBeliever, true, retaken(false, 1.5)},
			{contract.OneBeliever, false, retaken(true, 1.5)},
			{contract.OneBeliever, false, retaken(false, 15)}, // something was to be renewed before
			{contract.OneBeliever, true, overlapped(10*sec, lateUnlockAfter(1))},
			{contract.OneBeliever, false, overlapped(10*sec, lateUnlockAfter(2))}, // it gives back two holds
		},
		"holder-stopped": {
			{contract.OneBeliever, true, claiming(overlapped(0, stopped("pause-client", 5, 50)), contract.TellsLoss)},
			{contract.OneBeliever, false, claiming(overlapped(0, stopped("pause-client", 5, 40)), contract.TellsLoss)},
		},
		"holder-not-renewed": {
			{contract.OneBeliever, true, overlapped(0, stopped("pause-watchdog", 5, 50))},
			{contract.OneBeliever, false, overlapped(0, stopped("pause-watchdog", 5, 7))},
			{contract.OneBeliever, false, claiming(overlapped(0, stopped("pause-watchdog", 5, 50)), contract.TellsLoss)},
			{contract.OneBeliever, false, overlapped(0, leaseEnds)},
		},
		"key-touched": {
			{contract.OneBeliever, true, overlapped(0, func(s *script) { s.renewals("c1:1", 0, at(29)); s.event(history.Delete, at(30)) })},
			{contract.OneBeliever, false, overlapped(0, func(s *script) { s.renewals("c1:1", 0, at(29)) })},
			{contract.OneBeliever, true, claiming(overlapped(0, takenAgain(0)), contract.TellsLoss)},
			{contract.OneBeliever, true, claiming(overlapped(0, takenAgain(30.4)), contract.TellsLoss)},
			{contract.OneBeliever, false, claiming(overlapped(0, takenAgain(30.25)), contract.TellsLoss)}, // its client knew of that hold
		},
		"forced-free": {
			{contract.OneBeliever, true, overlapped(0, func(s *script) {
				s.renewals("c1:1", 0, at(29))
				s.op("c3:1", history.ForceUnlock, at(29.5), at(29.502), history.Released)
			})},
			{contract.OneBeliever, false, overlapped(0, func(s *script) {
				s.renewals("c1:1", 0, at(29))
				s.op("c3:1", history.Unlock, at(29.5), at(29.502), history.Released)
			})},
		},
		"server-forgot": {
			{contract.OneBeliever, true, overlapped(0, func(s *script) {
				s.renewals("c1:1", 0, at(29))
				s.event(history.Restart, at(29.5)).Lock = ""
				s.event(history.Delete, at(29.5))
			})},
			{contract.OneBeliever, false, overlapped(0, func(s *script) {
				s.renewals("c1:1", 0, at(29))
				s.event(history.Restart, at(29.5)).Lock = "" // and the data is there again
			})},
			// A call that was given back before its request came, and of which the server forgot that or did not.
			{contract.GhostIsGone, true, forgottenGhost("restart", 1.5)},
			{contract.GhostIsGone, false, forgottenGhost("restart", 1)},
			{contract.GhostIsGone, false, forgottenGhost("restart", 2.5)},
		},
		"clock-moved": {
			{contract.OneBeliever, true, overlapped(0, func(s *script) {
				jump := s.event(history.ClockJump, at(7))
				jump.Lock, jump.By = "", at(20)
				s.event(history.Expire, at(10.001))
			})},
			{contract.OneBeliever, false, overlapped(0, func(s *script) {
				jump := s.event(history.ClockJump, at(60)) // afterwards
				jump.Lock, jump.By = "", at(20)
				s.event(history.Expire, at(10.001))
			})},
			{contract.GhostIsGone, true, forgottenGhost("clock-jump", 1.5)},
			{contract.GhostIsGone, false, forgottenGhost("clock-jump", 1)},
			{contract.HolderNotRefused, true, refusedAfter("clock-jump", history.Layout{Absolute: true}, 1)},
			{contract.HolderNotRefused, false, refusedAfter("clock-jump", history.Layout{}, 1)},
			{contract.HolderNotRefused, false, refusedAfter("clock-jump", history.Layout{Absolute: true}, 9)}, // afterwards
		},
		"forgot-unread": {
			{contract.HolderNotRefused, true, refusedAfter("failover", history.Layout{Unknown: "no key shows it"}, 1)},
			{contract.HolderNotRefused, false, refusedAfter("failover", history.Layout{}, 1)},
			{contract.HolderNotRefused, true, strikingKeys(refusedAfter("overwrite-key", history.Layout{Unknown: "it is a zset"}, 1), 1)},
			{contract.HolderNotRefused, false, strikingKeys(refusedAfter("overwrite-key", history.Layout{Unknown: "it is a zset"}, 1), 0)},
			{contract.HolderNotRefused, false, refusedAfter("failover", history.Layout{Unknown: "no key shows it"}, 9)},
		},
		"counter-lost": {
			{contract.TokensIncrease, true, restarted(history.Restart, true)},
			{contract.TokensIncrease, false, restarted(history.Restart, false)},
			{contract.TokensIncrease, false, claiming(restarted(history.Restart, true), contract.TokensGoOn)},
		},
		"counter-lost-at-once": {
			{contract.TokensIncrease, true, flushedBetween(99 * time.Microsecond)},
			{contract.TokensIncrease, false, flushedBetween(100 * time.Microsecond)},
		},
		"counter-behind": {
			{contract.TokensIncrease, true, claiming(restarted(history.Failover, false), contract.TokensGoOn)},
			{contract.TokensIncrease, false, claiming(restarted(history.Leftover, false), contract.TokensGoOn)},
		},
		"token-kept": {
			{contract.TokensIncrease, true, keptToken("restart", 7)},
			{contract.TokensIncrease, true, keptToken("clock-jump", 7)},
			{contract.TokensIncrease, false, keptToken("", 7)},
			{contract.TokensIncrease, false, keptToken("delete-key", 7)}, // the server remembers the request
			{contract.TokensIncrease, false, keptToken("restart", 6)},    // it is not the token of its hold
			{contract.TokensIncrease, false, func() *script { // it was told of the loss
				s := keptToken("restart", 7)
				s.event(history.Lost, at(5)).Client = "c1"
				s.h.Events[len(s.h.Events)-1].Owner = "c1:1"
				return s
			}()},
			{contract.TokensIncrease, false, func() *script { // no copy took it
				s := keptToken("restart", 7)
				s.h.Served = nil
				return s
			}()},
		},
		"sent-again": {
			{contract.AtMostOnce, true, twiceExecuted("duplicate-message")},
			{contract.AtMostOnce, false, twiceExecuted("")},
			{contract.AtMostOnce, false, once(twiceExecuted("duplicate-message"))},
			{contract.AtMostOnce, true, sentAgainLater("c1#1")}, // long after, on the connection that was silenced
			{contract.AtMostOnce, false, sentAgainLater("c1#3")},
			{contract.FailedIsVoid, true, failedButTook("drop-message", 1)},
			{contract.FailedIsVoid, false, failedButTook("delay-message", 1)}, // it was sent once
			{contract.FailedIsVoid, true, failedButTook("delay-message", 6)},
			{contract.ToldTheTruth, true, copyOfRefused("duplicate-message", 7)},
			{contract.ToldTheTruth, false, copyOfRefused("", 7)},
			{contract.ToldTheTruth, false, once(copyOfRefused("duplicate-message", 7))},
		},
		"memory-lost": {
			{contract.AtMostOnce, true, func() *script {
				s := once(twiceExecuted("duplicate-message"))
				s.fault("restart", "", at(2.5), at(2.6)).Step = "none"
				return s
			}()},
			{contract.AtMostOnce, false, func() *script {
				s := once(twiceExecuted("duplicate-message"))
				s.fault("restart", "", at(2.5), at(2.6)).Step = "all"
				return s
			}()},
			{contract.AtMostOnce, true, tookAnew("failover", 1)},
			{contract.AtMostOnce, false, tookAnew("", 1)},
			{contract.AtMostOnce, false, tookAnew("slow-server", 1)}, // it remembers the request
		},
		"no-opportunity": {
			{contract.RenewedInTime, true, overlapped(0, stopped("partition", 5, 50))},
			{contract.RenewedInTime, false, overlapped(0, stopped("partition", 5, 6))},
			// A client that sends nothing again learns of each broken connection by a renewal that fails.
			{contract.RenewedInTime, true, overlapped(0, brokenConnections(3, true))},
			{contract.RenewedInTime, false, overlapped(0, brokenConnections(1, true))},
			{contract.RenewedInTime, false, overlapped(0, brokenConnections(3, false))},
		},
		"waiter-hindered": {
			{contract.FreeIsTaken, true, waited(at(30.002), func(s *script) { release(s); s.fault("drop-message", "c2", at(5), 0).On = "reply publish" })},
			{contract.FreeIsTaken, false, waited(at(60), func(s *script) { release(s); s.fault("drop-message", "c2", at(5), 0).On = "reply publish" })},
			{contract.FreeIsTaken, false, waited(at(30.002), func(s *script) { release(s); s.fault("drop-message", "c9", at(5), 0).On = "reply publish" })},
			{contract.FreeIsTaken, true, waited(at(6.8), func(s *script) { release(s); lostFor(s, "c2:2") })},
			{contract.FreeIsTaken, false, waited(at(12), func(s *script) { release(s); lostFor(s, "c2:2") })}, // the other one had given up
			{contract.FreeIsTaken, true, waited(at(11), func(s *script) { release(s); lostFor(s, "c2:1") })},
		},
		"unannounced": {
			{contract.FreeIsTaken, true, func() *script {
				s := newScript()
				s.take("c1:1", at(0), at(0.002), 0)
				s.take("c1:1", at(1), at(1.002), 5*sec) // it tells nobody
				s.take("c2:1", at(0.5), at(30.002), 0)
				s.event(history.Expire, at(6.001))
				op := &s.h.Ops[2]
				s.h.Served = append(s.h.Served, history.Served{At: at(0.6), Sent: at(0.599), Got: at(0.601), Client: "c2", Op: op.ID, Lock: job,
					Before: key("c1:1", 1, at(30)), After: key("c1:1", 1, at(30))})
				return s
			}()},
			{contract.FreeIsTaken, false, waited(at(30.002), release)},
			{contract.FreeIsTaken, true, overwrittenFor(0)},
			{contract.FreeIsTaken, false, overwrittenFor(at(6))}, // it was told of that end
		},
		"wake-up-taken": {
			{contract.FreeIsTaken, true, waited(at(20), func(s *script) { release(s); wakeTakenBy(s, at(2), "30", at(4)) })},
			{contract.FreeIsTaken, false, waited(at(35), func(s *script) { release(s); wakeTakenBy(s, at(2), "40", at(4)) })},   // it could have passed it on
			{contract.FreeIsTaken, false, waited(at(20), func(s *script) { release(s); wakeTakenBy(s, at(4.5), "30", at(4)) })}, // the waiter waits longer
			{contract.FreeIsTaken, false, waited(at(20), func(s *script) { release(s); wakeTakenBy(s, at(2), "2", at(4)) })},    // it waited no more
			{contract.FreeIsTaken, false, waited(at(20), func(s *script) { release(s); wakeTakenBy(s, at(2), "30", 0) })},       // it could act
			{contract.FreeIsTaken, false, waited(at(20), func(s *script) {
				s.event(history.Expire, at(5.001)) // and nobody sends a wake-up of that
				s.h.Ops[0].Lease, s.h.Ops[0].Watchdog = 5*sec, false
				wakeTakenBy(s, at(2), "30", at(4))
			})},
		},
		"request-lost": {
			{contract.Unsubscribed, true, stillSubscribed("drop-message", "c1")},
			{contract.Unsubscribed, false, stillSubscribed("drop-message", "c2")},
			{contract.Unsubscribed, false, stillSubscribed("duplicate-message", "c1")},
		},
		"renewed-late": {
			{contract.OneBeliever, true, renewedLate(9.8)},
			{contract.OneBeliever, false, claiming(renewedLate(9.8), contract.KeepsLongest)},
		},
		"lengthened-late": {
			{contract.NoRenewalAsked, true, lengthenedLate(9.8)},
			{contract.NoRenewalAsked, false, claiming(lengthenedLate(9.8), contract.KeepsLongest)},
			{contract.NoRenewalAsked, false, lengthenedLate(10.1)}, // it was sent for this hold
		},
		"late-write": {
			{contract.NoLostUpdate, true, func() *script {
				s := newScript()
				s.take("c1:1", at(0), at(0.002), 0)
				s.read("c1:1", at(1), 0)
				w := s.op("c1:1", history.Write, at(2), at(9), history.OK)
				w.Aside, w.Value = true, 1
				s.unlock("c1:1", at(3), history.Released)
				s.take("c2:1", at(4), at(4.002), 0)
				s.read("c2:1", at(5), 0)
				s.write("c2:1", at(6), 1)
				s.unlock("c2:1", at(7), history.Released)
				return s
			}()},
			{contract.NoLostUpdate, false, func() *script {
				s := newScript()
				s.take("c1:1", at(0), at(0.002), 0)
				s.read("c1:1", at(1), 0)
				s.unlock("c1:1", at(3), history.Released)
				s.take("c2:1", at(4), at(4.002), 0)
				s.read("c2:1", at(5), 0)
				s.write("c2:1", at(6), 1)
				s.unlock("c2:1", at(7), history.Released)
				s.write("c1:1", at(9), 1)
				return s
			}()},
		},
		"held-again": {
			{contract.HolderNotRefused, true, heldAgain(true, history.NotSent)},
			{contract.HolderNotRefused, false, heldAgain(false, history.NotSent)},
			{contract.HolderNotRefused, false, heldAgain(true, history.Executed)}, // a re-entrant lock's server knows its owner
			{contract.AnswerHasRoot, true, grantedAnew(true)},
			{contract.AnswerHasRoot, false, grantedAnew(false)},
			{contract.EffectIsThere, true, grantedUnchanged(true)},
			{contract.EffectIsThere, false, grantedUnchanged(false)},
			{contract.LeaseIsSet, true, leftWith(2)},
			{contract.LeaseIsSet, false, leftWith(0)},
		},
		"held-unheard": {
			{contract.HolderNotRefused, true, unheardHold(1, "duplicate-message", history.NotSent)},
			{contract.HolderNotRefused, false, unheardHold(1, "", history.NotSent)},
			{contract.HolderNotRefused, true, toldBusy("drop-message")},
			{contract.HolderNotRefused, false, toldBusy("")},
			{contract.HolderNotRefused, false, once(toldBusy("drop-message"))},
			{contract.HolderNotRefused, false, unheardHold(1, "duplicate-message", history.Executed)}, // a re-entrant lock's server knows its owner
			{contract.HolderNotRefused, false, unheardHold(2, "duplicate-message", history.NotSent)},  // it heard of one
			{contract.HolderNotRefused, false, once(unheardHold(1, "duplicate-message", history.NotSent))},
		},
		"lease-unheard": {
			{contract.LeaseIsSet, true, leftByCopies(2, "duplicate-message")},
			{contract.LeaseIsSet, false, leftByCopies(2, "")},
			{contract.LeaseIsSet, false, leftByCopies(1, "duplicate-message")}, // it heard of one
			{contract.LeaseIsSet, false, once(leftByCopies(2, "duplicate-message"))},
		},
		"not-told": {
			{contract.HolderNotRefused, true, unheardHold(0, "drop-message", history.NotSent)},
			{contract.HolderNotRefused, false, unheardHold(0, "", history.NotSent)},
			{contract.HolderNotRefused, false, unheardHold(0, "drop-message", history.Executed)},
			{contract.HolderNotRefused, false, claiming(unheardHold(0, "drop-message", history.NotSent), contract.TakesBack)},
			{contract.UnlockEndsHold, true, ghost("drop-message")},
			{contract.UnlockEndsHold, false, ghost("")},
			{contract.UnlockEndsHold, false, claiming(ghost("drop-message"), contract.TakesBack)},
		},
		"given-up": {
			{contract.HolderNotRefused, true, givenUpHold("context canceled")},
			{contract.HolderNotRefused, false, givenUpHold("EOF")},
			{contract.UnlockEndsHold, true, givenUpGhost()},
			{contract.UnlockEndsHold, false, claiming(givenUpGhost(), contract.TakesBack)},
		},
		"given-up-late": {
			{contract.OneBeliever, true, lateUnlock("context deadline exceeded")},
			{contract.OneBeliever, false, lateUnlock("EOF")},
			{contract.OneBeliever, false, claiming(lateUnlock("context deadline exceeded"), contract.TakesBack)},
		},
		"unlocked-late": {
			{contract.OneBeliever, true, answerLost(lateUnlock("EOF"))},
			{contract.OneBeliever, false, lateUnlock("EOF")},
			{contract.OneBeliever, false, claiming(answerLost(lateUnlock("EOF")), contract.TakesBack)},
		},
		"member-unlocked-late": {
			{contract.GrantHasMembers, true, memberGivenLate("drop-message", "EOF", at(1.5))},
			{contract.GrantHasMembers, false, memberGivenLate("", "EOF", at(1.5))},
			{contract.GrantHasMembers, false, memberGivenLate("drop-message", "EOF", at(2.5))}, // sent when its owner had called again
			{contract.GrantHasMembers, false, claiming(memberGivenLate("drop-message", "EOF", at(1.5)), contract.TakesBack)},
			{contract.GrantHasMembers, true, memberUnlockedLate("drop-message", "EOF")},
			{contract.GrantHasMembers, false, memberUnlockedLate("", "EOF")},
		},
		"member-given-up-late": {
			{contract.GrantHasMembers, true, memberGivenLate("", "context deadline exceeded", at(1.5))},
			{contract.GrantHasMembers, false, memberGivenLate("", "EOF", at(1.5))},
			{contract.GrantHasMembers, false, memberGivenLate("", "context deadline exceeded", at(2.5))},
			{contract.GrantHasMembers, false, claiming(memberGivenLate("", "context deadline exceeded", at(1.5)), contract.TakesBack)},
			{contract.GrantHasMembers, true, memberUnlockedLate("", "context deadline exceeded")},
			{contract.GrantHasMembers, false, claiming(memberUnlockedLate("", "context deadline exceeded"), contract.TakesBack)},
		},
		"refused-copy": {
			{contract.GhostIsGone, true, refusedGhost("LOADING Redis is loading the dataset in memory")},
			{contract.GhostIsGone, false, refusedGhost("NOSCRIPT No matching script")},
			{contract.GhostIsGone, true, sentOnce(1)},
			{contract.GhostIsGone, true, sentOnce(2)},
			{contract.GhostIsGone, false, sentTwice()},
		},
		"held-twice": {
			{contract.UnlockEndsHold, true, countedTwice("drop-message")},
			{contract.UnlockEndsHold, false, countedTwice("")},
			{contract.UnlockEndsHold, false, once(countedTwice("drop-message"))},
			{contract.FreshGets, true, keptByCopy("duplicate-message")},
			{contract.FreshGets, false, keptByCopy("")},
			{contract.FreshGets, false, once(keptByCopy("duplicate-message"))},
			{contract.CallsReturn, true, memberKeptByCopy("duplicate-message")},
			{contract.CallsReturn, false, memberKeptByCopy("")},
			{contract.CallsReturn, false, once(memberKeptByCopy("duplicate-message"))},
		},
	}
	for _, sides := range cases {
		for _, c := range sides { // somebody saw the server
			h := c.script.done()
			h.Served = slices.Insert(h.Served, 0, history.Served{At: at(0.0001), Client: "c1"})
		}
	}
	return cases
}

// A server that forgot explains the loss of a hold only of its own locks.
func TestOnlyTheLocksOwnServerForgets(t *testing.T) {
	for server, want := range map[string]contract.Class{"s1": contract.ServerLost, "s9": contract.KeyLost} {
		s := overlapped(0, func(s *script) {
			s.renewals("c1:1", 0, at(29))
			s.event(history.Restart, at(29.5)).Lock = ""
			fault := s.fault("restart", "", at(29.5), at(29.5))
			fault.Step, fault.Server = "none", server
			s.event(history.Delete, at(29.5))
		})
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: at(0.0005), Client: "c1", Op: s.h.Ops[0].ID, Lock: job, Server: "s1"})
		found := verdict(t, s).Result(contract.Exclusion).Violations
		if len(found) == 0 || found[0].Cause.Class != want {
			t.Errorf("%s forgot: %+v", server, found)
		}
	}
}

// Every rule is in the registry, once, and of a guarantee; and every row speaks of rules and claims that there are.
func TestTheTablesFitTogether(t *testing.T) {
	of := map[contract.Rule]contract.Guarantee{}
	for _, r := range contract.Rules() {
		if of[r.Rule] != "" {
			t.Errorf("rule %q is listed twice", r.Rule)
		}
		of[r.Rule] = r.Guarantee
	}
	var claims []contract.Claim
	for _, p := range contract.Promises() {
		claims = append(claims, p.Claim)
	}
	names := map[string]bool{}
	for _, e := range contract.Exemptions() {
		if names[e.Name] || e.Name == "" || e.Source == "" || e.Touched == "" || len(e.Classes) == 0 {
			t.Errorf("exemption %q: named twice, or something is missing", e.Name)
		}
		names[e.Name] = true
		for _, r := range e.Rules {
			if !slices.Contains(e.Guarantees, of[r]) {
				t.Errorf("exemption %s: rule %q is of %q", e.Name, r, of[r])
			}
		}
		if e.Unless != "" && !slices.Contains(claims, e.Unless) {
			t.Errorf("exemption %s: no lock can claim %q", e.Name, e.Unless)
		}
	}
}
