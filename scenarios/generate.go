package scenarios

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Scope bounds the plans that [Draw] draws. The zero value draws none with faults, and in none of
// them a lease that is outlived.
type Scope struct {
	Faults      []string // the kinds of faults that may strike, each of which may do so several times
	ShortLeases bool     // holds may outlive the explicit lease they asked for
}

// Bounds of drawn plans. They are small, since what two threads and two locks do not show is rare,
// and since all the time of one thread's holds must fit into longLease.
const (
	drawnClients  = 3
	drawnThreads  = 2
	drawnLocks    = 2
	drawnSections = 3
	drawnFaults   = 3
	longLease     = 10 * time.Minute
	lastStrike    = 90 * time.Second
)

// Draw draws a plan of well-written programs: they lock, try to lock, re-enter, work, ask, unlock
// what they hold, and now and then unlock what they do not. Locks are nested in one order only, so
// that none of them wait for each other in a circle. Smaller draws give smaller plans, so that
// rapid shrinks a failure to its story.
func Draw(t *rapid.T, s Scope) *plan.Plan {
	d := &drawing{t: t, scope: s, locks: rapid.IntRange(1, drawnLocks).Draw(t, "locks")}
	p := &plan.Plan{Version: plan.Version, Name: "drawn", Timings: plan.Timings{Limit: plan.Duration(time.Hour)}}
	for i := range d.upTo(1, drawnClients, "clients") {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1)}
		for j := range d.upTo(1, drawnThreads, "threads") {
			th := plan.Thread{ID: int64(j + 1), Start: d.time(20*time.Second, "start")}
			for range d.upTo(1, drawnSections, "sections") {
				th.Steps = append(th.Steps, d.section(0, 0)...)
			}
			c.Threads = append(c.Threads, th)
		}
		p.Clients = append(p.Clients, c)
	}
	if len(s.Faults) > 0 {
		names := p.Locks()
		for range d.upTo(0, drawnFaults, "faults") {
			p.Faults = append(p.Faults, d.fault(len(p.Clients), names))
		}
	}
	return p
}

type drawing struct {
	t     *rapid.T
	scope Scope
	locks int
}

func (d *drawing) upTo(least, most int, what string) int {
	return rapid.IntRange(least, most).Draw(d.t, what)
}

// moment is the unit of drawn times.
const moment = plan.Duration(100 * time.Millisecond)

func (d *drawing) time(most time.Duration, what string) plan.Duration {
	return moment * plan.Duration(d.upTo(0, int(plan.Duration(most)/moment), what))
}

// section is one critical section of a lock not before the one given, with what is nested in it.
func (d *drawing) section(from, depth int) []plan.Step {
	n := d.upTo(from, d.locks-1, "lock")
	lock := fmt.Sprintf("lock-%d", n+1)
	if depth == 0 && d.upTo(0, 9, "rogue") == 9 {
		return []plan.Step{{Do: plan.Unlock, Lock: lock, Regardless: true}}
	}
	lease := d.lease()
	steps := []plan.Step{d.acquire(lock, lease, depth > 0)}
	for range d.upTo(0, 2, "parts") {
		switch part := d.upTo(0, 4, "part"); {
		case part == 1:
			asks := []plan.Action{plan.IsLocked, plan.IsHeldBy, plan.HoldCount, plan.RemainingTTL}
			steps = append(steps, plan.Step{Do: rapid.SampledFrom(asks).Draw(d.t, "ask"), Lock: lock})
		case part == 2 && depth < 2: // re-entry
			steps = append(steps, d.acquire(lock, lease, true), d.work(lock), plan.Step{Do: plan.Unlock, Lock: lock})
		case part == 3 && depth < 2 && n+1 < d.locks:
			steps = append(steps, d.section(n+1, depth+1)...)
		default:
			steps = append(steps, d.work(lock))
		}
	}
	steps = append(steps, plan.Step{Do: plan.Unlock, Lock: lock})
	if depth == 0 {
		steps = append(steps, plan.Step{Do: plan.Sleep, For: d.time(5*time.Second, "pause")})
	}
	return steps
}

func (d *drawing) work(lock string) plan.Step {
	return plan.Step{Do: plan.Work, Lock: lock, For: d.time(25*time.Second, "work")}
}

// acquire takes a lock; bounded: it does not wait for ever, as inside of a hold, which must end
// before its lease.
func (d *drawing) acquire(lock string, lease plan.Duration, bounded bool) plan.Step {
	s := plan.Step{Do: plan.Lock, Lock: lock, Lease: lease}
	if bounded || d.upTo(0, 1, "try") == 1 {
		s.Do, s.Wait = plan.TryLock, d.time(20*time.Second, "wait")
	}
	return s
}

// lease draws the lease of a section, which its re-entries ask for too.
func (d *drawing) lease() plan.Duration {
	switch {
	case d.upTo(0, 2, "explicit") < 2:
		return 0
	case d.scope.ShortLeases:
		return plan.Duration(time.Second) + d.time(30*time.Second, "lease")
	}
	return plan.Duration(longLease)
}

// fault draws a fault that is addressed by time, with all that its kind takes.
func (d *drawing) fault(clients int, locks []string) plan.Fault {
	kind, ok := fault.Find(rapid.SampledFrom(d.scope.Faults).Draw(d.t, "kind"))
	if !ok || kind.Needs.Replica {
		panic("scenarios: the scope names a fault that does not exist, or needs a replica")
	}
	f := plan.Fault{Kind: kind.Name, From: d.time(lastStrike, "strikes")}
	if d.takes(kind.Needs.Client) {
		f.Client = fmt.Sprintf("c%d", d.upTo(1, clients, "struck client"))
	}
	if d.takes(kind.Needs.Lock) {
		f.Lock = rapid.SampledFrom(locks).Draw(d.t, "struck lock")
	}
	if d.takes(kind.Needs.By) {
		f.By = moment + d.time(time.Minute, "by")
	}
	if kind.Needs.Messages || kind.Needs.Lasts && d.upTo(0, 4, "ends") < 4 {
		f.To = f.From + moment + d.time(lastStrike, "lasts")
	}
	if kind.Needs.Direction {
		f.Direction = rapid.SampledFrom([]string{"both", "requests", "replies"}).Draw(d.t, "direction")
	}
	if kind.Needs.Error {
		f.Error = rapid.SampledFrom(plan.Errors()).Draw(d.t, "error")
	}
	if kind.Needs.Data {
		f.Data = rapid.SampledFrom([]string{"none", "all"}).Draw(d.t, "data")
	}
	if kind.Needs.Reset {
		f.Reset = d.upTo(0, 1, "reset") == 1
	}
	return f
}

func (d *drawing) takes(n plan.Need) bool {
	return n == plan.Must || n == plan.May && d.upTo(0, 1, "takes") == 1
}
