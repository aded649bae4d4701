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

// faults draws the faults of a plan whose programs are there.
func (d *drawing) faults(p *plan.Plan) {
	span := d.strikes(p)
	if len(alone(p)) == 0 {
		d.mood.kinds = slices.DeleteFunc(slices.Clone(d.mood.kinds), func(k fault.Kind) bool { return k.Name == forced })
	}
	if len(d.mood.kinds) == 0 {
		return
	}
	least, most := 0, orDefault(d.scope.Strikes, drawnFaults)
	if d.mood.robbed || d.mood.narrow {
		least = 1
	}
	if d.mood.narrow {
		d.struck = p.Clients[d.upTo(1, len(p.Clients), "the one that is struck")-1].Name
		d.mood.kinds = orAll(d.kinds(func(n plan.FaultNeeds) bool { return n.Messages || ofKeys(n) || n.Client != plan.Never }), d.mood.kinds)
	}
	if d.mood.torn {
		p.Faults = append(p.Faults, d.tears(p)...)
	}
	for i := range d.upTo(least, most, "faults") {
		f := d.fault(p, span, d.mood.robbed && i < least)
		p.Faults = append(p.Faults, f)
		if d.mood.paired && f.When != nil && f.When.Return == "" && d.upTo(0, 1, "a pair") == 1 {
			p.Faults = append(p.Faults, d.partner(p, f)...)
		}
	}
}

// partner draws a fault that strikes what another strikes, at the same message or at the answer to it: so an answer is lost, and a copy of
// its request comes later; or a client hears nothing, and the connection is gone. None: no such kind strikes the plan.
func (d *drawing) partner(p *plan.Plan, other plan.Fault) []plan.Fault {
	some := d.kinds(func(n plan.FaultNeeds) bool { return n.Messages })
	if at := slices.IndexFunc(d.mood.kinds, func(k fault.Kind) bool { return k.Name == "partition" }); at >= 0 {
		some = append(some, d.mood.kinds[at])
	}
	if len(some) == 0 {
		return nil
	}
	t := *other.When
	t.Client, t.Lock = other.Trigger().Client, other.Trigger().Lock
	if t.Request != "" && d.upTo(0, 1, "its answer") == 1 {
		t.Request, t.Reply = "", t.Request
	}
	kind := some[d.upTo(0, len(some)-1, "partner")]
	if kind.Needs.Requests && t.Reply != "" {
		t.Request, t.Reply = t.Reply, ""
	}
	if t.Request == plan.Publish { // which the server sends
		return nil
	}
	f := plan.Fault{Kind: kind.Name, Client: t.Client, Server: other.Server, When: &t}
	d.extents(p, &f, kind)
	return []plan.Fault{f}
}

// tears draws what befalls a group that is entered again: one of its servers is away for a client, around some attempt, and something takes
// a member's key.
func (d *drawing) tears(p *plan.Plan) (all []plan.Fault) {
	var uses []plan.Trigger
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if _, group := p.Group(s.Lock); group && d.uses(s.Do) {
					uses = append(uses, plan.Trigger{Client: c.Name, Lock: s.Lock})
				}
			}
		}
	}
	if len(uses) == 0 {
		return nil
	}
	u := rapid.SampledFrom(uses).Draw(d.t, "whose group")
	away, _ := fault.Find("partition")
	if slices.Contains(d.scope.Faults, away.Name) && len(p.Servers) > 1 {
		t := u
		t.Request, t.Nth = rapid.SampledFrom([]plan.MessageKind{plan.Acquire, plan.Acquire, plan.Release}).Draw(d.t, "around"), d.upTo(1, 4*len(p.Servers), "which of them")
		f := plan.Fault{Kind: away.Name, Client: u.Client, Server: p.Servers[d.upTo(0, len(p.Servers)-1, "server that is away")].Name, When: &t}
		if d.upTo(0, 1, "from the start") == 1 {
			f.When, f.To = nil, d.span("until")
		}
		d.extents(p, &f, away)
		all = append(all, f)
	}
	if takes := d.kinds(func(n plan.FaultNeeds) bool { return n.Lock == plan.Must && ofKeys(n) }); len(takes) > 0 {
		kind := takes[d.upTo(0, len(takes)-1, "taken by")]
		if kind.Name == forced {
			return all
		}
		names := append(slices.Clone(d.keys[u.Lock]), u.Lock)
		f := plan.Fault{Kind: kind.Name, Lock: names[d.upTo(0, len(names)-1, "of which")]}
		t := u
		switch t.Nth = d.upTo(1, 3, "after which"); d.upTo(0, 2, "after what") {
		case 1:
			t.Return = d.returns(p, u.Client, u.Lock, plan.Lock, plan.TryLock)
		case 2:
			t.Return = plan.Unlock
		}
		if f.When = &t; t.Return == "" || !d.times(p, t) {
			f.When, f.From = nil, d.time(d.strikes(p), "taken")
		}
		all = append(all, f)
	}
	return all
}

