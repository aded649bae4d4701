package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// ownLock is the lock of a story that a plan tells beside the rest.
const ownLock = "{lock}-beside"

// ownObject is the lock, the semaphore or the latch of such a story.
func (d *drawing) ownObject() string {
	switch {
	case d.scope.Object == history.ALatch:
		return "gate-beside"
	case d.scope.Object.Counted():
		return "{pool}-beside"
	}
	return ownLock
}

// beside adds to a plan an owner of a lock of its own, somebody who comes after it, and two or three things that come together: a
// lost answer and the refusal of its copy, a call that is given up and made again before its answer is there, a release in the
// moment in which a waiter leaves. Of what is drawn by itself such things hardly ever meet.
func (d *drawing) beside(p *plan.Plan) {
	stories := []func(*plan.Plan){d.struckTwice, d.struckTwice, d.struckTwice, d.madeAnew, d.madeAnew, d.leavesThen, d.leavesThen, d.silentAnew, d.staleWake, d.headDies}
	if !d.scope.NoReentry && d.scope.ShortLeases {
		stories = append(stories, d.shorterOutside, d.shorterOutside)
	}
	if !d.scope.NoReentry && d.mayForce() {
		stories = append(stories, d.forcedThen)
	}
	if d.scope.Object == history.ARWLock { // two modes, two ways to be woken
		stories = append(stories, d.leavesThen, d.leavesThen)
	}
	if d.scope.Object.Counted() {
		stories = []func(*plan.Plan){d.leavesThen}
	}
	d.told = d.ownObject()
	if slices.Contains(d.scope.Groups, string(plan.Multi)) && d.oneIn(4, "of a group") {
		d.told = "group-beside"
		g := plan.Group{Name: d.told, Kind: plan.Multi, Members: []plan.Member{{Lock: ownLock}, {Lock: ownLock + "-more"}}}
		if len(p.Servers) > 0 {
			g.Members[0].Server, g.Members[1].Server = p.Servers[0].Name, p.Servers[0].Name
		}
		p.Groups = append(p.Groups, g)
	}
	stories[d.upTo(0, len(stories)-1, "what is beside")](p)
}

// someone is the number of a client of a plan other than those given, which is added if there is none. If the scope has no more
// clients, it is the first.
func (d *drawing) someone(p *plan.Plan, not ...int) int {
	for i := range p.Clients {
		if !slices.Contains(not, i) {
			return i
		}
	}
	if most := d.scope.Clients; most > 0 && len(p.Clients) >= most {
		return 0
	}
	p.Clients = append(p.Clients, plan.Client{Name: fmt.Sprintf("c%d", len(p.Clients)+1), NoRetry: d.mood.noRetry && d.oneIn(2, "no retry")})
	return len(p.Clients) - 1
}

// thread adds a thread to a client. Of a read-write lock all that it does is to read, or to write.
func (d *drawing) thread(p *plan.Plan, client int, start plan.Duration, steps ...plan.Step) {
	if d.scope.Object == history.ARWLock {
		writes := d.sole
		if !writes {
			writes = d.upTo(0, 1, "writes beside") == 1
		}
		for i, s := range steps {
			if kind := history.Kind(s.Do); kind.Acquires() || kind.Unlocks() {
				steps[i].Do = inMode(s.Do, writes)
			}
		}
	}
	c := &p.Clients[client]
	id := int64(30) // of nobody else
	for _, th := range c.Threads {
		id = max(id, th.ID+1)
	}
	c.Threads = append(c.Threads, plan.Thread{ID: id, Start: start, Steps: steps})
}

// comesAfter adds a thread that takes the lock for a short time.
func (d *drawing) comesAfter(p *plan.Plan, client int, from plan.Duration, most time.Duration) {
	d.thread(p, client, from+d.time(most, "comes after"), d.asksFor(0), d.works(d.time(2*time.Second, "work after")), d.gives())
}

func (d *drawing) asksFor(lease plan.Duration) plan.Step {
	return plan.Step{Do: plan.Lock, Lock: d.told, Lease: lease}
}
func (d *drawing) works(t plan.Duration) plan.Step {
	return plan.Step{Do: plan.Work, Lock: d.told, For: t}
}
func (d *drawing) gives() plan.Step   { return plan.Step{Do: plan.Unlock, Lock: d.told} }
func rests(t plan.Duration) plan.Step { return plan.Step{Do: plan.Sleep, For: t} }

