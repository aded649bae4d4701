package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// residue looks for keys that a lock left in Redis for ever, other than its own, though it claims to leave none.
func (f *facts) residue(found *violations) {
	if !f.h.Can(string(contract.LeavesNothing)) {
		return
	}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if e.Kind != history.Residue {
			continue
		}
		lock := "" // the one whose name the key has
		for _, l := range f.locks {
			if strings.Contains(e.Note, l.name) && len(l.name) > len(lock) {
				lock = l.name
			}
		}
		found.addAt(e.At, func() Violation {
			return Violation{Rule: contract.KeysHaveAnEnd, Lock: lock, From: e.At, To: e.At,
				Text:  fmt.Sprintf("the key %s was left behind without a time to live", e.Note),
				Cause: Cause{Class: contract.Unexplained, Text: "nothing will ever remove it"}}
		})
	}
}
