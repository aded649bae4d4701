package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// permit does a step on a semaphore.
func (t *thread) permit(s plan.Step) {
	if s.Do == plan.ReleasePermits && !s.Regardless && t.permits[s.Lock] < s.Permits {
		return
	}
	client, ok := t.first().(subjects.Semaphores)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s has no semaphores", t.run.subject.Name))
		return
	}
	semaphore := client.Semaphore(s.Lock)
	a, asked := t.count(s, s.Permits, func(ctx context.Context, r subjects.Request) subjects.Answer {
		switch s.Do {
		case plan.TrySetPermits:
			return semaphore.Set(ctx, s.Permits)
		case plan.ReleasePermits:
			return semaphore.Give(ctx, s.Permits)
		case plan.AddPermits:
			return semaphore.(subjects.Resizer).Add(ctx, s.Permits)
		case plan.DrainPermits:
			return semaphore.(subjects.Drainer).Drain(ctx)
		}
		return semaphore.Take(ctx, s.Permits, r)
	})
	switch {
	case s.Do == plan.ReleasePermits && a.Outcome == history.Failed && !asked && ended(a.Err): // it was given up before anything was done
	case s.Do == plan.ReleasePermits:
		t.permits[s.Lock] = max(t.permits[s.Lock]-s.Permits, 0)
	case s.Do == plan.DrainPermits:
		t.permits[s.Lock] += max(a.Value, 0)
	case a.Outcome == history.Acquired:
		t.permits[s.Lock] += s.Permits
	}
}

// A permit is one that a thread has: its id, and the number that it has in the history.
type permit struct {
	id     string
	number int64
}

// onPermit does a step on a permit semaphore. A release, and what sets a lease, is of the permit that the thread took first of those
// that it has.
func (t *thread) onPermit(s plan.Step) {
	client, ok := t.first().(subjects.PermitSemaphores)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s has no permit semaphores", t.run.subject.Name))
		return
	}
	semaphore, has, of := client.PermitSemaphore(s.Lock), t.taken[s.Lock], permit{}
	if history.Kind(s.Do).OnPermit() {
		if len(has) == 0 {
			return
		}
		of = has[0]
	}
	n := int64(1)
	if s.Do == plan.TrySetTotal || s.Do == plan.AddTotal {
		n = s.Permits
	}
	a, asked := t.countOf(s, n, of.number, func(ctx context.Context, r subjects.Request) subjects.Answer {
		switch s.Do {
		case plan.TrySetTotal:
			return semaphore.Set(ctx, s.Permits)
		case plan.AddTotal:
			return semaphore.(subjects.Resizer).Add(ctx, s.Permits)
		case plan.ReleasePermit:
			return semaphore.Give(ctx, of.id)
		case plan.UpdateLease:
			return semaphore.Update(ctx, of.id, r.Lease)
		}
		a := semaphore.Take(ctx, r)
		a.Token = t.run.world.PermitNumber(a.Permit)
		return a
	})
	switch {
	case s.Do == plan.ReleasePermit && a.Outcome == history.Failed && !asked && ended(a.Err): // it was given up before anything was done
	case s.Do == plan.ReleasePermit:
		t.taken[s.Lock] = has[1:]
	case a.Outcome == history.Acquired:
		t.taken[s.Lock] = append(has, permit{a.Permit, a.Token})
	}
}

// latch does a step on a latch.
func (t *thread) latch(s plan.Step) {
	client, ok := t.first().(subjects.Latches)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s has no latches", t.run.subject.Name))
		return
	}
	latch := client.Latch(s.Lock)
	t.count(s, s.Count, func(ctx context.Context, r subjects.Request) subjects.Answer {
		switch s.Do {
		case plan.TrySetCount:
			return latch.Set(ctx, s.Count)
		case plan.CountDown:
			return latch.Down(ctx)
		case plan.DeleteLatch:
			return latch.(subjects.Deleter).Delete(ctx)
		}
		return latch.Await(ctx, r)
	})
}

