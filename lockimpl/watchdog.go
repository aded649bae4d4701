package lockimpl

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchdog knows the holds of the client's owners and renews those that were taken without a
// lease, every third of the watchdog timeout, by one timer that runs only while there are such
// holds.
//
// An error of a renewal changes nothing: the next round tries again. An answer that the owner does
// not hold the lock ends that hold's renewal.
type watchdog struct {
	client *Client

	mu      sync.Mutex
	holds   map[holdKey]*hold
	watched int // holds that are to be renewed
	timer   Timer
	round   uint64 // of the timer that may call; others are stopped ones that could not be
	sweepAt int    // number of holds at which leases that ended unnoticed are looked for
}

type holdKey struct {
	lock  string
	owner Owner
}

// hold is what the client knows of an owner's holds of one lock, innermost last.
type hold struct {
	levels []level
	mark   uint64 // changes with every acquisition
	ends   time.Time
}

type level struct {
	lease   time.Duration
	watched bool
}

// watched reports whether any of the holds was taken without a lease.
func (h *hold) watched() bool {
	return slices.ContainsFunc(h.levels, func(l level) bool { return l.watched })
}

func newWatchdog(c *Client) *watchdog {
	return &watchdog{client: c, holds: map[holdKey]*hold{}, sweepAt: 64}
}

// acquired notes that the server granted a hold.
func (d *watchdog) acquired(key holdKey, co callOptions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.holds[key]
	if h == nil {
		d.sweep()
		h = &hold{}
		d.holds[key] = h
	}
	before := h.watched()
	h.levels = append(h.levels, level{co.lease, co.watched})
	h.mark++
	h.ends = time.Now().Add(co.lease)
	d.count(before, h.watched())
}

// unlocking returns the hold's mark, to be given to unlocked, and the lease of the hold that
// remains if one is taken back.
func (d *watchdog) unlocking(key holdKey) (mark uint64, lease time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.holds[key]
	if h == nil {
		return 0, d.client.opts.WatchdogTimeout
	}
	return h.mark, d.leaseOf(h.levels[:len(h.levels)-1])
}

// lease returns the lease of the innermost hold.
func (d *watchdog) lease(key holdKey) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.holds[key]; h != nil {
		return d.leaseOf(h.levels)
	}
	return d.client.opts.WatchdogTimeout
}

func (d *watchdog) leaseOf(levels []level) time.Duration {
	if len(levels) == 0 {
		return d.client.opts.WatchdogTimeout
	}
	return levels[len(levels)-1].lease
}

// unlocked forgets the innermost hold, or all of them if the server said that none is left and
// none was acquired meanwhile.
func (d *watchdog) unlocked(key holdKey, mark uint64, free bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.holds[key]
	if h == nil {
		return
	}
	if free && h.mark == mark {
		d.remove(key, h)
		return
	}
	before := h.watched()
	h.levels = h.levels[:len(h.levels)-1]
	h.ends = time.Now().Add(d.client.opts.WatchdogTimeout)
	d.count(before, h.watched())
	if len(h.levels) == 0 {
		delete(d.holds, key)
	}
}

// forget drops all holds of a lock.
func (d *watchdog) forget(lock string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, h := range d.holds {
		if key.lock == lock {
			d.remove(key, h)
		}
	}
}

func (d *watchdog) remove(key holdKey, h *hold) {
	d.count(h.watched(), false)
	delete(d.holds, key)
}

// count keeps the number of watched holds, and starts or stops the timer.
func (d *watchdog) count(before, after bool) {
	switch {
	case !before && after:
		d.watched++
		if d.watched == 1 {
			d.start(d.period())
		}
	case before && !after:
		d.watched--
		if d.watched == 0 {
			d.halt()
		}
	}
}

func (d *watchdog) period() time.Duration { return d.client.opts.WatchdogTimeout / 3 }

func (d *watchdog) start(after time.Duration) {
	d.round++
	round := d.round
	d.timer = d.client.opts.Scheduler.AfterFunc(after, func() { d.run(round) })
}

func (d *watchdog) halt() {
	d.round++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.holds)
	d.watched = 0
	d.halt()
}

// sweep forgets unwatched holds whose leases ended without an unlock. It costs a constant time per
// hold acquired.
func (d *watchdog) sweep() {
	if len(d.holds) < d.sweepAt {
		return
	}
	now := time.Now()
	for key, h := range d.holds {
		if !h.watched() && now.After(h.ends) {
			delete(d.holds, key)
		}
	}
	d.sweepAt = max(64, 2*len(d.holds))
}

// renewal is one hold to be renewed in a round.
type renewal struct {
	key  holdKey
	mark uint64
}

// run is one round: it renews all watched holds, in the order of their names, and starts the timer
// for the next.
func (d *watchdog) run(round uint64) {
	if d.client.begin() != nil {
		return
	}
	defer d.client.work.Done()
	began := time.Now()
	due := d.due(round)
	for batch := range slices.Chunk(due, d.batchSize()) {
		d.renew(d.client.closing, batch)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.round == round && d.watched > 0 {
		d.start(max(0, d.period()-time.Since(began)))
	}
}

func (d *watchdog) due(round uint64) []renewal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.round != round {
		return nil
	}
	due := make([]renewal, 0, d.watched)
	for key, h := range d.holds {
		if h.watched() {
			due = append(due, renewal{key, h.mark})
		}
	}
	slices.SortFunc(due, func(a, b renewal) int {
		return cmp.Or(cmp.Compare(a.key.lock, b.key.lock), cmp.Compare(a.key.owner, b.key.owner))
	})
	return due
}

// batchSize is 1 where locks may lie in different Cluster slots.
func (d *watchdog) batchSize() int {
	if _, one := d.client.rdb.(*redis.Client); !one {
		return 1
	}
	return d.client.opts.WatchdogBatch
}

func (d *watchdog) renew(ctx context.Context, batch []renewal) {
	keys := make([]string, len(batch))
	args := make([]any, 1, 1+len(batch))
	args[0] = d.client.opts.WatchdogTimeout.Milliseconds()
	for i, r := range batch {
		keys[i] = r.key.lock
		args = append(args, string(r.key.owner))
	}
	cmd, err := run(ctx, d.client, renew, redis.NewIntSliceCmd, nil, keys, args...)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, held := range cmd.Val() {
		r := batch[i]
		// A hold acquired since the command was sent is none of this answer's business.
		if h := d.holds[r.key]; held == 0 && h != nil && h.mark == r.mark {
			d.remove(r.key, h)
		}
	}
}
