package checker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// porcupine takes O(n²) memory on every history and 2^clients time on an illegal one; within
// these limits it answers in well under a second (reference figures: 1,000 operations of 16
// clients with one wrong answer take 66 ms, of 32 clients more than 30 s).
const (
	porcupineOps        = 2000
	porcupineConcurrent = 16
)

// window says how much porcupine is to know of when an operation took effect.
type window int

const (
	asCalled   window = iota // between call and return, as clients saw it
	asExecuted               // at the server's time, where that is known
)

// porcupineStep is what porcupine calls an input: an operation or an event.
type porcupineStep struct {
	id     int64
	op     history.Op
	source *history.Op // op as recorded; nil for an event
	event  *history.Event
	maybe  bool    // op took effect within its interval, or never
	later  bool    // it did, or does so after all that is asked about
	after  []int64 // the steps that it follows though time does not say so, see [follow]

	needs, gives slots // see [tie]
}

func (in *porcupineStep) apply(kind model.Kind, s model.State) (model.State, error) {
	if in.event != nil {
		return kind.Environment(s, *in.event)
	}
	return kind.Step(s, in.op)
}

// porcupineModel is a lock of package model, as porcupine wants it for a history.
func porcupineModel(kind model.Kind, init model.State, ops []porcupine.Operation) porcupine.Model {
	return stepModel(init, func(in *porcupineStep, s model.State) (model.State, error) { return in.apply(kind, s) }, ops)
}

// ordered is a state, and which of the steps at one moment that others follow have taken effect.
type ordered[S comparable] struct {
	state S
	done  slots
}

