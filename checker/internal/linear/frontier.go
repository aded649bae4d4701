package linear

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Search is the frontier checker. It searches for an order that the lock allows, in the manner of Wing and Gong
// with Lowe's improvement: it walks over the beginnings and ends of calls in the order of time and
// lets an action take effect no earlier than some action has to, which is at its end. (Whatever
// took effect between two ends may as well have waited for the second.) So a configuration is the
// lock's state, which of the few actions under way have taken effect, and how many unknown
// outcomes that never close were spent; the length of the history is not in it.
//
//   - What only reads takes effect as soon as the state makes its answer true: it changes nothing.
//   - Unknown outcomes with a window may take effect until it closes, and are then forgotten.
//     Those without are tokens (tokens.go).
//   - Depth first, with the fewest unknown outcomes first; what failed is remembered, and what is
//     no better than it in any respect is not tried (memo.go).
//   - Cuts: where no other configuration can be better than this one, the search does not go back
//     behind it (cut.go). This keeps it linear, and a violation local.
//   - After much going back, the answers of each owner are held against the number of its unknown
//     outcomes (accounts.go): what contradicts these no order can mend.
//
// It is exact when it answers. It is exponential in the worst case, so that it has a budget.
type Search struct {
	p       *Reduction
	ctx     context.Context
	machine machine
	c       *cursor
	cfg     config
	cut     cut
	choices []choice
	moves   []move
	memo    memo
	lazy    bool // see inPassing
	stuck   stuck

	most  Limits
	until time.Time
	steps int
	backs int // how often it went back
}

// manyBacks is how often a search goes back before it looks for what it cannot find by that, or
// only late. Nearly all end before; what they find is where it shows first.
const manyBacks = 1000

// A config is one way in which things may have gone so far.
type config struct {
	state state
	done  slots // of what is under way: what took effect
	spent int32 // tokens.spent
	free  int32 // the mark at which the lock was free last
}

// A move lets one thing take effect: an action under way, a token of a group (as ^group), or
// nothing, when a window closes; or, in passing, a whole hold that was over before the present
// one began.
type move int32

const (
	nothing   move = 1<<31 - 1
	inPassing move = 1<<31 - 2 // see search.inPassing
)

// A choice is a place to come back to: the mark of an end whose action had not taken effect, and
// the moves that were not tried.
type choice struct {
	at        int
	cfg       config
	next, end int32 // in moves
}

// stuck is the farthest end that no order reached, and the states the lock could be in there.
type stuck struct {
	at     int
	states []state
}

// Found is what a search came to.
type Found struct {
	Result porcupine.CheckResult
	Why    string // porcupine.Unknown: why
	Alone  bool   // porcupine.Illegal: the calls of one owner show it by themselves
	stuck  stuck  // porcupine.Illegal
	cut    cut    // porcupine.Illegal: where the part begins that shows it
}

// Search prepares the frontier checker; ok is false when more than [MaxUnderWay] calls were under way at once.
func (p *Reduction) Search(ctx context.Context, most Limits) (s *Search, ok bool) {
	m := p.machine
	c, ok := newCursor(p.actions, len(p.names), m)
	if !ok {
		return nil, false
	}
	lazy := c.order.calm && m.reentrant && !m.fenced
	return &Search{p: p, ctx: ctx, machine: m, c: c, lazy: lazy, most: most, until: time.Now().Add(most.Budget), stuck: stuck{at: -1}}, true
}

// Run searches.
func (s *Search) Run() Found {
	for s.c.at < len(s.c.marks) {
		if why := s.exhausted(); why != "" {
			return Found{Result: porcupine.Unknown, Why: why}
		}
		m := s.c.marks[s.c.at]
		i := m.action()
		a := &s.c.actions[i]
		if m.begins() {
			s.c.forward()
			if a.certain && a.verb.reads() {
				if _, ok := s.machine.step(s.cfg.state, a); ok && s.c.ready(i, s.cfg.done) {
					s.cfg.done.set(s.c.slot[i])
				}
			}
			continue
		}
		if slot := s.c.slot[i]; s.cfg.done.has(slot) {
			s.cfg.done.clear(slot)
			s.c.forward()
			s.tryCut()
			continue
		}
		if s.choose(i) {
			continue
		}
		if s.backs == manyBacks {
			if r, broken := s.Overdrawn(); broken {
				return r
			}
		}
		if !s.back() {
			return Found{Result: porcupine.Illegal, stuck: s.stuck, cut: s.cut}
		}
	}
	return Found{Result: porcupine.Ok}
}

