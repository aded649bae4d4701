package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// semaphoreModel is the sequential semaphore of the history.
func (f *facts) semaphoreModel() model.Semaphore {
	return model.Semaphore{Keeps: f.h.Can(string(contract.MadeBySet))}
}

func permitSpec(f *facts) specification[model.SemaphoreState] {
	kind := f.semaphoreModel()
	return specification[model.SemaphoreState]{
		step: kind.Step, environment: kind.Environment,
		shown: shownPermits, fits: func(s model.SemaphoreState, a *act) bool {
			key := shownPermits(*a.after)
			return len(a.after.Holdings) == 0 && key.Set == s.Set && key.Free == s.Free
		},
		misfit: func(_, after model.SemaphoreState, a *act) (contract.Rule, string) {
			return contract.KeyFits, fmt.Sprintf("the key says that %s, but by the answers %s", shownPermits(*a.after), after)
		},
		resume: func(s model.SemaphoreState, a *act) model.SemaphoreState {
			switch op := a.op; {
			case op.Kind.Asks() && answer(op) == history.Acquired:
				s.Free -= op.Value
			case op.Kind == history.ReleasePermits && answer(op) == history.OK:
				s.Free += op.Value
			case op.Kind == history.TrySetPermits && answer(op) == history.OK:
				s.Free = op.Value
			case op.Kind == history.AddPermits:
				s.Free += op.Value
			case op.Kind == history.DrainPermits:
				s.Free = 0
			}
			return s
		},
		untrue: func(s model.SemaphoreState, op history.Op) error {
			return &model.Violation{Rule: contract.PermitsAreFew, State: s, Op: op}
		},
	}
}

// shownPermits is the state of the model for a key that the server log shows.
func shownPermits(k history.KeyState) model.SemaphoreState {
	if k.Permits == nil {
		return model.SemaphoreState{}
	}
	s, err := model.Semaphore{}.Environment(model.SemaphoreState{}, history.Event{Kind: history.Restore, Count: *k.Permits, Deadline: k.Deadline})
	if err != nil {
		panic(err) // nothing refuses what is brought back
	}
	return s
}

// permits words a number of permits.
func permits(n int64) string { return count(int(n), "permit") }

// grantsOf is how often callers were told that they got permits.
func grantsOf(l *lockFacts) (n int) {
	for _, op := range l.ops {
		if callsFor(op) && op.Outcome == history.Acquired {
			n++
		}
	}
	return n
}

// A change is what an operation means for a count that callers can keep: permits that there are, or that are out.
type permitChange struct {
	at         time.Duration
	total, out int64
	op         *history.Op
}

// countedOf lists what callers know of permits, so that nobody is accused in doubt: what is set or given counts from
// its call on, what is taken from its return on. At one instant the former comes first.
func (f *facts) countedOf(l *lockFacts) []permitChange {
	if l.object == history.APermitSemaphore {
		return f.leasesOf(l)
	}
	var all []permitChange
	if first := f.firstKey(l); first > 0 {
		all = append(all, permitChange{total: first})
	}
	for _, op := range l.ops {
		void := op.Outcome == history.Failed && op.Evidence != history.Executed
		switch {
		case op.Kind.Sets() && !void && answer(op) != history.Rejected && !unsent(op) && !f.repeatedSet(l, op):
			all = append(all, permitChange{op.Call, op.Value, 0, op})
		case op.Kind == history.ReleasePermits && !op.Aside && !void:
			all = append(all, permitChange{op.Call, 0, -op.Value, op})
		case addedBy(op) > 0:
			all = append(all, permitChange{op.Call, addedBy(op), 0, op})
		case takesPermits(op) && !op.Aside && !op.Pending():
			all = append(all, permitChange{op.Return, 0, op.Value, op})
		}
	}
	return inOrderOfCounting(all)
}

// takesPermits reports whether the caller of an operation was told that it took permits.
func takesPermits(op *history.Op) bool {
	return op.Kind.Asks() && op.Outcome == history.Acquired || op.Kind == history.DrainPermits && op.Outcome == history.OK
}

// addedBy is how many permits an operation adds to those that there are, from its call on, or none. What is taken away is not counted, so
// that nobody is accused in doubt: whoever has some keeps them, and what befalls the key gives back what was taken away. What a lock does
// by itself repeats a call.
func addedBy(op *history.Op) int64 {
	switch {
	case op.Outcome == history.Failed && op.Evidence != history.Executed:
		return 0
	case op.Kind.Adds() && !op.Aside:
		return max(op.Value, 0)
	case op.Kind == history.DrainPermits:
		return max(-op.Value, 0) // it gave what was missing
	}
	return 0
}

// inOrderOfCounting sorts changes by time. At one instant what is given comes first.
func inOrderOfCounting(all []permitChange) []permitChange {
	slices.SortStableFunc(all, func(a, b permitChange) int { return cmp.Or(cmpTime(a.at, b.at), cmp.Compare(a.out, b.out)) })
	return all
}

// firstKey is how many permits were free before any command that the server log shows.
func (f *facts) firstKey(l *lockFacts) int64 {
	for i := range f.h.Served {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Before != nil {
			return s.Before.Number()
		}
	}
	return 0
}

