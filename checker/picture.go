package checker

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
)

// Picture writes porcupine's own picture of one lock's history, a page of HTML that needs nothing
// else: the calls as their clients saw them, and an order that fits the sequential lock or the
// longest ones that do. It is [ErrTooLarge] when porcupine cannot be expected to come to an end.
func Picture(w io.Writer, h *history.History, lock string, budget time.Duration) error {
	f := collect(h, Options{Budget: budget})
	for _, l := range f.all() {
		if l.name != lock {
			continue
		}
		if l = f.unqueued(l); !fitsPorcupine(l) {
			return fmt.Errorf("picture of %s: %w", lock, ErrTooLarge)
		}
		m, ops := f.problem(l, linear.AsCalled).ForPorcupine()
		if l.object.Counted() {
			m = sequentialOf(l.object).model(f, ops)
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
