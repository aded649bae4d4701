package goals

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// run is a history, made ready to be asked for goals.
type run struct {
	h     *history.History
	ops   map[int64]*history.Op
	asks  map[string][]*history.Op // calls that may wait, by lock, in order
	locks []string                 // of asks
	rows  []row
	of    map[string]history.Object
	at    time.Duration // of what was found last
}

// row is a command on the key of a lock, executed on behalf of an owner. None was refused, and none is the fault injector's.
type row struct {
	*history.Served
	op            *history.Op // the call that it belongs to, or nil
	before, after int64       // holds of the owner
	past          past
}

// past is what had happened to an owner's part of a key before a command.
type past struct {
	taken, freed time.Duration // when its holds last began, and last ended by a command
	by           *history.Op   // the call that last took or re-entered it
}

// place is an owner's part of a key.
type place struct{ server, lock, owner string }

func look(h *history.History) *run {
	r := &run{h: h, ops: make(map[int64]*history.Op, len(h.Ops)), asks: map[string][]*history.Op{}, of: h.Objects()}
	for i := range h.Ops {
		op := &h.Ops[i]
		r.ops[op.ID] = op
		if op.Kind.Asks() && !op.Aside {
			if r.asks[op.Lock] == nil {
				r.locks = append(r.locks, op.Lock)
			}
			r.asks[op.Lock] = append(r.asks[op.Lock], op)
		}
	}
	pasts := map[place]past{}
	for i := range h.Served {
		s := &h.Served[i]
		switch {
		case s.Lock == "" || s.Before == nil || s.After == nil || s.Refused || s.Step == history.StepAdmin:
		case s.Step != history.StepRenew || len(s.Names) == 0:
			r.add(s, s.Owner, pasts)
		default: // one command renews for several owners
			for _, name := range s.Names {
				r.add(s, ownerOf(s, name), pasts)
			}
		}
	}
	return r
}

// ownerOf is the owner of a key whom a name in it stands for; the name itself if the key does not have it.
func ownerOf(s *history.Served, name string) string {
	for _, k := range []*history.KeyState{s.Before, s.After} {
		for _, held := range k.Holdings {
			if held.Value == name {
				return held.Owner
			}
		}
	}
	return name
}

func (r *run) add(s *history.Served, owner string, pasts map[place]past) {
	at := place{s.Server, s.Lock, owner}
	m := pasts[at]
	one := row{Served: s, op: r.ops[s.Op], before: s.Before.Count(owner), after: s.After.Count(owner), past: m}
	r.rows = append(r.rows, one)
	switch {
	case one.after > one.before && one.before == 0:
		m.taken, m.by = s.At, one.op
	case one.after > one.before:
		m.by = one.op
	case one.after < one.before && one.after == 0:
		m.freed = s.At
	default:
		return
	}
	pasts[at] = m
}

// object is what a name stands for; a lock, if no call says so.
func (r *run) object(name string) history.Object { return cmp.Or(r.of[name], history.ALock) }

// others reports whether another owner had the lock before the command.
func (s *row) others() bool { return s.Before.Total() > s.before }

// row reports whether a command is such.
func (r *run) row(such func(s *row) bool) bool {
	for i := range r.rows {
		if such(&r.rows[i]) {
			r.at = r.rows[i].At
			return true
		}
	}
	return false
}

// op reports whether an operation is such.
func (r *run) op(such func(op *history.Op) bool) bool {
	for i := range r.h.Ops {
		if op := &r.h.Ops[i]; such(op) {
			r.at = max(op.Call, op.Return)
			return true
		}
	}
	return false
}

// event reports whether an event of a kind is such, for one of the locks: for that which it names, if it names one.
func (r *run) event(kind history.EventKind, such func(e *history.Event, lock string) bool) bool {
	for i := range r.h.Events {
		e := &r.h.Events[i]
		switch {
		case e.Kind != kind:
		case e.Lock != "" && such(e, e.Lock), e.Lock == "" && slices.ContainsFunc(r.locks, func(lock string) bool { return such(e, lock) }):
			r.at = e.At
			return true
		}
	}
	return false
}

// waits reports whether a call waits at a time: the lock has not been granted to it.
func waits(op *history.Op, at time.Duration) bool {
	granted := op.Evidence == history.Executed && op.Answer == history.Acquired && op.Executed <= at
	return op.Call <= at && (op.Pending() || op.Return > at) && !granted
}

// waiters counts who waits for a lock at a time, of those calls that count.
func (r *run) waiters(lock string, at time.Duration, counts func(op *history.Op) bool) int {
	n := 0
	for _, op := range r.asks[lock] {
		if waits(op, at) && counts(op) {
			n++
		}
	}
	return n
}

func anybody(*history.Op) bool { return true }

// waited reports whether so many wait for a lock at a time, or more.
func (r *run) waited(lock string, at time.Duration, least int) bool {
	return r.waiters(lock, at, anybody) >= least
}

// held reports whether a lock is held at a time, as the server log has it.
func (r *run) held(lock string, at time.Duration) bool { return len(r.holders(lock, at)) > 0 }

// holders are who holds a lock at a time, as the server log has it.
func (r *run) holders(lock string, at time.Duration) []history.Holding {
	var last *history.KeyState
	for i := range r.rows {
		if r.rows[i].At > at {
			break
		}
		if r.rows[i].Lock == lock {
			last = r.rows[i].After
		}
	}
	if last == nil || last.Deadline > 0 && last.Deadline < at {
		return nil
	}
	return last.Holdings
}