// stepModel is a specification with states of type S, as porcupine wants it for a history. Steps are taken in the
// order of [tie].
func stepModel[S comparable](init S, apply func(*porcupineStep, S) (S, error), ops []porcupine.Operation) porcupine.Model {
	type state = ordered[S]
	tie(ops)
	next := func(in *porcupineStep, s state) (after state, ok bool) {
		after = s
		after.done = s.done.without(in.needs).or(in.gives)
		var err error
		after.state, err = apply(in, s.state)
		return after, err == nil
	}
	ready := func(in *porcupineStep, s state) bool { return in.needs.without(s.done).empty() }
	describe := func(input, _ any) string { return input.(*porcupineStep).String() }
	words := func(s any) string { return fmt.Sprint(s.(state).state) }
	maybe := func(op porcupine.Operation) bool { in := op.Input.(*porcupineStep); return in.maybe || in.later }
	if !slices.ContainsFunc(ops, maybe) {
		return porcupine.Model{
			Init: func() any { return state{state: init} },
			Step: func(from, input, _ any) (bool, any) {
				in, s := input.(*porcupineStep), from.(state)
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
			in, s := input.(*porcupineStep), from.(state)
			if in.later && !ready(in, s) {
				return []any{s}
			} else if !ready(in, s) {
				return nil
			}
			var all []any
			after, ok := next(in, s)
			if ok {
				all = append(all, after)
			}
			if in.later {
				all = append(all, s)
			} else if in.maybe {
				after.state = s.state
				all = append(all, after)
			}
			return all
		},
		DescribeOperation: describe, DescribeState: words,
	}
	return branching.ToModel()
}

func (s *porcupineStep) String() string {
	if s.event != nil {
		return string(s.event.Kind)
	}
	what := string(s.op.Kind)
	if s.op.Kind.Object() == history.ASemaphore {
		what += fmt.Sprintf(" %d", s.op.Value)
	}
	out := string(s.op.Outcome)
	switch s.op.Outcome {
	case "":
		out = "?"
	case history.OK:
		if s.op.Kind.Object() == history.ALock {
			out = fmt.Sprint(s.op.Value)
		}
	}
	return fmt.Sprintf("%s(%s) → %s", what, s.op.Owner, out)
}

// porcupineHistory is one lock's history for porcupine. Unknown outcomes are closed by the
// evidence: a call that was not sent never happened, one that was executed had the answer of the
// server, one whose connection is known to be gone by some time took effect before that or never.
// What remains may take effect at any time after its call, or (which is the same, since it may
// come last) never.
func porcupineHistory(f *facts, l *lockFacts, w window) []porcupine.Operation {
	clients := map[string]int{}
	number := func(owner string) int {
		if _, known := clients[owner]; !known {
			clients[owner] = len(clients)
		}
		return clients[owner]
	}
	var ops []porcupine.Operation
	for _, p := range l.ops {
		op := *p
		from, to, maybe := momentOf(op.Call), momentOf(op.Return), false
		switch {
		case op.Outcome == history.Failed, op.Uncertain() && op.Evidence == history.NotSent, l.toldLost(p), nobodyHeard(p):
			continue
		case op.Uncertain() && op.Evidence == history.Executed:
			if op.Outcome, op.Return = op.Answer, max(op.Executed, 1); op.Token == 0 {
				op.Token = model.UnheardToken
			}
			from, to = momentOf(op.Executed), momentOf(op.Executed)
		case op.Uncertain() && op.Evidence == history.Sent && w == asExecuted && len(f.h.Served) > 0:
			continue // the server log would show it
		case op.Uncertain() && op.Evidence == history.Sent && op.Until > 0:
			to, maybe = momentOf(max(op.Until, op.Call)), true
		case op.Uncertain():
			to = math.MaxInt64
		case w == asExecuted && op.Evidence == history.Executed:
			from, to = momentOf(op.Executed), momentOf(op.Executed)
		}
		in := &porcupineStep{id: op.ID, op: op, source: p, maybe: maybe}
		ops = append(ops, porcupine.Operation{ClientId: number(op.Owner), Input: in, Call: from, Return: to})
	}
	for i, e := range l.environment {
		if porcupineNeeds(e) {
			event := *e
			if f.outside(e) {
				event.Kind = history.Delete
			}
			from := e.At
			if e.Since > 0 {
				from = e.Since
			}
			call, ret := f.struck(from, e.At)
			ops = append(ops, porcupine.Operation{ClientId: number(""), Input: &porcupineStep{id: int64(^i), event: &event}, Call: call, Return: ret})
		}
	}
	follow(l, ops, w)
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

// Picture writes porcupine's own picture of one lock's history, a page of HTML that needs nothing
// else: the calls as their clients saw them, and an order that fits the sequential lock or the
// longest ones that do. It is [ErrTooLarge] when porcupine cannot be expected to come to an end.
func Picture(w io.Writer, h *history.History, lock string, budget time.Duration) error {
	f := collect(h, Options{Budget: budget})
	for _, l := range slices.Concat(f.locks, f.semaphores) {
		if l.name != lock {
			continue
		}
		if !fitsPorcupine(l) {
			return fmt.Errorf("picture of %s: %w", lock, ErrTooLarge)
		}
		ops := porcupineHistory(f, l, asCalled)
		m := porcupineModel(f.options.Model, model.State{}, ops)
		if slices.Contains(f.semaphores, l) {
			m = f.permitsModel(ops)
		}
		_, info := porcupine.CheckOperationsVerbose(m, ops, budget)
		return porcupine.Visualize(m, info, w)
	}
	return fmt.Errorf("picture of %s: %w", lock, ErrNoSuchLock)
}

// Errors of [Picture].
var (
	ErrTooLarge   = errors.New("too many operations for porcupine")
	ErrNoSuchLock = errors.New("the history has no such lock")
)

// askPorcupine is porcupine's opinion of one lock.
func askPorcupine(ctx context.Context, f *facts, l *lockFacts, w window) porcupine.CheckResult {
	return runPorcupine(ctx, f, model.State{}, porcupineHistory(f, l, w))
}

func runPorcupine(ctx context.Context, f *facts, from model.State, ops []porcupine.Operation) porcupine.CheckResult {
	return checkWithin(ctx, f, porcupineModel(f.options.Model, from, ops), ops)
}

// checkWithin asks porcupine, within its budget.
func checkWithin(ctx context.Context, f *facts, m porcupine.Model, ops []porcupine.Operation) porcupine.CheckResult {
	budget := f.options.Budget
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline))
	}
	if budget <= 0 || ctx.Err() != nil {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(m, ops, budget)
}

// fitsPorcupine reports whether porcupine can be expected to answer.
func fitsPorcupine(l *lockFacts) bool {
	if len(l.acts) > porcupineOps || len(l.ops) > porcupineOps {
		return false
	}
	var edges []edge
	for _, op := range l.ops {
		to := op.Return
		if op.Uncertain() {
			switch to = math.MaxInt64; {
			case op.Evidence == history.NotSent || op.Evidence == history.Executed:
				continue // closed by the evidence
			case op.Evidence == history.Sent && op.Until > 0:
				to = max(op.Until, op.Call)
			}
		}
		edges = append(edges, edge{op.Call, 1}, edge{to, -1})
	}
	return deepest(edges) <= porcupineConcurrent
}

// An edge is a beginning (1) or an end (-1) of a call.
type edge struct {
	at   time.Duration
	step int
}

// deepest is how many calls were under way at once.
func deepest(edges []edge) int {
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return cmpTime(a.at, b.at)
		}
		return b.step - a.step
	})
	open, most := 0, 0
	for _, e := range edges {
		open += e.step
		most = max(most, open)
	}
	return most
}