// givenUp is a step whose call is given up so soon.
func givenUp(s plan.Step, after plan.Duration) plan.Step {
	s.Cancel = after
	return s
}

// between is a time between two.
func (d *drawing) between(least, most time.Duration, what string) plan.Duration {
	return plan.Duration(least) + d.time(most-least, what)
}

// strike adds a fault that strikes a client, or its messages about the lock, if its kind is in scope.
func (d *drawing) strike(p *plan.Plan, client int, f plan.Fault) {
	if !slices.Contains(d.scope.Faults, f.Kind) {
		return
	}
	name := p.Clients[client].Name
	if f.When != nil {
		f.When.Client = name
		if _, group := p.Group(d.told); !group || f.When.Reply != plan.Publish { // what is published of a group is so of a member
			f.When.Lock = cmp.Or(f.When.Lock, d.told)
		}
	}
	if f.Kind != "script-flush" {
		f.Client = name
	}
	d.cap(p, &f)
	p.Faults = append(p.Faults, f)
}

func request(kind plan.MessageKind, nth int) *plan.Trigger {
	return &plan.Trigger{Request: kind, Nth: nth}
}
func reply(kind plan.MessageKind, nth int) *plan.Trigger { return &plan.Trigger{Reply: kind, Nth: nth} }

// either is the nth request of a kind, or the reply to it.
func (d *drawing) either(kind plan.MessageKind, nth int) *plan.Trigger {
	if d.oneIn(3, "the request") {
		return request(kind, nth)
	}
	return reply(kind, nth)
}

// refusal is a fault by which the server refuses requests.
func (d *drawing) refusal() plan.Fault {
	return plan.Fault{Kind: "server-error", Error: rapid.SampledFrom(plan.Errors()).Draw(d.t, "refusal")}
}

func (d *drawing) delayed(p *plan.Plan, client int, by plan.Duration, when *plan.Trigger) {
	d.strike(p, client, plan.Fault{Kind: "delay-message", By: by, When: when})
}

// struckTwice has a request and its copies struck by turns: the answer to one is lost, or comes late, and the server refuses another.
// The client rests then, and somebody else comes.
func (d *drawing) struckTwice(p *plan.Plan) {
	owner := d.someone(p)
	after := d.someone(p, owner)
	kinds, nth := []plan.MessageKind{plan.Acquire, plan.Acquire, plan.Release, plan.Renewal}, 1
	inside := !d.scope.NoReentry && d.upTo(0, 1, "inside") == 1
	if inside {
		kinds = []plan.MessageKind{plan.Acquire, plan.Acquire, plan.Acquire, plan.Release}
	}
	kind := rapid.SampledFrom(kinds).Draw(d.t, "struck twice")
	work := d.time(3*time.Second, "work")
	if kind == plan.Renewal || d.upTo(0, 1, "works for long") == 1 {
		work += d.period + d.time(5*d.period.Duration(), "for long")
	}
	idle := d.between(5*time.Second, 40*time.Second, "idle")
	steps := []plan.Step{d.asksFor(0), d.works(work), d.gives(), rests(idle)}
	if inside {
		if kind == plan.Acquire {
			nth = 2
		}
		switch d.upTo(0, 2, "how inside") {
		case 0:
			steps = []plan.Step{d.asksFor(0), d.asksFor(0), d.gives(), d.works(work), d.gives(), rests(idle)}
		case 1:
			steps = []plan.Step{d.asksFor(0), d.asksFor(0), d.works(work), d.gives(), d.works(work), d.gives(), rests(idle)}
		default: // as one who knows that there is no inner hold
			steps = []plan.Step{d.asksFor(0), d.asksFor(0), d.works(work), d.gives(), rests(idle), d.gives()}
		}
	}
	start := d.time(3*time.Second, "start")
	d.thread(p, owner, start, steps...)
	d.comesAfter(p, after, start, 5*time.Second)
	switch d.upTo(0, 5, "at first") {
	case 0:
	case 1:
		d.delayed(p, owner, d.between(2*time.Second, 8*time.Second, "late"), reply(kind, nth))
	case 2, 3:
		by := d.between(100*time.Millisecond, 5*time.Second, "copied")
		d.strike(p, owner, plan.Fault{Kind: "duplicate-message", By: by, When: request(kind, nth)})
	default:
		d.strike(p, owner, plan.Fault{Kind: "drop-message", Reset: d.upTo(0, 1, "reset") == 1, When: reply(kind, nth)})
	}
	next := nth + d.upTo(0, 1, "of the copies")
	if d.oneIn(3, "forgets scripts") { // which is asked for then
		d.strike(p, owner, plan.Fault{Kind: "script-flush", When: reply(kind, nth)})
		next += d.upTo(0, 1, "with its script")
	}
	f := plan.Fault{Kind: "drop-message"}
	if d.oneIn(4, "is lost, too") {
		f.When = d.either(kind, next)
	} else {
		f = d.refusal()
		f.When = request(kind, next)
	}
	d.strike(p, owner, f)
}

