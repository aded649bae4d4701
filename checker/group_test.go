package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func TestGroupRules(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  string
		write func(s *groupScript)
		rules []contract.Rule // that are broken, by the guarantees in their order
	}{
		{"taken, entered again and given back", history.Multi, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.02), 1, at(10.02))
			s.set(op, "b", at(0.099), 1, at(10.099))
			op.Lease, op.Asked = at(9.921), 10*sec
			op = s.take("x:1", at(1), at(1.1), 10*sec)
			s.set(op, "a", at(1.02), 2, at(11.02))
			s.set(op, "b", at(1.099), 2, at(11.099))
			op.Lease, op.Asked = at(9.921), 10*sec
			op = s.op("x:1", history.Unlock, at(2), at(2.1), history.Decremented)
			s.set(op, "a", at(2.02), 1, at(12.02))
			s.set(op, "b", at(2.099), 1, at(12.099))
			op.Lease = at(9.921)
			op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
			s.set(op, "b", at(3.099), 0, 0)
		}, nil},
		{"granted without b", history.Multi, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.099), 1, at(10.099))
		}, []contract.Rule{contract.GrantHasMembers}},
		{"a quorum of three is two", history.Red, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.05), 1, at(10.05))
			s.set(op, "c", at(0.099), 1, at(10.099))
		}, nil},
		{"a quorum of three is not one", history.Red, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "c", at(0.099), 1, at(10.099))
		}, []contract.Rule{contract.GrantHasMembers}},
		{"a's lease is over when b's answer comes", history.Multi, func(s *groupScript) {
			s.takesSlowly()
		}, []contract.Rule{contract.ValidityLeft}},
		{"a's lease is over when b's answer comes, but was renewed meanwhile", history.Multi, func(s *groupScript) {
			s.takesSlowly()
			s.renewed(at(2.3))
		}, nil},
		{"a's lease is over when b's answer comes, and the answer to its renewal comes later", history.Multi, func(s *groupScript) {
			s.takesSlowly()
			s.renewed(at(2.6))
		}, []contract.Rule{contract.ValidityLeft}},
		{"and so it would be if its client was paused, of which no lock knows", history.Multi, func(s *groupScript) {
			s.takesSlowly()
			s.fault("pause-client", "x", at(0.2), at(2.4))
		}, []contract.Rule{"assumed: " + contract.ValidityLeft}},
		{"b has another lease", history.Multi, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.05), 1, at(10.05))
			s.set(op, "b", at(0.099), 1, at(30.099))
		}, []contract.Rule{contract.MemberLease}},
		{"entered again on a only", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.take("x:1", at(1), at(1.1), 10*sec)
			s.set(op, "a", at(1.099), 2, at(11.099))
		}, []contract.Rule{contract.ReentryCounts}},
		{"granted, while its client gives a back that an earlier call took late", history.Multi, func(s *groupScript) {
			s.takenLateAndGivenBack(1)
		}, nil},
		{"granted, while its client gives more of a back than an earlier call took late", history.Multi, func(s *groupScript) {
			s.takenLateAndGivenBack(0)
		}, []contract.Rule{contract.GrantHasMembers}},
		{"refused, and a given back", history.Multi, func(s *groupScript) {
			other := s.take("y:1", 0, at(0.1), 60*sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(60.099))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.set(op, "a", at(1.09), 0, 0)
		}, nil},
		{"refused, and a kept", history.Multi, func(s *groupScript) {
			other := s.take("y:1", 0, at(0.1), 60*sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(60.099))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
		}, []contract.Rule{contract.AllOrNone}},
		{"a kept for no longer than its lease, since the giving back was lost", history.Multi, func(s *groupScript) {
			other := s.take("y:1", 0, at(0.1), 60*sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(60.099))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.fault("drop-message", "x", at(1.06), at(1.08))
		}, nil},
		{"given up after a's grant was answered, and a kept", history.Multi, func(s *groupScript) {
			s.givenUp()
		}, []contract.Rule{contract.AllOrNone}},
		{"given up before a's answer came, and a kept for no longer than its lease", history.Multi, func(s *groupScript) {
			s.givenUp()
			s.h.Served[1].Got = 0
		}, nil},
		{"given up, and a kept for its lease, since the message that gives it back is lost", history.Multi, func(s *groupScript) {
			s.givenUp()
			s.fault("drop-message", "x", at(1.06), at(1.08))
		}, nil},
		{"given up, and a kept for its lease, though what gives it back is only late", history.Multi, func(s *groupScript) {
			s.givenUp()
			s.fault("delay-message", "x", at(1.06), at(1.08))
		}, []contract.Rule{contract.AllOrNone}},
		{"refused, while a copy of an earlier call takes a, which was sent before", history.Multi, func(s *groupScript) {
			s.takenOnce(at(0.25))
		}, nil},
		{"refused, and a taken meanwhile, by what may be a command of an earlier call, too", history.Multi, func(s *groupScript) {
			s.takenOnce(at(1.04))
		}, []contract.Rule{contract.AllOrNone}},
		{"refused for no reason", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.set(op, "a", at(1.09), 0, 0)
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"a shorter lease in a group that its owner has given back, as it takes it", history.Multi, func(s *groupScript) {
			s.shorter(true)
		}, nil},
		{"a shorter lease in a group that its owner has", history.Multi, func(s *groupScript) {
			s.shorter(false)
		}, []contract.Rule{contract.MemberLease}},
		{"refused, and a kept that its owner's hold had lost", history.Multi, func(s *groupScript) {
			s.refusedWithin(true)
		}, nil},
		{"refused, and a kept, of which its owner's hold had one", history.Multi, func(s *groupScript) {
			s.refusedWithin(false) // so that its unlock leaves one, too
		}, []contract.Rule{contract.AllOrNone, "assumed: " + contract.UnlockEndsHold}},
		{"what is left is another hold, of a lock that is not re-entrant", history.Multi, func(s *groupScript) {
			claiming(s.script, contract.TakesBack)
			s.leavesOne()
			s.h.Served[len(s.h.Served)-1].Before = s.h.Served[len(s.h.Served)-1].After
		}, nil},
		{"b not given back by an inner unlock, whose message is lost, by a lock that takes nothing back", history.Multi, func(s *groupScript) {
			s.innerUnlock()
			s.fault("drop-message", "x", at(2.01), at(2.05))
		}, nil},
		{"b not given back by an inner unlock, whose message is lost, by a lock that takes such things back", history.Multi, func(s *groupScript) {
			claiming(s.script, contract.TakesBack)
			s.innerUnlock()
			s.fault("drop-message", "x", at(2.01), at(2.05))
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"a re-entry that sets b's lease anew as long as it was", history.Multi, func(s *groupScript) { s.reenters(10) }, nil},
		{"a re-entry that sets b's lease longer than anybody has asked for", history.Multi, func(s *groupScript) { s.reenters(11) }, []contract.Rule{contract.MemberLease}},
		{"c not given back by an unlock before, of two of which one is lost, by a lock that takes nothing back", history.Red, func(s *groupScript) {
			s.untoldBefore(true)
		}, nil},
		{"c not given back by an unlock before, of the only hold, by a lock that takes nothing back", history.Red, func(s *groupScript) {
			s.untoldBefore(false)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b not given back by an inner unlock that is given up, and is the last that its owner does", history.Multi, func(s *groupScript) {
			op := s.innerUnlock()
			op.Outcome, op.Cancel, op.Error = history.Unknown, at(0.1), "context deadline exceeded"
		}, nil},
		{"b not given back by an unlock that is given up, which has an outer hold that lost a", history.Multi, func(s *groupScript) {
			s.toldEarly(false)
		}, nil},
		{"b not given back by an unlock that is given up, and no outer hold of it is left", history.Multi, func(s *groupScript) {
			s.toldEarly(true)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b not given back by an unlock that is given up, of a grant that its owner was told is lost, and has to give back yet", history.Multi, func(s *groupScript) {
			s.toldEarly(true)
			s.event(history.Lost, at(0.6)).Owner = "x:1"
		}, nil},
		{"b refused to be given back, of a client that counts a hold that was lost before", history.Multi, func(s *groupScript) {
			s.refusedBack(true)
		}, nil},
		{"b refused to be given back, and kept by renewals all the same", history.Multi, func(s *groupScript) {
			s.refusedBack(false)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b refused to be given back, of a client that would know that it lost a hold", history.Multi, func(s *groupScript) {
			claiming(s.script, contract.TakesBack)
			s.refusedBack(true)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b forgotten by an inner unlock", history.Multi, func(s *groupScript) {
			s.innerUnlock()
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b forgotten by an unlock", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"b forgotten, and taken again at once", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
			op = s.take("x:1", at(3.2), at(3.3), 10*sec)
			op.Lock = "b"
			s.set(op, "b", at(3.25), 2, at(13.25))
		}, nil},
		{"told that it holds nothing, with one of two given back", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.NotHeld)
			s.set(op, "a", at(3.02), 0, 0) // after which it gives them back all the same
			op = s.op("x:1", history.Unlock, at(5), at(5.1), history.NotHeld)
			s.set(op, "b", at(5.2), 0, 0)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"told that it holds nothing while it does", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.NotHeld)
			s.set(op, "a", at(3.2), 0, 0)
			s.set(op, "b", at(3.2), 0, 0)
		}, []contract.Rule{contract.NotHeldIsTrue}},
		{"told released, and had nothing", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
		}, []contract.Rule{contract.HolderHasEnough}},
		{"told released, and one hold is left of two", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.take("x:1", at(1), at(1.1), 10*sec)
			s.set(op, "a", at(1.05), 2, at(11.05))
			s.set(op, "b", at(1.099), 2, at(11.099))
			op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 1, at(11.05))
			s.set(op, "b", at(3.03), 1, at(11.099))
		}, []contract.Rule{contract.OneHoldAnUnlock}},
		{"told released for the last time, and one hold of b is left, as its answer says", history.Multi, func(s *groupScript) {
			claiming(s.script, contract.TakesBack)
			s.leavesOne()
		}, []contract.Rule{contract.UnlockEndsHold}},
		{"and that is known of a lock that takes nothing back", history.Multi, func(s *groupScript) {
			s.leavesOne()
		}, []contract.Rule{"assumed: " + contract.UnlockEndsHold}},
		{"one hold of b is left, and is given back at once", history.Multi, func(s *groupScript) {
			op := *s.leavesOne()
			op.ID = 0
			s.set(&op, "b", at(3.5), 0, 0)
		}, nil},
		{"one hold of b is left, of which the answer came later", history.Multi, func(s *groupScript) {
			s.leavesOne()
			s.h.Served[len(s.h.Served)-1].Got = at(3.2)
		}, nil},
		{"one hold of b is left, which its owner has by itself", history.Multi, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.01), 10*sec)
			op.Lock = "b"
			s.set(op, "b", at(0.005), 1, at(10.005))
			op = s.take("x:1", at(1), at(1.1), 10*sec)
			s.set(op, "a", at(1.05), 1, at(11.05))
			s.set(op, "b", at(1.099), 2, at(11.099))
			op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
			s.set(op, "b", at(3.03), 1, at(13.03))
		}, nil},
		{"one hold of b is left, since a's first was over, and its owner has another unlock to call", history.Multi, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), at(0.9))
			s.set(op, "a", at(0.05), 1, at(0.95))
			s.set(op, "b", at(0.099), 1, at(0.999))
			op = s.take("x:1", at(0.96), at(0.99), 10*sec)
			s.set(op, "a", at(0.97), 1, at(10.97))
			s.set(op, "b", at(0.98), 2, at(10.98))
			op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
			s.set(op, "a", at(3.02), 0, 0)
			s.set(op, "b", at(3.03), 1, at(13.03))
		}, nil},
		{"took longer than its lease, and b is kept, though its server was slow only until then", history.Multi, func(s *groupScript) {
			s.elapsed()
			s.fault("slow-server", "x", at(0.1), at(6))
		}, []contract.Rule{contract.AllOrNone}},
		{"took longer than its lease, and b is kept for its lease, while its server is slow", history.Multi, func(s *groupScript) {
			s.elapsed()
			s.fault("slow-server", "x", at(0.1), at(6.05))
		}, nil},
		{"took longer than its lease, and b is kept for its lease, since other connections were broken", history.Multi, func(s *groupScript) {
			s.elapsed()
			s.fault("close-connection", "x", at(5), at(5))
		}, nil},
		{"told decremented, and nothing is left", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Decremented)
			s.set(op, "a", at(3.02), 0, 0)
			s.set(op, "b", at(3.03), 0, 0)
		}, []contract.Rule{contract.OneHoldAnUnlock}},
		{"an inner unlock that gives the outer hold of a back, of which its client had taken the inner one back", history.Red, func(s *groupScript) {
			s.keepsOuter(true, 0)
		}, []contract.Rule{contract.OneHoldAnUnlock}},
		{"an inner unlock that gives the only hold of a back, since another owner of the client had forced a free", history.Red,
			func(s *groupScript) { s.forcedBetween("x:2") }, nil},
		{"an inner unlock that gives the outer hold of a back, of which its client had taken one back in between", history.Red, func(s *groupScript) {
			s.forcedBetween("x:1")
		}, []contract.Rule{contract.OneHoldAnUnlock}},
		{"b left by an unlock that is given up, by a client that dies then", history.Multi, func(s *groupScript) {
			s.leftByTheDead(at(2.2))
		}, nil},
		{"b left by an unlock that is given up, by a client that dies long after", history.Multi, func(s *groupScript) {
			s.leftByTheDead(at(9.9))
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"an inner unlock that gives the outer hold of a back, which the inner attempt had not asked", history.Red, func(s *groupScript) {
			s.keepsOuter(false, 0)
		}, []contract.Rule{contract.OneHoldAnUnlock}},
		{"an inner unlock that gives the only hold of a back, since what an attempt before the outer one took was given back", history.Red,
			func(s *groupScript) { s.gaveEarlier(true) }, nil},
		{"an inner unlock that gives the only hold of a back, since what the outer attempt took was given back", history.Red,
			func(s *groupScript) { s.gaveEarlier(false) }, []contract.Rule{contract.OneHoldAnUnlock}},
		{"an inner unlock that gives back a, which the outer attempt had tried to give back", history.Red, func(s *groupScript) { s.undoRefused(true) }, nil},
		{"an inner unlock that gives the outer hold of a back, which its attempt got after a refusal", history.Red,
			func(s *groupScript) { s.undoRefused(false) }, []contract.Rule{contract.OneHoldAnUnlock}},
		{"an inner unlock that ends the hold, since b and c were lost, and leaves a to the outer one", history.Red, func(s *groupScript) {
			s.lostUnderneath(false)
		}, nil},
		{"an inner unlock that ends the hold, since b and c were lost, and leaves a held twice", history.Red, func(s *groupScript) {
			s.lostUnderneath(true)
		}, []contract.Rule{contract.EveryMemberReleased}},
		{"an inner unlock that gives a back, which its owner had before, of another lock", history.Red, func(s *groupScript) { s.givesAnothers() }, nil},
		{"an inner unlock that leaves a alone", history.Red, func(s *groupScript) { s.keepsOuter(true, 1) }, nil},
		{"an inner unlock that gives the outer hold of a back, of a lock that takes nothing back", history.Red, func(s *groupScript) {
			s.keepsOuter(true, 0)
			s.h.Header.Abilities = []string{"reentrant"}
		}, nil},
		{"taken while another owner held b", history.Multi, func(s *groupScript) {
			other := s.take("y:1", 0, at(0.1), 60*sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(60.099))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "b", at(1.05), 1, at(31.05))
			s.set(op, "b", at(1.06), 0, 0)
		}, []contract.Rule{contract.OneHolder}},
		{"a failed attempt that gives back another owner's b", history.Multi, func(s *groupScript) {
			other := s.take("y:1", 0, at(0.1), 60*sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(60.099))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "b", at(1.06), 0, 0)
		}, []contract.Rule{contract.HolderReleases}},
		{"a failed attempt beside another owner's b, which ends with its lease, in real time", history.Multi, func(s *groupScript) {
			s.h.Header.Timescale = 1
			other := s.take("y:1", 0, at(0.1), sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(1.061))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "b", at(1.06), 0, 0)
		}, nil},
		{"a failed attempt beside another owner's b, which would have ended a little later, in real time", history.Multi, func(s *groupScript) {
			s.h.Header.Timescale = 1
			other := s.take("y:1", 0, at(0.1), sec)
			other.Lock = "b"
			s.set(other, "b", at(0.099), 1, at(1.08))
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "b", at(1.06), 0, 0)
		}, []contract.Rule{contract.HolderReleases}},
		{"taken twice by one call", history.Multi, func(s *groupScript) {
			s.takesBoth()
			s.set(&s.h.Ops[0], "b", at(0.2), 2, at(10.2))
		}, []contract.Rule{contract.AtMostOnce}},
		{"taken again by one call, after something took it away", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, 0, at(0.3), history.Acquired)
			op.Lease = 10 * sec
			s.set(op, "a", at(0.05), 1, at(10.05))
			admin := *op
			s.set(&admin, "a", at(0.1), 0, 0)
			s.h.Served[1].Op, s.h.Served[1].Owner, s.h.Served[1].Step = 0, "", history.StepAdmin
			s.set(op, "a", at(0.2), 1, at(10.2))
			s.set(op, "b", at(0.25), 1, at(10.25))
		}, nil},
		{"taken twice by one call, since a fault copied its message, by a lock that claims nothing else", history.Multi, func(s *groupScript) {
			s.h.Header.Abilities = []string{"reentrant"}
			s.takesBoth()
			s.set(&s.h.Ops[0], "b", at(0.2), 2, at(10.2))
			s.fault("duplicate-message", "x", at(0.05), at(0.05))
		}, []contract.Rule{"assumed: " + contract.AtMostOnce}},
		{"taken twice by one call, and one given back at once", history.Multi, func(s *groupScript) {
			s.takesBoth()
			s.set(&s.h.Ops[0], "b", at(0.2), 2, at(10.2))
			op := s.op("x:1", history.Unlock, at(0.2), at(0.3), history.Decremented)
			op.Aside = true
			s.set(op, "b", at(0.25), 1, at(10.25))
		}, nil},
		{"a member of a quorum is taken after the call has returned", history.Red, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.05), 1, at(10.05))
			s.set(op, "c", at(0.099), 1, at(10.099))
			s.set(op, "b", at(0.2), 1, at(10.2))
		}, nil},
		{"refused while a member's server was away", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.set(op, "a", at(1.09), 0, 0)
			s.fault("pause-server", "", at(0.5), at(1.05))
			s.h.Faults[0].Server = "s2"
		}, nil},
		{"given up since its time was over before an attempt was", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Unknown)
			op.Wait, op.Evidence, op.Answer, op.Executed = at(0.1), history.Sent, "", 0
		}, nil},
		{"given up long before its time was over", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Unknown)
			op.Wait, op.Evidence, op.Answer, op.Executed = at(9), history.Sent, "", 0
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"refused while a server was away that none of its members is on", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.set(op, "a", at(1.09), 0, 0)
			s.fault("pause-server", "", at(0.5), at(1.05))
			s.h.Faults[0].Server = "s7"
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"refused by a quorum of which one server was away", history.Red, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			s.set(op, "a", at(1.09), 0, 0)
			s.fault("pause-server", "", at(0.5), at(1.05))
			s.h.Faults[0].Server = "s2"
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"refused by a quorum that asks no member for as long as its answer may take", history.Red, func(s *groupScript) {
			s.hasty(2*time.Second, false)
		}, nil},
		{"refused by a quorum that asks each member for long enough", history.Red, func(s *groupScript) {
			s.hasty(3*time.Second, false)
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"refused by a quorum that asks each member for long enough, but settles something first", history.Red, func(s *groupScript) {
			s.hasty(3*time.Second, true)
		}, nil},
		{"refused by a group of all that asks for a short lease", history.Multi, func(s *groupScript) {
			s.hasty(2*time.Second, false)
		}, []contract.Rule{contract.RefusedWhileTaken}},
		{"refused since a member was taken from the call", history.Multi, func(s *groupScript) {
			op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
			s.set(op, "a", at(1.05), 1, at(31.05))
			admin := *op
			s.set(&admin, "a", at(1.06), 0, 0)
			s.h.Served[1].Op, s.h.Served[1].Owner, s.h.Served[1].Step = 0, "", history.StepAdmin
		}, nil},
		{"believed in the group and in its member", history.Multi, func(s *groupScript) {
			s.takesBoth()
			op := s.take("y:1", at(12), at(12.1), 10*sec) // when the lease is over: the cause is for others to judge
			op.Lock = "b"
			s.set(op, "b", at(12.099), 1, at(22.099))
		}, []contract.Rule{"assumed: " + contract.SharedMember}},
		{"believed in a quorum and in one of its members", history.Red, func(s *groupScript) {
			op := s.take("x:1", 0, at(0.1), 10*sec)
			s.set(op, "a", at(0.05), 1, at(10.05))
			s.set(op, "c", at(0.099), 1, at(10.099))
			op = s.take("y:1", at(2), at(2.1), 10*sec)
			op.Lock = "b"
			s.set(op, "b", at(2.099), 1, at(12.099))
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			members := []string{"a", "b"}
			if tt.kind == history.Red {
				members = append(members, "c")
			}
			s := newGroupScript(tt.kind, members...)
			tt.write(s)
			h := s.done()
			if why := assumptions(h); len(why) > 0 {
				t.Fatal(why)
			}
			f := collect(h, Options{}.withDefaults(h))
			for _, l := range f.locks { // tenures end with their leases here
				for _, tn := range l.tenures {
					if tn.open && tn.grant.Lease > 0 && tn.from+tn.grant.Lease < f.end {
						tn.to, tn.open, tn.endEvent = tn.from+tn.grant.Lease, false, &history.Event{Kind: history.Expire, Lock: l.name, At: tn.from + tn.grant.Lease}
					}
				}
			}
			var rules []contract.Rule
			for _, g := range []contract.Guarantee{contract.Object, contract.Exclusion, contract.Liveness} {
				found := f.found(g)
				f.groupRules(g, &found)
				for _, v := range found.first {
					if v.Ruling.Kind != Defect {
						v.Rule = "assumed: " + v.Rule
					}
					rules = append(rules, v.Rule)
				}
			}
			if !slices.Equal(rules, tt.rules) {
				t.Errorf("broken: %q, expected %q", rules, tt.rules)
			}
		})
	}
}

