package linear

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
)

// porcupine takes O(n²) memory on every history and 2^clients time on an illegal one; within
// these limits it answers in well under a second (reference figures: 1,000 operations of 16
// clients with one wrong answer take 66 ms, of 32 clients more than 30 s).
const (
	MaxOps        = 2000
	MaxConcurrent = 16
)

// Step is what porcupine calls an input: an operation or an event.
type Step struct {
	Op    history.Op
	Event *history.Event

	Maybe bool // Op took effect within its interval, or never
	Later bool // it did, or does so after all that is asked about

	id     int64       // of the operation, or for an event its place in Lock.Events as ^place
	source *history.Op // Op as recorded; nil for an event
	after  []int64     // the steps that it follows though time does not say so, see [follow]

	needs, gives slots // see [tie]
}

// A Specification is sequential, with states of type S: one of package model.
type Specification[S any] interface {
	Step(S, history.Op) (S, error)
	Environment(S, history.Event) (S, error)
}

// Apply takes a step of a specification.
func Apply[S any](spec Specification[S], in *Step, s S) (S, error) {
	if in.Event != nil {
		return spec.Environment(s, *in.Event)
	}
	return spec.Step(s, in.Op)
}

// ordered is a state, and which of the steps at one moment that others follow have taken effect.
type ordered[S comparable] struct {
	state S
	done  slots
}

// Model is a specification with states of type S, as porcupine wants it for a history. Steps are taken in the
// order of [tie].
func Model[S comparable](init S, apply func(*Step, S) (S, error), ops []porcupine.Operation) porcupine.Model {
	type state = ordered[S]
	tie(ops)
	next := func(in *Step, s state) (after state, ok bool) {
		after = s
		after.done = s.done.without(in.needs).or(in.gives)
		var err error
		after.state, err = apply(in, s.state)
		return after, err == nil
	}
	ready := func(in *Step, s state) bool { return in.needs.without(s.done).empty() }
	describe := func(input, _ any) string { return input.(*Step).String() }
	words := func(s any) string { return fmt.Sprint(s.(state).state) }
	maybe := func(op porcupine.Operation) bool { in := op.Input.(*Step); return in.Maybe || in.Later }
	if !slices.ContainsFunc(ops, maybe) {
		return porcupine.Model{
			Init: func() any { return state{state: init} },
			Step: func(from, input, _ any) (bool, any) {
				in, s := input.(*Step), from.(state)
				if !ready(in, s) {
					return false, s
				}
				after, ok := next(in, s)
				return ok, after
			},
			DescribeOperation: describe, DescribeState: words,
		}
	}
	branching := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{state: init}} },
		Step: func(from, input, _ any) []any {
			in, s := input.(*Step), from.(state)
			if in.Later && !ready(in, s) {
				return []any{s}
			} else if !ready(in, s) {
				return nil
			}
			var all []any
			after, ok := next(in, s)
			if ok {
				all = append(all, after)
			}
			if in.Later {
				all = append(all, s)
			} else if in.Maybe {
				after.state = s.state
				all = append(all, after)
			}
			return all
		},
		DescribeOperation: describe, DescribeState: words,
	}
	return branching.ToModel()
}

func (s *Step) String() string {
	if s.Event != nil {
		return string(s.Event.Kind)
	}
	what := string(s.Op.Kind)
	if s.Op.Kind.Object().Counted() {
		what += fmt.Sprintf(" %d", s.Op.Value)
	}
	out := string(s.Op.Outcome)
	switch s.Op.Outcome {
	case "":
		out = "?"
	case history.OK:
		if s.Op.Kind.Object() == history.ALock {
			out = fmt.Sprint(s.Op.Value)
		}
	}
	return fmt.Sprintf("%s(%s) → %s", what, s.Op.Owner, out)
}

