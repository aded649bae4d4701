package lockimpl

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Semaphore is a number of permits that clients share: Redisson's RSemaphore (4.7), on the same key and
// channel. Permits have neither owner nor lease: whoever takes some gives them back, and those of a
// client that dies are lost until somebody adds others (redisson#2045: by design). It is not fair.
//
// It is a handle, safe for concurrent use. A semaphore exists once somebody has set, added or (but for
// Hardened) released permits; until then calls that acquire wait, or are refused.
//
// Classic, Combined and Latch are one form here, Redisson's 4.7.0, with what is weak in it: a copy of an
// acquire that go-redis sends again takes twice, and one of a release gives twice; a release that is
// published while the subscription is broken wakes nobody, ever; a message of m permits wakes m waiters,
// whatever they ask for, so that one who asks for more than there are may be woken in place of one who
// does not; AddPermits and Drain end the key's time to live; a release after that time makes a new
// semaphore. (Redisson's asynchronous waiters, of which a message wakes one however many permits it
// tells of, have no counterpart here; nor has its WAIT for replicas.)
//
// Hardened executes each request once however often it is sent, and gives back what an acquire took
// whose caller does not want it any more; its waiters are woken by as many permits as are free, look
// again after a broken subscription, and in any case every [Options.WatchdogTimeout]; a release makes no
// semaphore.
type Semaphore struct {
	object
	channel string
	hard    bool
}

// Semaphore returns the semaphore of that name. It costs nothing on the server. A name that cannot be a
// semaphore's is reported by the operations.
func (c *Client) Semaphore(name string) *Semaphore {
	_, hard := c.proto.(*hardened)
	return &Semaphore{object{c, name, checkName(name)}, semaphoreChannelOf(name), hard}
}

// MaxPermits is the largest number of permits, or count, that a call takes: what Redisson can represent.
const MaxPermits = math.MaxInt32

// TrySetPermits makes a semaphore of so many permits, 0 to [MaxPermits], and reports whether it did:
// false, there is one already. With [Lease] it ends by itself after that time, whatever was acquired.
func (s *Semaphore) TrySetPermits(ctx context.Context, permits int64, opts ...Option) (bool, error) {
	co, err := s.client.opts.callWith(opts, leaseOption, requestOption)
	if err == nil {
		err = checkPermits(permits)
	}
	args := []any{permits}
	if !co.watched {
		args = append(args, co.lease.Milliseconds())
	}
	set, err := s.call(ctx, co, err, semaphoreSet, semaphoreSetHardened, args...)
	return set == 1, s.wrap("TrySetPermits", "", err)
}

// AddPermits adds permits, or takes some away (-[MaxPermits] to MaxPermits): then fewer than 0 may be
// free. Where there is no semaphore it makes one.
func (s *Semaphore) AddPermits(ctx context.Context, permits int64, opts ...Option) error {
	co, err := s.client.opts.callWith(opts, requestOption)
	if err == nil {
		err = checkPermits(max(permits, -permits))
	}
	_, err = s.call(ctx, co, err, semaphoreAdd, semaphoreAddHardened, permits)
	return s.wrap("AddPermits", "", err)
}

// Acquire takes so many permits, 0 to [MaxPermits], all at once, and waits for them as long as ctx lasts.
// When ctx ends it returns its error at once; if an attempt was under way, Hardened gives back what that
// took. (The other generations do so only if they learn that it took some.)
func (s *Semaphore) Acquire(ctx context.Context, permits int64) error {
	_, err := s.take(ctx, permits, callOptions{})
	return s.wrap("Acquire", "", err)
}

// TryAcquire takes so many permits if they are free or become so within [Wait], and reports whether it did.
// The rest is as with [Semaphore.Acquire], and how long an attempt is awaited as with [RLock.TryLock].
func (s *Semaphore) TryAcquire(ctx context.Context, permits int64, opts ...Option) (bool, error) {
	co, err := s.client.opts.callWith(opts, waitOption)
	if err != nil {
		return false, s.wrap("TryAcquire", "", err)
	}
	co.bounded = true
	ok, err := s.take(ctx, permits, co)
	return ok, s.wrap("TryAcquire", "", err)
}

