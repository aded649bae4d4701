package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A groupScript writes a history of a group by hand, with the server log of its members: a on s1, b on s2, ...
type groupScript struct {
	*script
	state map[memberKey]history.KeyState
}

func newGroupScript(kind string, members ...string) *groupScript {
	s := &groupScript{newScript(), map[memberKey]history.KeyState{}}
	s.lock = "all"
	g := history.Group{Name: "all", Kind: kind, Members: members}
	for i := range members {
		g.Servers = append(g.Servers, "s"+string(rune('1'+i)))
	}
	s.h.Header.Groups = []history.Group{g}
	return s
}

// set has the server log show a command of a call that leaves an owner so many holds of a member, until a time.
func (s *groupScript) set(op *history.Op, key string, at time.Duration, holds int64, until time.Duration) {
	k := memberKey{"s" + string(key[0]-'a'+'1'), key}
	before, after := s.state[k], history.KeyState{}
	if before.Deadline > 0 && before.Deadline <= at {
		before = history.KeyState{} // its lease is over
	}
	if holds > 0 {
		after = history.KeyState{Holdings: []history.Holding{{Owner: op.Owner, Count: holds}}, Deadline: until}
	}
	s.state[k] = after
	step := history.StepAcquire
	if op.Kind == history.Unlock {
		step = history.StepRelease
	}
	s.h.Served = append(s.h.Served, history.Served{At: at, Sent: at - lat, Got: at + lat, Server: k.server, Client: op.Client, Conn: op.Client, Step: step,
		Op: op.ID, Owner: op.Owner, Lock: key, Text: "eval", Before: &before, After: &after})
}

// takesBoth has x:1 take both members, with a lease of 10 s.
func (s *groupScript) takesBoth() {
	op := s.take("x:1", 0, at(0.1), 10*sec)
	s.set(op, "a", at(0.05), 1, at(10.05))
	s.set(op, "b", at(0.099), 1, at(10.099))
}

// takesSlowly has x:1 take both members, and get the second when the lease of the first is over.
func (s *groupScript) takesSlowly() {
	op := s.take("x:1", 0, at(2.5), 2*sec)
	s.set(op, "a", at(0.1), 1, at(2.1))
	s.set(op, "b", at(2.499), 1, at(4.499))
}

// givenUp has x:1 give up an attempt that had got a of a and b, after the answer.
func (s *groupScript) givenUp() {
	other := s.take("y:1", 0, at(0.1), 60*sec)
	other.Lock = "b"
	s.set(other, "b", at(0.099), 1, at(60.099))
	op := s.op("x:1", history.TryLock, at(1), at(1.1), history.Unknown)
	op.Cancel, op.Error, op.Evidence = at(0.1), "context deadline exceeded", history.Sent
	s.set(op, "a", at(1.05), 1, at(31.05))
}

// takenOnce has x:1 refused both, since b is another's, while a command takes a for it once more: of an earlier call that it made for a
// alone, as it may seem. It was sent at a time.
func (s *groupScript) takenOnce(sent time.Duration) {
	other := s.take("y:1", 0, at(0.1), 60*sec)
	other.Lock = "b"
	s.set(other, "b", at(0.099), 1, at(60.099))
	alone := s.take("x:1", at(0.2), at(0.3), 60*sec)
	alone.Lock = "a"
	s.set(alone, "a", at(0.25), 1, at(60.25))
	s.op("x:1", history.TryLock, at(1), at(1.1), history.Failed)
	s.set(alone, "a", at(1.05), 2, at(61.05))
	s.h.Served[len(s.h.Served)-1].Sent = sent
}

// takenLateAndGivenBack has x:1 take both, when a request of its earlier call, which failed, comes late to a. Its client gives that back by
// itself, and leaves so many holds.
func (s *groupScript) takenLateAndGivenBack(left int64) {
	failed := *s.op("x:1", history.TryLock, at(1), at(1.01), history.Unknown)
	s.h.Ops[failed.ID-1].Cancel, s.h.Ops[failed.ID-1].Error, s.h.Ops[failed.ID-1].Evidence = at(0.01), "context deadline exceeded", history.Sent
	op := s.take("x:1", at(1.02), at(1.2), 10*sec)
	s.set(op, "a", at(1.05), 1, at(11.05))
	s.set(&failed, "a", at(1.06), 2, at(11.06))
	s.h.Served[len(s.h.Served)-1].Sent = at(1.005)
	back := failed
	back.ID, back.Kind = 0, history.Unlock
	for n := int64(1); n >= left; n-- {
		s.set(&back, "a", at(1.1-0.01*float64(n)), n, at(11.06))
	}
	s.set(op, "b", at(1.199), 1, at(11.199))
}