// History is one lock's history for porcupine. Unknown outcomes are closed by the
// evidence: a call that was not sent never happened, one that was executed had the answer of the
// server, one whose connection is known to be gone by some time took effect before that or never.
// What remains may take effect at any time after its call, or (which is the same, since it may
// come last) never.
func (l *Lock) History() []porcupine.Operation {
	clients := map[string]int{}
	number := func(owner string) int {
		if _, known := clients[owner]; !known {
			clients[owner] = len(clients)
		}
		return clients[owner]
	}
	var ops []porcupine.Operation
	for _, p := range l.Ops {
		op := *p
		from, to, maybe := Moment(op.Call), Moment(op.Return), false
		switch {
		case op.Outcome == history.Failed, op.Uncertain() && op.Evidence == history.NotSent, l.Excused(p), NobodyHeard(p):
			continue
		case op.Uncertain() && op.Evidence == history.Executed:
			op = closed(p)
			from, to = Moment(op.Executed), Moment(op.Executed)
		case op.Uncertain() && op.Evidence == history.Sent && l.Window == AsExecuted && l.Served:
			continue // the server log would show it
		case op.Uncertain() && op.Evidence == history.Sent && op.Until > 0:
			to, maybe = Moment(max(op.Until, op.Call)), true
		case op.Uncertain():
			to, maybe = math.MaxInt64, l.Unheard && op.Kind.Acquires()
		case l.Window == AsExecuted && op.Evidence == history.Executed:
			from, to = Moment(op.Executed), Moment(op.Executed)
		}
		if maybe && l.Unheard && op.Kind.Acquires() {
			op.Outcome, op.Evidence, op.Return = history.Acquired, history.NoEvidence, max(op.Return, cmp.Or(op.Until, l.End))
		}
		in := &Step{id: op.ID, Op: op, source: p, Maybe: maybe}
		ops = append(ops, porcupine.Operation{ClientId: number(op.Owner), Input: in, Call: from, Return: to})
	}
	for i, e := range l.Events {
		if porcupineNeeds(e) {
			call, ret := Struck(l.Virtual, cmp.Or(max(e.Since, 0), e.At), e.At)
			ops = append(ops, porcupine.Operation{ClientId: number(""), Input: &Step{id: int64(^i), Event: e}, Call: call, Return: ret})
		}
	}
	l.follow(ops)
	return ops
}

// porcupineNeeds reports whether an event says anything about the lock's state.
func porcupineNeeds(e *history.Event) bool {
	switch e.Kind {
	case history.Expire, history.Delete, history.ForceTTL, history.Restore, history.ClockJump, history.Leftover:
		return true
	}
	return false
}

// Ask asks porcupine, within a budget.
func Ask(ctx context.Context, m porcupine.Model, ops []porcupine.Operation, budget time.Duration) porcupine.CheckResult {
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline))
	}
	if budget <= 0 || ctx.Err() != nil {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(m, ops, budget)
}

// Fits reports whether porcupine can be expected to answer about a lock with these calls.
func Fits(ops []*history.Op) bool {
	if len(ops) > MaxOps {
		return false
	}
	var edges []edge
	for _, op := range ops {
		to := op.Return
		if NobodyHeard(op) {
			continue
		}
		if op.Uncertain() {
			switch to = math.MaxInt64; {
			case op.Evidence == history.NotSent || op.Evidence == history.Executed:
				continue // closed by the evidence
			case op.Evidence == history.Sent && op.Until > 0:
				to = max(op.Until, op.Call)
			}
		}
		edges = append(edges, edge{int64(op.Call), 1}, edge{int64(to), -1})
	}
	return deepest(edges) <= MaxConcurrent
}

// Few reports whether porcupine can be expected to answer about steps.
func Few(ops []porcupine.Operation) bool {
	var edges []edge
	for _, op := range ops {
		edges = append(edges, edge{op.Call, 1}, edge{op.Return, -1})
	}
	return len(ops) <= MaxOps && deepest(edges) <= MaxConcurrent
}

// An edge is a beginning (1) or an end (-1) of a call.
type edge struct {
	at   int64
	step int
}

// deepest is how many calls were under way at once.
func deepest(edges []edge) int {
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), b.step-a.step) })
	open, most := 0, 0
	for _, e := range edges {
		open += e.step
		most = max(most, open)
	}
	return most
}

// NobodyHeard reports whether an operation is a question of which nobody knows what the answer said.
func NobodyHeard(op *history.Op) bool {
	return op.Uncertain() && (op.Kind.Awaits() || op.Answer == history.OK && op.Kind.Object() == history.ALock)
}
