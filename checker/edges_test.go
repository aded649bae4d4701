package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What a server remembers for a time it has forgotten at the end of that time, and not a moment before.
func TestARequestIsRememberedForItsTimeAlone(t *testing.T) {
	for again, want := range map[time.Duration]bool{20*sec - 1: true, 20 * sec: false} {
		s := newScript()
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.Idempotent))
		s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.ForceUnlock}, For: 20 * sec}}
		f := &facts{h: s.done()}
		if f.claims(contract.Idempotent, &Cause{executed: executions{call: history.ForceUnlock, again: again}}) != want {
			t.Errorf("a copy %s after the first effect: claimed is not %v", again, want)
		}
	}
}

// A lock that remembers an answer until its client has it forgets it when the client has it from any copy of the request, also one
// that did nothing. Until then it answers for a copy.
func TestAnAnswerThatDidNothingIsHeardAsWell(t *testing.T) {
	for name, c := range map[string]struct {
		got  time.Duration
		want RulingKind
	}{
		"heard before the copy": {at(10.002), KnownLimitation},
		"not heard":             {0, Defect},
		"heard after the copy":  {at(10.006), Defect},
	} {
		s := newScript()
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.Idempotent))
		s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Unlock}, For: 20 * sec, UntilAnswered: true}}
		s.h.Header.Limitations = []history.Limitation{{Claim: string(contract.Idempotent), Calls: []history.Kind{history.Unlock}, Source: "its manual"}}
		row := func(id, request int64, sent, at, got time.Duration, before, after int64) {
			s.h.Served = append(s.h.Served, history.Served{At: at, Sent: sent, Got: got, Client: "c1", Owner: "c1:1", Op: id, Lock: job, Request: request,
				Step: history.StepRelease, Text: "eval", Before: key("c1:1", before, sec*60), After: key("c1:1", after, sec*60)})
		}
		for i := range 3 {
			s.take("c1:1", at(float64(i)), at(float64(i)+0.002), 60*sec)
		}
		op := s.op("c1:1", history.Unlock, at(5), 0, "")
		op.Outcome, op.Executed, op.Answer, op.Lease, op.Repeats = "", at(5.001), history.Decremented, 60*sec, 1
		row(op.ID, 1, at(5), at(5.001), 0, 3, 2)
		row(0, 2, at(10), at(10.001), c.got, 2, 2)
		row(op.ID, 2, at(10), at(10.005), 0, 2, 1)
		s.fault("duplicate-message", "c1", at(4), at(11)).Effects = []history.Effect{history.MessageCopied}
		found := false
		for _, v := range verdict(t, s).Result(contract.Object).Violations {
			if v.Rule == contract.AtMostOnce {
				found = true
				if v.Ruling.Kind != c.want {
					t.Errorf("%s: %s: %s", name, v.Ruling, v.Text)
				}
			}
		}
		if !found {
			t.Errorf("%s: nobody saw that it took effect twice", name)
		}
	}
}

// A lock that remembers what took effect does not remember that it refused. So a copy of a refused unlock is another request to it, where
// a copy of an acquire came in between.
func TestARefusalIsNotRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		holds     int64 // of the owner, when the first copy of the unlock came
		effective bool  // the lock remembers only what took effect
		want      RulingKind
	}{
		"refused, by a lock that remembers what took effect": {0, true, KnownLimitation},
		"refused, by a lock that remembers every answer":     {0, false, Defect},
		"not refused, by the first lock":                     {1, true, Defect},
	} {
		s := newScript()
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.Idempotent))
		s.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.Unlock}, For: 20 * sec, Effective: c.effective}}
		s.h.Header.Limitations = []history.Limitation{{Claim: string(contract.Idempotent), Source: "its manual"}}
		holding := func(n int64) *history.KeyState {
			if n == 0 {
				return key("", 0, 0)
			}
			return key("c1:1", n, at(60))
		}
		row := func(op *history.Op, when time.Duration, before, after int64) {
			s.h.Served = append(s.h.Served, history.Served{At: when, Sent: op.Call, Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Request: op.ID,
				Text: "eval", Before: holding(before), After: holding(after)})
		}
		took := *s.take("c1:1", at(1), at(1.002), 60*sec)
		row(&took, at(1.001), 0, 1)
		if c.holds == 0 {
			gave := *s.unlock("c1:1", at(2), history.Released)
			row(&gave, at(2.001), 1, 0)
		}
		op := s.op("c1:1", history.Unlock, at(5), at(5.002), history.NotHeld)
		if op.Executed, op.Answer, op.Lease = at(6), history.Released, 60*sec; c.holds > 0 {
			op.Outcome, op.Repeats = history.Released, 1
		}
		row(op, at(5.001), c.holds, 0)
		s.h.Ops[took.ID-1].Repeats = 1
		row(&took, at(5.5), 0, 1)
		row(op, at(6), 1, 0)
		s.fault("duplicate-message", "c1", at(0), at(7)).Effects = []history.Effect{history.MessageCopied}
		found := false
		for _, v := range verdict(t, s).Result(contract.Object).Violations {
			if slices.Contains(v.Ops, op.ID) {
				found = true
				if v.Ruling.Kind != c.want {
					t.Errorf("%s: %s: %s", name, v.Ruling, v.Text)
				}
			}
		}
		if !found {
			t.Errorf("%s: nobody saw it", name)
		}
	}
}

