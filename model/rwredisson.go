package model

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Redisson's read-write lock (4.7.0) is one key with one end. Beside it each level of a reader's hold has a key for its lease.

// left is what the key has after a read unlock of the owner: of its levels the innermost is gone.
func (v rwView) left() []RWHold {
	holds := slices.Clone(v.holds)
	if h := holds[v.mine]; h.Count > 1 {
		h.Count--
		h.each = h.each[:min(len(h.each), int(h.Count))]
		holds[v.mine] = h
		return holds
	}
	return slices.Delete(holds, v.mine, v.mine+1)
}

// goes reports whether a read unlock of the owner may remove the key: no reader's lease lasts, and nobody writes.
func (v rwView) goes() bool {
	return !slices.ContainsFunc(v.left(), func(h RWHold) bool {
		return h.Write || slices.ContainsFunc(h.each, func(l life) bool { return past(l.Earliest, v.to) })
	})
}

// stays reports whether a read unlock of the owner may leave the key: some reader's lease lasts, or somebody writes.
func (v rwView) stays() bool {
	return slices.ContainsFunc(v.left(), func(h RWHold) bool {
		return h.Write || slices.ContainsFunc(h.each, func(l life) bool { return !past(v.from, l.Latest) })
	})
}

// afterRedisson is the state that op leaves.
func (v rwView) afterRedisson(k RWLock, op history.Op) RWState {
	switch op.Outcome {
	case history.Acquired:
		return v.granted(k, op)
	case history.Decremented, history.Released:
		if !v.write {
			return v.readUnlocked(k, op)
		}
		if h := &v.holds[v.mine]; h.Count > 1 {
			if h.Count--; op.Lease > 0 {
				v.end = lasting(op)
			}
		} else {
			v.holds = slices.Delete(v.holds, v.mine, v.mine+1)
		}
	case history.NotHeld:
		if v.mine >= 0 { // the key is over
			v.holds = nil
		}
	case history.Renewed:
		v.end = lasting(op)
		if each := v.holds[v.mine].each; !v.write {
			for i, l := range each {
				switch {
				case past(v.from, l.Latest): // it stays over
				case !past(l.Earliest, v.to):
					each[i].Latest = v.end.Latest
				default:
					each[i] = v.end
				}
			}
		}
	}
	return v.state()
}

func (v rwView) state() RWState {
	for i := range v.holds {
		v.holds[i].life = life{}
	}
	s := rwState(v.holds)
	if len(v.holds) > 0 {
		s.end = v.end
	}
	return s
}

// granted is the state after a grant.
func (v rwView) granted(k RWLock, op history.Op) RWState {
	lease := lasting(op)
	if v.mine < 0 && (v.write && !(k.Upgrades && v.reads) || v.maybe) { // whoever was in the way is gone, and the key with it
		v.holds = nil
	}
	switch {
	case len(v.holds) == 0:
		v.end = lease
	case v.write:
		v.end = life{later(asked(v.end.Earliest), op.Lease), later(v.end.Latest, op.Lease)}
	default:
		v.end = life{max(asked(v.end.Earliest), lease.Earliest), max(v.end.Latest, lease.Latest)}
	}
	if len(v.holds) == 0 || v.mine < 0 {
		v.holds = append(v.holds, RWHold{Owner: op.Owner, Write: v.write})
		v.mine = len(v.holds) - 1
	}
	h := &v.holds[v.mine]
	if h.Count++; !v.write {
		h.each = append(h.each, lease)
	}
	return v.state()
}

// readUnlocked is the state after a read unlock. If readers' leases last, the key ends with the last of them, also before that of a
// writer.
func (v rwView) readUnlocked(k RWLock, op history.Op) RWState {
	told := op.Outcome == history.Released && (k.LastReader || v.holds[v.mine].Count > 1) // that the key is gone
	goes := v.goes()
	if told || !v.stays() {
		return RWState{}
	}
	v.holds = v.left()
	longest, lasts, may := life{}, false, false
	for _, h := range v.holds {
		for _, l := range h.each {
			if past(v.from, l.Latest) {
				continue
			}
			may, lasts = true, lasts || past(l.Earliest, v.to)
			longest = life{max(longest.Earliest, asked(l.Earliest)), max(longest.Latest, l.Latest)}
		}
	}
	switch {
	case lasts:
		v.end = longest
	case may && slices.ContainsFunc(v.holds, func(h RWHold) bool { return h.Write }): // the key has that end, or the one that it had
		v.end = life{min(longest.Earliest, v.end.Earliest), max(longest.Latest, v.end.Latest)}
	case may:
		v.end = longest
	}
	if goes { // or it is gone: see MayBeGone
		v.end.Earliest = 0
	}
	return v.state()
}

// asked is the earliest end that a script sets which asked how long a key lasts: the answer has whole milliseconds.
func asked(end time.Duration) time.Duration { return later(end, -Granularity) }

// befalls is Environment of a lock that is held.
func (k RWLock) befalls(s RWState, e history.Event) (RWState, error) {
	end, gone, rule := s.end.environment(e)
	if rule != "" {
		return s, &Violation{Rule: rule, State: s, Event: e}
	}
	v := rwView{holds: s.Holds(), end: end}
	switch {
	case gone:
		v.holds = slices.DeleteFunc(v.holds, func(h RWHold) bool { return e.Owner == "" || e.Owner == h.name() })
		v.end = s.end
	case e.Kind == history.ClockJump:
		for _, h := range v.holds {
			for i, l := range h.each {
				h.each[i], _, _ = l.environment(e)
			}
		}
	}
	return v.state(), nil
}
