package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// overlapped is the story of most exemptions of exclusion: c1 believes that it holds the lock until 50 s, and c2 gets it
// at 31 s. How c1's hold ended on the server is the case's to say.
func overlapped(lease time.Duration, how func(s *script)) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), lease)
	how(s)
	s.take("c2:1", at(31), at(31.002), 0)
	s.renewals("c2:1", at(31), at(55))
	s.unlock("c1:1", at(50), history.NotHeld)
	s.unlock("c2:1", at(55), history.Released)
	return s
}

// takenAgain deletes the key under c1:1, which takes the lock once more for 100 ms, and is not told so. Its client has the answer at a
// time; 0: never.
func takenAgain(answered float64) func(s *script) {
	return func(s *script) {
		s.renewals("c1:1", 0, at(29))
		s.event(history.Delete, at(30))
		op := s.op("c1:1", history.TryLock, at(30.1), at(30.5), history.Unknown)
		op.Executed, op.Answer, op.Lease = at(30.2), history.Acquired, at(0.1)
		s.h.Served = append(s.h.Served, history.Served{At: op.Executed, Sent: at(30.19), Got: at(answered), Client: "c1", Op: op.ID, Owner: op.Owner, Lock: s.lock,
			Step: history.StepAcquire, Before: &history.KeyState{},
			After: &history.KeyState{Holdings: []history.Holding{{Owner: op.Owner, Count: 1}}, Deadline: at(30.3)}})
		s.event(history.Expire, at(30.3))
	}
}

// brokenConnections breaks so many connections of c1, whose lease ends then.
func brokenConnections(n int, noRetry bool) func(s *script) {
	return func(s *script) {
		if noRetry {
			s.h.Header.NoRetry = []string{"c1"}
		}
		for i := range n {
			s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Client: "c1", Conn: fmt.Sprint("c1#", i)})
		}
		s.fault("close-connection", "c1", at(1), 0)
		leaseEnds(s)
	}
}

// leaseEnds ends c1's first lease.
func leaseEnds(s *script) { s.event(history.Expire, at(30.001)) }

// lateUnlockAfter has an unlock of c1, which was not told, take effect late: c1's two holds have ended with their lease, and it
// has taken the lock again, so often.
func lateUnlockAfter(takes int) func(s *script) {
	return func(s *script) {
		s.take("c1:1", at(1), at(1.002), 10*sec)
		op := s.op("c1:1", history.Unlock, at(9), at(9.1), history.Unknown)
		op.Executed, op.Answer, op.Lease = at(15), history.Released, 10*sec
		s.event(history.Expire, at(11.001))
		for i := range takes {
			s.take("c1:1", at(12+float64(i)), at(12.002+float64(i)), 60*sec)
		}
	}
}

// claiming has the lock make a claim more.
func claiming(s *script, claims ...contract.Claim) *script {
	for _, c := range claims {
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(c))
	}
	return s
}

// once has the lock claim that requests take effect once.
func once(s *script) *script {
	s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Lock, history.TryLock, history.Unlock, history.ForceUnlock}}}
	return claiming(s, contract.Idempotent)
}

// twiceExecuted is an unlock that took effect, and once more 3 s later, in the hold that followed.
func twiceExecuted(fault string) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	op := s.op("c1:1", history.Unlock, at(1), at(1.1), history.Released)
	op.Repeats, op.Executed, op.Lease = 1, at(1.05), dog
	s.h.Served = append(s.h.Served,
		history.Served{At: at(1.05), Sent: at(1.01), Client: "c1", Op: op.ID, Lock: job, Before: key("c1:1", 1, at(30)), After: key("", 0, 0)},
		history.Served{At: at(4), Sent: at(1.01), Client: "c1", Op: op.ID, Lock: job, Before: key("c1:1", 1, at(32)), After: key("", 0, 0)})
	s.take("c1:1", at(2), at(2.1), 0)
	if fault != "" {
		s.fault(fault, "c1", at(1), at(4))
	}
	return s
}

