package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// thread runs the steps of one owner.
type thread struct {
	run     *run
	client  string
	process process
	groups  map[string]subjects.Lock
	owner   string
	plan    plan.Thread
	jitter  *rand.Rand
	late    *rand.Rand          // the jitter of writes that are under way
	mu      sync.Mutex          // guards held, and what is in it, from all but the thread's own reading
	held    map[half]*held      // what it believes to hold
	permits map[string]int64    // how many permits it believes to have, by the semaphore
	taken   map[string][]permit // those that it believes to have, by the permit semaphore, in the order in which it took them
	doing   plan.Step           // for a panic's message
	number  atomic.Int64        // of its goroutine
}

// A half is a lock that a thread may hold, and as whom: of a read-write lock it may have a hold as a reader and one as a writer.
type half struct{ lock, owner string }

// of is the half that a step is on.
func (t *thread) of(s plan.Step) half {
	if history.Kind(s.Do).OnWriteLock() {
		return half{s.Lock, history.WriterOf(t.owner)}
	}
	return half{s.Lock, t.owner}
}

// held is a lock that the thread believes to hold.
type held struct {
	leases []lease // one a hold, the last one's on top
	sooner bool    // the call that was granted last was to be given up
	spared int     // calls for what it holds already, of a lock that is not reentrant, that were left out, and their unlocks not yet
	gone   int     // so many of them are of holds that were lost before the lock was granted anew
	token  int64
	lost   <-chan struct{}
	work   <-chan struct{} // that of the context of the work which the thread does under the hold; nil: it does none
	told   bool            // lost is closed, and the work's context is over; recorded
	since  time.Duration   // when it was closed under a call that gives back the last hold; 0: it was not
	before time.Duration   // when a hold before it was lost, until that is recorded; 0: none was
	over   chan struct{}   // closed when the thread no longer believes that it holds the lock
}

type lease struct {
	length   time.Duration
	watchdog bool
}

func newThread(r *run, c process, p plan.Thread) *thread {
	owner := c.on[r.plan.ServerNames()[0]].Owner(p.ID)
	var names []string
	for _, server := range r.plan.ServerNames() {
		if n, ok := c.on[server].Client.(subjects.Namer); ok {
			names = append(names, n.Named(owner))
		}
	}
	r.world.OwnerNamed(owner, c.name, names...)
	if r.subject.Object == history.ARWLock {
		writers := slices.Clone(names)
		for i, name := range names {
			writers[i] = history.WriterOf(name)
		}
		r.world.OwnerNamed(history.WriterOf(owner), c.name, writers...)
	}
	if r.subject.Patient {
		p.Steps = slices.Clone(p.Steps)
		for i := range p.Steps {
			p.Steps[i].Cancel = 0
		}
	}
	return &thread{run: r, client: c.name, process: c, groups: map[string]subjects.Lock{}, owner: owner, plan: p, held: map[half]*held{}, permits: map[string]int64{}, taken: map[string][]permit{},
		jitter: r.chance.Source("program/" + owner), late: r.chance.Source("late/" + owner)}
}

// steps runs the program.
func (t *thread) steps() {
	t.sleep(time.Duration(t.plan.Start), nil)
	for _, s := range t.plan.Steps {
		if t.run.over.Load() {
			return
		}
		t.step(s)
		// A moment between two steps, so that no two programs of a client ever act at once.
		t.sleep(0, nil)
	}
}

func (t *thread) step(s plan.Step) {
	t.doing = s
	switch s.Do {
	case plan.Lock, plan.ReadLock, plan.WriteLock:
		t.acquire(s, subjects.Request{Forever: true, Lease: time.Duration(s.Lease)})
	case plan.TryLock, plan.TryRead, plan.TryWrite:
		t.acquire(s, subjects.Request{Wait: time.Duration(s.Wait), Lease: time.Duration(s.Lease)})
	case plan.Unlock, plan.ReadUnlock, plan.WriteUnlock:
		if t.held[t.of(s)] != nil || s.Regardless {
			t.release(s)
		}
	case plan.ForceUnlock, plan.ForceRead, plan.ForceWrite:
		t.forcing(s)()
	case plan.Work:
		t.work(s)
	case plan.Sleep:
		t.sleep(time.Duration(s.For), nil)
	case plan.IsLocked:
		t.inspect(history.IsLocked, s.Lock)
	case plan.IsHeldBy:
		t.inspect(history.IsHeldBy, s.Lock)
	case plan.HoldCount:
		t.inspect(history.HoldCount, s.Lock)
	case plan.RemainingTTL:
		t.inspect(history.RemainingTTL, s.Lock)
	default:
		switch history.Kind(s.Do).Object() {
		case history.ALatch:
			t.latch(s)
		case history.APermitSemaphore:
			t.onPermit(s)
		default:
			t.permit(s)
		}
	}
}

