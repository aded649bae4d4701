package sim

import (
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// resource is what a lock protects: a number, which is no part of Redis and answers at once.
type resource struct {
	value int64
	token int64 // the highest that a fenced write came with
}

// work is a critical section: an unprotected read, some work, and a write of what was read, plus
// one. It stops when the lock says that the hold is lost: by the context of the hold, where there is one. An owner that has a
// read-write lock only to read reads once more instead.
func (t *thread) work(s plan.Step) {
	of, writes := half{s.Lock, t.owner}, true
	if t.run.objects[s.Lock] == history.ARWLock {
		of.owner = history.WriterOf(t.owner)
		if writes = t.held[of] != nil; !writes {
			of.owner = t.owner
		}
	}
	h := t.held[of]
	if h == nil || t.over(h) {
		return
	}
	value, over := t.read(of), h.lost
	if lock, ok := t.half(of).(subjects.Holder); ok {
		ctx, cancel := lock.HoldContext(t.run.ctx, t.owner)
		defer cancel()
		over = ctx.Done()
		t.worksUnder(h, over)
	}
	whole := t.sleep(time.Duration(s.For), over)
	t.worksUnder(h, nil)
	if !whole {
		t.stopped(of, h, over)
		return
	}
	if !writes {
		t.read(of)
		return
	}
	token := int64(0)
	if s.Fenced {
		token = h.token
	}
	if s.Late > 0 {
		t.writeLate(s, of, value+1, token)
	} else {
		t.write(of, value+1, token)
	}
}

// worksUnder sets the context under which a thread works; nil: it does not.
func (t *thread) worksUnder(h *held, over <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.work = over
}

// stopped records that a thread was told of the loss of a hold by the context of its work, and by nothing else.
func (t *thread) stopped(of half, h *held, over <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if closed(over) && !closed(h.lost) && !h.told && t.run.ctx.Err() == nil {
		h.told = true
		t.lose(of, t.run.world.Now())
	}
}

func (t *thread) read(of half) int64 {
	r, lock := t.run, of.lock
	value := int64(0)
	r.record(func() {
		r.world.Mark(world.Read, lock)
		id := r.rec.Call(history.Op{Client: t.client, Owner: of.owner, Lock: lock, Kind: history.Read})
		r.mu.Lock()
		value = r.resource(lock).value
		r.mu.Unlock()
		r.rec.Return(id, history.OK, value, 0, nil)
		r.rec.Amend(id, func(op *history.Op) {
			op.Evidence, op.Executed, op.Answer = history.Executed, op.Call, history.OK
		})
	})
	return value
}

func (t *thread) write(of half, value, token int64) {
	r, lock := t.run, of.lock
	r.record(func() {
		r.world.Mark(world.Wrote, lock)
		id := r.rec.Call(history.Op{Client: t.client, Owner: of.owner, Lock: lock, Kind: history.Write})
		answer := r.put(lock, value, token)
		r.rec.Return(id, answer, value, token, nil)
		r.rec.Amend(id, func(op *history.Op) {
			op.Evidence, op.Executed, op.Answer = history.Executed, op.Call, answer
		})
	})
}

// writeLate sends a write that takes effect later; the program does not wait for it, and the
// client's fate does not touch it any more.
func (t *thread) writeLate(s plan.Step, of half, value, token int64) {
	r := t.run
	id := r.rec.Add(history.Op{Client: t.client, Owner: of.owner, Lock: s.Lock, Kind: history.Write, Aside: true, Call: r.world.Now(), Value: value, Token: token})
	r.started("")
	go func() {
		defer r.ended("")
		r.world.Sleep("write "+t.owner, "", t.late, s.Late.Duration(), nil)
		r.record(func() {
			answer, now := r.put(s.Lock, value, token), r.world.Now()
			r.rec.Amend(id, func(op *history.Op) {
				op.Return, op.Outcome = now, answer
				op.Evidence, op.Executed, op.Answer = history.Executed, now, answer
			})
		})
	}()
}

// resource returns what a lock protects; r.mu is held.
func (r *run) resource(lock string) *resource {
	if r.resources[lock] == nil {
		r.resources[lock] = &resource{}
	}
	return r.resources[lock]
}

// put writes to a resource, which refuses a token lower than the highest it has seen.
func (r *run) put(lock string, value, token int64) history.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.resource(lock)
	if token != 0 && token < one.token {
		return history.Rejected
	}
	one.value, one.token = value, max(one.token, token)
	return history.OK
}
