package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Options of a run. The zero value is usable.
type Options struct {
	Seed     uint64
	Scenario string // for the history's header
	// Ground is the world that it runs in; by default [world.Sim], and [world.Warp] for a lock in processes of its own.
	Ground world.Ground
	// Order decides what happens first, instead of latencies; by default the plan's order, if it has
	// one.
	Order world.Orderer
	// Sink gets every record as it becomes known, see [history.NewRecorder].
	Sink func(record any)
	// Most is after how many messages the run ends with an error, [ErrTooMany]; 0: it does not.
	Most int
}

// ErrTooMany is the error of a run that had more messages than it was allowed.
var ErrTooMany = world.ErrTooMany

// MostShrunk is how many messages a run may have in which a smaller plan is tried for one whose run had so many. A plan without its
// unlock has waiters that ask until its limit: that would take minutes, and its story would be no shorter.
func MostShrunk(messages int) int { return 4*messages + 1000 }

// Punctual is how late, in the plan's time, the machine may be at the worst for a run in real time to
// be what its plan says. What is later may be another story: the programs were too late for it, or
// what the verdicts have to allow for is as long as what they should see. The narrowest of the
// catalogue is renewal-error with hardened: renewed after 12 s and not 10, of which 11 are allowed
// and four messages as slow as the slowest.
const Punctual = 150 * time.Millisecond

// Run runs the plan in the sim world and returns its history. Same plan, subject and seed, same
// history, always. An error is the harness's: a plan that makes no sense (then there is no
// history), or something that went wrong while running, such as a panic of the lock under test;
// then the history is what was recorded until then, and its End says why.
func Run(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, o Options) (*history.History, error) {
	return run1(b, p, s, o, nil)
}

// run1 is Run, with whoever is to see the servers' keys.
func run1(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, o Options, see func(world.Observation)) (*history.History, error) {
	if err := p.Check(fault.Needs()); err != nil {
		return nil, err
	}
	switch {
	case o.Ground.Name != "":
	case s.External:
		o.Ground = world.Warp()
	default:
		o.Ground = world.Sim()
	}
	if err := Suits(p, s, o.Ground); err != nil {
		return nil, err
	}
	r := &run{see: see, ground: o.Ground, plan: p, subject: s, chance: chance(p, o.Seed), timings: timings(p, s), locks: p.Locks(), objects: p.Objects(), resources: map[string]*resource{}}
	if o.Ground.Warped {
		processes, err := world.NewProcesses()
		if err != nil {
			return nil, err
		}
		defer processes.Close()
		o.Ground = o.Ground.With(processes)
	}
	run := func(f func()) error { return caught("the run", func() error { f(); return nil }) }
	if !o.Ground.Live {
		run = func(f func()) error {
			return b.Run(func() {
				defer drawFrom(seed.Bytes(r.chance.Seed, "crypto/rand"))()
				f()
			})
		}
	}
	err := run(func() { r.run(o) })
	if !o.Ground.Live && r.world != nil && r.world.Crowded() {
		// Whoever waits for a connection of go-redis's takes a timer from a sync.Pool, and puts it back. In the
		// bubble of another run such a timer is fatal. Two collections empty every sync.Pool.
		runtime.GC()
		runtime.GC()
	}
	if r.failure == nil && err != nil {
		r.failure = err
	}
	if r.history != nil { // not in the bubble, which is watched: that a long run takes long to conclude is no stall
		r.failure = cmp.Or(r.failure, caught("the conclusion of its evidence", func() error {
			r.history = evidence.Conclude(r.history)
			return nil
		}))
	}
	if left := (*bubble.LeftError)(nil); r.history != nil && errors.As(r.failure, &left) {
		if op := neverReturned(r.history, r.leftBehind(left)); op != nil {
			r.failure = fmt.Errorf("the %s of %s by %s, called at %s, never returned: %w", op.Kind, op.Lock, op.Owner, time.Duration(op.Call).Round(time.Millisecond), left)
		}
	}
	var spin *world.SpinError
	if r.history != nil && errors.As(r.failure, &spin) {
		if call, by := waiterFor(r.history, spin); call != 0 { // a waiter that does so is the lock's, and not the harness's
			r.history.End.Spin, r.history.End.Error, r.failure = spin.Spin(), "", nil
			r.history.End.Spin.Op, r.history.End.Spin.By = call, by
		}
	}
	switch {
	case r.failure == nil || r.rec == nil:
	case r.history == nil: // the harness itself panicked
		r.history = r.rec.Close(history.End{Error: r.failure.Error()})
	default:
		r.history.End.Error = r.failure.Error()
	}
	return r.history, r.failure
}