// madeAnew has an owner give a call up whose answer comes late, and make it again at once, so that the late answer comes into the next hold. Or
// the call is one inside of a hold, which is given back before anything is known of it.
func (d *drawing) madeAnew(p *plan.Plan) {
	owner := d.someone(p)
	after := d.someone(p, owner)
	gone := d.between(100*time.Millisecond, 2*time.Second, "given up")
	late := gone + d.between(100*time.Millisecond, 5*time.Second, "late")
	work := d.time(3*time.Second, "work")
	again := d.asksFor(0)
	if d.scope.ShortLeases && d.oneIn(3, "another lease") {
		again.Lease = d.between(time.Second, 8*time.Second, "lease")
	}
	steps, struck := []plan.Step{givenUp(d.asksFor(0), gone), again, d.works(late + work), d.gives()}, d.either(plan.Acquire, 1)
	switch d.upTo(0, 3, "of what") {
	case 1: // an unlock, and the next hold
		steps, struck = []plan.Step{d.asksFor(0), d.works(work), givenUp(d.gives(), gone), again, d.works(late), d.gives()}, d.either(plan.Release, 1)
	case 2:
		if d.scope.NoReentry {
			break
		}
		steps, struck = []plan.Step{again, givenUp(d.asksFor(0), gone), d.asksFor(0), d.works(late), d.gives(), d.works(work), d.gives()}, d.either(plan.Acquire, 2)
	case 3:
		if d.scope.NoReentry {
			break
		}
		last := d.gives()
		switch d.upTo(0, 2, "how it ends") {
		case 1:
			last = givenUp(last, gone)
		case 2:
			if !d.scope.Within { // it is not begun
				last.Cancel = plan.Ended
			}
		}
		steps, struck = []plan.Step{again, givenUp(d.asksFor(0), gone), rests(work / 2), last}, d.either(plan.Acquire, 2)
		if d.oneIn(2, "gives back late") {
			d.delayed(p, owner, d.between(time.Second, 4*time.Second, "release late"), request(plan.Release, d.upTo(1, 2, "nth release")))
		}
	}
	start := d.time(3*time.Second, "start")
	d.thread(p, owner, start, append(steps, rests(d.time(20*time.Second, "idle")), d.gives())...)
	d.comesAfter(p, after, start, 6*time.Second)
	d.delayed(p, owner, late, struck)
}

