package lockimpl

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// hardened is the protocol that keeps its promises where the faithful ones cannot. Key, field,
// channel and message are theirs. Two more keys, in the lock's Cluster slot:
//
// The record of an owner's last request on a lock (see requestOf) holds the request's number, its
// answer. Numbers rise, so a script that finds its own number answers what it answered before, and
// one that finds a higher number does nothing. The record outlives the lease by memory, and a
// renewal prolongs it: while an owner holds the lock, no old request of it can be taken for new.
// Neither a re-entry nor a renewal shortens a lease.
//
// The token counter (see counterOf) gives each grant a higher number.
//
// A client has one request of an owner on a lock under way at a time. Where the outcome of one is
// unknown, the server's hold count is set to what the client knows (reconcile) before the next, and
// in the background for as long as the lease may last.
type hardened struct {
	client *Client
	memory time.Duration // how long after the first copy of a request another may come

	acquires, releases, forces, renews *script
	message                            string // of a forced release
}

func newHardened(c *Client) *hardened {
	return &hardened{client: c, memory: max(c.opts.latchLifetime(), resending(c.rdb)), acquires: acquireHardened,
		releases: releaseHardened, forces: forceHardened, renews: renewHardened, message: unlockMessage}
}

func (p *hardened) attempt(ctx context.Context, l *RLock, owner Owner, co callOptions) (time.Duration, error) {
	hs := p.client.holds
	h, v, err := hs.enter(ctx, l, owner)
	if err != nil {
		return 0, err
	}
	defer hs.exit(h)
	if v.unsettled {
		if err := p.reconcile(apart{ctx}, l, h); err != nil {
			return 0, err
		}
		v = hs.viewOf(h)
	}
	if l.fair != nil && l.fair.keep(co) > 0 {
		hs.waitsAgain(h)
	}
	again := max(co.lease, v.longest) // a re-entry does not shorten
	for range tries {
		request, called := p.client.nextRequest(h.key.owner)
		args := append(make([]any, 0, 13), evalsha, p.acquires.digest, 3, l.nameArg, l.counterArg, h.recordArg)
		switch {
		case l.fair != nil:
			args[2] = 4
			args = append(args, l.fair.line)
		case co.contended:
			args[2] = 4
			args = append(args, l.channelArg)
		}
		args = append(args, co.lease.Milliseconds(), h.ownerArg, request, (co.lease + p.memory).Milliseconds())
		if again > co.lease || l.fenced || l.fair != nil {
			args = append(args, (again - co.lease).Milliseconds())
		}
		if l.fair != nil {
			args = append(args, l.fair.keep(co).Milliseconds(), l.fair.poll.Milliseconds())
		}
		if l.fenced {
			args = append(args, 1)
		}
		cmd := newIntCall(ctx, args...)
		if err := p.client.run(ctx, p.acquires, cmd, func() { p.settleAcquire(l, h, again, request, cmd) }); err != nil {
			p.unanswered(l, h, again, err)
			return 0, err
		}
		switch answer := cmd.Val(); {
		case answer > 0 || answer == -1:
			ends := hs.granted(h, co, again, request, answer, called)
			if !ends.IsZero() && (time.Now().Before(ends) || time.Since(called) < co.lease) {
				return granted, nil
			}
			hs.mu.Lock()
			hs.lose(h)
			hs.mu.Unlock()
			if err := p.reconcile(ctx, l, h); !ends.IsZero() || err != nil {
				return 0, ErrElapsed
			}
			continue // what an earlier call had left is given back: the lock is asked for anew
		case answer == -2:
			hs.refused(h)
			return -1, nil
		case answer == upgrades:
			return 0, ErrUpgrade
		case answer < 0:
			hs.refused(h)
			left := time.Duration(-3-answer) * time.Millisecond
			if since := time.Since(called); since >= p.client.opts.ResponseTimeout {
				left = max(left-since, 0) // a copy got the answer of the first, which counts from when that was executed
			}
			return left, nil
		}
		p.client.overtaken(h.key.owner)
	}
	return 0, ErrSuperseded
}

// upgrades is the answer of rw_acquire_hardened.lua to a reader who would write.
const upgrades = -9_000_000_000_000_000

// tries bounds how often a call begins anew because a later request of its owner overtook it, which
// only another client with the same id can have made.
const tries = 3

// safe is until when a hold may be relied on if the request that set its lease was made at called.
func safe(called time.Time, lease time.Duration) time.Time {
	return called.Add(lease - Margin(lease))
}