// A release that a client sent by itself, for what an earlier call had left, may meet the owner's next hold. One that it sent later
// is the lock's own doing.
func TestAReleaseOfTheBackgroundMayBeLate(t *testing.T) {
	for name, c := range map[string]struct {
		sent time.Duration
		want RulingKind
	}{
		"sent before the owner locked again": {at(4), FailedAssumption},
		"sent after that":                    {at(6), Defect},
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 60*sec)
		s.unlock("c1:1", at(1), history.Released)
		s.take("c1:1", at(5), at(5.002), 60*sec)
		op := s.op("c1:1", history.Unlock, c.sent, at(7.001), history.Released)
		op.Aside, op.Lease = true, 60*sec
		s.h.Served = append(s.h.Served, history.Served{At: at(7), Sent: c.sent, Got: at(7.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Request: 9,
			Step: history.StepRelease, Text: "eval", Before: key("c1:1", 1, at(65)), After: key("", 0, 0)})
		s.fault("delay-message", "c1", at(3), at(7)).Effects = []history.Effect{history.MessageLate}
		s.take("c2:1", at(8), at(8.002), 60*sec)
		vs := verdict(t, s).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != c.want {
			t.Errorf("%s: %+v", name, vs)
		}
	}
}

// While an unlock of a group is under way, the members that it has not reached have the lease from before. One that has returned has
// set each of them.
func TestALeaseThatEndsInAnUnlockOfAGroup(t *testing.T) {
	for name, c := range map[string]struct {
		returned time.Duration
		want     RulingKind
	}{
		"under way": {at(3.2), FailedAssumption},
		"returned":  {at(2.95), Defect},
	} {
		s := newGroupScript(history.Multi, "a", "b")
		first := s.take("x:1", at(0), at(0.01), 0)
		s.set(first, "a", at(0.004), 1, at(30))
		s.set(first, "b", at(0.005), 1, at(30))
		again := s.take("x:1", at(1), at(1.01), 2*sec)
		s.set(again, "a", at(1.004), 2, at(3.004))
		s.set(again, "b", at(1.005), 2, at(3.005))
		op := s.op("x:1", history.Unlock, at(2.9), c.returned, history.Decremented)
		op.Executed, op.Lease, op.Watchdog = at(2.91), at(3.005)-at(2.91), true
		s.set(op, "a", at(2.91), 1, at(32.91))
		other := s.take("y:1", at(3.1), at(3.12), 0)
		s.set(other, "b", at(3.11), 1, at(33.11))
		other.Lock = "b"
		s.event(history.Expire, at(3.005))
		vs := verdict(t, s.script).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != c.want {
			t.Errorf("%s: %+v", name, vs)
		}
	}
}

// A call that asked for a lease cuts that of each member. The watchdog renews one of them in time, and the lease of the other ends: that
// was asked for. A lease that a call did not ask for was to be renewed.
func TestALeaseOfOneMemberThatWasAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		watchdog bool
		want     RulingKind
	}{
		"asked for":       {false, FailedAssumption},
		"of its watchdog": {true, Defect},
	} {
		s := newGroupScript(history.Multi, "a", "b")
		first := s.take("x:1", at(0), at(0.01), 0)
		s.set(first, "a", at(0.004), 1, at(30))
		s.set(first, "b", at(0.005), 1, at(30))
		again := s.take("x:1", at(1), at(1.01), 10*sec)
		again.Watchdog = c.watchdog
		s.set(again, "a", at(1.004), 2, at(11.004))
		s.set(again, "b", at(1.005), 2, at(11.005))
		renewal := s.op("x:1", history.Renew, at(10), at(10.1), history.Renewed)
		renewal.Executed, renewal.Lease, renewal.Watchdog = at(10.05), at(11.005)-at(10.05), true
		s.set(renewal, "a", at(10.05), 2, at(40.05))
		s.event(history.Expire, at(11.005))
		other := s.take("y:1", at(12), at(12.02), 0)
		s.set(other, "b", at(12.01), 1, at(42.01))
		other.Lock = "b"
		vs := verdict(t, s.script).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != c.want {
			t.Errorf("%s: %+v", name, vs)
		}
	}
}