// shorterOutside has an owner take a lock for a short lease, and inside of that for a watched one, which ends about when a renewal
// does. One of the messages in which the lease changes is late or lost. Then the client may hear nothing more.
func (d *drawing) shorterOutside(p *plan.Plan) {
	owner := d.someone(p)
	after := d.someone(p, owner)
	renewals := d.upTo(1, 2, "renewals")
	inner := plan.Duration(renewals)*d.period + d.time(time.Second, "after a renewal")
	if d.oneIn(3, "before it") {
		inner -= plan.Duration(time.Second)
	}
	back := d.gives()
	if d.upTo(0, 1, "gives it up") == 1 {
		back = givenUp(back, d.between(100*time.Millisecond, 2*time.Second, "after"))
	}
	start := d.time(2*time.Second, "start")
	d.thread(p, owner, start, d.asksFor(d.between(time.Second, 9*time.Second, "short lease")), d.asksFor(0), rests(inner), back,
		d.works(d.between(time.Second, 20*time.Second, "work")), d.gives(), rests(d.time(20*time.Second, "idle")), d.gives())
	d.comesAfter(p, after, start+inner/2, 12*time.Second)
	when := d.either(plan.Renewal, renewals)
	switch d.upTo(0, 3, "late or lost") {
	case 0:
		when = d.either(plan.Acquire, d.upTo(1, 2, "which"))
	case 1, 2:
		when = d.either(plan.Release, 1)
	}
	if d.oneIn(4, "lost") {
		d.strike(p, owner, plan.Fault{Kind: "drop-message", When: when})
	} else {
		d.delayed(p, owner, d.between(100*time.Millisecond, 5*time.Second, "late"), when)
	}
	if d.upTo(0, 1, "hears nothing") == 1 {
		from := start + inner + d.time(3*time.Second, "from")
		d.strike(p, owner, plan.Fault{Kind: "partition", Direction: "replies", From: from, To: from + d.between(5*time.Second, 30*time.Second, "lasts")})
		if d.upTo(0, 1, "nor is heard") == 1 {
			from += d.time(2*time.Second, "then")
			d.strike(p, owner, plan.Fault{Kind: "partition", Direction: "requests", From: from, To: from + d.between(5*time.Second, 30*time.Second, "lasts")})
		}
	}
}

// leavesThen has two threads of one client wait for what another client gives back at some time, or counts down. At about that time one of them
// leaves, or what strikes their client does.
func (d *drawing) leavesThen(p *plan.Plan) {
	holder := d.someone(p)
	waits := d.someone(p, holder)
	start := d.time(time.Second, "start")
	free := plan.Duration(2*time.Second) + d.time(6*time.Second, "held for")
	is := d.protocol()
	steps := []plan.Step{d.asksFor(0), rests(free), d.gives()}
	take, give, first := d.asksFor(0), []plan.Step{d.gives()}, plan.Acquire
	if d.scope.Object.Counted() {
		steps, take, give = d.shared(free)
		first = is.first
	}
	d.thread(p, holder, start, steps...)
	free += start
	d.sole = d.oneIn(2, "all write")
	defer func() { d.sole = false }()
	leaves := d.upTo(0, 3, "who leaves")
	for n := range 2 + d.upTo(0, 1, "a third") {
		comes := start + plan.Duration(500*time.Millisecond) + d.time(time.Second, "comes")
		s, give := take, slices.Clone(give)
		if take.Permits > 0 && d.oneIn(3, "more than one") {
			s.Permits = int64(d.upTo(1, int(steps[0].Permits), "how many"))
			give[0].Permits = s.Permits
		}
		if n == leaves {
			if left := d.near(free) - comes; d.upTo(0, 1, "waits for so long") == 0 {
				s = givenUp(s, max(left, moment))
			} else {
				s.Do, s.Wait = is.try, max(left, moment)
			}
		}
		d.thread(p, waits, comes, append([]plan.Step{s, rests(d.between(time.Second, 40*time.Second, "works then"))}, give...)...)
	}
	if d.oneIn(3, "a rival") {
		d.thread(p, d.someone(p, holder, waits), d.near(free), append([]plan.Step{take, rests(d.time(5*time.Second, "works then"))}, give...)...)
	}
	from := d.near(free)
	for range d.upTo(1, 2, "at that time") {
		switch d.upTo(0, 6, "what strikes") {
		case 0, 1:
			d.strike(p, waits, plan.Fault{Kind: "close-connection", From: from})
		case 2, 3:
			d.strike(p, waits, plan.Fault{Kind: "delay-message", By: d.between(500*time.Millisecond, 20*time.Second, "late"), From: max(from-5*moment, 0), When: d.either(first, 1)})
		case 4:
			d.strike(p, waits, plan.Fault{Kind: "drop-message", From: max(from-5*moment, 0), When: reply(plan.Publish, 1)})
		case 5:
			d.strike(p, waits, plan.Fault{Kind: "partition", Direction: "both", From: from, To: from + d.time(5*time.Second, "lasts") + moment})
		default:
			d.strike(p, waits, plan.Fault{Kind: "pause-client", From: from, To: from + d.time(5*time.Second, "lasts") + moment})
		}
	}
}

