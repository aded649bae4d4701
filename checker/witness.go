package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// witnessed reports whether the server's word is known for every operation on the lock, and for the ends of
// leases, so that the order of the server can be replayed. What was sent and never seen in a server log did not
// take effect in this history; without such a log nobody knows.
func witnessed(f *facts, l *lockFacts) bool {
	if f.implied() {
		return false
	}
	for _, op := range l.ops {
		if op.Evidence == history.NoEvidence || op.Evidence == history.Sent && op.Uncertain() && len(f.h.Served) == 0 {
			return false
		}
	}
	return true
}

// replay is the witness checker: it takes the order in which the server executed and steps the
// model through it. O(n), no search. After a violation it goes on from what the server did, so
// that one fault is told once.
//
// A checker that knows only what clients were told may come to another verdict on what is beyond that.
func replay(f *facts, l *lockFacts) (violations, beyond) {
	return replayed(f, l, lockSpec(f))
}

// replayed is [replay] of an object with a specification.
func replayed[S comparable](f *facts, l *lockFacts, spec specification[S]) (violations, beyond) {
	w := &witness[S]{f: f, l: l, spec: spec, found: f.found(contract.Object), past: []epoch[S]{{}}, took: map[*history.Op]span{}}
	for i := range l.acts {
		a := &l.acts[i]
		if a.event != nil {
			w.environment(a)
		} else if w.call(a) {
			before := len(w.past) - 1
			w.operation(a)
			if !linear.Beside(a.op) {
				w.took[a.op] = span{before, len(w.past) - 1}
			}
		}
	}
	w.unseenAll()
	return w.found, w.beyond
}

type witness[S comparable] struct {
	f      *facts
	l      *lockFacts
	spec   specification[S]
	state  S
	past   []epoch[S] // the states so far, with their beginnings
	took   map[*history.Op]span
	found  violations
	beyond beyond
}

// beyond is what only the server log shows: whether some violation lies in that, and whether it is what a lease was set to.
type beyond struct{ violation, lease bool }

type epoch[S comparable] struct {
	from  int64 // a moment
	state S
	begun time.Duration // the same, as a time
}

// A span is a first and a last epoch.
type span struct{ first, last int }

func (w *witness[S]) become(s S, a *act) {
	from := linear.Moment(a.at)
	if w.state = s; a.event != nil {
		_, from = linear.Struck(w.f.h.Header.Clock == history.Virtual, a.at, a.at)
	}
	w.past = append(w.past, epoch[S]{from, s, a.at})
}

func (w *witness[S]) broken(rule contract.Rule, text string, a *act, class contract.Class) {
	w.found.add(func() Violation {
		v := Violation{Rule: rule, Text: text, Lock: w.l.name, From: a.at, To: a.at}
		if a.op != nil {
			v.Ops, v.Owners = []int64{a.op.ID}, []string{a.op.Owner}
		}
		if w.spec.cause != nil {
			if c, known := w.spec.cause(w.l, a, rule); known {
				v.Cause = c
				return v
			}
		}
		v.Cause = objectCause(w.f, w.l, a, class)
		again := v.Cause.Class == contract.LostMessage || v.Cause.Class == contract.DoubleExecution && class != contract.DoubleExecution
		if rule == contract.FailedIsVoid && again && !w.f.perhapsSentAgain(a.op) {
			v.Cause = Cause{Class: contract.Unexplained, Text: "its client had sent the request once, and told its caller that it had failed while it was under way"}
		}
		if rule == contract.LeaseIsSet {
			if c, unheard := w.f.unheardLease(w.l, a); unheard {
				v.Cause = c
			}
		}
		return v
	})
}

// illegal records a rule of the model that was broken.
func (w *witness[S]) illegal(err error, a *act) {
	rule := ruleOf(err)
	w.broken(rule, fmt.Sprintf("%s: %s", w.l.name, err), a, classOf(rule))
}

