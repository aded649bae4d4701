package scenarios

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Scope bounds the plans that [Draw] draws. The zero value draws small ones without faults, and in
// none of them a lease that is outlived.
type Scope struct {
	Faults      []string `json:"faults,omitempty"` // the kinds of faults that may strike, each of which may do so several times
	Steps       bool     `json:"steps,omitzero"`   // faults strike at steps of the protocol, too, not only at times
	ShortLeases bool     `json:"shortLeases,omitzero"`
	MixedLeases bool     `json:"mixedLeases,omitzero"` // a re-entry may ask for another lease than the hold it is in
	Cancels     bool     `json:"cancels,omitzero"`     // the contexts of calls may end while they are under way
	Timings     bool     `json:"timings,omitzero"`     // the network may be slow, and the watchdog's lease short

	NoReentry bool `json:"noReentry,omitzero"` // for locks that are not reentrant
	NoAsking  bool `json:"noAsking,omitzero"`  // for locks that answer no questions

	Clients  int `json:"clients,omitzero"`  // at most; 0: 3
	Sections int `json:"sections,omitzero"` // of a thread, at most; 0: 3
	Strikes  int `json:"strikes,omitzero"`  // faults, at most; 0: 3

	Latest time.Duration `json:"latest,omitzero"` // how long messages may be held up; 0: as long as it is drawn
}

// Whole is the scope in which everything may be that a plan of single locks can have, but for
// Cancels and MixedLeases, which ask more of a lock than most claim.
func Whole() Scope {
	return Scope{Faults: fault.Names(), Steps: true, ShortLeases: true, Timings: true}
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
//
// What a plan leans to is drawn first (see mood), so that what is rare by itself, such as many who
// come at one moment, or work that ends with its lease, is there throughout some of the plans.
func Draw(t *rapid.T, s Scope) *plan.Plan {
	d := &drawing{t: t, scope: s}
	d.locks = d.upTo(1, drawnLocks, "locks")
	d.mood = d.lean()
	p := &plan.Plan{Version: plan.Version, Name: "drawn", Timings: plan.Timings{Limit: plan.Duration(time.Hour)}}
	if s.Timings {
		d.timings(&p.Timings)
	}
	for i := range d.upTo(1, orDefault(s.Clients, drawnClients), "clients") {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1)}
		if s.Steps {
			c.NoRetry = d.oneIn(4, "no retry")
		}
		for j := range d.upTo(1, drawnThreads, "threads") {
			th := plan.Thread{ID: int64(j + 1), Start: d.time(d.mood.start, "start")}
			for range d.upTo(1, orDefault(s.Sections, drawnSections), "sections") {
				th.Steps = append(th.Steps, d.section(0, 0)...)
			}
			c.Threads = append(c.Threads, th)
		}
		p.Clients = append(p.Clients, c)
	}
	if len(s.Faults) > 0 {
		d.faults(p)
	}
	return p
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

type drawing struct {
	t     *rapid.T
	scope Scope
	locks int
	mood  mood
}

// mood is what a plan leans to.
type mood struct {
	start, work, pause time.Duration // at most: short ones make a crowd, long ones need renewals
	edge               bool          // work and waits end about when leases do
	deep               bool          // re-entries are frequent
	both               bool          // two locks are held at once, for long
	robbed             bool          // one lock, renewed for long, whose key something takes away, so that the next comes in while the first still renews
	busy               bool          // calls give up, or are given up, soon
}

func (d *drawing) lean() mood {
	m := mood{start: 20 * time.Second, work: 25 * time.Second, pause: 5 * time.Second}
	switch d.upTo(0, 3, "pace") {
	case 1: // a crowd
		m.start, m.work, m.pause = 0, time.Second, 0
	case 2: // short sections, close together
		m.start, m.work, m.pause = 2*time.Second, 3*time.Second, time.Second
	}
	m.edge = d.scope.ShortLeases && d.oneIn(2, "edge")
	m.deep = !d.scope.NoReentry && d.oneIn(3, "deep")
	m.both = d.locks > 1 && d.oneIn(5, "both")
	m.robbed = !m.both && len(d.kinds(ofKeys)) > 0 && d.oneIn(6, "robbed")
	m.busy = d.scope.Cancels && d.oneIn(3, "busy")
	return m
}

func (d *drawing) timings(t *plan.Timings) {
	if d.oneIn(4, "slow network") {
		t.LatencyMin, t.LatencyMax = plan.Duration(time.Millisecond), plan.Duration(40*time.Millisecond)
	}
	if d.oneIn(4, "short watchdog") {
		t.Watchdog = plan.Duration(6 * time.Second)
	}
}

func (d *drawing) upTo(least, most int, what string) int {
	return rapid.IntRange(least, most).Draw(d.t, what)
}

// oneIn is true once in n draws, and false when rapid shrinks.
func (d *drawing) oneIn(n int, what string) bool { return d.upTo(0, n-1, what) == n-1 }

// moment is the unit of drawn times.
const moment = plan.Duration(100 * time.Millisecond)

