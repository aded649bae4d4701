package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/sim/world"
)

// All orders of a run's steps, with equivalent ones pruned.
//
// A step is the arrival of a message or the next step of a program. It happens at one place: in a
// client's process or at a server. What it changes is the state of that place, and what it sends goes
// to the end of queues. So two steps at different places can change places themselves: either order
// leads to the same states, the same messages, and the same order in every queue. So can two at one
// server that name no common key, channel or script. All others are dependent: of one client, of one
// queue, on one key. Time plays no part in this, as it passes only when no step is left, which ends an
// epoch; nor do the microseconds between steps, which no timer and no time to live in milliseconds
// can tell. Faults are taken to be dependent on everything.
//
// That makes the states the same, but a verdict looks at more: which call had returned before which
// was called, and who read and wrote when. So these are steps' marks, and two steps are dependent also
// when changing their order changes one of that: a call and a return on one lock, a write and a read
// or write of one resource.
//
// Orders that differ only in pairs of independent steps next to each other are equivalent (a
// Mazurkiewicz trace) and get one verdict. Of each class one order is run, by dynamic partial order
// reduction with source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic
// Partial Order Reduction, POPL 2014, algorithm 1): whenever two steps of a run race, which is when
// they are dependent and nothing else orders them, a run with the other order is made sure of. That
// it loses none is tested on random systems and on a small plan against all orders.

// taken is a step of a run, as it was taken.
type taken struct {
	world.Step
	touched world.Touched
}

// dependent reports whether the order of two steps matters.
func dependent(a, b *taken) bool {
	x, y := &a.touched, &b.touched
	switch {
	case a.Name == b.Name, a.Epoch != b.Epoch, x.All, y.All, x.Client != "" && x.Client == y.Client:
		return true
	}
	if x.Broke != "" && strings.HasPrefix(b.Name, x.Broke) || y.Broke != "" && strings.HasPrefix(a.Name, y.Broke) ||
		meet(x.Keys, y.Keys) || meet(x.Keys, y.Reads) || meet(x.Reads, y.Keys) {
		return true
	}
	for _, m := range x.Marks {
		for _, n := range y.Marks {
			if m.Lock == n.Lock && clash(m.What, n.What) {
				return true
			}
		}
	}
	return false
}

// meet reports whether two lists have something in common.
func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

// clash reports whether the order of two marks on one lock matters.
func clash(a, b string) bool {
	switch {
	case a == world.Called, a == world.Returned:
		return (b == world.Called || b == world.Returned) && a != b
	case a == world.Wrote:
		return b == world.Wrote || b == world.Read
	}
	return a == world.Read && b == world.Wrote
}

// node is a point of the run at which a step was chosen.
type node struct {
	enabled  []world.Step
	chosen   string
	todo     []string         // to be chosen here, besides those that were
	done     map[string]taken // were chosen here before, as they were taken then
	sleeping map[string]taken // need not be chosen: an equivalent order has been run
}

// orders enumerates orders. It is a [world.Orderer] for one run after the other.
type orders struct {
	unpruned bool

	path    []*node // of this run; up to prefix as in the one before
	prefix  int
	at      int // how many steps this run has taken
	run     []taken
	blocked bool  // it was abandoned: an equivalent order has been run
	err     error // it did not go as it went before
}

// Choose implements [world.Orderer].
func (o *orders) Choose(steps []world.Step) int {
	index := func(name string) int {
		return slices.IndexFunc(steps, func(s world.Step) bool { return s.Name == name })
	}
	if o.at < o.prefix {
		n := o.path[o.at]
		i := index(n.chosen)
		if i < 0 {
			o.err = fmt.Errorf("step %d: %s cannot happen, though it did in an equal run", o.at+1, n.chosen)
			return -1
		}
		o.began(steps[i])
		return i
	}
	n := &node{enabled: slices.Clone(steps), done: map[string]taken{}, sleeping: o.sleepers()}
	for i, s := range steps {
		if _, sleeps := n.sleeping[s.Name]; sleeps {
			continue
		}
		if n.chosen == "" {
			n.chosen = s.Name
			o.path = append(o.path, n)
			o.began(steps[i])
			if !o.unpruned {
				return i
			}
			continue
		}
		n.todo = append(n.todo, s.Name)
	}
	if n.chosen == "" {
		o.blocked = true
		return -1
	}
	return index(n.chosen)
}

