package world

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A lock is what programs know by one name: a key on one server, or a group of several, which an
// owner holds as long as its key is there on enough of them. It is judged as a whole: who holds it,
// how often, and until when, can be told from its keys at any time.
type lock struct {
	name   string
	parts  []part
	quorum int // on how many of its parts an owner must be
	state  history.KeyState
}

type part struct {
	server *server
	key    string
}

// locksOf lists the locks of a plan, and tells the servers their keys.
func (w *World) locksOf(p *plan.Plan) {
	for name, object := range p.Objects() { // of which nothing depends on their order
		w.servers[0].objects[name] = object
	}
	for _, name := range lockNames(p) {
		l := &lock{name: name, quorum: 1}
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
			if s := part.server; !slices.Contains(s.keys, part.key) {
				s.keys = append(s.keys, part.key)
				for _, key := range append(w.layout.KeysOf(part.key, ""), w.layout.QueueOf(part.key)) {
					if key != "" {
						s.lockOf[key] = part.key
					}
				}
			}
		}
		w.locks = append(w.locks, l)
	}
	for _, s := range w.servers {
		s.longest = slices.SortedStableFunc(slices.Values(s.keys), func(a, b string) int { return len(b) - len(a) })
	}
}

// lockNames are the locks that operations name: those of programs, and the members of groups that a fault forces free.
func lockNames(p *plan.Plan) []string {
	names := p.Locks()
	for _, one := range p.Faults {
		kind, known := fault.Find(one.Kind)
		if known && slices.Contains(kind.Effects(one), history.ForcedFree) && slices.Contains(p.Struck(), one.Lock) && !slices.Contains(names, one.Lock) {
			names = append(names, one.Lock)
		}
	}
	return names
}