// granted notes the acquire script's answer: a re-entry (-1), under lease again, or the token of a
// new grant; if the owner thought that it held the lock already, that had ended. It returns when
// the hold ends: the zero time if the owner was granted nothing that it could have entered once more, so
// that a request was executed that came later than anything is remembered of it.
func (hs *holds) granted(h *hold, co callOptions, again time.Duration, request, answer int64, called time.Time) time.Time {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	ends := safe(called, co.lease)
	if answer == -1 {
		if before := h.watched(); len(h.levels) == 0 { // what was called lost meanwhile the server had still
			h.levels, h.past = h.past, nil
			hs.count(before, h.watched())
		}
		co.lease = again
		if ends = safe(called, again); len(h.levels) > 0 && h.ends.After(ends) {
			ends = h.ends // a renewal was executed after the call, and so before what it set
		}
	} else {
		hs.lose(h)
		h.unsettled = false
		h.token = answer
	}
	h.answered(request)
	hs.push(h, co, ends)
	if h.token == 0 {
		h.unsettled = true
		return time.Time{}
	}
	return h.ends
}

func (p *hardened) unlock(ctx context.Context, l *RLock, owner Owner) (bool, error) {
	hs := p.client.holds
	h, v, err := hs.enter(ctx, l, owner)
	if err != nil {
		return false, &notBegun{err, p}
	}
	defer hs.exit(h)
	if v.settle {
		if err := p.reconcile(apart{ctx}, l, h); err != nil {
			p.unlockFailed(l, h, err)
			return false, err
		}
		v = hs.viewOf(h)
	}
	memory := p.memory
	if v.levels != 1 {
		memory += v.outer // holds may remain
	}
	remain, request, called, err := p.release(ctx, l, h, v.outer, memory, -1)
	switch {
	case errors.Is(err, errNotSent):
		return false, &notBegun{err, p}
	case err != nil:
		p.unlockFailed(l, h, err)
		return false, err
	}
	return remain == 0, hs.unlockedOne(h, request, remain, safe(called, v.outer))
}

// refused notes that the acquire script found another owner's hold: what this owner thought that it held is over.
func (hs *holds) refused(h *hold) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.lose(h)
}

// answeredLate notes the acquire script's answer to a call that was given up. A grant anew, and a refusal, say that what this owner
// thought that it held is over. They say nothing of what a later request has found.
func (hs *holds) answeredLate(h *hold, request, answer int64) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if request > h.request && (answer > 0 || answer < -1 && answer != upgrades) {
		hs.lose(h)
	}
}

// settleAcquire is settle for an acquire whose command is over.
func (p *hardened) settleAcquire(l *RLock, h *hold, lease time.Duration, request int64, cmd *intCall) {
	if cmd.Err() == nil {
		p.client.holds.answeredLate(h, request, cmd.Val())
	}
	p.settle(l, h, lease)
}

// unlockedOne notes the release script's answer to the unlock of a hold.
func (hs *holds) unlockedOne(h *hold, request, remain int64, ends time.Time) error {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.answered(request)
	switch {
	case remain < 0:
		hs.lose(h)
		h.unsettled = false
		return ErrNotHeld
	case remain == 0:
		h.unsettled = false
		hs.pop(h, 0)
	default:
		h.endAt(ends)
		hs.popOne(h)
	}
	return nil
}

// answered notes the number of a request that was answered: no request that was sent before it can take effect any more.
func (h *hold) answered(request int64) { h.request, h.unanswered = request, 0 }

// lower notes that a request is made at called which leaves so many holds, -1: one fewer, and may set a lease that ends sooner than the
// client counts on: until it is answered nobody knows. It returns what takes that back, if an error says that nothing was sent.
func (hs *holds) lower(h *hold, called time.Time, lease time.Duration, leaves int) (unsent func(err error)) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if leaves < 0 {
		leaves = len(h.levels) - 1
	}
	if leaves <= 0 || len(h.levels) == 0 {
		return func(error) {}
	}
	ends, unanswered := h.ends, h.unanswered
	if sooner := safe(called, lease); sooner.Before(ends) {
		h.endAt(sooner)
	}
	if h.unanswered = lease; unanswered > 0 {
		h.unanswered = min(lease, unanswered)
	}
	return func(err error) {
		hs.mu.Lock()
		defer hs.mu.Unlock()
		if errors.Is(err, errNotSent) && len(h.levels) > 0 {
			h.endAt(ends)
			h.unanswered = unanswered
		}
	}
}

// unlockFailed forgets the innermost hold, for the caller will not unlock it again. The server may count it still, whether or
// not anything was sent. While others remain, its lease is renewed with theirs: that it is too many is settled in the background. So
// is an unlock that was not sent.
func (p *hardened) unlockFailed(l *RLock, h *hold, err error) { p.unlockFailedNth(0, l, h, err) }

