package checker

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
)

// freeTimes are the times in which nobody had a hold of some, sorted by their beginnings. Of a read-write lock whose keys nobody saw, a hold whose lease
// is over may last as long as the key of all, unless the lock claims a lease for each.
func (f *facts) freeTimes(l *lockFacts, tenures []*tenure) (gaps []gap) {
	var free time.Duration
	var after *tenure
	var longest time.Duration // lease of those that were held together
	lapsed := false           // that of one of them was over
	outlasts := f.implied() && l.shared() && !f.h.Can(string(contract.LeasePerHold))
	for _, t := range tenures { // sorted by their beginnings
		if t.from > free {
			gaps = append(gaps, gap{free, t.from, after})
			longest, lapsed = 0, false
		}
		end := t.to
		if f.implied() && t.endOp != nil { // when it took effect is not known
			end = max(end, f.until(t.endOp))
		}
		if longest, lapsed = max(longest, t.deadline), lapsed || t.endOp == nil; outlasts && lapsed { // its hold may last as long as the key of all
			end = max(end, longest)
		}
		if end >= free {
			free, after = end, t
		}
	}
	if after == nil || !after.open {
		gaps = append(gaps, gap{free, f.end, after})
	}
	return gaps
}
