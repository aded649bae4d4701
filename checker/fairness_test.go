package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A lineScript writes a history of a fair lock by hand: each command with who holds the lock afterwards, and who waits.
type lineScript struct {
	*script
	now history.KeyState
}

// newLine is the beginning: c1:1 holds the lock, and c2:1 begins to wait at 1 s.
func newLine(claims ...contract.Claim) (s *lineScript, first *history.Op) {
	s = &lineScript{script: newScript()}
	s.h.Ops = make([]history.Op, 0, 16) // calls are changed when later ones are known
	s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.Fair))
	for _, c := range claims {
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(c))
	}
	s.h.Header.Layout.Queue, s.h.Header.PlaceKept = "queue", 20*sec
	s.gets("c1:1", s.call("c1:1", history.Lock, 0, 0.004, history.Acquired), 0.002)
	first = s.call("c2:1", history.Lock, 1, 0, "")
	s.executes(first, 1.001, "c1:1", "c2:1")
	return s, first
}

// call adds a call that returns at a time; 0: never.
func (s *lineScript) call(owner string, kind history.Kind, call, ret float64, out history.Outcome) *history.Op {
	op := s.op(owner, kind, at(call), at(ret), out)
	op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
	if kind.Acquires() || kind.Unlocks() {
		op.Lease, op.Watchdog = dog, true
	}
	return op
}

// executes has the server execute a command of a call.
func (s *lineScript) executes(op *history.Op, when float64, holder string, line ...string) *history.Served {
	before, after := s.now, history.KeyState{Waiting: line}
	if holder != "" {
		after.Holdings, after.Deadline = []history.Holding{{Owner: holder, Count: 1}}, at(when)+dog
		if before.Count(holder) > 0 {
			after.Deadline = before.Deadline
		}
	}
	s.now = after
	r := history.Served{At: at(when), Sent: at(when) - lat, Got: at(when) + lat, Step: history.StepAdmin, Lock: s.lock, Text: "FLUSHALL",
		Before: &before, After: &after}
	if op != nil {
		r.Client, r.Owner, r.Op, r.Step, r.Text = op.Client, op.Owner, op.ID, history.StepAcquire, fmt.Sprintf("evalsha take %d", len(s.h.Served))
		if op.Kind.Unlocks() {
			r.Step, r.Text = history.StepRelease, "evalsha give"
		}
		op.Evidence, op.Executed, op.Answer = history.Executed, at(when), history.Busy
	}
	s.h.Served = append(s.h.Served, r)
	return &s.h.Served[len(s.h.Served)-1]
}

// gets has the server grant the lock.
func (s *lineScript) gets(owner string, op *history.Op, when float64) {
	s.executes(op, when, owner, slices.DeleteFunc(slices.Clone(s.now.Waiting), func(o string) bool { return o == owner })...)
	op.Answer = history.Acquired
}

// frees has c1:1 give the lock back.
func (s *lineScript) frees(when float64) {
	op := s.call("c1:1", history.Unlock, when-0.001, when+0.001, history.Released)
	s.executes(op, when, "", s.now.Waiting...)
	op.Answer = history.Released
}

// overtaken is the end: c3:1, who began to wait at 2 s, gets the lock at a time, and c2:1 never does.
func (s *lineScript) overtaken(op *history.Op, when float64) *lineScript {
	s.frees(when - 0.01)
	s.gets("c3:1", op, when)
	op.Return, op.Outcome = at(when)+lat, history.Acquired
	return s
}

// passedOver is a history in which c3:1, who came second, is the first to get the lock.
func passedOver(claims ...contract.Claim) *lineScript {
	s, _ := newLine(claims...)
	second := s.call("c3:1", history.Lock, 2, 0, "")
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1")
	return s.overtaken(second, 10)
}

// lostPlace is passedOver where all places are gone at 5 s.
func lostPlace(fault string) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	second := s.call("c3:1", history.Lock, 2, 0, "")
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1")
	if fault != "" {
		s.fault(fault, "", at(5), 0)
	}
	s.executes(nil, 5, "c1:1")
	s.executes(second, 6, "c1:1", "c3:1")
	s.executes(first, 7, "c1:1", "c3:1", "c2:1")
	return s.overtaken(second, 10)
}