// call checks what an operation must keep whatever the lock's state is, and reports whether it is
// to be replayed.
func (w *witness[S]) call(a *act) bool {
	op := a.op
	broken := func(rule contract.Rule, class contract.Class, format string, args ...any) {
		w.beyond.violation = true
		w.broken(rule, fmt.Sprintf("%s: %s by %s (operation %d) ", w.l.name, op.Kind, op.Owner, op.ID)+fmt.Sprintf(format, args...), a, class)
	}
	told := contract.Unexplained
	if op.Repeats > 0 { // what it was told may be the answer to another copy
		told = contract.DoubleExecution
	}
	if a.again {
		first := op.Executed
		if r := w.f.firstCopy(op, a.at); first > a.at && r != nil { // it has taken the lock anew since
			first = r.At
		}
		broken(contract.AtMostOnce, contract.DoubleExecution, "took effect once more at %s, having taken effect at %s", Stamp(a.at), Stamp(first))
		w.repeat(a)
		return false
	}
	if op.Evidence != history.Executed {
		return false // see unseen
	}
	if call := w.f.refusedBefore(op); call != nil {
		w.beyond.violation = true
		w.broken(contract.ToldTheTruth, fmt.Sprintf("%s: %s by %s (operation %d) was told %s at %s, and a copy of its request took effect at %s",
			w.l.name, call.Kind, call.Owner, call.ID, call.Outcome, Stamp(call.Return), Stamp(op.Executed)), a, contract.DoubleExecution)
	}
	switch {
	case op.Outcome == history.Failed && effective(op, op.Answer):
		broken(contract.FailedIsVoid, told, "failed for its caller, but the server executed it at %s and answered %s", Stamp(op.Executed), op.Answer)
	case op.Outcome == history.Failed:
		return false
	case linear.NobodyHeard(op):
		return false
	case op.Uncertain():
	case op.Executed > op.Return:
		broken(contract.WithinCall, told, "took effect at %s, after it had returned %s at %s", Stamp(op.Executed), op.Outcome, Stamp(op.Return))
	case op.Outcome == history.Released && op.Answer == history.NotHeld && w.f.gaveMeanwhile(w.l, op): // so the hold has ended under the call
	case op.Outcome != op.Answer:
		broken(contract.ToldTheTruth, told, "was told %s, but what the server did at %s was: %s", op.Outcome, Stamp(op.Executed), op.Answer)
	}
	return true
}

// gaveMeanwhile reports whether the client of an unlock gave back by itself what the unlock was for, while that was under way: it
// settles by itself what an earlier call left.
func (f *facts) gaveMeanwhile(l *lockFacts, op *history.Op) bool {
	return f.h.Can(string(contract.TakesBack)) && slices.ContainsFunc(l.owner(op.Owner).ops, func(o *history.Op) bool {
		return o.Aside && o.Kind.Unlocks() && o.Answer == history.Released && op.Call <= o.Executed && o.Executed <= op.Executed
	})
}

func (w *witness[S]) operation(a *act) {
	op := *a.op
	if op.Uncertain() && op.Token == 0 {
		op.Token = model.UnheardToken
	}
	op.Outcome = answer(a.op)
	if op.Pending() {
		op.Return = max(w.f.end, op.Executed, 1) // whoever reads the answer of the server is certain of it
	}
	next, err := w.spec.step(w.state, op)
	if err != nil {
		w.illegal(err, a)
		if next = w.spec.resume(w.state, a); a.after != nil {
			next = w.spec.shown(*a.after)
		}
	} else if a.after != nil && !w.spec.fits(next, a) {
		rule, says := w.spec.misfit(w.state, next, a)
		late := afterwards(a.op) && a.after.Deadline > 0 && !w.f.takesAnew(a) // that it came so late is told: its client had another lease in mind, and not none
		if w.beyond.lease = true; rule != contract.LeaseIsSet || !late && !w.f.mistaken(w.l, a) {
			w.beyond.violation = true
			w.broken(rule, fmt.Sprintf("%s: after the %s of %s (operation %d) at %s %s", w.l.name, op.Kind, op.Owner, op.ID, Stamp(a.at), says), a, contract.Unexplained)
		}
		next = w.spec.shown(*a.after)
	} else if a.after != nil && w.spec.settled != nil {
		next = w.spec.settled(next, *a.after)
	}
	if next != w.state {
		w.become(next, a)
	}
}

