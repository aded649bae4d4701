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
// end has no mark of it.
func marksOf(actions []action) []mark {
	ends := make([]int32, 0, len(actions))
	for i := range actions {
		if actions[i].ret != open {
			ends = append(ends, int32(i))
		}
	}
	slices.SortFunc(ends, func(a, b int32) int { return cmp.Or(cmp.Compare(actions[a].ret, actions[b].ret), cmp.Compare(a, b)) })
	marks := make([]mark, 0, len(actions)+len(ends))
	for i := range actions {
		for ; len(ends) > 0 && actions[ends[0]].ret < actions[i].call; ends = ends[1:] {
			marks = append(marks, mark(^ends[0]))
		}
		marks = append(marks, mark(i))
	}
	for _, i := range ends {
		marks = append(marks, mark(^i))
	}
	return marks
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