// droppedPlace is passedOver where c3:1 drops the place of c2:1, which had asked at 1 s, at a time.
func droppedPlace(when float64, paused bool, claims ...contract.Claim) *lineScript {
	s, _ := newLine(claims...)
	second := s.call("c3:1", history.Lock, 2, 0, "")
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1")
	if paused {
		s.fault("pause-client", "c2", at(1.5), at(when+8))
	}
	s.executes(second, when, "c1:1", "c3:1")
	return s.overtaken(second, when+4)
}

// jumpedAhead is droppedPlace at 20.5 s, half a second too soon, where c2:1 is paused and the server's clock has jumped at a time.
func jumpedAhead(when float64, by time.Duration) *lineScript {
	s := droppedPlace(20.5, true, contract.KeepsPlace)
	s.fault("clock-jump", "", at(when), 0)
	s.event(history.ClockJump, at(when)).By = by
	return s
}

// askedAgain is droppedPlace at 22 s where c2:1 asks once more at 5 s, or the server executes a copy of its attempt then.
func askedAgain(copied bool) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.Idempotent)
	s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Lock}, For: time.Minute}}
	text := s.h.Served[len(s.h.Served)-1].Text
	second := s.call("c3:1", history.Lock, 2, 0, "")
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1")
	if r := s.executes(first, 5, "c1:1", "c2:1", "c3:1"); copied {
		r.Text = text
	}
	s.fault("pause-client", "c2", at(5.5), at(30))
	s.executes(second, 22, "c1:1", "c3:1")
	return s.overtaken(second, 26)
}

// comesBack is a free lock that c2:1 waits for until 26 s: it gave up the place of an earlier call, and has a new one behind c3:1, who died,
// or was cancelled, at 9 s.
func comesBack(dies bool) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
	other := s.call("c3:1", history.Lock, 6, 0, "")
	s.executes(other, 6.001, "c1:1", "c2:1", "c3:1")
	s.frees(6.5)
	again := s.call("c2:1", history.TryLock, 7, 26.002, history.Acquired)
	again.Wait = 30 * sec
	s.executes(first, 7.5, "", "c3:1").Step = history.StepRelease
	s.executes(again, 8, "", "c3:1", "c2:1")
	if dies {
		s.fault("kill-client", "c3", at(9), 0)
		s.died("c3", at(9))
	} else {
		other.Cancel, other.Return, other.Outcome = 3*sec, at(9), history.Failed
	}
	s.executes(again, 17, "", "c3:1", "c2:1")
	s.gets("c2:1", again, 26.001)
	return s
}

// abandoned is a free lock that c3:1 is refused at a time: c2:1, who waited, was cancelled at 5 s, or died, and has its place.
func abandoned(dies bool, when float64, claims ...contract.Claim) *lineScript {
	s, first := newLine(claims...)
	if dies {
		s.fault("kill-client", "c2", at(5), 0)
		s.died("c2", at(5))
	} else {
		first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
	}
	s.frees(10)
	op := s.call("c3:1", history.TryLock, when-0.001, when+0.001, history.Busy)
	s.executes(op, when, "", "c2:1")
	return s
}

// headDies is a free lock whose head died at 5 s: its place is kept until 21.001 s. c3:1 asks at 12 s, and hears of that. It gets the lock
// at a time.
func headDies(when float64) *lineScript {
	s, _ := newLine(contract.KeepsPlace, contract.LeavesLine)
	s.fault("kill-client", "c2", at(5), 0)
	s.died("c2", at(5))
	s.frees(10)
	op := s.call("c3:1", history.Lock, 12, 0, "")
	s.executes(op, 12.001, "", "c2:1", "c3:1")
	s.gets("c3:1", op, when)
	op.Return, op.Outcome = at(when)+lat, history.Acquired
	return s
}

// lateAttempt is abandoned where messages of c2:1 are late, so that an attempt of its keeps the place at 9.5 s, if it comes, and nothing gives it up.
func lateAttempt(comes bool) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	s.fault("delay-message", "c2", at(4), at(28))
	first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
	s.frees(8)
	if comes {
		s.executes(first, 9.5, "", "c2:1").Got = 0
	}
	op := s.call("c3:1", history.TryLock, 25, 25.002, history.Busy)
	s.executes(op, 25.001, "", "c2:1")
	return s
}