// shorter has x:1 take both for a second, which leaves b the 10 s that it has of an earlier hold if the lock keeps the longest lease. It
// may have given that up before, and does not know what became of it.
func (s *groupScript) shorter(givenUp bool) {
	claiming(s.script, contract.KeepsLongest)
	s.takesBoth()
	if givenUp {
		op := s.op("x:1", history.Unlock, at(1), at(1.1), history.Unknown)
		op.Evidence, op.Cancel, op.Error = history.Sent, at(0.1), "context deadline exceeded"
	}
	op := s.take("x:1", at(2), at(2.1), sec)
	s.set(op, "a", at(2.05), 2, at(10.05))
	s.set(op, "b", at(2.099), 2, at(3.099))
	op = s.op("x:1", history.Unlock, at(2.5), at(2.6), history.Decremented)
	s.set(op, "a", at(2.55), 1, at(10.05))
	s.set(op, "b", at(2.56), 1, at(10.099))
}

// innerUnlock has x:1 enter both twice, and give back a alone. Its lease is renewed.
func (s *groupScript) innerUnlock() *history.Op {
	s.takesBoth()
	op := s.take("x:1", at(1), at(1.1), 10*sec)
	s.set(op, "a", at(1.05), 2, at(11.05))
	s.set(op, "b", at(1.06), 2, at(11.06))
	op = s.op("x:1", history.Unlock, at(2), at(2.1), history.Decremented)
	s.set(op, "a", at(2.05), 1, at(12.05))
	renewal := s.op("x:1", history.Renew, at(10), at(10.1), history.Renewed)
	s.set(renewal, "a", at(10.05), 1, at(60))
	s.set(renewal, "b", at(10.06), 2, at(60))
	return &s.h.Ops[len(s.h.Ops)-2]
}

// refusedWithin has x:1 ask once more for both, in vain, when it may have lost a: the attempt leaves a hold of a.
func (s *groupScript) refusedWithin(lost bool) {
	s.takesBoth()
	holds := int64(2)
	if lost {
		admin := s.h.Ops[0]
		s.set(&admin, "a", at(1), 0, 0)
		s.h.Served[2].Op, s.h.Served[2].Owner, s.h.Served[2].Step = 0, "", history.StepAdmin
		holds = 1
	}
	op := s.op("x:1", history.TryLock, at(2), at(2.1), history.Failed)
	op.Cancel, op.Error = at(0.1), "context deadline exceeded"
	s.set(op, "a", at(2.05), holds, at(12.05))
	op = s.op("x:1", history.Unlock, at(5), at(5.1), history.Released)
	s.set(op, "a", at(5.02), holds-1, at(12.05))
	s.set(op, "b", at(5.03), 0, 0)
}

// renewed has the client of x:1 renew a before its lease is over, and hear of it at a time.
func (s *groupScript) renewed(heard time.Duration) {
	op := s.op("x:1", history.Renew, at(1.9), heard, history.Renewed)
	r := s.h.Served[0]
	r.Op, r.Step, r.At, r.Sent, r.Got = op.ID, history.StepRenew, at(2), at(1.9), heard
	before, after := *r.After, *r.After
	after.Deadline = at(4)
	r.Before, r.After = &before, &after
	s.h.Served = slices.Insert(s.h.Served, 1, r)
}

// memberTouched is x:1 that enters a quorum of three twice, and loses a: to a fault, or to nobody that is known. Its inner unlock may ask a,
// or leave it alone.
func memberTouched(fault string, asks bool) *groupScript {
	s := newGroupScript(history.Red, "a", "b", "c")
	for i, from := range []float64{0, 1} {
		op := s.take("x:1", at(from), at(from+0.1), 30*sec)
		s.set(op, "a", at(from+0.05), int64(i+1), at(from+30.05))
		s.set(op, "b", at(from+0.06), int64(i+1), at(from+30.06))
	}
	admin := s.h.Ops[0]
	s.set(&admin, "a", at(2), 0, 0)
	last := &s.h.Served[len(s.h.Served)-1]
	last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
	if fault != "" {
		s.fault(fault, "", at(2), at(2)).Lock = "a"
	}
	op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Decremented)
	if asks {
		s.set(op, "a", at(3.04), 0, 0)
	}
	s.set(op, "b", at(3.05), 1, at(33.05))
	op = s.op("x:1", history.Unlock, at(4), at(4.1), history.Unknown)
	op.Evidence, op.Error = history.Sent, "one of two"
	s.set(op, "b", at(4.05), 0, 0)
	return s
}