// keptToken is a hold that the server forgets. Another takes the lock and gives it back, a copy of the first request takes it again, and
// then its owner does so, with a token. What has the server forget strikes at 2 s.
func keptToken(fault string, token int64) *script {
	s := once(claiming(newScript(), contract.Fences, contract.TokensGoOn))
	first := s.take("c1:1", at(0), at(0.002), 0)
	first.Token, first.Repeats = 7, 1
	s.event(history.Delete, at(2))
	s.take("c2:1", at(3), at(3.002), 0).Token = 8
	s.unlock("c2:1", at(4), history.Released)
	s.take("c1:1", at(7), at(7.002), 0).Token = token
	s.fault("duplicate-message", "c1", at(0), at(6))
	if fault != "" {
		f := s.fault(fault, "", at(2), at(2))
		if f.Step = "none"; fault == "delete-key" {
			f.Lock = job
		}
	}
	for _, when := range []time.Duration{first.Executed, at(6)} {
		s.h.Served = append(s.h.Served, history.Served{At: when, Sent: at(0.0005), Client: "c1", Owner: "c1:1", Op: first.ID, Lock: job, Step: history.StepAcquire,
			Before: key("", 0, 0), After: key("c1:1", 1, when+dog)})
	}
	return s
}

// tookAnew is a call that takes the lock at 2 s, and once more by a copy. Its client gives both back and takes the lock anew, so often. What
// has the server forget the request strikes between the first two.
func tookAnew(fault string, holds int64) *script {
	s := once(newScript())
	op := s.op("c1:1", history.TryLock, at(2), at(2.501), history.Acquired)
	op.Lease, op.Watchdog, op.Executed, op.Repeats = dog, true, at(2.5), 1
	id := op.ID
	aside := func(kind history.Kind, when float64, told history.Outcome) {
		o := s.op("c1:1", kind, at(when-0.001), at(when+0.001), told)
		o.Executed, o.Aside = at(when), true
	}
	aside(history.TryLock, 2.1, history.Acquired)
	s.h.Ops[len(s.h.Ops)-1].Lease = dog
	aside(history.Unlock, 2.4, history.Decremented)
	aside(history.Unlock, 2.4, history.Released)
	if fault == "failover" {
		s.event(history.Failover, at(2.2)).Lock = ""
	}
	if fault != "" {
		s.fault(fault, "", at(2.2), at(2.2))
	}
	now := history.KeyState{}
	for _, row := range []struct {
		at    float64
		sent  float64
		id    int64
		holds int64
	}{{2.1, 2, 1, 1}, {2.3, 2.25, 1, 2}, {2.4, 2.35, 2, 0}, {2.5, 2.45, 3, holds}} {
		before, after, got := now, history.KeyState{}, at(row.at)+lat
		if row.holds > 0 {
			after = *key("c1:1", row.holds, at(row.at)+dog)
		}
		if now = after; row.at == 2.1 {
			got = 0 // the answer was lost
		}
		s.h.Served = append(s.h.Served, history.Served{At: at(row.at), Sent: at(row.sent), Got: got, Client: "c1", Owner: "c1:1", Op: id, Lock: job, Request: row.id,
			Step: history.StepAcquire, Before: &before, After: &after})
	}
	s.unlock("c1:1", at(5), history.Released)
	return s
}

// waited is a waiter that takes a lock which became free at 5 s only at taken.
func waited(taken time.Duration, how func(s *script)) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.take("c2:1", at(1), taken, 0)
	how(s)
	s.unlock("c2:1", taken+sec, history.Released)
	return s
}

// lostFor loses the request of an owner's call at 5 s, at which another call of the client waits. An owner that has none tries until 5.9 s.
func lostFor(s *script, owner string) {
	i := slices.IndexFunc(s.h.Ops, func(op history.Op) bool { return op.Owner == owner })
	if i < 0 {
		i = len(s.h.Ops)
		op := s.op(owner, history.TryLock, at(2), at(5.9), history.Busy)
		op.Wait, op.Executed = at(3.9), at(2.001)
	}
	lost := s.fault("drop-message", clientOf(owner), at(5), 0)
	lost.On, lost.Op = "request acquire", s.h.Ops[i].ID
}