// Who waits for a group could have had it only while enough members were free or its own.
func TestAGroupIsFreeForAWaiterIfEnoughMembersAre(t *testing.T) {
	hold := func(s *groupScript, owner, key string, from, to float64) {
		op := s.op(owner, history.Lock, at(from), at(from+0.1), history.Acquired)
		op.Lock, op.Lease = key, 60*sec
		s.set(op, key, at(from+0.05), 1, at(from+60))
		op = s.op(owner, history.Unlock, at(to), at(to+0.1), history.Released)
		op.Lock = key
		s.set(op, key, at(to+0.05), 0, 0)
	}
	for _, tt := range []struct {
		name     string
		kind     string
		holds    func(s *groupScript)
		from, to float64 // when it could have been had for longest, 0, 0: never for long
	}{
		{"one after the other", history.Multi, func(s *groupScript) {
			hold(s, "y:1", "a", 1, 10)
			hold(s, "z:1", "b", 9, 40)
		}, 0, 0}, // b is free at first, and a is not
		{"a gap between two", history.Multi, func(s *groupScript) {
			hold(s, "y:1", "a", 1, 10)
			hold(s, "z:1", "b", 20, 40)
		}, 10.05, 20.05},
		{"its own does not count", history.Multi, func(s *groupScript) {
			hold(s, "y:1", "a", 1, 10)
			hold(s, "x:1", "b", 1.5, 1.6)
			hold(s, "z:1", "b", 12, 40)
		}, 10.05, 12.05},
		{"of a quorum one may be another's", history.Red, func(s *groupScript) {
			hold(s, "y:1", "a", 1, 45)
			hold(s, "z:1", "b", 1.5, 10)
			hold(s, "z:1", "c", 12, 40)
		}, 10.05, 12.05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newGroupScript(tt.kind, "a", "b", "c")
			if tt.kind == history.Multi {
				s.h.Header.Groups[0].Members, s.h.Header.Groups[0].Servers = []string{"a", "b"}, []string{"s1", "s2"}
			}
			tt.holds(s)
			wait := s.op("x:1", history.Lock, at(2), at(40), history.Acquired)
			s.set(wait, "b", at(40.1), 1, at(70.1))
			slices.SortFunc(s.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
			h := s.done()
			f := collect(h, Options{})
			i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.Lock == "all" })
			from, to := f.couldHave(f.locks[slices.IndexFunc(f.locks, func(l *lockFacts) bool { return l.name == "all" })], f.view.locks["all"], &h.Ops[i])
			if from != at(tt.from) || to != at(tt.to) {
				t.Errorf("from %v to %v, expected from %v to %v", from, to, at(tt.from), at(tt.to))
			}
		})
	}
}

