package soak

import (
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// recorder gives records their times and their order. It keeps only what was not yet handed out,
// which a goroutine of its own does, so that nobody waits for it while he holds what all need.
type recorder struct {
	begun time.Time
	out   func(record any) // nil: nothing is recorded

	// heldUp is the record of a time in which clients waited for room: for them this process stood still.
	heldUp func(from, to time.Duration) any

	mu      sync.Mutex
	waits   time.Duration // since when somebody waits for room; 0: nobody does
	room    sync.Cond     // in batch
	id      int64
	batch   []any
	full    chan struct{} // of one: a batch is worth handing out
	stop    chan struct{}
	stopped chan struct{}
}

const (
	batchSize    = 256
	batchMost    = 32 * batchSize        // then whoever records waits
	worthTelling = 5 * time.Millisecond  // no lease is so short that a shorter wait matters
	batchTime    = 10 * time.Millisecond // the longest time for which a record is kept back
)

func newRecorder(out func(record any), heldUp func(from, to time.Duration) any) *recorder {
	r := &recorder{begun: time.Now(), out: out, heldUp: heldUp, full: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	r.room.L = &r.mu
	if out == nil {
		close(r.stopped)
		return r
	}
	go r.handOut()
	return r
}

// add takes one record; r.mu is held.
func (r *recorder) add(record any) {
	for len(r.batch) >= batchMost {
		if r.waits == 0 {
			r.waits = r.now()
		}
		r.room.Wait()
	}
	if r.batch = append(r.batch, record); len(r.batch) == batchSize {
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
}

func (r *recorder) handOut() {
	defer close(r.stopped)
	tick := time.NewTicker(batchTime)
	defer tick.Stop()
	var spare []any
	for last := false; !last; {
		select {
		case <-r.full:
		case <-tick.C:
		case <-r.stop:
			last = true
		}
		r.mu.Lock()
		batch := r.batch
		r.batch = spare[:0]
		if now := r.now(); r.waits > 0 && now-r.waits >= worthTelling { // it comes before what those record who waited
			r.batch = append(r.batch, r.heldUp(r.waits, now))
		}
		r.waits = 0
		r.room.Broadcast()
		r.mu.Unlock()
		for _, record := range batch {
			r.out(record)
		}
		clear(batch)
		spare = batch
	}
}

// close hands out what is left. Nothing may be recorded afterwards.
func (r *recorder) close() {
	close(r.stop)
	<-r.stopped
}

// now is the time of the run; 0 never is.
func (r *recorder) now() time.Duration { return max(1, time.Since(r.begun)) }

// call records that an operation is about to be called.
func (r *recorder) call(op *history.Op) {
	if r.out == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id++
	op.ID, op.Call = r.id, r.now()
	r.add(*op)
}

// returned records what the operation's caller was told.
func (r *recorder) returned(op *history.Op, a subjects.Answer) {
	op.Outcome, op.Value, op.Token = a.Outcome, a.Value, a.Token
	if a.Err != nil {
		op.Error = a.Err.Error()
	}
	if r.out == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Return = r.now()
	r.add(*op)
}

// instant records an operation on a resource, which do carries out: it takes no time.
func (r *recorder) instant(op history.Op, do func(op *history.Op)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&op)
	if r.out == nil {
		return
	}
	r.id++
	op.ID, op.Call = r.id, r.now()
	op.Return, op.Evidence, op.Executed, op.Answer = op.Call, history.Executed, op.Call, op.Outcome
	r.add(op)
}

// closed records that an operation of which nobody knows the end can no longer take effect.
func (r *recorder) closed(op history.Op) {
	op.Evidence = history.Sent
	r.put(func(now time.Duration) any {
		op.Until = now
		return op
	})
}

// aside records what a lock may do by itself from the call of op on.
func (r *recorder) aside(op history.Op, kind history.Kind) history.Op {
	op.Kind, op.Aside, op.Wait = kind, true, 0
	op.Return, op.Outcome, op.Value, op.Token, op.Error = 0, "", 0, 0, ""
	r.put(func(time.Duration) any {
		r.id++
		op.ID = r.id
		return op
	})
	return op
}

// event records an event that came at some time from since, which may be 0, to now.
func (r *recorder) event(e history.Event, since time.Duration) {
	r.put(func(now time.Duration) any {
		e.At, e.Since = now, since
		return e
	})
}

// together does something, and records the events of one instant that come of it.
func (r *recorder) together(do func() []history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, now := do(), r.now()
	if r.out == nil {
		return
	}
	for _, e := range events {
		e.At = now
		r.add(e)
	}
}

// put records what is made of the time.
func (r *recorder) put(record func(now time.Duration) any) {
	if r.out == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(record(r.now()))
}
