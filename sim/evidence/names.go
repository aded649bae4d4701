package evidence

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// A Part is a key of a lock on a server, as the server log names both.
type Part struct{ Server, Key string }

// Names tell whose a value of a key is, or a field of a hash, or an entry of a queue: it is the owner's whose acquiring call made it
// appear. Of several who set the same value it is the last one's. The zero value knows the owners' own names alone.
type Names struct {
	owners map[namedValue]string
}

type namedValue struct {
	Part
	value string
}

// Owner returns whose a value is; the value itself if that is not known.
func (n *Names) Owner(p Part, value string) string {
	if owner, ok := n.owners[namedValue{p, value}]; ok {
		return owner
	}
	return value
}

// Knows reports whether it is known whose a value is.
func (n *Names) Knows(p Part, value string) bool {
	_, ok := n.owners[namedValue{p, value}]
	return ok
}

// Learn looks at what command r made of a key, whose states have values for owners. It is of a call, of one that had
// returned when it was sent, or of the background of a client. owned tells the client of an owner that is named as such.
func (n *Names) Learn(p Part, call history.Op, r history.Served, before, after history.KeyState, owned func(name string) (client string, ok bool)) {
	for _, h := range after.Holdings {
		if _, ok := owned(h.Owner); ok || h.Owner == history.AnotherProgram || hasValue(before, h.Owner) {
			continue
		}
		switch {
		case call.Kind.Acquires() && (r.Op != 0 || len(before.Holdings) == 0):
			n.set(p, h.Owner, call.Owner)
		case len(before.Holdings) == 1 && len(after.Holdings) == 1: // its holder has changed the value
			holder := n.Owner(p, before.Holdings[0].Owner)
			if c, ok := owned(holder); ok && c == r.Client {
				n.set(p, h.Owner, holder)
			}
		}
	}
	for _, value := range after.Waiting {
		if _, ok := owned(value); !ok && call.Kind.Acquires() && r.Op != 0 && !n.Knows(p, value) && !slices.Contains(before.Waiting, value) {
			n.set(p, value, call.Owner)
		}
	}
}

func (n *Names) set(p Part, value, owner string) {
	if n.owners == nil {
		n.owners = map[namedValue]string{}
	}
	n.owners[namedValue{p, value}] = owner
}

func hasValue(s history.KeyState, value string) bool {
	return slices.ContainsFunc(s.Holdings, func(h history.Holding) bool { return h.Owner == value })
}

// of returns a state with owners for values.
func (n *Names) of(p Part, s history.KeyState) history.KeyState {
	named := history.KeyState{Deadline: s.Deadline, Permits: s.Permits, Left: s.Left, Taken: s.Taken}
	for _, value := range s.Waiting {
		named.Waiting = append(named.Waiting, n.Owner(p, value))
	}
	if !slices.Equal(named.Waiting, s.Waiting) {
		named.Queued = s.Waiting
	}
	for _, h := range s.Holdings {
		if owner := n.Owner(p, h.Owner); owner != h.Owner {
			h.Owner, h.Value = owner, h.Owner
		}
		named.Holdings = append(named.Holdings, h)
	}
	return named
}

// raw returns a state as the server has it.
func raw(s *history.KeyState) *history.KeyState {
	if s == nil {
		return nil
	}
	as := history.KeyState{Deadline: s.Deadline, Permits: s.Permits, Left: s.Left, Taken: s.Taken, Waiting: s.Waiting}
	if s.Queued != nil {
		as.Waiting = s.Queued
	}
	for _, h := range s.Holdings {
		if h.Value != "" {
			h.Owner, h.Value = h.Value, ""
		}
		as.Holdings = append(as.Holdings, h)
	}
	return &as
}