func (w *witness[S]) environment(a *act) {
	e := *a.event
	if w.f.outside(a.event) {
		e.Kind = history.Delete
	}
	next, err := w.spec.environment(w.state, e)
	if err != nil {
		w.illegal(err, a)
		if e.Kind == history.Expire {
			next = *new(S)
		}
	}
	if next != w.state {
		w.become(next, a)
	}
}

// repeat is the effect of one more execution.
func (w *witness[S]) repeat(a *act) {
	op := *a.op
	op.Outcome, op.Return, op.Evidence, op.Executed = history.Unknown, 0, history.Executed, a.at
	next, err := w.spec.step(w.state, op)
	switch {
	case err == nil && (a.after == nil || w.spec.fits(next, a)):
		w.become(next, a)
	case a.after != nil:
		w.become(w.spec.shown(*a.after), a)
	}
}

// unseenAll checks the answers that the server never gave. An owner's answers come in the order of its calls, also
// where they share an instant.
func (w *witness[S]) unseenAll() {
	if len(w.took) == len(w.l.ops) {
		return
	}
	most := make([]int, len(w.l.ops)) // the last epoch that the owner's next executed call lets an answer see
	last := map[string]int{}
	for i := len(w.l.ops) - 1; i >= 0; i-- {
		op := w.l.ops[i]
		var known bool
		if most[i], known = last[op.Owner]; !known || linear.Beside(op) {
			most[i] = len(w.past) - 1
		}
		if t, ok := w.took[op]; ok && !afterwards(op) {
			last[op.Owner] = t.first
		}
	}
	first := map[string]int{}
	for i, op := range w.l.ops {
		if t, ok := w.took[op]; ok {
			if !afterwards(op) {
				first[op.Owner] = t.last
			}
			continue
		}
		least := first[op.Owner]
		if linear.Beside(op) {
			least = 0
		}
		if at := w.unseen(op, span{least, most[i]}); !linear.Beside(op) {
			first[op.Owner] = max(least, at)
		}
	}
}

// afterwards reports whether a call took effect when its owner had its answer, and went on.
func afterwards(op *history.Op) bool { return !op.Pending() && op.Executed > op.Return }

// takesAnew reports whether a command took a hold that nothing was to be kept of: its lease is the one that was asked for, whenever it came.
func (f *facts) takesAnew(a *act) bool {
	return a.op.Kind.Acquires() && a.op.Fresh == 0 && a.seq >= 0 && f.h.Served[a.seq].Before.Count(a.op.Owner) == 0
}

// mistaken reports whether the caller of an unlock that left a hold expected the lease of a hold that the server had no more, of whose end
// nobody had told it. The lease is then right if a call set it that took the hold that is there.
func (f *facts) mistaken(l *lockFacts, a *act) bool {
	op := a.op
	if !op.Kind.Unlocks() || a.after.Deadline == 0 {
		return false
	}
	set, before := false, false
	for _, t := range l.owner(op.Owner).tenures {
		for _, s := range t.sets {
			switch {
			case s.op == nil || !s.op.Kind.Acquires() || s.at > a.at:
			case t.to < a.at:
				before = before || s.op.Lease == op.Lease
			case s.op.Lease == op.Lease:
				return false
			default:
				set = set || (a.at+s.op.Lease-a.after.Deadline).Abs() <= f.exact()
			}
		}
	}
	return set && before
}

