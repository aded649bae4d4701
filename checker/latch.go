package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

func latchSpec(f *facts) specification[model.LatchState] {
	var kind model.Latch
	return specification[model.LatchState]{
		step: kind.Step, environment: kind.Environment, since: f.inVainFrom,
		shown: shownCount, fits: func(s model.LatchState, a *act) bool {
			return len(a.after.Holdings) == 0 && a.after.Number() == s.Count
		},
		misfit: func(_, after model.LatchState, a *act) (contract.Rule, string) {
			return contract.KeyFits, fmt.Sprintf("the key says that %s, but by the answers %s", shownCount(*a.after), after)
		},
		resume: func(s model.LatchState, a *act) model.LatchState {
			switch op := a.op; {
			case op.Kind == history.TrySetCount && answer(op) == history.OK:
				s.Count = op.Value
			case op.Kind == history.CountDown && answer(op) == history.OK:
				s.Count = max(s.Count-1, 0)
			case op.Kind == history.DeleteLatch && answer(op) == history.Released:
				s = model.LatchState{}
			}
			return s
		},
		untrue: func(s model.LatchState, op history.Op) error {
			rule := contract.ReturnsAtZero
			if op.Outcome == history.Busy {
				rule = contract.TimeIsUpAbove
			}
			return &model.Violation{Rule: rule, State: s, Op: op}
		},
	}
}

// shownCount is the state of the model for a key that the server log shows.
func shownCount(k history.KeyState) model.LatchState {
	if k.Left == nil {
		return model.LatchState{}
	}
	s, err := model.Latch{}.Environment(model.LatchState{}, history.Event{Kind: history.Restore, Count: *k.Left, Deadline: k.Deadline})
	if err != nil {
		panic(err) // nothing refuses what is brought back
	}
	return s
}

// inVainFrom is from when on the answer of a call may be true. A wait that ends in vain ends with a look at the count, unless a fault
// keeps its client from looking, nobody counted down to 0, or its caller gave it up before: a key that ends, or is deleted, announces nothing. Any
// other answer may be true from the call on.
func (f *facts) inVainFrom(l *lockFacts, op *history.Op) time.Duration {
	if op.Kind != history.TryAwait || op.Outcome != history.Busy || op.Wait == 0 || op.Pending() {
		return op.Call
	}
	unannounced := slices.ContainsFunc(l.environment, func(e *history.Event) bool { return op.Call <= e.At && e.At <= op.Return }) ||
		slices.ContainsFunc(l.ops, func(o *history.Op) bool {
			return o.Kind == history.DeleteLatch && o.Call <= op.Return && f.until(o) >= op.Call
		})
	if unannounced {
		return op.Call
	}
	slack, over := f.prompt(), op.Call+op.Wait
	from := over - slack
	if op.Return < from {
		return op.Call
	}
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Got >= over-slack && s.Got <= op.Return {
			from = min(from, s.Sent) // it looked before, and had the answer then
		}
	}
	if from <= op.Call || len(f.obstacles(op.Client, l.name, from, op.Return, f.answerTime(), hinders)) > 0 {
		return op.Call
	}
	return from
}

// passes reports whether somebody was told by an operation that a count is 0.
func passes(op *history.Op) bool {
	return op.Kind.Awaits() && op.Outcome == history.OK && !op.Pending()
}

// passesOf is how often callers were told so.
func passesOf(l *lockFacts) (n int) {
	for _, op := range l.ops {
		if passes(op) {
			n++
		}
	}
	return n
}

// judgePassing looks for callers who passed a latch that had not been counted down as often as it was set to. It knows
// what callers know, and accuses nobody in doubt: what is set counts from its return on, and a count-down from its call.
func judgePassing(_ context.Context, f *facts) Result {
	found := f.found(contract.Exclusion)
	all := 0
	for _, l := range f.of(history.ALatch) {
		all += passesOf(l)
		for _, op := range l.ops {
			if passes(op) {
				f.tooEarly(l, op, &found)
			}
		}
	}
	return conclude("sets and count-downs",
		fmt.Sprintf("%s, each when enough had been counted down", count(all, "passage")),
		fmt.Sprintf("%s of %s came too early", count(found.all, "passage"), count(all, "passage")), found)
}