// ghost is an acquire that took effect without its owner's knowing, in a hold that it gives back.
func ghost(fault string) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	op := s.op("c1:1", history.TryLock, at(1), at(3), history.Unknown)
	op.Answer, op.Executed, op.Lease, op.Watchdog = history.Acquired, at(1.5), dog, true
	s.renew("c1:1", at(10), history.Renewed)
	s.unlock("c1:1", at(12), history.Decremented)
	s.event(history.Expire, at(42.001))
	if fault != "" {
		s.fault(fault, "c1", at(1.5), 0)
	}
	return s
}

// refusedAfter is the refused unlock of a holder, at 6 s, of a lock that is kept in some way, with a fault at some second.
func refusedAfter(fault string, layout history.Layout, struck float64) *script {
	s := newScript()
	s.h.Header.Layout = layout
	s.take("c1:1", at(2), at(2.002), 30*sec)
	s.unlock("c1:1", at(6), history.NotHeld)
	s.unlock("c1:1", at(8), history.Released)
	s.fault(fault, "", at(struck), at(struck))
	return s
}

// strikingKeys has the last fault strike so many keys of the lock.
func strikingKeys(s *script, keys int) *script {
	fault := &s.h.Faults[len(s.h.Faults)-1]
	fault.Lock, fault.Hits = job, keys
	return s
}

// unheardHold is an unlock that refuses an owner at 6 s. By then the owner has been told of so many grants, and has given
// the first back; what it holds was taken by a copy of that at 3 s, or by a call that was not answered.
func unheardHold(told int, fault string, asked history.Evidence) *script {
	s := newScript()
	op := s.take("c1:1", at(1), at(1.1), 30*sec)
	op.Executed = at(1.05)
	if told == 0 {
		op.Outcome, op.Return, op.Answer = history.Unknown, at(3.1), history.Acquired
	} else {
		op.Repeats = 1
		s.h.Served = append(s.h.Served,
			history.Served{At: at(1.05), Sent: at(1.01), Got: at(1.1), Client: "c1", Op: op.ID, Request: 1, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(31.05))},
			history.Served{At: at(3), Sent: at(1.01), Client: "c1", Op: op.ID, Request: 1, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(33))})
		s.unlock("c1:1", at(2), history.Released)
	}
	if told == 2 {
		s.take("c1:1", at(4), at(4.1), 40*sec)
	}
	refused := s.unlock("c1:1", at(6), history.NotHeld)
	if refused.Evidence = asked; asked == history.NotSent {
		refused.Executed, refused.Answer, refused.Return = 0, "", refused.Call
	}
	s.event(history.Expire, at(70)).At = map[bool]time.Duration{false: at(33.001), true: at(44.1)}[told == 2]
	if told == 0 {
		s.h.Events[len(s.h.Events)-1].At = at(31.051)
	}
	if fault != "" {
		s.fault(fault, "c1", at(1.02), 0)
	}
	return s
}

// heldAgain is a hold that was given back, and that a replica has again when its owner gives back the next one.
func heldAgain(restored bool, asked history.Evidence) *script {
	s := newScript()
	s.take("c1:1", at(1), at(1.1), 30*sec)
	if restored {
		s.unlock("c1:1", at(2), history.Released)
		s.take("c1:1", at(3), at(3.1), 30*sec)
		s.event(history.Failover, at(4))
		s.event(history.Delete, at(4.001))
		back := s.event(history.Restore, at(4.002))
		back.Owner, back.Count, back.Deadline = "c1:1", 1, at(31.05)
	}
	refused := s.unlock("c1:1", at(6), history.NotHeld)
	if refused.Evidence = asked; asked == history.NotSent {
		refused.Executed, refused.Answer, refused.Return = 0, "", refused.Call
	}
	s.event(history.Expire, at(31.051))
	return s
}

