package scenarios

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Scope bounds the plans that [Draw] draws. The zero value draws small ones without faults, and in
// none of them a lease that is outlived.
type Scope struct {
	Faults      []string `json:"faults,omitempty"` // the kinds of faults that may strike, each of which may do so several times
	Steps       bool     `json:"steps,omitzero"`   // faults strike at steps of the protocol, too, not only at times
	ShortLeases bool     `json:"shortLeases,omitzero"`
	Timings     bool     `json:"timings,omitzero"` // the network may be slow, and the watchdog's lease short
	// Rare is what few programs do: calls are given up, re-entries ask for other leases than their hold has,
	// many threads share a client, and many clients a lock.
	Rare bool `json:"rare,omitzero"`

	Groups   []string `json:"groups,omitempty"`  // kinds of locks that are made of others
	Fenced   bool     `json:"fenced,omitzero"`   // resources may check tokens
	Watchdog bool     `json:"watchdog,omitzero"` // a client may hold more locks than a watchdog renews at once

	NoReentry bool `json:"noReentry,omitzero"` // for locks that are not reentrant
	NoAsking  bool `json:"noAsking,omitzero"`  // for locks that answer no questions
	Within    bool `json:"within,omitzero"`    // for locks whose holds are known within a process: what an unlock that sends nothing leaves there is not judged
	Queued    bool `json:"queued,omitzero"`    // for locks that are granted in an order
	Altered   bool `json:"altered,omitzero"`   // for semaphores whose permits can be made more or fewer, latches that can be deleted, and locks that can be forced free

	Object history.Object `json:"object,omitzero"` // of what the plans are; "": of locks

	Clients  int `json:"clients,omitzero"`  // at most; 0: 3, and, if Rare, 10 in some plans
	Sections int `json:"sections,omitzero"` // of a thread, at most; 0: 3
	Strikes  int `json:"strikes,omitzero"`  // faults, at most; 0: 3

	// Latest is how long messages may be held up; 0: some minutes. LatestOnce is the same for clients whose Redis
	// client sends nothing again; 0: Latest.
	Latest     time.Duration `json:"latest,omitzero"`
	LatestOnce time.Duration `json:"latestOnce,omitzero"`
}

// Whole is the scope in which everything may be that a drawn plan can have.
func Whole() Scope {
	return Scope{Faults: fault.Names(), Steps: true, ShortLeases: true, Timings: true, Rare: true,
		Groups: []string{string(plan.Multi), string(plan.Red)}, Fenced: true, Watchdog: true}
}

// Bounds of drawn plans. They are small, since what two threads and two locks do not show is rare,
// and since all the time of one thread's holds must fit into longLease.
const (
	drawnClients  = 3
	drawnCrowd    = 10
	drawnThreads  = 2
	drawnLocals   = 5 // threads of one client, where many share it
	drawnLocks    = 2
	drawnSections = 3
	drawnFaults   = 3
	drawnDepth    = 3   // holds of a thread, one inside of the other
	drawnBatch    = 101 // more locks than the reference lock's watchdog renews by one command
	longLease     = 10 * time.Minute
	drawnLimit    = 15 * time.Minute // beyond the longest lease
	lastStrike    = 90 * time.Second
	latest        = 5 * time.Minute
)

