package external

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Checks of objects that are no locks, and what has the checks of locks try them.

// lockOf is what actors of a process try in a check.
func (b *bench) lockOf(c *client) subjects.Lock {
	name := b.prefix + b.name
	switch b.subject.Object {
	case history.ARWLock:
		return c.WriteLock(name)
	case history.ASemaphore:
		return onePermit{c.Semaphore(name)}
	case history.APermitSemaphore:
		return &oneID{PermitSemaphore: c.PermitSemaphore(name)}
	case history.ALatch:
		return oneCount{c.Latch(name)}
	}
	return c.Lock(name)
}

// make makes the object of a check, once: a semaphore of one permit, with an id or without, or a latch of the count 1.
func (b *bench) make(c *client) error {
	if b.made == b.name {
		return nil
	}
	a, name := actor{b: b, c: c, owner: c.Owner(1)}, b.prefix+b.name
	b.made = b.name
	switch b.subject.Object {
	case history.ASemaphore:
		return a.semaphore(name).sets(1, history.OK)
	case history.APermitSemaphore:
		return a.permits(name).sets(1, history.OK)
	case history.ALatch:
		return a.latch(name).sets(1, history.OK)
	}
	return nil
}

// onePermit is a semaphore as a lock.
type onePermit struct{ subjects.Semaphore }

func (p onePermit) Acquire(ctx context.Context, _ string, r subjects.Request) subjects.Answer {
	return p.Take(ctx, 1, r)
}

func (p onePermit) Release(ctx context.Context, _ string) subjects.Answer { return p.Give(ctx, 1) }

// oneID is a semaphore whose permits have ids as a lock of one owner, who gives back what it took last.
type oneID struct {
	subjects.PermitSemaphore
	id string
}

func (p *oneID) Acquire(ctx context.Context, _ string, r subjects.Request) subjects.Answer {
	a := p.Take(ctx, r)
	if a.Outcome == history.Acquired {
		p.id = a.Permit
	}
	return a
}

func (p *oneID) Release(ctx context.Context, _ string) subjects.Answer { return p.Give(ctx, p.id) }

// oneCount is a latch as a lock that everybody acquires who awaits it, and that is released by a count-down.
type oneCount struct{ subjects.Latch }

func (l oneCount) Acquire(ctx context.Context, _ string, r subjects.Request) subjects.Answer {
	a := l.Await(ctx, r)
	if a.Outcome == history.OK {
		a.Outcome = history.Acquired
	}
	return a
}

func (l oneCount) Release(ctx context.Context, _ string) subjects.Answer { return l.Down(ctx) }

// counter is an actor that sets, takes and gives numbers of permits, or counts down. Its methods say what is wrong with the answer.
type counter struct {
	actor
	permits subjects.Semaphore
	count   subjects.Latch
}

func (a actor) semaphore(name string) counter { return counter{a, a.c.Semaphore(name), nil} }
func (a actor) latch(name string) counter     { return counter{a, nil, a.c.Latch(name)} }

func (c counter) sets(n int64, right history.Outcome) error {
	what, set := history.TrySetCount, func(ctx context.Context) subjects.Answer { return c.count.Set(ctx, n) }
	if c.permits != nil {
		what, set = history.TrySetPermits, func(ctx context.Context) subjects.Answer { return c.permits.Set(ctx, n) }
	}
	_, err := c.asked(string(what), 0, set, right)
	return err
}

func (c counter) takes(n int64, right history.Outcome) error {
	_, err := c.asked("tryAcquirePermits", 0, func(ctx context.Context) subjects.Answer {
		return c.permits.Take(ctx, n, subjects.Request{})
	}, right)
	return err
}

func (c counter) gives(n int64) error {
	_, err := c.asked("releasePermits", 0, func(ctx context.Context) subjects.Answer { return c.permits.Give(ctx, n) }, history.OK)
	return err
}

func (c counter) downs() error {
	_, err := c.asked("countDown", 0, c.count.Down, history.OK)
	return err
}

func (c counter) tries(right history.Outcome) error {
	_, err := c.asked("tryAwait", 0, func(ctx context.Context) subjects.Answer {
		return c.count.Await(ctx, subjects.Request{})
	}, right)
	return err
}

func permitsCount(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":three"
	a, c := o[0].semaphore(name), o[1].semaphore(name)
	return inOrder(
		func() error { return a.sets(3, history.OK) },
		func() error { return c.sets(5, history.Rejected) },
		func() error { return a.takes(2, history.Acquired) },
		func() error { return c.takes(2, history.Busy) },
		func() error { return c.takes(1, history.Acquired) },
		func() error { return a.takes(1, history.Busy) },
		func() error { return a.gives(2) },
		func() error { return c.takes(2, history.Acquired) },
		func() error { return c.gives(3) },
		func() error { return a.takes(3, history.Acquired) },
		func() error { return a.gives(3) },
	)
}

