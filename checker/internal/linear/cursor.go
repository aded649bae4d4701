package linear

// A cursor walks over the marks of a history, both ways, and knows what is under way there. It is
// the part of a search that depends on the place only, not on what the search has chosen.
type cursor struct {
	actions []action
	marks   []mark
	slot    []uint8
	begins  []int32            // action -> its first mark
	ends    []int32            // and its last, if it has one
	at      int                // how many marks are behind
	inSlot  [MaxUnderWay]int32 // which action is under way in a slot
	under   slots              // all under way
	own     []slots            // by owner
	maybe   slots              // not certain, with a window
	busy    slots              // by verb: those that can be settled many at a time
	notMine slots
	held    slots
	free    slots
	reads   slots // all that only tell the state
	grants  slots // certain acquires
	chained slots // those with a predecessor, see program
	order   *program
	last    []int32 // owner -> its last call that returned, or -1
	tokens  tokens
}

func newCursor(actions []action, owners int, m machine) (*cursor, bool) {
	marks := marksOf(actions)
	slot, ok := assignSlots(actions, marks)
	if !ok {
		return nil, false
	}
	begins, ends := make([]int32, len(actions)), make([]int32, len(actions))
	for i, m := range marks {
		if m.begins() {
			begins[m] = int32(i)
		} else {
			ends[m.action()] = int32(i)
		}
	}
	last := make([]int32, owners)
	for o := range last {
		last[o] = -1
	}
	return &cursor{
		last: last, begins: begins, ends: ends, actions: actions, marks: marks, slot: slot, own: make([]slots, owners),
		tokens: tokensOf(actions, owners), order: programOf(actions, owners, m),
	}, true
}

// forward steps over the next mark.
func (c *cursor) forward() {
	m := c.marks[c.at]
	i := m.action()
	c.pass(i, m.begins())
	if a := &c.actions[i]; !m.begins() && a.certain && !a.beside {
		c.last[a.owner] = i
	}
	c.at++
}

// seek goes back to a place that was passed.
func (c *cursor) seek(at int) {
	for c.at > at {
		c.at--
		m := c.marks[c.at]
		i := m.action()
		c.pass(i, !m.begins())
		if a := &c.actions[i]; !m.begins() && a.certain && !a.beside {
			c.last[a.owner] = c.order.before[i]
		}
	}
}

// pass brings an action under way, or ends that.
func (c *cursor) pass(i int32, begins bool) {
	a := &c.actions[i]
	if a.ret == open {
		c.tokens.call(i, begins)
		return
	}
	slot := c.slot[i]
	change := (*slots).clear
	if begins {
		c.inSlot[slot] = i
		change = (*slots).set
	}
	change(&c.under, slot)
	if c.order.touches[i] >= 0 {
		change(&c.chained, slot)
	}
	if a.owner != 0 {
		change(&c.own[a.owner], slot)
	}
	switch {
	case !a.certain:
		change(&c.maybe, slot)
		return
	case a.verb == acquires:
		change(&c.grants, slot)
		return
	case !a.verb.reads():
		return
	}
	change(&c.reads, slot)
	switch a.verb {
	case findsBusy:
		change(&c.busy, slot)
	case findsNotMine:
		change(&c.notMine, slot)
	case findsHeld:
		change(&c.held, slot)
	case findsFree:
		change(&c.free, slot)
	}
}

// ready reports whether all that its owner did before action i has taken effect.
func (c *cursor) ready(i int32, done slots) bool {
	before := c.order.touches[i]
	if before < 0 {
		return true
	}
	slot := c.slot[before]
	return c.inSlot[slot] != before || !c.under.has(slot) || done.has(slot)
}

// settle returns done with what is told the truth by a state: reads change nothing, and take
// effect as soon as they can.
func (c *cursor) settle(m machine, s state, done slots) slots {
	var all slots
	switch {
	case s.owner == 0:
		all = c.free.or(c.notMine)
	case m.reentrant:
		all = c.busy.or(c.notMine).without(c.own[s.owner]).or(c.held)
	default:
		all = c.busy.or(c.notMine.without(c.own[s.owner])).or(c.held)
	}
	other := c.reads.without(c.busy).without(c.notMine).without(c.held).without(c.free)
	if s.owner != 0 && s.late != open { // whether the deadline has passed is each one's own question
		other, all = other.or(all), slots{}
	}
	other.without(done).each(func(i uint8) bool {
		if _, ok := m.step(s, &c.actions[c.inSlot[i]]); ok {
			all.set(i)
		}
		return true
	})
	chained := all.and(c.chained).without(done)
	done = done.or(all.without(chained))
	for again := !chained.empty(); again; {
		again = false
		chained.each(func(i uint8) bool {
			if c.ready(c.inSlot[i], done) {
				done.set(i)
				chained.clear(i)
				again = true
			}
			return true
		})
	}
	return done
}
