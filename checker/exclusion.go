package checker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judgeExclusion looks for two owners who believed at once that they held the same lock.
func judgeExclusion(_ context.Context, f *facts) Result {
	found := f.found(contract.Exclusion)
	total, holds := 0.0, 0
	for _, l := range f.locks {
		holds += len(l.beliefs)
		total += l.overlaps.total
		for _, o := range l.overlaps.first {
			found.add(func() Violation { return f.overlapped(l, o) })
		}
		found.all += l.overlaps.all - len(l.overlaps.first)
		f.tellings(l, &found)
	}
	total += f.groupRules(contract.Exclusion, &found)
	if holds == 0 {
		return conclude("beliefs", "nobody ever held a lock, so nobody overlapped", "", found)
	}
	return conclude("beliefs",
		fmt.Sprintf("%s, never two at once on one lock", count(holds, "hold")),
		fmt.Sprintf("%s of two holders of one lock, %s in all", count(found.all, "overlap"), short(time.Duration(min(total, math.MaxInt64/2)))),
		found)
}

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
// other, so that all that last at some moment are of different owners.
func overlapsOf(l *lockFacts) overlaps {
	var found overlaps
	var ends []time.Duration // of the beliefs that did not end yet, some of which did not begin either
	for _, b := range l.beliefs {
		if b.from < b.to {
			ends = append(ends, b.to)
		}
	}
	slices.Sort(ends)
	lasts := 0 // how many
	var last time.Duration
	forward := func(to time.Duration) { // n beliefs are n(n-1)/2 pairs
		n := float64(lasts)
		found.total += n * (n - 1) / 2 * float64(to-last)
		last = to
	}
	endBy := func(by time.Duration) {
		for ; len(ends) > 0 && ends[0] <= by; ends = ends[1:] {
			forward(ends[0])
			lasts--
		}
	}
	var lasting []*belief // until enough overlaps were found: as many as last then make more
	for _, b := range l.beliefs {
		if b.from >= b.to {
			continue
		}
		endBy(b.from)
		forward(b.from)
		found.all += lasts
		lasts++
		if len(found.first) == maxOverlaps {
			continue
		}
		lasting = slices.DeleteFunc(lasting, func(a *belief) bool { return a.to <= b.from })
		for _, a := range lasting[:min(len(lasting), maxOverlaps-len(found.first))] {
			found.first = append(found.first, overlap{a, b, b.from, min(a.to, b.to)})
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

func (f *facts) overlapped(l *lockFacts, o overlap) Violation {
	v := Violation{
		Rule: contract.OneBeliever, Lock: l.name, From: o.from, To: o.to,
		Text: fmt.Sprintf("%s and %s both believed that they held %s from %s to %s, for %s",
			o.first.owner, o.second.owner, l.name, Stamp(o.from), Stamp(o.to), short(o.to-o.from)),
		Ops:    []int64{o.second.acquire.ID, o.first.acquire.ID},
		Owners: []string{o.first.owner, o.second.owner},
		Cause:  f.lostFirst(l, o.first, o.second),
	}
	f.unaware(l, o, &v.Cause)
	return v
}

// unaware says of a lock that tells its holders of a loss whether the process of the first holder ran while
// both believed: only a process that does not run cannot be told in time that its lease is over.
func (f *facts) unaware(l *lockFacts, o overlap, c *Cause) {
	switch c.Class {
	case contract.LeaseExpired, contract.LeaseOutlived, contract.PausedHolder, contract.CutOff, contract.ServerAway, contract.LostMessage:
	default:
		return
	}
	if !f.h.Can(string(contract.TellsLoss)) {
		return
	}
	stopped := f.obstacles(o.first.client, l.name, o.from, o.to, f.latency(), []history.Effect{history.ProcessStopped})
	if len(stopped) > 0 && opportunity(o.from, o.to, stopped) <= f.latency() {
		c.Class, c.Faults, c.Effects = contract.PausedHolder, faultsOf(stopped), []history.Effect{history.ProcessStopped}
		return
	}
	c.Effects = slices.DeleteFunc(slices.Clone(c.Effects), func(e history.Effect) bool { return e == history.ProcessStopped })
	c.Text += fmt.Sprintf("; the process of %s ran, and was not told", o.first.client)
}

// lostFirst says why the server no longer had the hold of the one of two who was granted it first. Where
// nobody knows who that was, it is the one for whom there is an excuse: nobody is accused in doubt.
func (f *facts) lostFirst(l *lockFacts, a, b *belief) Cause {
	sure := a.acquire.Evidence == history.Executed && b.acquire.Evidence == history.Executed
	at := max(a.grantedAt(), b.grantedAt())
	_, again := f.wentBack(l, min(a.acquire.Call, b.acquire.Call), at) // then tokens tell no order
	switch one, other := a.acquire.Token, b.acquire.Token; {
	case !sure && !again && one > 0 && other > 0 && one != other:
		sure = true
		if other < one {
			a, b = b, a
		}
	default: // who was granted it first learned so first, as a rule
		if b.grantedAt() < a.grantedAt() {
			a, b = b, a
		}
		sure = sure || a.grantedAt() < b.acquire.Call
	}
	c := f.lostHold(l, a.owner, at)
	if !sure && !f.excuses(c) {
		if other := f.lostHold(l, b.owner, at); f.excuses(other) {
			return other
		}
	}
	return c
}

// grantedAt is when the server granted what an owner came to believe in, as far as that is known.
func (b *belief) grantedAt() time.Duration {
	if at, ok := took(b.acquire); ok {
		return at
	}
	return b.from
}
