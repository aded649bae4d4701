package checker

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Stream judges a history while it is recorded, each lock by itself, in windows: its memory does not grow with the
// history. Locks that groups are made of are judged together, at the end, and kept until then. A window ends where nobody
// calls the lock, holds it, or may yet do either: what comes then cannot depend on what was, except that tokens go on
// rising. So windows together say what the whole would say, as long as they are short enough; see [Stream.Crowded].
//
// Records are added in the order in which they became known, as a recorder's sink gets them: an
// operation at its call, and again whenever more is known of it. It is safe for concurrent use.
type Stream struct {
	header  history.Header
	options Options
	least   int // operations of a window that ends

	mu     sync.Mutex
	locks  map[string]*streamLock
	faults map[int]history.Fault // by Index: those that may matter to a window that has not ended
	died   []history.Event
	server []history.Event // its restarts
	healed []history.Event // that everything was
	now    time.Duration   // of the latest record

	crowded sync.Map // lock -> *atomic.Bool, so that whoever asks waits for nobody

	work    chan work
	judging sync.WaitGroup
	sum     tally
}

// windowOps is how many operations a window has, unless it cannot end then. Judging costs the less
// an operation the longer a window is, and the more memory.
const windowOps = 256

// streamLock is the window of one lock that has not ended.
type streamLock struct {
	name   string
	ops    []history.Op
	open   map[int64]int // operations of which more is to come -> position in ops
	events []history.Event
	claims map[string]claim // by owner
	doubt  time.Duration    // since then the lock may be held by one who does not believe so; -1: it is not
	struck map[int]bool     // the faults on it that are not over
	token  *history.Op      // the latest grant of the windows before

	crowded *atomic.Bool // see Stream.Crowded
}

type claim struct {
	client string
	holds  int
	began  time.Duration // the call of its first acquire
}

// work is a window to be judged.
type work struct {
	h      *history.History
	before *history.Op
}

// NewStream begins to judge a history with that header.
func NewStream(h history.Header, o Options) *Stream {
	return newStream(h, o, windowOps)
}

func newStream(h history.Header, o Options, least int) *Stream {
	h.Version = history.Version
	o.Sparing = true
	s := &Stream{header: h, options: o.withDefaults(&history.History{Header: h}), least: least,
		locks: map[string]*streamLock{}, faults: map[int]history.Fault{}, work: make(chan work, 16)}
	s.sum.results, s.sum.locks = map[contract.Guarantee]*tallied{}, map[string]bool{}
	s.judging.Go(func() {
		for w := range s.work {
			s.sum.judge(w, s.options)
		}
	})
	return s
}

// Add takes one record: an Op, Event or Fault; of others it takes no notice. A fault may be added
// when it begins, and again with the same Index, and its end, when it is over; one that strikes a
// lock must be. It waits when windows end faster
// than they are judged.
func (s *Stream) Add(record any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.take(record); l != nil {
		s.cut(l, false)
		s.tell(l)
	}
}

