package linear

import (
	"cmp"
	"math/bits"
	"slices"
)

// sortByCall restores the order of calls: evidence may have moved some.
func sortByCall(actions []action) {
	if !slices.IsSortedFunc(actions, byCall) {
		slices.SortStableFunc(actions, byCall)
	}
}

func byCall(a, b action) int { return cmp.Compare(a.call, b.call) }

// A mark is the beginning or the end of an action in the order of time: the action's index, or
// its complement for the end.
type mark int32

func (m mark) begins() bool { return m >= 0 }

func (m mark) action() int32 {
	if m < 0 {
		return int32(^m)
	}
	return int32(m)
}

// marksOf merges beginnings and ends of actions that are sorted by their calls. At one instant
// beginnings come first: intervals are closed, so that what touches overlaps. An action without
// end has no mark of it. The ends of what is under way wait in a heap, which stays as small as
// the number of callers.
func marksOf(actions []action) []mark {
	marks := make([]mark, 0, 2*len(actions))
	var ends endHeap
	for i := range actions {
		for len(ends) > 0 && ends[0].at < actions[i].call {
			marks = append(marks, mark(^ends.pop()))
		}
		marks = append(marks, mark(i))
		if actions[i].ret != open {
			ends.push(end{actions[i].ret, int32(i)})
		}
	}
	for len(ends) > 0 {
		marks = append(marks, mark(^ends.pop()))
	}
	return marks
}

type end struct {
	at     int64
	action int32
}

func (e end) before(o end) bool { return e.at < o.at || e.at == o.at && e.action < o.action }

// endHeap is a binary heap, the earliest end first.
type endHeap []end

func (h *endHeap) push(e end) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 && s[i].before(s[(i-1)/2]) {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
		i = (i - 1) / 2
	}
	*h = s
}

func (h *endHeap) pop() int32 {
	s := *h
	first := s[0].action
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(s[i]) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return first
}

// slots is a set of actions under way. Each has a slot while it lasts.
type slots [4]uint64

// MaxUnderWay is how many calls may be under way at once in a search.
const MaxUnderWay = 256

func (s *slots) set(i uint8)     { s[i>>6] |= 1 << (i & 63) }
func (s *slots) clear(i uint8)   { s[i>>6] &^= 1 << (i & 63) }
func (s slots) has(i uint8) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s slots) empty() bool      { return s[0]|s[1]|s[2]|s[3] == 0 }

func (s slots) and(o slots) slots {
	return slots{s[0] & o[0], s[1] & o[1], s[2] & o[2], s[3] & o[3]}
}

func (s slots) or(o slots) slots {
	return slots{s[0] | o[0], s[1] | o[1], s[2] | o[2], s[3] | o[3]}
}

func (s slots) without(o slots) slots {
	return slots{s[0] &^ o[0], s[1] &^ o[1], s[2] &^ o[2], s[3] &^ o[3]}
}

// assignSlots gives each action that ends a slot, the lowest that is free; ok is false when more
// are under way at once than there are slots.
func assignSlots(actions []action, marks []mark) (slot []uint8, ok bool) {
	slot = make([]uint8, len(actions))
	var used slots
	for _, m := range marks {
		a := m.action()
		switch {
		case actions[a].ret == open:
		case !m.begins():
			used.clear(slot[a])
		default:
			i, found := lowestFree(used)
			if !found {
				return nil, false
			}
			slot[a] = i
			used.set(i)
		}
	}
	return slot, true
}

func lowestFree(s slots) (uint8, bool) {
	for w := range s {
		if s[w] != ^uint64(0) {
			return uint8(w<<6 + bits.TrailingZeros64(^s[w])), true
		}
	}
	return 0, false
}

// each calls f for every slot in the set, in order, until f returns false.
func (s slots) each(f func(i uint8) bool) {
	for w := range s {
		for b := s[w]; b != 0; b &= b - 1 {
			if !f(uint8(w<<6 + bits.TrailingZeros64(b))) {
				return
			}
		}
	}
}
