package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// What checks are about, which are about all kinds of objects unless they say so.
var (
	locks       = []history.Object{history.ALock, history.ARWLock}
	plainLocks  = []history.Object{history.ALock}
	leased      = []history.Object{history.ALock, history.ARWLock, history.APermitSemaphore}
	taken       = []history.Object{history.ALock, history.ARWLock, history.ASemaphore, history.APermitSemaphore}
	onSemaphore = []history.Object{history.ASemaphore}
	onPermits   = []history.Object{history.APermitSemaphore}
	onLatch     = []history.Object{history.ALatch}
	onRWLock    = []history.Object{history.ARWLock}
)

var checks = table{
	{name: "hello", run: hello, vital: true,
		about: "says hello within 10 s: the protocol's version, its name, its version, and what it can; ends when its input ends"},
	{name: "start", run: start, vital: true, about: `answers start with "ok" within 10 s`},
	{name: "lock and unlock", of: locks, run: lockUnlock, vital: true, about: "a free lock is acquired at once, and again once it is released"},
	{name: "permits", of: onSemaphore, run: permitsCount, vital: true, about: "trySetPermits makes a semaphore once; permits are taken while as many are free, and are free once they are released"},
	{name: "permits", of: onPermits, run: permitsHaveIds, vital: true,
		about: "trySetTotal makes a semaphore once; each permit that is taken has an id of its own, by which it is released once"},
	{name: "count", of: onLatch, run: countsDown, vital: true, about: "trySetCount sets a count of 0; who awaits waits until it is counted down, and not when it is 0"},
	{name: "threads", of: locks, run: excludes("a1", "a2"), about: "two owners of one process exclude each other"},
	{name: "processes", of: taken, run: excludes("a1", "b1"), about: "owners of two processes exclude each other"},
	{name: "readers", of: onRWLock, run: readers, about: "readers share the lock, and keep writers out; a writer keeps readers out"},
	{name: "not held", of: locks, run: notHeld, about: "an unlock by anybody but the holder is told so, and leaves the holder alone"},
	{name: "waiting", of: taken, run: waiting, about: "while calls wait, others are answered; who tries waits as long as it is told; whoever waits gets the lock when it is released"},
	{name: "awaiting", of: onLatch, run: awaiting, about: "while calls wait, others are answered; tryAwait waits as long as it is told; all who wait go on at 0"},
	{name: "lease", of: leased, run: lease, about: "what is held with a lease is free when that is over, and not before"},
	{name: "update", of: onPermits, run: updates, about: "updateLease has a permit that is taken end so much later, or never, and tells of one that is not"},
	{name: "death", of: leased, run: death, about: "what a process held that was killed is free when its lease is over"},
	{name: "reentrant", of: locks, ability: "reentrant", run: reentrant, about: "the holder is let in again, and unlocks as often as it locked"},
	{name: "keeps-longest", of: locks, ability: "keeps-longest", run: keepsLongest, about: "a re-entry with a shorter lease does not shorten the lease"},
	{name: "unlock-sets-lease", of: locks, ability: "unlock-sets-lease", run: setsLease, about: "an unlock that leaves a hold sets its lease anew"},
	{name: "watchdog", of: locks, ability: "watchdog", run: watchdog, about: "a lock taken with watchdog is held for longer than the watchdog timeout, until its process dies"},
	{name: "fencing", of: locks, ability: "fencing", run: fencing, about: "the tokens of a lock's grants increase"},
	{name: "force", of: plainLocks, ability: "force", run: force, about: "forceUnlock frees a lock whoever holds it, and tells whether anybody did"},
	{name: "force", of: onRWLock, ability: "force", run: forceHalves, about: "forceRead frees the lock from all who read, and forceWrite from who writes; each tells whether it freed anybody"},
	{name: "writers-first", of: onRWLock, ability: string(contract.WritersFirst), run: writersGoFirst, about: "while a writer waits no other reader is let in; once it has unlocked, or has left, one is"},
	{name: "inspect", of: plainLocks, ability: "inspect", run: inspect, about: "isLocked, isHeldBy, holdCount and remainingTTL tell the truth"},
	{name: "resizes", of: onSemaphore, ability: string(contract.Resizes), run: resizes, about: "addPermits makes it more permits, or fewer; drainPermits takes all that are free, and tells how many"},
	{name: "resizes", of: onPermits, ability: string(contract.Resizes), run: resizesTotal, about: "addTotal makes it more permits, or fewer"},
	{name: "deletes", of: onLatch, ability: string(contract.Deletes), run: deletes, about: "deleteLatch makes the count 0, and tells whether there was one"},
	{name: "local-holds", of: plainLocks, ability: string(contract.LocalHolds), run: localHolds, about: "an owner whose lease is over keeps the lock from others of its process until it unlocks"},
	{name: "lost", of: locks, ability: "lost", run: lost, about: "a holder whose lease ends is told"},
	{name: "cancel", of: taken, ability: cancels, run: cancelling, about: "a call that waits and is cancelled is answered within 1 s, and takes nothing"},
	{name: "cancel", of: onLatch, ability: cancels, run: cancellingAwait, about: "a call that waits and is cancelled is answered within 1 s"},
	{name: "no Redis", run: noRedis, about: `says "failed" or "unknown" when Redis cannot be reached, and lives`},
	{name: "end", run: end, about: "ends within 5 s of the end of its input, even while a call waits; it has written less than 1 MiB to stderr"},
}