// broughtBack is a free lock that c3:1 is refused for the place of c2:1, who gave it up at 5 s, and whom the server has again as the first from 6 s.
func broughtBack(fault string) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
	op := s.call("c3:1", history.Lock, 2, 12, history.Acquired)
	s.executes(op, 2.001, "c1:1", "c2:1", "c3:1")
	s.executes(first, 5.001, "c1:1", "c3:1").Step = history.StepRelease
	if fault != "" {
		s.fault(fault, "", at(6), 0)
	}
	s.executes(op, 7, "c1:1", "c2:1", "c3:1") // which is the first command that shows it
	s.frees(8)
	s.executes(op, 9, "", "c2:1", "c3:1")
	s.gets("c3:1", op, 11.999)
	return s
}

// takesUp has c2:1, whose command that gives its place up at 5 s may be late, try once without waiting and then wait with that place. It is
// granted the lock before c3:1, who waited sooner.
func takesUp(late bool) *lineScript {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	if late {
		s.fault("delay-message", "c2", at(4.9), at(8))
	}
	first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
	other := s.call("c3:1", history.Lock, 6, 0, "")
	s.executes(other, 6.001, "c1:1", "c2:1", "c3:1")
	s.executes(s.call("c2:1", history.TryLock, 8, 8.004, history.Busy), 8.002, "c1:1", "c2:1", "c3:1")
	again := s.call("c2:1", history.Lock, 8.005, 10.001, history.Acquired)
	s.executes(again, 8.006, "c1:1", "c2:1", "c3:1")
	s.frees(9.99)
	s.gets("c2:1", again, 10)
	return s
}

// wokenWhoLeft is a lock that is free from 10 s, when messages of c3:1 begin to be late for half a second. The server wakes the head, c2:1,
// whose time was over at 9.5 s and who leaves the queue at a time. c3:1 gets the lock when the server told it to ask again, or long after.
func wokenWhoLeft(when float64, asTold bool, claims ...contract.Claim) *lineScript {
	s, first := newLine(claims...)
	first.Kind, first.Wait, first.Return, first.Outcome = history.TryLock, 8500*time.Millisecond, at(10.31), history.Busy
	second := s.call("c3:1", history.Lock, 2, 26.002, history.Acquired)
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1").Reply = "24000"
	leave := func() { s.executes(first, when, s.holder(), "c3:1").Step = history.StepRelease }
	if when < 10 {
		leave()
	}
	s.frees(10)
	if when > 10 {
		leave()
	}
	s.fault("delay-message", "c3", at(9.99), at(10.5))
	got := 26.001
	if !asTold {
		got = 30
	}
	s.gets("c3:1", second, got)
	second.Return = at(got) + lat
	return s
}

// holder is who holds the lock now; "": nobody does.
func (s *lineScript) holder() string {
	if len(s.now.Holdings) == 0 {
		return ""
	}
	return s.now.Holdings[0].Owner
}

// restless is a tryLock of c3:1 that asks 300 times in 2 s for a lock that is kept for c2:1, or that c1:1 holds.
func restless(free bool, claims ...contract.Claim) *lineScript {
	s, first := newLine(claims...)
	holder := "c1:1"
	if free {
		first.Cancel, first.Return, first.Outcome = 4*sec, at(5), history.Failed
		s.frees(10)
		holder = ""
	}
	op := s.call("c3:1", history.TryLock, 12, 14, history.Busy)
	op.Wait = 2 * sec
	for i := range 300 {
		s.executes(op, 12.001+float64(i)*0.006, holder, "c2:1", "c3:1")
	}
	return s
}

// restlessTwice is restless where the server executes as many commands once more when the call is over: copies, or others that it sent.
func restlessTwice(copied bool) *lineScript {
	s := restless(true)
	op := &s.h.Ops[len(s.h.Ops)-1]
	first := len(s.h.Served) - 300
	for i := range 300 {
		s.h.Served[first+i].Request = int64(i + 1)
		r := s.executes(op, 14.5+float64(i)*0.001, "", "c2:1", "c3:1")
		r.Request = int64(1000 + i)
		if copied {
			r.Request = int64(i + 1)
		}
	}
	return s
}

