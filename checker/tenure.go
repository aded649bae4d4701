package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A tenure is one owner's hold on a lock as the server had it, from the first acquire to the end
// of the last hold. Unlike a state of the model it says what was, right or wrong: two tenures of
// one lock overlap when the server let two owners in.
type tenure struct {
	owner    string
	client   string
	from, to time.Duration // to: the end of the history when open
	open     bool
	grant    *history.Op // the acquire that began it
	again    bool        // by another effect of it than the first
	belief   *belief     // of its owner in it; nil when the owner never learned that it held the lock
	latest   *belief     // its owner's last that began before it ended: another, if an unlock took effect late
	watchdog bool        // some hold in it has no explicit lease
	guards   guards      // when the lock had to renew its lease, in order
	lease    time.Duration

	// sets are the moments at which the deadline was set, in order, the grant first.
	sets     []deadlineSet
	deadline time.Duration // the last one; model.Never when it does not expire
	ends     []deadlineEnd // what deadline was, whoever changed it, in order
	levels   []readLevel   // of a reader of a lock whose key has one end: each of its holds, outermost first
	byItself time.Duration // the last deadline that the lock set for the owner, by no call; 0: none

	// What ended it: an operation (another owner's, when the lock is broken) or an event.
	endOp    *history.Op
	endAgain bool // endOp had taken effect before
	endEvent *history.Event
	restored bool // a replica brought it back: grant is that of an earlier tenure of its owner
	// recounted says that a replica brought back how often it had been held.
	recounted bool
	outside   bool // the key was taken away, rather than released or expired with its lease
}

// A guard is a time in which a hold's lease is to be renewed: some hold in it has no explicit lease.
type guard struct {
	from, to time.Duration // to: model.Never as long as the tenure lasts
}

// guards are the times in which a lease is to be renewed, in order, none touching the next.
type guards []guard

// set begins or ends the time in which the lease is to be renewed.
func (gs *guards) set(on bool, at time.Duration) {
	switch {
	case on && !gs.open():
		*gs = append(*gs, guard{at, model.Never})
	case !on && gs.open():
		(*gs)[len(*gs)-1].to = at
	}
}

// open reports whether the last of them goes on.
func (gs guards) open() bool { return len(gs) > 0 && gs[len(gs)-1].to == model.Never }

// at reports whether a time is in one of them.
func (gs guards) at(when time.Duration) bool {
	return slices.ContainsFunc(gs, func(g guard) bool { return g.from <= when && when <= g.to })
}

// guard begins or ends the time in which the lease is to be renewed.
func (t *tenure) guard(on bool, at time.Duration) {
	t.watchdog = t.watchdog || on
	t.guards.set(on, at)
}

// asked reports whether the deadline was last set to a lease that somebody asked for.
func (t *tenure) asked() bool { return t.askedFor(len(t.sets)) }

// askedFor is the same of the first n settings.
func (t *tenure) askedFor(n int) bool {
	if b := t.latest; b != nil && t.to <= b.to && !b.guards.at(t.to) {
		return true // its owner has given back what was to be renewed, and that unlock is late or lost
	}
	if len(t.guards) > 0 && !t.guards.open() {
		return true // of the hold that remains, whatever a late copy of a renewal has set
	}
	for i := n - 1; i >= 0; i-- {
		if op := t.sets[i].op; op != nil {
			copied := op.Kind.Renews() && op.Aside // of the call that asked for the lease, which it sets anew
			if op.Kind.Renews() && !copied && len(t.guards) == 0 && t.to >= t.from+t.grant.Lease {
				continue // of a member, for another hold of it: nothing was to be renewed, and nobody got less than asked for
			}
			if op.Kind.Unlocks() && op.Watchdog { // it sets what the hold that remains had asked for
				return slices.ContainsFunc(t.sets[:i], func(s deadlineSet) bool {
					return s.op != nil && s.op.Kind.Acquires() && !s.op.Watchdog && s.op.Lease == op.Lease
				})
			}
			return op.Lease > 0 && !op.Watchdog && (!op.Kind.Renews() || copied)
		}
	}
	return !t.watchdog
}