func hello(b *bench) (err error) {
	b.subject, err = subject(b.ctx, Prefix+strings.Join(b.words, " "), b.words, b.limits)
	b.claimed = b.subject.Abilities
	return err
}

func start(b *bench) error {
	p, err := b.process("a")
	if err == nil {
		b.claimed = p.hello.Abilities
	}
	return err
}

func lockUnlock(b *bench) error {
	o, err := b.actors("a1")
	if err != nil {
		return err
	}
	for range 2 {
		if err = inOrder(func() error { return o[0].takes(long) }, func() error { return o[0].releases(history.Released) }); err != nil {
			return err
		}
	}
	return nil
}

func excludes(first, second string) func(*bench) error {
	return func(b *bench) error {
		o, err := b.actors(first, second)
		if err != nil {
			return err
		}
		return inOrder(
			func() error { return o[0].takes(long) },
			func() error { return o[1].isRefused(0) },
			func() error { return o[0].releases(history.Released) },
			func() error { return o[1].takes(long) },
			func() error { return o[0].isRefused(0) },
			func() error { return o[1].releases(history.Released) },
		)
	}
}

func notHeld(b *bench) error {
	o, err := b.actors("a1", "a2", "b1")
	if err != nil {
		return err
	}
	ofNobody := history.NotHeld
	if slices.Contains(b.claimed, string(contract.UnlocksFree)) {
		ofNobody = history.Released
	}
	return inOrder(
		func() error { return o[0].releases(ofNobody) },
		func() error { return o[0].takes(long) },
		func() error { return o[1].releases(history.NotHeld) },
		func() error { return o[2].releases(history.NotHeld) },
		func() error { return o[2].isRefused(0) },
		func() error { return o[0].releases(history.Released) },
		func() error { return o[0].releases(ofNobody) },
	)
}

func waiting(b *bench) error {
	o, err := b.actors("a1", "a2", "b1", "a3")
	if err != nil {
		return err
	}
	if err = o[0].takes(long); err != nil {
		return err
	}
	arrivals, err := wait(o[1:3], o[3])
	if err != nil {
		return err
	}
	last := o[0]
	for range 2 {
		if err = last.releases(history.Released); err != nil {
			return err
		}
		next := <-arrivals
		if next.err != nil {
			return next.err
		}
		last = next.who
	}
	return last.releases(history.Released)
}

// arrival is the end of a wait.
type arrival struct {
	who actor
	err error
}

// wait has all wait who can have nothing yet, and one more be refused meanwhile. What it returns tells who has waited.
func wait(all []actor, refused actor) (<-chan arrival, error) {
	arrivals := make(chan arrival, len(all))
	for _, w := range all {
		go func() { arrivals <- arrival{w, w.waits()} }()
	}
	if err := refused.isRefused(short); err != nil {
		return nil, err
	}
	select {
	case early := <-arrivals:
		if early.err != nil {
			return nil, early.err
		}
		return nil, fmt.Errorf("%s: %s was answered %q while there is nothing to be had; right: no answer until there is",
			early.who.owner, early.who.kind(history.Lock), history.Acquired)
	default:
		return arrivals, nil
	}
}

