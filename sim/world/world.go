package world

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
	"github.com/holdfast-sim/holdfast/sim/warp"
	"github.com/holdfast-sim/holdfast/subjects"
)

// World is one running world. New, Prepare, Begin, Run and Close are for the goroutine that made it, in this
// order; what programs may call says so.
type World struct {
	start    atomic.Pointer[time.Time] // when the run began
	began    time.Time                 // the same on the clock of the networks, which goes as the plan's time does
	locks    []*lock                   // in the order of the plan
	layout   history.Layout
	observer func(Observation)
	rec      *history.Recorder
	watchdog time.Duration // the lease that renewals set
	ground   Ground
	bubble   *bubble.Bubble // nil in real time
	late     atomic.Int64   // how late anything was done, at the worst

	servers []*server
	wake    chan struct{}
	alarm   *time.Timer // of await

	schedulers map[string]*fault.Scheduler // by client
	planned    []*struckFault              // all faults, in the order of the plan
	faults     []strike                    // to come, in order
	watching   []*watch                    // those that wait for their trigger or strike messages
	unplanned  int                         // faults that this machine was the cause of
	struck     time.Duration               // when the last fault began: what it did counts from then, in real time too
	overtaking []overtaken
	stuck      bool         // it cannot go on, and its clients are as they are
	ended      atomic.Bool  // it is closed: nobody gets a turn any more
	floor      atomic.Int64 // it is at least so late, in ns
	pressed    struct {     // what happened at once because somebody waited for a mutex: when, and how often
		at    time.Duration
		times int
	}
	crowded atomic.Bool   // commands of a client may have waited for a connection
	woke    time.Duration // when a program was woken, or a message arrived, last
	// Operator has somebody force a lock free, by the lock's own means.
	Operator func(lock string)

	processes *warp.Coordinator // nil: there are none
	waitEnds  time.Time         // when one of them is to be woken; zero: none is

	order *ordering // nil: latencies decide what happens first

	mu       sync.Mutex // guards what follows, which programs touch
	sleepers []*sleeper
	returns  []returned
	frozen   map[string]int  // clients, by how many pauses
	dead     map[string]bool // clients
	failure  error
	unclean  error                    // see Unclean
	numbers  map[string]int64         // of permits, by their ids
	ahead    map[string]time.Duration // how far the clocks of clients are, that were set forward

	overwritten map[part][]string // the keys that a fault wrote over, by the lock's key that they belong to

	outside outside
	calls   calls
	retries retries
	spins   spins
	ready   bool // its clients are: the story has begun
	log     serverLog
	trace   hash.Hash
	count   int // messages delivered
	most    int // so many may be; 0: any number
}

// New makes a world; that of virtual time in the current bubble. Locks are kept as the layout says. Chance gets its clock.
func New(g Ground, p *plan.Plan, chance *seed.Chance, layout history.Layout) (*World, error) {
	quiet()
	t := p.Timings.WithDefaults()
	latency := network.Latency{Min: time.Duration(t.LatencyMin), Max: time.Duration(t.LatencyMax)}
	if p.Order != nil {
		latency = network.Latency{}
	}
	if t.Priorities != nil {
		latency.Priorities, latency.Changes = true, t.Priorities.Changes
	}
	if g.Live && p.Timings.LatencyMax == 0 {
		latency = network.Latency{} // that of the machine is enough
	}
	w := &World{ground: g, bubble: bubble.Here(), processes: g.processes, layout: layout, watchdog: time.Duration(t.Watchdog),
		wake: make(chan struct{}, 1), schedulers: map[string]*fault.Scheduler{}, trace: sha256.New(),
		numbers: map[string]int64{}, ahead: map[string]time.Duration{}, frozen: map[string]int{}, dead: map[string]bool{}, overwritten: map[part][]string{}, spins: spins{}}
	chance.Now = w.sinceBegun
	servers := p.Servers
	if len(servers) == 0 {
		servers = []plan.Server{{}}
	}
	for _, one := range servers {
		s, err := w.newServer(one, chance, latency)
		if err != nil {
			for _, s := range w.servers {
				s.close()
			}
			return nil, err
		}
		w.servers = append(w.servers, s)
	}
	w.locksOf(p)
	w.calls = calls{asked: map[int64]bool{}, owners: map[string]string{}, names: map[string]string{}, scripts: map[string]history.Step{}, in: map[bubble.Label]int64{}}
	w.outside = outside{dialing: map[string]bool{}, processes: map[string][]subjects.Process{}, calling: map[string][]history.Op{}, abandoned: map[string][]history.Op{}}
	w.log = serverLog{sent: map[int64]bool{}, dialed: map[*network.Link]time.Duration{}, requests: map[string]int64{}, begun: map[string]time.Duration{}, asked: map[*network.Link]request{},
		loads: map[string][]load{}, transactions: map[*network.Link]*transaction{}}
	w.Begin(history.NewRecorder(history.Header{}, w.Now, nil)) // which nobody reads
	return w, nil
}

