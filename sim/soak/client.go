package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/seed"
	"github.com/holdfast-sim/holdfast/subjects"
)

type source struct{ *rand.Rand }

// chance is true in so many of 1000 cases.
func (s *source) chance(permille int) bool { return s.IntN(1000) < permille }

// between draws a duration.
func (s *source) between(from, to time.Duration) time.Duration {
	return from + time.Duration(s.Int64N(int64(to-from)+1))
}

// client is one strand with a Redis client and a lock client of its own.
type client struct {
	run    *run
	name   string
	wire   *wire
	gate   gate // closed while it is paused
	redis  *redis.Client
	locks  subjects.Client
	owner  string
	draw   *source
	ctx    context.Context
	cancel context.CancelFunc

	crashed atomic.Int64 // when, as a Duration; 0: it lives
	unknown []history.Op // what it called, or its lock did, and may still come about
	failed  int          // calls, in a row
}

// slot has one client after the other work.
func (r *run) slot(n int) {
	for generation := 1; !r.ending(); generation++ {
		name := fmt.Sprintf("c%d", n+1)
		if generation > 1 {
			name += fmt.Sprintf("-%d", generation)
		}
		c, err := r.open(r.expired, name)
		if err != nil {
			r.fail(fmt.Errorf("%s: %w", r.Subject.Name, err))
			return
		}
		r.slots[n].Store(c)
		for !r.ending() && !c.dead() {
			c.gate.wait(c.ctx)
			c.session()
		}
		c.end()
	}
}

func (r *run) open(ctx context.Context, name string) (*client, error) {
	c := &client{run: r, name: name, wire: newWire(&r.line), draw: r.source("client " + name)}
	plain := r.Server.Options()
	o := r.Server.Options()
	o.MaxRetries, o.PoolSize = 3, 4 // as go-redis has it; one strand needs few connections
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.wire.dial(ctx, plain, network, addr)
		if health.Exhausted(err) {
			r.fail(err)
		}
		return conn, err
	}
	o.OnConnect = func(ctx context.Context, cn *redis.Conn) error {
		era := r.line.now()
		id, err := cn.ClientID(ctx).Result()
		if err == nil {
			c.wire.connected(id, era)
		}
		return err
	}
	c.redis = redis.NewClient(o)
	c.ctx, c.cancel = context.WithCancel(ctx)
	e := subjects.NewEnv(name, c.redis, r.Watchdog, r.fail)
	e.Scheduler, e.Random = scheduler{c}, seed.Bytes(r.Seed, "random/"+name)
	var err error
	c.locks, err = r.Subject.Open(e)
	if err != nil {
		return nil, err
	}
	c.owner = c.locks.Owner(1)
	return c, nil
}

func (c *client) dead() bool { return c.crashed.Load() > 0 }

// crash ends the client in the middle of whatever it does: nothing of it reaches the server any
// more, and it hears nothing.
func (c *client) crash() {
	c.crashed.CompareAndSwap(0, int64(c.run.rec.now()))
	c.wire.kill()
	c.cancel()
}

// end closes a client. If it did not come to an orderly end it is recorded as dead, once the server
// has nothing of it any more.
func (c *client) end() {
	r := c.run
	defer r.line.leave(c.wire)
	if !c.dead() {
		_ = c.locks.Close()
		_ = c.redis.Close()
		c.cancel()
		r.rec.event(history.Event{Kind: history.Finished, Client: c.name}, 0)
		return
	}
	since := time.Duration(c.crashed.Load())
	r.stats.deaths.Add(1)
	_ = c.locks.Close()
	_ = c.redis.Close()
	if r.Out == nil {
		return
	}
	if err := c.gone(); err != nil {
		r.fail(fmt.Errorf("whether the server still has connections of a dead client: %w", err))
		return
	}
	r.rec.event(history.Event{Kind: history.Died, Client: c.name}, since)
	for _, op := range c.unknown {
		r.rec.closed(op)
	}
}

