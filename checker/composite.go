package checker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/model"
)

// An ensemble is locks that are judged together: groups, as the header names them, that have
// members in common, and their members. Its model is that of package model for locks of several
// members; members are also locks by themselves. Only porcupine judges it.
type ensemble struct {
	locks   []*lockFacts // those that were called first
	members []string
	groups  map[string]compound
	kind    model.Kind
}

// A compound is a group, by the places of its members in an ensemble.
type compound struct {
	quorum  model.Quorum
	members []int
}

// ensemblesOf finds the ensemble of each lock that belongs to one.
func ensemblesOf(f *facts) map[string]*ensemble {
	of := map[string]*ensemble{}
	for _, g := range f.h.Header.Groups {
		if g.Seen() {
			continue // judged as one lock, and by its members in the server log: see group.go
		}
		e := &ensemble{groups: map[string]compound{}, kind: f.options.Model}
		c := compound{quorum: model.Quorum{Members: len(g.Members), Needed: neededOf(g)}}
		for _, name := range g.Members {
			if other := of[name]; other != nil && other != e {
				e = other.joined(e, of)
			}
			e.place(name)
			of[name] = e
		}
		for _, name := range g.Members {
			c.members = append(c.members, e.place(name))
		}
		e.groups[g.Name], of[g.Name] = c, e
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

// joined is e with all that other has.
func (e *ensemble) joined(other *ensemble, of map[string]*ensemble) *ensemble {
	for name, c := range other.groups {
		for i, at := range c.members {
			c.members[i] = e.place(other.members[at])
		}
		e.groups[name], of[name] = c, e
	}
	for _, name := range other.members {
		e.place(name)
		of[name] = e
	}
	return e
}

// place is the place of a member, a new one if it has none.
func (e *ensemble) place(name string) int {
	i := slices.Index(e.members, name)
	if i < 0 {
		i = len(e.members)
		e.members = append(e.members, name)
	}
	return i
}

// judge asks porcupine about the history of all locks of the ensemble.
func (e *ensemble) judge(ctx context.Context, f *facts) opinion {
	o := opinion{lock: e.locks[0].name, violations: f.found(contract.Object), by: []string{byPorcupine}, status: Undecided}
	var ops []porcupine.Operation
	var edges []edge
	for _, l := range e.locks {
		ops = append(ops, porcupineHistory(f, l, asCalled)...)
	}
	for _, op := range ops {
		edges = append(edges, edge{time.Duration(op.Call), 1}, edge{time.Duration(op.Return), -1})
	}
	switch {
	case len(e.members) > model.MaxMembers:
		o.note = fmt.Sprintf("groups that have members in common may have %d in all, not %d", model.MaxMembers, len(e.members))
	case f.implied():
		o.note = "of a group the ends of leases must be known"
	case len(ops) > porcupineOps || deepest(edges) > porcupineConcurrent:
		o.note = fmt.Sprintf("groups are judged by porcupine alone, which takes up to %d operations, %d of them at once", porcupineOps, porcupineConcurrent)
	default:
		switch e.ask(ctx, f, ops) {
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

func (e *ensemble) ask(ctx context.Context, f *facts, ops []porcupine.Operation) porcupine.CheckResult {
	if ctx.Err() != nil {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(stepModel(model.QuorumState{}, e.apply, ops), ops, f.options.Budget)
}

// apply is the model: a step of a group, of a member, or of what the environment did to one.
func (e *ensemble) apply(in *porcupineStep, s model.QuorumState) (model.QuorumState, error) {
	lock := in.op.Lock
	if in.event != nil {
		lock = in.event.Lock
	}
	g, isGroup := e.groups[lock]
	if isGroup && in.event == nil {
		op := in.op
		if !e.kind.Leases() {
			op.Lease = 0
		}
		var own model.QuorumState
		for i, at := range g.members {
			own[i] = s[at]
		}
		own, err := g.quorum.Step(own, op)
		for i, at := range g.members {
			s[at] = own[i]
		}
		return s, err
	}
	affected := g.members // what befalls a group befalls each of its members; a clock's jump, all
	if lock == "" {
		for i := range e.members {
			affected = append(affected, i)
		}
	} else if !isGroup {
		affected = []int{slices.Index(e.members, lock)}
	}
	for _, i := range affected {
		next, err := in.apply(e.kind, s[i])
		if err != nil {
			return s, err
		}
		s[i] = next
	}
	return s, nil
}

// explain finds the first answer that cannot be explained: with what was called by then it is
// refused, and without it, accepted.
func (e *ensemble) explain(ctx context.Context, f *facts, ops []porcupine.Operation) Violation {
	var answers []porcupine.Operation
	for _, op := range ops {
		if in := op.Input.(*porcupineStep); op.Return != math.MaxInt64 && !in.maybe {
			answers = append(answers, op)
		}
	}
	slices.SortStableFunc(answers, func(a, b porcupine.Operation) int { return cmpInt(a.Return, b.Return) })
	until := func(n int) []porcupine.Operation { // the first n answers, and what may have happened besides
		told := map[any]bool{}
		for _, op := range answers[:n] {
			told[op.Input] = true
		}
		var part []porcupine.Operation
		for _, op := range ops {
			if in := *op.Input.(*porcupineStep); !told[op.Input] && op.Return != math.MaxInt64 {
				in.later, op.Input, op.Return = true, &in, math.MaxInt64
			}
			if n < len(answers) && op.Call > answers[n].Return {
				continue
			}
			part = append(part, op)
		}
		return part
	}
	low, high := 0, len(answers) // accepted, refused
	for high-low > 1 {
		if middle := (low + high) / 2; e.ask(ctx, f, until(middle)) == porcupine.Illegal {
			high = middle
		} else {
			low = middle
		}
	}
	first := answers[high-1]
	in := first.Input.(*porcupineStep)
	v := Violation{Rule: contract.Linearizable, Lock: in.op.Lock, From: time.Duration(first.Call), To: time.Duration(first.Return)}
	a := &act{at: v.To, op: &in.op}
	if in.event != nil {
		v.Lock = in.event.Lock
		v.Text = fmt.Sprintf("%s: the %s at %s", v.Lock, in.event.Kind, Stamp(in.event.At))
		a.op, a.event = nil, in.event
	} else {
		v.Ops, v.Owners = []int64{in.op.ID}, []string{in.op.Owner}
		v.Text = fmt.Sprintf("%s: %s by %s (operation %d) answered %s", v.Lock, in.op.Kind, in.op.Owner, in.op.ID, in.op.Outcome)
	}
	v.Text += fmt.Sprintf(", which fits no order of the %s before it", count(high-1, "answer"))
	class := contract.Unexplained
	if err := e.refusal(f, until(high-1), in); err != nil {
		v.Text += ": " + err.Error()
		var illegal *model.Illegal
		var members *model.MemberError
		switch {
		case errors.As(err, &illegal):
			v.Rule, class = illegal.Rule, classOf(illegal.Rule)
		case errors.As(err, &members):
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

// refusal is what the model says to an answer after some order of what was before it, if nothing
// that may or may not have happened is needed for one.
func (e *ensemble) refusal(f *facts, before []porcupine.Operation, in *porcupineStep) error {
	before = slices.DeleteFunc(before, func(op porcupine.Operation) bool { in := op.Input.(*porcupineStep); return in.maybe || in.later })
	m := stepModel(model.QuorumState{}, e.apply, before)
	result, info := porcupine.CheckOperationsVerbose(m, before, f.options.Budget)
	if result != porcupine.Ok {
		return nil
	}
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			var s model.QuorumState
			for _, op := range order {
				s, _ = e.apply(op.Input.(*porcupineStep), s)
			}
			if _, err := e.apply(in, s); err != nil {
				return err
			}
		}
	}
	return nil
}