// caught runs f, and returns its error, or its panic.
func caught(during string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{During: during, Value: p, Stack: debug.Stack()}
		}
	}()
	return f()
}

// chance is what decides in a run of the plan with that seed.
func chance(p *plan.Plan, runSeed uint64) *seed.Chance {
	c := &seed.Chance{Seed: runSeed}
	for i, s := range p.Seeds {
		next := runSeed
		if i+1 < len(p.Seeds) {
			next = p.Seeds[i+1].Seed
		}
		c.Turns = append(c.Turns, seed.Turn{At: time.Duration(s.Until), Seed: next})
	}
	if len(p.Seeds) > 0 {
		c.Seed = p.Seeds[0].Seed
	}
	return c
}

// timings are those of a plan, but for the lease of a lock that has one of its own.
func timings(p *plan.Plan, s subjects.Subject) plan.Timings {
	t := p.Timings.WithDefaults()
	t.Watchdog = cmp.Or(plan.Duration(s.Lease), t.Watchdog)
	return t
}

type run struct {
	see     func(world.Observation)
	ground  world.Ground
	plan    *plan.Plan
	subject subjects.Subject
	chance  *seed.Chance
	timings plan.Timings
	latency time.Duration // of a message without faults, at most

	world     *world.World
	rec       *history.Recorder
	clients   []openClient
	processes []process // of the plan's clients
	fresh     process   // see tryAll

	threads   []*thread
	locks     []string
	objects   map[string]history.Object
	operators []process       // that faults are still to act through
	ctx       context.Context // of all calls; it ends with the run
	closing   sync.RWMutex    // held for reading by whoever records
	over      atomic.Bool     // the history is closed: nothing may be recorded any more

	mu        sync.Mutex // guards what follows, until the history is closed
	running   []runs     // by client
	calls     []int64    // of programs
	resources map[string]*resource

	history *history.History
	failure error
}

// process is a client of the plan: a client of each server, by the server's name.
type process struct {
	name string
	on   map[string]openClient
}

type openClient struct {
	subjects.Client
	redis *redis.Client
}

