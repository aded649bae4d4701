package checker

import (
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Options tune a judgement. The zero value is usable.
type Options struct {
	// Expect is what the scenario expects; nil: nothing in particular.
	Expect Expectation

	// Unpredicted says that nobody has foretold how this lock fares in the run: it is held to what it
	// claims. A guarantee may then break, but by nothing that the lock answers for. Faults may miss.
	Unpredicted bool
	// Told says that the plan is a story of its teller's: also of an unpredicted run the verdict says which of its
	// faults never struck.
	Told bool

	// Model is the lock that object is judged against; the zero value is what the history's subject
	// claims to be, [ModelOf].
	Model model.Kind

	// Budget is the wall time that one searching checker may spend on one lock. 0 means
	// [DefaultBudget]. The witness replay and the interval checker need none.
	Budget time.Duration

	// Memory is about how many bytes one searching checker may remember of failed attempts on one
	// lock. 0 means [DefaultMemory].
	Memory int64

	// Also is one more opinion of object, somebody else's: Holds, Broken, or anything else for none. If it is not
	// that of the checkers here, they disagree. It may be called for parts of a history, and concurrently. Nil: there is none.
	Also func(h *history.History) Status

	// Sparing asks porcupine only about what another checker refuses.
	Sparing bool
}

// DefaultMemory is a part of what a small machine has, and more than any search used that ended.
const DefaultMemory = 256 << 20

// DefaultBudget is long enough for every history that porcupine is asked about (see
// linear.MaxOps) by more than ten times, so that a slow machine does not change a verdict.
const DefaultBudget = 5 * time.Second

// ModelOf returns the lock that a history is of: a reentrant one with leases, unless its header says
// what the subject can, and re-entry is not of it. One that keeps the longest lease does so in renewals, too. One whose owners exclude each other
// within their process, of which nothing is known but its answers, is its client's. One that is judged by its answers alone may grant its holder anew.
func ModelOf(h *history.History) model.Kind {
	exclusive := len(h.Header.Abilities) > 0 && !h.Can("reentrant")
	clients := h.Can(string(contract.LocalHolds)) && h.Header.Layout.Unknown != "" // nothing in its keys tells owners of one client apart
	switch {
	case exclusive && clients && !h.Header.Layout.Anew:
		return model.ExclusivePerClient
	case clients: // which counts nothing either if it is granted anew
		return model.PerClient
	case exclusive && h.Header.Layout.Anew && h.Header.Layout.Unknown != "":
		return model.Anew
	case exclusive:
		return model.Exclusive
	case h.Can(string(contract.KeepsLongest)):
		return model.Keeping
	}
	return model.Lease
}

func (o Options) limits() linear.Limits { return linear.Limits{Budget: o.Budget, Memory: o.Memory} }

func (o Options) withDefaults(h *history.History) Options {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Model == "" {
		o.Model = ModelOf(h)
	}
	return o
}
