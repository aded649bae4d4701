package soak

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/seed"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Config says what to run.
type Config struct {
	Subject subjects.Subject
	Server  Server
	Name    string        // of the run: every key's name contains it
	Clients int           // that work at once
	Locks   int           // that they share
	For     time.Duration // how long
	Seed    uint64        // decides what clients try and how faults strike, as far as real time lets it

	// Watchdog is the lease that watchdogs renew, and the longest that is asked for. It must be
	// short: whoever waits for the lock of a dead client waits that long.
	Watchdog time.Duration

	Faults []Kind
	Every  time.Duration // the mean time between two faults

	// Out is given every record, by one goroutine and in order, at most some milliseconds late. Nil:
	// nothing is recorded. A fault is given when it is over; Begun, if not nil, is given it as it begins,
	// by any goroutine.
	Out   func(record any)
	Begun func(history.Fault)
	// Crowded reports whether a lock should be left alone for a moment; nil: never.
	Crowded func(lock string) bool
	// Sampled is told how the run goes, once a second; nil: nobody is.
	Sampled func(Sample)
}

// Server is where a run takes place.
type Server struct {
	Own         *redisserver.Server // nil: it is not ours
	Options     func() *redis.Options
	Destructive bool // whether faults may strike more than the run's keys, though the server is not ours
}

// ours reports whether faults may strike the whole server.
func (s Server) ours() bool { return s.Own != nil || s.Destructive }

// LatencyMax is the slowest one-way message that is taken for nothing unusual: what is late by less
// than four of it and a second is not called late.
const LatencyMax = 250 * time.Millisecond

// Scenario is what a soak calls itself in its history, by which a judge knows one.
const Scenario = "soak"

// Header is that of the run's history.
func (c Config) Header(versions map[string]string) history.Header {
	return history.Header{
		Version: history.Version, Clock: "monotonic", World: "redis", Scenario: Scenario, Subject: c.Subject.Name, Seed: c.Seed,
		Versions: versions, Abilities: c.Subject.Abilities, Expiry: history.Implied, WatchdogTimeout: c.Watchdog, LatencyMax: LatencyMax,
		AnswerTimeout: max(answerTimeout, c.Subject.AnswerTimeout), Idempotent: c.Subject.Idempotent, Limitations: c.Subject.Limitations,
	}
}

// answerTimeout is how long a client waits for an answer: it sits out what its own faults do to the server.
const answerTimeout = 10 * time.Second

// lock is the name of the lock of that number in the history; key is its name in Redis.
func lock(n int) string           { return fmt.Sprintf("lock-%d", n+1) }
func (c Config) key(n int) string { return c.Name + ":" + lock(n) }

// grace is how much longer than its time a run may take until all calls have returned.
const grace = 15 * time.Second

// freshTime is how long the fresh client may take for a lock, on average.
const freshTime = 10 * time.Millisecond

// run is a run under way.
type run struct {
	Config
	rec       *recorder
	admin     *redis.Client
	resources []resource
	slots     []atomic.Pointer[client]
	stats     *stats
	line      line
	servers   pair
	losses    atomic.Int64 // how often the server lost its data
	serving   sync.RWMutex // held by whoever has the server away; for reading: by whoever asks it, besides clients

	over    chan struct{} // closed when clients are to come to an end
	expired context.Context
	failed  atomic.Pointer[error]
	stop    func()
}

// resource is what a lock protects.
type resource struct {
	value, token int64
	unfenced     bool // it asks for no token any more: those of the lock began anew
}

// Run runs until the time is over or ctx ends, and returns what was counted. Its error is a failure
// of the harness or the server; what was recorded until then is of use. On return no key of the run
// is left, as far as the server can be reached.
func Run(ctx context.Context, c Config) (*Result, error) {
	o := c.Server.Options()
	o.MaxRetries, o.ReadTimeout, o.PoolSize = 5, answerTimeout, 8
	r := &run{
		Config: c, resources: make([]resource, c.Locks), slots: make([]atomic.Pointer[client], c.Clients),
		stats: newStats(), over: make(chan struct{})}
	r.rec = newRecorder(c.Out, func(from, to time.Duration) any { return r.stall(from, to) })
	plain := c.Server.Options()
	o.Dialer = r.dialer(plain)
	r.admin = redis.NewClient(o)
	defer r.admin.Close()
	r.servers.master.Store(c.Server.Own)
	var once sync.Once
	r.stop = func() { once.Do(func() { close(r.over) }) }
	var cancel context.CancelFunc
	r.expired, cancel = context.WithCancel(context.Background())
	defer cancel()

	var clients, others sync.WaitGroup
	for n := range c.Clients {
		clients.Go(func() { r.slot(n) })
	}
	others.Go(r.inject)
	others.Go(r.watch)
	var looks sync.WaitGroup
	done := make(chan struct{})
	if c.Out != nil {
		looks.Go(func() { r.stalls(done) })
		looks.Go(func() { r.starves(done) })
	}
	timer := time.NewTimer(c.For)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-r.over: // something failed
	}
	r.stop()
	others.Wait() // the faults among them
	r.rec.event(history.Event{Kind: history.Healed}, 0)
	late := time.AfterFunc(grace, cancel)
	defer late.Stop()
	clients.Wait()
	if r.failed.Load() == nil {
		r.tryAll(ctx)
	}
	close(done)
	looks.Wait()
	err := r.clear()
	if failed := r.servers.home(context.WithoutCancel(ctx), c.Server.Own); err == nil {
		err = failed
	}
	length := r.rec.now()
	r.rec.close()
	if failed := r.failed.Load(); failed != nil {
		err = *failed
	}
	return r.stats.result(length), err
}