// strikes is until when faults begin.
func (d *drawing) strikes(p *plan.Plan) time.Duration {
	last := lastStrike
	if d.mood.long {
		last *= 3
	}
	return min(max(d.length(p), 2*time.Second), last)
}

// step is about when some thread takes one of its steps, if nobody has to wait.
func (d *drawing) step(p *plan.Plan) plan.Duration {
	var at []plan.Duration
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			t := th.Start
			for _, s := range th.Steps {
				if s.For == 0 && !slices.Contains(at, t) {
					at = append(at, t)
				}
				t += s.For
			}
		}
	}
	if len(at) == 0 {
		return 0
	}
	return min(rapid.SampledFrom(at).Draw(d.t, "which step"), plan.Duration(d.strikes(p)))
}

// length is about how long the programs of a plan take when nobody has to wait.
func (d *drawing) length(p *plan.Plan) time.Duration {
	longest := plan.Duration(0)
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			sum := th.Start
			for _, s := range th.Steps {
				sum += s.For
			}
			longest = max(longest, sum)
		}
	}
	return longest.Duration()
}

// fault draws a fault with all that its kind takes, at a time or at a step of the protocol. One that
// robs takes a lock away from a client that has just got it.
func (d *drawing) fault(p *plan.Plan, span time.Duration, robs bool) plan.Fault {
	kind := d.kind(robs)
	f := plan.Fault{Kind: kind.Name}
	if kind.Name == "clock-jump" && d.scope.Object != history.APermitSemaphore { // no other client tells a server the time
		kind.Needs.Client = plan.Never
	}
	if kind.Needs.Replica && len(p.Servers) == 0 {
		p.Servers = []plan.Server{{Name: "redis"}}
	}
	ofServers := kind.Needs.Messages || kind.Name == "partition" || kind.Needs.Client == plan.Never && kind.Needs.Lock == plan.Never
	if ofServers && len(p.Servers) > 1 {
		if n := d.upTo(0, len(p.Servers), "struck server"); n > 0 { // 0: any, or the first
			f.Server = p.Servers[n-1].Name
		}
	}
	if kind.Needs.Replica {
		at := slices.IndexFunc(p.Servers, func(s plan.Server) bool { return s.Name == f.Server })
		if s := &p.Servers[max(at, 0)]; s.Replicas == 0 {
			s.Replicas, s.Lag = 1, d.time(2*time.Second, "lag")
		}
	}
	switch {
	case kind.Needs.Client != plan.Never && d.struck != "":
		f.Client = d.struck
	case kind.Needs.Client != plan.Never && d.mood.local && d.upTo(0, 1, "of many threads") == 1:
		f.Client = p.Clients[0].Name
	case d.takes(kind.Needs.Client):
		f.Client = p.Clients[d.upTo(1, len(p.Clients), "struck client")-1].Name
	}
	if d.takes(kind.Needs.Lock) {
		locks := p.Struck()
		if kind.Name == forced {
			locks = alone(p)
		}
		f.Lock = rapid.SampledFrom(locks).Draw(d.t, "struck lock")
	}
	if d.scope.Steps && (robs || d.mood.narrow || d.upTo(0, 2, "at a step") > 0) {
		f.When = d.trigger(p, f, kind, robs)
	}
	if f.When != nil && f.When.Return == "" && d.oneIn(6, "from a step on") {
		f.From, f.When.Nth = max(d.step(p)-moment*plan.Duration(d.upTo(0, 5, "before it")), 0), 1
	}
	if f.When == nil {
		f.From = d.time(span, "strikes")
		if d.oneIn(4, "with a step") {
			f.From = d.near(d.step(p))
		}
		if kind.Needs.Messages || kind.Needs.Lasts && d.upTo(0, 4, "ends") < 4 {
			f.To = f.From + d.span("lasts")
		}
	}
	d.extents(p, &f, kind)
	return f
}

