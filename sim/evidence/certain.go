package evidence

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Certain returns what is certain of a run that was killed, and what can be concluded from it: all up to the last
// command that its server log has. The log is written in order, but later than the answers that it explains. What came
// after that command is left out, and a call that returned after it is still under way. A run that came to its end
// is returned as it is.
func Certain(h *history.History) *history.History {
	if h.End != nil {
		return h
	}
	last := time.Duration(0)
	if n := len(h.Served); n > 0 {
		last = h.Served[n-1].At
	}
	known := *h
	known.Ops, known.Events, known.Faults = nil, nil, nil
	for _, op := range h.Ops {
		if op.Call > last {
			continue
		}
		if op.Return > last {
			op = op.Unanswered()
		}
		if op.Kind.OnLock() && op.Evidence == history.NoEvidence {
			op.Evidence = history.Sent // it may be executed later
		}
		known.Ops = append(known.Ops, op)
	}
	for _, e := range h.Events {
		if e.At <= last {
			known.Events = append(known.Events, e)
		}
	}
	for _, f := range h.Faults {
		if f.From > last {
			continue
		}
		if f.To > last {
			f.To = 0
		}
		known.Faults = append(known.Faults, f)
	}
	known.Served = slices.Clone(h.Served)
	for i := range known.Served {
		if r := &known.Served[i]; r.Got > last {
			r.Got = 0
		}
	}
	return Conclude(&known)
}
