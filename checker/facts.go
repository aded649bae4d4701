package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// facts is what all guarantees are judged from, collected once and never changed after.
type facts struct {
	h       *history.History
	options Options
	end     time.Duration
	healed  time.Duration // from then on no fault acts; the end, if the history does not say
	locks   []*lockFacts  // by name
	// counted are what there is to know of each object that is none, by kind and name: its calls, its events, and what took
	// effect.
	counted map[history.Object][]*lockFacts
	died    map[string]time.Duration
	gone    map[string]time.Duration // when the server had nothing of a client that died any more
	ended   map[string]time.Duration // clients that died, or whose programs ended
	log     *served
	byID    map[int64]int        // operation -> position in h.Ops
	servers map[string][]string  // of locks, as far as they are known
	silent  map[int64]bool       // unlocks that told their callers nothing
	asked   map[string][]*belief // where there are groups, by what owners asked of each lock alone
	view    *memberView          // of locks that are made of others; nil if there are none
	// onSilent is what clients sent later on a connection that a fault had silenced, by fault: see sentOnSilent.
	onSilent [][]*history.Served

	// disagreement is set when two checkers that know the same give different answers: a
	// harness error.
	disagreement string
}

// lockFacts is what there is to know of one lock.
type lockFacts struct {
	name     string
	object   history.Object
	ops      []*history.Op    // on the lock, in order of their calls
	resource []*history.Op    // on the resource it protects, in order of their execution
	events   []*history.Event // of this lock

	environment []*history.Event // events, and those that concern all locks, by time
	acts        []act            // what took effect, in the server's order as far as it is known
	tenures     []*tenure        // who held on the server, by their beginnings
	beliefs     []*belief        // who believed to hold, by their beginnings
	overlaps    overlaps         // of the beliefs of different owners
	queue       *queue           // who waited, if the lock claims to be fair
	owners      map[string]*ownerFacts
}

// ownerFacts is what of a lock's facts is about one owner. Its tenures follow each other, and so
// do its beliefs.
type ownerFacts struct {
	ops     []*history.Op // in order of their calls
	tenures []*tenure
	beliefs []*belief
	lost    time.Duration // when it was told first that a hold is over
	told    bool          // that it was
}

var noOwner = &ownerFacts{}

// owner is what is known of an owner, nothing if it is not known.
func (l *lockFacts) owner(name string) *ownerFacts {
	if o := l.owners[name]; o != nil {
		return o
	}
	return noOwner
}

// tenure is the last one that began by a time, or nil.
func (o *ownerFacts) tenure(at time.Duration) *tenure {
	n, _ := slices.BinarySearchFunc(o.tenures, at, func(t *tenure, at time.Duration) int { return upTo(t.from, at) })
	if n == 0 {
		return nil
	}
	return o.tenures[n-1]
}

// belief is the last one that began by a time, or nil.
func (o *ownerFacts) belief(at time.Duration) *belief {
	n, _ := slices.BinarySearchFunc(o.beliefs, at, func(b *belief, at time.Duration) int { return upTo(b.from, at) })
	if n == 0 {
		return nil
	}
	return o.beliefs[n-1]
}

// lasting are the beliefs that have something of [from, to].
func (o *ownerFacts) lasting(from, to time.Duration) []*belief {
	first, _ := slices.BinarySearchFunc(o.beliefs, from, func(b *belief, at time.Duration) int { return cmpTime(b.to, at) })
	end, _ := slices.BinarySearchFunc(o.beliefs, to, func(b *belief, at time.Duration) int { return upTo(b.from, at) })
	return o.beliefs[first:max(first, end)]
}

// called are the ops that were called in [from, to].
func (o *ownerFacts) called(from, to time.Duration) []*history.Op {
	first, _ := slices.BinarySearchFunc(o.ops, from, func(op *history.Op, at time.Duration) int { return cmpTime(op.Call, at) })
	end, _ := slices.BinarySearchFunc(o.ops, to, func(op *history.Op, at time.Duration) int { return upTo(op.Call, at) })
	return o.ops[first:max(first, end)]
}