// Prepare delivers messages until ready says so, which is asked whenever everything is at rest, or most of real time is over. No
// fault strikes, and what was recorded is forgotten: clients connect, and are slow to start, before the run begins.
func (w *World) Prepare(most time.Duration, ready func() bool) {
	latest := w.Now() + w.Planned(most)
	w.Run(func(now time.Duration) (bool, time.Duration) { return ready() || now >= latest, latest })
}

// Begin has the run begin now. Its faults strike from now on, and rec gets renewals, events, faults and the server log.
func (w *World) Begin(rec *history.Recorder, faults ...plan.Fault) {
	now := time.Now()
	if w.start.Load() == nil {
		w.began = now
	} else {
		w.began, w.ready = w.began.Add(w.Now()), true
	}
	w.start.Store(&now)
	w.floor.Store(0)
	w.late.Store(0)
	w.woke, w.rec, w.log.rows = 0, rec, nil
	w.schedule(faults)
}

// Now is the time since the start of the run. Programs may call it.
func (w *World) Now() time.Duration {
	return max(w.Planned(time.Since(*w.start.Load())), time.Duration(w.floor.Load()))
}

// sinceBegun is the time since the start of the run as far as its story goes: 0 while it is prepared.
func (w *World) sinceBegun() time.Duration {
	if !w.ready {
		return 0
	}
	return w.Now()
}

// Fail ends the run with a harness error; the first one counts. Programs may call it.
func (w *World) Fail(err error) {
	w.mu.Lock()
	w.failLocked(err)
	w.mu.Unlock()
	w.Notify()
}

// failLocked is Fail while w.mu is held.
func (w *World) failLocked(err error) {
	if w.failure == nil {
		w.failure = err
	}
}

// Failure returns the harness error, if there was one.
func (w *World) Failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// Unclean says which keys may be left on a server that is not ours, once the world is closed; nil: none is.
func (w *World) Unclean() error { return w.unclean }

// Notify has the world look again whether something is due, or all is over. Programs may call it.
func (w *World) Notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// poolSize is how many connections a Redis client has at most; go-redis's default depends on the number of
// processors.
const poolSize = 10

// AnswerTimeout is how long a Redis client waits for an answer until it sends a request again: go-redis's
// ReadTimeout by default, and the backoff that it is given here.
const AnswerTimeout = 5*time.Second + 100*time.Millisecond

// Crowded reports whether commands of a client may have waited for one another's connections.
func (w *World) Crowded() bool { return w.crowded.Load() }