// tooEarly adds the passage of a caller that came too early.
func (f *facts) tooEarly(l *lockFacts, op *history.Op, found *violations) {
	since := f.touchedBy(l, op.Return) // what befell the key from outside settles all before it
	set, downs := int64(0), int64(0)
	if since == 0 {
		set = f.firstKey(l)
	}
	void := func(o *history.Op) bool { return o.Outcome == history.Failed && o.Evidence != history.Executed }
	for _, o := range l.ops { // and so does who deletes it, at some time of its call
		if o.Kind == history.DeleteLatch && o.Call <= op.Return && !void(o) && answer(o) != history.NotHeld && !unsent(o) {
			since = max(since, min(f.effectBy(o), op.Return))
		}
	}
	for i := range l.acts { // once more by a copy, too
		if a := &l.acts[i]; a.op != nil && a.again && a.op.Kind == history.DeleteLatch && a.at <= op.Return {
			since = max(since, a.at)
		}
	}
	if since > 0 {
		set = 0
	}
	for _, o := range l.ops {
		switch {
		case o.Kind == history.TrySetCount && o.Call >= since && o.Outcome == history.OK && !o.Pending() && o.Return <= op.Call:
			set += o.Value
		case o.Kind == history.CountDown && !o.Aside && !void(o) && (o.Uncertain() || f.until(o) >= since) && o.Call <= op.Return:
			downs++
		}
	}
	if downs >= set {
		return
	}
	found.addAt(op.Return, func() Violation {
		return Violation{Rule: contract.PassesCounted, Lock: l.name, From: op.Return, To: op.Return, Ops: []int64{op.ID}, Owners: []string{op.Owner},
			Text:  fmt.Sprintf("%s passed %s at %s, when it had been counted down %s of %s", op.Owner, l.name, Stamp(op.Return), count(int(downs), "time"), Thousands(set)),
			Cause: f.openedEarly(l, op.Return, set-downs)}
	})
}

// effectBy is when a call has taken effect at the latest, if it has.
func (f *facts) effectBy(op *history.Op) time.Duration {
	switch {
	case op.Evidence == history.Executed:
		return op.Executed
	case op.Uncertain() && op.Until == 0:
		return f.end
	case op.Uncertain():
		return op.Until
	}
	return op.Return
}

// openedEarly says why a latch was at 0 before it was counted down often enough: so many count-downs were missing.
func (f *facts) openedEarly(l *lockFacts, at time.Duration, missing int64) Cause {
	if c := f.givenAgain(l, at, func(*history.Op) string { return "counted" }); c != nil {
		return *c
	}
	if c, lost := f.serverLost(l, 0, at); lost != nil {
		return c
	}
	calls := f.unseenTwice(l, at, func(op *history.Op) bool { return op.Kind == history.CountDown })
	for _, c := range calls {
		missing -= int64(c.times)
	}
	if missing <= 0 {
		return f.maybeTwice(calls[0].op, calls[0].faults)
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("no fault explains why somebody passed %s", l.name)}
}

// judgeLatchLiveness asks whether waiters returned when the count was 0, and whether each count-down came to count.
func judgeLatchLiveness(_ context.Context, f *facts) Result {
	if f.h.Header.LatencyMax == 0 {
		return notClaimed("the history does not say how slow a message may be, so that nothing can be called late")
	}
	found := f.found(contract.Liveness)
	waits := 0
	for _, l := range f.of(history.ALatch) {
		all := levels(l)
		for _, op := range l.ops {
			if !callsFor(op) {
				continue
			}
			if waits++; f.seesCounts() { // else nobody knows what the count was
				f.starving(l, all, f.awaiting(l, all, op), &found)
			}
		}
		f.patience(l, &found)
		f.lostDowns(l, all, &found)
		f.load(l, &found)
		f.failures(l, &found)
		f.countedCallsReturn(l, &found)
	}
	f.residue(f.of(history.ALatch), &found)
	return conclude("times of count-downs and returns",
		fmt.Sprintf("%s, none was late and no count-down was lost", count(waits, "waiting call")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(waits, "waiting call")), found)
}

// awaiting is a waiter for a count of 0. Once it has looked it waits for the end of the round that it saw, whatever
// comes after.
func (f *facts) awaiting(l *lockFacts, all []level, op *history.Op) thirst {
	over := len(all) // from which level on its round is over
	if looked := f.looked(l, op); looked > 0 {
		i, _ := slices.BinarySearchFunc(all, looked, func(v level, at time.Duration) int { return upTo(v.from, at) })
		for over = max(i-1, 0); over < len(all) && all[over].n > 0; over++ {
		}
	}
	return thirst{op, contract.AwaitReturns, func(i int) bool { return i >= over || all[i].n <= 0 },
		func(int64) string {
			return fmt.Sprintf("the count of %s had come to 0, and %s waited on", l.name, op.Owner)
		},
		func(from, to time.Duration, _ int64) Cause {
			ended := levelAt(all, from)
			if over < len(all) && all[over].from <= from {
				ended = all[over]
			}
			return f.notPassed(l, all, op, ended.from, from, to)
		}}
}

// looked is when the server first executed a command of a call of which its client got the answer; 0: it did not.
func (f *facts) looked(l *lockFacts, op *history.Op) time.Duration {
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Got > 0 && !refused(s) {
			return s.At
		}
	}
	return 0
}