// takenAnew reports whether the owner of a hold took it for more of one that was to be renewed, and had lost that: each call asked for a lease
// of its own, and all were over before anything was to be renewed.
func (f *facts) takenAnew(l *lockFacts, t *tenure) bool {
	return !f.composed(l) && t.to < t.from+f.renewEvery() && !slices.ContainsFunc(t.sets, func(s deadlineSet) bool {
		op := s.op
		return op == nil || !op.Kind.Acquires() || op.Lease == 0 || op.Watchdog && (op.Fresh == 0 || op.FreshWatchdog)
	})
}

// A deadlineSet is one moment at which a tenure's deadline was set.
type deadlineSet struct {
	at       time.Duration
	op       *history.Op   // nil: no call did it
	byItself bool          // nor somebody outside the lock: its client did, in the background
	until    time.Duration // of what no call did: the end of the lease
}

// A deadlineEnd is a deadline that was in force from a moment on.
type deadlineEnd struct {
	from, deadline time.Duration
	by             *history.Op // of a read-write lock: what its owner, or another, did to another hold
}

// end notes a deadline.
func (t *tenure) end(at, deadline time.Duration) {
	t.deadline = deadline
	t.ends = append(t.ends, deadlineEnd{from: at, deadline: deadline})
}

// keepsLongest reports whether the lock claims that no renewal shortens a lease.
func (f *facts) keepsLongest() bool { return f.h.Can(string(contract.KeepsLongest)) }

// due is the moment in [from, to] up to which there was nothing to renew: a lock that keeps the longest lease leaves
// alone what lasts longer than a renewal would.
func (f *facts) due(t *tenure, from, to time.Duration) time.Duration {
	if !f.keepsLongest() {
		return from
	}
	due := from
	for i, e := range t.ends {
		until := to
		if i+1 < len(t.ends) {
			until = min(until, t.ends[i+1].from)
		}
		if e.deadline != model.Never {
			until = min(until, e.deadline-f.h.Header.WatchdogTimeout)
		}
		if until > e.from {
			due = max(due, until)
		}
	}
	return due
}

// last is when the deadline was last set by the lock itself.
func (t *tenure) last() time.Duration {
	for i := len(t.sets) - 1; i >= 0; i-- {
		if t.sets[i].op != nil {
			return t.sets[i].at
		}
	}
	return t.from
}

// match finds the belief that goes with each tenure: the one of the same owner that began with the
// same acquire or, when that one's end was not known to the owner, the last that lasted then.
func match(l *lockFacts) {
	byAcquire := make(map[*history.Op]*belief, len(l.beliefs))
	for _, b := range l.beliefs {
		byAcquire[b.acquire] = b
	}
	for _, t := range l.tenures {
		t.latest = l.owner(t.owner).belief(t.to)
		if !t.restored {
			t.belief = byAcquire[t.grant]
		}
		if t.belief != nil {
			continue
		}
		if b := t.latest; b != nil && t.from <= b.to {
			t.belief = b
		}
	}
}

// tenuresOf replays what took effect on a lock, believing every answer, and where the server log
// shows the key, the key.
func tenuresOf(f *facts, l *lockFacts) []*tenure {
	r := &tenureReplay{f: f, l: l, open: map[string]*tenure{}}
	for i := range l.acts {
		a := &l.acts[i]
		if a.event != nil {
			r.environment(a)
			continue
		}
		r.operation(a)
		if a.after != nil {
			r.agree(a)
			r.follow(a)
		}
	}
	for _, t := range r.open {
		t.to, t.open = f.end, true
	}
	return r.all
}

type tenureReplay struct {
	f    *facts
	l    *lockFacts
	all  []*tenure
	open map[string]*tenure // by owner; whatever is done to several does not depend on their order
}