// mentioned lists the locks of a server whose names some text has, in the order of the plan; not one whose name is only there
// as a part of another's, as job-1 is of job-10.
func (s *server) mentioned(texts []string) []string {
	all := map[string]bool{}
	for _, text := range texts {
		for _, key := range s.longest {
			if strings.Contains(text, key) {
				all[key], text = true, strings.ReplaceAll(text, key, "\x00")
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return !all[key] })
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

// whole is the lock's state, as its keys have it.
func (l *lock) whole() history.KeyState {
	if l.simple() {
		return l.parts[0].server.state[l.parts[0].key]
	}
	members := make([]history.KeyState, len(l.parts))
	for i, p := range l.parts {
		members[i] = p.server.state[p.key]
	}
	return evidence.Whole(members, l.quorum)
}

// look reads a lock's key. Whoever holds it is named as the key names him: [evidence.Conclude] knows who that is.
func (w *World) look(s *server, lock string) history.KeyState {
	var state history.KeyState
	if s.objects[lock] == history.APermitSemaphore {
		return w.permits(s, lock)
	}
	if is := s.objects[lock]; is.Counted() {
		return w.number(s, lock, is)
	}
	if s.objects[lock] == history.ARWLock {
		return w.shared(s, lock)
	}
	if queue := w.layout.QueueOf(lock); queue != "" {
		state.Waiting = w.waiting(w.get(s, queue))
	}
	v := w.get(s, w.layout.KeyOf(lock))
	switch at := w.layout.Holder; {
	case v.kind == "":
		return state
	case v.kind == "string" && v.text == foreign:
		state.Holdings = []history.Holding{{Owner: history.AnotherProgram, Count: 1}}
		state.Deadline = v.deadline // of who renews whatever is there
		return state
	case at != history.Place{}:
		state.Holdings = []history.Holding{{Owner: w.named(w.valueAt(s, at.Of(lock))), Count: 1}}
	case v.kind == "hash":
		for _, f := range slices.Sorted(maps.Keys(v.fields)) {
			state.Holdings = append(state.Holdings, history.Holding{Owner: w.named(f), Count: countIn(v.fields[f])})
		}
	case v.kind == "string":
		state.Holdings = []history.Holding{{Owner: w.named(v.text), Count: 1}}
	default:
		state.Holdings = []history.Holding{{Owner: "(" + v.kind + ")", Count: 1}}
	}
	if at := w.layout.Count; at != (history.Place{}) && len(state.Holdings) == 1 {
		state.Holdings[0].Count = countIn(w.valueAt(s, w.layout.CountOf(lock, w.saysOfHolder(s, lock))))
	}
	state.Deadline = v.deadline
	return state
}

// saysOfHolder returns what a lock's keys say of its holder; "": they say nothing, or there are several.
func (w *World) saysOfHolder(s *server, lock string) string {
	if at := w.layout.Holder; at != (history.Place{}) {
		return w.valueAt(s, at.Of(lock))
	}
	v := w.get(s, w.layout.KeyOf(lock))
	if len(v.fields) == 1 {
		return slices.Collect(maps.Keys(v.fields))[0]
	}
	return v.text
}

// waiting are the owners in a fair lock's queue, the next one first.
func (w *World) waiting(v value) (owners []string) {
	all := v.items
	if v.kind == "zset" {
		all = slices.SortedFunc(maps.Keys(v.scores), func(a, b string) int { return cmp.Or(cmp.Compare(v.scores[a], v.scores[b]), cmp.Compare(a, b)) })
	}
	for _, member := range all {
		if owner, is := strings.CutPrefix(member, w.layout.QueuePrefix); is {
			owners = append(owners, w.named(owner))
		}
	}
	return owners
}

// number reads the key of a counted object. What is no number is another program's.
func (w *World) number(s *server, name string, is history.Object) history.KeyState {
	v := w.get(s, name)
	n, err := strconv.ParseInt(v.text, 10, 64)
	switch {
	case v.kind == "":
		return history.KeyState{}
	case v.kind != "string" || err != nil:
		return history.KeyState{Holdings: []history.Holding{{Owner: history.AnotherProgram, Count: 1}}, Deadline: v.deadline}
	}
	return history.Counting(is, n, v.deadline)
}

// get reads a key of a server.
func (w *World) get(s *server, key string) value {
	v, err := s.read(key)
	w.check(err)
	return v
}

// valueAt reads a place.
func (w *World) valueAt(s *server, p history.Place) string {
	v := w.get(s, p.Key)
	if p.Field != "" {
		return v.fields[p.Field]
	}
	return v.text
}

// countIn is the count that a key has; what is no number stands for one hold.
func countIn(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 1
	}
	return n
}

// foreign is what an overwritten key contains. Who can take the lock is then nobody, as if
// [history.AnotherProgram] held it for ever, and so that is how it is recorded, until a lock gives the key an end.
const foreign = "something else"

// nextExpiry returns the key that expires first, or a hold in it, and when.
func (w *World) nextExpiry() (s *server, key string, at time.Duration, ok bool) {
	for _, srv := range w.servers {
		for _, k := range srv.keys {
			state := srv.state[k]
			ends := []time.Duration{state.Deadline}
			for _, h := range state.Holdings {
				ends = append(ends, h.Deadline)
			}
			for _, d := range ends {
				if d != 0 && (!ok || d < at) {
					s, key, at, ok = srv, k, d, true
				}
			}
		}
	}
	return s, key, at, ok
}

// expire lets a key expire, now that its deadline has come.
func (w *World) expire(s *server, key string, at time.Duration) {
	w.changed(s, key, w.look(s, key), func(l *lock, before, after history.KeyState) {
		e := history.Event{At: at, Within: w.exactly(), Kind: history.Expire, Lock: l.name}
		if len(l.parts) == 1 && s.objects[key] == history.ARWLock {
			w.expired(e, before, after)
			return
		}
		if !after.Absent() { // it is held still, but less often
			e.Deadline = after.Deadline
		}
		left(&e, before, after)
		w.rec.Event(e)
	})
	s.written()
}

// left says of what befell a key what is left of it, if anything is.
func left(e *history.Event, before, after history.KeyState) {
	switch {
	case after.Absent():
		e.Count = int64(len(after.Taken))
	case before.Alike(after):
		e.Kind = history.ForceTTL
	case len(after.Holdings) == 0:
		e.Kind, e.Count = history.Restore, after.Number()
	default:
		e.Kind, e.Owner, e.Count = history.Restore, after.Holdings[0].Owner, after.Holdings[0].Count
	}
}

// changed notes a key's new state, and calls tell for each lock that changed by it.
func (w *World) changed(s *server, key string, after history.KeyState, tell func(l *lock, before, after history.KeyState)) {
	s.state[key] = after
	for _, l := range w.of(s, key) {
		before := l.state
		l.state = l.whole()
		if !w.log.closed && !before.Equal(l.state) {
			tell(l, before, l.state)
		}
	}
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

// Residue returns the keys, besides those of locks, that are there without a time to live, sorted. Only a world of virtual time knows them.
// Those of rounds come when their latches are gone; who looks at such a latch gives its round an end. Once somebody has looked they alone come.
func (w *World) Residue(looked bool) (keys []string) {
	for _, s := range w.servers {
		v, ok := s.backend.(*virtual)
		if !ok {
			continue
		}
		rounds := map[string]bool{} // whether the latch is gone
		for _, key := range s.keys {
			if round := w.layout.RoundOf(key); round != "" && s.objects[key] == history.ALatch {
				rounds[round] = s.state[key].Absent()
			}
		}
		for _, key := range v.redis.Keys() {
			gone, round := rounds[key]
			if !slices.Contains(s.keys, key) && v.redis.TTL(key) == 0 && round == gone && (round || !looked) { // below 0: it is over
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
