package checker

import (
	"math"
	"slices"
	"time"
)

// maxOverlaps bounds how many overlaps of one lock are looked at.
const maxOverlaps = 256

// An overlap is the time that two beliefs of different owners in one lock have in common.
type overlap struct {
	first, second *belief
	from, to      time.Duration
}

// overlaps are those of a lock, of which only the first are kept: where everybody is let in there
// are many more of them than operations.
type overlaps struct {
	first []overlap // by their beginnings
	all   int
	total float64 // nanoseconds, which may be more than a Duration holds
}

// overlapsOf goes over the beliefs of a lock by their beginnings. Those of one owner follow each
// other, so that all that last at some moment are of different owners. Of a read-write lock only those count that exclude each
// other.
func overlapsOf(l *lockFacts) overlaps {
	var found overlaps
	var ends []*belief // that did not end yet, some of which did not begin either
	for _, b := range l.beliefs {
		if b.from < b.to {
			ends = append(ends, b)
		}
	}
	slices.SortStableFunc(ends, func(a, b *belief) int { return cmpTime(a.to, b.to) })
	lasts, pairs := crowd{of: l}, 0.0 // who, and how many pairs of them exclude each other
	var last time.Duration
	forward := func(to time.Duration) {
		found.total += pairs * float64(to-last)
		last = to
	}
	endBy := func(by time.Duration) {
		for ; len(ends) > 0 && ends[0].to <= by; ends = ends[1:] {
			forward(ends[0].to)
			lasts.count(ends[0].owner, -1)
			pairs -= float64(lasts.against(ends[0].owner))
		}
	}
	var lasting []*belief // until enough overlaps were found: as many as last then make more
	for _, b := range l.beliefs {
		if b.from >= b.to {
			continue
		}
		endBy(b.from)
		forward(b.from)
		against := lasts.against(b.owner)
		found.all += against
		pairs += float64(against)
		lasts.count(b.owner, 1)
		if len(found.first) == maxOverlaps {
			continue
		}
		lasting = slices.DeleteFunc(lasting, func(a *belief) bool { return a.to <= b.from })
		for _, a := range lasting {
			if len(found.first) < maxOverlaps && l.excludes(a.owner, b.owner) {
				found.first = append(found.first, overlap{a, b, b.from, min(a.to, b.to)})
			}
		}
		lasting = append(lasting, b)
	}
	endBy(math.MaxInt64)
	return found
}

// between is the first overlap of the beliefs of two owners that has something of [from, to].
func (l *lockFacts) between(one, other string, from, to time.Duration) (overlap, bool) {
	var found *overlap
	for _, a := range l.owner(one).lasting(from, to) {
		for _, b := range l.owner(other).lasting(from, to) {
			o := overlap{a, b, max(a.from, b.from), min(a.to, b.to)}
			if b.from < a.from {
				o.first, o.second = b, a
			}
			if o.from < o.to && o.from <= to && from <= o.to && (found == nil || o.from < found.from) {
				found = &o
			}
		}
	}
	if found == nil {
		return overlap{}, false
	}
	return *found, true
}
