package lockimpl

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The watchdog renews the holds that were taken without a lease, every third of the watchdog
// timeout, by one timer that runs only while there are such holds.
//
// A renewal sets the watchdog timeout as the lease. With generation Hardened it does so only if less
// than that is left, so that it does not shorten what a call has asked for.
//
// An error of a renewal changes nothing: a later round tries again. An answer that the owner does
// not hold the lock ends that hold's renewal.

// renewal is one hold to be renewed in a round.
type renewal struct {
	hold    *hold
	mark    uint64 // the hold's, when the round began
	request int64
}

// count keeps the number of watched holds, and starts or stops the timer.
func (hs *holds) count(before, after bool) {
	switch {
	case !before && after:
		hs.watched++
		if hs.watched == 1 {
			hs.start(hs.period())
		}
	case before && !after:
		hs.watched--
		if hs.watched == 0 {
			hs.halt()
		}
	}
}

func (hs *holds) period() time.Duration { return hs.client.opts.WatchdogTimeout / 3 }

func (hs *holds) start(after time.Duration) {
	hs.round++
	round := hs.round
	hs.timer = hs.client.opts.Scheduler.AfterFunc(after, func() { hs.renewAll(round) })
}

func (hs *holds) halt() {
	hs.round++
	if hs.timer != nil {
		hs.timer.Stop()
		hs.timer = nil
	}
}

// close forgets everything, and tells who waits for losses.
func (hs *holds) close() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, h := range hs.sorted() {
		if h.watch != nil {
			h.watch.end(ErrClosed)
			h.watch = nil
		}
	}
	clear(hs.m)
	hs.watched = 0
	hs.halt()
}

// sorted lists the holds in the order of their names, for whatever others can see the order of.
func (hs *holds) sorted() []*hold {
	return slices.SortedFunc(maps.Values(hs.m), func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.key.lock, b.key.lock), cmp.Compare(a.key.owner, b.key.owner))
	})
}

// renewAll is one round: it renews all watched holds, in the order of their names, and starts the
// timer for the next.
func (hs *holds) renewAll(round uint64) {
	if hs.client.begin() != nil {
		return
	}
	defer hs.client.work.Done()
	began := time.Now()
	next := hs.period()
	if hs.renew(hs.due(round)) != nil {
		next = hs.client.proto.renewAgain()
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.round == round && hs.watched > 0 {
		hs.start(max(0, next-time.Since(began)))
	}
}

// renew renews holds, on all servers at once: one that does not answer must not keep the others'
// holds from being renewed.
func (hs *holds) renew(due []renewal) error {
	c := hs.client
	shards := c.shards(due)
	if len(shards) == 1 {
		return hs.renewShard(shards[0])
	}
	errs := make([]error, len(shards))
	var wg sync.WaitGroup
	for i, shard := range shards {
		wg.Go(func() { errs[i] = hs.renewShard(shard) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (hs *holds) renewShard(shard []renewal) (failed error) {
	for len(shard) > 0 {
		// Locks of one protocol at a time: each has a script of its own.
		var same, others []renewal
		for _, r := range shard {
			if r.hold.lock.proto == shard[0].hold.lock.proto {
				same = append(same, r)
			} else {
				others = append(others, r)
			}
		}
		for _, batches := range hs.client.rounds(same) {
			err := same[0].hold.lock.proto.renew(batches)
			failed = cmp.Or(err, failed)
			var answered redis.Error
			if err != nil && !errors.As(err, &answered) {
				return failed // who does not answer will not do so for the others, and these must not wait in vain
			}
		}
		shard = others
	}
	return failed
}

// due lists the holds to renew. Those whose leases are over as far as the client can know are
// lost, and not among them.
func (hs *holds) due(round uint64) []renewal {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.round != round {
		return nil
	}
	now := time.Now()
	_, tells := hs.client.proto.(*hardened)
	due := make([]renewal, 0, hs.watched)
	for _, h := range hs.sorted() {
		switch {
		case !h.watched():
		case tells && !now.Before(h.ends):
			hs.lose(h)
		default:
			due = append(due, renewal{h, h.mark, h.request})
		}
	}
	return due
}

// standing leaves out the holds that ended, or were followed by others, since the round began.
func (hs *holds) standing(batches [][]renewal) (left [][]renewal) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, batch := range batches {
		batch = slices.DeleteFunc(slices.Clone(batch), func(r renewal) bool { return !r.hold.watched() || r.hold.mark != r.mark })
		if len(batch) > 0 {
			left = append(left, batch)
		}
	}
	return left
}

// again makes renewals once more for a server that did not know the script, but for what has ended since: nil where nothing is left.
func (hs *holds) again(batches [][]renewal, renewal func(batch []renewal) *intsCall) func(i int) *intsCall {
	return func(i int) *intsCall {
		left := hs.standing(batches[i : i+1])
		if len(left) == 0 {
			return nil
		}
		batches[i] = left[0]
		return renewal(batches[i])
	}
}

// renewed notes the answers of a renewal that was made at called: each hold's lease now ends a watchdog timeout later, as until
// counts, unless it is not held. A request without an answer that may set a shorter lease can still be executed after
// the renewal, and then that lease counts. A hold acquired since the command was sent is none of the answer's business; and that an
// owner does not hold the lock means nothing while a request of it is under way, which may be its
// unlock. The client of a holder who wants to be told then asks again, when the request is over. It
// returns the holds whose owner has made a request, as the server has it, that the client knows nothing
// of: a copy of one that the server had refused. Until that is settled nothing renews them.
func (hs *holds) renewed(batch []renewal, answers []int64, called time.Time,
	until func(time.Time, time.Duration) time.Time) (unknown []*hold) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for i, answer := range answers {
		h := batch[i].hold
		if h.mark != batch[i].mark || hs.m[h.key] != h {
			continue
		}
		lease := hs.client.opts.WatchdogTimeout
		if h.unanswered > 0 {
			lease = min(lease, h.unanswered)
		}
		switch ends := until(called, lease); {
		case answer == 1 && h.request == batch[i].request && ends.After(h.ends):
			// Not if a request since then has set another lease, nor if a renewal that was sent later was
			// answered sooner. Nor if the client knows of a longer lease, which the server has kept.
			h.endAt(ends)
		case answer == 0 && !h.busy:
			hs.lose(h)
			h.unsettled = false
			hs.tidy(h)
		case answer == 0 && h.watch != nil:
			go h.watch.verify()
		case answer == 2 && !h.busy:
			h.unsettled = true
			unknown = append(unknown, h)
		}
	}
	return unknown
}