func lease(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	begun := time.Now()
	return inOrder(
		func() error { return o[0].takes(short) },
		func() error { return o[1].waits() },
		func() error { return after(o[1], begun, short) },
		func() error { return o[0].releases(history.NotHeld) },
		func() error { return o[0].isRefused(0) },
		func() error { return o[1].releases(history.Released) },
	)
}

// localHolds has an owner whose lease is over, which the owner of another process sees, be in the way of another of its process.
func localHolds(b *bench) error {
	o, err := b.actors("a1", "a2", "b1")
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return o[0].takes(short) },
		func() error { return o[2].waits() },
		func() error { return o[2].releases(history.Released) },
		func() error { return o[1].isRefused(0) },
		func() error { return o[0].releases(history.NotHeld) },
		func() error { return o[1].takes(long) },
		func() error { return o[1].releases(history.Released) },
	)
}

// after says what is wrong if a lock was acquired earlier than least after begun.
func after(who actor, begun time.Time, least time.Duration) error {
	if took := time.Since(begun); took < least-precision {
		return fmt.Errorf("%s: %s was answered %q %v after another's with a lease of %v; right: not before that is over",
			who.owner, who.kind(history.Lock), history.Acquired, took.Round(time.Millisecond), least)
	}
	return nil
}

func death(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	begun := time.Now()
	return inOrder(
		func() error { return o[0].takes(short) },
		func() error { return o[0].c.Kill() },
		func() error { return o[1].waits() },
		func() error { return after(o[1], begun, short) },
		func() error { return o[1].releases(history.Released) },
	)
}

func reentrant(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return o[0].takes(long) },
		func() error { return o[0].takes(long) },
		func() error { return o[0].releases(history.Decremented) },
		func() error { return o[1].isRefused(0) },
		func() error { return o[0].releases(history.Released) },
		func() error { return o[1].takes(long) },
		func() error { return o[1].releases(history.Released) },
	)
}

func keepsLongest(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return o[0].takes(long) },
		func() error { return o[0].takes(short) },
		func() error { return o[1].isRefused(2 * short) },
		func() error { return o[0].releases(history.Decremented) },
		func() error { return o[0].releases(history.Released) },
	)
}

func setsLease(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	const most = checkWatchdog * 2 / 3
	return inOrder(
		func() error { return o[0].takes(checkWatchdog) },
		func() error { return o[0].takes(checkWatchdog) },
		func() error { return o[1].isRefused(most) },
		func() error { return o[0].releases(history.Decremented) },
		func() error { return o[1].isRefused(most) },
		func() error { return o[0].releases(history.Released) },
	)
}

func watchdog(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return o[0].takes(0) },
		func() error { return o[1].isRefused(2 * checkWatchdog) },
		func() error { return o[0].c.Kill() },
		func() error { return o[1].waits() },
		func() error { return o[1].releases(history.Released) },
	)
}

func fencing(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	var last int64
	for range 3 {
		for _, who := range o {
			token, err := who.takesToken(long)
			switch {
			case err != nil:
				return err
			case token <= last:
				return fmt.Errorf("%s: the token %d was granted after %d; right: a greater one", who.owner, token, last)
			}
			last = token
			if err = who.releases(history.Released); err != nil {
				return err
			}
		}
	}
	return nil
}

func force(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return o[1].forces(history.NotHeld) },
		func() error { return o[0].takes(long) },
		func() error { return o[1].forces(history.Released) },
		func() error { return o[1].takes(long) },
		func() error { return o[0].releases(history.NotHeld) },
		func() error { return o[1].releases(history.Released) },
	)
}

