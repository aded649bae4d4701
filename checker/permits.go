package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// semaphoreModel is the sequential semaphore of the history: one whose requests count once makes no semaphore by a
// release, and keeps its time to live.
func (f *facts) semaphoreModel() model.Semaphore {
	return model.Semaphore{Keeps: f.h.Can(string(contract.Idempotent))}
}

func permitSpec(f *facts) specification[model.SemaphoreState] {
	kind := f.semaphoreModel()
	return specification[model.SemaphoreState]{
		step: kind.Step, environment: kind.Environment,
		shown: shownPermits, fits: func(s model.SemaphoreState, k history.KeyState) bool {
			key := shownPermits(k)
			return len(k.Holdings) == 0 && key.Set == s.Set && key.Free == s.Free
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

// permitsModel is the semaphore as porcupine wants it for a history.
func (f *facts) permitsModel(ops []porcupine.Operation) porcupine.Model {
	kind := f.semaphoreModel()
	return linear.Model(model.SemaphoreState{}, func(in *linear.Step, s model.SemaphoreState) (model.SemaphoreState, error) {
		return linear.Apply(kind, in, s)
	}, ops)
}

func askPorcupineOfPermits(ctx context.Context, f *facts, l *lockFacts, w linear.Window) porcupine.CheckResult {
	ops := f.problem(l, w).History()
	return linear.Ask(ctx, f.permitsModel(ops), ops, f.options.Budget)
}

// judgePermits asks the witness replay of each semaphore, and porcupine as second opinion or, where nobody saw the
// server, alone.
func judgePermits(ctx context.Context, f *facts) Result {
	s := opinions{status: Holds, all: f.found(contract.Object)}
	ops := 0
	for _, l := range f.semaphores {
		s.hear(f, f.judgeSemaphore(ctx, l))
		ops += len(l.ops)
	}
	return s.result(fmt.Sprintf("%s on %s fit the sequential semaphore", count(ops, "operation"), count(len(f.semaphores), "semaphore")))
}

// judgeSemaphore is the opinion of one semaphore.
func (f *facts) judgeSemaphore(ctx context.Context, l *lockFacts) opinion {
	if !witnessed(f, l) {
		return f.blackBoxPermits(ctx, l, linear.AsCalled)
	}
	o := opinion{lock: l.name, by: []string{byWitness}, status: Holds}
	var beyond bool
	o.violations, beyond = replayed(f, l, permitSpec(f))
	if o.violations.all > 0 && !beyond && doubtful(f, l) {
		return f.blackBoxPermits(ctx, l, linear.AsExecuted) // in another order it may be legal
	}
	_, surplus := f.ledger(l)
	for _, op := range surplus {
		beyond = true
		o.violations.add(func() Violation { return f.givenUnasked(l, op) })
	}
	if o.violations.all > 0 {
		o.status = Broken
	}
	second := Undecided
	if fitsPorcupine(l) {
		second = statusOf(askPorcupineOfPermits(ctx, f, l, linear.AsCalled))
	}
	if second == Undecided {
		o.note = "porcupine came to no answer, for a second opinion"
		return o
	}
	return o.seconded(l, history.ASemaphore, second, byPorcupine, func() bool {
		return !beyond && askPorcupineOfPermits(ctx, f, l, linear.AsExecuted) == porcupine.Ok
	})
}

// blackBoxPermits judges a semaphore by what its clients were told, and by the server's times if w says so.
func (f *facts) blackBoxPermits(ctx context.Context, l *lockFacts, w linear.Window) opinion {
	o := opinion{lock: l.name, by: []string{byPorcupine}, status: Holds, violations: f.found(contract.Object)}
	if !fitsPorcupine(l) {
		o.status, o.note = Undecided, fmt.Sprintf("more than %d operations, or %d at once, are too many for porcupine", linear.MaxOps, linear.MaxConcurrent)
		return o
	}
	switch askPorcupineOfPermits(ctx, f, l, w) {
	case porcupine.Ok:
	case porcupine.Illegal:
		o.status = Broken
		o.violations.add(func() Violation { return f.unlinearizable(l) })
	default:
		o.status, o.note = Undecided, "porcupine came to no answer within its budget"
	}
	return o
}

// unlinearizable is the violation of a history that porcupine refuses. Nobody saw the server: a call whose connection
// broke may have been sent again.
func (f *facts) unlinearizable(l *lockFacts) Violation {
	v := Violation{Rule: contract.Linearizable, Lock: l.name, To: f.end,
		Text:  fmt.Sprintf("%s: no order of its %s fits the sequential semaphore", l.name, count(len(l.ops), "operation")),
		Cause: Cause{Class: contract.Unexplained, Text: "no call can have been sent again"}}
	for _, op := range l.ops {
		if op.Aside || op.Evidence == history.Executed {
			continue
		}
		broke := f.struckBy(op.Client, l.name, op.Call, f.until(op), []history.Effect{history.ConnectionBroken})
		if len(broke) > 0 {
			v.Ops, v.Owners = []int64{op.ID}, []string{op.Owner}
			v.Cause = Cause{Class: contract.MaybeTwice, Faults: broke, Effects: f.effectsOf(broke),
				Text:     fmt.Sprintf("the %s of %s was under way when %s: it may have been sent again", op.Kind, op.Owner, f.describeAll(broke)),
				executed: executions{call: op.Kind, client: op.Client, first: op.Call, again: f.until(op)}}
			return v
		}
	}
	return v
}

// givenUnasked is the violation that a lock's client gave permits by itself that no call of its owed.
func (f *facts) givenUnasked(l *lockFacts, op *history.Op) Violation {
	a := &act{at: op.Executed, op: op}
	v := Violation{Rule: contract.AtMostOnce, Lock: l.name, From: op.Executed, To: op.Executed, Ops: []int64{op.ID}, Owners: []string{op.Owner},
		Text: fmt.Sprintf("%s: at %s %s gave %s by itself, which no call of its had taken and lost, nor owed", l.name, Stamp(op.Executed), op.Client, permits(op.Value))}
	v.Cause = objectCause(f, l, a, contract.Unexplained)
	for _, call := range l.ops { // what it repeated had taken effect already
		if call.Kind == op.Kind && !call.Aside && call.Client == op.Client && call.Uncertain() && call.Evidence == history.Executed && call.Executed <= op.Executed {
			v.Cause = f.twice(l, call, op.Executed, fmt.Sprintf("the %s of %s (operation %d) had taken effect at %s", call.Kind, call.Owner, call.ID, Stamp(call.Executed)))
		}
	}
	return v
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
	var all []permitChange
	if first := f.firstKey(l); first > 0 {
		all = append(all, permitChange{total: first})
	}
	for _, op := range l.ops {
		void := op.Outcome == history.Failed && op.Evidence != history.Executed
		switch {
		case op.Kind == history.TrySetPermits && !void && answer(op) != history.Rejected && !unsent(op) && !f.repeatedSet(l, op):
			all = append(all, permitChange{op.Call, op.Value, 0, op})
		case op.Kind == history.ReleasePermits && !op.Aside && !void:
			all = append(all, permitChange{op.Call, 0, -op.Value, op})
		case callsFor(op) && op.Outcome == history.Acquired && !op.Pending():
			all = append(all, permitChange{op.Return, 0, op.Value, op})
		}
	}
	slices.SortStableFunc(all, func(a, b permitChange) int { return cmp.Or(cmpTime(a.at, b.at), cmp.Compare(a.out, b.out)) })
	return all
}

// firstKey is how many permits were free before any command that the server log shows.
func (f *facts) firstKey(l *lockFacts) int64 {
	for i := range f.h.Served {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Before != nil {
			return s.Before.Free()
		}
	}
	return 0
}

// repeatedSet reports whether an operation is the lock's own repetition of a call that set permits, and counts as that.
func (f *facts) repeatedSet(l *lockFacts, op *history.Op) bool {
	return op.Aside && slices.ContainsFunc(l.ops, func(o *history.Op) bool {
		return o.Kind == op.Kind && !o.Aside && o.Client == op.Client && o.Value == op.Value && o.Uncertain() && o.Evidence != history.Executed && !unsent(o)
	})
}

// unsent reports whether a call without an answer never reached the server.
func unsent(op *history.Op) bool { return op.Uncertain() && op.Evidence == history.NotSent }

// judgeBound looks for callers who believed at once that they had more permits than there are.
func judgeBound(_ context.Context, f *facts) Result {
	found := f.found(contract.Exclusion)
	grants, most := 0, int64(0)
	for _, l := range f.semaphores {
		grants += grantsOf(l)
		most = max(most, f.overIssued(l, &found))
	}
	return conclude("grants and releases",
		fmt.Sprintf("%s, at most %s out at once, never more than there are", count(grants, "grant"), permits(most)),
		fmt.Sprintf("more permits out than there are: %s", count(found.all, "violation")), found)
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
				Text:  fmt.Sprintf("from %s to %s callers believed that they had up to %s of %s, of which there are %d", Stamp(from), Stamp(at), permits(worst), l.name, there),
				Cause: f.overIssue(l, from)}
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

// overIssue says why more permits were out than there are at a time.
func (f *facts) overIssue(l *lockFacts, at time.Duration) Cause {
	for i := range l.acts {
		a := &l.acts[i]
		if a.at > at {
			break
		}
		if a.op != nil && a.again && a.op.Kind == history.ReleasePermits {
			return f.twice(l, a.op, a.at, fmt.Sprintf("the %s of %s (operation %d) gave %s once more at %s", a.op.Kind, a.op.Owner, a.op.ID, permits(a.op.Value), Stamp(a.at)))
		}
	}
	if _, surplus := f.ledger(l); len(surplus) > 0 && surplus[0].Executed <= at {
		return f.givenUnasked(l, surplus[0]).Cause
	}
	if c, lost := f.serverLost(l, 0, at); lost != nil {
		c.Text = fmt.Sprintf("in the %s at %s the server forgot who had taken permits of %s", lost.Kind, Stamp(lost.At), l.name)
		return c
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the server let more take permits of %s than there are", l.name)}
}
