package checker

import (
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

// A sequential is the specification of a kind of objects other than locks, as the checkers of object ask it.
type sequential struct {
	replay func(*facts, *lockFacts) (violations, beyond)
	model  func(*facts, []porcupine.Operation) porcupine.Model
	search func(context.Context, *facts, []porcupine.Operation) (porcupine.CheckResult, *linear.Step)
	unseen []sequential // others that an object may fit whose keys nobody sees
}

// unseenToo are it and the others.
func (s sequential) unseenToo() []sequential { return append([]sequential{s}, s.unseen...) }

// sequentialFor is a specification with states of type S.
func sequentialFor[S comparable](spec func(*facts) specification[S]) sequential {
	apply := func(f *facts) func(*linear.Step, S) (S, error) {
		of := spec(f)
		return func(in *linear.Step, s S) (S, error) {
			if in.Event != nil {
				return of.environment(s, *in.Event)
			}
			return of.step(s, in.Op)
		}
	}
	return sequential{
		replay: func(f *facts, l *lockFacts) (violations, beyond) { return replayed(f, l, spec(f)) },
		model: func(f *facts, ops []porcupine.Operation) porcupine.Model {
			return linear.Model(*new(S), apply(f), ops)
		},
		search: func(ctx context.Context, f *facts, ops []porcupine.Operation) (porcupine.CheckResult, *linear.Step) {
			return linear.FrontierTo(ctx, *new(S), apply(f), ops, mostTries)
		},
	}
}

// mostTries is how many steps the frontier checker tries to take: some seconds of work.
const mostTries = 5_000_000

// sequentialOf is the specification of a kind of objects other than locks.
func sequentialOf(is history.Object) sequential {
	switch is {
	case history.ALatch:
		return sequentialFor(latchSpec)
	case history.APermitSemaphore:
		return sequentialFor(leaseSpec)
	case history.ARWLock:
		s := sequentialFor(rwSpec)
		for _, leases := range []leasing{leasePerHold, oneEnd} {
			s.unseen = append(s.unseen, sequentialFor(func(f *facts) specification[model.RWState] { return rwSpecOf(f, leases) }))
		}
		return s
	}
	return sequentialFor(permitSpec)
}

// askPorcupineOf asks porcupine of an object other than a lock.
func askPorcupineOf(ctx context.Context, f *facts, l *lockFacts, w linear.Window) porcupine.CheckResult {
	ops := f.problem(l, w).History()
	return linear.Ask(ctx, sequentialOf(l.object).model(f, ops), ops, f.options.Budget)
}

// askFrontierOf asks the frontier checker of one.
func askFrontierOf(ctx context.Context, f *facts, l *lockFacts, w linear.Window) porcupine.CheckResult {
	result, _ := sequentialOf(l.object).search(ctx, f, f.problem(l, w).History())
	return result
}

// askOf asks the frontier checker of an object other than a lock; or porcupine, if that comes to no answer and porcupine may.
func (f *facts) askOf(ctx context.Context, s sequential, p *linear.Lock) porcupine.CheckResult {
	ops := p.History()
	result, _ := s.search(ctx, f, ops)
	if result == porcupine.Unknown && linear.Few(ops) {
		result = linear.Ask(ctx, s.model(f, ops), ops, f.options.Budget)
	}
	return result
}

// askUnseen is what these say of an object whose keys nobody saw, if some operations were executed besides, or were not. By itself the
// specification of a read-write lock has a call that nobody heard of change nothing, unless the lock is free for it for certain. A hold in its
// way may have been over, unseen: then such a call may have been granted.
func (f *facts) askUnseen(ctx context.Context, l *lockFacts, besides []*history.Op) porcupine.CheckResult {
	p := f.problem(l, linear.AsCalled)
	p.Ops = slices.Concat(p.Ops, besides)
	all := sequentialOf(l.object).unseenToo()
	result := porcupine.Illegal
	for _, p.Unheard = range []bool{false, true} {
		for _, s := range all {
			if result = f.askOf(ctx, s, p); result != porcupine.Illegal {
				return result
			}
		}
		if !l.shared() {
			break
		}
	}
	return result
}

// judgeCounted asks the witness replay of each object of a kind, and porcupine as second opinion or, where nobody saw the
// server, alone.
func judgeCounted(is history.Object) func(context.Context, *facts) Result {
	return func(ctx context.Context, f *facts) Result {
		s := opinions{status: Holds, all: f.found(contract.Object)}
		ops, all := 0, f.of(is)
		for _, l := range all {
			s.hear(f, f.judgeSequential(ctx, l))
			ops += len(l.ops)
		}
		return s.result(fmt.Sprintf("%s on %s fit the sequential %s", count(ops, "operation"), objectsOf(len(all), is), is))
	}
}

// objectsOf words a number of objects.
func objectsOf(n int, is history.Object) string {
	if n == 1 {
		return "1 " + string(is)
	}
	return Thousands(n) + " " + is.Plural()
}

// judgeSequential is the opinion of one object that is no lock, or of a read-write lock.
func (f *facts) judgeSequential(ctx context.Context, l *lockFacts) opinion {
	if !witnessed(f, l) {
		return f.blackBoxOf(ctx, l, linear.AsCalled)
	}
	o := opinion{lock: l.name, by: []string{byWitness}, status: Holds}
	var only beyond
	o.violations, only = sequentialOf(l.object).replay(f, l)
	if o.violations.all > 0 && !only.violation && doubtful(f, l) {
		return f.blackBoxOf(ctx, l, linear.AsExecuted) // in another order it may be legal
	}
	if l.object.Counted() {
		_, surplus := f.ledger(l)
		for _, op := range surplus {
			only.violation = true
			o.violations.add(func() Violation { return f.givenUnasked(l, op) })
		}
	}
	if o.violations.all > 0 {
		o.status = Broken
	}
	ask, by := askPorcupineOf, byPorcupine
	if !fitsPorcupine(l) {
		ask, by = askFrontierOf, byFrontier
	}
	second := statusOf(ask(ctx, f, l, linear.AsCalled))
	if second == Undecided {
		o.note = fmt.Sprintf("the %s came to no answer, for a second opinion", by)
		return o
	}
	return o.seconded(l, l.object, second, by, only, func() bool {
		return !only.violation && ask(ctx, f, l, linear.AsExecuted) == porcupine.Ok
	})
}

// blackBoxOf judges such an object by what its clients were told, and by the server's times if w says so.
func (f *facts) blackBoxOf(ctx context.Context, l *lockFacts, w linear.Window) opinion {
	o := opinion{lock: l.name, by: []string{byFrontier}, status: Holds, violations: f.found(contract.Object)}
	result, second := askFrontierOf(ctx, f, l, w), porcupine.Unknown
	if fitsPorcupine(l) && (result != porcupine.Ok || !f.options.Sparing) {
		second = askPorcupineOf(ctx, f, l, w)
	}
	switch {
	case result == porcupine.Unknown && second == porcupine.Unknown:
		o.status, o.note = Undecided, fmt.Sprintf("the %s came to no answer: too many orders fit the calls that were under way at once", byFrontier)
		return o
	case result == porcupine.Unknown:
		o.by, result = []string{byPorcupine}, second
	case second != porcupine.Unknown && second != result:
		o.status = statusOf(result)
		return o.again(l, second, "")
	case second != porcupine.Unknown:
		o.by = append(o.by, byPorcupine)
	}
	if result == porcupine.Illegal && w == linear.AsCalled {
		result = f.askUnseen(ctx, l, nil)
	}
	switch result {
	case porcupine.Unknown:
		o.status, o.note = Undecided, fmt.Sprintf("the %s came to no answer: too many orders fit what nobody saw", byFrontier)
	case porcupine.Illegal:
		o.status = Broken
		o.violations.add(func() Violation { return f.unlinearizable(ctx, l, w) })
	}
	return o
}

// unlinearizable is the violation of a history that porcupine refuses. Nobody saw the server: a call that may have been sent again explains
// it if the history fits with a second effect of the call.
func (f *facts) unlinearizable(ctx context.Context, l *lockFacts, w linear.Window) Violation {
	v := Violation{Rule: contract.Linearizable, Lock: l.name, To: f.end,
		Text:  fmt.Sprintf("%s: no order of its %s fits the sequential %s%s", l.name, count(len(l.ops), "operation"), l.object, f.orderless(ctx, l, w)),
		Cause: Cause{Class: contract.Unexplained, Text: "no fault is known that has a client send a call again"}}
	if c, known := f.unseenClock(l, f.end); known && f.askUnseen(ctx, l, f.endedByClock(l, f.h.Faults[c.Faults[0]].From)) != porcupine.Illegal {
		v.Cause = c
		return v
	}
	calls := f.unseenTwice(l, f.end, func(op *history.Op) bool { return !op.Kind.Awaits() })
	if len(calls) == 0 {
		return v
	}
	var all []*history.Op
	for _, c := range calls {
		all = append(all, c.copies()...)
	}
	if f.askUnseen(ctx, l, all) == porcupine.Illegal {
		v.Cause.Text = "no second effect of a call that a fault may have had sent again explains it"
		return v
	}
	i := max(0, slices.IndexFunc(calls, func(c resent) bool { return f.askUnseen(ctx, l, c.copies()) == porcupine.Ok }))
	v.Ops, v.Owners, v.Cause = []int64{calls[i].op.ID}, []string{calls[i].op.Owner}, f.maybeTwice(calls[i].op, calls[i].faults)
	return v
}

// orderless says at which answer, by the times of returns, no order is left; "": that is not known.
func (f *facts) orderless(ctx context.Context, l *lockFacts, w linear.Window) string {
	s := sequentialOf(l.object)
	_, last := s.search(ctx, f, f.problem(l, w).History())
	if last != nil && w == linear.AsCalled { // the one that goes further says more
		for _, other := range s.unseen {
			if _, later := other.search(ctx, f, f.problem(l, w).History()); later != nil && later.Op.Return > last.Op.Return {
				last = later
			}
		}
	}
	if last == nil || last.Event != nil || last.Op.Pending() {
		return ""
	}
	return fmt.Sprintf(", and none is left when %s by %s (operation %d) returns %s at %s", last.Op.Kind, last.Op.Owner, last.Op.ID, last.Op.Outcome, Stamp(last.Op.Return))
}

// A resent is a call that may have taken effect more than once, though nobody saw what the server executed.
type resent struct {
	copied
	times int           // at most, besides the first
	until time.Duration // by when
}

// copies are its further effects, each of which there may have been.
func (u resent) copies() (all []*history.Op) {
	for range u.times {
		again := *u.op
		again.Aside, again.Outcome, again.Evidence, again.Until, again.Error = true, history.Unknown, history.Sent, u.until, ""
		if named := again; again.Token != 0 && again.Kind.Asks() { // the client may have drawn the id, and the request have it
			all = append(all, &named)
		}
		if !again.Kind.OnPermit() {
			again.Token = 0 // or what a further effect took has an id of its own, which nobody was told
		}
		all = append(all, &again)
	}
	return all
}

// unseenTwice are the calls of some, made by a time, that may have taken effect more than once, though nobody saw what the server executed.
func (f *facts) unseenTwice(l *lockFacts, by time.Duration, some func(op *history.Op) bool) (all []resent) {
	for _, op := range l.ops {
		if op.Aside || op.Evidence == history.Executed || op.Call > by || !some(op) {
			continue
		}
		if broke := f.brokeUnder(l, op); len(broke) > 0 {
			times, last := f.sentOften(op)
			all = append(all, resent{copied{op, broke}, max(1, times-1), max(f.until(op), last)})
		}
	}
	return all
}

// givenUnasked is the violation that a lock's client gave by itself what no call of its owed: permits, or a count-down.
func (f *facts) givenUnasked(l *lockFacts, op *history.Op) Violation {
	did := "counted it down by itself, which no call of its owed"
	switch {
	case op.Kind.Alters():
		did = fmt.Sprintf("did %s of %s by itself, which no call of its owed", op.Kind, l.name)
	case l.object != history.ALatch:
		did = fmt.Sprintf("gave %s by itself, which no call of its had taken and lost, nor owed", permits(op.Value))
	}
	v := Violation{Rule: contract.AtMostOnce, Lock: l.name, From: op.Executed, To: op.Executed, Ops: []int64{op.ID}, Owners: []string{op.Owner},
		Text: fmt.Sprintf("%s: at %s %s %s", l.name, Stamp(op.Executed), op.Client, did)}
	v.Cause = Cause{Class: contract.Unexplained, Text: "no fault has a client give what nobody owes"}
	if c, known := f.clockAhead(l, op, op.Executed); known {
		v.Cause = c
		return v
	}
	if c, known := f.byClientsClock(l, op, op.Executed); known {
		v.Cause = c
		return v
	}
	for _, before := range l.ops { // the server forgot that it had given that already
		if before.Kind == op.Kind && before.Aside && before.Client == op.Client && (before.Units() == op.Units() || op.Kind.Alters()) && before.Executed < op.Executed {
			if x := f.memoryLost(before.Executed, op.Executed, func(fault *history.Fault) bool { return f.reaches(fault, l.name) }); x >= 0 {
				v.Cause = Cause{Text: fmt.Sprintf("it had done so at %s, and then %s: it forgot what it remembered of the request", Stamp(before.Executed), f.describe(x))}
				f.forgot(x, &v.Cause)
				return v
			}
		}
	}
	for _, call := range l.ops { // what it repeated had taken effect already, or did so later
		if call.Kind != op.Kind || call.Aside || call.Client != op.Client || !call.Uncertain() || call.Evidence != history.Executed || call.Units() != op.Units() && !op.Kind.Alters() { // how much could be taken away is another thing
			continue
		}
		if x := f.memoryLost(op.Executed, call.Executed, func(fault *history.Fault) bool { return f.reaches(fault, l.name) }); x >= 0 {
			v.Cause = Cause{Text: fmt.Sprintf("it repeated the %s of %s (operation %d), of which a copy took effect at %s. Before that %s: the server forgot the request",
				call.Kind, call.Owner, call.ID, Stamp(call.Executed), f.describe(x))}
			f.forgot(x, &v.Cause)
			return v
		}
		if call.Executed <= op.Executed {
			v.Cause = f.twice(l, call, op.Executed, fmt.Sprintf("the %s of %s (operation %d) had taken effect at %s", call.Kind, call.Owner, call.ID, Stamp(call.Executed)))
			reaches := func(fault *history.Fault) bool { return f.reaches(fault, l.name) }
			if v.Cause.executed.repeated = f.repetition(call, op); v.Cause.executed.repeated {
				f.forgotten(call, &v.Cause, reaches)
			}
			if f.memoryLost(call.Executed, op.Executed, reaches) >= 0 {
				return v // of another call it may not have forgotten it
			}
		}
	}
	return v
}

// repetition reports whether what a client did by itself is a copy of a call that it sent while it repeats that, and that was not held up for
// longer than the server remembers a request: the server remembers it until then.
func (f *facts) repetition(call, op *history.Op) bool {
	i, found := f.log.execution(op, op.Executed)
	if !found || !f.h.Can(string(contract.TakesBack)) {
		return false
	}
	sent, until := f.h.Served[i].Sent, f.repeats(call, call.Executed)
	return until != model.Never && sent <= until && op.Executed-sent < (until-call.Call)/2
}

// givenAgain says of what an object was given more than once: by copies of a call, or by its client itself. nil: nothing.
func (f *facts) givenAgain(l *lockFacts, by time.Duration, gave func(*history.Op) string) *Cause {
	for i := range l.acts {
		a := &l.acts[i]
		if a.at > by {
			break
		}
		if a.op != nil && a.again && (a.op.Kind.Gives() || a.op.Kind.Adds()) {
			c := f.twice(l, a.op, a.at, fmt.Sprintf("the %s of %s (operation %d) %s once more at %s", a.op.Kind, a.op.Owner, a.op.ID, gave(a.op), Stamp(a.at)))
			return &c
		}
	}
	if _, surplus := f.ledger(l); len(surplus) > 0 && surplus[0].Executed <= by {
		c := f.givenUnasked(l, surplus[0]).Cause
		return &c
	}
	return nil
}