func (r *run) run(o Options) {
	var err error
	timed := *r.plan
	timed.Timings = r.timings
	if o.Order != nil {
		timed.Order = []string{}
	}
	if r.world, err = world.New(o.Ground, &timed, r.chance, r.subject.Layout); err != nil {
		r.failure = err
		return
	}
	watchdog := time.Duration(r.timings.Watchdog)
	header := history.Header{
		Clock: "virtual", World: o.Ground.Name, Scenario: o.Scenario, Subject: r.subject.Name, Seed: o.Seed,
		Plan: r.plan.JSON(), Abilities: r.subject.Abilities, Groups: groupsOf(r.plan), Layout: r.subject.Layout, Versions: versions(o.Ground),
		WatchdogTimeout: watchdog, RenewEvery: r.subject.Renews(watchdog), LatencyMax: time.Duration(r.timings.LatencyMax),
		Unsubscribed: r.subject.Unsubscribed, SilenceNoticed: r.subject.SilenceNoticed, TokenUnit: r.subject.TokenUnit, PlaceKept: r.subject.KeepsPlace(watchdog), AnswerTimeout: cmp.Or(r.subject.AnswerTimeout, world.AnswerTimeout), Idempotent: r.subject.Idempotent, Limitations: r.subject.Limitations,
	}
	for _, c := range r.plan.Clients {
		if c.NoRetry && !r.subject.Resends {
			header.NoRetry = append(header.NoRetry, c.Name)
		}
	}
	if part := r.subject.RetriesAfter; part > 1 {
		header.RenewRetry = header.RenewEvery / time.Duration(part)
	}
	if o.Ground.Live {
		header.Clock, header.Timescale = "monotonic", o.Ground.Timescale
		header.LatencyMax = max(o.Ground.Latency, time.Duration(r.plan.Timings.LatencyMax))
	}
	r.latency = header.LatencyMax
	r.rec = history.NewRecorder(header, r.world.Now, o.Sink)
	var stop context.CancelFunc
	r.ctx, stop = context.WithCancel(context.Background())
	if err = r.open(); err != nil {
		r.world.Fail(err)
	}
	if o.Order != nil {
		r.world.Order(o.Order)
	} else if len(r.plan.Order) > 0 {
		r.world.Order(world.Follow(r.plan.Order))
	}
	r.world.Operator = r.operate
	r.world.Limit(o.Most)
	r.world.Begin(r.rec, r.plan.Faults...)
	r.world.Observe(r.see)
	r.start()
	r.world.Run(r.until(r.busy))
	if timed.Order != nil {
		r.world.Run(r.quiet()) // what is under way belongs to what is ordered
	}
	if r.world.Failure() == nil {
		r.world.HealAll()
		r.world.Run(r.until(r.busy)) // what faults kept from going on
		r.world.Run(r.quiet())
		for _, l := range r.world.Listeners() {
			r.rec.Event(history.Event{Kind: history.Listening, Client: l.Client, Note: l.Channel})
		}
		r.residue(false) // before somebody comes who may remove it
		r.tryAll()
		r.world.Run(r.until(r.tries))
		r.residue(true)
	}
	r.close()
	r.failure = r.world.Failure()
	var closing error
	r.world.Close(func() {
		stop()
		r.mu.Lock()
		clients := r.clients
		r.mu.Unlock()
		for _, c := range clients {
			if c.Client != nil {
				err := caught("Close of a client", c.Client.Close)
				var panicked *PanicError
				if errors.As(err, &panicked) || r.subject.External { // an error tells of its process, which did not end as it should
					closing = errors.Join(closing, err)
				}
			}
			c.redis.Close()
		}
	})
	closing = errors.Join(closing, r.world.Unclean())
	if r.failure == nil {
		r.failure = closing
	}
}

// residue records what keys are left without an end.
func (r *run) residue(looked bool) {
	for _, key := range r.world.Residue(looked) {
		r.rec.Event(history.Event{Kind: history.Residue, Note: key})
	}
}

// opening is how much real time a client has to be ready.
const opening = time.Minute

// open makes all clients while messages are delivered: to start a process, and to connect, takes no time of
// the story.
func (r *run) open() error {
	opened := make(chan error, 1)
	go func() {
		defer r.world.Notify()
		err := errors.New("opening a client ended its goroutine")
		defer func() { opened <- err }()
		err = caught("the opening of a client", func() error { return r.openAll() })
	}()
	ready, err := false, error(nil)
	r.world.Prepare(opening*time.Duration(len(r.plan.Clients)+1+len(r.plan.Faults)), func() bool {
		select {
		case err = <-opened:
			ready = true
		default:
		}
		return ready
	})
	if !ready {
		err = fmt.Errorf("open %s: its clients were not ready after %v each", r.subject.Name, opening)
	}
	return err
}

// openAll makes the clients of the plan, the fresh one, and an operator for each fault that needs one: commands of
// one client that say the same at the same time could not be told from each other.
func (r *run) openAll() (err error) {
	for _, c := range r.plan.Clients {
		var threads []int64
		for _, t := range c.Threads {
			threads = append(threads, t.ID)
		}
		p, err := r.process(c.Name, c.NoRetry, threads...)
		if err != nil {
			return err
		}
		r.processes = append(r.processes, p)
	}
	if r.fresh, err = r.process(history.Fresh, false, 1); err != nil {
		return err
	}
	for _, f := range r.plan.Faults {
		if f.Kind != "force-unlock" {
			continue
		}
		name := "operator"
		if n := len(r.operators); n > 0 {
			name = fmt.Sprintf("operator-%d", n+1)
		}
		p, err := r.process(name, false, 1)
		if err != nil {
			return err
		}
		r.operators = append(r.operators, p)
	}
	return nil
}

