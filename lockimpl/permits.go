package lockimpl

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// PermitExpirableSemaphore is a number of permits of which each that is taken has an id, and may have a
// lease, after which it is free by itself: Redisson's RPermitExpirableSemaphore (4.7), one permit a call. It
// is not fair, and nothing renews a permit: see [PermitExpirableSemaphore.UpdateLease].
//
// It is a handle, safe for concurrent use.
//
// Classic, Combined and Latch are one form here, Redisson's 4.7.0, on its keys and channel, with what is weak
// in it. Leases end by the clocks of the clients: one whose clock is ahead takes permits that are held. A
// copy of an acquire takes a permit that never comes back; so does one whose answer is lost, without a lease.
// If only the key of the free permits is lost and set anew, more permits are out than there are. A copy of a
// release says that there was nothing to release. Messages are lost as those of a [Semaphore].
//
// Hardened keeps everything in the semaphore's one key, of another type, so that the server refuses to let
// both forms share a semaphore; how many are free follows from it. Leases end by the server's clock. Requests
// count once, also those whose caller gave up: what such an acquire took is given back.
type PermitExpirableSemaphore struct {
	object
	channel  string
	timeouts string
	hard     bool
}

// Permit is the id of a permit that was taken: 32 hexadecimal digits.
type Permit string

// PermitExpirableSemaphore returns the semaphore of that name. It costs nothing on the server. A name that
// cannot be a semaphore's is reported by the operations.
func (c *Client) PermitExpirableSemaphore(name string) *PermitExpirableSemaphore {
	_, hard := c.proto.(*hardened)
	return &PermitExpirableSemaphore{object{c, name, checkName(name)}, semaphoreChannelOf(name), timeoutsOf(name), hard}
}

// TrySetPermits makes a semaphore of so many permits, 0 to [MaxPermits], and reports whether it did: false,
// there is one already. With [Lease] it ends by itself after that time, and all permits with it.
func (s *PermitExpirableSemaphore) TrySetPermits(ctx context.Context, permits int64, opts ...Option) (bool, error) {
	co, err := s.client.opts.callWith(opts, leaseOption, requestOption)
	if err == nil {
		err = checkPermits(permits)
	}
	var life []any
	if !co.watched {
		life = append(life, co.lease.Milliseconds())
	}
	var set int64
	if s.hard {
		set, err = s.once(ctx, co, err, permitsSetHardened, append([]any{permits, 0}, life...)...)
	} else {
		set, err = s.plain(ctx, co, err, semaphoreSet, []any{s.name, s.channel}, append([]any{permits}, life...)...)
	}
	return set == 1, s.wrap("TrySetPermits", "", err)
}

// AddPermits makes it so many permits more, or fewer (-[MaxPermits] to MaxPermits): those that are out stay
// so. Where there is no semaphore it makes one. Hardened makes it no fewer than 0.
func (s *PermitExpirableSemaphore) AddPermits(ctx context.Context, permits int64, opts ...Option) error {
	co, err := s.client.opts.callWith(opts, requestOption)
	if err == nil {
		err = checkPermits(max(permits, -permits))
	}
	if s.hard {
		_, err = s.once(ctx, co, err, permitsSetHardened, permits, 2)
	} else {
		_, err = s.plain(ctx, co, err, semaphoreAdd, []any{s.name, s.channel}, permits)
	}
	return s.wrap("AddPermits", "", err)
}

// Acquire takes a permit, and waits for it as long as ctx lasts. With [Lease] it ends after that time;
// without, it is taken until it is released, also if its holder dies. When ctx ends, the rest is as with
// [Semaphore.Acquire].
func (s *PermitExpirableSemaphore) Acquire(ctx context.Context, opts ...Option) (Permit, error) {
	co, err := s.client.opts.callWith(opts, leaseOption)
	var permit Permit
	if err == nil {
		permit, _, err = s.take(ctx, co)
	}
	return permit, s.wrap("Acquire", "", err)
}