// shared is what makes permits or a count, takes all, and from a time on lets others have them one by one; and what somebody does who waits for
// one.
func (d *drawing) shared(free plan.Duration) (steps []plan.Step, take plan.Step, give []plan.Step) {
	is, name := d.protocol(), d.ownObject()
	n := int64(d.upTo(1, 3, "of these"))
	between := rests(d.time(500*time.Millisecond, "and then"))
	take = plan.Step{Do: is.lock, Lock: name}
	back := plan.Step{Do: is.give, Lock: name}
	give = []plan.Step{back}
	switch d.scope.Object {
	case history.ALatch:
		steps, give = []plan.Step{{Do: plan.TrySetCount, Lock: name, Count: n}}, nil
	case history.APermitSemaphore:
		steps = append([]plan.Step{{Do: plan.TrySetTotal, Lock: name, Permits: n}}, slices.Repeat([]plan.Step{take}, int(n))...)
	default:
		take.Permits, back.Permits, give[0].Permits = 1, 1, 1
		steps = []plan.Step{{Do: plan.TrySetPermits, Lock: name, Permits: n}, {Do: is.lock, Lock: name, Permits: n}}
		if d.oneIn(3, "all at once") {
			back.Permits, n = n, 1
		}
	}
	return slices.Concat(steps, []plan.Step{rests(free)}, slices.Repeat([]plan.Step{back, between}, int(n))), take, give
}

// near is a time at, shortly before, or shortly after another.
func (d *drawing) near(t plan.Duration) plan.Duration {
	if d.oneIn(4, "not so near") {
		return max(t+rapid.SampledFrom([]plan.Duration{-5 * moment, -moment, moment, 5 * moment}).Draw(d.t, "about"), 0)
	}
	// in halves of the time of a message: a wake-up comes after two of them, and the answer to what it has a waiter ask after four
	return max(t+d.trip/2*plan.Duration(rapid.SampledFrom([]int{0, -20, -10, -2, 1, 2, 3, 4, 5, 6, 10}).Draw(d.t, "near")), 0)
}

// silentAnew has a client wait for two locks, for one of them for minutes. Its connections are made anew meanwhile. Then one is silent, from the
// message that the other lock is free.
func (d *drawing) silentAnew(p *plan.Plan) {
	holder := d.someone(p)
	waits := d.someone(p, holder)
	broken := d.between(2*time.Second, 20*time.Second, "made anew")
	short := broken + d.between(time.Second, 20*time.Second, "held for")
	for _, l := range []struct {
		name string
		held plan.Duration
	}{{ownLock, short + d.between(2*time.Minute, 6*time.Minute, "held for minutes")}, {ownLock + "-too", short}} {
		steps := []plan.Step{d.asksFor(0), rests(l.held), d.gives(), d.asksFor(0), d.works(plan.Duration(time.Second)), d.gives()}
		for i := range steps {
			if steps[i].Do != plan.Sleep {
				steps[i].Lock = l.name
			}
		}
		d.thread(p, holder, 0, steps[:3]...)
		d.thread(p, waits, plan.Duration(time.Second), steps[3:]...)
	}
	d.strike(p, waits, plan.Fault{Kind: "close-connection", From: broken})
	d.strike(p, waits, plan.Fault{Kind: "drop-message", From: broken, When: &plan.Trigger{Reply: plan.Publish, Lock: ownLock + "-too", Nth: 1}})
}