// leavesOne has x:1 enter the group twice, and give it back twice: the first time, which it gives up after a's request, b is left out. It
// returns the second.
func (s *groupScript) leavesOne() *history.Op {
	s.takesBoth()
	op := s.take("x:1", at(1), at(1.1), 10*sec)
	s.set(op, "a", at(1.05), 2, at(11.05))
	s.set(op, "b", at(1.099), 2, at(11.099))
	op = s.op("x:1", history.Unlock, at(2), at(2.1), history.Unknown)
	op.Cancel, op.Error, op.Evidence = at(0.1), "context deadline exceeded", history.Sent
	s.set(op, "a", at(2.05), 1, at(11.05))
	op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
	s.set(op, "a", at(3.02), 0, 0)
	s.set(op, "b", at(3.03), 1, at(13.03))
	return op
}

// keepsOuter has x:1 enter a quorum of three twice. The inner attempt has a give one back that it took, in the background, or asks a nothing; the
// unlock leaves a so many holds.
func (s *groupScript) keepsOuter(took bool, left int64) {
	claiming(s.script, contract.TakesBack)
	for i, from := range []float64{0, 1} {
		op := s.take("x:1", at(from), at(from+0.1), 30*sec)
		if i == 0 {
			s.set(op, "a", at(0.05), 1, at(30.05))
		} else if took {
			s.set(op, "a", at(1.05), 2, at(31.05))
			s.h.Served[len(s.h.Served)-1].Got = at(1.2)
		}
		s.set(op, "b", at(from+0.06), int64(i+1), at(from+30.06))
		s.set(op, "c", at(from+0.07), int64(i+1), at(from+30.07))
		if i > 0 && took {
			background := *op
			background.ID = 0
			s.set(&background, "a", at(1.3), 1, at(31.05))
		}
	}
	op := s.op("x:1", history.Unlock, at(3), at(3.1), history.Decremented)
	if left == 0 {
		s.set(op, "a", at(3.04), 0, 0)
	}
	s.set(op, "b", at(3.05), 1, at(33.05))
	s.set(op, "c", at(3.06), 1, at(33.05))
	op = s.op("x:1", history.Unlock, at(4), at(4.1), history.Released)
	if left > 0 {
		s.set(op, "a", at(4.04), 0, 0)
	}
	s.set(op, "b", at(4.05), 0, 0)
	s.set(op, "c", at(4.06), 0, 0)
}

// forcedBetween has x:1 enter a quorum of three twice. While it does so again, its client sends a command of somebody that takes its hold of a, which
// the inner attempt takes anew, and the unlock gives back.
func (s *groupScript) forcedBetween(by string) {
	claiming(s.script, contract.TakesBack)
	op := s.take("x:1", 0, at(0.1), 30*sec)
	for i, key := range []string{"a", "b", "c"} {
		s.set(op, key, at(0.05)+time.Duration(i)*ms, 1, at(30.05)+time.Duration(i)*ms)
	}
	op = s.take("x:1", at(1), at(1.5), 30*sec)
	took := *op
	took.ID = 0
	s.set(&took, "a", at(1.03), 0, 0)
	s.h.Served[len(s.h.Served)-1].Owner = by
	s.set(op, "a", at(1.04), 1, at(31.04))
	s.set(op, "b", at(1.05), 2, at(31.05))
	s.set(op, "c", at(1.06), 2, at(31.06))
	for i, from := range []float64{3, 4} {
		op = s.op("x:1", history.Unlock, at(from), at(from+0.1), []history.Outcome{history.Decremented, history.Released}[i])
		if i == 0 {
			s.set(op, "a", at(3.04), 0, 0)
		}
		s.set(op, "b", at(from+0.05), int64(1-i), at(33.05))
		s.set(op, "c", at(from+0.06), int64(1-i), at(33.06))
	}
}

// leftByTheDead has x:1 take both, and give the unlock up when it has given a back. Its client dies at a time.
func (s *groupScript) leftByTheDead(died time.Duration) {
	claiming(s.script, contract.TakesBack)
	s.takesBoth()
	op := s.op("x:1", history.Unlock, at(2), at(2.1), history.Unknown)
	op.Cancel, op.Error, op.Evidence = at(0.1), "context deadline exceeded", history.Sent
	s.set(op, "a", at(2.05), 0, 0)
	s.died("x", died)
	s.take("z:1", at(20), at(20.1), 10*sec).Lock = "z"
}