// TryAcquire takes a permit if one is free or becomes so within [Wait], and reports whether it did. The rest
// is as with [PermitExpirableSemaphore.Acquire].
func (s *PermitExpirableSemaphore) TryAcquire(ctx context.Context, opts ...Option) (Permit, bool, error) {
	co, err := s.client.opts.callWith(opts, leaseOption, waitOption)
	var permit Permit
	ok := false
	if err == nil {
		co.bounded = true
		permit, ok, err = s.take(ctx, co)
	}
	return permit, ok, s.wrap("TryAcquire", "", err)
}

func (s *PermitExpirableSemaphore) take(ctx context.Context, co callOptions) (Permit, bool, error) {
	if err := s.begin(); err != nil {
		return "", false, err
	}
	defer s.client.work.Done()
	id, err := s.client.newRequestID()
	if err != nil {
		return "", false, err
	}
	at := place{client: s.client, channel: s.channel, manner: plainPermits, need: 1, eager: s.hard}
	var left int64
	attempt := func(ctx context.Context, _ bool) (time.Duration, error) { return s.attempt(ctx, id, co) }
	if s.hard {
		at.manner = freePermits
		attempt = func(ctx context.Context, _ bool) (ttl time.Duration, err error) {
			ttl, left, err = s.attemptOnce(ctx, id, co)
			return ttl, err
		}
	}
	ok, err := at.acquire(ctx, co, attempt)
	if !ok {
		return "", false, err
	}
	s.client.hub.more(at, left)
	return Permit(id), true, nil
}

// noDeadline is Redisson's deadline of a permit without a lease.
const noDeadline = 922337203685477

// ends is a deadline by the client's clock.
func (co callOptions) ends(now time.Time) int64 {
	if co.watched {
		return noDeadline
	}
	return now.Add(co.lease).UnixMilli()
}

// leaseOrNone is the lease in ms, 0: none was given.
func (co callOptions) leaseOrNone() int64 {
	if co.watched {
		return 0
	}
	return co.lease.Milliseconds()
}

// attempt is Redisson's.
func (s *PermitExpirableSemaphore) attempt(ctx context.Context, id string, co callOptions) (time.Duration, error) {
	now := s.client.opts.Now()
	cmd := newIntCall(ctx, evalsha, permitsAcquire.digest, 3, s.name, s.timeouts, s.channel,
		now.UnixMilli(), co.ends(now), member(id))
	err := s.client.run(ctx, permitsAcquire, cmd, func() {
		if errors.Is(cmd.Err(), redis.Nil) { // taken, and nobody wants it any more
			_, _ = s.run(s.client.closing, permitsRelease, s.keys(), s.client.opts.Now().UnixMilli(), member(id))
		}
	})
	switch {
	case errors.Is(err, redis.Nil):
		return granted, nil
	case err != nil:
		return 0, err
	case cmd.Val() < 0:
		return -1, nil
	}
	return max(0, time.UnixMilli(cmd.Val()).Sub(now)), nil
}

// attemptOnce also says how many permits are free after it.
func (s *PermitExpirableSemaphore) attemptOnce(ctx context.Context, id string, co callOptions) (time.Duration, int64, error) {
	c := s.client
	r := c.request(&s.object, "")
	answer, err := r.begin(ctx, permitsAcquireHardened, s.channel, nil, co.leaseOrNone(), id)
	if undecided(err) {
		cancel := r.after()
		c.settleRequest(r, err, func(ctx context.Context) error {
			_, err := cancel.send(ctx, permitsReleaseHardened, s.channel, nil, id)
			return err
		})
		return -1, 0, err
	}
	r.done()
	switch {
	case err != nil || answer == -1:
		return -1, 0, err
	case answer < -1:
		return min(time.Duration(-2-answer)*time.Millisecond, c.opts.WatchdogTimeout), 0, nil // a message may be lost
	}
	return granted, answer, nil
}

// keys are those of Redisson's scripts.
func (s *PermitExpirableSemaphore) keys() []any { return []any{s.name, s.timeouts, s.channel} }