// notPassed says why a waiter did not return from a time on, until another, though its round had ended.
func (f *facts) notPassed(l *lockFacts, all []level, op *history.Op, ended, from, to time.Duration) Cause {
	if c, lost := f.serverLost(l, ended, to); lost != nil && f.touchedBy(l, lost.At) == lost.At {
		return c // it has the round again that had ended, whatever befell that then
	}
	if c, known := f.keptFrom(l, op, from, to); known {
		if c.Class == contract.Missed && f.h.Can(string(contract.LooksAgain)) {
			looks := enough(ended, f.h.Header.WatchdogTimeout+f.prompt(), f.obstaclesOf(op, l.name, to))
			if again := setAgain(all, op, ended, looks); again > 0 {
				c.Class, c.Text = contract.SetAgain, fmt.Sprintf("the latch was set again at %s, before it looked; while it waited %s", Stamp(again), f.describeAll(c.Faults))
			}
		}
		return c
	}
	if ended > 0 && f.touchedBy(l, ended) == ended {
		faults := f.struckBy("", l.name, ended, ended, append(history.TouchesKey(), history.ServerForgot))
		c := Cause{Class: contract.Missed, Faults: faults, Effects: f.effectsOf(faults),
			Text: fmt.Sprintf("the key was gone at %s, of which nobody sends a message, and it did not look again", Stamp(ended))}
		if !f.h.Can(string(contract.LooksAgain)) {
			return c
		}
		looks := enough(from, f.h.Header.WatchdogTimeout+f.prompt(), f.obstaclesOf(op, l.name, to))
		if to <= looks {
			c.Class, c.Text = contract.Unannounced, fmt.Sprintf("the key was gone at %s, of which nobody sends a message", Stamp(ended))
		} else if again := setAgain(all, op, ended, looks); again > 0 {
			return Cause{Class: contract.SetAgain, Text: fmt.Sprintf("the key was gone at %s, of which nobody sends a message, and the latch was set again at %s, before it looked",
				Stamp(ended), Stamp(again))}
		}
		return c
	}
	if by := l.deletedAt(ended); by != nil && !f.h.Can(string(contract.TellsDeletion)) {
		return Cause{Class: contract.DeletedLatch, Text: fmt.Sprintf("%s deleted the latch at %s, of which nobody who waits is told", by.Owner, Stamp(ended))}
	}
	if again := setAgain(all, op, ended, to); again > 0 {
		return Cause{Class: contract.SetAgain, Text: fmt.Sprintf("the latch was set again at %s, before it looked", Stamp(again))}
	}
	return Cause{Class: contract.Unexplained, Text: "no fault explains why it did not return"}
}

// deletedAt is the call that deleted a latch at a time; nil: none did.
func (l *lockFacts) deletedAt(at time.Duration) *history.Op {
	for i := range l.acts {
		if a := &l.acts[i]; a.at == at && a.op != nil && a.op.Kind == history.DeleteLatch && answer(a.op) == history.Released {
			return a.op
		}
	}
	return nil
}

// lostDowns looks for count-downs that are not in the count at the end: of calls whose callers do not know what became of
// them, and of calls that were acknowledged.
func (f *facts) lostDowns(l *lockFacts, all []level, found *violations) {
	if left := all[len(all)-1]; !f.whole() || !f.seesCounts() || left.n <= 0 {
		return
	}
	f.owing(l, contract.DownsCount, func(d *owed) string {
		return fmt.Sprintf("never counted %s down, and its caller was told %s; nobody had done so", l.name, d.op.Outcome)
	}, found)
	f.forgottenDowns(l, all, found)
}

// forgottenDowns looks for count-downs that were acknowledged since the latch was last set, and that its count does not
// have at the end.
func (f *facts) forgottenDowns(l *lockFacts, all []level, found *violations) {
	if f.touchedBy(l, f.end) == 0 {
		return // object sees what the server did to the count
	}
	var set, last *history.Op
	left, downs := all[len(all)-1].n, int64(0)
	for i := range l.acts {
		switch op := l.acts[i].op; {
		case op == nil:
		case op.Kind == history.DeleteLatch && answer(op) == history.Released:
			set, last, downs = nil, nil, 0
		case op.Kind == history.TrySetCount && answer(op) == history.OK:
			set, last, downs = op, nil, 0
		case op.Kind == history.CountDown && op.Outcome == history.OK && !l.acts[i].again:
			last, downs = op, downs+1
		}
	}
	if set == nil || last == nil || set.Value-downs >= left {
		return
	}
	found.addAt(last.Return, func() Violation {
		c, lost := f.serverLost(l, set.Call, f.end)
		if lost == nil {
			c = Cause{Class: contract.Unexplained, Text: "the server forgot nothing"}
		}
		return Violation{Rule: contract.DownsCount, Lock: l.name, From: last.Return, To: f.end, Ops: []int64{last.ID}, Owners: []string{last.Owner},
			Text:  fmt.Sprintf("%s was set to %s and counted down %s, and its count is %s at the end", l.name, Thousands(set.Value), count(int(downs), "time"), Thousands(left)),
			Cause: c}
	})
}
