package plan

import (
	"slices"
	"time"
)

// Shrink returns the smallest plan that it finds for which still holds, and how many it tried: at most tries,
// if that is more than 0. A plan whose runs are long would take minutes otherwise. It leaves out clients, faults, threads and steps, many at first, and then shortens times, until no
// single one of these makes the plan smaller. p itself must satisfy still; it is not changed. still
// is asked about plans that may make no sense, which it should turn down. If still is
// deterministic, so is Shrink. (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
// Input, 2002, for the halving.)
func Shrink(p *Plan, tries int, still func(*Plan) bool) (smallest *Plan, tried int) {
	s := shrinker{best: p, tries: tries, still: still}
	if len(p.Seeds) > 0 {
		s.try(func(p *Plan) { p.Seeds = nil })
	}
	for s.changed = true; s.changed; {
		s.changed = false
		s.clients()
		s.faults()
		s.threads()
		s.steps()
		if !s.changed { // times are many, and fewer when the rest is gone
			s.times()
		}
	}
	return s.best, s.tried
}

type shrinker struct {
	best    *Plan
	still   func(*Plan) bool
	tries   int
	tried   int
	changed bool
}

// try keeps the plan that edit makes of a copy, if it will do.
func (s *shrinker) try(edit func(p *Plan)) bool {
	if s.tries > 0 && s.tried == s.tries {
		return false
	}
	p := s.best.Clone()
	edit(p)
	s.tried++
	if !s.still(p) {
		return false
	}
	s.best, s.changed = p, true
	return true
}

// Clone copies the plan as deep as the shrinker writes: clients, threads and steps, and the list of faults.
func (p *Plan) Clone() *Plan {
	c := *p
	c.Clients = slices.Clone(p.Clients)
	for i, client := range c.Clients {
		c.Clients[i].Threads = slices.Clone(client.Threads)
		for j, th := range client.Threads {
			c.Clients[i].Threads[j].Steps = slices.Clone(th.Steps)
		}
	}
	c.Faults = slices.Clone(p.Faults)
	return &c
}

func (s *shrinker) clients() {
	for i := len(s.best.Clients) - 1; i >= 0; i-- {
		name := s.best.Clients[i].Name
		s.try(func(p *Plan) {
			p.Clients = slices.Delete(p.Clients, i, i+1)
			p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool {
				return f.Client == name || f.When != nil && f.When.Client == name
			})
		})
	}
}

func (s *shrinker) faults() {
	for i := len(s.best.Faults) - 1; i >= 0; i-- {
		s.try(func(p *Plan) { p.Faults = slices.Delete(p.Faults, i, i+1) })
	}
}

func (s *shrinker) threads() {
	for i := range s.best.Clients {
		for j := len(s.best.Clients[i].Threads) - 1; j >= 0; j-- {
			s.try(func(p *Plan) {
				c := &p.Clients[i]
				c.Threads = slices.Delete(c.Threads, j, j+1)
			})
		}
	}
}

// steps leaves out runs of a thread's steps, half of them at first, then ever shorter ones.
func (s *shrinker) steps() {
	for i := range s.best.Clients {
		for j := range s.best.Clients[i].Threads {
			count := func() int { return len(s.best.Clients[i].Threads[j].Steps) }
			for size := max(count()/2, 1); size >= 1; size /= 2 {
				for at := count() - size; at >= 0; at -= size {
					s.try(func(p *Plan) {
						th := &p.Clients[i].Threads[j]
						th.Steps = slices.Delete(th.Steps, at, min(at+size, len(th.Steps)))
					})
				}
			}
		}
	}
}

// times makes each time nothing, or half in whole milliseconds, or a whole number of seconds.
func (s *shrinker) times() {
	for k := range times(s.best) {
		for {
			now := *times(s.best)[k]
			half := Duration(time.Duration(now / 2).Truncate(time.Millisecond))
			if now == 0 || s.time(k, 0) || half == 0 || !s.time(k, half) {
				break
			}
		}
		if whole := Duration(time.Duration(*times(s.best)[k]).Truncate(time.Second)); whole != 0 {
			s.time(k, whole)
		}
	}
}

// time tries d for the k-th time, unless that is what it is.
func (s *shrinker) time(k int, d Duration) bool {
	if *times(s.best)[k] == d {
		return false
	}
	return s.try(func(p *Plan) { *times(p)[k] = d })
}

// times points to all times of programs and faults, in a fixed order.
func times(p *Plan) []*Duration {
	var all []*Duration
	for i := range p.Clients {
		for j := range p.Clients[i].Threads {
			th := &p.Clients[i].Threads[j]
			all = append(all, &th.Start)
			for k := range th.Steps {
				s := &th.Steps[k]
				all = append(all, &s.Wait, &s.Lease, &s.For)
			}
		}
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		all = append(all, &f.From, &f.To, &f.For, &f.By)
	}
	return all
}