func (s *Semaphore) take(ctx context.Context, permits int64, co callOptions) (bool, error) {
	if err := checkPermits(permits); err != nil {
		return false, err
	}
	if err := s.begin(); err != nil {
		return false, err
	}
	defer s.client.work.Done()
	if permits == 0 {
		return true, nil
	}
	at := place{client: s.client, channel: s.channel, manner: plainPermits, need: permits, eager: s.hard}
	if !s.hard {
		return at.acquire(ctx, co, func(ctx context.Context, _ bool) (time.Duration, error) { return s.attempt(ctx, permits) })
	}
	at.manner = freePermits
	var left int64
	ok, err := at.acquire(ctx, co, func(ctx context.Context, _ bool) (ttl time.Duration, err error) {
		ttl, left, err = s.attemptOnce(ctx, permits)
		return ttl, err
	})
	if ok {
		s.client.hub.more(at, left)
	}
	return ok, err
}

// attempt is Redisson's.
func (s *Semaphore) attempt(ctx context.Context, permits int64) (time.Duration, error) {
	cmd := newIntCall(ctx, evalsha, semaphoreAcquire.digest, 1, s.name, permits)
	err := s.client.run(ctx, semaphoreAcquire, cmd, func() {
		if cmd.Err() == nil && cmd.Val() == 1 { // taken, and nobody wants it any more
			_ = s.plain(s.client.closing, semaphoreRelease, permits, 0).Err()
		}
	})
	if err != nil || cmd.Val() == 0 {
		return -1, err
	}
	return granted, nil
}

// attemptOnce also says how many permits are free after it.
func (s *Semaphore) attemptOnce(ctx context.Context, permits int64) (ttl time.Duration, left int64, err error) {
	c := s.client
	r := c.request(&s.object, "")
	left, err = r.begin(ctx, semaphoreAcquireHardened, s.channel, nil, permits)
	if undecided(err) {
		cancel := r.after()
		c.settleRequest(r, err, func(ctx context.Context) error {
			_, err := cancel.send(ctx, semaphoreCancelHardened, s.channel, nil, r.number, permits)
			return err
		})
		return -1, 0, err
	}
	r.done()
	if err != nil || left < 0 {
		return -1, 0, err
	}
	return granted, left, nil
}

// Release gives so many permits, 0 to [MaxPermits], whoever took them: nobody checks that they were taken
// (redisson#5066: by design).
//
// If its outcome is unknown (see [OutcomeUnknown]), Hardened repeats it in the background until it has taken
// effect once. It does so for twice as long as a copy of a request may be under way. A cut that lasts longer loses it.
// The caller must not repeat it, unless both calls have the same [RequestID]. Where
// there is no semaphore, Hardened returns [ErrNotSet]; the other generations make one of so many permits.
func (s *Semaphore) Release(ctx context.Context, permits int64, opts ...Option) error {
	_, err := s.release(ctx, permits, 0, opts)
	return s.wrap("Release", "", err)
}

// ReleaseIfExists is [Semaphore.Release] where there is a semaphore, and otherwise changes nothing. It
// reports which. (Redisson 4.0.0.)
func (s *Semaphore) ReleaseIfExists(ctx context.Context, permits int64, opts ...Option) (bool, error) {
	ok, err := s.release(ctx, permits, 1, opts)
	if errors.Is(err, ErrNotSet) {
		err = nil
	}
	return ok, s.wrap("ReleaseIfExists", "", err)
}

func (s *Semaphore) release(ctx context.Context, permits int64, onlyIfExists int, opts []Option) (bool, error) {
	co, err := s.client.opts.callWith(opts, requestOption)
	if err == nil {
		err = checkPermits(permits)
	}
	if err == nil && permits == 0 {
		if err = s.begin(); err == nil {
			s.client.work.Done()
		}
		return err == nil, err
	}
	given, err := s.call(ctx, co, err, semaphoreRelease, semaphoreReleaseHardened, permits, onlyIfExists)
	if err == nil && given == 0 && s.hard {
		err = ErrNotSet
	}
	return given == 1, err
}

// Drain takes all permits that are free and returns how many that were. Fewer than 0 may be: then it gives
// what is missing.
func (s *Semaphore) Drain(ctx context.Context, opts ...Option) (int64, error) {
	co, err := s.client.opts.callWith(opts, requestOption)
	taken, err := s.call(ctx, co, err, semaphoreDrain, semaphoreDrainHardened)
	return taken, s.wrap("Drain", "", err)
}

