package fault

import (
	"cmp"
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// Cell is one way in which a fault can strike: its kind, the step of the protocol on which it
// struck ("time" if it struck at a time), and what the call was told that it struck ("none" if it
// struck no call, "pending" if the call never returned).
type Cell struct {
	Kind    string `json:"kind"`
	On      string `json:"on"`
	Outcome string `json:"outcome"`
}

// Coverage counts how often each cell was reached.
type Coverage map[Cell]int

// Add counts the faults of a run.
func (c Coverage) Add(h *history.History) {
	outcomes := make(map[int64]history.Outcome, len(h.Ops))
	for _, op := range h.Ops {
		outcomes[op.ID] = cmp.Or(op.Outcome, "pending")
	}
	for _, f := range h.Faults {
		if f.Missed {
			continue
		}
		outcome := history.Outcome("none")
		if f.Op != 0 {
			outcome = outcomes[f.Op]
		}
		c[Cell{f.Kind, cmp.Or(f.On, "time"), string(outcome)}]++
	}
}

// Cells returns the cells that were reached, sorted.
func (c Coverage) Cells() []Cell {
	var cells []Cell
	for cell := range c {
		cells = append(cells, cell)
	}
	slices.SortFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.On, b.On), cmp.Compare(a.Outcome, b.Outcome))
	})
	return cells
}

// Step is a kind of fault on a step of the protocol.
type Step struct{ Kind, On string }

// Steps lists all that can be: faults on messages on each request and reply of the lock's protocol,
// the others at a time.
func Steps() []Step {
	var steps []Step
	for _, k := range Kinds() {
		if !k.Needs.Messages {
			steps = append(steps, Step{k.Name, "time"})
			continue
		}
		for _, on := range []string{"acquire", "release", "renew", "subscribe"} {
			steps = append(steps, Step{k.Name, "request " + on})
			if !k.Needs.Requests {
				steps = append(steps, Step{k.Name, "reply " + on})
			}
		}
		if !k.Needs.Requests {
			steps = append(steps, Step{k.Name, "reply publish"})
		}
	}
	return steps
}

// Unreached lists the steps on which no fault of a kind that could struck.
func (c Coverage) Unreached() []Step {
	reached := map[Step]bool{}
	for cell := range c {
		reached[Step{cell.Kind, cell.On}] = true
	}
	return slices.DeleteFunc(Steps(), func(s Step) bool { return reached[s] })
}

// Count is how often a cell was reached.
type Count struct {
	Cell
	Times int `json:"times"`
}

// Counts returns the coverage as a list, sorted.
func (c Coverage) Counts() []Count {
	var counts []Count
	for _, cell := range c.Cells() {
		counts = append(counts, Count{cell, c[cell]})
	}
	return counts
}

// Merge adds counts.
func (c Coverage) Merge(counts []Count) {
	for _, n := range counts {
		c[n.Cell] += n.Times
	}
}