// sidesOfQueues are the sides of the table's rows that fair locks have.
func sidesOfQueues() map[string][]side {
	const keeps, leaves = contract.KeepsPlace, contract.LeavesLine
	return map[string][]side{
		"queue-lost": {
			{contract.QueueOrder, true, lostPlace("failover")},
			{contract.QueueOrder, true, lostPlace("delete-key")},
			{contract.QueueOrder, false, lostPlace("")},
			{contract.QueueOrder, false, lostPlace("stop-replication")},
			{contract.QueueOrder, false, passedOver()},
			{contract.QueueOrder, false, passedOver(keeps, leaves)},
			{contract.QueueBusy, true, broughtBack("failover")},
			{contract.QueueBusy, false, broughtBack("")},
		},
		"place-over": {
			{contract.QueueOrder, true, droppedPlace(21.5, false)},
			{contract.QueueOrder, false, droppedPlace(20.5, false)}, // before the place was over
			{contract.QueueOrder, false, droppedPlace(21.5, false, keeps)},
		},
		"place-not-kept": {
			{contract.QueueOrder, true, droppedPlace(22, true, keeps)},
			{contract.QueueOrder, false, droppedPlace(22, false, keeps)},
			{contract.QueueOrder, false, droppedPlace(15, true, keeps)},
			{contract.QueueOrder, false, droppedPlace(20.5, true, keeps)},
			{contract.QueueOrder, true, jumpedAhead(5, 600*ms)},
			{contract.QueueOrder, false, jumpedAhead(5, 400*ms)},
			{contract.QueueOrder, false, jumpedAhead(0.5, 600*ms)}, // before c2:1 asked
			{contract.QueueOrder, true, askedAgain(true)},
			{contract.QueueOrder, false, askedAgain(false)},
		},
		"place-left": {
			{contract.QueueBusy, true, abandoned(false, 12)},
			{contract.QueueBusy, true, abandoned(true, 30)},
			{contract.QueueBusy, false, abandoned(false, 12, leaves)},
			{contract.FreeIsTaken, true, wokenWhoLeft(10.3, true)},
			{contract.FreeIsTaken, false, wokenWhoLeft(9.8, true)},
			{contract.FreeIsTaken, false, wokenWhoLeft(10.3, true, leaves)},
			{contract.FreeIsTaken, false, wokenWhoLeft(10.3, false)},
		},
		"place-kept": {
			{contract.QueueBusy, true, abandoned(true, 12, keeps, leaves)},
			{contract.QueueBusy, false, abandoned(true, 25, keeps, leaves)},
			{contract.QueueBusy, false, abandoned(false, 12, keeps, leaves)},
			{contract.QueueOrder, true, takesUp(true)},
			{contract.QueueOrder, false, takesUp(false)},
			{contract.QueueBusy, true, lateAttempt(true)},
			{contract.QueueBusy, false, lateAttempt(false)},
			{contract.FreeIsTaken, true, headDies(21.5)},
			{contract.FreeIsTaken, false, headDies(24)},
			{contract.FreeIsTaken, true, comesBack(true)},
			{contract.FreeIsTaken, false, comesBack(false)},
		},
		"place-ahead": {
			{contract.WaitsQuietly, true, restless(true)},
			{contract.WaitsQuietly, false, restless(true, keeps)},
			{contract.WaitsQuietly, false, restless(false)},
			{contract.WaitsQuietly, true, restlessTwice(true)},
			{contract.WaitsQuietly, false, restlessTwice(false)},
		},
	}
}