// AvailablePermits returns how many permits are free: 0 where there is no semaphore.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int64, error) {
	free, err := s.number(ctx)
	return free, s.wrap("AvailablePermits", "", err)
}

// number reads the key as a number, 0 where there is none.
func (o *object) number(ctx context.Context) (int64, error) {
	cmd := redis.NewStringCmd(ctx, "get", o.name)
	err := o.query(ctx, cmd)
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return cmd.Int64()
}

// call executes a script of the one form or the other, unless bad says that the arguments are refused.
func (s *Semaphore) call(ctx context.Context, co callOptions, bad error, plain, hardened *script,
	args ...any) (int64, error) {
	switch {
	case bad != nil:
		return 0, bad
	case co.request != "" && !s.hard:
		return 0, ErrGeneration
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.client.work.Done()
	if s.hard {
		return s.client.effect(ctx, &s.object, co, hardened, s.channel, nil, args...)
	}
	cmd := s.plain(ctx, plain, args...)
	if err := cmd.Err(); err != nil {
		return 0, err
	}
	return cmd.Val(), nil
}

// plain runs one of Redisson's scripts. The result's error is that of the call.
func (s *Semaphore) plain(ctx context.Context, script *script, args ...any) *redis.IntCmd {
	cmd := newIntCall(ctx, append([]any{evalsha, script.digest, 2, s.name, s.channel}, args...)...)
	result := redis.NewIntCmd(ctx)
	if err := s.client.run(ctx, script, cmd, nil); err != nil {
		result.SetErr(err) // cmd must not be touched: it may still run
		return result
	}
	return &cmd.IntCmd
}

func checkPermits(permits int64) error {
	if permits < 0 || permits > MaxPermits {
		return ErrBadPermits
	}
	return nil
}

// plainPermits is how Redisson's waiters for permits hear: a message of m permits wakes m of them, and what
// was missed stays so.
var plainPermits = &manner{
	heard: func(ch *channel, payload string) {
		m, err := strconv.ParseInt(payload, 10, 64)
		if err != nil {
			return
		}
		for range min(m, int64(len(ch.waiters))) {
			ch.wakeOne()
		}
	},
	leaves: func(ch *channel, w *waiter, _ bool) {
		if w.unread() {
			ch.wakeOne()
		}
	},
	resumed: func(*channel, []*waiter) {},
}

// freePermits is how those of generation Hardened do: a message of m permits wakes those who can get what
// they ask for out of m, and after a broken subscription everybody looks.
var freePermits = &manner{
	heard: func(ch *channel, payload string) {
		if m, err := strconv.ParseInt(payload, 10, 64); err == nil {
			ch.wakeFor(m)
		}
	},
	refused: func(ch *channel, w *waiter) { ch.wakeFor(min(w.offer, w.need-1)) },
	leaves: func(ch *channel, w *waiter, acquired bool) {
		switch {
		case acquired && w.unread():
			if ch.wakeFor(w.need) == w.need { // nobody wants so few: those who were too many beside it may be served
				ch.wakeFor(w.offer)
			}
		case w.owes && !acquired || w.unread():
			ch.wakeFor(max(w.need, w.offer)) // of that it took nothing
		}
	},
	resumed: wakeAll,
}

// wakeFor wakes, in order of arrival, waiters who need no more than so many permits together. It returns how many are left.
func (ch *channel) wakeFor(permits int64) (left int64) {
	for _, w := range ch.waiters {
		if permits <= 0 {
			return permits
		}
		switch {
		case w.unread(): // it will ask
			w.offer = max(w.offer, permits)
			permits -= w.need
		case w.need <= permits: // if an attempt of it is under way, that may have come too early
			w.offer = permits
			w.wakeUp()
			permits -= w.need
		}
	}
	return permits
}

// wakeAll wakes waiters.
func wakeAll(_ *channel, waiters []*waiter) {
	for _, w := range waiters {
		if !w.unread() {
			w.wakeUp()
		}
	}
}

// more wakes other waiters at p, since an answer says that permits are free.
func (h *hub) more(p place, permits int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[p.channel]; ch != nil && permits > 0 {
		ch.wakeFor(permits)
	}
}