// process makes a client with such threads.
func (r *run) process(name string, noRetry bool, threads ...int64) (process, error) {
	p := process{name: name, on: map[string]openClient{}}
	for _, server := range r.plan.ServerNames() {
		rdb := r.redis(name, server, noRetry)
		client, err := r.connect(name, server, rdb, noRetry, threads)
		r.mu.Lock()
		r.clients = append(r.clients, openClient{client, rdb})
		r.mu.Unlock()
		if err != nil {
			return p, err
		}
		p.on[server] = openClient{client, rdb}
	}
	return p, nil
}

// connect opens the subject for a client process and a server.
func (r *run) connect(name, server string, rdb *redis.Client, noRetry bool, threads []int64) (subjects.Client, error) {
	random := "random/" + name
	if server != "" {
		random += "@" + server
	}
	addr := ""
	if r.subject.External {
		var err error
		if addr, err = r.world.Listen(name, server); err != nil {
			return nil, err
		}
	}
	e := subjects.NewEnv(name, rdb, r.world.Real(time.Duration(r.timings.Watchdog)), r.world.Fail)
	e.Dial, e.Addr, e.Timescale = r.world.Dialer(name, server), addr, r.ground.Timescale
	e.Start = r.world.Starter()
	e.Scheduler, e.Random = r.world.Scheduler(name), seed.Bytes(r.chance.Seed, random)
	e.NoRetry = noRetry
	e.Now = func() time.Time { return r.world.Clock(name) }
	for _, t := range threads {
		e.Owners = append(e.Owners, fmt.Sprintf("%s:%d", name, t))
	}
	c, err := r.subject.Open(e)
	if err != nil {
		return nil, fmt.Errorf("open %s for %s: %w", r.subject.Name, name, err)
	}
	if p, ok := c.(subjects.Process); ok {
		r.world.Attach(name, p)
	}
	return c, nil
}

// start starts all threads. They begin with a sleep, so that the world wakes them one at a time.
func (r *run) start() {
	if r.world.Failure() != nil {
		return
	}
	for i, c := range r.plan.Clients {
		for _, th := range c.Threads {
			r.launch(r.processes[i], th)
		}
	}
}

// launch starts a thread.
func (r *run) launch(p process, th plan.Thread) {
	t := newThread(r, p, th)
	r.threads = append(r.threads, t)
	r.started(p.name)
	go func() {
		t.number.Store(bubble.Number())
		defer r.ended(p.name)
		defer func() {
			if p := recover(); p != nil && !r.over.Load() {
				r.world.Fail(&PanicError{During: fmt.Sprintf("%s %q by %s", t.doing.Do, t.doing.Lock, t.owner), Value: p, Stack: debug.Stack()})
			}
		}()
		t.steps()
	}()
}

// tryAll has the fresh client lock and unlock each lock of the plan, one after the other. Every lock that nobody holds is free
// by now, so that it need not wait longer than many messages take.
func (r *run) tryAll() {
	if r.world.Failure() != nil {
		return
	}
	wait := plan.Duration(time.Second + 100*r.latency)
	var steps []plan.Step
	for _, lock := range r.locks {
		steps = append(steps, r.trial(lock, r.objects[lock], wait)...)
	}
	r.launch(r.fresh, plan.Thread{ID: 1, Steps: steps})
}

// record calls f, which records something, unless the history is closed.
func (r *run) record(f func()) {
	r.closing.RLock()
	defer r.closing.RUnlock()
	if !r.over.Load() {
		f()
	}
}

