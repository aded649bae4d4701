package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Bounds of drawn plans of semaphores, which are small for the reasons that those of locks are.
const (
	drawnSemaphores = 2
	drawnPermits    = 5
	drawnMany       = 12 // permits, in some plans: numbers of one digit and of two
)

// permits draws the programs of a plan of semaphores: somebody sets the permits, and all take some, work, and give them
// back, at once or in parts. Now and then somebody gives permits that he did not take, which is his right, or sets what
// is set. Nobody takes permits of one semaphore while he has some of another, so that none wait in a circle.
func (d *drawing) permits(p *plan.Plan) { d.sharers(p, plan.TrySetPermits, d.share) }

// leasedPermits draws the programs of a plan of permit semaphores, likewise: leases end before the work, with it, or after it, some
// permits have none, and now and then a lease is set anew.
func (d *drawing) leasedPermits(p *plan.Plan) { d.sharers(p, plan.TrySetTotal, d.leased) }

// sharers draws programs that make semaphores with a step, and use them.
func (d *drawing) sharers(p *plan.Plan, makes plan.Action, use func(totals []int64) []plan.Step) {
	var totals []int64
	clients, threads, sections := d.sizes()
	many, fewest, least, together := drawnSemaphores, 1, 1, 1
	if d.mood.scarce { // who takes all, who is left short by who comes first, and who is to have what is left
		many, fewest, least = 1, min(2, clients), 3
		if d.mood.local {
			together = 4
		}
	}
	for range d.upTo(1, many, "semaphores") {
		most := drawnPermits
		if d.oneIn(4, "many permits") && !d.mood.scarce {
			most = drawnMany
		}
		totals = append(totals, int64(d.upTo(least, most, "permits")))
	}
	for i := range d.upTo(fewest, clients, "clients") {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1), NoRetry: d.mood.noRetry && d.oneIn(2, "no retry")}
		for j := range d.upTo(together, threads, "threads") {
			th := plan.Thread{ID: int64(j + 1)}
			for n, total := range totals {
				if i == 0 && j == 0 || d.oneIn(8, "sets it, too") {
					th.Steps = append(th.Steps, d.cancel(plan.Step{Do: makes, Lock: semaphoreName(n), Permits: total}))
				}
			}
			all := d.mood.scarce && i == 0 && j == 0
			switch {
			case all:
			case d.mood.scarce:
				th.Start = d.time(2*time.Second, "start")
			case th.Steps == nil:
				th.Start = d.time(d.mood.start, "start")
			}
			d.comes(&th)
			if all {
				th.Steps = append(th.Steps, d.takesAll(semaphoreName(0), totals[0])...)
			}
			for range d.upTo(1, sections, "sections") {
				th.Steps = append(th.Steps, use(totals)...)
			}
			c.Threads = append(c.Threads, th)
		}
		if d.mood.local {
			threads, together = drawnThreads, 1 // the others are remote
		}
		p.Clients = append(p.Clients, c)
	}
}

// takesAll takes all permits of a semaphore for some seconds, and gives them back in parts.
func (d *drawing) takesAll(name string, total int64) (steps []plan.Step) {
	is, one := d.protocol(), d.scope.Object == history.APermitSemaphore // of which a call is about one permit
	if one {
		for range total {
			steps = append(steps, plan.Step{Do: is.lock, Lock: name})
		}
	} else {
		steps = append(steps, plan.Step{Do: is.lock, Lock: name, Permits: total})
	}
	steps = append(steps, plan.Step{Do: plan.Sleep, For: d.until(plan.Duration(2*time.Second) + d.time(5*time.Second, "has all"))})
	for left := total; left > 0; {
		give, some := plan.Step{Do: is.give, Lock: name}, int64(1)
		if !one {
			some = int64(d.upTo(1, int(left), "a part"))
			give.Permits = some
		}
		steps = append(steps, d.cancel(give), plan.Step{Do: plan.Sleep, For: d.time(10*time.Second, "until the next")})
		left -= some
	}
	return steps
}

// semaphoreName names a semaphore.
func semaphoreName(n int) string { return fmt.Sprintf("{pool}-%d", n+1) }