// Redis returns a Redis client of a client process for a server, with go-redis's defaults except for what
// would let anything but the seed decide, or would talk of the machine, and for what tune changes.
func (w *World) Redis(client, server string, tune func(*redis.Options)) *redis.Client {
	s := w.server(server)
	o := &redis.Options{
		Addr:     "127.0.0.1:6379", // a host name would be looked up, outside the bubble
		Dialer:   func(ctx context.Context, _, _ string) (net.Conn, error) { return s.net.Dial(ctx, client) },
		PoolSize: poolSize,
		// Its default of 32 KB each is much for what some connections carry. A command that is longer
		// is written in parts, which arrive one after the other.
		ReadBufferSize: 1 << 10, WriteBufferSize: 4 << 10,
		// Equal bounds leave its jitter nothing to decide.
		MinRetryBackoff: 100 * time.Millisecond, MaxRetryBackoff: 100 * time.Millisecond,
		DisableIdentity:          true, // it would send the versions of Go and go-redis
		MaintNotificationsConfig: noMaintenanceNotices(),
	}
	if w.ground.Live { // go-redis's defaults, on the scale of the run
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = w.Real(5*time.Second), w.Real(3*time.Second), w.Real(3*time.Second), w.Real(4*time.Second)
		o.MinRetryBackoff, o.MaxRetryBackoff = w.Real(o.MinRetryBackoff), w.Real(o.MaxRetryBackoff)
	}
	tune(o)
	c := redis.NewClient(o)
	c.AddHook(&callHook{w: w, client: client, server: s})
	return c
}

// Scheduler returns the timers of a client's watchdog.
func (w *World) Scheduler(client string) *fault.Scheduler {
	s := w.schedulers[client]
	if s == nil {
		s = &fault.Scheduler{Caught: func(p any) { w.Fail(fmt.Errorf("panic in the watchdog of %s: %v", client, p)) }}
		w.schedulers[client] = s
	}
	return s
}

// event is something that is due, and makes it happen.
type event struct {
	at     time.Duration
	happen func()
}

// later reports whether an event is due after at, or never.
func (e event) later(at time.Duration) bool { return e.happen == nil || at < e.at }

// Run lets events happen until done says so, which is asked whenever everything is at rest, or the
// world failed. done gets the time, and returns when it wants to be asked again at the latest.
func (w *World) Run(done func(now time.Duration) (bool, time.Duration)) {
	if w.stuck {
		return
	}
	awaited := time.Duration(-1)
	if w.ground.Live {
		stop := make(chan struct{})
		defer close(stop)
		go w.watchLateness(stop)
	}
	for {
		stall := w.settle()
		if stall != nil && !stall.Mutex {
			w.stalled(stall)
			return
		}
		if stall == nil && w.rest() {
			continue
		}
		now := w.Now()
		w.settled(now)
		w.answerReturns()
		if w.most > 0 && w.count > w.most {
			w.Fail(ErrTooMany)
		}
		over, ask := done(now)
		if failure := w.Failure(); over || failure != nil {
			w.stuck = errors.As(failure, new(*SpinError)) // it would not end when it is closed, either
			return
		}
		next := event{}
		if stall != nil {
			if next = w.pressing(now); next.happen == nil {
				w.stalled(stall)
				return
			}
		} else if w.order != nil {
			next = w.ordered(now)
		} else {
			next = w.next()
		}
		if next.happen == nil || next.at > ask {
			next = event{at: ask, happen: func() {}}
		}
		if next.at > now {
			awaited = next.at
			w.await(w.Real(next.at - now))
			continue // others may have acted at that instant, or before
		}
		if w.ground.Live && next.at == awaited {
			w.wasLate(now - awaited)
			w.suffered("pause-harness", "", awaited, now)
		}
		next.happen()
	}
}

// stalled ends a run that cannot go on.
func (w *World) stalled(s *bubble.Stall) {
	w.stuck = true
	w.Fail(&bubble.StallError{Stall: *s})
}