// A fair lock is granted in order, whatever else happens between: nobody is accused.
func TestAFairLockInOrderIsFair(t *testing.T) {
	s, first := newLine(contract.KeepsPlace, contract.LeavesLine)
	second := s.call("c3:1", history.TryLock, 2, 11.002, history.Acquired)
	second.Wait = 20 * sec
	s.executes(second, 2.001, "c1:1", "c2:1", "c3:1")
	s.frees(10)
	s.gets("c2:1", first, 10.01)
	first.Return, first.Outcome = at(10.011), history.Acquired
	free := s.call("c2:1", history.Unlock, 10.5, 10.502, history.Released)
	s.executes(free, 10.501, "", "c3:1")
	free.Answer = history.Released
	s.gets("c3:1", second, 11)
	s.h.End.At = 12 * time.Second
	if r := verdict(t, s.script).Result(contract.Fairness); r.Status != Holds {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
}

// Who holds a reentrant lock does not wait for it, whoever else does. Of an idempotent lock a copy of what was asked before the hold may be
// refused. Other locks' attempts are all alike.
func TestAHolderIsLetIn(t *testing.T) {
	for _, c := range []struct {
		name  string
		fair  bool
		write func(s *lineScript, op *history.Op)
		want  bool
	}{
		{"refused at first", true, func(s *lineScript, op *history.Op) {
			s.executes(op, 5.001, "c1:1", "c2:1")
		}, true},
		{"refused at first, by a lock that is not fair", false, func(s *lineScript, op *history.Op) {
			s.executes(op, 5.001, "c1:1")
		}, true},
		{"let in at once", true, func(*lineScript, *history.Op) {}, false},
		{"an error", true, func(s *lineScript, op *history.Op) {
			s.executes(op, 5.001, "c1:1", "c2:1").Reply = "BUSY Redis is busy"
		}, false},
		{"an attempt like an earlier one", true, func(s *lineScript, op *history.Op) {
			s.executes(op, 5.001, "c1:1", "c2:1").Text = s.h.Served[0].Text
		}, true},
		{"an attempt like an earlier one, of a lock whose unlocks are idempotent", true, func(s *lineScript, op *history.Op) {
			claiming(s.script, contract.Idempotent)
			s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Unlock}, For: time.Minute}}
			s.executes(op, 5.001, "c1:1", "c2:1").Text = s.h.Served[0].Text
		}, true},
		{"a copy of an earlier attempt, of an idempotent lock", true, func(s *lineScript, op *history.Op) {
			claiming(s.script, contract.Idempotent)
			s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Lock}, For: time.Minute}}
			s.executes(op, 5.001, "c1:1", "c2:1").Text = s.h.Served[0].Text
		}, false},
	} {
		s, _ := newLine()
		if !c.fair {
			s.h.Header.Abilities, s.h.Header.Layout.Queue, s.now.Waiting = []string{"reentrant", "watchdog"}, "", nil
		}
		op := s.call("c1:1", history.Lock, 5, 7.002, history.Acquired)
		c.write(s, op)
		s.gets("c1:1", op, 7)
		s.now.Holdings[0].Count = 2
		s.h.Served[len(s.h.Served)-1].After.Holdings = []history.Holding{{Owner: "c1:1", Count: 2}}
		if got := slices.Contains(rules(verdict(t, s.script), contract.Object), contract.HolderLetIn); got != c.want {
			t.Errorf("%s: accused: %t, want %t", c.name, got, c.want)
		}
	}
}

// Who unlocks a lock that nobody holds is told that it did, by a lock that says so of itself, and not by another.
func TestAnUnlockOfNobodysLock(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims []contract.Claim
		held   bool // when it first came
		want   bool
	}{
		{"free", []contract.Claim{contract.UnlocksFree}, false, false},
		{"held", []contract.Claim{contract.UnlocksFree}, true, true},
		{"free, of a lock that says nothing", nil, false, true},
	} {
		for _, again := range []bool{false, true} { // a copy comes when somebody else has it
			s, first := newLine(c.claims...)
			if !c.held {
				s.frees(5)
			}
			op := s.call("c3:1", history.Unlock, 6, 9, history.Released)
			holder := map[bool]string{true: "c1:1"}[c.held]
			s.executes(op, 6.001, holder, "c2:1")
			if !c.held {
				s.gets("c2:1", first, 7)
				first.Return, first.Outcome, holder = at(7.001), history.Acquired, "c2:1"
			}
			if again {
				s.executes(op, 8, holder, s.now.Waiting...)
			}
			op.Answer = history.NotHeld
			if got := verdict(t, s.script).Result(contract.Object).Status == Broken; got != c.want {
				t.Errorf("%s, again: %t: accused: %t, want %t", c.name, again, got, c.want)
			}
		}
	}
}

// A waiter whose place is kept asks again when half of that time is over. Until then it does not know that the lock is free, unless it asked in between.
func TestAWaiterThatAskedForAFreeLockKnows(t *testing.T) {
	for _, tt := range []struct {
		asks bool // when the lock is free
		gets float64
		kind RulingKind
	}{{false, 34, FailedAssumption}, {false, 40, Defect}, {true, 40, Defect}} {
		s, op := newLine(contract.KeepsPlace)
		s.executes(op, 25, "c1:1", "c2:1")
		s.event(history.Expire, at(30.002))
		s.now.Holdings, s.now.Deadline = nil, 0
		if tt.asks {
			s.executes(op, 31, "", "c2:1")
		}
		s.gets("c2:1", op, tt.gets)
		op.Return, op.Outcome = at(tt.gets)+lat, history.Acquired
		if x := broken(verdict(t, s.script), contract.FreeIsTaken); x == nil || x.Ruling.Kind != tt.kind {
			t.Errorf("asks: %v, gets it at %v s: %+v", tt.asks, tt.gets, x)
		}
	}
}
