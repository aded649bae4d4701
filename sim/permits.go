package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// permit does a step on a semaphore.
func (t *thread) permit(s plan.Step) {
	if s.Do == plan.ReleasePermits && !s.Regardless && t.permits[s.Lock] < s.Permits {
		return
	}
	first := t.process.on[t.run.plan.ServerNames()[0]]
	client, ok := first.Client.(subjects.Semaphores)
	if !ok {
		t.run.world.Fail(fmt.Errorf("%s has no semaphores", t.run.subject.Name))
		return
	}
	semaphore := client.Semaphore(s.Lock)
	op := history.Op{Lock: s.Lock, Kind: history.Kind(s.Do), Wait: time.Duration(s.Wait), Cancel: time.Duration(s.Cancel), Value: s.Permits}
	do := func(ctx context.Context) subjects.Answer { return semaphore.Set(ctx, s.Permits) }
	switch s.Do {
	case plan.AcquirePermits:
		do = func(ctx context.Context) subjects.Answer {
			return semaphore.Take(ctx, s.Permits, subjects.Request{Forever: true})
		}
	case plan.TryAcquirePermits:
		do = func(ctx context.Context) subjects.Answer {
			return semaphore.Take(ctx, s.Permits, subjects.Request{Wait: t.run.world.Real(op.Wait)})
		}
	case plan.ReleasePermits:
		do = func(ctx context.Context) subjects.Answer { return semaphore.Give(ctx, s.Permits) }
	}
	asked := true
	a := t.call(op, func(id int64) subjects.Answer {
		ctx, cancel := t.context(s, id)
		defer cancel()
		a := do(ctx)
		asked = t.run.world.Asked(t.client, id)
		return a
	})
	switch {
	case s.Do == plan.ReleasePermits && a.Outcome == history.Failed && !asked && ended(a.Err): // it was given up before anything was done
	case s.Do == plan.ReleasePermits:
		t.permits[s.Lock] = max(t.permits[s.Lock]-s.Permits, 0)
	case a.Outcome == history.Acquired:
		t.permits[s.Lock] += s.Permits
	}
}

// suitsObjects says that a plan has steps on objects of another kind than a subject's; nil: it has none.
func suitsObjects(p *plan.Plan, s subjects.Subject) error {
	for _, need := range p.Needs() {
		if (need == plan.NeedsLock || need == plan.NeedsSemaphore) && !s.Can(need) {
			return fmt.Errorf("$.clients: the plan has steps on a %s, and %s is none", need, s.Name)
		}
	}
	return nil
}