// holder is an actor that takes permits with ids, one after the other. Its methods say what is wrong with the answer.
type holder struct {
	actor
	of  subjects.PermitSemaphore
	ids *[]string // those that it has taken
}

func (a actor) permits(name string) holder {
	return holder{a, a.c.PermitSemaphore(name), new([]string)}
}

func (h holder) sets(n int64, right history.Outcome) error {
	_, err := h.asked("trySetTotal", 0, func(ctx context.Context) subjects.Answer { return h.of.Set(ctx, n) }, right)
	return err
}

// takes takes one with a lease; 0: without.
func (h holder) takes(lease time.Duration) error {
	got, err := h.asked("tryAcquirePermit of what is free", 0, func(ctx context.Context) subjects.Answer {
		return h.of.Take(ctx, subjects.Request{Lease: lease})
	}, history.Acquired)
	*h.ids = append(*h.ids, got.Permit)
	return err
}

// finds tries to take one, for a while.
func (h holder) finds(wait time.Duration, right history.Outcome) error {
	_, err := h.asked("tryAcquirePermit", wait, func(ctx context.Context) subjects.Answer {
		return h.of.Take(ctx, subjects.Request{Wait: wait, Lease: short})
	}, right)
	return err
}

// gives gives back the permit that another took as its nth.
func (h holder) gives(from holder, n int, right history.Outcome) error {
	_, err := h.asked("releasePermit", 0, func(ctx context.Context) subjects.Answer { return h.of.Give(ctx, (*from.ids)[n]) }, right)
	return err
}

// updates sets the lease of its nth; 0: none.
func (h holder) updates(n int, lease time.Duration, right history.Outcome) error {
	_, err := h.asked("updateLease", 0, func(ctx context.Context) subjects.Answer { return h.of.Update(ctx, (*h.ids)[n], lease) }, right)
	return err
}

func permitsHaveIds(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":two"
	a, c := o[0].permits(name), o[1].permits(name)
	return inOrder(
		func() error { return a.sets(2, history.OK) },
		func() error { return c.sets(5, history.Rejected) },
		func() error { return a.takes(long) },
		func() error { return c.takes(0) },
		func() error {
			if one, two := (*a.ids)[0], (*c.ids)[0]; one == two {
				return fmt.Errorf("%s: two permits that are taken have the id %q; right: one each", c.owner, one)
			}
			return nil
		},
		func() error { return a.finds(0, history.Busy) },
		func() error { return c.gives(a, 0, history.OK) }, // whoever has the id
		func() error { return a.gives(a, 0, history.NotHeld) },
		func() error { return a.takes(long) },
		func() error { return c.finds(0, history.Busy) },
		func() error { return a.gives(a, 1, history.OK) },
		func() error { return c.gives(c, 0, history.OK) },
	)
}

func updates(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":own"
	a, c := o[0].permits(name), o[1].permits(name)
	return inOrder(
		func() error { return a.sets(1, history.OK) },
		func() error { return a.takes(short) },
		func() error { return a.updates(0, long, history.OK) },
		func() error { return c.finds(2*short, history.Busy) },
		func() error { return a.updates(0, 0, history.OK) },
		func() error { return c.finds(0, history.Busy) },
		func() error { return a.updates(0, short, history.OK) },
		func() error { return c.finds(long/2, history.Acquired) },
		func() error { return a.updates(0, long, history.NotHeld) },
		func() error { return a.gives(a, 0, history.NotHeld) },
	)
}

func countsDown(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":two"
	a, c := o[0].latch(name), o[1].latch(name)
	return inOrder(
		func() error { return c.tries(history.OK) },
		func() error { return a.sets(2, history.OK) },
		func() error { return c.sets(5, history.Rejected) },
		func() error { return c.tries(history.Busy) },
		a.downs,
		func() error { return c.tries(history.Busy) },
		c.downs,
		func() error { return c.tries(history.OK) },
		func() error { return c.sets(1, history.OK) },
		func() error { return a.tries(history.Busy) },
		a.downs,
	)
}

func awaiting(b *bench) error {
	o, err := b.actors("a1", "a2", "b1", "b2")
	if err != nil {
		return err
	}
	arrivals, err := wait(o[1:3], o[3])
	if err != nil {
		return err
	}
	if err = o[0].releases(history.Released); err != nil {
		return err
	}
	for range 2 {
		if next := <-arrivals; next.err != nil {
			return next.err
		}
	}
	return nil
}

func cancellingAwait(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	return inOrder(o[1].isCancelled, func() error { return o[0].releases(history.Released) }, o[1].waits)
}

