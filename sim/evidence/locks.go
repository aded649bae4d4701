package evidence

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A lock is what programs know by one name: a key on one server, or a group of several, which an owner holds as
// long as its key is there on enough of them.
type lock struct {
	name   string
	object history.Object
	parts  []Part
	quorum int                // on how many of its parts an owner must be
	shared bool               // a part of it is a part of another lock
	alike  bool               // a hold has the same value in all its parts
	last   history.KeyState   // as it was after what was looked at last
	under  map[string]int64   // each owner's call that did something to a part last
	calls  map[int64]progress // of calls on a group
	older  time.Duration      // when a server went back to a grant before of the same owner; 0: it did not
	// completed is when the end of a lease completed an unlock, so that it is no event of the lock.
	completed map[time.Duration]bool
}

// progress is what an owner's call on a group has done to parts so far: when it last did, how many holds it
// has taken of each, and whether another owner had the whole by then.
type progress struct {
	at   time.Duration
	took map[Part]int64
	held bool // another owner had the whole then
}

// locksOf lists the locks that calls are on, groups first. Nobody does anything to a group that no call is on, though its
// members may be taken one after the other.
func locksOf(h *history.History) []*lock {
	var locks []*lock
	add := func(l *lock) {
		for _, other := range locks {
			if slices.ContainsFunc(l.parts, func(p Part) bool { return slices.Contains(other.parts, p) }) {
				l.shared, other.shared = true, true
			}
		}
		l.under, l.calls, l.completed, l.alike = map[string]int64{}, map[int64]progress{}, map[time.Duration]bool{}, alike(h, l)
		locks = append(locks, l)
	}
	called, named := map[string]bool{}, map[string]bool{}
	for _, op := range h.Ops {
		called[op.Lock] = true
	}
	for _, g := range h.Header.Groups {
		if !called[g.Name] {
			continue
		}
		named[g.Name] = true
		l := &lock{name: g.Name, quorum: len(g.Members)}
		for i, m := range g.Members {
			if g.Seen() {
				l.parts = append(l.parts, Part{g.Servers[i], m})
			}
		}
		if g.Kind == history.Red {
			l.quorum = len(g.Members)/2 + 1
		}
		add(l)
	}
	first := firstServer(h)
	for _, op := range h.Ops {
		if !named[op.Lock] {
			named[op.Lock] = true
			add(&lock{name: op.Lock, object: op.Kind.Object(), quorum: 1, parts: []Part{{first, op.Lock}}})
		}
	}
	return locks
}

// alike reports whether a value stood in two parts of a lock, as the random values of Redlock do.
func alike(h *history.History, l *lock) bool {
	at := map[string]Part{}
	for i := range h.Served {
		r := &h.Served[i]
		p := Part{r.Server, r.Lock}
		if r.After == nil || l.simple() || !slices.Contains(l.parts, p) {
			continue
		}
		for _, holding := range r.After.Holdings {
			value := cmp.Or(holding.Value, holding.Owner)
			if first, seen := at[value]; seen && first != p {
				return true
			}
			at[value] = p
		}
	}
	return false
}

// firstServer is where locks are that are no groups.
func firstServer(h *history.History) string {
	var plan struct{ Servers []struct{ Name string } }
	if json.Unmarshal(h.Header.Plan, &plan) != nil || len(plan.Servers) == 0 {
		return ""
	}
	return plan.Servers[0].Name
}

// simple reports whether the lock is one key.
func (l *lock) simple() bool { return len(l.parts) == 1 && l.parts[0].Key == l.name }

// alone reports whether the lock is one key that no other lock has: the lease that a call asks for is then
// the time to live that comes of it.
func (l *lock) alone() bool { return l.simple() && !l.shared }

// goesOn notes how many holds of one of its parts a command of a call on a group took.
func (l *lock) goesOn(op history.Op, p Part, holds int64, now time.Duration, whole history.KeyState) {
	on, begun := l.calls[op.ID]
	if !begun {
		on.took = map[Part]int64{}
	}
	on.at, on.held = now, whole.Total() > whole.Count(op.Owner)
	on.took[p] += holds
	l.under[op.Owner], l.calls[op.ID] = op.ID, on
}

// enough reports whether a call has taken as many parts as make a hold.
func (l *lock) enough(on progress) bool {
	n := 0
	for _, holds := range on.took {
		if holds > 0 {
			n++
		}
	}
	return n >= l.quorum
}

// whole is the lock's state, as its keys have it. What an owner has of different requests, with different values, is not one hold.
func (l *lock) whole(state map[Part]history.KeyState) history.KeyState {
	if l.simple() {
		return state[l.parts[0]]
	}
	members := make([]history.KeyState, len(l.parts))
	owners := map[string]string{} // by value
	for i, p := range l.parts {
		members[i] = state[p]
		if !l.alike {
			continue
		}
		members[i].Holdings = slices.Clone(members[i].Holdings)
		for j := range members[i].Holdings {
			holding := &members[i].Holdings[j]
			if holding.Value != "" {
				owners[holding.Value] = holding.Owner
				holding.Owner = holding.Value
			}
		}
	}
	whole := Whole(members, l.quorum)
	for i := range whole.Holdings {
		holding := &whole.Holdings[i]
		holding.Owner = cmp.Or(owners[holding.Owner], holding.Owner)
	}
	return whole
}

// Whole is the state of a group, of which an owner needs a quorum of members. The owners are in the order of their names.
// Each holds the group as often as it holds the members that it holds most often. The deadline is that of the last owner,
// by the members that it holds longest.
func Whole(members []history.KeyState, quorum int) history.KeyState {
	counts, deadlines := map[string][]int64{}, map[string][]time.Duration{}
	for _, m := range members {
		for _, h := range m.Holdings {
			counts[h.Owner] = append(counts[h.Owner], h.Count)
			deadlines[h.Owner] = append(deadlines[h.Owner], m.Deadline)
		}
	}
	var whole history.KeyState
	for _, o := range slices.Sorted(maps.Keys(counts)) {
		n := len(counts[o]) - quorum
		if n < 0 {
			continue
		}
		slices.Sort(counts[o])
		slices.SortFunc(deadlines[o], latestFirst)
		whole.Holdings = append(whole.Holdings, history.Holding{Owner: o, Count: counts[o][n]})
		whole.Deadline = deadlines[o][quorum-1]
	}
	return whole
}

// latestFirst orders deadlines; 0 is never.
func latestFirst(a, b time.Duration) int {
	switch {
	case a == b:
		return 0
	case a == 0 || b != 0 && a > b:
		return -1
	}
	return 1
}

// changed reports whether a command changed a row's key.
func changed(r *history.Served) bool {
	return !r.Before.Equal(*r.After)
}

// endOf is by when a command was executed.
func endOf(r *history.Served) time.Duration { return cmp.Or(r.Done, r.At) }