// pressing returns what happens at once because somebody waits for a mutex: no time passes until its holder has got what
// it waits for. That is its turn to send, the message that is due first, or the end of the first connection that a fault
// holds up.
func (w *World) pressing(now time.Duration) (first event) {
	if passed := time.Since(*w.start.Load()); passed != w.pressed.at {
		w.pressed.at, w.pressed.times = passed, 0
	}
	if w.pressed.times++; w.pressed.times > mostPressing {
		return event{}
	}
	first.at = now
	w.floor.Store(int64(now) + 1) // no two things happen at once, though no time passes
	if s := w.nextTurn(); s != nil {
		first.happen = func() {
			if w.Stopped(s.client) {
				s.refused = network.ErrReset // which go-redis does not try again here
			}
			w.rouse(s)
		}
		return first
	}
	var due time.Time
	for _, s := range w.servers {
		if m := s.net.Next(); m != nil && (first.happen == nil || m.Due.Before(due)) {
			due = m.Due
			first.happen = func() { w.deliver(s, m) }
		}
	}
	for _, s := range w.servers {
		if l := s.net.Held(); first.happen == nil && l != nil {
			first.happen = func() { s.net.Reset(l) }
		}
	}
	return first
}

// mostPressing is how often something happens at once before that is given up: what comes next may be no help.
const mostPressing = 500

// await blocks for d or until something was written.
func (w *World) await(d time.Duration) {
	var stalled <-chan *bubble.Stall
	if !w.ground.Live {
		stalled = w.bubble.Stalled()
	}
	if w.alarm == nil {
		w.alarm = time.NewTimer(d)
	} else {
		w.alarm.Reset(d)
	}
	select {
	case <-w.alarm.C:
	case <-w.wake:
		w.alarm.Stop()
	case <-stalled:
		w.alarm.Stop()
	}
}

// next returns what is due first; of a tie, keys expire first, then faults, programs, messages.
func (w *World) next() event {
	first := w.timed()
	// Messages arrive and clients wake one after the other. What two of them do by equal timers, or two
	// goroutines of one, would otherwise come at one instant, and its order be the scheduler's.
	if s, at := w.nextSleeper(); s != nil && first.later(max(at, w.woke+1)) {
		first = event{max(at, w.woke+1), func() { w.rouse(s) }}
	}
	if e := w.nextWait(); e.happen != nil && first.later(e.at) {
		first = e
	}
	for _, s := range w.servers {
		if m := s.net.Next(); m != nil {
			at := max(m.Due.Sub(w.began), w.clear(s, m))
			if !w.ground.Live {
				at = max(at, w.woke+1)
			}
			if first.later(at) {
				first = event{at, func() { w.deliver(s, m) }}
			}
		}
	}
	return first
}

// timed returns the key that expires or the fault that begins or ends first.
func (w *World) timed() event {
	var first event
	if s, key, at, ok := w.nextExpiry(); ok {
		first = event{at, func() { w.expire(s, key, at) }}
	}
	if len(w.faults) > 0 && first.later(w.faults[0].at) {
		f := w.faults[0]
		first = event{f.at, func() { w.faults = w.faults[1:]; w.strike(f) }}
	}
	return first
}

// deliver has m arrive, unless a fault has something against it.
func (w *World) deliver(s *server, m *network.Message) {
	if !w.fated(m) || w.waits(s, m) {
		return
	}
	w.count++
	w.traced(m)
	s.tick()
	if m.Kind == network.Data && m.Dir == network.ToServer && s.net.Arrives(m) {
		w.arriving(m)
		if m.Stamp == "" {
			w.spunOutside(m.Link.Client, m.Args)
		}
		if n := noteOf(m); n.instead != nil {
			m.Args, m.Data = n.instead, wireCommand(n.instead)
		}
	}
	w.unseen(s, m)
	w.woke = w.Now()
	taken := s.net.Deliver(m)
	if m.Kind == network.Data && m.Dir == network.ToClient && taken {
		w.log.taken = m
	}
	w.passed(m)
}

// unseen records that a request of a call is lost, since a fault has silenced its connection.
func (w *World) unseen(s *server, m *network.Message) {
	n := noteOf(m)
	if n == nil || n.call == 0 || m.Kind != network.Data || m.Dir != network.ToServer || w.log.closed || !s.net.Follows(m) {
		return
	}
	e := history.Event{At: w.Now(), Since: m.Sent.Sub(w.began), Kind: history.Unseen, Client: m.Link.Client}
	if len(n.locks) == 1 {
		e.Lock = n.locks[0]
	}
	w.rec.Event(e)
}