// Draw draws a plan of well-written programs: they lock, try to lock, re-enter, work, ask, unlock
// what they hold, and now and then unlock what they do not. Locks are nested in one order only, so
// that none of them wait for each other in a circle. Smaller draws give smaller plans, so that
// rapid shrinks a failure to its story.
//
// What a plan leans to is drawn first (see mood), so that what is rare by itself, such as many who
// come at one moment, or work that ends with its lease, is there throughout some of the plans. What a plan
// leaves out is drawn there, too: some kinds of faults, and some of what programs do. What is left comes
// more often, and nothing is hidden by what is not there. (Groce et al., Swarm Testing, 2012.)
func Draw(t *rapid.T, s Scope) *plan.Plan {
	d := &drawing{t: t, scope: s, keys: map[string][]string{}, red: map[string]bool{}}
	d.locks = d.upTo(1, drawnLocks, "locks")
	d.mood = d.lean()
	p := &plan.Plan{Version: plan.Version, Name: "drawn", Timings: plan.Timings{Limit: plan.Duration(drawnLimit)}}
	if s.Timings {
		d.timings(&p.Timings)
	}
	timings := p.Timings.WithDefaults()
	d.period, d.trip = timings.Watchdog/3, timings.LatencyMax
	if d.mood.meets {
		d.meet = plan.Duration(2*time.Second) + d.time(8*time.Second, "meet")
	}
	if s.Object.Counted() {
		switch s.Object {
		case history.ALatch:
			d.latches(p)
		case history.APermitSemaphore:
			d.leasedPermits(p)
		default:
			d.permits(p)
		}
		if len(s.Faults) > 0 {
			d.faults(p)
		}
		d.after(p)
		return p
	}
	for n := range d.locks {
		d.units = append(d.units, lockName(n))
		d.keys[lockName(n)] = []string{lockName(n)}
	}
	if d.mood.groups {
		d.groups(p)
	}
	clients, threads, sections := d.sizes()
	for i := range d.upTo(1, clients, "clients") {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1), NoRetry: d.mood.noRetry && d.oneIn(2, "no retry")}
		for j := range d.upTo(1, threads, "threads") {
			th := plan.Thread{ID: int64(j + 1), Start: d.time(d.mood.start, "start")}
			if d.mood.alike && j > 0 {
				th.ID += 9
			}
			d.comes(&th)
			for range d.upTo(1, sections, "sections") {
				th.Steps = append(th.Steps, d.section(nil)...)
			}
			c.Threads = append(c.Threads, th)
		}
		if i == 0 && d.mood.batch {
			c.Threads = append(c.Threads, d.batch(int64(len(c.Threads)+1)))
		}
		if d.mood.local {
			threads = drawnThreads // the others are remote
		}
		p.Clients = append(p.Clients, c)
	}
	if len(s.Faults) > 0 {
		d.faults(p)
	}
	if s.Object == history.ARWLock {
		d.modes(p)
	}
	d.after(p)
	return p
}

// sizes are how many clients a plan has at most, threads a client, and sections a thread.
func (d *drawing) sizes() (clients, threads, sections int) {
	clients, threads, sections = orDefault(d.scope.Clients, drawnClients), drawnThreads, orDefault(d.scope.Sections, drawnSections)
	switch {
	case d.mood.crowd:
		return orDefault(d.scope.Clients, drawnCrowd), 1, min(sections, 2)
	case d.mood.local:
		return clients, drawnLocals, min(sections, 2)
	case d.mood.narrow:
		return clients, 1, sections + 1
	}
	return clients, threads, sections
}

// lockName names a lock. All are in one Cluster slot, so that they are renewed together.
func lockName(n int) string { return fmt.Sprintf("{lock}-%d", n+1) }