// grantedAnew is a grant that no command made, of a lock that a replica has again for its owner, or that nobody has.
func grantedAnew(restored bool) *script {
	s := newScript()
	s.take("c1:1", at(1), at(1.1), 30*sec)
	s.unlock("c1:1", at(2), history.Released)
	if restored {
		s.event(history.Failover, at(4))
		back := s.event(history.Restore, at(4.002))
		back.Owner, back.Count, back.Deadline = "c1:1", 1, at(31.05)
	}
	op := s.take("c1:1", at(6), at(6.1), 30*sec)
	op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
	return s
}

// grantedUnchanged is the same, where the server executed the call, and the key is as it was.
func grantedUnchanged(restored bool) *script {
	s := grantedAnew(restored)
	is := key("", 0, 0)
	if restored {
		is = key("c1:1", 1, at(31.05))
	}
	s.served(&s.h.Ops[2], at(6.05), is, is)
	return s
}

// toldBusy is a hold whose owner was told what a copy of its request found.
func toldBusy(fault string) *script {
	s := unheardHold(0, fault, history.NotSent)
	s.h.Ops[0].Outcome = history.Busy
	return s
}

// givenUpHold is a hold that its owner was not told of, and cannot give back, with the error that it got.
func givenUpHold(err string) *script {
	s := unheardHold(0, "", history.NotSent)
	s.h.Ops[0].Error = err
	return s
}

// givenUpGhost is a ghost whose caller gave the call up.
func givenUpGhost() *script {
	s := ghost("")
	s.h.Ops[1].Error = "TryLock by c1:1: context deadline exceeded"
	return s
}

// refusedGhost is an acquire whose caller was told what the server answered to one copy of it; it executed another.
func refusedGhost(reply string) *script {
	s := claiming(newScript(), contract.TakesBack)
	op := s.op("c1:1", history.Lock, at(1), at(1.01), history.Failed)
	op.Answer, op.Evidence, op.Executed, op.Lease, op.Watchdog = history.Acquired, history.Executed, at(1.1), dog, true
	s.h.Served = append(s.h.Served,
		history.Served{At: at(1.005), Sent: at(1.001), Got: at(1.01), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("", 0, 0), Reply: reply},
		history.Served{At: at(1.1), Sent: at(1.001), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(31.1))})
	s.event(history.Expire, at(31.101))
	return s
}

// sentOnce is a refused ghost of which the network made the copy, or whose client made two requests, of which the second was executed.
func sentOnce(request int64) *script {
	s := refusedGhost("BUSY Redis is busy running a script")
	s.h.Served[0].Request, s.h.Served[1].Request = 1, request
	if request == 2 {
		s.h.Served[1].Sent = at(1.0005)
	}
	return s
}

// sentTwice is a refused ghost whose client had sent that request before, and heard nothing: it knew that it had.
func sentTwice() *script {
	s := sentOnce(1)
	s.h.Served[1].Sent = at(1.0005)
	return s
}

// forgottenGhost is an acquire whose client gave it back at 1.2 s, before its request came at 2 s. The server forgets it
// at some second.
func forgottenGhost(fault string, lost float64) *script {
	s := claiming(newScript(), contract.TakesBack)
	op := s.op("c1:1", history.Lock, at(0.5), at(0.9), history.Unknown)
	op.Answer, op.Evidence, op.Executed, op.Lease, op.Watchdog = history.Acquired, history.Executed, at(2), dog, true
	s.h.Served = append(s.h.Served,
		history.Served{At: at(1.2), Sent: at(1.1), Got: at(1.3), Client: "c1", Owner: "c1:1", Step: history.StepRelease, Lock: job,
			Before: key("", 0, 0), After: key("", 0, 0), Reply: "-1"},
		history.Served{At: at(2), Sent: at(0.5), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(32))})
	s.fault(fault, "", at(lost), at(lost)).Step = "none"
	s.event(history.Expire, at(32.001))
	return s
}

