package reports

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// segment is a stretch of time in which a lock's key on the server did not change.
type segment struct {
	from, to time.Duration
	state    history.KeyState
}

func (s segment) holds(owner string) bool {
	for _, h := range s.state.Holdings {
		if h.Owner == owner {
			return true
		}
	}
	return false
}

// isOf returns whether a row of the server log is about the key of a lock. Another server may have a key of that name, as a member of a
// group: the lock's is where the first command of a call on it went.
func isOf(h *history.History, lock string) func(s history.Served) bool {
	calls := map[int64]bool{}
	for _, op := range h.Ops {
		if op.Lock == lock {
			calls[op.ID] = true
		}
	}
	i := slices.IndexFunc(h.Served, func(s history.Served) bool { return s.Lock == lock && calls[s.Op] })
	return func(s history.Served) bool { return s.Lock == lock && (i < 0 || s.Server == h.Served[i].Server) }
}

// read are segments that tell who holds: none, where nobody can read that in the key.
func read(h *history.History, key []segment) []segment {
	if h.Header.Layout.Unknown != "" {
		return nil
	}
	return key
}

// keySegments follows a lock's key through the server log and the environment's events. It
// returns nothing if the log never saw the key.
func keySegments(h *history.History, lock string, end time.Duration) []segment {
	type change struct {
		at     time.Duration
		before *history.KeyState // what the server saw just before, when it tells
		state  history.KeyState
	}
	var changes []change
	var events []history.Event
	for _, e := range h.Events {
		if e.Lock == lock && (e.Kind == history.Expire || e.Kind == history.Delete) {
			events = append(events, e)
		}
	}
	seen, own := false, isOf(h, lock)
	for _, s := range h.Served {
		if !own(s) || s.After == nil {
			continue
		}
		seen = true
		for len(events) > 0 && events[0].At <= s.At {
			changes = append(changes, change{at: events[0].At})
			events = events[1:]
		}
		changes = append(changes, change{s.At, s.Before, *s.After})
	}
	if !seen {
		return nil
	}
	for _, e := range events {
		changes = append(changes, change{at: e.At})
	}
	var t trail
	for _, c := range changes {
		if c.before != nil { // a change that no record tells of, as by a restart
			t.set(c.at, *c.before)
		}
		t.set(c.at, c.state)
	}
	return t.done(end)
}

// trail makes segments of what a key's state is set to, in order of time.
type trail struct {
	segments []segment
	now      segment
}

func (t *trail) set(at time.Duration, state history.KeyState) {
	if sameState(t.now.state, state) {
		return
	}
	if at > t.now.from {
		t.now.to = at
		t.segments = append(t.segments, t.now)
	}
	t.now = segment{from: at, state: state}
}

// done is all segments up to an end.
func (t *trail) done(end time.Duration) []segment {
	if t.now.to = end; t.now.to > t.now.from {
		t.segments = append(t.segments, t.now)
	}
	return t.segments
}

func sameState(a, b history.KeyState) bool {
	return a.Alike(b) && (a.Absent() || a.Deadline == b.Deadline)
}

func sameHoldings(a, b []history.Holding) bool { return slices.Equal(a, b) }

// longestTTL is the longest time to live that a key had: the full height of its ramps. It is 0
// for a key that never had one.
func longestTTL(key []segment) time.Duration {
	var longest time.Duration
	for _, s := range key {
		if len(s.state.Holdings) > 0 {
			longest = max(longest, s.state.Deadline-s.from)
		}
	}
	return longest
}
