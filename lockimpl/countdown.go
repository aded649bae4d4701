package lockimpl

import (
	"context"
	"time"
)

// CountDownLatch lets clients wait until a count reaches 0: Redisson's RCountDownLatch (4.7), on the same key
// and channel. A latch whose count is 0 is as one that was never set, and can be set again, for a new round.
//
// It is a handle, safe for concurrent use.
//
// Classic, Combined and Latch are one form here, Redisson's 4.7.0, with what is weak in it: who waits sleeps
// on when the latch is deleted or expires, when the message of its 0 is lost with a broken subscription, and
// when the latch is set anew before he looks; a message of 0 that comes late, after the latch was set anew,
// has everybody who waits ask again and again (redisson leaves its gate open); a copy of a count-down that
// go-redis sends again counts twice; a latch of count 0 cannot be set until somebody counts it down; and in a
// Cluster names with a hash tag are refused by the server, for the channel then lies in another slot.
// (Redisson's asynchronous waiters have no counterpart here.)
//
// Hardened counts each request once, tells everybody of a deletion, looks again after a broken subscription
// and in any case every [Options.WatchdogTimeout], and numbers the rounds: who waits in one returns when it
// is over, though the next has begun. Rounds that other forms begin have no number, so that this promise is
// off for those.
type CountDownLatch struct {
	object
	channel string
	hard    bool
}

// CountDownLatch returns the latch of that name. It costs nothing on the server. A name that cannot be a
// latch's is reported by the operations.
func (c *Client) CountDownLatch(name string) *CountDownLatch {
	_, hard := c.proto.(*hardened)
	return &CountDownLatch{object{c, name, checkName(name)}, latchChannelOf(name), hard}
}

// roundMemory is how long a round is remembered once it is over: longer than anybody sleeps who waits in it.
func (l *CountDownLatch) roundMemory() int64 {
	return (l.client.opts.WatchdogTimeout + l.client.memory()).Milliseconds()
}

// TrySetCount sets the count, 1 to [MaxPermits], if it is 0, and reports whether it did. (The faithful
// generations take 0, too.)
func (l *CountDownLatch) TrySetCount(ctx context.Context, count int64, opts ...Option) (bool, error) {
	co, err := l.client.opts.callWith(opts, requestOption)
	if err == nil && (count < 0 || count > MaxPermits || count == 0 && l.hard) {
		err = ErrBadPermits
	}
	set, err := l.call(ctx, co, err, latchSet, latchSetHardened, count)
	return set == 1, l.wrap("TrySetCount", "", err)
}

// CountDown makes the count one less, unless it is 0.
//
// If its outcome is unknown (see [OutcomeUnknown]), Hardened repeats it in the background until it has taken
// effect once. It does so for twice as long as a copy of a request may be under way. A cut that lasts longer loses it.
// The caller must not repeat it, unless both calls have the same [RequestID].
func (l *CountDownLatch) CountDown(ctx context.Context, opts ...Option) error {
	co, err := l.client.opts.callWith(opts, requestOption)
	_, err = l.call(ctx, co, err, latchDown, latchDownHardened)
	return l.wrap("CountDown", "", err)
}

// Count returns the count: 0 where there is none.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	count, err := l.number(ctx)
	return max(count, 0), l.wrap("Count", "", err)
}

// Delete removes the latch, and reports whether there was one. Hardened lets everybody who waits return.
func (l *CountDownLatch) Delete(ctx context.Context, opts ...Option) (bool, error) {
	co, err := l.client.opts.callWith(opts, requestOption)
	deleted, err := l.call(ctx, co, err, latchDelete, latchDeleteHardened)
	return deleted == 1, l.wrap("Delete", "", err)
}

// Await returns when the count is 0, or with the error of ctx when that ends.
func (l *CountDownLatch) Await(ctx context.Context) error {
	_, err := l.await(ctx, callOptions{})
	return l.wrap("Await", "", err)
}