// operate has the next operator force a lock free, by the lock's own means.
func (r *run) operate(lock string) {
	operator := r.operators[0]
	r.operators = r.operators[1:]
	t := newThread(r, operator, plan.Thread{ID: 1})
	r.started(operator.name)
	await := t.forcing(plan.Step{Do: plan.ForceUnlock, Lock: lock}) // here and now, or it would race with the fault's own record
	go func() {
		defer r.ended(operator.name)
		await()
	}()
}

// runs is how many threads of a client are running.
type runs struct {
	client  string
	threads int
}

// started counts a thread of a client; "" is nobody's.
func (r *run) started(client string) { r.count(client, 1) }

func (r *run) ended(client string) {
	r.count(client, -1)
	r.world.Notify()
}

func (r *run) count(client string, threads int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.running, func(c runs) bool { return c.client == client })
	if i < 0 {
		i = len(r.running)
		r.running = append(r.running, runs{client: client})
	}
	r.running[i].threads += threads
}

// busy reports whether any program of a client that lives goes on.
func (r *run) busy() bool { return r.goes(func(client string) bool { return !r.world.Dead(client) }) }

// goes reports whether any program goes on of one of the clients that are meant.
func (r *run) goes(meant func(client string) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.running, func(c runs) bool { return c.threads > 0 && meant(c.client) })
}

// tries reports whether the fresh client goes on.
func (r *run) tries() bool {
	return r.goes(func(client string) bool { return client == history.Fresh })
}

// A run has two phases. In the first faults strike, until all programs have ended or the limit of the plan is over. Then everything
// is healed, programs that faults kept from going on end, or are late; the leases that are left end; and a client that had no part
// in any of it tries each lock. Each of these ends by a rule: see [world.World.Run].

// until returns the rule for when nobody goes on any more, or the limit of the plan is over.
func (r *run) until(goes func() bool) func(now time.Duration) (bool, time.Duration) {
	latest := r.world.Now() + time.Duration(r.timings.Limit)
	return func(now time.Duration) (bool, time.Duration) {
		r.losses()
		return !goes() || now >= latest, latest
	}
}

// quiet returns the rule for when what programs left is gone: when no key is left, and a watchdog that outlives them would have
// shown itself; or when keys outlast every lease that they can rightly have. A lock may have given a key far more: no more than
// the limit of the plan is waited for that.
func (r *run) quiet() func(now time.Duration) (bool, time.Duration) {
	watchdog := time.Duration(r.timings.Watchdog)
	longest := watchdog
	for _, t := range r.threads {
		for _, s := range t.plan.Steps {
			longest = max(longest, time.Duration(s.Lease))
		}
	}
	quiet := r.world.Now() + watchdog/3 + time.Second
	_, until := r.world.Remaining()
	latest := max(quiet+longest, min(until+time.Second, quiet+time.Duration(r.timings.Limit)))
	return func(now time.Duration) (bool, time.Duration) {
		r.losses()
		if now < quiet {
			return false, quiet
		}
		left, _ := r.world.Remaining()
		return !left || now >= latest, latest
	}
}

// losses records the losses that programs were told of.
func (r *run) losses() {
	for _, t := range r.threads {
		t.losses()
	}
}

// close ends the history: what is left over, and evidence on calls that were never answered.
func (r *run) close() {
	r.closing.Lock() // whoever records now is done first
	r.over.Store(true)
	r.closing.Unlock()
	locks, states := r.world.Keys()
	for i, lock := range locks {
		r.rec.Event(history.Event{Kind: history.Leftover, Lock: lock, Owner: states[i].Holdings[0].Owner, Deadline: states[i].Deadline})
	}
	r.mu.Lock()
	calls := make([]history.Op, len(r.calls))
	for i, id := range r.calls {
		calls[i] = r.rec.Op(id)
	}
	r.mu.Unlock()
	r.world.Finish(calls)
	trace, messages := r.world.Trace()
	end := history.End{Trace: trace, Messages: messages, Late: r.world.Late()}
	if err := r.world.Failure(); err != nil {
		end.Error = err.Error()
	}
	r.history = r.rec.Close(end)
}
