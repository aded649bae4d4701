package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// residue looks for keys that one of some locks left in Redis for ever, other than its own, though it claims to leave none.
func (f *facts) residue(some []*lockFacts, found *violations) {
	if !f.h.Can(string(contract.LeavesNothing)) {
		return
	}
	told := map[string]bool{}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if e.Kind != history.Residue || told[e.Note] {
			continue
		}
		lock := "" // the one whose name the key has
		for _, l := range some {
			if strings.Contains(e.Note, l.name) && len(l.name) > len(lock) {
				lock = l.name
			}
		}
		if lock == "" && len(f.counted) > 0 || f.looksAt(lock, e) {
			continue // it is another object's, or somebody is still to look
		}
		told[e.Note] = true
		found.addAt(e.At, func() Violation {
			return Violation{Rule: contract.KeysHaveAnEnd, Lock: lock, From: e.At, To: e.At,
				Text:  fmt.Sprintf("the key %s was left behind without a time to live", e.Note),
				Cause: Cause{Class: contract.Unexplained, Text: "nothing will ever remove it"}}
		})
	}
}

// looksAt reports whether who looks at a latch after that is to give its round, which is left behind, an end: something took the latch away, and
// nobody had looked at it since.
func (f *facts) looksAt(latch string, e *history.Event) bool {
	if latch == "" || e.Note != f.h.Header.Layout.RoundOf(latch) {
		return false
	}
	for i := range f.h.Ops {
		if op := &f.h.Ops[i]; op.Lock == latch && f.fresh(op.Client, op.Call) && !op.Pending() && op.Return <= e.At {
			return false
		}
	}
	return len(f.struckBy("", latch, 0, e.At, append(history.TouchesKey(), history.ServerForgot))) > 0
}