// TryAwait waits up to [Wait] for the count to be 0, and reports whether it was.
func (l *CountDownLatch) TryAwait(ctx context.Context, opts ...Option) (bool, error) {
	co, err := l.client.opts.callWith(opts, waitOption)
	if err != nil {
		return false, l.wrap("TryAwait", "", err)
	}
	co.bounded = true
	over, err := l.await(ctx, co)
	return over, l.wrap("TryAwait", "", err)
}

func (l *CountDownLatch) await(ctx context.Context, co callOptions) (bool, error) {
	if err := l.begin(); err != nil {
		return false, err
	}
	defer l.client.work.Done()
	at := place{client: l.client, channel: l.channel, manner: gate}
	look := l.look
	if l.hard {
		at.manner, at.eager = rounds, true
		var round int64
		look = func(ctx context.Context) (over bool, err error) {
			over, round, err = l.lookAt(ctx, round)
			return over, err
		}
	}
	over, err := at.acquire(ctx, co, func(ctx context.Context, _ bool) (time.Duration, error) {
		if over, err := look(ctx); err != nil || !over {
			return -1, err
		}
		return granted, nil
	})
	if err != nil || over || co.wait == 0 {
		return over, err
	}
	last, cancel := l.client.attempting(ctx, l.hard, time.Now())
	defer cancel()
	over, err = look(last) // as Redisson does when the time is over
	return over, noReply(last, err)
}

// look asks for the count.
func (l *CountDownLatch) look(ctx context.Context) (over bool, err error) {
	count, err := l.number(ctx)
	return err == nil && count <= 0, err
}

// lookAt asks for the count and the round, and reports whether the given one, 0: the present, is over.
func (l *CountDownLatch) lookAt(ctx context.Context, mine int64) (over bool, round int64, err error) {
	cmd := newIntsCall(ctx, evalsha, latchAwaitHardened.digest, 2, l.name, roundOf(l.name), l.roundMemory())
	if err := l.client.run(ctx, latchAwaitHardened, cmd, nil); err != nil {
		return false, mine, err
	}
	count, round := cmd.Val()[0], cmd.Val()[1]
	switch {
	case count == 0, mine != 0 && round != 0 && round != mine:
		return true, round, nil
	case mine != 0:
		round = mine // the server has forgotten it, or it is the same
	}
	return false, round, nil
}

func (l *CountDownLatch) call(ctx context.Context, co callOptions, bad error, plain, hardened *script,
	args ...any) (int64, error) {
	switch {
	case bad != nil:
		return 0, bad
	case co.request != "" && !l.hard:
		return 0, ErrGeneration
	}
	if err := l.begin(); err != nil {
		return 0, err
	}
	defer l.client.work.Done()
	if l.hard {
		if hardened != latchSetHardened {
			args = append(args, l.roundMemory())
		}
		return l.client.effect(ctx, &l.object, co, hardened, l.channel, []string{roundOf(l.name)}, args...)
	}
	cmd := newIntCall(ctx, append([]any{evalsha, plain.digest, 2, l.name, l.channel}, args...)...)
	if err := l.client.run(ctx, plain, cmd, nil); err != nil {
		return 0, err
	}
	return cmd.Val(), nil
}

// What a latch publishes.
const (
	zeroMessage = "0" // the count is 0
	setMessage  = "1" // a count was set, or (Redisson) the latch was deleted
)

// gate is how Redisson's waiters for a latch hear: 0 opens a gate, 1 closes it, and who comes to an open gate
// does not sleep.
var gate = &manner{
	heard: func(ch *channel, payload string) {
		switch payload {
		case zeroMessage:
			ch.open = true
			wakeAll(ch, ch.waiters)
		case setMessage:
			ch.open = false
		}
	},
	leaves:  func(*channel, *waiter, bool) {},
	resumed: func(*channel, []*waiter) {},
}

// rounds is how those of generation Hardened do.
var rounds = &manner{
	heard: func(ch *channel, payload string) {
		if payload == zeroMessage {
			wakeAll(ch, ch.waiters)
		}
	},
	leaves:  func(*channel, *waiter, bool) {},
	resumed: wakeAll,
}