func (r *tenureReplay) end(t *tenure, a *act, outside bool) {
	t.to, t.endEvent, t.outside = a.at, a.event, outside
	if a.op != nil {
		t.endOp, t.endAgain = a.op, a.again
	}
	delete(r.open, t.owner)
}

func (r *tenureReplay) endAll(a *act, outside bool) {
	for _, t := range r.open {
		r.end(t, a, outside)
	}
}

// endForced ends the holds that a forced release freed: of a read-write lock those that the key has no more.
func (r *tenureReplay) endForced(a *act) {
	for _, t := range r.open {
		stays := history.Writes(t.owner) != a.op.Kind.OnWriteLock()
		if a.after != nil {
			stays = a.after.Count(t.owner) > 0
		}
		if !r.l.shared() || !stays {
			r.end(t, a, true)
		}
	}
}

func (r *tenureReplay) set(t *tenure, a *act) {
	t.sets = append(t.sets, deadlineSet{at: a.at, op: a.op})
	t.lease = a.op.Lease
	deadline := model.Never
	if a.op.Lease > 0 {
		deadline = a.at + a.op.Lease
	}
	t.end(a.at, deadline)
}

// kept reports whether a renewal, or a re-entry, left a longer lease alone.
func (r *tenureReplay) kept(t *tenure, a *act) bool {
	renewed := a.at + a.op.Lease
	if !r.f.keepsLongest() || t.deadline == model.Never || !past(t.deadline, renewed) {
		return false
	}
	after := a.after
	if after != nil && r.l.shared() {
		own := after.Of(a.op.Owner)
		after = &own
	}
	return after == nil || past(shown(*after).Latest, renewed)
}

func (r *tenureReplay) operation(a *act) {
	t := r.open[a.op.Owner]
	defer func() { r.level(a, cmp.Or(t, r.open[a.op.Owner])) }()
	switch answer(a.op) {
	case history.Acquired:
		if r.f.implied() {
			r.lapse(a)
		}
		again := t != nil
		if t == nil {
			t = &tenure{owner: a.op.Owner, client: a.op.Client, from: a.at, grant: a.op, again: a.again}
			r.all = append(r.all, t)
			r.open[t.owner] = t
		}
		if a.op.Watchdog && !a.again && a.op.Outcome == history.Acquired { // or its client knows nothing of it
			t.guard(true, a.at)
		}
		if !again || !r.f.implied() || a.op.Lease == 0 || !r.kept(t, a) {
			r.set(t, a)
		}
	case history.Decremented:
		if t != nil && a.again && !r.whole(a) { // a copy, which found fewer holds than the first did
			r.end(t, a, false)
			return
		}
		if t != nil && a.op.Lease > 0 {
			r.set(t, a)
			if !a.again && !a.op.Aside {
				t.guard(a.op.Watchdog, a.at)
			}
		}
	case history.Renewed:
		if t != nil {
			if !r.kept(t, a) {
				r.set(t, a)
			}
			return
		}
		if r.l.shared() {
			return
		}
		for _, t := range r.open { // a renewal of a foreign lock
			r.set(t, a)
		}
	case history.Released:
		switch {
		case a.op.Kind.Forces():
			r.endForced(a)
		case a.after != nil && a.after.Count(a.op.Owner) > 0: // a copy, which found more holds than the first did
			if t != nil && a.op.Lease > 0 {
				r.set(t, a)
			}
		case t == nil && r.l.shared(): // what it did to others the key shows
		case t == nil: // a foreign lock
			r.endAll(a, false)
		default:
			r.end(t, a, false)
		}
	}
}

// whole reports whether the owner of an operation has enough members of a group after it. A lock of one key shows by itself what its
// owner has.
func (r *tenureReplay) whole(a *act) bool {
	if r.f.view == nil || r.f.view.locks[a.op.Lock] == nil || !r.f.view.locks[a.op.Lock].group {
		return true
	}
	c := r.f.view.locks[a.op.Lock]
	least, _ := r.f.view.held(c, a.op.Owner, a.at, a.at)
	return least >= c.needed
}