// gaveEarlier has x:1 give up an attempt on a quorum of three that takes a when its next one is under way. That gets b and c. Its client gives a
// back; the inner attempt takes a anew, and its unlock gives that back. The first attempt sent a's request before the outer one, or else that took a.
func (s *groupScript) gaveEarlier(before bool) {
	claiming(s.script, contract.TakesBack)
	first := *s.op("x:1", history.TryLock, 0, at(0.01), history.Unknown)
	s.h.Ops[first.ID-1].Cancel, s.h.Ops[first.ID-1].Error, s.h.Ops[first.ID-1].Evidence = at(0.01), "context deadline exceeded", history.Sent
	op := s.take("x:1", at(0.02), at(0.5), 30*sec)
	if before {
		s.set(&first, "a", at(0.03), 1, at(30.03))
		s.h.Served[len(s.h.Served)-1].Sent = at(0.005)
	} else {
		s.set(op, "a", at(0.03), 1, at(30.03))
	}
	s.set(op, "b", at(0.04), 1, at(30.04))
	s.set(op, "c", at(0.05), 1, at(30.05))
	back := first
	back.ID, back.Kind = 0, history.Unlock
	op = s.take("x:1", at(0.6), at(0.9), 30*sec)
	s.set(&back, "a", at(0.65), 0, 0)
	s.set(op, "a", at(0.7), 1, at(30.7))
	s.twiceButA(op)
}

// twiceButA has x:1 get b and c for the second time by a call. It gives that hold back, and a with it, and then the outer one.
func (s *groupScript) twiceButA(op *history.Op) {
	s.set(op, "b", at(0.71), 2, at(30.71))
	s.set(op, "c", at(0.72), 2, at(30.72))
	op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Decremented)
	s.set(op, "a", at(3.04), 0, 0)
	s.set(op, "b", at(3.05), 1, at(33.05))
	s.set(op, "c", at(3.06), 1, at(33.06))
	op = s.op("x:1", history.Unlock, at(4), at(4.1), history.Released)
	s.set(op, "b", at(4.05), 0, 0)
	s.set(op, "c", at(4.06), 0, 0)
}

// undoRefused has an attempt of x:1 on a quorum of three take a. The server refuses its next command on a, or had refused the one before, and x:1 gets b
// and c. The inner hold has b and c alone, and its unlock gives a back, too.
func (s *groupScript) undoRefused(after bool) {
	claiming(s.script, contract.TakesBack)
	op := s.take("x:1", 0, at(0.5), 30*sec)
	for _, when := range []float64{0.03, 0.04} {
		if takes := when < 0.04; takes == after {
			s.set(op, "a", at(when), 1, at(when+30))
		} else {
			s.set(op, "a", at(when), map[bool]int64{true: 1}[after], at(30.03))
			s.h.Served[len(s.h.Served)-1].Reply = "BUSY a script runs"
		}
	}
	s.set(op, "b", at(0.05), 1, at(30.05))
	s.set(op, "c", at(0.06), 1, at(30.06))
	op = s.take("x:1", at(0.6), at(0.9), 30*sec)
	s.twiceButA(op)
}

// reenters has x:1 take both, and once more for 2 s. That leaves a its lease, and sets b's so long.
func (s *groupScript) reenters(b float64) {
	claiming(s.script, contract.KeepsLongest)
	s.takesBoth()
	op := s.take("x:1", at(1), at(1.1), 2*sec)
	s.set(op, "a", at(1.05), 2, at(10.05))
	s.set(op, "b", at(1.099), 2, at(1.099+b))
}

