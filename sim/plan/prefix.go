package plan

import "slices"

// WithPrefix returns a copy of the plan in which all locks' names begin with prefix, so that the run
// touches no other keys of a server. Groups keep their names: they are no keys.
func (p *Plan) WithPrefix(prefix string) *Plan {
	return p.Renamed(func(lock string) string { return prefix + lock })
}

// Renamed returns a copy of the plan in which all locks have new names, but for groups.
func (p *Plan) Renamed(to func(lock string) string) *Plan {
	c := *p
	name := func(lock string) string {
		if _, group := p.Group(lock); lock == "" || group {
			return lock
		}
		return to(lock)
	}
	c.Groups = slices.Clone(p.Groups)
	for i, g := range c.Groups {
		c.Groups[i].Members = slices.Clone(g.Members)
		for j := range g.Members {
			c.Groups[i].Members[j].Lock = name(g.Members[j].Lock)
		}
	}
	c.Clients = slices.Clone(p.Clients)
	for i := range c.Clients {
		c.Clients[i].Threads = slices.Clone(c.Clients[i].Threads)
		for j := range c.Clients[i].Threads {
			th := &c.Clients[i].Threads[j]
			th.Steps = slices.Clone(th.Steps)
			for k := range th.Steps {
				th.Steps[k].Lock = name(th.Steps[k].Lock)
			}
		}
	}
	c.Faults = slices.Clone(p.Faults)
	for i := range c.Faults {
		f := &c.Faults[i]
		f.Lock = name(f.Lock)
		if f.When != nil {
			when := *f.When
			when.Lock = name(when.Lock)
			f.When = &when
		}
	}
	return &c
}
