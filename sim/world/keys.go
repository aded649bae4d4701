package world

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A lock is what programs know by one name: a key on one server, or a group of several, which an
// owner holds as long as its key is there on enough of them. It is judged as a whole: who holds it,
// how often, and until when, can be told from its keys at any time.
type lock struct {
	name   string
	parts  []part
	quorum int  // on how many of its parts an owner must be
	shared bool // a part of it is a part of another lock
	state  history.KeyState
	under  map[string]progress // of a group: what calls have done to its parts so far, by owner
}

// progress is a call on a group that has changed parts: when it last did, and how many holds it has taken of
// each.
type progress struct {
	call int64
	at   time.Duration
	took map[part]int64
}

// goesOn notes what a command of a call on a group did to one of its parts.
func (l *lock) goesOn(op history.Op, s *server, r *row, now time.Duration) {
	p := l.under[op.Owner]
	if p.call != op.ID {
		p = progress{call: op.ID, took: map[part]int64{}}
	}
	p.at = now
	p.took[part{s, r.Lock}] += countOf(*r.After, op.Owner) - countOf(*r.Before, op.Owner)
	l.under[op.Owner] = p
}

// enough reports whether a call has taken as many parts as make a hold.
func (l *lock) enough(p progress) bool {
	n := 0
	for _, holds := range p.took {
		if holds > 0 {
			n++
		}
	}
	return n >= l.quorum
}

type part struct {
	server *server
	key    string
}

// locksOf lists the locks of a plan, and tells the servers their keys.
func (w *World) locksOf(p *plan.Plan) {
	for _, name := range p.Locks() {
		l := &lock{name: name, quorum: 1, under: map[string]progress{}}
		if g, ok := p.Group(name); ok {
			for _, m := range g.Members {
				l.parts = append(l.parts, part{w.server(m.Server), m.Lock})
			}
			if l.quorum = len(l.parts); g.Kind == plan.Red {
				l.quorum = len(l.parts)/2 + 1
			}
		} else {
			l.parts = []part{{w.servers[0], name}}
		}
		for _, part := range l.parts {
			if !slices.Contains(part.server.keys, part.key) {
				part.server.keys = append(part.server.keys, part.key)
			}
		}
		for _, other := range w.locks {
			if slices.ContainsFunc(l.parts, func(p part) bool { return slices.Contains(other.parts, p) }) {
				l.shared, other.shared = true, true
			}
		}
		w.locks = append(w.locks, l)
	}
}

// of lists the locks that a key is part of.
func (w *World) of(s *server, key string) []*lock {
	var all []*lock
	for _, l := range w.locks {
		if slices.Contains(l.parts, part{s, key}) {
			all = append(all, l)
		}
	}
	return all
}

// simple reports whether the lock is one key.
func (l *lock) simple() bool { return len(l.parts) == 1 && l.parts[0].key == l.name }

// alone reports whether the lock is one key that no other lock has: the lease that a call asks for is then
// the time to live that comes of it.
func (l *lock) alone() bool { return l.simple() && !l.shared }

// whole is the lock's state, as its keys have it.
func (l *lock) whole() history.KeyState {
	if l.simple() {
		return l.parts[0].server.state[l.parts[0].key]
	}
	var owners []string
	counts, deadlines := map[string][]int64{}, map[string][]time.Duration{}
	for _, p := range l.parts {
		s := p.server.state[p.key]
		for _, h := range s.Holdings {
			if counts[h.Owner] == nil {
				owners = append(owners, h.Owner)
			}
			counts[h.Owner] = append(counts[h.Owner], h.Count)
			deadlines[h.Owner] = append(deadlines[h.Owner], s.Deadline)
		}
	}
	slices.Sort(owners)
	var whole history.KeyState
	for _, o := range owners {
		if len(counts[o]) < l.quorum {
			continue
		}
		slices.Sort(counts[o])
		slices.SortFunc(deadlines[o], latestFirst)
		whole.Holdings = append(whole.Holdings, history.Holding{Owner: o, Count: counts[o][len(counts[o])-l.quorum]})
		whole.Deadline = deadlines[o][l.quorum-1]
	}
	return whole
}

// latestFirst orders deadlines; 0 is never.
func latestFirst(a, b time.Duration) int {
	switch {
	case a == b:
		return 0
	case a == 0 || b != 0 && a > b:
		return -1
	}
	return 1
}

// look reads a key.
func (w *World) look(s *server, key string) history.KeyState {
	var state history.KeyState
	v, err := s.read(key)
	w.check(err)
	s.texts[key] = ""
	if v.kind == "string" {
		s.texts[key] = v.text
	}
	switch v.kind {
	case "hash":
		for _, f := range slices.Sorted(maps.Keys(v.fields)) {
			n, err := strconv.ParseInt(v.fields[f], 10, 64)
			if err != nil {
				n = 1
			}
			state.Holdings = append(state.Holdings, history.Holding{Owner: f, Count: n})
		}
	case "string":
		if v.text == foreign {
			state.Holdings = []history.Holding{{Owner: history.AnotherProgram, Count: 1}}
			return state
		}
		if owner, ok := s.values[key+"\x00"+v.text]; ok {
			v.text = owner
		}
		state.Holdings = []history.Holding{{Owner: v.text, Count: 1}}
	case "":
		return state
	default:
		state.Holdings = []history.Holding{{Owner: "(" + v.kind + ")", Count: 1}}
	}
	state.Deadline = v.deadline
	return state
}

