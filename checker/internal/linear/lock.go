package linear

import (
	"context"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A Lock is one object by itself, with what its history says that the checkers ask about.
type Lock struct {
	Ops      []*history.Op    // on the lock, in order of their calls
	Events   []*history.Event // what befell it, by time; an expiry from outside is a deletion
	Window   Window
	Order    [][2]int64                // steps of one instant, of which the server log says that the first was first: see [Step]
	Excused  func(op *history.Op) bool // whether a client knew an answer by itself, so that no state has to explain it
	Model    model.Kind
	Virtual  bool // the clock is virtual
	Served   bool // there is a server log: what it does not show did not take effect
	Inferred bool // ends of leases are to be inferred
	Keeps    bool // no re-entry shortens a lease
	Unheard  bool // a call of unknown outcome that asks for it may have been granted, in whatever state: a hold in its way may have been over, unseen

	// Of a lock whose ends of leases are to be inferred:
	End  time.Duration            // of the history
	Gone map[string]time.Duration // when the server had nothing of a client that died any more
}

// A Window says how much is to be known of when an operation took effect.
type Window int

const (
	AsCalled   Window = iota // between call and return, as clients saw it
	AsExecuted               // at the server's time, where that is known
)

// Limits bound a search.
type Limits struct {
	Budget time.Duration
	Memory int64 // bytes
}

// A Reduction is a lock's history reduced to actions.
type Reduction struct {
	lock    *Lock
	actions []action
	names   []string // of owners, by their numbers
	machine machine
}

// Reduce reduces a lock's history.
func Reduce(l *Lock) *Reduction {
	actions, names := actionsOf(l)
	return &Reduction{lock: l, actions: actions, names: names, machine: machineOf(l.Model)}
}

// Inferred reports whether an end of a lease is inferred, or a renewal that nobody saw, or how long a lease lasts that somebody asked
// after: porcupine knows of no [Slack].
func (p *Reduction) Inferred() bool {
	return slices.ContainsFunc(p.actions, func(a action) bool {
		return a.verb == lapses || a.set > 0 && a.late == open || p.lock.Inferred && a.verb == findsTTL
	})
}

// Intervals asks the interval checker; ok is false when it cannot tell.
func (p *Reduction) Intervals() (says porcupine.CheckResult, ok bool) {
	return byIntervals(p.actions, len(p.names), p.machine)
}

// from is the lock from a state on, as porcupine wants it for a history.
func (l *Lock) from(s model.State, ops []porcupine.Operation) porcupine.Model {
	return Model(s, func(in *Step, s model.State) (model.State, error) { return Apply(l.Model, in, s) }, ops)
}

// ForPorcupine is the whole, as porcupine wants it.
func (l *Lock) ForPorcupine() (porcupine.Model, []porcupine.Operation) {
	ops := l.History()
	return l.from(model.State{}, ops), ops
}

// Porcupine asks porcupine about the whole.
func (l *Lock) Porcupine(ctx context.Context, budget time.Duration) porcupine.CheckResult {
	m, ops := l.ForPorcupine()
	return Ask(ctx, m, ops, budget)
}