// staleWake has the message of a release come to a client that holds the lock by then, and the server refuse what the client asks it then.
func (d *drawing) staleWake(p *plan.Plan) {
	first := d.someone(p)
	next := d.someone(p, first)
	held := d.between(time.Second, 3*time.Second, "held for")
	lease := held + moment
	if !d.scope.ShortLeases || d.oneIn(2, "watched") {
		lease = 0
	}
	d.thread(p, first, 0, d.asksFor(lease), rests(held), d.gives())
	d.thread(p, next, d.between(100*time.Millisecond, time.Second, "comes"), d.asksFor(0), d.works(d.between(5*time.Second, 20*time.Second, "work")), d.gives())
	late := d.between(100*time.Millisecond, 5*time.Second, "late")
	d.delayed(p, next, late, reply(plan.Publish, 1))
	from := max(held+late-plan.Duration(d.upTo(0, 10, "before that"))*moment, 0)
	f := d.refusal()
	f.From, f.To = from, from+d.between(500*time.Millisecond, 3*time.Second, "lasts")
	d.strike(p, next, f)
}

// mayForce reports whether programs may force locks free that others hold.
func (d *drawing) mayForce() bool {
	return d.scope.Altered || slices.Contains(d.scope.Faults, forced)
}

// forcedThen has a client force a lock free that another holds, and take it. The holder hears of that late. It asks before that for the lock once
// more, or for a group that the lock is in.
func (d *drawing) forcedThen(p *plan.Plan) {
	owner := d.someone(p)
	other := d.someone(p, owner)
	at := d.between(time.Second, 3*time.Second, "forced at")
	asks := at + d.between(100*time.Millisecond, 2*time.Second, "asks after that")
	again := plan.Step{Do: plan.TryLock, Lock: d.told}
	if d.upTo(0, 1, "gives it up") == 1 {
		again = givenUp(again, d.between(100*time.Millisecond, time.Second, "after"))
		d.delayed(p, owner, again.Cancel+d.between(100*time.Millisecond, 2*time.Second, "late"), d.either(plan.Acquire, 2))
	}
	own := func(do plan.Action) plan.Step { return plan.Step{Do: do, Lock: ownLock} }
	force := own(plan.ForceUnlock)
	if d.scope.Object == history.ARWLock {
		d.sole = true
		force.Do = plan.ForceWrite
		defer func() { d.sole = false }()
	}
	d.thread(p, owner, 0, own(plan.Lock), rests(asks), again, plan.Step{Do: plan.Work, Lock: ownLock, For: d.between(2*time.Second, 20*time.Second, "work")}, own(plan.Unlock))
	d.thread(p, other, at, force, own(plan.Lock), plan.Step{Do: plan.Work, Lock: ownLock, For: d.between(5*time.Second, 20*time.Second, "work then")}, own(plan.Unlock))
	switch d.upTo(0, 3, "hears of it") {
	case 0:
	case 1:
		d.strike(p, owner, plan.Fault{Kind: "drop-message", When: reply(plan.Publish, 1)})
	default:
		d.delayed(p, owner, d.between(2*time.Second, 10*time.Second, "hears late"), reply(plan.Publish, 1))
	}
	if d.upTo(0, 1, "cannot ask") == 1 {
		f := d.refusal()
		f.From = asks + d.time(time.Second, "from")
		f.To = f.From + d.between(time.Second, 10*time.Second, "lasts")
		d.strike(p, owner, f)
	}
}

// headDies has the first of those who wait die, or fall silent. Somebody else comes after that.
func (d *drawing) headDies(p *plan.Plan) {
	holder := d.someone(p)
	head := d.someone(p, holder)
	next := d.someone(p, holder, head)
	held := d.between(5*time.Second, 25*time.Second, "held for")
	d.thread(p, holder, 0, d.asksFor(0), rests(held), d.gives())
	comes := d.between(500*time.Millisecond, 3*time.Second, "first comes")
	d.thread(p, head, comes, d.asksFor(0), d.gives())
	d.thread(p, next, comes+d.time(held.Duration(), "next comes"), d.asksFor(0), d.works(d.time(2*time.Second, "work")), d.gives())
	from := comes + d.time(held.Duration(), "dies")
	switch d.upTo(0, 3, "how") {
	case 0, 1:
		d.strike(p, head, plan.Fault{Kind: "kill-client", From: from})
	case 2:
		d.strike(p, head, plan.Fault{Kind: "partition", Direction: "both", From: from, To: from + d.between(5*time.Second, 40*time.Second, "lasts")})
	default:
		d.strike(p, head, plan.Fault{Kind: "pause-client", From: from, To: from + d.between(5*time.Second, 40*time.Second, "lasts")})
	}
}