// gone waits until the server knows none of the client's connections: what it sent on one of them
// cannot be executed any more.
func (c *client) gone() error {
	for {
		there, err := c.there()
		if err != nil || !there {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// there reports whether the server knows a connection of the client.
func (c *client) there() (bool, error) {
	c.run.serving.RLock()
	defer c.run.serving.RUnlock()
	ids := c.wire.known()
	if len(ids) == 0 {
		return false, nil
	}
	args := []any{"client", "list", "id"}
	for _, id := range ids {
		args = append(args, id)
	}
	list, err := c.run.admin.Do(context.Background(), args...).Text()
	return list != "", err
}

// briefly is how long the locks are tried after a run that was interrupted.
const briefly = 2 * time.Second

// tryAll has a client that had no part in anything lock and unlock each lock, once every other has come to its end. It waits for
// the leases that dead clients left, but no longer; whoever gives up is of no more use (see call).
// When interrupted ends it does not go on for long.
func (r *run) tryAll(interrupted context.Context) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), grace+time.Duration(r.Locks)*freshTime)
	defer cancel()
	c, err := r.open(ctx, history.Fresh)
	if err != nil {
		r.fail(fmt.Errorf("%s: %w", r.Subject.Name, err))
		return
	}
	// It gives each back at once. With a lease that a busy machine can outlast before the answer comes, a lock may rightly
	// answer that it got nothing.
	request := subjects.Request{Wait: 2*r.Watchdog + time.Second, Lease: max(r.Watchdog, answerTimeout)}
	for n := range r.Locks {
		if c.dead() || r.failed.Load() != nil || interrupted.Err() != nil && time.Since(begun) > briefly {
			break
		}
		one := held{Lock: c.locks.Lock(r.key(n)), name: lock(n), n: n}
		if _, ok := c.acquire(one, history.TryLock, request); ok {
			c.release(one, lease{})
		}
	}
	c.end()
}

// session tries one lock, and gives it back.
func (c *client) session() {
	r, draw := c.run, c.draw
	n := draw.IntN(r.Locks)
	for tries := 0; r.Crowded != nil && r.Crowded(lock(n)); tries++ {
		if n = draw.IntN(r.Locks); tries == 3 {
			time.Sleep(time.Millisecond)
			return
		}
	}
	one := held{Lock: c.locks.Lock(r.key(n)), name: lock(n), n: n}
	if r.Subject.Can("inspect") && draw.chance(30) {
		c.inspect(one)
		return
	}
	if draw.chance(10) { // a mistake that programs make
		c.release(one, lease{})
		return
	}
	kind, request := history.TryLock, subjects.Request{}
	switch p := draw.IntN(100); {
	case p < 5:
		kind, request.Forever = history.Lock, true
	case p < 35:
		request.Wait = draw.between(2*r.Watchdog, 4*r.Watchdog) // whoever gives up is of no more use: see call
	}
	if !r.Subject.Can("watchdog") || draw.chance(150) {
		request.Lease = draw.between(r.Watchdog/4, r.Watchdog).Truncate(time.Millisecond)
	}
	if token, ok := c.acquire(one, kind, request); ok {
		c.hold(one, token, request)
	}
}

// held is a lock that is tried, or held.
type held struct {
	subjects.Lock
	name string // in the history
	n    int
}

// lease is the time to live that a call sets.
type lease struct {
	length   time.Duration
	watchdog bool
}

func (c *client) lease(request subjects.Request) lease {
	if request.Lease > 0 {
		return lease{request.Lease, false}
	}
	return lease{c.run.Watchdog, true}
}

// hold is a critical section.
func (c *client) hold(l held, token int64, request subjects.Request) {
	r, draw := c.run, c.draw
	reenter, work := r.Subject.Can("reentrant") && draw.chance(50), draw.chance(250)
	var rest time.Duration
	switch {
	case request.Lease == 0 && draw.IntN(10_000) == 0:
		rest = draw.between(r.Watchdog, 2*r.Watchdog) // so that it has to be renewed
	case draw.chance(10):
		rest = draw.between(time.Millisecond, 5*time.Millisecond)
	}
	var lost <-chan struct{}
	if reenter || rest > 0 { // or there is no time in which it could be lost
		heard, stop := c.listen(l)
		defer stop()
		lost = heard
	}
	holds := 1
	if reenter {
		again := request
		again.Forever, again.Wait = false, 0
		if _, ok := c.acquire(l, history.TryLock, again); ok {
			holds++
		}
	}
	if c.dead() {
		return
	}
	value, resource := int64(0), &r.resources[l.n]
	if work {
		r.rec.instant(history.Op{Client: c.name, Owner: c.owner, Lock: l.name, Kind: history.Read}, func(op *history.Op) {
			value = resource.value
			op.Outcome, op.Value = history.OK, value
		})
	}
	if rest > 0 {
		c.sleep(rest, lost)
	}
	c.gate.wait(c.ctx)
	if work && !c.dead() && !closed(lost) {
		r.rec.instant(history.Op{Client: c.name, Owner: c.owner, Lock: l.name, Kind: history.Write}, func(op *history.Op) {
			op.Outcome, op.Value = history.OK, value+1
			if !resource.unfenced {
				if op.Token = token; token < resource.token {
					op.Outcome = history.Rejected
					return
				}
			}
			resource.value, resource.token = value+1, token
		})
	}
	for ; holds > 0 && !c.dead(); holds-- {
		left := lease{}
		if holds > 1 {
			left = c.lease(request)
		}
		if out := c.release(l, left); out == history.NotHeld || out == history.Released {
			break
		}
	}
}