func (t *thread) sleep(d time.Duration, interrupted <-chan struct{}) bool {
	return t.run.world.Sleep(t.owner, t.client, t.jitter, d, interrupted)
}

// call records an operation around do.
func (t *thread) call(op history.Op, do func(id int64) subjects.Answer) subjects.Answer {
	return t.answer(t.called(op), do)
}

// called records the call of an operation, which answer is then to make.
func (t *thread) called(op history.Op) int64 {
	op.Client, op.Owner = t.client, cmp.Or(op.Owner, t.owner)
	t.run.world.Mark(world.Called, op.Lock)
	id := t.run.rec.Call(op)
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.calls = append(t.run.calls, id)
	return id
}

func (t *thread) answer(id int64, do func(id int64) subjects.Answer) subjects.Answer {
	t.run.world.Calling(t.run.rec.Op(id))
	a := do(id)
	t.run.world.Pass(t.owner, t.client)
	t.run.record(func() {
		t.run.world.Mark(world.Returned, t.run.rec.Op(id).Lock)
		t.run.rec.Return(id, a.Outcome, a.Value, a.Token, a.Err)
		t.run.world.Returned(t.client, t.run.rec.Op(id))
	})
	return a
}

func (t *thread) acquire(s plan.Step, r subjects.Request) {
	of := t.of(s)
	if h := t.held[of]; h != nil && h.sooner && !h.told && !closed(h.lost) && !t.run.subject.Can("reentrant") {
		h.spared++ // it would wait for itself: the call before, which was to be given up, was granted
		return
	}
	l := lease{length: r.Lease}
	if r.Lease == 0 {
		l = lease{length: time.Duration(t.run.timings.Watchdog), watchdog: t.run.subject.Can("watchdog")}
	}
	own := l
	if h := t.held[of]; h != nil && !h.told && t.run.subject.Can("keeps-longest") {
		for _, outer := range h.leases[h.gone:] {
			l.length, l.watchdog = max(l.length, outer.length), l.watchdog || outer.watchdog
		}
	}
	op := history.Op{Owner: of.owner, Lock: s.Lock, Kind: history.Kind(s.Do), Wait: r.Wait, Cancel: time.Duration(s.Cancel), Lease: l.length, Watchdog: l.watchdog,
		OwnLease: r.Lease == 0 && !own.watchdog}
	if l != own {
		op.Fresh, op.FreshWatchdog = own.length, own.watchdog
	}
	lock := t.half(of)
	a := t.call(op, func(id int64) subjects.Answer {
		ctx, cancel := t.context(s, id)
		defer cancel()
		real := r
		real.Wait, real.Lease = t.run.world.Real(r.Wait), t.run.world.Real(r.Lease)
		a := lock.Acquire(ctx, t.owner, real)
		if s.Replicas > 0 && a.Outcome == history.Acquired {
			a = t.replicated(s, lock, a)
		}
		return a
	})
	if a.Outcome != history.Acquired {
		if less := asksLess(r); t.client == history.Fresh && a.Outcome == history.Failed && less != r && !t.run.subject.Can(string(contract.AnyLease)) {
			t.acquire(s, less)
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.held[of]
	another, anew := h == nil || h.told, false // than what was lost
	if !another && closed(h.lost) {            // the answer told of a loss, and granted the lock anew
		h.before, another, anew = t.run.world.Now(), true, true
		t.run.world.Notify()
	}
	if h == nil {
		h = &held{over: make(chan struct{})}
		t.held[of] = h
	}
	if loser, ok := lock.(subjects.Loser); ok { // a part of a program that re-enters knows nothing of what another part has asked for
		h.lost, h.told = loser.Lost(t.owner), false
		go t.listen(h, h.lost)
	}
	if anew || another && (a.Token == 0 || a.Token != h.token) { // else what it holds is there still: a re-entry may have a token of its own
		h.gone, l = len(h.leases), own
	}
	h.leases, h.token, h.sooner = append(h.leases, l), a.Token, s.Cancel != 0
}

// asksLess is a request for less, if there is any: without a lease of its own, or without a wait. A lock may have no other.
func asksLess(r subjects.Request) subjects.Request {
	if r.Lease > 0 {
		return subjects.Request{Wait: r.Wait}
	}
	return subjects.Request{}
}

// context is that of a call.
func (t *thread) context(s plan.Step, id int64) (context.Context, context.CancelFunc) {
	ctx := world.WithCall(t.run.ctx, id)
	if s.Cancel == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, t.run.world.Real(s.Cancel.Duration()))
	if s.Cancel == plan.Ended {
		<-ctx.Done()
	}
	return ctx, cancel
}

// listen has the world look when the lock tells of the loss of a hold, also while the thread does nothing under it.
func (t *thread) listen(h *held, lost <-chan struct{}) {
	select {
	case <-lost:
		t.run.world.Notify()
	case <-h.over:
	case <-t.run.ctx.Done():
	}
}

// losses records the losses that the lock has told the thread of. It is called when all is at rest,
// so that of several at one instant the order does not depend on who hears first. While its client
// is paused or dead, the thread hears nothing.
func (t *thread) losses() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.held) == 0 || t.run.world.Stopped(t.client) {
		return
	}
	for _, lock := range t.run.locks {
		t.lossesOf(half{lock, t.owner})
		t.lossesOf(half{lock, history.WriterOf(t.owner)})
	}
}