// choose makes the first move towards the effect of action i, whose end has come; it reports
// false when there is none.
func (s *Search) choose(i int32) bool {
	if s.memo.failed(s.c, s.cfg) {
		return false
	}
	first := int32(len(s.moves))
	s.collect(i)
	switch end := int32(len(s.moves)); end - first {
	case 0:
		return false
	case 1: // no choice, nothing to come back for
		only := s.moves[first]
		s.moves = s.moves[:first]
		s.make(only)
	default:
		s.choices = append(s.choices, choice{at: s.c.at, cfg: s.cfg, next: first + 1, end: end})
		s.make(s.moves[first])
	}
	return true
}

// back returns to the latest choice that has a move left, and makes it.
func (s *Search) back() bool {
	s.backs++
	for len(s.choices) > 0 {
		top := &s.choices[len(s.choices)-1]
		s.c.seek(top.at)
		s.cfg = top.cfg
		if top.next < top.end {
			top.next++
			s.make(s.moves[top.next-1])
			return true
		}
		s.memo.remember(s.c, s.cfg)
		s.choices = s.choices[:len(s.choices)-1]
		if n := len(s.choices); n > 0 {
			s.moves = s.moves[:s.choices[n-1].end]
		} else {
			s.moves = s.moves[:0]
		}
	}
	return false
}

func (s *Search) make(m move) {
	i := int32(m)
	end := s.c.marks[s.c.at].action()
	if s.cfg.state.owner == 0 {
		s.cfg.free = int32(s.c.at)
	}
	switch {
	case m == nothing:
		s.cfg.done.set(s.c.slot[end])
		return
	case m == inPassing:
		s.cfg.done.set(s.c.slot[end])
		s.cfg.spent, _ = s.inPassing(end)
		return
	case m < 0:
		group := ^i
		i, _ = s.c.tokens.next(s.cfg.spent, group)
		s.cfg.spent = s.c.tokens.spend(s.cfg.spent, group)
	default:
		s.cfg.done.set(s.c.slot[i])
	}
	s.cfg.state, _ = s.machine.step(s.cfg.state, &s.c.actions[i])
	s.cfg.done = s.c.settle(s.machine, s.cfg.state, s.cfg.done)
}

// collect appends to moves what can take effect before the end of action i: the action itself,
// or others first. Moves that cannot lead to its effect are left out.
func (s *Search) collect(i int32) {
	c, st := s.c, s.cfg.state
	x := &c.actions[i]
	next, legal := s.machine.step(st, x)
	legal = legal && c.ready(i, s.cfg.done)
	switch {
	case !x.certain:
		s.moves = append(s.moves, nothing)
		if legal && next != st {
			s.moves = append(s.moves, move(i))
		}
	case legal:
		s.moves = append(s.moves, move(i))
		if s.lazy && (x.verb != acquires || st.owner == 0) {
			// Whatever else can take effect now can do so when it has to. (After a re-entry it
			// would cost more.)
			return
		}
	default:
		s.stuck.meet(c.at, st)
		if _, ok := s.inPassing(i); ok {
			s.moves = append(s.moves, inPassing)
		}
	}

	changers := c.under.without(c.reads).without(s.cfg.done)
	changers.clear(c.slot[i])
	switch {
	case st.owner != 0:
		changers = changers.without(c.grants.without(c.own[st.owner]))
	case s.helps(x):
	case s.lazy, c.tokens.all == 0 && changers.without(c.grants).empty():
		changers = changers.without(c.grants.without(c.own[x.owner])) // others' holds, that nothing could end
	}
	first := len(s.moves)
	changers.each(func(slot uint8) bool {
		j := c.inSlot[slot]
		if c.actions[j].certain {
			s.offer(x, j, move(j))
		}
		return true
	})
	if others := s.moves[first:]; len(others) > 1 {
		// Whoever returns first most likely was first.
		slices.SortFunc(others, func(a, b move) int { return cmp.Compare(c.actions[a].ret, c.actions[b].ret) })
	}
	changers.and(c.maybe).each(func(slot uint8) bool {
		s.offer(x, c.inSlot[slot], move(c.inSlot[slot]))
		return true
	})
	if c.tokens.all > 0 {
		if st.owner != 0 {
			for _, g := range c.tokens.byOwner[st.owner] {
				s.offerToken(x, g)
			}
			for _, g := range c.tokens.force {
				s.offerToken(x, g)
			}
			return
		}
		for g := range c.tokens.groups {
			s.offerToken(x, int32(g))
		}
	}
}

