package fault

import (
	"cmp"
	"slices"
	"strings"

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

// Reachable lists the cells that some plan can reach: for each of [Steps] what the call may be told
// that was struck there. It leaves out what cannot be:
//
//   - A renewal, a subscription and a message that tells a release belong to no call, and a fault at
//     a time strikes none.
//   - A call whose message comes twice, or is overtaken, is answered all the same: it ends neither
//     unknown nor failed. One whose message is lost, or much too late, ends unknown if it is not
//     sent again; the server's refusal is an answer, so that it has failed.
//   - A refused request (server-error) and one that is slow to be executed have no reply to strike.
func Reachable() []Cell {
	var cells []Cell
	for _, s := range Steps() {
		k, _ := Find(s.Kind)
		_, what, _ := strings.Cut(s.On, " ")
		outcomes := []history.Outcome{"none"}
		switch what {
		case "acquire":
			outcomes = []history.Outcome{history.Acquired, history.Busy}
		case "release":
			outcomes = []history.Outcome{history.Released, history.Decremented, history.NotHeld}
		}
		switch {
		case what != "acquire" && what != "release":
		case k.Needs.Error:
			outcomes = append(outcomes, history.Failed)
		case k.Name != "duplicate-message" && k.Name != "reorder-message":
			outcomes = append(outcomes, history.Unknown)
		}
		for _, o := range outcomes {
			cells = append(cells, Cell{s.Kind, s.On, string(o)})
		}
	}
	return cells
}

// Missing lists the cells that can be reached and were not.
func (c Coverage) Missing() []Cell {
	return slices.DeleteFunc(Reachable(), func(cell Cell) bool { return c[cell] > 0 })
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