func inspect(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	count := int64(1)
	again, back := func() error { return nil }, func() error { return nil }
	if b.subject.Can("reentrant") {
		count = 2
		again = func() error { return o[0].takes(long) }
		back = func() error { return o[0].releases(history.Decremented) }
	}
	return inOrder(
		func() error { return o[1].asks(history.IsLocked, 0, 0) },
		func() error { return o[1].asks(history.RemainingTTL, -2, -2) },
		func() error { return o[0].takes(long) },
		again,
		func() error { return o[1].asks(history.IsLocked, 1, 1) },
		func() error { return o[0].asks(history.IsHeldBy, 1, 1) },
		func() error { return o[1].asks(history.IsHeldBy, 0, 0) },
		func() error { return o[0].asks(history.HoldCount, count, count) },
		func() error { return o[1].asks(history.HoldCount, 0, 0) },
		func() error { return o[1].asks(history.RemainingTTL, int64(long/2), int64(long)) },
		back,
		func() error { return o[0].releases(history.Released) },
		func() error { return o[0].asks(history.IsLocked, 0, 0) },
	)
}

func lost(b *bench) error {
	o, err := b.actors("a1", "b1")
	if err != nil {
		return err
	}
	if err = o[0].takes(short); err != nil {
		return err
	}
	told := o[0].lock.(subjects.Loser).Lost(o[0].owner)
	if err = o[1].waits(); err != nil {
		return err
	}
	// It may have been told in time, and the notice be on its way to us.
	select {
	case <-told:
	case <-time.After(b.limits.cancel):
		return fmt.Errorf("%s: another acquired the lock after its lease of %v, and it was not told; right: {\"lost\":%q,\"owner\":%q}",
			o[0].owner, short, b.prefix+b.name, o[0].owner)
	}
	return o[1].releases(history.Released)
}

func cancelling(b *bench) error {
	o, err := b.actors("a1", "b1", "b2")
	if err != nil {
		return err
	}
	if err = o[0].takes(long); err != nil {
		return err
	}
	if err = o[1].isCancelled(); err != nil {
		return err
	}
	if slices.Contains(b.claimed, string(contract.Fair)) && !slices.Contains(b.claimed, string(contract.LeavesLine)) {
		return o[0].releases(history.Released) // for others the lock is free when the place in the queue is over
	}
	return inOrder(
		func() error { return o[0].releases(history.Released) },
		func() error { return o[2].waits() },
		func() error { return o[2].releases(history.Released) },
	)
}

// isCancelled waits, and gives up.
func (a actor) isCancelled() error {
	ctx, cancel := context.WithTimeout(a.b.ctx, short)
	defer cancel()
	got := a.acquire(subjects.Request{Forever: true, Lease: long})(ctx)
	var none noAnswerError
	if errors.As(got.Err, &none) {
		return fmt.Errorf("%s: %s was cancelled, and not answered within %v; right: %q or %q", a.owner, a.kind(history.Lock), a.b.limits.cancel, history.Failed, history.Unknown)
	}
	return a.wants(a.kind(history.Lock)+", cancelled while it waits,", got, history.Failed, history.Unknown)
}

func noRedis(b *bench) error {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "redis://" + nobody.Addr().String()
	nobody.Close()
	c, err := b.open("c", url)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return nil
	case err != nil:
		return err
	}
	defer c.Kill()
	who := actor{b: b, c: c, lock: b.lockOf(c), owner: c.Owner(1)}
	_, err = who.asked(who.kind(history.TryLock)+" without Redis", 20*time.Second, // clients try again for a while
		who.acquire(subjects.Request{Lease: long}), history.Failed, history.Unknown)
	return err
}

func end(b *bench) error {
	o, err := b.actors("a1", "b1", "b2")
	if err != nil {
		return err
	}
	if b.subject.Object != history.ALatch { // whose count is 1
		err = o[0].takes(long)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	go o[1].lock.Acquire(ctx, o[1].owner, subjects.Request{Forever: true, Lease: long}) // that is never answered
	if err = o[2].isRefused(short); err != nil {
		return err
	}
	for _, p := range []*client{o[0].c, o[1].c} {
		if err = p.Close(); err != nil {
			return err
		}
		if _, total := p.p.errs.last(); total > mostStderr {
			return fmt.Errorf("it wrote %d bytes to stderr; right: less than %d", total, mostStderr)
		}
	}
	return nil
}
