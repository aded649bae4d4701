package linear

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// Overdrawn looks at each owner by itself: nobody but it can change how many holds it has, so that
// its answers say how many of its unknown outcomes must have taken effect, and when no more than
// were called can have. It finds the earliest answer for which they are too few. What a search
// would find out only after every order of what was under way, this does in one pass. It says
// nothing of times after something that may end anybody's hold.
func (s *Search) Overdrawn() (r Found, broken bool) {
	c, p := s.c, s.c.order
	calm := int64(open)
	if len(p.strikes) > 0 {
		calm = p.strikes[0].call
	}
	// When the outcomes were called that nobody knows.
	takes, gives := make([][]int64, len(p.crowded)), make([][]int64, len(p.crowded))
	for i := range c.actions {
		switch a := &c.actions[i]; {
		case a.certain:
		case a.verb == acquires:
			takes[a.owner] = append(takes[a.owner], a.call)
		case a.verb == releases:
			gives[a.owner] = append(gives[a.owner], a.call)
		}
	}
	first := int64(open)
	for i := range c.actions {
		a, l := &c.actions[i], p.local[i]
		if !a.certain || a.beside || a.owner == 0 || p.crowded[a.owner] || a.ret >= min(calm, first) {
			continue
		}
		t, g := calledBy(takes[a.owner], a.ret), calledBy(gives[a.owner], a.ret)
		if l.takes <= t && l.gives <= g {
			continue
		}
		// As near to what it was told as the owner can have come.
		var before local
		if j := p.before[i]; j >= 0 {
			before = p.local[j]
		}
		count := before.count + t - before.takes
		if l.gives > g {
			count = before.count - (g - before.gives)
		}
		st := state{}
		if count > 0 {
			st = state{owner: a.owner, count: int32(count), early: open, late: open}
		}
		first, broken = a.ret, true
		r = Found{Result: porcupine.Illegal, Alone: true, stuck: stuck{at: int(c.ends[i]), states: []state{st}}}
	}
	return r, broken
}

// calledBy is how many of some calls, in order, were made by a time.
func calledBy(calls []int64, at int64) int64 {
	n, _ := slices.BinarySearch(calls, at+1)
	return int64(n)
}