// unseen checks an answer that the server never gave: the lock's client knew it by itself, as a
// waiter does whose time is over. It is legal if it was true at some moment of the call. It returns the first epoch
// within bounds in which it was.
func (w *witness[S]) unseen(op *history.Op, bounds span) int {
	if op.Evidence == history.Executed || op.Uncertain() || op.Outcome == history.Failed || w.f.knownWithin(w.l, op) {
		return 0
	}
	a := &act{at: op.Return, op: op}
	if effective(op, op.Outcome) {
		w.beyond.violation = true
		rule, says := contract.AnswerHasRoot, "but the server never executed it"
		if done := w.f.didNothing(op); done != nil {
			rule, says = contract.EffectIsThere, fmt.Sprintf("but what the server executed for it at %s changed nothing", Stamp(done.At))
		}
		w.broken(rule, fmt.Sprintf("%s: %s by %s (operation %d) returned %s at %s, %s",
			w.l.name, op.Kind, op.Owner, op.ID, op.Outcome, Stamp(op.Return), says), a, contract.Unexplained)
		return 0
	}
	if w.l.toldLost(op) {
		return 0
	}
	var first error
	ordered := false
	// The states of the call: from the last that began before it on.
	from := op.Call
	if w.spec.since != nil {
		from = w.spec.since(w.l, op)
	}
	begin, _ := slices.BinarySearchFunc(w.past, linear.Moment(from), func(e epoch[S], at int64) int { return cmp.Compare(e.from, at) })
	begin = max(0, begin-1)
	for i, e := range w.past[begin:] {
		if e.from > linear.Moment(op.Return) {
			break
		}
		as := *op
		if w.spec.lapses { // what was over when it began is over
			as.Call = max(op.Call, e.begun)
		}
		_, err := w.spec.step(e.state, as)
		if err != nil && as.Call > op.Call { // whoever does not know the server's order may take it for right
			_, wide := w.spec.step(e.state, *op)
			ordered = ordered || wide == nil
		}
		if err == nil && bounds.first <= begin+i && begin+i <= bounds.last {
			return begin + i
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = w.spec.untrue(w.past[bounds.last].state, *op)
	}
	w.beyond.violation = w.beyond.violation || from > op.Call || ordered
	w.illegal(first, a)
	return 0
}

// didNothing is the last command by which the server executed a call, of which nothing was to be seen in the key; nil: there is none. A
// question is no such command.
func (f *facts) didNothing(op *history.Op) (last *history.Served) {
	for _, i := range f.executions(op) {
		r := &f.h.Served[i]
		if r.At > op.Return || r.Step == history.StepQuery || r.Before == nil || r.After == nil || !sameKey(r.Before, r.After) {
			continue
		}
		last = r
	}
	return last
}

// toldLost reports whether op is an unlock that the lock's client refused by itself, without the
// server, because it had told the owner that its hold was over. It does so before the server has
// given the lock away, so that the refusal is not the server's to explain.
func (l *lockFacts) toldLost(op *history.Op) bool {
	if !op.Kind.Unlocks() || op.Outcome != history.NotHeld || op.Evidence == history.Executed {
		return false
	}
	o := l.owner(op.Owner)
	return o.told && o.lost <= op.Return
}

// doubtful reports whether the order of the acts is one of several: an event has no exact time, or two acts share an
// instant, and neither the server log, nor their owner's program, nor a virtual clock says which came first.
func doubtful(f *facts, l *lockFacts) bool {
	if slices.ContainsFunc(l.environment, func(e *history.Event) bool { return e.Since > 0 && e.Since < e.At }) {
		return true
	}
	for from := 0; from < len(l.acts); {
		to := from + 1
		for to < len(l.acts) && l.acts[to].at == l.acts[from].at {
			to++
		}
		for i := from; i < to; i++ {
			for j := i + 1; j < to; j++ {
				if !f.inOrder(&l.acts[i], &l.acts[j]) {
					return true
				}
			}
		}
		from = to
	}
	return false
}

// inOrder reports whether it is known which of two acts at one instant came first.
func (f *facts) inOrder(a, b *act) bool {
	switch {
	case a.seq >= 0 && b.seq >= 0:
		return true
	case a.event != nil && b.event != nil:
		holds := a.event.Kind == history.Expire && b.event.Kind == history.Expire // of a read-write lock
		return holds && a.event.Owner != b.event.Owner
	case a.event != nil || b.event != nil:
		return f.h.Header.Clock == history.Virtual
	}
	return a.op.Owner == b.op.Owner && !linear.Beside(a.op) && !linear.Beside(b.op)
}