// unlockFailedNth is unlockFailed for the n-th lock of a request.
func (p *hardened) unlockFailedNth(n int, l *RLock, h *hold, err error) {
	hs := p.client.holds
	hs.mu.Lock()
	before := hs.viewLocked(h)
	back := errors.Is(err, errNotSent) && len(h.levels)+len(h.past) > 0 // who is not known to hold anything has nothing to give back
	h.unsettled = h.unsettled || back
	hs.popKept(h)
	v := hs.viewLocked(h)
	hs.mu.Unlock()
	var late *abandoned
	if (v.levels > 0 || back) && !errors.As(err, &late) { // an abandoned command's own goroutine settles
		p.settleLater(n, l, h, before.longest)
	}
}

// release executes the release script: to take back one hold (keep -1), or to leave at most keep.
// It returns how many remain, -1: the owner has none.
func (p *hardened) release(ctx context.Context, l *RLock, h *hold, lease, memory time.Duration, keep int) (
	remain, request int64, called time.Time, err error) {
	for range tries {
		request, called = p.client.nextRequest(h.key.owner)
		args := append(make([]any, 0, 11), evalsha, p.releases.digest, 3, l.nameArg, l.channelArg, h.recordArg)
		if l.fair != nil {
			args[2] = 4
			args = append(args, l.fair.line)
		}
		args = append(args, h.ownerArg, request, memory.Milliseconds(), lease.Milliseconds())
		if keep >= 0 {
			args = append(args, keep)
		}
		cmd := newIntCall(ctx, args...)
		unsent := p.client.holds.lower(h, called, lease, keep)
		if err := p.client.run(ctx, p.releases, cmd, func() { p.settle(l, h, lease) }); err != nil {
			unsent(err)
			p.unanswered(l, h, lease, err)
			return 0, 0, called, err
		}
		if remain := cmd.Val(); remain != -2 {
			return remain, request, called, nil
		}
		p.client.overtaken(h.key.owner)
	}
	return 0, 0, called, ErrSuperseded
}

// apart is a context without its values: what settles an earlier call is no part, for those who trace
// calls by them, of the one that it happens to precede.
type apart struct{ context.Context }

func (apart) Value(any) any { return nil }

// reconcile makes the server's hold count what the client knows, if it may be another. It does so again where the client
// forgot a hold meanwhile: an unlock that could not begin does not wait for the answer.
func (p *hardened) reconcile(ctx context.Context, l *RLock, h *hold) error {
	hs := p.client.holds
	for v := hs.viewOf(h); v.unsettled; v = hs.viewOf(h) {
		remain, request, called, err := p.release(ctx, l, h, v.inner, v.inner+p.memory, v.levels)
		if err != nil {
			return err
		}
		hs.reconciled(h, request, remain, safe(called, v.inner))
	}
	return nil
}

// reconciled notes the release script's answer to reconcile.
func (hs *holds) reconciled(h *hold, request, remain int64, ends time.Time) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.answered(request)
	h.unsettled, h.owes = remain > int64(len(h.levels)), false
	if remain > 0 {
		h.endAt(ends)
	} else {
		hs.lose(h)
		h.unsettled = false
	}
}

// unanswered notes that a request, which sets a lease if it takes effect, failed: whether it took
// effect must be settled.
func (p *hardened) unanswered(l *RLock, h *hold, lease time.Duration, err error) {
	p.unansweredNth(0, l, h, lease, err)
}

// takesBack: it settles whatever it does not know.
func (p *hardened) takesBack(error) bool { return true }

// nth is how much later than the first the n-th of several goroutines begins that have come of one command: who comes first must not
// be left to the scheduler.
func nth(n int) time.Duration { return time.Duration(n) }

// unansweredNth is unanswered for the n-th lock of a request.
func (p *hardened) unansweredNth(n int, l *RLock, h *hold, lease time.Duration, err error) {
	if errors.Is(err, errNotSent) {
		return
	}
	hs := p.client.holds
	hs.mu.Lock()
	h.unsettled = true
	hs.mu.Unlock()
	var late *abandoned
	var again *resent
	var refused redis.Error
	if errors.As(err, &late) || errors.As(err, &refused) && !errors.As(err, &again) {
		return // an abandoned command's own goroutine settles; what was refused needs none
	}
	p.settleLater(n, l, h, lease)
}

// settleLater has the n-th of several holds settled in the background, unless that is done already.
func (p *hardened) settleLater(n int, l *RLock, h *hold, lease time.Duration) {
	c := p.client
	if !c.holds.settles(h) {
		return
	}
	c.work.Add(1) // not 0 before: the operation that calls holds one
	go func() {
		defer c.work.Done()
		// Not at once: what failed just now may fail again, and the caller may have something to
		// send first, in an order that should not be left to the scheduler.
		if c.pause(c.opts.settleMin() + nth(n)) {
			p.settling(l, h, lease)
		}
	}()
}

