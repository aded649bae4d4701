// Package composite decides whether what became of locks that are made of others is linearizable, taken together: no
// lock of a group can be judged without what was done to the others. Only porcupine judges it.
//
// It must not know verdicts, causes, or words for people.
package composite

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Locks are those that are judged together: groups, as the header names them, that have
// members in common, and their members. Their model is that of package model for locks of several
// members; members are also locks by themselves.
type Locks struct {
	Members []string
	groups  map[string]compound
	kind    model.Kind
}

// A compound is a group, by the places of its members.
type compound struct {
	quorum  model.Quorum
	members []int
}

// Of finds for each lock with which others it is judged; one that is judged alone is not among them.
func Of(groups []history.Group, kind model.Kind) map[string]*Locks {
	of := map[string]*Locks{}
	for _, g := range groups {
		if g.Seen() {
			continue // judged as one lock, and by its members in the server log
		}
		e := &Locks{groups: map[string]compound{}, kind: kind}
		c := compound{quorum: model.QuorumOf(g)}
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
	return of
}

// joined is e with all that other has.
func (e *Locks) joined(other *Locks, of map[string]*Locks) *Locks {
	for name, c := range other.groups {
		for i, at := range c.members {
			c.members[i] = e.place(other.Members[at])
		}
		e.groups[name], of[name] = c, e
	}
	for _, name := range other.Members {
		e.place(name)
		of[name] = e
	}
	return e
}

// place is the place of a member, a new one if it has none.
func (e *Locks) place(name string) int {
	i := slices.Index(e.Members, name)
	if i < 0 {
		i = len(e.Members)
		e.Members = append(e.Members, name)
	}
	return i
}

// Ask asks porcupine about the history of all locks of the locks.
func (e *Locks) Ask(ctx context.Context, ops []porcupine.Operation, budget time.Duration) porcupine.CheckResult {
	if ctx.Err() != nil {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(linear.Model(model.QuorumState{}, e.Apply, ops), ops, budget)
}

// Apply is the model: a step of a group, of a member, or of what the environment did to one.
func (e *Locks) Apply(in *linear.Step, s model.QuorumState) (model.QuorumState, error) {
	lock := in.Op.Lock
	if in.Event != nil {
		lock = in.Event.Lock
	}
	g, isGroup := e.groups[lock]
	if isGroup && in.Event == nil {
		op := in.Op
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
		for i := range e.Members {
			affected = append(affected, i)
		}
	} else if !isGroup {
		affected = []int{slices.Index(e.Members, lock)}
	}
	for _, i := range affected {
		next, err := linear.Apply(e.kind, in, s[i])
		if err != nil {
			return s, err
		}
		s[i] = next
	}
	return s, nil
}

// Inexplicable is the first answer of composite locks that no order explains.
type Inexplicable struct {
	Step         *linear.Step
	Call, Return int64
	Before       int   // how many answers came before it
	Why          error // what the model says to it after one of their orders, or nil
}

// Explain finds it in a history that porcupine refuses: with what was called by then it is
// refused, and without it, accepted.
func (e *Locks) Explain(ctx context.Context, ops []porcupine.Operation, budget time.Duration) Inexplicable {
	var answers []porcupine.Operation
	for _, op := range ops {
		if in := op.Input.(*linear.Step); op.Return != math.MaxInt64 && !in.Maybe {
			answers = append(answers, op)
		}
	}
	slices.SortStableFunc(answers, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	until := func(n int) []porcupine.Operation { // the first n answers, and what may have happened besides
		told := map[any]bool{}
		for _, op := range answers[:n] {
			told[op.Input] = true
		}
		var part []porcupine.Operation
		for _, op := range ops {
			if in := *op.Input.(*linear.Step); !told[op.Input] && op.Return != math.MaxInt64 {
				in.Later, op.Input, op.Return = true, &in, math.MaxInt64
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
		if middle := (low + high) / 2; e.Ask(ctx, until(middle), budget) == porcupine.Illegal {
			high = middle
		} else {
			low = middle
		}
	}
	first := answers[high-1].Input.(*linear.Step)
	return Inexplicable{Step: first, Call: answers[high-1].Call, Return: answers[high-1].Return, Before: high - 1,
		Why: e.refusal(until(high-1), first, budget)}
}

// refusal is what the model says to an answer after some order of what was before it, if nothing
// that may or may not have happened is needed for one.
func (e *Locks) refusal(before []porcupine.Operation, in *linear.Step, budget time.Duration) error {
	before = slices.DeleteFunc(before, func(op porcupine.Operation) bool { in := op.Input.(*linear.Step); return in.Maybe || in.Later })
	m := linear.Model(model.QuorumState{}, e.Apply, before)
	result, info := porcupine.CheckOperationsVerbose(m, before, budget)
	if result != porcupine.Ok {
		return nil
	}
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			var s model.QuorumState
			for _, op := range order {
				s, _ = e.Apply(op.Input.(*linear.Step), s)
			}
			if _, err := e.Apply(in, s); err != nil {
				return err
			}
		}
	}
	return nil
}
