package checker

import (
	"strings"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// describe is a fault as a clause: "the watchdog of c1 was paused from 5.000 s on".
func (f *facts) describe(i int) string {
	fault := &f.h.Faults[i]
	return words.Was(fault) + words.When(fault, f.healed)
}

func (f *facts) describeAll(faults []int) string {
	texts := make([]string, len(faults))
	for i, n := range faults {
		texts[i] = f.describe(n)
	}
	return strings.Join(texts, " and ")
}

// outside reports whether an expiry was an act from outside the lock: a fault that expired the
// key, rather than its lease that ended.
func (f *facts) outside(e *history.Event) bool {
	if e.Kind != history.Expire {
		return e.Kind == history.Delete
	}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Has(history.KeyExpired) && fault.Lock == e.Lock && fault.From <= e.At && e.At <= fault.From+model.Granularity {
			return true
		}
	}
	return false
}
