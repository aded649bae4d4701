package contract

import "github.com/holdfast-sim/holdfast/history"

// A Goal is a state that a search is to reach at least once: a search that never came there says nothing of it. It is no
// guarantee. A lock may declare goals of its own.
type Goal struct {
	Name  string // in words with dashes between; no two goals of a search have the same
	Means string // what was reached, as a sentence
	// Needs are abilities, kinds of groups and kinds of objects. A lock that lacks one cannot reach the goal.
	Needs []string
	// Unless are claims. A lock that makes one cannot reach the goal.
	Unless []Claim
	// Effects are what faults must do, one of them. None: it takes no fault.
	Effects []history.Effect
	// Reached reports whether a run came there. It must not depend on anything but the history, nor change it. Nil: the goal is
	// an exemption's, and reached by a violation that the exemption is the ruling of.
	Reached func(h *history.History) bool
}
