package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// The checkers of object, as reports name them.
const (
	byWitness   = "witness replay"
	byInterval  = "interval checker"
	byFrontier  = "frontier checker"
	byPorcupine = "porcupine"
	byNotices   = "times of notices"
	byMembers   = "members of groups"
)

// blackBox judges a lock by what its clients were told, and by the server's times if w says so: by
// intervals where they decide, or else by search. What they refuse the search explains, and porcupine looks at a
// second time: at the whole when it is small, or else at the part that shows the violation.
func blackBox(ctx context.Context, f *facts, l *lockFacts, w linear.Window) opinion {
	o := opinion{lock: l.name, violations: f.found(contract.Object)}
	lock := f.problem(l, w)
	p := linear.Reduce(lock)
	inferred := p.Inferred()
	small := !inferred && fitsPorcupine(l)
	says, decided := p.Intervals()
	if decided {
		o.status, o.by = statusOf(says), []string{byInterval}
	}
	if !decided || says == porcupine.Illegal {
		s, ok := p.Search(ctx, f.options.limits())
		if !ok {
			return o.unexplained(l, fmt.Sprintf("more than %d calls were under way at once", linear.MaxUnderWay))
		}
		r := s.Run()
		switch {
		case r.Result == porcupine.Unknown:
			return o.unexplained(l, fmt.Sprintf("the %s came to no answer: %s", byFrontier, r.Why))
		case decided && r.Result != says:
			o.status = Undecided
			o.disagree = fmt.Sprintf("the checkers disagree on %s: the %s refuses it, the %s does not", l.name, byInterval, byFrontier)
			return o
		case !decided:
			o.by = []string{byFrontier}
		}
		if o.status = statusOf(r.Result); o.status == Broken {
			o.violations.add(func() Violation { return f.inexplicable(l, r, s.Refusal(r)) })
			if inferred {
				return o
			}
			if !small {
				return o.again(l, s.Part(r), "the part that shows the violation")
			}
		}
	}
	if !small || o.status == Holds && f.options.Sparing {
		return o
	}
	return o.again(l, lock.Porcupine(ctx, f.options.Budget), "")
}

// unexplained is the opinion when the search came to no answer: what the intervals refused stays
// refused.
func (o opinion) unexplained(l *lockFacts, why string) opinion {
	o.note = why
	if o.status != Broken {
		o.status, o.by = Undecided, []string{byFrontier}
		return o
	}
	o.violations.add(func() Violation {
		return Violation{
			Rule: contract.Linearizable, Lock: l.name,
			Text:  fmt.Sprintf("%s: no order of its %s fits the sequential lock", l.name, count(len(l.ops), "operation")),
			Cause: Cause{Class: contract.Unexplained, Text: "the server's order is not known"},
		}
	})
	return o
}

// again adds porcupine's opinion of the whole, or of a part.
func (o opinion) again(l *lockFacts, second porcupine.CheckResult, of string) opinion {
	agrees := o.status == Holds && second == porcupine.Ok || o.status == Broken && second == porcupine.Illegal
	if of != "" {
		of = " on " + of
	}
	switch {
	case second == porcupine.Unknown:
		o.note = "porcupine came to no answer within its budget"
	case agrees:
		o.by = append(o.by, byPorcupine+of)
	default:
		says := map[Status]string{Holds: "accepts", Broken: "refuses"}
		o.disagree = fmt.Sprintf("the checkers disagree on %s: the %s %s it, porcupine%s does not", l.name, o.by[0], says[o.status], of)
		o.status = Undecided
	}
	return o
}

// inexplicable is the violation that a search found: the first answer that no order explains.
func (f *facts) inexplicable(l *lockFacts, r linear.Found, x linear.Refusal) Violation {
	v := Violation{Rule: contract.Linearizable, Lock: l.name, From: x.From, To: x.To}
	whose, what := "", ""
	at := &act{at: x.To}
	if x.Op >= 0 {
		at.op = l.ops[x.Op]
		v.Ops, v.Owners = []int64{at.op.ID}, []string{at.op.Owner}
		what = fmt.Sprintf("%s by %s (operation %d)", at.op.Kind, at.op.Owner, at.op.ID)
	} else {
		at.event = l.environment[x.Event]
		what = fmt.Sprintf("the %s at %s", at.event.Kind, Stamp(at.event.At))
	}
	if r.Alone {
		whose = " of " + at.op.Owner
	}
	class := contract.Unexplained
	var illegal *model.Illegal
	if errors.As(x.Why, &illegal) {
		v.Rule, class = illegal.Rule, classOf(illegal.Rule)
		v.Text = fmt.Sprintf("%s: %s", l.name, illegal)
	} else {
		v.Text = fmt.Sprintf("%s: %s cannot be explained", l.name, what)
	}
	v.Text += fmt.Sprintf(", in every order that fits the %s%s before it", count(x.Before, "answer"), whose)
	var others, holders []string
	for _, s := range x.States {
		if says := s.String(); says != x.States[0].String() {
			others = appendNew(others, says)
		}
		if !s.Free() {
			holders = appendNew(holders, s.Owner)
		}
	}
	if len(others) > 0 {
		v.Text += " (or " + strings.Join(others, ", or ") + ")"
	}
	v.Cause = objectCause(f, l, at, class)
	if !f.sentAgain(l, appendNew(slices.Clone(v.Owners), holders...), &v) && len(v.Cause.Faults) == 0 && !f.heldUntold(l, &v) {
		f.blameEarlier(l, appendNew(holders, v.Owners...), &v)
	}
	return v
}