func readers(b *bench) error {
	o, err := b.actors("a1", "b1", "a2")
	if err != nil {
		return err
	}
	one, two, writer := o[0].reader(), o[1].reader(), o[2]
	return inOrder(
		func() error { return one.takes(long) },
		func() error { return two.takes(long) },
		func() error { return writer.isRefused(0) },
		func() error { return one.releases(history.Released) },
		func() error { return writer.isRefused(0) },
		func() error { return two.releases(history.Released) },
		func() error { return writer.takes(long) },
		func() error { return one.isRefused(0) },
		func() error { return writer.releases(history.Released) },
		func() error { return one.takes(long) },
		func() error { return one.releases(history.Released) },
	)
}

func forceHalves(b *bench) error {
	o, err := b.actors("a1", "b1", "a2")
	if err != nil {
		return err
	}
	one, two, writer := o[0].reader(), o[1].reader(), o[2]
	return inOrder(
		func() error { return one.forces(history.NotHeld) },
		func() error { return one.takes(long) },
		func() error { return two.takes(long) },
		func() error { return writer.forces(history.NotHeld) },
		func() error { return writer.isRefused(0) },
		func() error { return two.forces(history.Released) },
		func() error { return writer.takes(long) },
		func() error { return one.releases(history.NotHeld) },
		func() error { return one.forces(history.NotHeld) },
		func() error { return two.isRefused(0) },
		func() error { return writer.forces(history.Released) },
		func() error { return two.takes(long) },
		func() error { return two.releases(history.Released) },
	)
}

// writersGoFirst has a reader refused for a writer that waits for another, and let in when that one has unlocked, or has left.
func writersGoFirst(b *bench) error {
	o, err := b.actors("a1", "b1", "a2", "b2")
	if err != nil {
		return err
	}
	one, two, writer := o[0].reader(), o[3].reader(), o[1]
	if err = one.takes(long); err != nil {
		return err
	}
	arrivals, err := wait([]actor{writer}, o[2]) // who is refused meanwhile writes, too
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return two.isRefused(0) },
		func() error { return one.releases(history.Released) },
		func() error { return (<-arrivals).err },
		func() error { return writer.releases(history.Released) },
		func() error { return one.takes(long) },
		func() error { return writer.isRefused(short) },
		func() error { return two.takes(long) },
		func() error { return two.releases(history.Released) },
		func() error { return one.releases(history.Released) },
	)
}

// reader is the same owner, of the read lock.
func (a actor) reader() actor {
	a.lock, a.reads = a.c.ReadLock(a.b.prefix+a.b.name), true
	return a
}

func (c counter) adds(n int64) error {
	_, err := c.asked("addPermits", 0, func(ctx context.Context) subjects.Answer { return c.permits.(subjects.Resizer).Add(ctx, n) }, history.OK)
	return err
}

// drains checks how many permits a drain tells that it took.
func (c counter) drains(right int64) error {
	got, err := c.asked("drainPermits", 0, func(ctx context.Context) subjects.Answer { return c.permits.(subjects.Drainer).Drain(ctx) }, history.OK)
	if err == nil && got.Value != right {
		return fmt.Errorf("%s: drainPermits was answered with the value %d; right: %d", c.owner, got.Value, right)
	}
	return err
}

func resizes(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":resized"
	a, c := o[0].semaphore(name), o[1].semaphore(name)
	return inOrder(
		func() error { return a.sets(1, history.OK) },
		func() error { return c.takes(2, history.Busy) },
		func() error { return a.adds(1) },
		func() error { return c.takes(2, history.Acquired) },
		func() error { return c.gives(2) },
		func() error { return a.adds(-1) },
		func() error { return c.takes(2, history.Busy) },
		func() error { return a.drains(1) },
		func() error { return c.takes(1, history.Busy) },
		func() error { return a.drains(0) },
	)
}

func resizesTotal(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":resized"
	a, c := o[0].permits(name), o[1].permits(name)
	add := func(n int64) func() error {
		return func() error {
			_, err := a.asked("addTotal", 0, func(ctx context.Context) subjects.Answer { return a.of.(subjects.Resizer).Add(ctx, n) }, history.OK)
			return err
		}
	}
	return inOrder(
		func() error { return a.sets(1, history.OK) },
		func() error { return c.takes(long) },
		func() error { return c.finds(0, history.Busy) },
		add(1),
		func() error { return c.takes(long) },
		add(-1),
		func() error { return c.finds(0, history.Busy) },
	)
}

func deletes(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	name := b.prefix + b.name + ":deleted"
	a, c := o[0].latch(name), o[1].latch(name)
	deletes := func(right history.Outcome) func() error {
		return func() error {
			_, err := c.asked("deleteLatch", 0, func(ctx context.Context) subjects.Answer { return c.count.(subjects.Deleter).Delete(ctx) }, right)
			return err
		}
	}
	return inOrder(
		func() error { return a.sets(2, history.OK) },
		func() error { return a.tries(history.Busy) },
		deletes(history.Released),
		func() error { return a.tries(history.OK) },
		deletes(history.NotHeld),
		func() error { return a.sets(1, history.OK) },
		func() error { return a.downs() },
	)
}