// listen records when the lock says that the hold is lost. The channel is closed then, or nil if the
// lock does not tell.
func (c *client) listen(l held) (heard <-chan struct{}, stop func()) {
	loser, ok := l.Lock.(subjects.Loser)
	if !ok {
		return nil, func() {}
	}
	lost, said, over := loser.Lost(c.owner), make(chan struct{}), make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-lost:
			c.gate.wait(c.ctx) // while it is paused it hears nothing
			if !c.dead() {
				c.run.rec.event(history.Event{Kind: history.Lost, Client: c.name, Owner: c.owner, Lock: l.name}, 0)
			}
			close(said)
		case <-over:
		}
	})
	return said, func() {
		close(over)
		listening.Wait()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep waits for d, or until it is told that its hold is lost, or the client crashes.
func (c *client) sleep(d time.Duration, told <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-told:
	case <-c.ctx.Done():
	}
}

// call records an operation around do. Once nobody is left to know the answer, or the answer is
// that nobody knows, the client is dead.
func (c *client) call(op history.Op, do func() subjects.Answer) subjects.Answer {
	op.Client, op.Owner = c.name, c.owner
	begun, losses := time.Now(), c.run.losses.Load()
	c.run.rec.call(&op)
	a := do()
	c.gate.wait(c.ctx)
	if c.dead() {
		c.uncertain(op)
		return subjects.Answer{Outcome: history.Unknown}
	}
	if a.Outcome == history.Unknown && !changes(op.Kind) {
		a.Outcome = history.Failed // it changed nothing
	}
	tired := a.Outcome == history.Busy && op.Wait > 0
	if tired {
		// It may have asked once more, shortly before it gave up, and nobody knows what for.
		c.uncertain(c.run.rec.aside(op, history.TryLock))
	}
	if losses != c.run.losses.Load() && changes(op.Kind) && !tired {
		// It may have taken effect before the server forgot that, and was sent again after.
		c.uncertain(c.run.rec.aside(op, op.Kind))
		tired = true
	}
	c.run.rec.returned(&op, a)
	c.run.stats.count(op.Kind, a.Outcome, time.Since(begun))
	switch {
	case a.Outcome == history.Unknown:
		c.uncertain(op)
		c.crash()
	case tired:
		c.crash()
	case a.Outcome == history.Failed:
		c.failed++
		c.sleep(min(time.Second, time.Duration(c.failed)*5*time.Millisecond), nil)
	default:
		c.failed = 0
	}
	return a
}

// uncertain notes a call of which nobody knows what it does. What a lock gets without its owner's
// learning of it, it may give back by itself.
func (c *client) uncertain(op history.Op) {
	c.unknown = append(c.unknown, op)
	if op.Kind.Acquires() {
		c.unknown = append(c.unknown, c.run.rec.aside(history.Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Call: op.Call}, history.Unlock))
	}
}

func changes(k history.Kind) bool {
	return slices.Contains([]history.Kind{history.Lock, history.TryLock, history.Unlock, history.ForceUnlock}, k)
}

func (c *client) acquire(l held, kind history.Kind, request subjects.Request) (token int64, ok bool) {
	sets := c.lease(request)
	op := history.Op{Lock: l.name, Kind: kind, Wait: request.Wait, Lease: sets.length, Watchdog: sets.watchdog}
	a := c.call(op, func() subjects.Answer { return l.Acquire(c.ctx, c.owner, request) })
	return a.Token, a.Outcome == history.Acquired
}

// release gives back one hold; left is the lease of those that stay.
func (c *client) release(l held, left lease) history.Outcome {
	op := history.Op{Lock: l.name, Kind: history.Unlock, Lease: left.length, Watchdog: left.watchdog}
	return c.call(op, func() subjects.Answer { return l.Release(c.ctx, c.owner) }).Outcome
}

func (c *client) inspect(l held) {
	question := []history.Kind{history.IsLocked, history.IsHeldBy, history.HoldCount}[c.draw.IntN(3)]
	c.call(history.Op{Lock: l.name, Kind: question}, func() subjects.Answer {
		return l.Lock.(subjects.Inspector).Inspect(c.ctx, question, c.owner)
	})
}
