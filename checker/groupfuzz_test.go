package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/composite"
	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// groupsOf draws a history of groups that share members, and of the members: honest, of atomic groups.
func groupsOf(d *dice, most int) *history.History {
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "monotonic", World: "fuzz", Subject: "fuzz"}}
	names := []string{"a", "b", "c", "d", "e"}[:2+d.n(4)]
	locks := map[string][]string{}
	for g := range 1 + d.n(2) {
		group := history.Group{Name: fmt.Sprintf("g%d", g), Kind: []string{history.Multi, history.Red}[d.n(2)]}
		for _, name := range names {
			if d.n(4) > 0 {
				group.Members = append(group.Members, name)
			}
		}
		if len(group.Members) == 0 {
			group.Members = names[:1]
		}
		h.Header.Groups = append(h.Header.Groups, group)
		locks[group.Name] = group.Members
	}
	for _, name := range names {
		locks[name] = []string{name}
	}
	all := slices.Sorted(maps.Keys(locks))
	held := map[string]map[string]int{} // member, owner: holds
	for _, name := range names {
		held[name] = map[string]int{}
	}
	do := func(op *history.Op) history.Outcome {
		members := locks[op.Lock]
		needed := len(members)
		for _, g := range h.Header.Groups {
			if g.Name == op.Lock && g.Kind == history.Red {
				needed = len(members)/2 + 1
			}
		}
		var own, free []string
		deep := false
		for _, m := range members {
			switch n := held[m][op.Owner]; {
			case n > 0:
				own, deep = append(own, m), deep || n > 1
			case len(held[m]) == 0:
				free = append(free, m)
			}
		}
		if op.Kind == history.Unlock {
			for _, m := range own {
				if held[m][op.Owner]--; held[m][op.Owner] == 0 {
					delete(held[m], op.Owner)
				}
			}
			switch {
			case len(own) < needed:
				return history.NotHeld
			case deep:
				return history.Decremented
			}
			return history.Released
		}
		if len(own)+len(free) < needed {
			return history.Busy
		}
		for _, m := range append(own, free...) {
			held[m][op.Owner]++
		}
		return history.Acquired
	}
	unknown := []int{0, 0, 20}[d.n(3)]
	open := map[string]int{} // owner -> the call under way
	var flying []int
	done := map[int]history.Outcome{}
	for step := range 6 * most {
		now := time.Duration(step+1) * time.Millisecond
		if len(flying) > 0 && d.n(6) == 0 {
			do(&h.Ops[flying[0]])
			flying = flying[1:]
			continue
		}
		owner := fmt.Sprintf("c%d:1", d.n(3))
		i, calls := open[owner]
		outcome, executed := done[i]
		switch {
		case !calls && len(h.Ops) < most:
			op := history.Op{ID: int64(len(h.Ops) + 1), Client: owner[:2], Owner: owner, Lock: all[d.n(len(all))], Kind: history.TryLock, Call: now}
			if d.n(2) == 0 {
				op.Kind = history.Unlock
			}
			open[owner] = len(h.Ops)
			h.Ops = append(h.Ops, op)
		case !calls:
		case !executed && !d.in100(unknown):
			done[i] = do(&h.Ops[i])
		default:
			h.Ops[i].Return, h.Ops[i].Outcome = now, outcome
			if !executed || d.in100(unknown) {
				h.Ops[i].Outcome = history.Unknown
			}
			if !executed {
				flying = append(flying, i)
			}
			delete(open, owner)
		}
	}
	return h
}

// some reports whether the calls have an order that the groups allow: it tries all of them.
func some(h *history.History, e *composite.Locks) bool {
	type visit struct {
		done  int
		state model.QuorumState
	}
	seen := map[visit]bool{}
	var try func(visit) bool
	try = func(v visit) bool {
		if seen[v] {
			return false
		}
		seen[v] = true
		first, left := time.Duration(never), false // the first return of what is still to come
		for i := range h.Ops {
			if op := &h.Ops[i]; v.done>>i&1 == 0 && !op.Uncertain() {
				first, left = min(first, op.Return), true
			}
		}
		if !left {
			return true // what nobody was told of need not have happened
		}
		for i := range h.Ops {
			if v.done>>i&1 == 1 || h.Ops[i].Call > first {
				continue
			}
			if next, err := e.Apply(&linear.Step{Op: h.Ops[i]}, v.state); err == nil && try(visit{v.done | 1<<i, next}) {
				return true
			}
		}
		return false
	}
	return try(visit{})
}

// judgedGroups returns what the judge said, and what is wrong with it, or "".
func judgedGroups(d *dice) (Status, string) {
	h := groupsOf(d, 14)
	lied := d.n(3) > 0 && len(h.Ops) > 0
	if lied {
		(&simulation{dice: d, h: h}).lie(&h.Ops[d.n(len(h.Ops))])
	}
	o := Options{Model: model.Reentrant}.withDefaults(h)
	o.Budget = time.Minute
	f := collect(h, o)
	r := judgeObject(context.Background(), f)
	want, judged := true, map[*joint]bool{}
	for _, e := range jointsOf(f) {
		if judged[e] {
			continue
		}
		judged[e] = true
		part := *h
		part.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool {
			return !slices.ContainsFunc(e.locks, func(l *lockFacts) bool { return l.name == op.Lock })
		})
		want = want && some(&part, e.Locks)
	}
	for _, l := range f.locks { // members that no group has
		if alone := jointsOf(f)[l.name] == nil; alone && len(l.ops) > 0 {
			part := *h
			part.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool { return op.Lock != l.name })
			want = want && some(&part, composite.Of([]history.Group{{Kind: history.Multi, Members: []string{l.name}}}, model.Reentrant)[l.name])
		}
	}
	switch {
	case r.Status != Holds && r.Status != Broken:
		return r.Status, string(r.Status) + ": " + r.Summary
	case !lied && r.Status != Holds:
		return r.Status, "an honest history is refused: " + r.Summary
	case want != (r.Status == Holds):
		return r.Status, fmt.Sprintf("the judge says %s (%s), and trying all orders says %v", r.Status, r.Summary, want)
	}
	return r.Status, ""
}

// FuzzGroups: what atomic groups did is never refused, and of what may be untrue the judge says what trying all
// orders says.
func FuzzGroups(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, what := judgedGroups(diceOf(b)); what != "" {
			t.Fatal(what)
		}
	})
}

// TestGroupHistories is FuzzGroups without a fuzzer, a quarter as often as the others.
func TestGroupHistories(t *testing.T) {
	said := map[Status]int{}
	for n := range *honestRuns / 4 {
		status, what := judgedGroups(diceOfSeed(uint64(n)))
		if said[status]++; what != "" {
			t.Fatalf("%d: %s\n%s", n, what, testCase(groupsOf(diceOfSeed(uint64(n)), 14)))
		}
	}
	if t.Log(said); said[Holds] < 100 || said[Broken] < 100 {
		t.Errorf("one-sided: %v", said)
	}
}