// extents draws how long a fault lasts, how many messages it strikes, and the rest of what its kind takes.
func (d *drawing) extents(p *plan.Plan, f *plan.Fault, kind fault.Kind) {
	if d.takes(kind.Needs.By) {
		f.By = d.span("by")
		if d.mood.narrow && d.upTo(0, 2, "into what follows") > 0 { // a message comes into one of the calls that follow
			f.By = moment + d.time(d.length(p)+3*time.Second, "by a call")
		} else if d.mood.late && (kind.Name == "delay-message" || kind.Name == "duplicate-message") {
			f.By = moment + d.time(latest, "late by")
		}
	}
	switch {
	case f.When == nil:
	case kind.Needs.Lasts:
		f.For = d.span("lasts")
	case kind.Needs.Messages && d.oneIn(4, "several"):
		f.Count = d.upTo(2, 4, "messages")
	}
	d.cap(p, f)
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
}

// forced is the fault for which an operator has no means against a group.
const forced = "force-unlock"

// alone are the locks of a plan that are not made of others.
func alone(p *plan.Plan) []string {
	return slices.DeleteFunc(p.Locks(), func(name string) bool { _, group := p.Group(name); return group })
}

// cap has a fault that holds messages up do so for no longer than they may be late.
func (d *drawing) cap(p *plan.Plan, f *plan.Fault) {
	kind, _ := fault.Find(f.Kind)
	most := d.latest(p, *f)
	if most == 0 || !kind.Needs.Messages && kind.Name != "partition" {
		return
	}
	f.By, f.For = min(f.By, most), min(f.For, most)
	if f.To > 0 {
		f.To = min(f.To, f.From+most)
	}
}

// latest is how long a fault may hold up messages of whom it strikes; 0: for as long as it is drawn.
func (d *drawing) latest(p *plan.Plan, f plan.Fault) plan.Duration {
	once := slices.ContainsFunc(p.Clients, func(c plan.Client) bool { return c.NoRetry && (f.Client == "" || f.Client == c.Name) })
	if once && d.scope.LatestOnce > 0 {
		return plan.Duration(d.scope.LatestOnce)
	}
	return plan.Duration(d.scope.Latest)
}

// kind draws a kind of fault: any, or, more often than they are many, one that strikes messages or
// a lock's key. Messages matter most where holds are counted.
func (d *drawing) kind(robs bool) fault.Kind {
	some := d.mood.kinds
	if d.mood.renewing && !robs && d.upTo(0, 1, "of a renewal") == 1 {
		return d.of(ofMessages)
	}
	switch class := d.upTo(0, 4, "class"); {
	case robs, class == 2:
		return d.of(ofKeys)
	case class < 2, class == 3 && d.mood.deep, class == 3 && d.mood.narrow:
		return d.of(ofMessages)
	}
	return some[d.upTo(0, len(some)-1, "kind")]
}

// of draws a kind of a class, or of any, if none of it strikes the plan.
func (d *drawing) of(class func(plan.FaultNeeds) bool) fault.Kind {
	some := orAll(d.kinds(class), d.mood.kinds)
	return some[d.upTo(0, len(some)-1, "kind")]
}

func ofMessages(n plan.FaultNeeds) bool { return n.Messages }
func ofKeys(n plan.FaultNeeds) bool     { return !n.Messages && n.Lock != plan.Never }

// kinds are the kinds of faults of a class that strike the plan.
func (d *drawing) kinds(class func(plan.FaultNeeds) bool) []fault.Kind {
	return slices.DeleteFunc(slices.Clone(d.mood.kinds), func(k fault.Kind) bool { return !class(k.Needs) })
}

func orAll(some, all []fault.Kind) []fault.Kind {
	if len(some) == 0 {
		return all
	}
	return some
}

func (d *drawing) takes(n plan.Need) bool {
	return n == plan.Must || n == plan.May && d.upTo(0, 1, "takes") == 1
}

// span draws how long something lasts: any length, or one that is near to what programs and clients
// have: go-redis's timeout, the watchdog's period, a lease.
func (d *drawing) span(what string) plan.Duration {
	if d.upTo(0, 1, what+" near an edge") == 0 {
		return moment + d.time(time.Minute, what)
	}
	edges := []time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second, 6 * time.Second, 20 * time.Second}
	edge := rapid.SampledFrom(append(edges, d.leases...)).Draw(d.t, what+" edge")
	return max(d.about(plan.Duration(edge), what+" about"), 1)
}