// upTo makes a binary search find the first that is after a time.
func upTo(t, at time.Duration) int {
	if t <= at {
		return -1
	}
	return 1
}

// An act is something that took effect on a lock: an operation, an event, or one more execution
// of an operation that had taken effect already. Exactly one of op and event is set.
type act struct {
	at    time.Duration
	seq   int // position in the server log, -1 when unknown
	op    *history.Op
	event *history.Event
	again bool              // op took effect before this
	after *history.KeyState // the key afterwards, when the server log shows it
}

// rank orders the acts at one instant: the server log has an order, and what it does not show comes
// before, the environment's first, or after if it had taken effect already.
func (a *act) rank() int {
	switch {
	case a.seq >= 0:
		return 0
	case a.event != nil:
		return -2
	case a.again:
		return 1
	}
	return -1
}

// answer is what the lock did for an operation: the server's word where it is known.
func answer(op *history.Op) history.Outcome {
	if op.Evidence == history.Executed {
		return op.Answer
	}
	return op.Outcome
}

// changes reports whether an answer means that the lock's state changed.
func changes(o history.Outcome) bool {
	switch o {
	case history.Acquired, history.Decremented, history.Released, history.Renewed:
		return true
	}
	return false
}

// took is when op took effect, as far as it is known; ok is false when it is not known whether
// it did. Without the server's word it is the return, when the client knew.
func took(op *history.Op) (at time.Duration, ok bool) {
	switch {
	case op.Evidence == history.NotSent:
		return 0, false
	case op.Evidence == history.Executed || !op.Kind.OnLock() && op.Executed > 0:
		return op.Executed, true
	case op.Uncertain() || op.Outcome == history.Failed:
		return 0, false
	case op.Kind.Gives() || op.Kind.Forces() || op.Kind.Sets() || op.Kind.Alters():
		// A release is known to be over only at its return, but the next owner may be in
		// before that; the call is the moment that accuses nobody.
		return op.Call, true
	}
	return op.Return, true
}