func TestWhichLocksExcludeEachOther(t *testing.T) {
	lock := func(needed int, keys ...string) *composition {
		c := &composition{needed: needed}
		for _, k := range keys {
			c.members = append(c.members, memberKey{"s", k})
		}
		return c
	}
	for _, tt := range []struct {
		one, other *composition
		want       bool
	}{
		{lock(2, "a", "b"), lock(2, "b", "c"), true},
		{lock(2, "a", "b"), lock(1, "b"), true},
		{lock(1, "a"), lock(1, "b"), false},
		{lock(2, "a", "b", "c"), lock(2, "a", "b", "c"), true},
		{lock(2, "a", "b", "c"), lock(1, "c"), false},
		{lock(2, "a", "b", "c"), lock(2, "b", "c"), true},
		{lock(2, "a", "b", "c"), lock(2, "c", "d", "e"), false},
		{lock(3, "a", "b", "c", "d", "e"), lock(2, "d", "e"), false},
		{lock(3, "a", "b", "c", "d", "e"), lock(3, "c", "d", "e"), true},
	} {
		if got := tt.one.exclude(tt.other); got != tt.want || tt.other.exclude(tt.one) != got {
			t.Errorf("%v and %v: %v", tt.one, tt.other, got)
		}
	}
}

// Without the server's log nobody knows the members, and the group is judged as one lock.
func TestAGroupWithoutALogIsJudgedAsOneLock(t *testing.T) {
	for _, log := range []bool{false, true} {
		s := newGroupScript(history.Multi, "a", "b")
		s.take("x:1", 0, at(0.1), 60*sec)
		s.take("y:1", at(1), at(1.1), 60*sec)
		if log {
			s.takesBoth()
			s.h.Ops = s.h.Ops[:2]
		}
		r := Judge(t.Context(), s.done(), Options{}).Result(contract.Object)
		if r.Status != Broken || slices.Contains(strings.Split(r.By, ", "), byMembers) != log {
			t.Errorf("log %v: %s by %s", log, r.Status, r.By)
		}
	}
}

// hasty is a tryLock, with a lease, of a group that is refused although all members are free, where a message takes up to 40 ms. It may settle
// first what an earlier call may have left.
func (s *groupScript) hasty(lease time.Duration, settles bool) {
	s.h.Header.LatencyMax = 40 * time.Millisecond
	op := s.op("x:1", history.TryLock, at(1), at(1.5), history.Failed)
	op.Asked = lease
	if settles {
		earlier := *op
		earlier.ID, earlier.Kind = 0, history.Unlock
		s.set(&earlier, "b", at(1.03), 0, 0)
	}
	s.set(op, "a", at(1.05), 1, at(1.05)+lease)
	s.set(op, "a", at(1.45), 0, 0)
}