func (r *tenureReplay) environment(a *act) {
	switch a.event.Kind {
	case history.Expire:
		outside := r.f.outside(a.event)
		for _, t := range r.open {
			last := t.sets[len(t.sets)-1]
			outside = outside || last.op == nil && !last.byItself
		}
		if t := r.open[a.event.Owner]; r.l.shared() && a.event.Owner != "" {
			if t != nil {
				r.end(t, a, outside)
			}
			return
		}
		r.endAll(a, outside)
	case history.Delete:
		r.endAll(a, true)
	case history.Restore:
		r.restore(a)
		fallthrough
	case history.ForceTTL:
		for _, t := range r.open {
			own := a.event.Kind == history.ForceTTL && a.event.Owner == t.owner
			if r.l.shared() && a.event.Owner != "" && !own {
				continue
			}
			deadline := a.event.Deadline
			if deadline == 0 {
				deadline = model.Never
			}
			t.sets = append(t.sets, deadlineSet{at: a.at, until: deadline, byItself: own})
			t.end(a.at, deadline)
			if own {
				t.byItself = deadline
			}
		}
	case history.ClockJump:
		for _, t := range r.open {
			if t.deadline != model.Never {
				t.end(a.at, max(a.at, t.deadline-a.event.By))
			}
			for i := range t.levels {
				t.levels[i].end -= a.event.By
			}
		}
	}
}

// restore ends all tenures but that of the owner that is brought back.
func (r *tenureReplay) restore(a *act) {
	owner := a.event.Owner
	for _, t := range r.open {
		if t.owner != owner {
			r.end(t, a, true)
		}
	}
	if t := r.open[owner]; t != nil {
		t.recounted = true
		return
	}
	t := &tenure{owner: owner, from: a.at, restored: true, grant: &history.Op{Kind: history.Lock, Owner: owner, Lock: a.event.Lock}}
	for _, before := range r.all {
		if before.owner == owner {
			t.client, t.grant = before.client, before.grant
		}
	}
	r.all = append(r.all, t)
	r.open[owner] = t
}

// agree ends the tenures of owners that the server log no longer shows in the key.
func (r *tenureReplay) agree(a *act) {
	for _, t := range r.open {
		found := false
		for _, h := range a.after.Holdings {
			found = found || h.Owner == t.owner
		}
		if !found {
			r.end(t, a, false)
		}
	}
}

// past reports whether a is after b by more than deadlines are exact.
func past(a, b time.Duration) bool { return b != model.Never && a > b+model.Granularity }

// shown is the state of the model for a key that the server log shows. A key that two owners
// share has no such state; its first owner stands for it.
func shown(k history.KeyState) model.State {
	if len(k.Holdings) == 0 {
		return model.State{}
	}
	s := model.State{Owner: k.Holdings[0].Owner, Count: k.Holdings[0].Count, Earliest: k.Deadline, Latest: k.Deadline}
	if k.Deadline == 0 {
		s.Earliest, s.Latest = model.Never, model.Never
	}
	return s
}

// lapse closes, before another owner's grant, the tenures whose leases can have ended by then: in
// an implied history no event does. A lease that nobody renews ended at its deadline; when one with a
// watchdog ended is not known, except that it was before the grant.
func (r *tenureReplay) lapse(a *act) {
	for _, t := range r.open {
		if !r.l.excludes(t.owner, a.op.Owner) || t.deadline > a.at+linear.Slack {
			continue
		}
		at := min(t.deadline, a.at)
		if t.watchdog {
			at = a.at
		}
		r.end(t, &act{at: at, seq: -1, event: &history.Event{At: at, Kind: history.Expire, Lock: a.op.Lock}}, false)
	}
}
