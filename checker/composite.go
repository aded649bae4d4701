package checker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/composite"
	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/model"
)

// A joint is locks that are judged together.
type joint struct {
	*composite.Locks
	locks []*lockFacts // those that were called first
}

// jointsOf finds the joint of each lock that belongs to one.
func jointsOf(f *facts) map[string]*joint {
	all, of := map[*composite.Locks]*joint{}, map[string]*joint{}
	for name, e := range composite.Of(f.h.Header.Groups, f.options.Model) {
		if all[e] == nil {
			all[e] = &joint{Locks: e}
		}
		of[name] = all[e]
	}
	for _, called := range []bool{true, false} {
		for _, l := range f.locks {
			if e := of[l.name]; e != nil && len(l.ops) > 0 == called {
				e.locks = append(e.locks, l)
			}
		}
	}
	return of
}

// judge asks porcupine about the history of all locks of the joint.
func (e *joint) judge(ctx context.Context, f *facts) opinion {
	o := opinion{lock: e.locks[0].name, violations: f.found(contract.Object), by: []string{byPorcupine}, status: Undecided}
	var ops []porcupine.Operation
	for _, l := range e.locks {
		ops = append(ops, f.problem(l, linear.AsCalled).History()...)
	}
	switch {
	case len(e.Members) > model.MaxMembers:
		o.note = fmt.Sprintf("groups that have members in common may have %d in all, not %d", model.MaxMembers, len(e.Members))
	case f.implied():
		o.note = "of a group the ends of leases must be known"
	case !linear.Few(ops):
		o.note = fmt.Sprintf("groups are judged by porcupine alone, which takes up to %s, %d of them at once", count(linear.MaxOps, "operation"), linear.MaxConcurrent)
	default:
		switch e.Ask(ctx, ops, f.options.Budget) {
		case porcupine.Ok:
			o.status = Holds
		case porcupine.Illegal:
			o.status = Broken
			o.violations.add(func() Violation { return e.explain(ctx, f, ops) })
		default:
			o.note = "porcupine came to no answer within its budget"
		}
	}
	return o
}

// explain is the violation that shows first.
func (e *joint) explain(ctx context.Context, f *facts, ops []porcupine.Operation) Violation {
	x := e.Explain(ctx, ops, f.options.Budget)
	op, event := x.Step.Op, x.Step.Event
	v := Violation{Rule: contract.Linearizable, Lock: op.Lock, From: time.Duration(x.Call), To: time.Duration(x.Return)}
	a := &act{at: v.To, op: &op}
	if event != nil {
		v.Lock = event.Lock
		v.Text = fmt.Sprintf("%s: the %s at %s", v.Lock, event.Kind, Stamp(event.At))
		a.op, a.event = nil, event
	} else {
		v.Ops, v.Owners = []int64{op.ID}, []string{op.Owner}
		v.Text = fmt.Sprintf("%s: %s by %s (operation %d) answered %s", v.Lock, op.Kind, op.Owner, op.ID, op.Outcome)
	}
	v.Text += fmt.Sprintf(", which fits no order of the %s before it", count(x.Before, "answer"))
	class := contract.Unexplained
	if x.Why != nil {
		v.Text += ": " + x.Why.Error()
		var illegal *model.Illegal
		var members *model.MemberError
		switch {
		case errors.As(x.Why, &illegal):
			v.Rule, class = illegal.Rule, classOf(illegal.Rule)
		case errors.As(x.Why, &members):
			v.Rule = members.Rule
		}
		switch v.Rule {
		case contract.EnoughMembers:
			class = contract.GrantedTwice
		case contract.HolderHasEnough:
			class = contract.ForeignRelease
		}
	}
	v.Cause = objectCause(f, e.locks[0], a, class)
	return v
}
