package lockimpl

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// current is the protocol of generation [Current]: the scripts of [Latch], and what Redisson's client does around them
// since 3.44.0. What is weak there is weak here.
type current struct {
	*faithful
	task *renewalTask
}

func newCurrent(c *Client) *current {
	p := &current{faithful: faithfulLock(c, acquireCombined, true)}
	// With other topologies Redisson drops its flag that says so (redisson#7367).
	p.once = c.oneServer()
	p.task = newRenewalTask(c)
	return p
}

// objectLease is the lease that an [RLock] of generation [Current] asks for where a call asks for none: Redisson's
// internalLockLeaseTime.
func (l *RLock) objectLease() time.Duration {
	if lease := time.Duration(l.leased.Load()); lease > 0 {
		return lease
	}
	return l.client.opts.WatchdogTimeout
}

func (p *current) attempt(ctx context.Context, l *RLock, owner Owner, co callOptions) (time.Duration, error) {
	if co.watched {
		co.lease = l.objectLease()
	}
	cmd := newIntCall(ctx, p.acquiring(l, owner, co)...)
	cmd.once = p.once
	called := time.Now()
	late := func() {
		if errors.Is(cmd.Err(), redis.Nil) { // nobody wants it any more, and nobody gives it back (redisson#5358)
			p.took(l, owner, co, called)
		}
	}
	err := p.client.run(ctx, p.acquire, cmd, late)
	if errors.Is(err, redis.Nil) {
		p.took(l, owner, co, called)
		return granted, nil
	}
	if err != nil {
		return 0, err
	}
	if ttl := cmd.Val(); ttl >= 0 {
		return time.Duration(ttl) * time.Millisecond, nil
	}
	return -1, nil
}

// took notes a grant. Without a lease it is one more to renew; a lease is the object's from now on.
func (p *current) took(l *RLock, owner Owner, co callOptions, called time.Time) {
	if co.watched {
		p.task.add(l.name, owner)
	} else {
		l.leased.Store(int64(co.lease))
	}
	co.watched = false // it is the task that renews
	p.client.holds.acquired(l, owner, co, called)
}

// takesBack: nothing is given back of what nobody waited for.
func (p *current) takesBack(error) bool { return false }

// unlock ends the renewal of one hold whatever its outcome, and of whichever hold: also if the innermost was taken with a
// lease, or if the unlock failed and had no effect.
func (p *current) unlock(ctx context.Context, l *RLock, owner Owner) (bool, error) {
	key := holdKey{l.name, owner}
	mark, _ := p.client.holds.unlocking(key)
	lease, called := l.objectLease(), time.Now()
	free, err := p.release(ctx, l, owner, lease)
	p.task.remove(l.name, owner)
	over := free || errors.Is(err, ErrNotHeld)
	if over {
		l.leased.Store(0) // since 3.19.2 (redisson#4818)
	}
	p.client.holds.unlocked(key, mark, err, over)
	if err == nil && !free {
		p.client.holds.endsAt(key, called.Add(lease))
	}
	return free, err
}

func (p *current) force(ctx context.Context, l *RLock) (bool, error) {
	p.task.drop(l.name)
	return p.faithful.force(ctx, l)
}

// endsAt notes when the lease of a hold ends that something other than a call has set.
func (hs *holds) endsAt(key holdKey, ends time.Time) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.m[key]; h != nil && len(h.levels) > 0 {
		h.endAt(ends)
	}
}