// repeatedSet reports whether an operation is the lock's own repetition of a call that set permits, and counts as that. Of several such
// calls each is repeated once.
func (f *facts) repeatedSet(l *lockFacts, op *history.Op) bool {
	if !op.Aside {
		return false
	}
	calls := 0 // that no operation before this one repeats
	for _, o := range l.ops {
		switch {
		case o.Kind != op.Kind || o.Client != op.Client || o.Value != op.Value:
		case !o.Aside && o.Uncertain() && o.Evidence != history.Executed && !unsent(o) && o.Call < op.Executed:
			calls++
		case o.Aside && o.Executed < op.Executed && answer(o) == history.OK:
			calls--
		}
	}
	return calls > 0
}

// unsent reports whether a call without an answer never reached the server.
func unsent(op *history.Op) bool { return op.Uncertain() && op.Evidence == history.NotSent }

// judgeBound looks for callers who believed at once that they had more permits than there are.
func judgeBound(is history.Object) func(context.Context, *facts) Result {
	return func(_ context.Context, f *facts) Result {
		found := f.found(contract.Exclusion)
		grants, most := 0, int64(0)
		for _, l := range f.of(is) {
			grants += grantsOf(l)
			most = max(most, f.overIssued(l, &found))
		}
		return conclude("grants and releases",
			fmt.Sprintf("%s, at most %s out at once, never more than there are", count(grants, "grant"), permits(most)),
			fmt.Sprintf("more permits out than there are: %s", count(found.all, "violation")), found)
	}
}

// overIssued adds the times in which too many permits were out, and returns how many were out at most.
func (f *facts) overIssued(l *lockFacts, found *violations) (most int64) {
	var total, out int64
	var over *permitChange // by which it came to too many
	var worst, there int64
	begun := time.Duration(0)
	end := func(at time.Duration) {
		if over == nil {
			return
		}
		by, worst, there, from := over.op, worst, there, begun
		found.addAt(from, func() Violation {
			return Violation{Rule: contract.NoMoreOut, Lock: l.name, From: from, To: at, Ops: []int64{by.ID}, Owners: []string{by.Owner},
				Text:  fmt.Sprintf("from %s to %s callers believed that they had up to %s of %s, which has %s", Stamp(from), Stamp(at), permits(worst), l.name, Thousands(there)),
				Cause: f.overIssue(l, from, at, worst-there)}
		})
		over = nil
	}
	for _, c := range f.countedOf(l) {
		total, out = total+c.total, out+c.out
		most = max(most, out)
		switch {
		case out <= total:
			end(c.at)
		case over == nil:
			over, begun, worst, there = &c, c.at, out, total
		default:
			worst = max(worst, out)
		}
	}
	end(f.end)
	return most
}

// overIssue says why more permits were out than there are from a time until another: by so many.
func (f *facts) overIssue(l *lockFacts, at, until time.Duration, over int64) Cause {
	if c := f.givenAgain(l, at, func(op *history.Op) string { return "gave " + permits(op.Value) }); c != nil {
		return *c
	}
	if l.object == history.APermitSemaphore {
		if c, known := f.leaseCut(l, at); known {
			return c
		}
	}
	out := int64(0) // by what the server executed
	for i := range l.acts {
		a := &l.acts[i]
		switch {
		case a.at > at:
		case a.event != nil && out > 0:
			if c := f.forgotTaken(l, a.event); c != nil {
				return *c
			}
		case a.op != nil && (a.op.Kind.Asks() && answer(a.op) == history.Acquired || a.op.Kind == history.DrainPermits):
			out += a.op.Units()
		case a.op != nil && a.op.Kind.Gives() && answer(a.op) == history.OK:
			out = max(0, out-a.op.Units())
		}
	}
	more := int64(0) // than there are, by what calls can have given again
	calls := f.unseenTwice(l, until, func(op *history.Op) bool { return op.Kind.Gives() || op.Kind.Sets() || op.Kind.Adds() })
	for _, c := range calls {
		more += int64(c.times) * c.op.Units()
	}
	if more >= over && len(calls) > 0 {
		return f.maybeTwice(calls[0].op, calls[0].faults)
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the server let more take permits of %s than there are", l.name)}
}

// forgotTaken is the cause that a fault took a semaphore's key, and with it what was known of taken permits. nil: no fault did.
func (f *facts) forgotTaken(l *lockFacts, e *history.Event) *Cause {
	if e.Kind == history.ClockJump {
		return nil
	}
	if c, lost := f.serverLost(l, e.At, e.At); lost != nil {
		c.Text = fmt.Sprintf("in the %s at %s the server forgot who had taken permits of %s", lost.Kind, Stamp(lost.At), l.name)
		return &c
	}
	faults := f.struckBy("", l.name, e.At, e.At, touches)
	if len(faults) == 0 {
		return nil
	}
	return &Cause{Class: contract.KeyLost, Faults: faults, Effects: f.effectsOf(faults),
		Text: fmt.Sprintf("%s: with it went what was known of taken permits", f.describeAll(faults))}
}
