package linear

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
)

// The frontier of an object that is no lock: all states that it may be in, and what calls under way have taken effect in each.
//
// A call is put in order no sooner than it must be: when one returns that has no place yet, those under way are tried before it (Lowe,
// Testing for linearizability, 2017). Of calls that are alike, which ask the same and are told the same, whoever returns first goes first.
// That loses no order: where another goes first the two can change places, for both are under way then. So a hundred waiters for one
// permit are one choice and not a hundred. Who is refused, or waits, changes nothing. Such a
// call goes as soon as its answer is true.

// likeness is what calls have in common that can change places.
type likeness struct {
	kind           history.Kind
	value          int64
	outcome        history.Outcome
	maybe, unknown bool
}

// Frontier looks for an order of steps that a specification allows, in at most so many tries: porcupine.Unknown says that it takes more, or
// that more than [MaxUnderWay] steps are under way at once.
func Frontier[S comparable](ctx context.Context, init S, apply func(*Step, S) (S, error), ops []porcupine.Operation, most int) porcupine.CheckResult {
	result, _ := FrontierTo(ctx, init, apply, ops, most)
	return result
}

// FrontierTo is [Frontier], and the first step, by the times of returns, at which no order is left; nil: some order is.
func FrontierTo[S comparable](ctx context.Context, init S, apply func(*Step, S) (S, error), ops []porcupine.Operation, most int) (porcupine.CheckResult, *Step) {
	tie(ops)
	f := frontier[S]{ctx: ctx, apply: apply, tries: most, steps: make([]placed, len(ops)), states: []ordered[S]{{state: init}}, known: map[ordered[S]]int32{{state: init}: 0}}
	marks := make([]end, 0, 2*len(ops))
	classes, alike := map[likeness]int32{}, likenesses(ops)
	for i := range ops {
		in := ops[i].Input.(*Step)
		if in.Later {
			return porcupine.Unknown, nil
		}
		like, some := alike(in)
		refused := in.Op.Outcome == history.Busy || in.Op.Outcome == history.Rejected
		p := placed{Step: in, ret: ops[i].Return, class: int32(len(f.classes)), optional: in.Maybe || ops[i].Return == math.MaxInt64}
		p.quiet = some && !p.optional && !in.Op.Uncertain() && (refused || in.Op.Kind.Awaits())
		if class, met := classes[like]; some && met {
			p.class = class
		} else {
			f.classes = append(f.classes, nil)
			if some {
				classes[like] = p.class
			}
		}
		f.steps[i] = p
		if marks = append(marks, end{ops[i].Call, false, int32(i)}); p.ret < math.MaxInt64 {
			marks = append(marks, end{p.ret, true, int32(i)})
		}
	}
	slices.SortFunc(marks, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b2i(a.returns), b2i(b.returns)), cmp.Compare(a.step, b.step))
	})
	return f.run(marks)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// end is when a step is called, or returns.
type end struct {
	at      int64
	returns bool
	step    int32
}

// placed is a step, and where it stands among those that are alike.
type placed struct {
	*Step
	ret      int64
	class    int32
	slot     uint8
	optional bool // it may never take effect
	quiet    bool // it changes nothing, whenever it takes effect
}

// where is one way that things may stand: a state, and which of the steps under way have taken effect.
type where struct {
	state int32
	done  slots
}

type frontier[S comparable] struct {
	ctx     context.Context
	apply   func(*Step, S) (S, error)
	tries   int
	steps   []placed
	classes [][]int32 // the steps under way, by likeness; who returns first is first
	busy    []int32   // the classes with steps under way
	states  []ordered[S]
	known   map[ordered[S]]int32
	all     []where
}

func (f *frontier[S]) run(marks []end) (porcupine.CheckResult, *Step) {
	f.all = []where{{}}
	var used slots
	for _, m := range marks {
		p := &f.steps[m.step]
		if !m.returns {
			slot, ok := lowestFree(used)
			if !ok {
				return porcupine.Unknown, nil
			}
			p.slot = slot
			used.set(slot)
			f.begin(m.step)
			continue
		}
		if !f.returned(m.step) {
			return porcupine.Unknown, nil
		}
		if len(f.all) == 0 {
			return porcupine.Illegal, p.Step
		}
		f.end(m.step)
		used.clear(p.slot)
	}
	return porcupine.Ok, nil
}

func (f *frontier[S]) begin(step int32) {
	class := f.steps[step].class
	of := f.classes[class]
	i, _ := slices.BinarySearchFunc(of, step, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.steps[a].ret, f.steps[b].ret), cmp.Compare(a, b))
	})
	if f.classes[class] = slices.Insert(of, i, step); len(of) == 0 {
		f.busy = append(f.busy, class)
	}
}

