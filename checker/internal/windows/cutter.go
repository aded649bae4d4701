package windows

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A Cutter cuts a history into windows while it is recorded. Locks that groups are made of are in one window, that of
// the end, and kept until then.
//
// Records are added in the order in which they became known, as a recorder's sink gets them: an
// operation at its call, and again whenever more is known of it. It is safe for concurrent use.
type Cutter struct {
	header history.Header
	least  int          // operations of a window that ends
	ended  func(Window) // what is to become of one

	mu     sync.Mutex
	locks  map[string]*lock
	faults map[int]history.Fault // by Index: those that may matter to a window that has not ended
	died   []history.Event
	server []history.Event // its restarts
	healed []history.Event // that everything was
	now    time.Duration   // of the latest record

	crowded sync.Map // lock -> *atomic.Bool, so that whoever asks waits for nobody
}

// A Window is a part of a history.
type Window struct {
	History *history.History
	Before  *history.Op // the grant of the windows before with the greatest token; nil: none has one
}

// lock is the window of one lock that has not ended.
type lock struct {
	name   string
	ops    []history.Op
	open   map[int64]int // operations of which more is to come -> position in ops
	events []history.Event
	claims map[string]claim // by owner
	doubt  time.Duration    // since then the lock may be held by one who does not believe so; -1: it is not
	struck map[int]bool     // the faults on it that are not over
	token  *history.Op      // the grant of the windows before with the greatest token
	anew   time.Duration    // until then the server lost what tokens it had given; -1: it never did

	crowded *atomic.Bool // see Cutter.Crowded
}

type claim struct {
	client string
	holds  int
	began  time.Duration // the call of its first acquire
	grew   time.Duration // the return of its latest
}

// New begins to cut a history with that header into windows of so many operations at least.
func New(h history.Header, least int, ended func(Window)) *Cutter {
	return &Cutter{header: h, least: least, ended: ended, locks: map[string]*lock{}, faults: map[int]history.Fault{}}
}

// Add takes one record: an Op, Event or Fault; of others it takes no notice. A fault may be added
// when it begins, and again with the same Index, and its end, when it is over; one that strikes a
// lock must be.
func (c *Cutter) Add(record any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.take(record); l != nil {
		c.cut(l, false)
		c.tell(l)
	}
}

// take is Add, but ends no window; it returns the lock that the record is an operation on.
func (c *Cutter) take(record any) *lock {
	switch r := record.(type) {
	case history.Op:
		c.now = max(c.now, r.Call, r.Return)
		l := c.lock(r.Lock)
		l.add(r)
		return l
	case history.Event:
		c.now = max(c.now, r.At)
		c.event(r)
	case history.Fault:
		c.faults[r.Index] = r
		if r.Lock == "" {
			break
		}
		if l := c.lock(r.Lock); r.To == 0 {
			l.struck[r.Index] = true // what it does is yet to be recorded
		} else {
			delete(l.struck, r.Index)
		}
	}
	return nil
}

// Crowded reports whether a lock's window has grown so long that owners that do not hold the lock
// should leave it alone for a moment, so that the window can end. Without that, a lock that is
// always in use is judged as a whole, and kept in memory until the end.
func (c *Cutter) Crowded(lock string) bool {
	crowded, known := c.crowded.Load(lock)
	return known && crowded.(*atomic.Bool).Load()
}

// tell says whether a lock is crowded: four times as long as need be is too long. But only one more
// holder can take away the doubt that the lock is free.
func (c *Cutter) tell(l *lock) { l.crowded.Store(len(l.ops) >= 4*c.least && l.doubt < 0) }

// together is the one window of all locks that groups are made of, and of the groups: what a group does is done
// to its members. It ends with the run.
const together = "\x00groups"

func (c *Cutter) lock(name string) *lock {
	of := func(g history.Group) bool { return g.Name == name || slices.Contains(g.Members, name) }
	if slices.ContainsFunc(c.header.Groups, of) {
		name = together
	}
	l := c.locks[name]
	if l == nil {
		l = &lock{name: name, open: map[int64]int{}, struck: map[int]bool{}, claims: map[string]claim{}, doubt: -1, anew: -1,
			crowded: &atomic.Bool{}}
		if name == together {
			l.doubt = math.MaxInt64 // no window of it ends before the end: of a group, no call says which members are free
		}
		c.locks[name] = l
		c.crowded.Store(name, l.crowded)
	}
	return l
}

// event adds an event to the windows that it concerns.
func (c *Cutter) event(e history.Event) {
	if e.Kind == history.Died || e.Kind == history.Finished {
		c.died = append(c.died, e)
		for _, l := range c.locks {
			for owner, b := range l.claims {
				if b.client == e.Client {
					delete(l.claims, owner)
					l.doubt = max(l.doubt, e.At)
					c.tell(l)
				}
			}
		}
		return
	}
	if e.Kind == history.Healed {
		c.healed = append(c.healed, e)
	}
	if e.Kind == history.Restart || e.Kind == history.Failover {
		c.server = append(c.server, e)
	}
	if e.Kind == history.Failover { // the counters of tokens are those of a replica
		for _, l := range c.locks {
			l.token, l.anew = nil, e.At
		}
	}
	if e.Lock == "" {
		return
	}
	l := c.lock(e.Lock)
	if n := len(c.server); n > 0 && c.server[n-1].At == e.At {
		l.token, l.anew = nil, e.At // the server lost what it knew of the lock, and the last token with it
	}
	l.events = append(l.events, e)
	switch e.Kind {
	case history.Lost:
		delete(l.claims, e.Owner)
		l.doubt = max(l.doubt, e.At)
	case history.Delete, history.Expire, history.ForceTTL, history.Restore:
		l.doubt = max(l.doubt, e.At)
	}
	c.tell(l)
}