// keptByCopy is a hold that a copy of an acquire took, and that its client, which gave back the other, renews to the end.
func keptByCopy(fault string) *script {
	s := newScript()
	s.event(history.Healed, at(100)).Lock = ""
	op := s.take("c1:1", at(90), at(90.1), 0)
	op.Executed, op.Repeats = at(90.05), 1
	row := history.Served{At: at(90.05), Sent: at(90.01), Client: "c1", Owner: "c1:1", Op: op.ID, Request: 1, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(120.05))}
	again := row
	again.At, again.Before, again.After = at(90.07), key("c1:1", 1, at(120.05)), key("c1:1", 2, at(120.07))
	s.unlock("c1:1", at(95), history.Decremented)
	renewed := row
	renewed.At, renewed.Op, renewed.Request, renewed.Before, renewed.After = at(110), 0, 9, key("c1:1", 1, at(120.07)), key("c1:1", 1, at(140))
	s.h.Served = append(s.h.Served, row, again, renewed)
	s.renew("c1:1", at(110), history.Renewed)
	s.tries(at(117), at(118), history.Busy)
	if fault != "" {
		s.fault(fault, "c1", at(90.06), 0)
	}
	return s
}

// lateUnlock is an unlock that ends in an error, and is executed when its owner has locked again.
func lateUnlock(err string) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.unlock("c1:1", at(1), history.Released)
	op := s.op("c1:1", history.Unlock, at(1.5), at(1.502), history.Unknown)
	op.Error, op.Evidence, op.Executed, op.Answer = err, history.Executed, at(5), history.Released
	s.take("c1:1", at(2), at(2.002), 0)
	s.take("c2:1", at(6), at(6.002), 0)
	return s
}

// answerLost has a connection of the client break during the unlock at 1.5 s.
func answerLost(s *script) *script {
	s.fault("drop-message", "c1", at(1.501), 0)
	return s
}

