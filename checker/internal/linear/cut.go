package linear

// A cut is a place that a search does not go back behind, with the configuration there.
type cut struct {
	at    int // marks behind it
	cfg   config
	under slots // what was under way
}

// tryCut makes this place a cut if no other way in which things may have gone can be better than
// the one at hand. When nothing is left to come back to there is no other way.
func (s *Search) tryCut() {
	if len(s.choices) > 0 && !s.certain() {
		return
	}
	s.c.tokens.settle(s.cfg.spent)
	s.cfg.spent = 0
	s.cut = cut{at: s.c.at, cfg: s.cfg, under: s.c.under}
	s.choices, s.moves = s.choices[:0], s.moves[:0]
	s.memo.forget()
}

// certain reports whether every other configuration here is no better than the one at hand. It is
// so inside a hold whose acquire has returned (a core) when
//
//   - every read under way has been told the truth, and
//   - without tokens: nothing but its owner can have ended the hold or changed its count, and no
//     other owner that is about to be granted the lock can have had it and lost it again;
//   - with tokens, and nothing but calls and tokens: each owner's tokens were spent only as its
//     own answers force them to be, so that every other way has spent at least as many, and comes
//     from this one by spending the difference now. An acquire under way whose owner has a release
//     to spend is the exception: it may have been over before this hold began.
func (s *Search) certain() bool {
	c, p, owner := s.c, s.c.order, s.cfg.state.owner
	if owner == 0 {
		return false
	}
	if !c.reads.without(s.cfg.done).empty() {
		return false
	}
	if p.calm {
		return s.certainTokens()
	}
	if c.tokens.all > 0 || !c.maybe.empty() || p.crowded[owner] {
		return false
	}
	last := c.last[owner]
	if last < 0 {
		return false
	}
	now, l := s.momentOf(c.at-1), p.local[last]
	if l.count != int64(s.cfg.state.count) || p.struck(c.actions[l.first].call, now) || p.closed(owner, l.pinned, now) {
		return false
	}
	sure := true
	c.under.without(c.reads).each(func(slot uint8) bool {
		a := &c.actions[c.inSlot[slot]]
		sure = a.owner != owner && !p.struck(a.call, now) && !p.closed(a.owner, a.call, now) &&
			(a.verb == acquires) != s.cfg.done.has(slot) // a grant to come, or a release that is over
		return sure
	})
	return sure
}

func (s *Search) certainTokens() bool {
	c, p, owner := s.c, s.c.order, s.cfg.state.owner
	if c.tokens.canRelease(s.cfg.spent, owner) || c.last[owner] < 0 {
		return false
	}
	taken := c.ends[p.local[c.last[owner]].first]
	sure := true
	c.under.without(c.reads).each(func(slot uint8) bool {
		i := c.inSlot[slot]
		a := &c.actions[i]
		switch {
		case a.owner == owner:
			sure = false
		case (a.verb == acquires) == s.cfg.done.has(slot):
			sure = false // a grant that is over already, or a release of what nobody got
		case a.verb == acquires && c.tokens.canRelease(s.cfg.spent, a.owner):
			sure = s.lazy && s.cfg.free >= taken // it can still have been over by then
		}
		return sure
	})
	if last := c.last[owner]; !sure || last < 0 || p.local[last].count != int64(s.cfg.state.count) || !s.forced(owner, int64(s.cfg.state.count)) {
		return false
	}
	for _, spending := range c.tokens.spent[s.cfg.spent] {
		if q := c.tokens.groups[spending.group].owner; !s.forced(q, p.holds(q, owner, s.cfg.state.count)) {
			return false
		}
	}
	return true
}

// forced reports whether an owner that now has count holds has spent no more tokens than its own
// answers, and that count, need.
func (s *Search) forced(owner int32, count int64) bool {
	c := s.c
	var l local
	if last := c.last[owner]; last >= 0 {
		l = c.order.local[last]
	}
	if l.count > count {
		l.gives += l.count - count
	} else {
		l.takes += count - l.count
	}
	var takes, gives int64
	for _, g := range c.tokens.byOwner[owner] {
		n := int64(c.tokens.used(s.cfg.spent, g))
		switch c.tokens.groups[g].verb {
		case acquires:
			takes += n
		case releases:
			gives += n
		}
	}
	return takes == l.takes && gives == l.gives
}

func (p *program) holds(q, owner, count int32) int64 {
	if q == owner {
		return int64(count)
	}
	return 0
}

// canRelease reports whether an owner has an unknown release that was not spent.
func (t *tokens) canRelease(spent, owner int32) bool {
	for _, g := range t.byOwner[owner] {
		if _, ok := t.next(spent, g); ok && t.groups[g].verb == releases {
			return true
		}
	}
	return false
}
