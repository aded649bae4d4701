package lockimpl

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// renewalTask is the watchdog of generation [Current], as Redisson's RenewalTask is since 3.44.0 (redisson#6303). It
// knows for each lock how often each owner took it without a lease, and renews one owner of each in a round.
//
// Its weaknesses are Redisson's:
//
//   - One command renews up to [Options.WatchdogBatch] locks, and ends at the first key that is none of a lock. The
//     first command that fails ends the round. The next round begins like this one: what comes after the bad key is
//     never renewed.
//   - Of several owners that it knows of one lock, it renews the one that came first. An answer that this one does not
//     hold the lock takes one from its count. An owner whose n holds are gone so keeps the next from being renewed for n
//     rounds: for n = 3 the next one's lease ends.
//   - An unlock takes one from the count whatever its outcome: see [current.unlock]. It calls off no renewal that is
//     under way. If the owner locks again before the answer comes, that answer is taken for one to the new hold.
//   - A round begins a third of the watchdog timeout after the one before has ended.
//   - Commands of a round are sent one after the other: one server that does not answer has those of all others wait.
//   - With the last hold the task stops, but its timer does not. The next hold starts one more, and both go on.
type renewalTask struct {
	client *Client

	mu      sync.Mutex
	entries map[string]*renewalEntry // by the lock's name
	running bool
	closed  bool
	timers  map[*renewalTimer]bool // that have not called yet
}

// renewalEntry is what the task knows of one lock.
type renewalEntry struct {
	queue  []Owner // once for each hold, in the order in which they came
	counts map[Owner]int
}

type renewalTimer struct{ Timer }

// renewedOwner is one lock in a command, and the owner whose hold is renewed.
type renewedOwner struct {
	lock  string
	owner Owner
}

func newRenewalTask(c *Client) *renewalTask {
	return &renewalTask{client: c, entries: map[string]*renewalEntry{}, timers: map[*renewalTimer]bool{}}
}

// add has one more hold renewed.
func (t *renewalTask) add(lock string, owner Owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	e := t.entries[lock]
	if e == nil {
		e = &renewalEntry{counts: map[Owner]int{}}
		t.entries[lock] = e
	}
	e.queue = append(e.queue, owner)
	e.counts[owner]++
	if !t.running {
		t.running = true
		t.schedule()
	}
}

// remove has one hold fewer renewed, if any of the owner is.
func (t *renewalTask) remove(lock string, owner Owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[lock]
	if e == nil || e.counts[owner] == 0 {
		return
	}
	if e.counts[owner]--; e.counts[owner] > 0 {
		return
	}
	delete(e.counts, owner)
	e.queue = slices.DeleteFunc(e.queue, func(o Owner) bool { return o == owner })
	if len(e.queue) == 0 {
		t.forget(lock)
	}
}

// drop has no hold of a lock renewed.
func (t *renewalTask) drop(lock string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(lock)
}

// forget is drop; t.mu is held.
func (t *renewalTask) forget(lock string) {
	delete(t.entries, lock)
	t.running = t.running && len(t.entries) > 0
}

// close ends the task. A nil one is that of a client of another generation.
func (t *renewalTask) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed, t.running = true, false
	clear(t.entries)
	for timer := range t.timers {
		timer.Stop()
	}
	clear(t.timers)
}

// schedule starts a timer for the next round; t.mu is held.
func (t *renewalTask) schedule() {
	timer := &renewalTimer{}
	t.timers[timer] = true
	timer.Timer = t.client.opts.Scheduler.AfterFunc(t.client.holds.period(), func() { t.round(timer) })
}

// round renews, and starts the timer for the next.
func (t *renewalTask) round(timer *renewalTimer) {
	if t.client.begin() != nil {
		return
	}
	defer t.client.work.Done()
	t.mu.Lock()
	delete(t.timers, timer)
	names := slices.Sorted(maps.Keys(t.entries)) // Redisson has them in the order of a hash map, which does not change either
	t.mu.Unlock()
	for _, chunk := range t.client.chunks(names) {
		if t.renew(chunk) != nil {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		t.schedule()
	}
}

// renew renews locks by one command, in so far as they are still held when it is sent.
func (t *renewalTask) renew(names []string) error {
	var batch []renewedOwner
	t.mu.Lock()
	for _, name := range names {
		if e := t.entries[name]; e != nil {
			batch = append(batch, renewedOwner{name, e.queue[0]})
		}
	}
	t.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	c := t.client
	args := make([]any, 0, 4+2*len(batch))
	args = append(args, evalsha, renewCurrent.digest, len(batch))
	for _, r := range batch {
		args = append(args, r.lock)
	}
	args = append(args, c.opts.WatchdogTimeout.Milliseconds())
	for _, r := range batch {
		args = append(args, string(r.owner))
	}
	cmd := newIntsCall(c.closing, args...)
	called := time.Now()
	if err := c.run(c.closing, renewCurrent, cmd, nil); err != nil {
		return err
	}
	for i, answer := range cmd.Val() {
		if answer == 0 {
			t.remove(batch[i].lock, batch[i].owner)
		} else {
			c.holds.endsAt(holdKey{batch[i].lock, batch[i].owner}, called.Add(c.opts.WatchdogTimeout))
		}
	}
	return nil
}

// chunks splits the names of locks into those of one command.
func (c *Client) chunks(names []string) (chunks [][]string) {
	tag := func(string) string { return "" }
	if !c.oneServer() {
		tag = hashTag
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(tag(a), tag(b)) })
	}
	for len(names) > 0 {
		n := slices.IndexFunc(names, func(name string) bool { return tag(name) != tag(names[0]) })
		if n < 0 {
			n = len(names)
		}
		chunks = slices.AppendSeq(chunks, slices.Chunk(names[:n], c.opts.WatchdogBatch))
		names = names[n:]
	}
	return chunks
}