// countedTwice is an acquire that was counted twice, so that an unlock leaves one hold.
func countedTwice(fault string) *script {
	s := newScript()
	op := s.take("c1:1", at(0), at(5.2), 0)
	op.Executed, op.Repeats = at(0.1), 1
	s.h.Served = append(s.h.Served,
		history.Served{At: at(0.1), Sent: at(0.01), Client: "c1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(30.1))},
		history.Served{At: at(5.1), Sent: at(5), Client: "c1", Op: op.ID, Lock: job, Before: key("c1:1", 1, at(30.1)), After: key("c1:1", 2, at(35.1))})
	s.unlock("c1:1", at(7), history.Decremented)
	s.event(history.Expire, at(37.001))
	if fault != "" {
		s.fault(fault, "c1", at(0.1), 0)
	}
	return s
}

// copyOfRefused is a tryLock that is refused while another holds the lock. A command, of a copy of its request, or of another, takes the lock later.
func copyOfRefused(fault string, request int64) *script {
	s := newScript()
	row := func(op *history.Op, request int64, before, after *history.KeyState) {
		s.h.Served = append(s.h.Served, history.Served{At: op.Executed, Sent: at(2), Client: op.Client, Owner: op.Owner, Op: op.ID, Request: request, Lock: job,
			Step: history.StepAcquire, Before: before, After: after})
	}
	op := s.take("c2:1", at(1), at(1.002), 0)
	row(op, 1, key("", 0, 0), key("c2:1", 1, op.Executed+op.Lease))
	held := key("c2:1", 1, op.Executed+op.Lease)
	op = s.op("c1:1", history.TryLock, at(2), at(2.002), history.Busy)
	row(op, 7, held, held)
	op = s.unlock("c2:1", at(3), history.Released)
	row(op, 2, held, key("", 0, 0))
	op = s.op("c1:1", history.Lock, at(2), 0, "")
	op.Aside, op.Lease, op.Evidence, op.Executed, op.Answer = true, 5*sec, history.Executed, at(4), history.Acquired
	row(op, request, key("", 0, 0), key("c1:1", 1, at(9)))
	s.event(history.Expire, at(9))
	if fault != "" {
		s.fault(fault, "c1", at(2), at(4))
	}
	return s
}

// leftByCopies is an unlock, at 6 s, that leaves a hold with the lease of another. Its owner's key is deleted, and so many of its two holds
// are copies that took it since.
func leftByCopies(copies int, fault string) *script {
	s := newScript()
	row := func(op *history.Op, when float64, before, after *history.KeyState) {
		s.h.Served = append(s.h.Served, history.Served{At: at(when), Sent: op.Call, Got: op.Return, Client: "c1", Owner: "c1:1", Op: op.ID, Request: op.ID, Lock: job,
			Step: history.StepAcquire, Before: before, After: after})
	}
	s.take("c1:1", at(1), at(1.1), 10*sec)
	s.take("c1:1", at(1.2), at(1.3), 20*sec)
	first, second := &s.h.Ops[0], &s.h.Ops[1]
	first.Executed, second.Executed = at(1.05), at(1.25)
	row(first, 1.05, key("", 0, 0), key("c1:1", 1, at(11.05)))
	row(second, 1.25, key("c1:1", 1, at(11.05)), key("c1:1", 2, at(21.25)))
	s.event(history.Delete, at(2)).Note = "deleted from outside"
	s.fault("delete-key", "", at(2), at(2)).Lock = job
	if copies == 2 {
		first.Repeats, second.Repeats = 1, 1
		row(first, 3, key("", 0, 0), key("c1:1", 1, at(13)))
		row(second, 4, key("c1:1", 1, at(13)), key("c1:1", 2, at(24)))
	} else {
		second.Repeats = 1
		row(second, 3, key("", 0, 0), key("c1:1", 1, at(23)))
		anew := s.take("c1:1", at(3.9), at(4.1), 20*sec)
		anew.Executed = at(4)
		row(anew, 4, key("c1:1", 1, at(23)), key("c1:1", 2, at(24)))
	}
	op := s.unlock("c1:1", at(6), history.Decremented)
	op.Executed, op.Lease = at(6.001), 10*sec
	row(op, 6.001, key("c1:1", 2, at(24)), key("c1:1", 1, at(36.001)))
	s.h.Served[len(s.h.Served)-1].Step = history.StepRelease
	s.event(history.Expire, at(36.001))
	if fault != "" {
		s.fault(fault, "c1", at(1.02), at(4))
	}
	return s
}

// leftWith is the unlock, at 6 s, that leaves a hold with the lease of another. A replica has brought back so many holds of its owner,
// who knows of one; 0: none was brought back, and it knows of two.
func leftWith(restored int64) *script {
	s := newScript()
	s.take("c1:1", at(1), at(1.1), 30*sec)
	before := int64(2)
	if restored > 0 {
		before = restored
		s.event(history.Failover, at(4))
		back := s.event(history.Restore, at(4.002))
		back.Owner, back.Count, back.Deadline = "c1:1", restored, at(31.05)
		s.fault("failover", "", at(4), at(4))
	} else {
		s.take("c1:1", at(2), at(2.1), 30*sec)
	}
	op := s.unlock("c1:1", at(6), history.Decremented)
	op.Lease = 5 * sec
	s.served(op, op.Executed, key("c1:1", before, at(32)), key("c1:1", before-1, op.Executed+30*sec))
	return s
}

// memberKeptByCopy is a call on a group of which a copy of a request keeps a member to the end, so that the call does not return.
func memberKeptByCopy(fault string) *script {
	s := newGroupScript(history.Multi, "a", "b")
	s.lock = "a"
	took := s.take("y:1", at(1), at(1.1), 0)
	took.Executed, took.Repeats = at(1.05), 1
	s.set(took, "a", at(1.05), 1, at(31))
	s.set(took, "a", at(1.07), 2, at(31))
	for i := range s.h.Served {
		s.h.Served[i].Request = 1
	}
	unlock := s.unlock("y:1", at(2), history.Released)
	s.set(unlock, "a", at(2.001), 1, at(32))
	renewal := s.renew("y:1", at(11), history.Renewed)
	s.set(renewal, "a", at(11.001), 1, at(100))
	s.lock = "all"
	op := s.op("x:1", history.Lock, at(5), 0, "")
	op.Lease, op.Watchdog, op.Evidence, op.Executed, op.Answer = dog, true, history.Sent, 0, ""
	s.h.End = &history.End{At: at(60)}
	if fault != "" {
		s.fault(fault, "y", at(1.06), at(1.07))
	}
	return s.script
}

// memberGivenLate is a group granted at 3 s of which its owner's client takes a back, for an attempt that failed before, by a request of
// the background that was sent at a time.
func memberGivenLate(fault, err string, sent time.Duration) *script {
	s := newGroupScript(history.Multi, "a", "b")
	failed := s.op("x:1", history.Lock, at(0.5), at(1), history.Unknown)
	failed.Lease, failed.Watchdog, failed.Evidence, failed.Error = dog, true, history.Sent, err
	op := s.take("x:1", at(2), at(3), 0)
	s.set(op, "a", at(2.1), 1, at(32.1))
	s.set(op, "a", at(2.6), 0, 0)
	gives := &s.h.Served[len(s.h.Served)-1]
	gives.Op, gives.Step, gives.Sent, gives.Request = 0, history.StepRelease, sent, 9
	s.set(op, "b", at(2.9), 1, at(32.9))
	if fault != "" {
		s.fault(fault, "x", at(0.6), at(0.6))
	}
	return s.script
}

// memberUnlockedLate is a group granted at 3 s of which an unlock takes a back that ended unknown before. What another call before took of a, later
// too, its client gives back.
func memberUnlockedLate(fault, err string) *script {
	s := newGroupScript(history.Multi, "a", "b")
	s.op("x:1", history.Unlock, at(0.5), at(1), history.Unknown)
	s.op("x:1", history.TryLock, at(1.1), at(1.2), history.Unknown)
	for i := range s.h.Ops {
		s.h.Ops[i].Evidence, s.h.Ops[i].Error = history.Sent, err
	}
	unlock, failed := s.h.Ops[0], s.h.Ops[1]
	op := s.take("x:1", at(2), at(3), 0)
	s.set(op, "a", at(2.1), 1, at(32.1))
	s.set(&unlock, "a", at(2.2), 0, 0)
	s.h.Served[len(s.h.Served)-1].Sent = at(0.9)
	s.set(&failed, "a", at(2.3), 1, at(32.3))
	s.h.Served[len(s.h.Served)-1].Sent = at(1.15)
	s.set(op, "a", at(2.6), 0, 0)
	gives := &s.h.Served[len(s.h.Served)-1]
	gives.Op, gives.Step, gives.Sent, gives.Request = 0, history.StepRelease, at(2.5), 9
	s.set(op, "b", at(2.9), 1, at(32.9))
	if fault != "" {
		s.fault(fault, "x", at(0.6), at(0.6))
	}
	return s.script
}

// stillSubscribed is a client that is subscribed long after its unlock, and a fault at a client long before.
func stillSubscribed(fault, client string) *script {
	s := newScript()
	claiming(s, contract.Unsubscribes).h.Header.Unsubscribed = sec
	s.take("c1:1", at(1), at(1.002), 0)
	s.unlock("c1:1", at(2), history.Released)
	s.fault(fault, client, at(0.5), at(0.5))
	e := s.event(history.Listening, at(20))
	e.Lock, e.Client, e.Note = "", "c1", "redisson_lock__channel:{"+job+"}"
	return s
}
