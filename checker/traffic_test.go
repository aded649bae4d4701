package checker

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// traffic is a history of clients that use one lock for a long time, valid by construction: a
// simulation of a lock, of clients, and of a network that loses messages.
type traffic struct {
	seed    uint64
	ops     int
	clients int
	unknown float64 // of calls: no answer came
	waits   bool    // clients wait in lock; otherwise they poll with tryLock
	windows bool    // it is known when a call without an answer could no longer take effect
	server  bool    // keep the server's log
}

// make runs the simulation. A call takes 0.2 to 2.2 ms and takes effect somewhere in it. A call
// without an answer took effect (half of them), never does, or does so up to 10 ms after it; then the
// client unlocks until it knows that it holds nothing.
func (t traffic) make() *history.History {
	r := rand.New(rand.NewPCG(t.seed, 17))
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "virtual", World: "traffic"}}
	h.Ops = make([]history.Op, 0, t.ops)
	q := &agenda{}
	var holder string
	var count int
	var waiting []int // ops that wait for the lock, in order of arrival
	type client struct {
		holds, unsure bool
	}
	clients := make([]client, t.clients)
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(r.Int64N(int64(to-from))) }
	var call func(c int, now time.Duration)
	finish := func(op int, now time.Duration) { // it takes effect
		o := &h.Ops[op]
		switch {
		case o.Kind.Acquires() && (holder == "" || holder == o.Owner):
			holder, o.Answer = o.Owner, history.Acquired
			count++
		case o.Kind.Acquires():
			o.Answer = history.Busy
		case holder == o.Owner && count > 1:
			count--
			o.Answer = history.Decremented
		case holder == o.Owner:
			holder, count, o.Answer = "", 0, history.Released
		default:
			o.Answer = history.NotHeld
		}
		o.Evidence, o.Executed = history.Executed, now
	}
	reply := func(op int, now time.Duration) {
		q.at(now+between(100*time.Microsecond, time.Millisecond), func(now time.Duration) {
			o := &h.Ops[op]
			var c int
			fmt.Sscanf(o.Client, "c%d", &c)
			o.Return, o.Outcome = now, o.Answer
			switch o.Answer {
			case history.Acquired:
				clients[c].holds = true
			case history.Released, history.NotHeld:
				clients[c] = client{}
			}
			call(c, now+between(100*time.Microsecond, time.Millisecond))
		})
	}
	serve := func(op int, now time.Duration) {
		if h.Ops[op].Kind == history.Lock && holder != "" && holder != h.Ops[op].Owner {
			waiting = append(waiting, op)
			return
		}
		finish(op, now)
		reply(op, now)
		for holder == "" && len(waiting) > 0 {
			next := waiting[0]
			waiting = waiting[1:]
			finish(next, now+1)
			reply(next, now+1)
		}
	}
	call = func(c int, now time.Duration) {
		q.at(now, func(now time.Duration) {
			if len(h.Ops) == t.ops {
				return
			}
			name := fmt.Sprintf("c%d", c)
			op := history.Op{ID: int64(len(h.Ops) + 1), Client: name, Owner: name + ":1", Lock: job, Kind: history.TryLock, Call: now}
			if t.waits {
				op.Kind = history.Lock
			}
			if clients[c].holds || clients[c].unsure {
				op.Kind = history.Unlock
			}
			i := len(h.Ops)
			h.Ops = append(h.Ops, op)
			if r.Float64() >= t.unknown {
				q.at(now+between(100*time.Microsecond, time.Millisecond), func(now time.Duration) { serve(i, now) })
				return
			}
			fate := r.IntN(4) // 0, 1: it took effect in time; 2: late; 3: never
			gone := now + 2*time.Millisecond
			when := between(now, gone)
			if fate == 2 { // its connection is seen gone soon after
				when = between(now, now+10*time.Millisecond)
				gone = max(gone, when+time.Millisecond)
			}
			if fate < 3 {
				q.at(when, func(now time.Duration) {
					if h.Ops[i].Kind == history.Lock && holder != "" && holder != h.Ops[i].Owner {
						return // it gave up waiting
					}
					finish(i, now)
					for holder == "" && len(waiting) > 0 {
						next := waiting[0]
						waiting = waiting[1:]
						finish(next, now+1)
						reply(next, now+1)
					}
				})
			}
			q.at(now+2*time.Millisecond, func(now time.Duration) {
				o := &h.Ops[i]
				o.Return, o.Outcome, o.Until = now, history.Unknown, gone
				clients[c] = client{unsure: true}
				call(c, now+between(100*time.Microsecond, time.Millisecond))
			})
		})
	}
	for c := range t.clients {
		call(c, between(0, time.Millisecond))
	}
	for q.Len() > 0 {
		e := heap.Pop(q).(entry)
		e.do(e.at)
	}
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmpTime(a.Call, b.Call) })
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.ID = int64(i + 1); t.server {
			if op.Evidence == "" {
				op.Evidence = history.NotSent
			}
			op.Until = 0
			continue
		}
		op.Evidence, op.Executed, op.Answer = "", 0, ""
		if t.windows && op.Uncertain() && op.Return > 0 {
			op.Evidence = history.Sent
		} else {
			op.Until = 0
		}
		if op.Return == 0 {
			op.Until, op.Outcome = 0, ""
		}
	}
	return h
}

// flipAt changes the answer of the first operation from a place on that can be: the client was
// told the opposite. The server's log, if there is one, tells the lie too.
func flipAt(h *history.History, from int, acquire bool) int64 {
	for i := from; i < len(h.Ops); i++ {
		op := &h.Ops[i]
		switch {
		case acquire && op.Outcome == history.Busy:
			op.Outcome = history.Acquired
		case !acquire && op.Outcome == history.Acquired && op.Kind == history.TryLock:
			op.Outcome = history.Busy
		case !acquire && op.Outcome == history.Released:
			op.Outcome = history.NotHeld
		default:
			continue
		}
		if op.Evidence == history.Executed {
			op.Answer = op.Outcome
		}
		return op.ID
	}
	return 0
}

// An agenda is what will happen, by time.
type agenda struct {
	entries []entry
	n       int
}

type entry struct {
	at time.Duration
	n  int
	do func(now time.Duration)
}

func (q *agenda) at(t time.Duration, do func(time.Duration)) {
	q.n++
	heap.Push(q, entry{t, q.n, do})
}

func (q *agenda) Len() int { return len(q.entries) }
func (q *agenda) Less(i, j int) bool {
	a, b := q.entries[i], q.entries[j]
	return a.at < b.at || a.at == b.at && a.n < b.n
}
func (q *agenda) Swap(i, j int) { q.entries[i], q.entries[j] = q.entries[j], q.entries[i] }
func (q *agenda) Push(x any)    { q.entries = append(q.entries, x.(entry)) }
func (q *agenda) Pop() any {
	last := q.entries[len(q.entries)-1]
	q.entries = q.entries[:len(q.entries)-1]
	return last
}