func (o *orders) began(s world.Step) {
	o.run = append(o.run, taken{Step: s})
	o.at++
}

// Done implements [world.Orderer].
func (o *orders) Done(t world.Touched) { o.run[o.at-1].touched = t }

// sleepers are the steps that need not be chosen next: those that slept or were done at the node
// before, and are independent of the step that was taken there.
func (o *orders) sleepers() map[string]taken {
	sleeping := map[string]taken{}
	if o.at == 0 || o.unpruned {
		return sleeping
	}
	before, last := o.path[o.at-1], &o.run[o.at-1]
	for _, group := range []map[string]taken{before.sleeping, before.done} {
		for name, s := range group {
			if !dependent(&s, last) {
				sleeping[name] = s
			}
		}
	}
	return sleeping
}

// names lists the steps of this run.
func (o *orders) names() []string {
	var names []string
	for _, s := range o.run {
		names = append(names, s.Name)
	}
	return names
}

// next prepares the next run, and reports whether there is one.
func (o *orders) next() bool {
	if !o.unpruned {
		o.races()
	}
	for len(o.path) > 0 {
		n := o.path[len(o.path)-1]
		if len(o.path) <= len(o.run) {
			n.done[n.chosen] = o.run[len(o.path)-1]
		}
		for len(n.todo) > 0 {
			name := n.todo[0]
			n.todo = n.todo[1:]
			_, done := n.done[name]
			_, sleeps := n.sleeping[name]
			if done || sleeps {
				continue
			}
			n.chosen = name
			o.prefix, o.at, o.run, o.blocked = len(o.path), 0, nil, false
			return true
		}
		o.path = o.path[:len(o.path)-1]
	}
	return false
}

// races makes sure of a run for the other order of each two steps of this one that race.
func (o *orders) races() {
	n := len(o.run)
	for i := range o.run {
		o.keeps(i)
	}
	before := make([][]bool, n) // before[j][i]: step i had to happen before step j
	for j := range n {
		before[j] = make([]bool, j)
		var direct []int
		for i := range j {
			if dependent(&o.run[i], &o.run[j]) || o.run[j].Born == i+1 {
				before[j][i] = true
				direct = append(direct, i)
			}
		}
		for _, i := range direct {
			for k := range i {
				before[j][k] = before[j][k] || before[i][k]
			}
		}
		for _, i := range direct {
			a, b := &o.run[i], &o.run[j]
			if a.Name == b.Name || a.Epoch != b.Epoch || b.Born == i+1 || slices.ContainsFunc(direct, func(k int) bool { return k > i && before[k][i] }) {
				continue // they cannot happen in the other order, or not by themselves
			}
			o.reverse(i, j, before)
		}
	}
}

// keeps has those steps chosen at node i, too, that can no more happen if step i breaks their connection:
// no race in this run tells of them.
func (o *orders) keeps(i int) {
	link := o.run[i].touched.Broke
	if link == "" {
		return
	}
	n := o.path[i]
	for _, s := range n.enabled {
		if _, done := n.done[s.Name]; !done && s.Name != n.chosen && strings.HasPrefix(s.Name, link) && !slices.Contains(n.todo, s.Name) {
			n.todo = append(n.todo, s.Name)
		}
	}
}

// reverse has a step chosen at node i with which an order begins in which step j comes before step i:
// one of those that happened after i but not because of it, and before which nothing of these had to
// happen.
func (o *orders) reverse(i, j int, before [][]bool) {
	var rest []int // what happens without step i, and then j
	for k := i + 1; k < j; k++ {
		if !before[k][i] {
			rest = append(rest, k)
		}
	}
	rest = append(rest, j)
	var first []string
	for at, k := range rest {
		if !slices.ContainsFunc(rest[:at], func(earlier int) bool { return before[k][earlier] }) {
			first = append(first, o.run[k].Name)
		}
	}
	n := o.path[i]
	for _, name := range first {
		if _, done := n.done[name]; done || name == n.chosen || slices.Contains(n.todo, name) {
			return
		}
	}
	for _, name := range first {
		if slices.ContainsFunc(n.enabled, func(s world.Step) bool { return s.Name == name }) {
			n.todo = append(n.todo, name)
			return
		}
	}
	for _, s := range n.enabled { // it should not be, but then all are tried
		n.todo = append(n.todo, s.Name)
	}
}
