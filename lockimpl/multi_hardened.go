package lockimpl

import (
	"context"
	"slices"
	"time"
)

// attemptAll is attempt for several locks of one client by one script.
func (p *hardened) attemptAll(ctx context.Context, locks []*RLock, owner Owner, co callOptions) (
	*RLock, time.Duration, error) {
	hs := p.client.holds
	held, err := p.enterAll(ctx, locks, owner)
	if err != nil {
		return nil, 0, err
	}
	defer p.exitAll(held)
	again := make([]time.Duration, len(held)) // a re-entry does not shorten
	longest := co.lease
	for i, h := range held {
		if err := p.reconcile(apart{ctx}, locks[i], h); err != nil {
			return nil, 0, err
		}
		again[i] = max(co.lease, hs.viewOf(h).longest)
		longest = max(longest, again[i])
	}
	for range tries {
		request, called := p.client.nextRequest(held[0].key.owner)
		args := make([]any, 0, 8+4*len(locks))
		args = append(args, evalsha, acquireMulti.digest, 3*len(locks))
		for i, l := range locks {
			args = append(args, l.nameArg, l.counterArg, held[i].recordArg)
		}
		args = append(args, co.lease.Milliseconds(), held[0].ownerArg, request, (co.lease + p.memory).Milliseconds())
		for _, lease := range again {
			args = append(args, (lease - co.lease).Milliseconds())
		}
		if locks[0].fenced {
			args = append(args, 1)
		}
		cmd := newIntsCall(ctx, args...)
		settle := p.settleAll(locks, held, longest)
		if err := p.client.run(ctx, acquireMulti, cmd, func() {
			if answer := cmd.Val(); cmd.Err() == nil && answer[0] == 1 {
				for i, h := range held {
					hs.answeredLate(h, request, answer[i+1])
				}
			} else if cmd.Err() == nil && answer[0] == 0 {
				hs.answeredLate(held[answer[1]-1], request, -2)
			}
			settle()
		}); err != nil {
			p.unansweredAll(locks, held, longest, err)
			return nil, 0, err
		}
		switch answer := cmd.Val(); answer[0] {
		case 1:
			over, left := false, false
			for i, h := range held {
				ends := hs.granted(h, co, again[i], request, answer[i+1], called)
				over, left = over || !time.Now().Before(ends), left || ends.IsZero()
			}
			if over {
				// The answer came when the leases were over.
				back, cancel := locks[0].givesBack(ctx)
				p.releaseAll(back, locks, held)
				for i, h := range held { // more than was just granted may be there
					_ = p.reconcile(back, locks[i], h)
				}
				cancel()
				if left {
					continue // what an earlier call had left is given back: the locks are asked for anew
				}
				return nil, 0, ErrElapsed
			}
			return nil, granted, nil
		case 0:
			hs.refused(held[answer[1]-1])
			ttl := time.Duration(-1)
			if answer[2] >= 0 {
				ttl = time.Duration(answer[2]) * time.Millisecond
			}
			return locks[answer[1]-1], ttl, nil
		}
		p.client.overtaken(held[0].key.owner)
	}
	return nil, 0, ErrSuperseded
}

// unlockAll is unlock for several locks of one client by one script.
func (p *hardened) unlockAll(ctx context.Context, locks []*RLock, owner Owner) ([]Unlocked, error) {
	over := ctx.Err() != nil
	held, err := p.enterAll(ctx, locks, owner)
	switch {
	case err != nil && over: // as unlock does: its owner does not call again
		results := make([]Unlocked, len(locks))
		for i, l := range locks {
			results[i].Err = l.wrap("Unlock", owner, &notBegun{err, p})
		}
		leaveRest(results, locks, owner)
		return results, nil
	case err != nil:
		return nil, locks[0].wrap("Unlock", owner, err)
	}
	defer p.exitAll(held)
	for i, h := range held {
		if p.client.holds.viewOf(h).settle {
			// If that fails, so may what follows; it is tried all the same.
			_ = p.reconcile(apart{ctx}, locks[i], h)
		}
	}
	return p.releaseAll(ctx, locks, held), nil
}

// releaseAll takes back one hold of each lock, and returns what became of each.
func (p *hardened) releaseAll(ctx context.Context, locks []*RLock, held []*hold) []Unlocked {
	hs := p.client.holds
	args := make([]any, 0, 5+5*len(locks))
	args = append(args, evalsha, releaseMulti.digest, 3*len(locks))
	for i, l := range locks {
		args = append(args, l.nameArg, l.channelArg, held[i].recordArg)
	}
	request, called := p.client.nextRequest(held[0].key.owner)
	args = append(args, held[0].ownerArg, request)
	leases := make([]time.Duration, len(held))
	unsent := make([]func(error), len(held))
	for i, h := range held {
		leases[i] = hs.viewOf(h).outer
		unsent[i] = hs.lower(h, called, leases[i], -1)
		args = append(args, (leases[i] + p.memory).Milliseconds(), leases[i].Milliseconds())
	}
	longest := slices.Max(leases)
	results := make([]Unlocked, len(held))
	cmd := newIntsCall(ctx, args...)
	if err := p.client.run(ctx, releaseMulti, cmd, p.settleAll(locks, held, longest)); err != nil {
		p.unansweredAll(locks, held, longest, err)
		for i, h := range held {
			unsent[i](err)
			p.unlockFailedNth(i, locks[i], h, err)
			results[i].Err = locks[i].wrap("Unlock", h.key.owner, err)
		}
		return results
	}
	for i, remain := range cmd.Val() {
		var err error
		if remain == -2 {
			p.client.overtaken(held[0].key.owner)
			err = ErrSuperseded
			p.unlockFailedNth(i, locks[i], held[i], err)
		} else {
			err = hs.unlockedOne(held[i], request, remain, safe(called, leases[i]))
		}
		results[i] = Unlocked{Released: remain == 0, Err: locks[i].wrap("Unlock", held[i].key.owner, err)}
	}
	return results
}

// enterAll begins a request on each of locks, which are in the order of their names, so that two
// calls cannot wait for each other.
func (p *hardened) enterAll(ctx context.Context, locks []*RLock, owner Owner) ([]*hold, error) {
	held := make([]*hold, 0, len(locks))
	for _, l := range locks {
		h, _, err := p.client.holds.enter(ctx, l, owner)
		if err != nil {
			p.exitAll(held)
			return nil, err
		}
		held = append(held, h)
	}
	return held, nil
}

func (p *hardened) exitAll(held []*hold) {
	for _, h := range held {
		p.client.holds.exit(h)
	}
}

func (p *hardened) unansweredAll(locks []*RLock, held []*hold, lease time.Duration, err error) {
	for i, h := range held {
		p.unansweredNth(i, locks[i], h, lease, err)
	}
}

// settleAll is settle for each, to be called when an abandoned command is over.
func (p *hardened) settleAll(locks []*RLock, held []*hold, lease time.Duration) func() {
	return func() {
		for i, h := range held {
			p.settle(locks[i], h, lease)
		}
	}
}
