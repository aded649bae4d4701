package linear

// A memo remembers configurations from which no order was found.
type memo struct {
	known map[memoKey][]config
	bytes int64 // about what it takes
}

type memoKey struct {
	at    int
	state state
}

// failed reports whether cfg is no better than one that failed at the same place: the same state,
// the same changes made, no more of the reads, no fewer unknown outcomes spent.
func (m *memo) failed(c *cursor, cfg config) bool {
	if len(m.known) == 0 {
		return false
	}
	changes := c.under.without(c.reads).without(c.maybe)
	for _, f := range m.known[memoKey{c.at, cfg.state}] {
		if f.done.and(changes) == cfg.done.and(changes) &&
			cfg.done.and(c.reads).without(f.done).empty() &&
			f.free >= cfg.free && f.done.and(c.maybe).without(cfg.done).empty() &&
			c.tokens.fewer(f.spent, cfg.spent) {
			return true
		}
	}
	return false
}

func (m *memo) remember(c *cursor, cfg config) {
	if m.known == nil {
		m.known = map[memoKey][]config{}
	}
	k := memoKey{c.at, cfg.state}
	m.known[k] = append(m.known[k], cfg)
	m.bytes += 250 // of a map entry with a list of one
}

func (m *memo) forget() {
	if len(m.known) > 0 {
		clear(m.known)
	}
	m.bytes = 0
}