// take is Add, but ends no window; it returns the lock that the record is an operation on.
func (s *Stream) take(record any) *streamLock {
	switch r := record.(type) {
	case history.Op:
		s.now = max(s.now, r.Call, r.Return)
		l := s.lock(r.Lock)
		l.add(r)
		return l
	case history.Event:
		s.now = max(s.now, r.At)
		s.event(r)
	case history.Fault:
		s.faults[r.Index] = r
		if r.Lock == "" {
			break
		}
		if l := s.lock(r.Lock); r.To == 0 {
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
func (s *Stream) Crowded(lock string) bool {
	crowded, known := s.crowded.Load(lock)
	return known && crowded.(*atomic.Bool).Load()
}

// tell says whether a lock is crowded: four times as long as need be is too long. But only one more
// holder can take away the doubt that the lock is free.
func (s *Stream) tell(l *streamLock) { l.crowded.Store(len(l.ops) >= 4*s.least && l.doubt < 0) }

// Judged is how many operations have been judged, and how many windows.
func (s *Stream) Judged() (ops, windows int) { return s.sum.judged() }

// together is the one window of all locks that groups are made of, and of the groups: what a group does is done
// to its members. It ends with the run.
const together = "\x00groups"

func (s *Stream) lock(name string) *streamLock {
	of := func(g history.Group) bool { return g.Name == name || slices.Contains(g.Members, name) }
	if slices.ContainsFunc(s.header.Groups, of) {
		name = together
	}
	l := s.locks[name]
	if l == nil {
		l = &streamLock{name: name, open: map[int64]int{}, struck: map[int]bool{}, claims: map[string]claim{}, doubt: -1,
			crowded: &atomic.Bool{}}
		if name == together {
			l.doubt = math.MaxInt64 // no window of it ends before the end: of a group, no call says which members are free
		}
		s.locks[name] = l
		s.crowded.Store(name, l.crowded)
	}
	return l
}

// event adds an event to the windows that it concerns.
func (s *Stream) event(e history.Event) {
	if e.Kind == history.Died || e.Kind == history.Finished {
		s.died = append(s.died, e)
		for _, l := range s.locks {
			for owner, b := range l.claims {
				if b.client == e.Client {
					delete(l.claims, owner)
					l.doubt = max(l.doubt, e.At)
					s.tell(l)
				}
			}
		}
		return
	}
	if e.Kind == history.Healed {
		s.healed = append(s.healed, e)
	}
	if e.Kind == history.Restart || e.Kind == history.Failover {
		s.server = append(s.server, e)
	}
	if e.Kind == history.Failover { // the counters of tokens are those of a replica
		for _, l := range s.locks {
			l.token = nil
		}
	}
	if e.Lock == "" {
		return
	}
	l := s.lock(e.Lock)
	if n := len(s.server); n > 0 && s.server[n-1].At == e.At {
		l.token = nil // the server lost what it knew of the lock, and the last token with it
	}
	l.events = append(l.events, e)
	switch e.Kind {
	case history.Lost:
		delete(l.claims, e.Owner)
		l.doubt = max(l.doubt, e.At)
	case history.Delete, history.Expire, history.ForceTTL, history.Restore:
		l.doubt = max(l.doubt, e.At)
	}
	s.tell(l)
}

// add takes what is known of an operation now.
func (l *streamLock) add(op history.Op) {
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
		l.doubt = max(l.doubt, op.Until)
		return
	}
	b, believes := l.claims[op.Owner]
	switch op.Outcome {
	case history.Acquired:
		if !believes {
			b = claim{client: op.Client, began: op.Call}
		}
		b.holds++
		l.claims[op.Owner] = b
	case history.Decremented:
		if b.holds--; b.holds > 0 {
			l.claims[op.Owner] = b
		} else {
			delete(l.claims, op.Owner)
			l.doubt = max(l.doubt, op.Return)
		}
	case history.Released:
		delete(l.claims, op.Owner)
		switch {
		case op.Kind == history.ForceUnlock:
			l.doubt = max(l.doubt, op.Return)
		case believes && b.began >= l.doubt:
			l.doubt = -1 // whoever may have held it before no longer does
		}
	case history.NotHeld:
		if believes && op.Kind != history.ForceUnlock {
			delete(l.claims, op.Owner)
			l.doubt = max(l.doubt, op.Return)
		}
	}
}

// cut ends a lock's window if that is possible, and worth it.
func (s *Stream) cut(l *streamLock, worth bool) {
	if len(l.open) > 0 || len(l.struck) > 0 || len(l.claims) > 0 || l.doubt >= 0 ||
		len(l.ops) < s.least && !worth || len(l.ops) == 0 {
		return
	}
	s.send(l, nil)
	s.forget()
}

// send hands a window over to be judged.
func (s *Stream) send(l *streamLock, end *history.End) {
	from, clients := time.Duration(1<<63-1), map[string]bool{}
	for i := range l.ops {
		from = min(from, l.ops[i].Call)
		clients[l.ops[i].Client] = true
	}
	h := &history.History{Header: s.header, Ops: l.ops, Events: l.events, End: end}
	for _, e := range s.died {
		if clients[e.Client] {
			h.Events = append(h.Events, e)
		}
	}
	for _, e := range s.server {
		if e.At >= from {
			h.Events = append(h.Events, e)
		}
	}
	h.Events = append(h.Events, s.healed...)
	for _, f := range s.faults {
		if (f.To == 0 || f.To >= from) && (f.Client == "" || clients[f.Client]) && (f.Lock == "" || s.lock(f.Lock) == l) {
			h.Faults = append(h.Faults, f)
		}
	}
	slices.SortFunc(h.Faults, func(a, b history.Fault) int { return a.Index - b.Index })
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmpTime(a.Call, b.Call) })
	s.work <- work{h, l.token}
	for i := len(h.Ops) - 1; i >= 0; i-- {
		if op := h.Ops[i]; op.Outcome == history.Acquired && op.Token > 0 {
			l.token = &op
			break
		}
	}
	l.ops, l.events = make([]history.Op, 0, s.least+s.least/8), nil
}

// forget drops what concerns no window any more. Every window that has not ended began at or
// before its first call; one that has not begun will begin later than now.
func (s *Stream) forget() {
	from := s.now
	for _, l := range s.locks {
		if len(l.ops) > 0 {
			from = min(from, l.ops[0].Call)
		}
	}
	for i, f := range s.faults {
		// What was done once may have been the cause of what comes a moment later.
		if end := max(f.To, f.From); end+time.Minute < from && (f.To > 0 || !f.Lasts()) {
			delete(s.faults, i)
		}
	}
	past := func(e history.Event) bool { return e.At+time.Minute < from }
	s.died, s.server = slices.DeleteFunc(s.died, past), slices.DeleteFunc(s.server, past)
}

// Close judges what is left, and returns the verdict on the whole. What its faults break for every
// lease lock is expected to be broken; the verdict's expectations say so. Nothing may be added
// afterwards.
func (s *Stream) Close(ctx context.Context, end history.End) *Verdict { return s.finish(&end, end.At) }

// finish judges what is left of a run that lasted until at; without an end it was killed.
func (s *Stream) finish(end *history.End, at time.Duration) *Verdict {
	s.mu.Lock()
	names := make([]string, 0, len(s.locks))
	for name := range s.locks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if l := s.locks[name]; len(l.ops) > 0 || len(l.events) > 0 {
			s.send(l, end)
		}
	}
	s.mu.Unlock()
	close(s.work)
	s.judging.Wait()
	if end == nil {
		end = &history.End{At: at}
	}
	return s.sum.verdict(s.header, *end)
}

// Broken is the window that has most to tell, with its verdict, and of several the first; nil: there is none. A window that
// accuses the lock comes first, then one of which no checker came to an answer, then one that faults excuse.
// It is known after Close.
func (s *Stream) Broken() (*history.History, *Verdict) { return s.sum.h, s.sum.v }