// first is the thread's client of the first server.
func (t *thread) first() subjects.Client { return t.process.on[t.run.plan.ServerNames()[0]].Client }

// count does a step on a counted object, of a number. It reports whether the client asked a server at all.
func (t *thread) count(s plan.Step, n int64, do func(context.Context, subjects.Request) subjects.Answer) (a subjects.Answer, asked bool) {
	return t.countOf(s, n, 0, do)
}

// countOf is count about the permit of a number; 0: about none that is taken.
func (t *thread) countOf(s plan.Step, n, permit int64, do func(context.Context, subjects.Request) subjects.Answer) (a subjects.Answer, asked bool) {
	op := history.Op{Lock: s.Lock, Kind: history.Kind(s.Do), Wait: time.Duration(s.Wait), Cancel: time.Duration(s.Cancel), Lease: time.Duration(s.Lease),
		Value: n, Token: permit}
	r := subjects.Request{Forever: !op.Kind.Tries(), Wait: t.run.world.Real(op.Wait), Lease: t.run.world.Real(op.Lease)}
	a = t.call(op, func(id int64) subjects.Answer {
		ctx, cancel := t.context(s, id)
		defer cancel()
		a := do(ctx, r)
		asked = t.run.world.Asked(t.client, id)
		if permit != 0 {
			a.Token = permit // what it is about no answer changes
		}
		return a
	})
	if s.Wait > 0 && t.client == history.Fresh && a.Outcome == history.Failed && !t.run.subject.Can(string(contract.AnyLease)) {
		s.Wait = 0 // it may have no other than one attempt
		return t.countOf(s, n, permit, do)
	}
	return a, asked
}

// trial are the steps with which a client that is new tries an object: it asks for what is free, and gives it back. Of a semaphore whose keys
// nobody can read, and that gives back what a call without an answer took, it asks for all permits: no other sees that some are lost.
func (r *run) trial(name string, is history.Object, wait plan.Duration) (steps []plan.Step) {
	all := int64(1)
	if r.subject.Layout.Unknown != "" && r.subject.Can(string(contract.TakesBack)) {
		all = max(all, r.madeOf(name))
	}
	switch is {
	case history.ASemaphore:
		return []plan.Step{{Do: plan.TryAcquirePermits, Lock: name, Wait: wait, Permits: all}, {Do: plan.ReleasePermits, Lock: name, Permits: all}}
	case history.APermitSemaphore:
		for range all {
			steps = append(steps, plan.Step{Do: plan.TryAcquirePermit, Lock: name, Wait: wait, Lease: r.timings.Watchdog})
		}
		for range all {
			steps = append(steps, plan.Step{Do: plan.ReleasePermit, Lock: name})
		}
		return steps
	case history.ALatch:
		return []plan.Step{{Do: plan.TryAwait, Lock: name, Wait: wait}}
	case history.ARWLock: // nobody may write beside a reader: that it gets the one says that it would get the other
		return []plan.Step{{Do: plan.TryWrite, Lock: name, Wait: wait, Lease: r.timings.Watchdog}, {Do: plan.WriteUnlock, Lock: name}}
	}
	return []plan.Step{{Do: plan.TryLock, Lock: name, Wait: wait, Lease: r.timings.Watchdog}, {Do: plan.Unlock, Lock: name}}
}

// madeOf is with how many permits the plan makes a semaphore; 0: with none, or nobody can say how many there are at the end.
func (r *run) madeOf(name string) (n int64) {
	for _, c := range r.plan.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				switch {
				case s.Lock != name:
				case history.Kind(s.Do).Sets() && (n == 0 || n == s.Permits):
					n = s.Permits
				case history.Kind(s.Do).Sets(), history.Kind(s.Do).Alters():
					return 0
				}
			}
		}
	}
	return n
}