// traced adds a message to the trace: when, on which connection, which way, what.
func (w *World) traced(m *network.Message) {
	var head [18]byte
	binary.BigEndian.PutUint64(head[:], uint64(w.Now()))
	head[8], head[9] = byte(m.Dir), byte(m.Kind)
	binary.BigEndian.PutUint64(head[10:], uint64(len(m.Data)))
	w.trace.Write(head[:])
	w.trace.Write([]byte(m.Link.Name))
	w.trace.Write(m.Data)
}

// ErrTooMany is the failure of a world in which more messages were delivered than [World.Limit] allows.
var ErrTooMany = errors.New("more messages than the run was allowed")

// Limit has the world fail after so many messages; 0: it does not. It is called before Run.
func (w *World) Limit(messages int) { w.most = messages }

// Trace returns the hash over all messages so far, and how many they were.
func (w *World) Trace() (string, int) { return hex.EncodeToString(w.trace.Sum(nil)[:16]), w.count }

// Close ends what is left: faults are healed, sleeping programs wake, release is called in a
// goroutine of its own while messages go on being delivered, and all connections are closed.
// Nothing is recorded any more. Of a world that could not go on, all is left as it is.
func (w *World) Close(release func()) {
	if w.stuck {
		return
	}
	w.log.closed = true
	w.order = nil
	w.faults, w.watching = nil, nil
	for _, s := range w.servers {
		s.net.HealAll(w.began.Add(w.Now()))
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		release()
		w.Notify()
	}()
	deadline := w.Now() + w.Planned(w.patience())
	w.mu.Lock()
	w.failure = nil // it has been reported; what is left is to tidy up
	clear(w.frozen)
	clear(w.dead)
	for _, s := range w.sleepers {
		s.at = min(s.at, w.Now())
	}
	w.mu.Unlock()
	last := time.Duration(0)
	w.Run(func(now time.Duration) (bool, time.Duration) {
		select {
		case <-released:
			open := 0
			for _, s := range w.servers {
				open += s.net.Links() + s.net.Dialing()
			}
			switch {
			case now >= deadline:
				return true, deadline
			case open > 0:
				last = 0
				return false, deadline
			case last == 0:
				last = now + w.nap()
			}
			return now >= last, last
		default:
			return now >= deadline, deadline
		}
	})
	w.mu.Lock()
	w.ended.Store(true)
	for _, s := range w.sleepers {
		s.refused = network.ErrRefused
		close(s.woke)
	}
	w.sleepers = nil
	w.mu.Unlock()
	for _, s := range w.servers {
		s.net.Close()
		s.close()
	}
	w.outside.close()
}

// goRedisNap is longer than a pool of go-redis sleeps between attempts to dial a server that is down,
// before it sees that it was closed.
const goRedisNap = 1100 * time.Millisecond

// OwnerNamed tells the world of a client's owner, and which other names of his stand in commands and keys.
// Programs may call it.
func (w *World) OwnerNamed(owner, client string, names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls.owners[owner] = client
	for _, name := range names {
		w.calls.owners[name], w.calls.names[name] = client, owner
	}
}

// owner returns the owner of whom a name stands in commands and keys. w.mu is held.
func (w *World) owner(name string) string { return cmp.Or(w.calls.names[name], name) }

// named returns the owner of whom a value of a key is the name, or the value.
func (w *World) named(value string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner(value)
}

// nap is how long to wait for what sleeps after the end, in the plan's time.
func (w *World) nap() time.Duration {
	if w.ground.Live {
		return 0 // it sees for itself that all is closed
	}
	return goRedisNap
}

// patience is how long all that is left may take to end, in real time.
func (w *World) patience() time.Duration {
	if w.ground.Live {
		return 10 * time.Second
	}
	return 5 * time.Minute
}