// trigger draws a step of the protocol that can occur, so that the fault strikes while a call is
// under way, or just after it. nil: the struck client uses no lock.
func (d *drawing) trigger(p *plan.Plan, f plan.Fault, kind fault.Kind, robs bool) *plan.Trigger {
	type use struct{ client, lock string }
	var uses []use // who takes which lock; every section ends with an unlock
	is := d.protocol()
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				u := use{c.Name, s.Lock}
				if d.uses(s.Do) && (f.Client == "" || c.Name == f.Client || !kind.Needs.Messages) &&
					(f.Lock == "" || s.Lock == f.Lock || slices.Contains(d.keys[s.Lock], f.Lock)) && !slices.Contains(uses, u) {
					uses = append(uses, u)
				}
			}
		}
	}
	if len(uses) == 0 {
		return nil
	}
	u := rapid.SampledFrom(uses).Draw(d.t, "whose step")
	most := 3
	switch {
	case d.mood.local: // of one client many ask
		most = 8
	case d.mood.long && d.mood.renewing:
		most = 12
	}
	t := &plan.Trigger{Client: u.client, Lock: u.lock, Nth: d.upTo(1, most, "nth")}
	steps := is.steps
	if d.mood.deep {
		steps = append(steps, plan.Release, plan.Release, plan.Release)
	}
	if d.mood.local {
		steps = append(steps, is.first, is.first, plan.Subscribe, plan.Publish)
	}
	if d.mood.forces && d.does(p, u.client, u.lock, plan.ForceUnlock) {
		steps = append(steps, plan.Force, plan.Force, plan.Force, plan.Force, plan.Force, plan.Force)
	}
	if d.mood.renewing {
		steps = append(steps, plan.Renewal, plan.Renewal, plan.Renewal, plan.Renewal, plan.Renewal, plan.Renewal)
	}
	if d.mood.queue { // who gives up leaves the queue by one
		steps = append(steps, plan.Cleanup, plan.Cleanup, plan.Cleanup)
	}
	step := d.or(p, u.client, u.lock, rapid.SampledFrom(steps).Draw(d.t, "step"))
	way := d.upTo(0, 3, "way")
	if robs || kind.Needs.Lock == plan.Must && d.upTo(0, 1, "of a holder") == 1 {
		way = 3
	}
	switch {
	case way == 3 && !kind.Needs.Messages:
		t.Return, t.Nth = d.returns(p, u.client, u.lock, is.give, is.try, is.lock), 1
		if kind.Needs.Lock == plan.Must || d.upTo(0, 1, "return of") == 0 {
			t.Return = d.returns(p, u.client, u.lock, is.try, is.lock, is.give)
		}
	case way == 2 && step != plan.Publish:
		t.Between = []plan.MessageKind{d.or(p, u.client, u.lock, is.first), step}
	case step == plan.Publish && kind.Needs.Requests:
		t.Request = d.or(p, u.client, u.lock, is.first)
	case (way == 1 || way == 3 || step == plan.Publish) && !kind.Needs.Requests:
		t.Reply = step
	default:
		t.Request = step
	}
	return t
}

// times reports whether a client makes a call as often as a trigger waits for.
func (d *drawing) times(p *plan.Plan, t plan.Trigger) bool {
	n := 0
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if c.Name == t.Client && s.Do == t.Return && s.Lock == t.Lock {
					n++
				}
			}
		}
	}
	return n >= t.Nth
}

func (d *drawing) does(p *plan.Plan, client, lock string, action plan.Action) bool {
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			if c.Name == client && slices.ContainsFunc(th.Steps, func(s plan.Step) bool { return s.Do == action && s.Lock == lock }) {
				return true
			}
		}
	}
	return false
}

// DrawnBy returns the plan that a seed stands for: the same one always, in the scope given. It is
// Draw for those who have no *rapid.T.
func DrawnBy(seed uint64, s Scope) *plan.Plan {
	p := rapid.Custom(func(t *rapid.T) *plan.Plan { return Draw(t, s) }).Example(int(seed))
	p.Name = fmt.Sprintf("drawn-%d", seed)
	return p
}
