package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// system is a random system of processes that share keys and send each other messages: a world in
// which a run costs nothing. Each process is a list of actions; one can wait to be woken by another.
type system [][]action

type action struct {
	keys  []string
	mark  world.Mark
	wakes int // the process that may go on from then on; -1: none
}

func randomSystem(r *rand.Rand) system {
	s := make(system, 2+r.IntN(2))
	for p := range s {
		for range 1 + r.IntN(3) {
			a := action{wakes: -1}
			if r.IntN(3) > 0 {
				a.keys = []string{fmt.Sprint("k", r.IntN(3))}
			}
			if r.IntN(3) == 0 {
				a.mark = world.Mark{What: []string{world.Called, world.Returned, world.Wrote, world.Read}[r.IntN(4)], Lock: "l"}
			}
			if r.IntN(4) == 0 {
				a.wakes = r.IntN(len(s))
			}
			s[p] = append(s[p], a)
		}
	}
	return s
}

// run runs the system in the order that o chooses. Processes whose number is odd begin asleep, and are
// woken by the first action that does, if any does.
func (s system) run(o *orders) {
	at, born := make([]int, len(s)), make([]int, len(s))
	asleep := make([]bool, len(s))
	for _, p := range s {
		for _, a := range p {
			if a.wakes >= 0 && a.wakes%2 == 1 {
				asleep[a.wakes] = true
			}
		}
	}
	for count := 0; ; {
		var steps []world.Step
		var who []int
		for p := range s {
			if !asleep[p] && at[p] < len(s[p]) {
				steps, who = append(steps, world.Step{Name: fmt.Sprint("p", p), Born: born[p]}), append(who, p)
			}
		}
		if len(steps) == 0 {
			return
		}
		i := o.Choose(steps)
		if i < 0 {
			return
		}
		p := who[i]
		a := s[p][at[p]]
		at[p]++
		count++
		born[p] = count
		if a.wakes >= 0 && asleep[a.wakes] {
			asleep[a.wakes], born[a.wakes] = false, count
		}
		t := world.Touched{Keys: slices.Clone(a.keys)}
		if a.mark.What != "" {
			t.Marks = []world.Mark{a.mark}
		}
		if a.wakes >= 0 {
			t.Keys = append(t.Keys, fmt.Sprint("wake", a.wakes)) // which of two wakes it matters
		}
		o.Done(t)
	}
}

// class names the equivalence class of a run: its steps, and which of two dependent ones came first.
func class(run []taken) string {
	var pairs []string
	name := func(i int) string {
		n := 0
		for _, s := range run[:i+1] {
			if s.Name == run[i].Name {
				n++
			}
		}
		return fmt.Sprintf("%s.%d", run[i].Name, n)
	}
	for j := range run {
		pairs = append(pairs, name(j))
		for i := range j {
			if dependent(&run[i], &run[j]) {
				pairs = append(pairs, name(i)+"<"+name(j))
			}
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// classes are those of all runs, with how many runs there were of each.
func classes(t *testing.T, o *orders, run func() error) (found map[string]int, runs, blocked int) {
	t.Helper()
	found = map[string]int{}
	for {
		err := run()
		switch {
		case o.err != nil:
			t.Fatal(o.err)
		case o.blocked:
			blocked++
		case err != nil:
			t.Fatal(err)
		default:
			found[class(o.run)]++
			runs++
		}
		if !o.next() {
			return found, runs, blocked
		}
	}
}

// Of every class of equivalent orders one is run, and hardly any twice: on random systems.
func TestPruningLosesNoClassOfOrders(t *testing.T) {
	all, pruned := 0, 0
	for seed := range uint64(400) {
		s := randomSystem(rand.New(rand.NewPCG(seed, 1)))
		whole, few := &orders{unpruned: true}, &orders{}
		want, n, _ := classes(t, whole, func() error { s.run(whole); return nil })
		got, m, _ := classes(t, few, func() error { s.run(few); return nil })
		if !maps.EqualFunc(want, got, func(int, int) bool { return true }) {
			t.Fatalf("seed %d, %+v: %d classes, of which %d were run", seed, s, len(want), len(got))
		}
		for c, times := range got {
			if times > 1 {
				t.Errorf("seed %d: %d runs of %s", seed, times, c)
			}
		}
		all, pruned = all+n, pruned+m
	}
	if pruned*2 > all {
		t.Errorf("of %d orders %d were run", all, pruned)
	}
	t.Logf("of %d orders %d were run", all, pruned)
}

// The same in the world: somebody asks whether a lock is held, while a program of the same client, or
// of another, goes its own way.
func TestPruningLosesNoOrderOfASmallPlan(t *testing.T) {
	s, _ := subjects.Find("rlock-latch")
	asks := plan.Thread{ID: 1, Steps: []plan.Step{{Do: plan.IsLocked, Lock: "l"}}}
	sleeps := plan.Thread{ID: 2, Steps: []plan.Step{{Do: plan.Sleep}}}
	for name, clients := range map[string][]plan.Client{
		"same client":  {{Name: "c1", Threads: []plan.Thread{asks, sleeps}}},
		"other client": {{Name: "c1", Threads: []plan.Thread{asks}}, {Name: "c2", Threads: []plan.Thread{sleeps}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Version: plan.Version, Clients: clients}
			b := bubble.In(t)
			run := func(o *orders) (map[string]int, int, int) {
				return classes(t, o, func() error {
					_, err := sim.Run(b, p, s, sim.Options{Seed: 1, Order: o})
					return err
				})
			}
			got, pruned, blocked := run(&orders{})
			want, all, _ := run(&orders{unpruned: true})
			if !maps.EqualFunc(want, got, func(int, int) bool { return true }) || pruned != len(want) || all <= pruned {
				t.Errorf("%d orders in %d classes, of which %d were run in %d runs", all, len(want), len(got), pruned)
			}
			t.Logf("of %d orders in %d classes %d were run, and %d given up", all, len(want), pruned, blocked)
		})
	}
}