// batch is a thread that holds so many locks at once that a watchdog needs several commands for them.
func (d *drawing) batch(id int64) plan.Thread {
	th := plan.Thread{ID: id, Start: d.time(d.mood.start, "start")}
	locks := drawnBatch + d.upTo(0, 9, "more locks")
	lease := d.lease()
	for n := range locks {
		th.Steps = append(th.Steps, plan.Step{Do: plan.Lock, Lock: lockName(n), Lease: lease})
	}
	th.Steps = append(th.Steps, plan.Step{Do: plan.Sleep, For: plan.Duration(11*time.Second) + d.time(20*time.Second, "holds")})
	for n := range locks {
		th.Steps = append(th.Steps, plan.Step{Do: plan.Unlock, Lock: lockName(n)})
	}
	return th
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
	locks int                 // that stand by themselves
	units []string            // what programs take: those, then groups of them
	keys  map[string][]string // of each
	red   map[string]bool     // groups of which a majority is enough
	mood  mood

	struck string          // the client whose messages faults strike; "": any
	leases []time.Duration // that were asked for
	period plan.Duration   // of a watchdog
	meet   plan.Duration   // when programs meet; 0: they do not
	left   plan.Duration   // until then, of the thread that is drawn, while it has not waited for that; at most 0: it has
	trip   plan.Duration   // of a message, at most
	told   string          // the lock or group that a story is about: see beside
	sole   bool            // all threads of a story write
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

// hold is a lock that a thread has taken, as its number among the units.
type hold struct {
	n     int
	lease plan.Duration
}

// section is one critical section, inside of the holds given, with what is nested in it.
func (d *drawing) section(held []hold) []plan.Step {
	free := d.inside(held)
	n := free[0]
	if !(d.mood.both && len(held) == 0 || d.mood.robbed || d.mood.queue || d.mood.narrow) {
		n = free[d.upTo(0, len(free)-1, "lock")]
	}
	lock, group := d.units[n], n >= d.locks
	if len(held) == 0 && d.mood.rogue && (d.oneIn(5, "rogue") || d.mood.narrow && d.oneIn(4, "rogue, too")) {
		if d.mood.forces && !group {
			return []plan.Step{{Do: plan.ForceUnlock, Lock: lock}}
		}
		return []plan.Step{{Do: plan.Unlock, Lock: lock, Regardless: true}}
	}
	if d.mood.left && !group && len(held) == 0 && d.oneIn(2, "left to its lease") {
		lease := plan.Duration(time.Second) + d.time(5*time.Second, "lease")
		return []plan.Step{d.acquire(lock, lease, false), {Do: plan.Sleep, For: lease + moment}, d.unlock(lock)}
	}
	lease := d.leaseOf(lock, held)
	steps := []plan.Step{d.acquire(lock, lease, len(held) > 0)}
	held = append(slices.Clone(held), hold{n, lease})
	deepest := drawnDepth
	if d.mood.steep {
		deepest *= 2
	}
	reenters, nests := len(held) < deepest && d.mood.reenters, len(held) < deepest && len(d.inside(held)) > 0
	for range d.upTo(0, 2, "parts") {
		part := d.upTo(0, 4, "part")
		if d.mood.deep && reenters {
			part = d.upTo(2, 3, "deeper")
		}
		if d.mood.both && nests {
			part = 3
		}
		switch {
		case part == 1 && d.mood.asks && !group:
			steps = append(steps, d.ask(lock))
		case part == 2 && reenters:
			inner := lease
			if d.mood.mixed && d.oneIn(2, "another lease") {
				inner = d.lease()
			}
			steps = append(steps, d.acquire(lock, inner, true))
			if d.mood.asks && !group && d.oneIn(3, "asks inside") {
				steps = append(steps, d.ask(lock))
			}
			steps = append(steps, d.work(lock, inner), d.unlock(lock))
		case part == 3 && nests:
			steps = append(steps, d.section(held)...)
		default:
			steps = append(steps, d.work(lock, lease))
		}
	}
	steps = append(steps, d.unlock(lock))
	if len(held) == 1 {
		steps = append(steps, plan.Step{Do: plan.Sleep, For: d.time(d.mood.pause, "pause")})
	}
	return steps
}

// inside lists what a thread may take inside of its holds. Locks are nested in one order, but for those that it has already, and
// those that have a key in common with them.
func (d *drawing) inside(held []hold) []int {
	var free []int
	for n := range d.units {
		ok := len(held) == 0 || n > held[len(held)-1].n
		switch {
		case slices.ContainsFunc(held, func(h hold) bool { return h.n == n }):
			ok = d.mood.deep
		case d.shares(n, held):
			ok = d.mood.overlap
		}
		if ok {
			free = append(free, n)
		}
	}
	return free
}

// shares reports whether a lock has a key in common with what is held.
func (d *drawing) shares(n int, held []hold) bool {
	return slices.ContainsFunc(held, func(h hold) bool {
		return slices.ContainsFunc(d.keys[d.units[n]], func(key string) bool { return slices.Contains(d.keys[d.units[h.n]], key) })
	})
}

// leaseOf draws the lease of a section. Only now and then is a key that is held taken again with another one.
func (d *drawing) leaseOf(lock string, held []hold) plan.Duration {
	if n := slices.Index(d.units, lock); d.mood.mixed || !d.shares(n, held) {
		return d.lease()
	}
	return held[len(held)-1].lease
}

func (d *drawing) ask(lock string) plan.Step {
	asks := []plan.Action{plan.IsLocked, plan.IsHeldBy, plan.HoldCount, plan.RemainingTTL}
	return plan.Step{Do: rapid.SampledFrom(asks).Draw(d.t, "ask"), Lock: lock}
}

func (d *drawing) work(lock string, lease plan.Duration) plan.Step {
	s := plan.Step{Do: plan.Work, Lock: lock, For: d.until(d.time(d.mood.work, "work")), Fenced: d.mood.fenced}
	if d.mood.both || d.mood.robbed || d.mood.queue && d.oneIn(2, "while others queue") {
		s.For += plan.Duration(12 * time.Second) // beyond a renewal
	}
	switch {
	case d.mood.edge && lease > 0 && lease < plan.Duration(longLease):
		s.For = d.about(lease, "beyond the lease")
	case d.mood.edge && lease == 0 && d.oneIn(3, "until a renewal"):
		s.For = d.about(d.period, "about a renewal")
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
	if bounded || d.upTo(0, 1, "try") == 1 || d.mood.once && d.upTo(0, 1, "try once") == 1 || d.mood.queue && d.upTo(0, 1, "gives up") == 1 {
		s.Do, s.Wait = plan.TryLock, d.time(20*time.Second, "wait")
		if d.mood.queue {
			s.Wait = moment + d.time(4*time.Second, "short wait")
		}
		if d.oneIn(4, "one attempt") || d.mood.once {
			s.Wait = 0
		}
		if d.mood.edge && !d.mood.once && lease > 0 && lease < plan.Duration(longLease) {
			s.Wait = d.about(lease, "wait beyond the lease")
		}
	}
	return d.ends(s, plan.TryLock)
}

// comes says of the thread that is drawn how long it has until the programs meet. Some begin then.
func (d *drawing) comes(th *plan.Thread) {
	if d.meet > 0 && th.Start > 0 && d.oneIn(4, "comes then") {
		th.Start = d.about(d.meet, "comes")
	}
	d.left = d.meet - th.Start
}

// until is how long a thread works: until the programs meet, if it has not waited for that, or else as long as is said.
func (d *drawing) until(otherwise plan.Duration) plan.Duration {
	left := d.left
	if left <= 0 {
		return otherwise
	}
	d.left = 0
	return d.about(left, "works until")
}

// leaves has a call end at about the moment when the programs meet, if its thread has not waited for that: when its time is over, or when its
// caller gives it up.
func (d *drawing) leaves(s *plan.Step, try plan.Action) bool {
	if d.left <= 0 {
		return false
	}
	switch d.upTo(0, 3, "how it leaves") {
	case 0:
		return false
	case 1:
		s.Cancel = d.about(d.left, "given up")
	default:
		s.Do, s.Wait = try, d.about(d.left, "waits until")
	}
	return true
}

// cancel has a call given up soon, now and then.
func (d *drawing) cancel(s plan.Step) plan.Step {
	after := []time.Duration{plan.Ended.Duration(), 400 * time.Microsecond, time.Millisecond, 2 * time.Millisecond}
	if d.scope.Within {
		after = after[1:]
	}
	switch {
	case d.mood.hasty && d.oneIn(2, "cancel"):
	case d.mood.busy && !d.mood.hasty && d.oneIn(4, "cancel"):
		after = append(after, 10*time.Millisecond, time.Second, 4*time.Second)
	default:
		return s
	}
	s.Cancel = plan.Duration(rapid.SampledFrom(after).Draw(d.t, "after"))
	return s
}

// lease draws the lease of a section.
func (d *drawing) lease() plan.Duration {
	if d.mood.robbed && !d.mood.mixed || d.upTo(0, 2, "explicit") < 2 && !(d.mood.edge && d.oneIn(2, "short")) {
		return 0
	}
	if !d.scope.ShortLeases {
		return plan.Duration(longLease)
	}
	most := 30 * time.Second
	if d.oneIn(3, "shorter than a timeout") {
		most = 2 * time.Second
	}
	lease := plan.Duration(time.Second) + d.time(most, "lease")
	d.leases = append(d.leases, lease.Duration())
	return lease
}