func (s *Search) offerToken(x *action, group int32) {
	if i, ok := s.c.tokens.next(s.cfg.spent, group); ok {
		s.offer(x, i, move(^group))
	}
}

// offer appends a move that lets action j take effect, if it can and it is of any use.
func (s *Search) offer(x *action, j int32, m move) {
	a := &s.c.actions[j]
	if s.lazy && a.verb == acquires && a.owner == s.cfg.state.owner && x.owner != a.owner &&
		s.c.own[a.owner].without(s.c.maybe).without(s.cfg.done).empty() {
		return // one more hold helps only its owner, which asks for nothing
	}
	next, ok := s.machine.step(s.cfg.state, a)
	if !ok || (!a.certain || a.verb == lapses) && next == s.cfg.state || !s.c.ready(j, s.cfg.done) {
		return
	}
	if s.cfg.state.owner == 0 && a.verb == acquires && x.owner != a.owner && !s.helps(x) && (s.lazy || !s.escapes(a.owner, j)) {
		return
	}
	s.moves = append(s.moves, m)
}

// helps reports whether x can take effect, or its window may close, while another owner holds the
// lock.
func (s *Search) helps(x *action) bool {
	if !x.certain {
		return true
	}
	switch x.verb {
	case findsBusy, findsHeld, findsTTL, findsNotMine, isLeft, forces, expires, lapses, deletes, restores, setsTTL, jumps:
		return true
	}
	return false
}

// escapes reports whether something that is under way or unknown could end a hold that an owner
// would get by action j.
func (s *Search) escapes(owner, j int32) bool {
	c := s.c
	for _, g := range c.tokens.byOwner[owner] {
		if _, ok := c.tokens.next(s.cfg.spent, g); ok && c.tokens.groups[g].verb == releases {
			return true
		}
	}
	for _, g := range c.tokens.force {
		if _, ok := c.tokens.next(s.cfg.spent, g); ok {
			return true
		}
	}
	found := false
	c.under.without(c.reads).without(s.cfg.done).each(func(slot uint8) bool {
		k := c.inSlot[slot]
		switch a := &c.actions[k]; a.verb {
		case releases, decrements:
			found = a.owner == owner && k != j
		case forces, expires, lapses, deletes, restores:
			found = true
		}
		return !found
	})
	return found
}

func (s *stuck) meet(at int, st state) {
	if at < s.at {
		return
	}
	if at > s.at {
		s.at, s.states = at, s.states[:0]
	}
	if len(s.states) < 8 && !slices.Contains(s.states, st) {
		s.states = append(s.states, st)
	}
}

// exhausted says which budget is spent, or "".
func (s *Search) exhausted() string {
	s.steps++
	if s.steps&255 != 1 {
		return ""
	}
	switch {
	case s.ctx.Err() != nil:
		return "it was cancelled"
	case s.memo.bytes > s.most.Memory:
		return "its memory budget was spent"
	case time.Now().After(s.until):
		return "its time budget was spent"
	}
	return ""
}
