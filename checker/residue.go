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
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if e.Kind != history.Residue {
			continue
		}
		lock := "" // the one whose name the key has
		for _, l := range some {
			if strings.Contains(e.Note, l.name) && len(l.name) > len(lock) {
				lock = l.name
			}
		}
		if lock == "" && len(f.counted) > 0 {
			continue // it is another object's
		}
		found.addAt(e.At, func() Violation {
			return Violation{Rule: contract.KeysHaveAnEnd, Lock: lock, From: e.At, To: e.At,
				Text:  fmt.Sprintf("the key %s was left behind without a time to live", e.Note),
				Cause: Cause{Class: contract.Unexplained, Text: "nothing will ever remove it"}}
		})
	}
}
