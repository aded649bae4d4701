package checker

import (
	"context"
	"fmt"
	"time"
)

// OneBeliever is the rule of exclusion.
const OneBeliever = "no two owners believe at once that they hold a lock"

// judgeExclusion looks for two owners who believed at once that they held the same lock.
func judgeExclusion(_ context.Context, f *facts) Result {
	var violations []Violation
	var total time.Duration
	holds, found := 0, 0
	for _, l := range f.locks {
		holds += len(l.beliefs)
		for _, o := range l.overlaps {
			total += o.to - o.from
			if found++; found <= maxViolations {
				violations = append(violations, f.overlapped(l, o))
			}
		}
	}
	if holds == 0 {
		return conclude("beliefs", "nobody ever held a lock, so nobody overlapped", "", nil)
	}
	return conclude("beliefs",
		fmt.Sprintf("%s, never two at once on one lock", count(holds, "hold")),
		fmt.Sprintf("%s of two holders of one lock, %s in all", count(found, "overlap"), short(total)),
		violations)
}

// An overlap is the time that two beliefs of different owners in one lock have in common.
type overlap struct {
	first, second *belief
	from, to      time.Duration
}

// overlaps lists the overlaps of a lock by their beginnings. Beliefs come sorted; only those that
// still last are looked at, which is one at a time when the lock is sound.
func overlaps(l *lockFacts) []overlap {
	var found []overlap
	var lasting []*belief
	for _, b := range l.beliefs {
		kept := lasting[:0]
		for _, a := range lasting {
			if a.to <= b.from {
				continue
			}
			kept = append(kept, a)
			if to := min(a.to, b.to); a.owner != b.owner && to > b.from {
				found = append(found, overlap{a, b, b.from, to})
			}
		}
		lasting = append(kept, b)
	}
	return found
}

func (f *facts) overlapped(l *lockFacts, o overlap) Violation {
	granted := o.second.from
	if at, ok := took(o.second.acquire); ok {
		granted = at
	}
	v := Violation{
		Rule: OneBeliever, Lock: l.name, From: o.from, To: o.to,
		Text: fmt.Sprintf("%s and %s both believed that they held %s from %s to %s, for %s",
			o.first.owner, o.second.owner, l.name, Stamp(o.from), Stamp(o.to), short(o.to-o.from)),
		Ops:    []int64{o.second.acquire.ID, o.first.acquire.ID},
		Owners: []string{o.first.owner, o.second.owner},
		Cause:  f.lostHold(l, o.first.owner, granted),
	}
	return v
}