// lossesOf is losses of one lock. t.mu is held.
func (t *thread) lossesOf(of half) {
	h := t.held[of]
	if h == nil || h.told {
		return
	}
	if h.before > 0 {
		t.lose(of, h.before)
		h.before = 0
	}
	switch {
	case !closed(h.lost):
	case h.work != nil && !closed(h.work): // whoever works under a context looks at nothing else
	case len(h.leases) == 0: // to the owner the hold is over, unless it gives its unlock up
		if h.since == 0 {
			h.since = t.run.world.Now()
			t.run.rec.Event(history.Event{At: h.since, Kind: history.LostGiving, Lock: of.lock, Client: t.client, Owner: of.owner})
		}
	default:
		h.told = true
		t.lose(of, h.since)
	}
}

// lose records the loss of a hold, at a time or now.
func (t *thread) lose(of half, at time.Duration) {
	t.run.world.Mark(world.Called, of.lock) // as an unlock, it ends a belief
	t.run.rec.Event(history.Event{At: at, Kind: history.Lost, Lock: of.lock, Client: t.client, Owner: of.owner})
}

// over reports whether the thread knows that it holds a lock no more.
func (t *thread) over(h *held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return h.told || closed(h.lost)
}

// closed reports whether a channel is closed; nil is not.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (t *thread) release(s plan.Step) {
	of := t.of(s)
	op := history.Op{Owner: of.owner, Lock: s.Lock, Kind: history.Kind(s.Do), Cancel: time.Duration(s.Cancel), Lease: time.Duration(t.run.timings.Watchdog), Watchdog: t.run.subject.Can("watchdog")}
	h := t.held[of]
	if h != nil && h.spared > 0 {
		h.spared--
		return
	}
	var last lease
	if h != nil {
		t.mu.Lock()
		last = h.leases[len(h.leases)-1]
		h.leases = h.leases[:len(h.leases)-1]
		h.gone = min(h.gone, len(h.leases))
		if n := len(h.leases); n > h.gone { // the TTL is set anew to that of the hold that remains
			op.Lease, op.Watchdog = h.leases[n-1].length, h.leases[n-1].watchdog
		}
		t.mu.Unlock()
	}
	asked := true
	a := t.call(op, func(id int64) subjects.Answer {
		ctx, cancel := t.context(s, id)
		defer cancel()
		a := t.half(of).Release(ctx, t.owner)
		asked = t.run.world.Asked(t.client, id)
		return a
	})
	switch {
	case a.Outcome == history.NotHeld || a.Outcome == history.Released:
		t.forget(of)
	case a.Outcome == history.Failed && h != nil && !asked && ended(a.Err) && s.Cancel != plan.Ended: // it was given up before anything was done
		t.mu.Lock()
		h.leases = append(h.leases, last)
		t.mu.Unlock()
		t.run.world.Notify()
	case h != nil && len(h.leases) == 0:
		t.forget(of)
	case h != nil:
		t.mu.Lock()
		h.told = h.told || len(h.leases) == h.gone // of the rest it was told before
		t.mu.Unlock()
	}
}

// ended reports whether a call failed because its context ended.
func ended(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// forget ends the belief that a lock is held.
func (t *thread) forget(of half) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(of)
}

// drop is forget while t.mu is held.
func (t *thread) drop(of half) {
	if h := t.held[of]; h != nil {
		close(h.over)
		delete(t.held, of)
	}
}

// forcing calls for a lock to be forced free by a step; what it returns awaits that.
func (t *thread) forcing(s plan.Step) (await func()) {
	of := t.of(s)
	f, ok := t.half(of).(subjects.ForceReleaser)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s cannot force a lock free", t.run.subject.Name))
		return func() {}
	}
	id := t.called(history.Op{Owner: of.owner, Lock: s.Lock, Kind: history.Kind(s.Do)})
	return func() {
		t.answer(id, func(id int64) subjects.Answer { return f.ForceRelease(world.WithCall(t.run.ctx, id)) })
	}
}

func (t *thread) inspect(question history.Kind, lock string) {
	i, ok := t.lock(lock).(subjects.Inspector)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s answers no questions", t.run.subject.Name))
		return
	}
	t.call(history.Op{Lock: lock, Kind: question}, func(id int64) subjects.Answer {
		a := i.Inspect(world.WithCall(t.run.ctx, id), question, t.owner)
		if question == history.RemainingTTL && a.Value > 0 {
			a.Value = int64(t.run.world.Planned(time.Duration(a.Value)))
		}
		return a
	})
}
