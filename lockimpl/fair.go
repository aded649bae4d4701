package lockimpl

import (
	"context"
	"slices"
	"time"
)

// fairLock is what [FairLock] has of an [RLock]; nobody can take it out and put it into a [MultiLock].
type fairLock = RLock

// FairLock is a lock as [RLock] that is granted in the order in which owners began to wait for it: Redisson's
// RFairLock (4.7). TryLock without [Wait] does not wait, and is refused while others do.
//
// Classic, Combined and Latch are one form here, Redisson's 4.7.0 with the unlock latch, on its keys and
// channels, with what is weak in it. Places in the queue have deadlines by the clocks of the clients, so that
// a clock that is ahead removes those who wait; a deadline is guessed from the waits of those before, so that
// after long holds the order is lost. An owner that is dead, or whose context ended, keeps its place to its
// deadline, and until then nobody gets the lock: more than five minutes by default (redisson#6150); all who
// wait ask meanwhile without a pause, here once a millisecond. A message that is lost costs the rest of the
// lease. Whoever unlocks a lock that nobody holds is told that it did. Queue and deadlines have no time to
// live, and if only the one of them is lost, the lock may be so, too.
//
// Hardened keeps the queue in one key, by the server's clock, and counts each request once. Who waits asks
// again, and so keeps its place, at the latest every third of [Options.WatchdogTimeout]; a place that nobody
// keeps is free after two of these. Whoever stops waiting, for whatever reason, leaves the queue at once.
//
// Clients of Hardened and others exclude each other, but have a queue of their own each, and do not wake each
// other.
type FairLock struct{ *fairLock }

// FairLock returns the fair lock of that name. It costs nothing on the server.
func (c *Client) FairLock(name string) *FairLock {
	l := c.Lock(name)
	l.proto = c.fair
	poll := max(c.opts.WatchdogTimeout/3, time.Millisecond)
	l.fair = &fairKeys{queue: queueOf(name), deadlines: deadlinesOf(name), line: lineOf(name), poll: poll}
	return &FairLock{l}
}

// fairProtocol returns that of the client's fair locks.
func fairProtocol(c *Client) protocol {
	if p, ok := c.proto.(*hardened); ok {
		fair := *p
		fair.acquires, fair.releases, fair.forces = fairAcquireHardened, fairReleaseHardened, fairForceHardened
		return &fair
	}
	return &faithful{client: c, acquire: fairAcquire, unlocks: fairUnlock, latch: true, forces: fairForce, renews: renewPlain,
		message: unlockMessage}
}

// fairKeys is what the requests on a fair lock have besides those on an RLock.
type fairKeys struct {
	queue, deadlines string // Redisson's
	line             string // Hardened's
	poll             time.Duration
}

// patience is how long a place of Redisson's is kept.
func patience(c *Client, co callOptions) time.Duration {
	if co.wait > 0 {
		return co.wait
	}
	return c.opts.FairWaitTimeout
}

// keep is how long a place is kept of one who asks like this, 0: it gets none.
func (f *fairKeys) keep(co callOptions) time.Duration {
	if co.bounded && co.wait == 0 {
		return 0
	}
	return 2 * f.poll
}

// acquiring is the command of a faithful attempt.
func (f *fairKeys) acquiring(p *faithful, l *RLock, owner Owner, co callOptions) []any {
	waits := 1
	if co.bounded && co.wait == 0 {
		waits = 0
	}
	return []any{evalsha, p.acquire.digest, 3, l.nameArg, f.queue, f.deadlines, time.Now().UnixMilli(),
		co.lease.Milliseconds(), string(owner), patience(l.client, co).Milliseconds(), waits}
}

// queued adds to a faithful command, which has the lock's key first, the keys of the queue and the client's
// clock.
func (f *fairKeys) queued(args []any) []any {
	keys := args[2].(int)
	args = slices.Insert(args, 3+keys, any(time.Now().UnixMilli()))
	args = slices.Insert(args, 4, any(f.queue), any(f.deadlines))
	args[2] = keys + 2
	return args
}

// left is called when owner, who had asked for the lock, waits no more; err is what its call returns.
func (f *fairKeys) left(ctx context.Context, l *RLock, owner Owner, co callOptions, err error) {
	c := l.client
	if p, ok := l.proto.(*hardened); ok {
		p.leave(ctx, l, owner, err == nil)
		return
	}
	if err != nil {
		return // Redisson leaves its place to the deadline
	}
	cmd := newIntCall(ctx, evalsha, fairFailed.digest, 2, f.queue, f.deadlines,
		string(owner), patience(c, co).Milliseconds())
	_ = c.run(ctx, fairFailed, cmd, nil)
}

// leave gives up owner's place in the queue: while the caller waits for a moment, if ctx lasts, or else in the background.
// Another request of owner goes before one more attempt of it, and no copy of an earlier one will take the place again.
func (p *hardened) leave(ctx context.Context, l *RLock, owner Owner, awaited bool) {
	c := p.client
	h, _, err := c.holds.enter(dead, l, owner)
	if awaited && err == nil {
		soon, cancel := context.WithTimeout(ctx, c.opts.grace()) // its caller's time is over
		err := p.left(soon, l, h)
		cancel()
		if err == nil {
			c.holds.exit(h)
			return
		}
	}
	c.work.Add(1) // not 0 before: the operation that calls holds one
	go func() {
		defer c.work.Done()
		if err != nil { // another request of the owner is under way, and the caller does not wait for that
			if h, _, err = c.holds.enter(c.closing, l, owner); err != nil {
				return // closed: nobody keeps the place
			}
		}
		p.leaving(l, h)
	}()
}

// left tells the server that the owner of h waits no more.
func (p *hardened) left(ctx context.Context, l *RLock, h *hold) error {
	request, _ := p.client.nextRequest(h.key.owner)
	cmd := newIntCall(ctx, evalsha, fairLeaveHardened.digest, 3, l.nameArg, h.recordArg, l.fair.line,
		h.ownerArg, request, p.memory.Milliseconds(), l.channelArg)
	return p.client.run(ctx, fairLeaveHardened, cmd, nil)
}

// leaving gives up the place of h's owner, whose turn it is, until the server has heard of it, or the owner waits
// again, or nobody has kept the place for so long that it is free. Between two attempts others have their turn.
func (p *hardened) leaving(l *RLock, h *hold) {
	c, hs := p.client, p.client.holds
	mine, began := c.nextRequest(h.key.owner)
	hs.mu.Lock()
	h.leaving = mine
	hs.mu.Unlock()
	delay, in := c.opts.settleMin(), h // the hold whose turn it is; nil: none
	for p.left(c.closing, l, h) != nil && time.Since(began) < 2*l.fair.poll {
		hs.exit(h)
		if in = nil; !c.pause(delay) {
			break
		}
		var err error
		if in, _, err = hs.enter(c.closing, l, h.key.owner); err != nil || !hs.leaves(h, mine) {
			break
		}
		delay = min(2*delay, c.opts.settleMax())
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.leaving == mine {
		h.leaving = 0
		hs.tidy(h)
	}
	if in != nil {
		hs.exitLocked(in)
	}
}

// leaves reports whether the owner of h is still about to leave the queue, as it was when a request had that number.
func (hs *holds) leaves(h *hold, number int64) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return h.leaving == number
}

// waitsAgain says that the owner of h, which may have left the queue, takes a place in it.
func (hs *holds) waitsAgain(h *hold) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.leaving = 0
}