// member is a permit as Redisson's set has it: its bytes.
func member(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil {
		return id // no permit's
	}
	return string(b)
}

// Release gives a permit back. If it is not taken, or its lease is over, Release returns [ErrNotHeld]. If the
// outcome is unknown, the rest is as with [Semaphore.Release].
func (s *PermitExpirableSemaphore) Release(ctx context.Context, permit Permit, opts ...Option) error {
	co, err := s.client.opts.callWith(opts, requestOption)
	var given int64
	if s.hard {
		given, err = s.onceOf(ctx, co, err, permit, permitsReleaseHardened, string(permit))
	} else {
		now := s.client.opts.Now().UnixMilli()
		given, err = s.plain(ctx, co, err, permitsRelease, s.keys(), now, member(string(permit)))
	}
	if err == nil && given == 0 {
		err = ErrNotHeld
	}
	return s.wrap("Release", "", err)
}

// UpdateLease has a permit that is taken end after [Lease] from now, or, without that, not by itself. If it
// is not taken, or its lease is over, it returns [ErrNotHeld].
func (s *PermitExpirableSemaphore) UpdateLease(ctx context.Context, permit Permit, opts ...Option) error {
	co, err := s.client.opts.callWith(opts, leaseOption, requestOption)
	var set int64
	if s.hard {
		set, err = s.onceOf(ctx, co, err, permit, permitsUpdateHardened, co.leaseOrNone(), string(permit))
	} else {
		now := s.client.opts.Now()
		set, err = s.plain(ctx, co, err, permitsUpdate, s.keys(), now.UnixMilli(), co.ends(now), member(string(permit)))
	}
	if err == nil && set == 0 {
		err = ErrNotHeld
	}
	return s.wrap("UpdateLease", "", err)
}

// AvailablePermits returns how many permits are free: 0 where there is no semaphore.
func (s *PermitExpirableSemaphore) AvailablePermits(ctx context.Context) (int64, error) {
	free, err := int64(0), s.begin()
	if err == nil {
		defer s.client.work.Done()
		if s.hard {
			free, err = s.run(ctx, permitsFreeHardened, []any{s.name})
		} else {
			free, err = s.run(ctx, permitsFree, s.keys(), s.client.opts.Now().UnixMilli())
		}
	}
	return free, s.wrap("AvailablePermits", "", err)
}

// once executes a script of Hardened, unless bad says that the arguments are refused.
func (s *PermitExpirableSemaphore) once(ctx context.Context, co callOptions, bad error, script *script,
	args ...any) (int64, error) {
	if bad != nil {
		return 0, bad
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.client.work.Done()
	return s.client.effect(ctx, &s.object, co, script, s.channel, nil, args...)
}

// onceOf is once of a script about a permit. Nobody has what is no permit's id: it may name something else in the key.
func (s *PermitExpirableSemaphore) onceOf(ctx context.Context, co callOptions, bad error, permit Permit, script *script, args ...any) (int64, error) {
	if id, err := hex.DecodeString(string(permit)); bad != nil || err == nil && len(id) == 16 {
		return s.once(ctx, co, bad, script, args...)
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	s.client.work.Done()
	return 0, nil
}

// plain executes one of Redisson's, unless bad says that the arguments are refused.
func (s *PermitExpirableSemaphore) plain(ctx context.Context, co callOptions, bad error, script *script,
	keys []any, args ...any) (int64, error) {
	switch {
	case bad != nil:
		return 0, bad
	case co.request != "":
		return 0, ErrGeneration
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.client.work.Done()
	return s.run(ctx, script, keys, args...)
}

func (s *PermitExpirableSemaphore) run(ctx context.Context, script *script, keys []any, args ...any) (int64, error) {
	cmd := newIntCall(ctx, append(append([]any{evalsha, script.digest, len(keys)}, keys...), args...)...)
	if err := s.client.run(ctx, script, cmd, nil); err != nil {
		return 0, err
	}
	return cmd.Val(), nil
}