// blameEarlier looks for faults that struck an earlier call of whoever the lock was held by when an answer
// could not be explained, or of whoever got that answer: what they did shows only later.
func (f *facts) blameEarlier(l *lockFacts, owners []string, v *Violation) {
	var clients []string
	for _, op := range l.ops {
		if slices.Contains(owners, op.Owner) {
			clients = appendNew(clients, op.Client)
		}
	}
	for _, client := range clients {
		v.Cause.Faults = appendNew(v.Cause.Faults, f.struckBy(client, l.name, v.From, v.To, resends)...)
	}
	if len(v.Cause.Faults) > 0 {
		v.Cause.Effects = f.effectsOf(v.Cause.Faults)
		v.Cause.Text = fmt.Sprintf("since %s, when the answers last left no doubt, %s", Stamp(v.From), f.describeAll(v.Cause.Faults))
	}
}

// classOf is the class of what breaks a rule of the model.
func classOf(r contract.Rule) contract.Class {
	switch r {
	case contract.OneHolder, contract.NoReentry:
		return contract.GrantedTwice
	case contract.HolderReleases:
		return contract.ForeignRelease
	case contract.NotBeforeLease:
		return contract.LeaseExpired
	}
	return contract.Unexplained
}

// problem is a lock as the searching checkers are asked about it.
func (f *facts) problem(l *lockFacts, w linear.Window) *linear.Lock {
	p := &linear.Lock{
		Ops: f.withoutLocal(l), Events: slices.Clone(l.environment), Window: w, Excused: l.toldLost, Model: f.options.Model, Virtual: f.h.Header.Clock == history.Virtual,
		Served: len(f.h.Served) > 0, Inferred: f.implied(), Keeps: f.keepsLongest(), End: f.end, Gone: f.gone,
	}
	for i, e := range l.environment {
		if e.Kind == history.Expire && f.outside(e) {
			deleted := *e
			deleted.Kind = history.Delete
			p.Events[i] = &deleted
		}
	}
	if w == linear.AsExecuted {
		p.Order = l.order()
	}
	return p
}

// withoutLocal are operations without what the server was not asked about, where owners of one client exclude each other and count their holds within
// its process: that says nothing of the lock.
func (f *facts) withoutLocal(l *lockFacts) []*history.Op {
	if !f.h.Can(string(contract.LocalHolds)) {
		return l.ops
	}
	return slices.DeleteFunc(slices.Clone(l.ops), func(op *history.Op) bool { return f.knownWithin(l, op) })
}

// knownWithin reports whether the process of a call's client knew the answer by itself: of a hold that its owner had, or that another of its owners
// had or asked for.
func (f *facts) knownWithin(l *lockFacts, op *history.Op) bool {
	if !f.h.Can(string(contract.LocalHolds)) || op.Evidence != history.NotSent {
		return false
	}
	switch op.Outcome {
	case history.Decremented:
		return true
	case history.Busy:
		return f.localUntil(l, op, op.Call) > op.Call || slices.ContainsFunc(l.ops, func(o *history.Op) bool {
			return o.Client == op.Client && o.Owner != op.Owner && !o.Aside && o.Kind.Asks() && o.Call <= op.Return && (o.Pending() || o.Return >= op.Call)
		})
	case history.Acquired, history.NotHeld:
		holds := slices.ContainsFunc(l.beliefs, func(b *belief) bool { return b.owner == op.Owner && b.from < op.Call && op.Call <= b.to })
		return holds == (op.Outcome == history.Acquired)
	}
	return false
}

// statusOf is what a checker's answer means.
func statusOf(r porcupine.CheckResult) Status {
	return map[porcupine.CheckResult]Status{porcupine.Ok: Holds, porcupine.Illegal: Broken, porcupine.Unknown: Undecided}[r]
}

// askPorcupine is porcupine's opinion of one lock.
func askPorcupine(ctx context.Context, f *facts, l *lockFacts, w linear.Window) porcupine.CheckResult {
	return f.problem(l, w).Porcupine(ctx, f.options.Budget)
}

// fitsPorcupine reports whether porcupine can be expected to answer.
func fitsPorcupine(l *lockFacts) bool { return len(l.acts) <= linear.MaxOps && linear.Fits(l.ops) }

// order are the acts at one instant of which the server log says which came first, by their names for porcupine.
func (l *lockFacts) order() (pairs [][2]int64) {
	for i := 1; i < len(l.acts); i++ {
		a, b := &l.acts[i-1], &l.acts[i]
		if a.at == b.at && a.seq >= 0 && b.seq >= 0 && !a.again && !b.again {
			pairs = append(pairs, [2]int64{l.id(a), l.id(b)})
		}
	}
	return pairs
}

// id is what a [linear.Step] calls an act.
func (l *lockFacts) id(a *act) int64 {
	if a.event != nil {
		return int64(^slices.Index(l.environment, a.event))
	}
	return a.op.ID
}
