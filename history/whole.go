package history

import (
	"slices"
	"time"
)

// Over is when the history ends on its own clock.
func (h *History) Over() time.Duration {
	if h.End != nil {
		return h.End.At
	}
	var end time.Duration
	for _, op := range h.Ops {
		end = max(end, op.Call, op.Return, op.Executed)
	}
	for _, e := range h.Events {
		end = max(end, e.At)
	}
	for _, s := range h.Served {
		end = max(end, s.At)
	}
	return end
}

// Whole reports whether the history has its end: what is missing then never came.
func (h *History) Whole() bool { return h.End != nil && h.End.Error == "" && h.End.Spin == nil }

// Healed is the time from which on no fault acts: the end, if the history does not say.
func (h *History) Healed() time.Duration {
	healed := h.Over()
	for _, e := range h.Events {
		if e.Kind == Healed {
			healed = min(healed, e.At)
		}
	}
	return healed
}

// WithEffects is the history with faults that name their effects.
func (h *History) WithEffects() *History {
	if !slices.ContainsFunc(h.Faults, func(f Fault) bool { return f.Effects == nil }) {
		return h
	}
	all := *h
	all.Faults = slices.Clone(h.Faults)
	for i := range all.Faults {
		if f := &all.Faults[i]; f.Effects == nil {
			f.Effects = EffectsOf(f.Kind, f.Step)
		}
	}
	return &all
}

// Span is the time of a fault; one without an end lasted until everything was healed, or struck once. Later than
// that none acts: a message that was to be late arrives.
func (f *Fault) Span(healed time.Duration) (from, to time.Duration) {
	switch {
	case f.To > 0:
		return f.From, max(f.From, min(f.To, healed))
	case !f.Lasts():
		return f.From, f.From
	}
	return f.From, max(f.From, healed)
}
