package scenarios

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// after adds to some plans what takes more than one of the draws before to come about. It is drawn last, so that without it a plan is
// what it was.
func (d *drawing) after(p *plan.Plan) {
	if !d.scope.Rare || !d.scope.Steps {
		return
	}
	what := d.upTo(0, 23, "what else")
	switch {
	case d.scope.Object.Counted():
		if what > 14 {
			d.beside(p)
		}
	case what == 13:
		d.idles(p)
	case what == 14:
		d.hearsLate(p)
	case what == 15:
		d.waitsBeside(p)
	case what < 12:
		d.beside(p)
	}
}

// idles has a client hear nothing of one of its acquires, and rest for long after each section. What it may have been granted
// then, it can give back in the background only.
func (d *drawing) idles(p *plan.Plan) {
	c, lock := d.someClient(p, acquires)
	if c == nil || !slices.Contains(d.scope.Faults, "drop-message") {
		return
	}
	c.NoRetry = c.NoRetry || d.scope.LatestOnce == 0 && d.upTo(0, 1, "asks once") == 1
	for i := range c.Threads {
		for j := range c.Threads[i].Steps {
			if s := &c.Threads[i].Steps[j]; s.Do == plan.Sleep {
				s.For += plan.Duration(20*time.Second) + d.time(40*time.Second, "idle")
			}
		}
	}
	p.Faults = append(p.Faults, plan.Fault{Kind: "drop-message", Client: c.Name,
		When: &plan.Trigger{Client: c.Name, Lock: lock, Reply: d.or(p, c.Name, lock, plan.Acquire), Nth: d.upTo(1, 3, "nth unheard")}})
}

// hearsLate has a client work for several renewals. It hears of one of them late: when it no longer waits for that, when the next
// was due, or when its lease was over.
func (d *drawing) hearsLate(p *plan.Plan) {
	c, lock := d.someClient(p, func(s plan.Step) bool { return s.Do == plan.Work })
	if c == nil || !slices.Contains(d.scope.Faults, "delay-message") {
		return
	}
	for i := range c.Threads {
		for j := range c.Threads[i].Steps {
			if s := &c.Threads[i].Steps[j]; s.Do == plan.Work && s.Lock == lock {
				s.For += d.period + d.time(2*time.Duration(d.period), "works on")
			}
		}
	}
	late := []plan.Duration{plan.Duration(3 * time.Second), d.period, 2 * d.period, 3 * d.period}
	f := plan.Fault{Kind: "delay-message", Client: c.Name, By: max(1, d.about(rapid.SampledFrom(late).Draw(d.t, "late by"), "about")),
		When: &plan.Trigger{Client: c.Name, Lock: lock, Reply: plan.Renewal, Nth: d.upTo(1, 4, "nth late")}}
	d.cap(p, &f)
	p.Faults = append(p.Faults, f)
}

// waitsBeside adds two threads to a client, which try one lock, one of them for a short time. Other clients may hold it.
func (d *drawing) waitsBeside(p *plan.Plan) {
	c, lock := d.someClient(p, acquires)
	if c == nil || len(p.Clients) < 2 || d.scope.Clients == 1 {
		return
	}
	id := int64(20) // of nobody else
	for _, wait := range []plan.Duration{moment + d.time(3*time.Second, "short wait"), moment + d.time(30*time.Second, "long wait")} {
		id++
		try, give := plan.TryLock, plan.Unlock
		if d.scope.Object == history.ARWLock {
			writes := d.upTo(0, 1, "writes beside") == 1
			try, give = inMode(try, writes), inMode(give, writes)
		}
		c.Threads = append(c.Threads, plan.Thread{ID: id, Start: d.time(5*time.Second, "start beside"), Steps: []plan.Step{
			{Do: try, Lock: lock, Wait: wait}, {Do: plan.Work, Lock: lock, For: d.time(2*time.Second, "work beside")}, {Do: give, Lock: lock},
		}})
	}
}

func acquires(s plan.Step) bool { return history.Kind(s.Do).Acquires() }

// someClient is one that takes a step of some sort, and of which lock; nil: none does.
func (d *drawing) someClient(p *plan.Plan, is func(plan.Step) bool) (*plan.Client, string) {
	type use struct {
		client int
		lock   string
	}
	var uses []use
	for i, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if u := (use{i, s.Lock}); is(s) && s.Lock != "" && !slices.Contains(uses, u) {
					uses = append(uses, u)
				}
			}
		}
	}
	if len(uses) == 0 {
		return nil, ""
	}
	u := rapid.SampledFrom(uses).Draw(d.t, "whose")
	return &p.Clients[u.client], u.lock
}