// untoldBefore has x:1 take a quorum of three, once or after it had lost an earlier hold of it. An unlock is not told what became of c. Then x:1 takes
// a and b once more, and gives them back. Its client renews c.
func (s *groupScript) untoldBefore(twice bool) {
	if twice {
		s.take("x:1", 0, at(0.1), 30*sec).Answer = history.Acquired
		for i, key := range []string{"a", "b", "c"} {
			s.set(&s.h.Ops[0], key, at(0.05)+time.Duration(i)*ms, 1, at(30.05)+time.Duration(i)*ms)
		}
		admin := s.h.Ops[0]
		for _, key := range []string{"a", "b", "c"} {
			s.set(&admin, key, at(0.5), 0, 0)
			last := &s.h.Served[len(s.h.Served)-1]
			last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
		}
		s.fault("delete-key", "", at(0.5), at(0.5)).Lock = "all"
	}
	op := s.take("x:1", at(1), at(1.1), 30*sec)
	for i, key := range []string{"a", "b", "c"} {
		s.set(op, key, at(1.05)+time.Duration(i)*ms, 1, at(31.05)+time.Duration(i)*ms)
	}
	s.fault("drop-message", "x", at(2.01), at(2.05))
	for _, from := range []float64{2, 4} {
		op = s.op("x:1", history.Unlock, at(from), at(from+0.1), history.Released)
		if from == 2 {
			op.Error = "context deadline exceeded"
		}
		s.set(op, "a", at(from+0.04), 0, 0)
		s.set(op, "b", at(from+0.05), 0, 0)
		if from == 2 {
			op = s.take("x:1", at(3), at(3.1), 30*sec)
			s.set(op, "a", at(3.04), 1, at(33.04))
			s.set(op, "b", at(3.05), 1, at(33.05))
		}
	}
	renewal := s.op("x:1", history.Renew, at(20), at(20.1), history.Renewed)
	s.set(renewal, "c", at(20.05), 1, at(50.05))
	s.take("z:1", at(50.5), at(50.6), 10*sec).Lock = "z"
}

// toldEarly has x:1 enter both twice, and lose a in between, or both. Its first unlock is told that all is given back. It enters once more,
// and gives that unlock up after a's request. b is renewed.
func (s *groupScript) toldEarly(both bool) {
	s.takesBoth()
	admin, outer := s.h.Ops[0], int64(1)
	lost := []string{"a"}
	if both {
		outer, lost = 0, []string{"a", "b"}
	}
	for _, key := range lost {
		s.set(&admin, key, at(0.5), 0, 0)
		last := &s.h.Served[len(s.h.Served)-1]
		last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
	}
	s.fault("delete-key", "", at(0.5), at(0.5)).Lock = "all"
	for _, from := range []float64{1, 3} {
		op := s.take("x:1", at(from), at(from+0.1), 10*sec)
		s.set(op, "a", at(from+0.05), 1, at(from+10.05))
		s.set(op, "b", at(from+0.06), outer+1, at(from+10.06))
		op = s.op("x:1", history.Unlock, at(from+1), at(from+1.1), history.Released)
		s.set(op, "a", at(from+1.05), 0, 0)
		if from == 1 {
			s.set(op, "b", at(from+1.06), outer, at(12.06))
		} else {
			op.Outcome, op.Cancel, op.Error = history.Unknown, at(0.1), "context deadline exceeded"
		}
	}
	renewal := s.op("x:1", history.Renew, at(10), at(10.1), history.Renewed)
	s.set(renewal, "b", at(10.06), outer+1, at(60))
}

// givesAnothers has x:1 take a alone, and fail to give it back. It enters a quorum of three twice, without a, and an unlock gives a back.
func (s *groupScript) givesAnothers() {
	claiming(s.script, contract.TakesBack)
	op := s.take("x:1", 0, at(0.02), 30*sec)
	op.Lock = "a"
	s.set(op, "a", at(0.01), 1, at(30.01))
	s.fault("server-error", "", at(0.03), at(0.05)).Server = "s1"
	op = s.op("x:1", history.Unlock, at(0.03), at(0.05), history.Failed)
	op.Lock, op.Evidence, op.Executed, op.Answer, op.Error = "a", history.Sent, 0, "", "BUSY Redis is busy running a script"
	for i, from := range []float64{1, 2} {
		op := s.take("x:1", at(from), at(from+0.1), 30*sec)
		s.set(op, "b", at(from+0.06), int64(i+1), at(from+30.06))
		s.set(op, "c", at(from+0.07), int64(i+1), at(from+30.07))
	}
	for i, from := range []float64{3, 4} {
		op := s.op("x:1", history.Unlock, at(from), at(from+0.1), []history.Outcome{history.Decremented, history.Released}[i])
		s.set(op, "a", at(from+0.04), 0, 0)
		s.set(op, "b", at(from+0.05), int64(1-i), at(33.05))
		s.set(op, "c", at(from+0.06), int64(1-i), at(33.06))
	}
}

