package explore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// LockState is a state of the sequential lock as far as it matters: how often it is held (3: three
// times or more), whether its lease is explicit, how many others wait for it (2: two or more), and
// by which step it came about.
type LockState struct {
	Step     string `json:"step"`
	Holds    int    `json:"holds"`
	Explicit bool   `json:"explicit,omitzero"`
	Waiting  int    `json:"waiting,omitzero"`
}

func (s LockState) String() string {
	text := "free"
	if s.Holds > 0 {
		text = fmt.Sprintf("held %d×", s.Holds)
		if s.Explicit {
			text += " with a lease"
		}
	}
	return fmt.Sprintf("%s by %s, %d waiting", text, s.Step, s.Waiting)
}

// States counts how often each state was reached.
type States map[LockState]int

// Visit is a state and how often it was reached.
type Visit struct {
	LockState
	Times int `json:"times"`
}

// Visits returns the states as a list, sorted.
func (s States) Visits() []Visit {
	var all []Visit
	for state, n := range s {
		all = append(all, Visit{state, n})
	}
	slices.SortFunc(all, func(a, b Visit) int {
		explicit := 0
		if a.Explicit != b.Explicit {
			explicit = 1
			if b.Explicit {
				explicit = -1
			}
		}
		return cmp.Or(cmp.Compare(a.Holds, b.Holds), explicit, cmp.Compare(a.Waiting, b.Waiting), cmp.Compare(a.Step, b.Step))
	})
	return all
}

// Merge adds visits.
func (s States) Merge(visits []Visit) {
	for _, v := range visits {
		s[v.LockState] += v.Times
	}
}

// Add counts the states that the locks of a history went through, as the server log has them.
func (s States) Add(h *history.History) {
	each(h, func(state LockState, _ time.Duration) { s[state]++ })
}

// each has the states that the locks of a history went through, and when they came about.
func each(h *history.History, came func(state LockState, at time.Duration)) {
	ops := make(map[int64]*history.Op, len(h.Ops))
	calls := map[string][]*history.Op{} // that acquire, by lock
	for i := range h.Ops {
		op := &h.Ops[i]
		ops[op.ID] = op
		if op.Kind.Acquires() && !op.Aside {
			calls[op.Lock] = append(calls[op.Lock], op)
		}
	}
	explicit := map[string]bool{}
	for i := range h.Served {
		r := &h.Served[i]
		if r.Lock == "" || r.After == nil {
			continue
		}
		state := LockState{Step: string(r.Step)}
		owner := ""
		for _, held := range r.After.Holdings {
			state.Holds += int(held.Count)
			owner = held.Owner
		}
		state.Holds = max(0, min(state.Holds, 3))
		if op := ops[r.Op]; op != nil && op.Kind.Acquires() && op.Owner == owner {
			explicit[r.Lock] = !op.Watchdog
		}
		state.Explicit = state.Holds > 0 && explicit[r.Lock]
		for _, op := range calls[r.Lock] {
			if op.Call > r.At {
				break
			}
			if (op.Pending() || op.Return > r.At) && op.Owner != owner {
				state.Waiting = min(state.Waiting+1, 2)
			}
		}
		came(state, r.At)
	}
	for _, e := range h.Events {
		if e.Kind == history.Expire && e.Lock != "" {
			came(LockState{Step: "expiry"}, e.At)
		}
	}
}