// fail ends the run.
func (r *run) fail(err error) {
	r.failed.CompareAndSwap(nil, &err)
	r.stop()
}

// ending reports whether clients are to come to an end.
func (r *run) ending() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// pass waits for d, and reports false if the run comes to its end before.
func (r *run) pass(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.over:
		return false
	}
}

// watch samples the run, and sees whether the server is there.
func (r *run) watch() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-tick.C:
		}
		s := r.stats.sample(r.rec.now())
		if r.Sampled != nil {
			r.Sampled(s)
		}
		if own := r.servers.master.Load(); own != nil {
			if err := own.Err(); err != nil {
				r.fail(err)
			}
		} else if err := r.admin.Ping(r.expired).Err(); err != nil {
			r.fail(fmt.Errorf("the server no longer answers: %w", err))
		}
	}
}

// stalled is how late this process may be at what it wants to do, or the server with its answer, before nobody can
// be blamed for being late: a quarter of the shortest lease that is asked for, or less.
func (c Config) stalled() time.Duration { return min(100*time.Millisecond, c.Watchdog/16) }

// stalls records when the whole process was held up, which is to every client as a pause.
func (r *run) stalls(done <-chan struct{}) {
	const every = 10 * time.Millisecond
	health.Late(done, every, func(begun, now time.Time) {
		if now.Sub(begun) > every+r.stalled() {
			f := r.stall(max(1, begun.Sub(r.rec.begun)), now.Sub(r.rec.begun))
			r.rec.put(func(time.Duration) any { return f })
		}
	})
}

// starves records when the server did not answer though no fault of ours kept it from that: it may be out of processor
// time, or stopped by somebody.
func (r *run) starves(done <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			r.ask()
		}
	}
}

// ask finds out how long the server takes to answer, and records it if that is long.
func (r *run) ask() {
	r.serving.RLock()
	defer r.serving.RUnlock()
	ctx, cancel := context.WithTimeout(r.expired, answerTimeout)
	defer cancel()
	asked := r.rec.now()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = r.admin.Ping(ctx).Err() // watch tells of a server that is gone
	}()
	soon := time.NewTimer(r.stalled())
	defer soon.Stop()
	select {
	case <-answered:
		return
	case <-soon.C:
	}
	f := history.Fault{Index: r.stats.fault(starve), Kind: starve, Effects: history.EffectsOf(starve, ""), From: max(1, asked), Hits: 1}
	r.rec.put(func(time.Duration) any { return f }) // whoever judges is told before calls end late
	if r.Begun != nil {
		r.Begun(f)
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
	r.rec.put(func(now time.Duration) any {
		f.To = now
		return f
	})
}

const (
	stall  = "pause-harness"
	starve = "starve-server"
)

// stall is the record of a time in which the whole process was held up, by others or by what records and judges.
func (r *run) stall(from, to time.Duration) history.Fault {
	return history.Fault{Index: r.stats.fault(stall), Kind: stall, Effects: history.EffectsOf(stall, ""), From: from, To: to}
}

// clear records what keys of locks are left, and removes all keys of the run.
func (r *run) clear() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if r.Out != nil {
		if err := r.leftovers(ctx); err != nil {
			return r.unclean(err)
		}
	}
	_, err := redisserver.Sweep(ctx, r.admin, r.Name+":", nil)
	return err
}

// leftovers records which locks still have a key.
func (r *run) leftovers(ctx context.Context) error {
	for n := 0; n < r.Locks; {
		ask := r.admin.Pipeline()
		for ; n < r.Locks && ask.Len() < 1000; n++ {
			ask.PTTL(ctx, r.key(n))
		}
		first := n - ask.Len()
		answers, err := ask.Exec(ctx)
		if err != nil {
			return err
		}
		for i, a := range answers {
			ttl := a.(*redis.DurationCmd).Val()
			if ttl == -2 {
				continue
			}
			r.rec.put(func(now time.Duration) any {
				e := history.Event{At: now, Kind: history.Leftover, Lock: lock(first + i)}
				if ttl >= 0 { // 0: less than half a millisecond
					e.Deadline = now + ttl
				}
				return e
			})
		}
	}
	return nil
}

func (r *run) unclean(err error) error {
	return fmt.Errorf("keys with %s in their names may be left on the server: %w", r.Name, err)
}

// source draws what chance decides.
func (r *run) source(name string) *source { return &source{seed.Source(r.Seed, name)} }