func (d *drawing) time(most time.Duration, what string) plan.Duration {
	return moment * plan.Duration(d.upTo(0, int(plan.Duration(most)/moment), what))
}

// about is a time that is a little less than another, the same, or a little more.
func (d *drawing) about(t plan.Duration, what string) plan.Duration {
	off := rapid.SampledFrom([]time.Duration{0, -time.Millisecond, time.Millisecond, -5 * time.Millisecond, 5 * time.Millisecond, -50 * time.Millisecond,
		50 * time.Millisecond, time.Second}).Draw(d.t, what)
	return max(t+plan.Duration(off), 0)
}

// section is one critical section of a lock not before the one given, with what is nested in it.
func (d *drawing) section(from, depth int) []plan.Step {
	n := d.upTo(from, d.locks-1, "lock")
	if d.mood.both && depth == 0 || d.mood.robbed {
		n = from
	}
	lock := fmt.Sprintf("{lock}-%d", n+1) // in one Cluster slot, so that they are renewed together
	if depth == 0 && d.oneIn(10, "rogue") {
		return []plan.Step{{Do: plan.Unlock, Lock: lock, Regardless: true}}
	}
	lease := d.lease()
	steps := []plan.Step{d.acquire(lock, lease, depth > 0)}
	for range d.upTo(0, 2, "parts") {
		part := d.upTo(0, 4, "part")
		if d.mood.deep && depth < 2 {
			part = 2
		}
		if d.mood.both && n+1 < d.locks {
			part = 3
		}
		switch {
		case part == 1 && !d.scope.NoAsking:
			steps = append(steps, d.ask(lock))
		case part == 2 && depth < 2 && !d.scope.NoReentry:
			inner := lease
			if d.scope.MixedLeases && d.scope.ShortLeases && d.oneIn(4, "another lease") {
				inner = d.lease()
			}
			steps = append(steps, d.acquire(lock, inner, true))
			if !d.scope.NoAsking && d.oneIn(3, "asks inside") {
				steps = append(steps, d.ask(lock))
			}
			steps = append(steps, d.work(lock, inner), d.unlock(lock))
		case part == 3 && depth < 2 && n+1 < d.locks:
			steps = append(steps, d.section(n+1, depth+1)...)
		default:
			steps = append(steps, d.work(lock, lease))
		}
	}
	steps = append(steps, d.unlock(lock))
	if depth == 0 {
		steps = append(steps, plan.Step{Do: plan.Sleep, For: d.time(d.mood.pause, "pause")})
	}
	return steps
}

func (d *drawing) ask(lock string) plan.Step {
	asks := []plan.Action{plan.IsLocked, plan.IsHeldBy, plan.HoldCount, plan.RemainingTTL}
	return plan.Step{Do: rapid.SampledFrom(asks).Draw(d.t, "ask"), Lock: lock}
}

func (d *drawing) work(lock string, lease plan.Duration) plan.Step {
	s := plan.Step{Do: plan.Work, Lock: lock, For: d.time(d.mood.work, "work")}
	if d.mood.both || d.mood.robbed {
		s.For += plan.Duration(12 * time.Second) // beyond a renewal
	}
	if d.mood.edge && lease > 0 && lease < plan.Duration(longLease) {
		s.For = d.about(lease, "beyond the lease")
	}
	return s
}

func (d *drawing) unlock(lock string) plan.Step {
	return d.cancel(plan.Step{Do: plan.Unlock, Lock: lock})
}

// acquire takes a lock; bounded: it does not wait for ever, as inside of a hold, which must end
// before its lease.
func (d *drawing) acquire(lock string, lease plan.Duration, bounded bool) plan.Step {
	s := plan.Step{Do: plan.Lock, Lock: lock, Lease: lease}
	if bounded || d.upTo(0, 1, "try") == 1 {
		s.Do, s.Wait = plan.TryLock, d.time(20*time.Second, "wait")
		if d.mood.edge && lease > 0 && lease < plan.Duration(longLease) {
			s.Wait = d.about(lease, "wait beyond the lease")
		}
	}
	return d.cancel(s)
}

// cancel has a call given up soon, now and then.
func (d *drawing) cancel(s plan.Step) plan.Step {
	if d.mood.busy && d.oneIn(4, "cancel") {
		s.Cancel = plan.Duration(rapid.SampledFrom([]time.Duration{time.Second, 400 * time.Microsecond, time.Millisecond, 2 * time.Millisecond,
			10 * time.Millisecond, 4 * time.Second}).Draw(d.t, "after"))
	}
	return s
}

// lease draws the lease of a section.
func (d *drawing) lease() plan.Duration {
	switch {
	case d.mood.robbed || d.upTo(0, 2, "explicit") < 2 && !(d.mood.edge && d.oneIn(2, "short")):
		return 0
	case d.scope.ShortLeases:
		return plan.Duration(time.Second) + d.time(30*time.Second, "lease")
	}
	return plan.Duration(longLease)
}