// A release of the background is for what its client had abandoned. When that was lost with the key, it takes away what the owner has got
// since: the key was lost. A release for an attempt that was told is the lock's own doing.
func TestAReleaseForWhatWasLostBefore(t *testing.T) {
	for name, c := range map[string]struct {
		outcome history.Outcome
		want    RulingKind
	}{
		"of which its owner had not heard": {history.Unknown, FailedAssumption},
		"of which its owner was told":      {history.Acquired, Defect},
	} {
		s := newScript()
		first := s.op("c1:1", history.TryLock, at(1), at(1.1), c.outcome)
		first.Lease, first.Watchdog, first.Evidence, first.Executed, first.Answer = dog, true, history.Executed, at(1.05), history.Acquired
		s.unlock("c1:1", at(1.2), history.Unknown).Evidence = history.NotSent
		s.event(history.Delete, at(1.5)).Note = "deleted from outside"
		s.fault("delete-key", "", at(1.5), at(1.5)).Lock = job
		s.take("c1:1", at(2), at(2.1), 60*sec)
		op := s.op("c1:1", history.Unlock, at(2.5), at(2.7), history.Released)
		op.Aside, op.Executed, op.Lease = true, at(2.6), 0
		s.take("c2:1", at(8), at(8.002), 60*sec)
		vs := verdict(t, s).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != c.want {
			t.Errorf("%s: %+v", name, vs)
		}
	}
}

// A fault takes the members away while an unlock of a re-entry is under way: it ended the hold. Otherwise the unlock gave back too much.
func TestMembersThatAreLostWithinAnUnlock(t *testing.T) {
	for name, c := range map[string]struct {
		lost time.Duration
		want RulingKind
	}{
		"within": {at(3.01), FailedAssumption},
		"never":  {0, Defect},
	} {
		s := newGroupScript(history.Multi, "a", "b")
		for i, when := range []float64{1, 2} {
			op := s.take("x:1", at(when), at(when+0.1), 0)
			s.set(op, "a", at(when+0.02), int64(i+1), at(60))
			s.set(op, "b", at(when+0.05), int64(i+1), at(60))
		}
		op := s.op("x:1", history.Unlock, at(3), at(3.2), history.Unknown)
		op.Executed, op.Answer, op.Evidence = at(3.01)-1, history.Released, history.Executed
		s.set(op, "a", at(3.005), 1, at(60))
		for _, key := range []string{"a", "b"} {
			if c.lost == 0 {
				break
			}
			s.set(&history.Op{Client: "faults", Owner: "faults"}, key, c.lost, 0, 0)
			s.h.Served[len(s.h.Served)-1].Step = history.StepAdmin
		}
		if c.lost > 0 {
			s.fault("delete-key", "", c.lost, c.lost)
		}
		other := s.take("y:1", at(3.1), at(3.15), 0)
		s.set(other, "a", at(3.12), 1, at(60))
		s.set(other, "b", at(3.14), 1, at(60))
		vs := verdict(t, s.script).Result(contract.Exclusion).Violations
		if len(vs) != 1 || vs[0].Ruling.Kind != c.want {
			t.Errorf("%s: %+v", name, vs)
		}
	}
}

// Of a lease that ends nobody tells. Who waits has seen the longest lease that was there since somebody last told of a release.
func TestAWaiterKnowsOfNoEndThatNobodyTold(t *testing.T) {
	rows := []history.Served{
		{At: at(1), Before: key("", 0, 0), After: key("c1:1", 1, at(30))},
		{At: at(2), Before: key("c1:1", 1, at(30)), After: key("c1:1", 2, at(3))}, // a re-entry cuts the lease
		{At: at(5), Before: key("", 0, 0), After: key("c1:1", 1, at(6))},
	}
	told := func(rows []history.Served) time.Duration {
		f := &facts{h: &history.History{Served: rows}, end: at(100)}
		states := statesOf(f, []int{0, 1, 2})
		return states[len(states)-1].told
	}
	if got := told(rows); got != at(30) {
		t.Errorf("told at %v, want 30 s", got)
	}
	rows[1].After = key("", 0, 0) // it is released, and that is told
	if got := told(rows); got != at(6) {
		t.Errorf("told at %v, want 6 s", got)
	}
}

// Who was told that a hold is lost, while a call was under way that entered it once more, has both, if the server says so: also where an
// unlock ends in an error. Where the server says that the lock is free there is nothing to renew.
func TestALostHoldThatWasEnteredOnceMoreIsThere(t *testing.T) {
	for told, want := range map[history.Outcome]string{history.Decremented: "", history.Released: defect} {
		s := claiming(newScript(), contract.TellsLoss)
		s.take("c1:1", at(0), at(4), 0)
		s.event(history.Lost, at(29.7)).Owner = "c1:1"
		s.h.Events[0].Client = "c1"
		s.take("c1:1", at(29), at(30), 0)
		op := s.op("c1:1", history.Unlock, at(31), at(31.002), history.Unknown)
		op.Error, op.Evidence, op.Executed, op.Answer, op.Lease = "context deadline exceeded", history.Executed, at(31.001), told, dog
		s.renew("c1:1", at(40), history.Renewed)
		if got := ruledOn(t, s, contract.NoRenewalAfter); got != want {
			t.Errorf("%s: %q, want %q", told, got, want)
		}
	}
}