func collect(h *history.History, o Options) *facts {
	h, silent := answered(h.WithEffects())
	f := &facts{h: h, silent: silent, onSilent: sentOnSilent(h), options: o, end: h.Over(), healed: h.Healed(), byID: make(map[int64]int, len(h.Ops)), servers: serversOf(h), log: indexServed(h),
		died: map[string]time.Duration{}, gone: map[string]time.Duration{}, ended: map[string]time.Duration{}, counted: map[history.Object][]*lockFacts{}, asked: map[string][]*belief{}}
	locks, objects := map[string]*lockFacts{}, h.Objects()
	lock := func(name string) *lockFacts {
		l := locks[name]
		if l == nil {
			l = &lockFacts{name: name, object: cmp.Or(objects[name], history.ALock), owners: map[string]*ownerFacts{}}
			if locks[name] = l; l.object.Counted() {
				f.counted[l.object] = append(f.counted[l.object], l)
			} else {
				f.locks = append(f.locks, l)
			}
		}
		return l
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		f.byID[op.ID] = i
		if l := lock(op.Lock); op.Kind.OnLock() {
			l.ops = append(l.ops, op)
		} else {
			l.resource = append(l.resource, op)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Lock != "" {
			l := lock(e.Lock)
			l.events = append(l.events, e)
		}
		when := e.At
		if e.Since > 0 {
			when = e.Since
		}
		if at, known := f.died[e.Client]; e.Kind == history.Died && (!known || when < at) {
			f.died[e.Client], f.gone[e.Client] = when, e.At
		}
		if at, known := f.ended[e.Client]; (e.Kind == history.Died || e.Kind == history.Finished) && (!known || when < at) {
			f.ended[e.Client] = when
		}
	}
	for _, is := range history.Objects() {
		all := f.of(is)
		sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	}

	for _, l := range f.all() {
		l.environment = slices.Clone(l.events)
		for i := range h.Events {
			if e := &h.Events[i]; e.Kind == history.ClockJump && e.Lock == "" {
				l.environment = append(l.environment, e)
			}
		}
		slices.SortStableFunc(l.environment, func(a, b *history.Event) int { return cmpTime(a.At, b.At) })
		slices.SortStableFunc(l.ops, byCallOf)
		slices.SortStableFunc(l.resource, func(a, b *history.Op) int { return cmpTime(tookOrCall(a), tookOrCall(b)) })
		l.acts = actsOf(f, l, f.log)
	}
	if f.fair() {
		for _, l := range f.locks {
			l.queue = queueOf(f, l)
		}
	}
	f.view = viewOf(f)
	for _, l := range f.locks {
		l.tenures = tenuresOf(f, l)
	}
	// Who unlocks a group without holding it gives back what it holds of its members, and who unlocks a member that it holds
	// by a group alone, the group.
	for _, l := range f.locks {
		if len(f.log.groups) > 0 {
			f.asked[l.name] = beliefsOf(f, l, func(*history.Op) *history.Op { return nil })
		}
	}
	for _, l := range f.locks {
		l.beliefs = beliefsOf(f, l, f.unheldUnlock)
		l.index()
		match(l)
		l.overlaps = overlapsOf(l)
	}
	return f
}

// of are the objects of a kind.
func (f *facts) of(is history.Object) []*lockFacts {
	if is == history.ALock {
		return f.locks
	}
	return f.counted[is]
}

// all are the objects of all kinds.
func (f *facts) all() (all []*lockFacts) {
	for _, is := range history.Objects() {
		all = append(all, f.of(is)...)
	}
	return all
}

// index sorts facts by their owners.
func (l *lockFacts) index() {
	of := func(name string) *ownerFacts {
		o := l.owners[name]
		if o == nil {
			o = &ownerFacts{}
			l.owners[name] = o
		}
		return o
	}
	for _, op := range l.ops {
		o := of(op.Owner)
		o.ops = append(o.ops, op)
	}
	for _, t := range l.tenures {
		o := of(t.owner)
		o.tenures = append(o.tenures, t)
	}
	for _, b := range l.beliefs {
		o := of(b.owner)
		o.beliefs = append(o.beliefs, b)
	}
	for _, e := range l.events {
		if o := of(e.Owner); e.Kind == history.Lost && (!o.told || e.At < o.lost) {
			o.lost, o.told = e.At, true
		}
	}
}

func byCallOf(a, b *history.Op) int { return cmpTime(a.Call, b.Call) }

func cmpTime(a, b time.Duration) int { return cmp.Compare(a, b) }

func tookOrCall(op *history.Op) time.Duration {
	if at, ok := took(op); ok {
		return at
	}
	return op.Call
}

// actsOf lists what took effect on a lock. The order is that of the server: by time, and within
// one instant by the server log; what that does not show and the environment did comes first, since a
// key that expires at an instant is gone for a command at that instant.
func actsOf(f *facts, l *lockFacts, log *served) []act {
	acts := make([]act, 0, len(l.ops)+len(l.environment))
	aside := map[servedKey]bool{}
	for _, op := range l.ops {
		if op.Aside && op.Evidence == history.Executed {
			aside[servedKey{at: op.Executed, lock: op.Lock, by: op.Owner}] = true
		}
	}
	for _, op := range l.ops {
		at, ok := took(op)
		if !ok {
			continue
		}
		a := act{at: at, seq: -1, op: op}
		if i, found := log.execution(op, at); found && op.Evidence == history.Executed {
			a.seq, a.after = i, log.key(i)
		} else if l.shared() { // what it did to the holds of others only the key shows
			if i := log.done(op, at); i >= 0 {
				a.after = log.key(i)
			}
		}
		acts = append(acts, a)

		// More executions: where the server log shows them, or else at once. What is told of by an
		// operation of its own is none of them.
		repeats := 0
		for _, i := range log.repeats(op, l.name) {
			e := &log.log[i]
			own := e.At < at || e.At == at && (a.seq < 0 || i <= a.seq) // in real time the log has it a little sooner
			if own && a.seq >= 0 && e.At < at && op.Kind.Acquires() && e.Lock == l.name && e.After.Count(op.Owner) > e.Before.Count(op.Owner) {
				own = false // the call has given all back since, and taken it anew
			}
			if repeats < op.Repeats && !own && !aside[servedKey{at: e.At, lock: l.name, by: op.Owner}] && !sameKey(e.Before, e.After) && !reclaims(op, e) {
				again := act{at: e.At, seq: i, op: op, again: true}
				if e.Lock == l.name {
					again.after = log.key(i)
				}
				acts = append(acts, again)
				repeats++
			}
		}
		for ; repeats < op.Repeats; repeats++ {
			acts = append(acts, act{at: at, seq: -1, op: op, again: true})
		}
	}
	for _, e := range l.environment {
		acts = append(acts, act{at: e.At, seq: log.setting(e), event: e})
	}
	slices.SortStableFunc(acts, func(a, b act) int {
		return cmp.Or(cmpTime(a.at, b.at), a.rank()-b.rank(), a.seq-b.seq)
	})
	for i := 1; i < len(acts); i++ {
		if acts[i].seq >= 0 && acts[i].seq == acts[i-1].seq {
			acts[i-1].after = nil // what one command did in several steps is seen after the last
		}
	}
	return acts
}

// reclaims reports whether a command of a call on a permit semaphore did nothing of what that is for: it may have taken back what was over.
func reclaims(op *history.Op, e *history.Served) bool {
	if e.Before == nil || e.After == nil {
		return false
	}
	was, had := e.Before.Has(op.Token)
	is, has := e.After.Has(op.Token)
	switch op.Kind {
	case history.AcquirePermit, history.TryAcquirePermit:
		return e.After.AllPermits() >= e.Before.AllPermits() && !slices.ContainsFunc(e.After.Taken, func(p history.TakenPermit) bool {
			was, out := e.Before.Has(p.Permit)
			return !out || was != p
		})
	case history.UpdateLease:
		return !has || was == is
	case history.ReleasePermit:
		return !had || has || e.Reply == "0"
	}
	return false
}

func sameKey(a, b *history.KeyState) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// latency is the slowest one-way message without faults, on a machine that was as busy as it was.
func (f *facts) latency() time.Duration {
	return f.h.Header.LatencyMax + f.lateness()
}

// lateness is how much later than due this machine did anything, at the worst.
func (f *facts) lateness() time.Duration {
	if f.h.End == nil {
		return 0
	}
	return f.h.End.Late
}

// op finds an operation by its id.
func (f *facts) op(id int64) *history.Op {
	if i, known := f.byID[id]; known {
		return &f.h.Ops[i]
	}
	return nil
}

// until is when an operation returned, or the end.
func (f *facts) until(op *history.Op) time.Duration {
	if op.Pending() {
		return f.end
	}
	return op.Return
}

// fresh reports whether a client that did something at a time is the one that comes once everything is healed.
func (f *facts) fresh(client string, at time.Duration) bool {
	return client == history.Fresh && f.healed < f.end && at >= f.healed
}

// implied reports whether ends of leases are to be inferred.
func (f *facts) implied() bool {
	return f.h.Header.Expiry == history.Implied && f.options.Model.Leases()
}

// jumped is by how much the clock of an object's server jumped after a time and up to another.
func (l *lockFacts) jumped(after, to time.Duration) (by time.Duration) {
	for _, e := range l.events {
		if e.Kind == history.ClockJump && after < e.At && e.At <= to {
			by += e.By
		}
	}
	return by
}