// foreign is what an overwritten key contains. Who can take the lock is then nobody, as if
// [history.AnotherProgram] held it for ever, and so that is how it is recorded.
const foreign = "something else"

// own learns whose value a string key holds when a call of an acquiring owner set it.
func (w *World) own(s *server, key string, op history.Op, after history.KeyState) history.KeyState {
	if !op.Kind.Acquires() || len(after.Holdings) != 1 || s.texts[key] == "" || after.Holdings[0].Owner == history.AnotherProgram || w.known(after.Holdings[0].Owner) {
		return after
	}
	s.values[key+"\x00"+after.Holdings[0].Owner] = op.Owner
	after.Holdings[0].Owner = op.Owner
	return after
}

// holderIn returns the owner whose value a command names, for a lock whose key is a string, or "".
func (s *server) holderIn(key string, args []string) string {
	if len(s.values) == 0 {
		return ""
	}
	for _, a := range args {
		if owner, ok := s.values[key+"\x00"+a]; ok {
			return owner
		}
	}
	return ""
}

func (w *World) known(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.calls.owners[owner]
	return ok
}

// nextExpiry returns the key that expires first, and when.
func (w *World) nextExpiry() (s *server, key string, at time.Duration, ok bool) {
	for _, srv := range w.servers {
		for _, k := range srv.keys {
			if d := srv.state[k].Deadline; d != 0 && (!ok || d < at) {
				s, key, at, ok = srv, k, d, true
			}
		}
	}
	return s, key, at, ok
}

// expire lets a key expire, now that its deadline has come.
func (w *World) expire(s *server, key string, at time.Duration) {
	w.changed(s, key, w.look(s, key), func(l *lock, before, after history.KeyState) {
		e := history.Event{At: at, Within: w.exactly(), Kind: history.Expire, Lock: l.name}
		switch {
		case len(after.Holdings) == 0:
		case slices.Equal(before.Holdings, after.Holdings):
			e.Kind, e.Deadline = history.ForceTTL, after.Deadline
		default: // it is held still, but less often
			e.Kind, e.Owner, e.Count, e.Deadline = history.Restore, after.Holdings[0].Owner, after.Holdings[0].Count, after.Deadline
		}
		w.rec.Event(e)
	})
	s.written()
}

// changed notes a key's new state, and calls tell for each lock that changed by it.
func (w *World) changed(s *server, key string, after history.KeyState, tell func(l *lock, before, after history.KeyState)) {
	s.state[key] = after
	for _, l := range w.of(s, key) {
		before := l.state
		l.state = l.whole()
		if !w.log.closed && !same(before, l.state) && !w.completes(l, before) {
			tell(l, before, l.state)
		}
	}
}

// completes reports whether what befell a key completes an unlock of a group that is under way: it had given
// back some members, and the end of another one's lease does the rest.
func (w *World) completes(l *lock, before history.KeyState) bool {
	for _, h := range before.Holdings {
		owner, p := h.Owner, l.under[h.Owner]
		if p.call == 0 {
			continue
		}
		if op := w.rec.Op(p.call); op.Pending() && op.Kind == history.Unlock && !effective(op.Answer) && countOf(l.state, owner) < countOf(before, owner) {
			return w.testify(p.call, l, before, w.Now()-1) // what befalls other keys at this instant comes after it
		}
	}
	return false
}

// Remaining reports whether a key of a lock is left that an owner has, and when the last of those ends that have an end.
// Other than [World.Keys] it counts the keys of groups that nobody holds as a whole.
func (w *World) Remaining() (left bool, until time.Duration) {
	for _, s := range w.servers {
		for _, key := range s.keys {
			state := s.state[key]
			if len(state.Holdings) > 0 && state.Holdings[0].Owner != history.AnotherProgram {
				left, until = true, max(until, state.Deadline)
			}
		}
	}
	return left, until
}

// Keys returns the state of the locks that are still held, by owners of theirs, in the order of the
// plan, and of members that are held though no lock is that they are part of: "key@server".
func (w *World) Keys() (locks []string, states []history.KeyState) {
	held := func(s history.KeyState) bool {
		return len(s.Holdings) > 0 && s.Holdings[0].Owner != history.AnotherProgram
	}
	for _, l := range w.locks {
		if held(l.state) {
			locks, states = append(locks, l.name), append(states, l.state)
		}
	}
	for _, s := range w.servers {
		for _, key := range s.keys {
			if held(s.state[key]) && !slices.ContainsFunc(w.of(s, key), func(l *lock) bool { return held(l.state) }) {
				locks, states = append(locks, key+"@"+s.name), append(states, s.state[key])
			}
		}
	}
	return locks, states
}