// Delays between attempts to settle: 200 ms to 5 s by default.
func (o Options) settleMin() time.Duration { return o.ResponseTimeout / 15 }
func (o Options) settleMax() time.Duration { return o.ResponseTimeout * 5 / 3 }

// settles notes that a goroutine is to settle a hold, so that nobody forgets that hold before; false: one does so already.
func (hs *holds) settles(h *hold) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.settling {
		return false
	}
	h.settling = true
	return true
}

// settle is settling, unless another goroutine does so already.
func (p *hardened) settle(l *RLock, h *hold, lease time.Duration) {
	if p.client.holds.settles(h) { // whether there is anything to settle shows once the failed call has ended: see enter
		p.settling(l, h, lease)
	}
}

// settling reconciles in the background, until that succeeds, a later request of the owner did it,
// or the lease that the unanswered request may have set is over, however late it was executed.
func (p *hardened) settling(l *RLock, h *hold, lease time.Duration) {
	c := p.client
	hs := c.holds
	deadline := time.Now().Add(lease + p.memory)
	for delay := c.opts.settleMin(); time.Now().Before(deadline); delay = min(2*delay, c.opts.settleMax()) {
		current, _, err := hs.enter(c.closing, l, h.key.owner)
		if err != nil {
			break
		}
		if current == h {
			err = p.reconcile(c.closing, l, h)
		}
		hs.exit(current)
		if err == nil || !c.pause(delay) {
			break
		}
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.settling = false
	if len(h.levels) == 0 && !h.busy {
		h.unsettled = false // the lease is over
	}
	hs.tidy(h)
}

func (p *hardened) force(ctx context.Context, l *RLock) (bool, error) {
	request, err := p.client.newRequestID()
	if err != nil {
		return false, err
	}
	args := []any{evalsha, p.forces.digest, 3, l.nameArg, l.channelArg, latchOf(l.name, request)}
	if l.fair != nil {
		args[2] = 4
		args = append(args, l.fair.line)
	}
	cmd := newIntCall(ctx, append(args, p.message, p.memory.Milliseconds())...)
	if err := p.client.run(ctx, p.forces, cmd, nil); err != nil {
		return false, err
	}
	return cmd.Val() == 1, nil
}

func (p *hardened) renew(batches [][]renewal) error {
	c := p.client
	if batches = c.holds.standing(batches); len(batches) == 0 {
		return nil
	}
	// A server that does not answer must not keep the others' renewals waiting for long.
	ctx, cancel := context.WithTimeout(c.closing, c.holds.period()/2)
	defer cancel()
	cmds := make([]*intsCall, len(batches))
	for i, batch := range batches {
		cmds[i] = p.renewal(ctx, batch)
	}
	called := time.Now()
	if err := c.runAll(ctx, p.renews, cmds, c.holds.again(batches, func(batch []renewal) *intsCall { return p.renewal(ctx, batch) })); err != nil {
		return err
	}
	var failed error
	for i, batch := range batches {
		if cmds[i] == nil {
			continue
		}
		err := cmds[i].Err()
		var refused redis.Error
		switch {
		case err == nil:
			for n, h := range c.holds.renewed(batch, cmds[i].Val(), called, safe) {
				c.work.Add(1) // not 0 before: the round holds one
				go func() {
					defer c.work.Done()
					if c.pause(nth(n)) {
						p.settle(h.lock, h, c.opts.WatchdogTimeout)
					}
				}()
			}
		case errors.As(err, &refused) && len(batch) > 1:
			// Whatever one of them has done to deserve it, the others have not.
			for j := range batch {
				failed = cmp.Or(p.renew([][]renewal{batch[j : j+1]}), failed)
			}
		default:
			failed = err
		}
	}
	return failed
}

func (p *hardened) renewal(ctx context.Context, batch []renewal) *intsCall {
	timeout := p.client.opts.WatchdogTimeout
	args := make([]any, 0, 5+4*len(batch))
	args = append(args, evalsha, p.renews.digest, 2*len(batch))
	for _, r := range batch {
		args = append(args, r.hold.key.lock, r.hold.recordArg)
	}
	args = append(args, timeout.Milliseconds(), (timeout + p.memory).Milliseconds())
	for _, r := range batch {
		args = append(args, r.hold.ownerArg, r.request)
	}
	return newIntsCall(ctx, args...)
}

func (p *hardened) renewAgain() time.Duration { return p.client.holds.period() / 5 }