func (f *frontier[S]) end(step int32) {
	class := f.steps[step].class
	of := f.classes[class]
	if f.classes[class] = slices.Delete(of, slices.Index(of, step), slices.Index(of, step)+1); len(of) == 1 {
		f.busy = slices.DeleteFunc(f.busy, func(c int32) bool { return c == class })
	}
}

// takes returns the states after a step, none if it cannot be taken now. never says whether that it takes no effect is one of the ways.
func (f *frontier[S]) takes(p *placed, from int32, never bool) (to [2]int32, n int) {
	f.tries--
	was := f.states[from]
	if !p.needs.without(was.done).empty() {
		return to, 0
	}
	done := was.done.without(p.needs).or(p.gives)
	if after, err := f.apply(p.Step, was.state); err == nil {
		to[n] = f.number(ordered[S]{after, done})
		n++
	}
	if never {
		to[n] = f.number(ordered[S]{was.state, done})
		n++
	}
	return to, n
}

func (f *frontier[S]) number(s ordered[S]) int32 {
	n, met := f.known[s]
	if !met {
		n = int32(len(f.states))
		f.states, f.known[s] = append(f.states, s), n
	}
	return n
}

// first is the first step of a class that has not taken effect; -1: all have.
func (f *frontier[S]) first(class int32, done slots) int32 {
	for _, step := range f.classes[class] {
		if !done.has(f.steps[step].slot) {
			return step
		}
	}
	return -1
}

// idle takes what changes nothing, and whose answer is true.
func (f *frontier[S]) idle(w where) where {
	for _, class := range f.busy {
		for {
			step := f.first(class, w.done)
			if step < 0 || !f.steps[step].quiet {
				break
			}
			to, n := f.takes(&f.steps[step], w.state, false)
			if n == 0 || to[0] != w.state {
				break
			}
			w.done.set(f.steps[step].slot)
		}
	}
	return w
}

// returned leaves of the ways that things may stand those in which a step has taken effect, and reports whether it came to an end.
func (f *frontier[S]) returned(step int32) bool {
	p := &f.steps[step]
	met, kept := make(map[where]bool, len(f.all)), map[where]bool{}
	var next []where
	keep := func(w where) {
		if w.done.clear(p.slot); !kept[w] {
			kept[w] = true
			next = append(next, w)
		}
	}
	todo := f.all
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w = f.idle(w); met[w] {
			continue
		}
		met[w] = true
		if f.tries < 0 || f.ctx.Err() != nil {
			return false
		}
		if w.done.has(p.slot) {
			keep(w)
			continue
		}
		to, n := f.takes(p, w.state, p.optional)
		for _, state := range to[:n] {
			keep(where{state, w.done})
		}
		for _, class := range f.busy {
			other := f.first(class, w.done)
			if other < 0 || other == step {
				continue
			}
			o := &f.steps[other]
			to, n := f.takes(o, w.state, o.optional && !o.gives.empty())
			for _, state := range to[:n] {
				if state != w.state || !o.optional {
					after := where{state, w.done}
					after.done.set(o.slot)
					todo = append(todo, after)
				}
			}
		}
	}
	f.all = next
	return true
}

// likenesses returns what a step has in common with others that it can change places with, and whether there can be any.
func likenesses(ops []porcupine.Operation) func(*Step) (likeness, bool) {
	named := map[int64]int64{} // permits, and when they were called by their ids first
	for i := range ops {
		in := ops[i].Input.(*Step)
		lasts := in.Op.Lease > 0 && (in.Op.Kind.Sets() || in.Op.Kind == history.AcquirePermit || in.Op.Kind == history.TryAcquirePermit || in.Op.Kind == history.UpdateLease)
		if in.Event != nil && in.Event.Kind != history.Delete || lasts {
			return func(*Step) (likeness, bool) { return likeness{}, false } // times count
		}
		if token := in.Op.Token; in.Event == nil && in.Op.Kind.OnPermit() {
			if at, met := named[token]; !met || ops[i].Call < at {
				named[token] = ops[i].Call
			}
		}
	}
	return func(in *Step) (likeness, bool) {
		if in.Event != nil || !in.Op.Kind.Object().Counted() || in.Op.Kind.OnPermit() || !in.needs.empty() || !in.gives.empty() {
			return likeness{}, false
		}
		l := likeness{in.Op.Kind, in.Op.Value, in.Op.Outcome, in.Maybe, in.Op.Uncertain()}
		switch l.kind {
		case history.TryAcquirePermits:
			l.kind = history.AcquirePermits
		case history.AcquirePermit, history.TryAcquirePermit:
			l.kind, l.value = history.AcquirePermit, 0
			if at, met := named[in.Op.Token]; met && (l.unknown || at < Moment(in.Op.Return)) || in.Op.Token == 0 && l.outcome == history.Acquired && !l.unknown {
				return likeness{}, false // another knew its id before its own caller did
			}
		}
		return l, true
	}
}