// share is one use of permits.
func (d *drawing) share(totals []int64) []plan.Step {
	n := d.upTo(0, len(totals)-1, "semaphore")
	most := totals[n]
	if d.mood.scarce && d.upTo(0, 3, "few") > 0 {
		most = min(most, 2)
	}
	name, some := semaphoreName(n), int64(d.upTo(1, int(most), "takes"))
	if d.mood.rogue && d.oneIn(8, "gives") {
		return []plan.Step{{Do: plan.ReleasePermits, Lock: name, Permits: 1, Regardless: true}}
	}
	if d.mood.alters && d.oneIn(4, "alters") {
		return d.altered(name, totals[n])
	}
	take := plan.Step{Do: plan.AcquirePermits, Lock: name, Permits: some}
	if d.upTo(0, 1, "try") == 1 && !d.mood.scarce {
		take.Do, take.Wait = plan.TryAcquirePermits, d.time(20*time.Second, "wait")
		if d.oneIn(4, "one attempt") || d.mood.once {
			take.Wait = 0
		}
	}
	steps := []plan.Step{d.ends(take, plan.TryAcquirePermits), {Do: plan.Sleep, For: d.until(d.time(d.mood.work, "work"))}}
	if some > 1 && d.oneIn(2, "in parts") {
		steps = append(steps, d.cancel(plan.Step{Do: plan.ReleasePermits, Lock: name, Permits: 1}), plan.Step{Do: plan.Sleep, For: d.time(d.mood.work, "more work")})
		some--
	}
	return append(steps, d.cancel(plan.Step{Do: plan.ReleasePermits, Lock: name, Permits: some}), plan.Step{Do: plan.Sleep, For: d.time(d.mood.pause, "pause")})
}

// leased is one use of a permit that may have a lease.
func (d *drawing) leased(totals []int64) []plan.Step {
	n := d.upTo(0, len(totals)-1, "semaphore")
	name := semaphoreName(n)
	if d.mood.rogue && d.oneIn(8, "gives") { // what it may have of before
		return []plan.Step{{Do: plan.ReleasePermit, Lock: name}}
	}
	if d.mood.alters && d.oneIn(4, "alters") {
		return d.resized(plan.AddTotal, name, totals[n])
	}
	lease := func() plan.Duration {
		if d.oneIn(4, "no lease") {
			return 0
		}
		return plan.Duration(time.Second) + d.time(30*time.Second, "lease")
	}
	take := plan.Step{Do: plan.AcquirePermit, Lock: name, Lease: lease()}
	if d.upTo(0, 1, "try") == 1 && !d.mood.scarce {
		take.Do, take.Wait = plan.TryAcquirePermit, d.time(20*time.Second, "wait")
		if d.oneIn(4, "one attempt") || d.mood.once {
			take.Wait = 0
		}
	}
	work := func() plan.Step { return plan.Step{Do: plan.Sleep, For: d.until(d.time(d.mood.work, "work"))} }
	steps := []plan.Step{d.ends(take, plan.TryAcquirePermit), work()}
	if d.oneIn(4, "lease anew") {
		steps = append(steps, d.cancel(plan.Step{Do: plan.UpdateLease, Lock: name, Lease: lease()}), work())
	}
	return append(steps, d.cancel(plan.Step{Do: plan.ReleasePermit, Lock: name}), plan.Step{Do: plan.Sleep, For: d.time(d.mood.pause, "pause")})
}

// ends has a call end before it is granted what it asks for, now and then.
func (d *drawing) ends(s plan.Step, try plan.Action) plan.Step {
	if d.leaves(&s, try) {
		return s
	}
	return d.cancel(s)
}

// altered changes a semaphore of so many permits: it drains what is free and gives that back one by one, or adds permits and takes them away.
func (d *drawing) altered(name string, total int64) []plan.Step {
	if d.oneIn(2, "drains") {
		return d.resized(plan.AddPermits, name, total)
	}
	steps := []plan.Step{d.cancel(plan.Step{Do: plan.DrainPermits, Lock: name}), {Do: plan.Sleep, For: d.time(d.mood.work, "work")}}
	for range total {
		steps = append(steps, d.cancel(plan.Step{Do: plan.ReleasePermits, Lock: name, Permits: 1}))
	}
	return steps
}

// resized makes the permits of a semaphore more by a step and then fewer, or fewer and then more, so that as many are left as there were.
func (d *drawing) resized(by plan.Action, name string, total int64) []plan.Step {
	n := int64(d.upTo(1, int(total), "more"))
	if d.oneIn(2, "fewer") {
		n = -n
	}
	return []plan.Step{d.cancel(plan.Step{Do: by, Lock: name, Permits: n}), {Do: plan.Sleep, For: d.time(d.mood.work, "meanwhile")},
		d.cancel(plan.Step{Do: by, Lock: name, Permits: -n})}
}