// add takes what is known of an operation now.
func (l *lock) add(op history.Op) {
	i, known := l.open[op.ID]
	if !known {
		i = len(l.ops)
		l.ops = append(l.ops, op)
		l.open[op.ID] = i
	}
	l.ops[i] = op
	over := !op.Uncertain() || op.Evidence == history.Sent && op.Until > 0 || op.Evidence == history.NotSent
	if !over {
		if op.Outcome == history.Unknown {
			delete(l.claims, op.Owner)
		}
		return
	}
	delete(l.open, op.ID)
	if op.Uncertain() {
		if !op.Aside {
			delete(l.claims, op.Owner)
		}
		l.doubt = max(l.doubt, op.Call, op.Until) // an unlock that was never sent leaves the hold
		return
	}
	b, believes := l.claims[op.Owner]
	switch op.Outcome {
	case history.Acquired:
		if !believes {
			b = claim{client: op.Client, began: op.Call}
		}
		b.holds++
		b.grew = op.Return
		l.claims[op.Owner] = b
	case history.Decremented:
		if b.holds--; b.holds > 0 {
			l.claims[op.Owner] = b
		} else {
			delete(l.claims, op.Owner)
			l.doubt = max(l.doubt, op.Return)
		}
	case history.Released:
		if !op.Kind.Forces() && believes && (b.grew > op.Call || op.Aside && b.grew == op.Call) {
			b.holds = 1 // of two calls of one owner at one time the grant may have been the later
			l.claims[op.Owner] = b
			return
		}
		delete(l.claims, op.Owner)
		switch {
		case op.Kind.Forces():
			l.doubt = max(l.doubt, op.Return)
		case believes && b.began > l.doubt: // of one instant every order is possible
			l.doubt = -1 // whoever may have held it before no longer does
		}
	case history.NotHeld:
		if believes && !op.Kind.Forces() {
			delete(l.claims, op.Owner)
			l.doubt = max(l.doubt, op.Return)
		}
	}
}

// cut ends a lock's window if that is possible, and worth it.
func (c *Cutter) cut(l *lock, worth bool) {
	if len(l.open) > 0 || len(l.struck) > 0 || len(l.claims) > 0 || l.doubt >= 0 ||
		len(l.ops) < c.least && !worth || len(l.ops) == 0 {
		return
	}
	c.send(l, nil)
	c.forget()
}

// send hands a window over.
func (c *Cutter) send(l *lock, end *history.End) {
	from, clients := time.Duration(1<<63-1), map[string]bool{}
	for i := range l.ops {
		from = min(from, l.ops[i].Call)
		clients[l.ops[i].Client] = true
	}
	h := &history.History{Header: c.header, Ops: l.ops, Events: l.events, End: end}
	for _, e := range c.died {
		if clients[e.Client] {
			h.Events = append(h.Events, e)
		}
	}
	for _, e := range c.server {
		if e.At >= from {
			h.Events = append(h.Events, e)
		}
	}
	h.Events = append(h.Events, c.healed...)
	for _, f := range c.faults {
		if (f.To == 0 || f.To >= from) && (f.Client == "" || clients[f.Client]) && (f.Lock == "" || c.lock(f.Lock) == l) {
			h.Faults = append(h.Faults, f)
		}
	}
	slices.SortFunc(h.Faults, func(a, b history.Fault) int { return a.Index - b.Index })
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	c.ended(Window{h, l.token})
	for _, op := range h.Ops {
		if op.Outcome == history.Acquired && op.Token > 0 && op.Call > l.anew && (l.token == nil || op.Token >= l.token.Token) {
			l.token = &op
		}
	}
	l.ops, l.events = make([]history.Op, 0, c.least+c.least/8), nil
}

// forget drops what concerns no window any more. Every window that has not ended began at or
// before its first call; one that has not begun will begin later than now.
func (c *Cutter) forget() {
	from := c.now
	for _, l := range c.locks {
		if len(l.ops) > 0 {
			from = min(from, l.ops[0].Call)
		}
	}
	for i, f := range c.faults {
		// What was done once may have been the cause of what comes a moment later.
		if end := max(f.To, f.From); end+time.Minute < from && (f.To > 0 || !f.Lasts()) {
			delete(c.faults, i)
		}
	}
	past := func(e history.Event) bool { return e.At+time.Minute < from }
	c.died, c.server = slices.DeleteFunc(c.died, past), slices.DeleteFunc(c.server, past)
}

// Close ends the windows that are left, of a history that has that end; nil: the run was killed.
func (c *Cutter) Close(end *history.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.locks)) {
		if l := c.locks[name]; len(l.ops) > 0 || len(l.events) > 0 {
			c.send(l, end)
		}
	}
}