// lostUnderneath has x:1 enter a quorum of three twice, and lose b and c in between. The inner hold has a as well or not, and its unlock leaves a
// as it is.
func (s *groupScript) lostUnderneath(inner bool) {
	op := s.take("x:1", 0, at(0.1), 30*sec)
	for i, key := range []string{"a", "b", "c"} {
		s.set(op, key, at(0.05)+time.Duration(i)*ms, 1, at(30.05)+time.Duration(i)*ms)
	}
	admin := s.h.Ops[0]
	for _, key := range []string{"b", "c"} {
		s.set(&admin, key, at(0.5), 0, 0)
		last := &s.h.Served[len(s.h.Served)-1]
		last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
	}
	s.fault("delete-key", "", at(0.5), at(0.5)).Lock = "all"
	op = s.take("x:1", at(1), at(1.1), 30*sec)
	if inner {
		s.set(op, "a", at(1.04), 2, at(31.04))
	}
	s.set(op, "b", at(1.05), 1, at(31.05))
	s.set(op, "c", at(1.06), 1, at(31.06))
	op = s.op("x:1", history.Unlock, at(3), at(3.1), history.Released)
	s.set(op, "b", at(3.05), 0, 0)
	s.set(op, "c", at(3.06), 0, 0)
}

// elapsed has x:1 take both members, too slowly, and give back only a.
func (s *groupScript) elapsed() {
	op := s.op("x:1", history.Lock, 0, at(6.1), history.Unknown)
	op.Lease, op.Evidence, op.Error = 5*sec, history.Sent, "acquiring took longer than the lease; everything was released"
	s.set(op, "a", at(3), 1, at(8))
	s.set(op, "b", at(6), 1, at(11))
	s.set(op, "a", at(6.05), 0, 0)
	s.take("z:1", at(20), at(20.1), 10*sec).Lock = "z"
}

// sidesOfGroups are the sides of the table's rows that only groups have.
func sidesOfGroups() map[string][]side {
	late := func(strikes ...func(*groupScript)) *groupScript {
		s := newGroupScript(history.Multi, "a", "b")
		s.takesSlowly()
		for _, strike := range strikes {
			strike(s)
		}
		return s
	}
	paused := func(from, to float64) func(*groupScript) {
		return func(s *groupScript) { s.fault("pause-client", "x", at(from), at(to)) }
	}
	return map[string][]side{
		"member-touched": {
			{contract.HolderHasEnough, true, memberTouched("overwrite-key", false)},
			{contract.HolderHasEnough, false, memberTouched("overwrite-key", true)}, // it was told
			{contract.HolderHasEnough, false, memberTouched("", false)},
		},
		"member-shortened": {
			{contract.HolderHasEnough, true, memberShortened(0, "drop-message")},
			{contract.HolderHasEnough, false, memberShortened(at(1.08), "drop-message")}, // it was told
			{contract.HolderHasEnough, false, memberShortened(0)},
			{contract.HolderHasEnough, false, &groupScript{claiming(memberShortened(0, "drop-message").script, contract.KeepsLongest), nil}},
		},
		"paused-in-acquire": {
			{contract.ValidityLeft, true, late(paused(0.2, 2.4))},
			{contract.ValidityLeft, false, late()},
			{contract.ValidityLeft, false, late(func(s *groupScript) { s.fault("pause-client", "y", at(0.2), at(2.4)) })},
		},
	}
}

// refusedBack has x:1 give back a, while the server refuses to give back b, and renew b from then on. It may have had a hold before that
// was lost, of which nobody told it.
func (s *groupScript) refusedBack(lost bool) {
	from := 0.0
	if lost {
		s.takesBoth()
		for _, key := range []string{"a", "b"} {
			admin := s.h.Ops[0]
			s.set(&admin, key, at(0.5), 0, 0)
			last := &s.h.Served[len(s.h.Served)-1]
			last.Op, last.Owner, last.Step = 0, "", history.StepAdmin
		}
		s.fault("delete-key", "", at(0.5), at(0.5)).Lock = "all"
		from = 1
	}
	op := s.take("x:1", at(from), at(from+0.1), 10*sec)
	s.set(op, "a", at(from+0.05), 1, at(from+10.05))
	s.set(op, "b", at(from+0.06), 1, at(from+10.06))
	op = s.op("x:1", history.Unlock, at(2), at(2.1), history.Released)
	s.set(op, "a", at(2.05), 0, 0)
	s.set(op, "b", at(2.06), 1, at(from+10.06))
	s.fault("server-error", "", at(2.06), at(2.06))
	renewal := s.op("x:1", history.Renew, at(9), at(9.1), history.Renewed)
	s.set(renewal, "b", at(9.06), 1, at(60))
}
