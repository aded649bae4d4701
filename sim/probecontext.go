package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// whose learns of a client alone by what its commands tell which call they belong to. noContext is that they do not have the context of
// their call. direct is that the goroutine of their call makes them up, of such a client, or of one that connects by itself.
func whose(b *bubble.Bubbles, s subjects.Subject, o Options) (noContext, direct bool, err error) {
	s.Layout = history.Layout{Unknown: "it is being probed", Direct: true, Taken: s.Layout.Taken}
	w, err := watch(b, everyCall(s), s, o)
	if err != nil {
		return false, false, err
	}
	if noContext, direct = w.noContext(), w.direct(); noContext && !direct {
		s.Layout.NoContext = true
		if w, err = watch(b, everyCall(s), s, o); err != nil {
			return false, false, err
		}
		direct = w.direct()
	}
	return noContext, direct, nil
}

// direct reports whether the goroutine of each call, or one that it had started, has made up commands of it.
func (w *watched) direct() bool {
	return !w.lacking(func(op *history.Op, o *world.Observation) bool { return o.Direct && o.Call == op.ID })
}

// noContext reports whether there was a call whose commands do not have its context.
func (w *watched) noContext() bool {
	return w.lacking(func(op *history.Op, o *world.Observation) bool { return o.Call == op.ID })
}

// lacking reports whether commands were sent while some call was under way, and none of them says that it is the call's.
func (w *watched) lacking(says func(*history.Op, *world.Observation) bool) bool {
	return slices.ContainsFunc(w.h.Ops, func(op history.Op) bool {
		if !op.Kind.OnLock() || op.Outcome == history.Failed || op.Outcome == history.Unknown {
			return false
		}
		others := false
		for i := range w.all {
			o := &w.all[i]
			switch within := op.Call <= o.Sent && o.Sent <= op.Return; {
			case within && says(&op, o):
				return false
			case within && !world.OfSession(o.Args):
				others = true
			}
		}
		return others
	})
}

// everyCall is a plan of one client that makes each kind of call that a subject has. It takes less time than there is between two renewals.
func everyCall(s subjects.Subject) *plan.Plan {
	var steps []plan.Step
	for _, step := range callsOn(cmp.Or(s.Object, history.ALock)) {
		step.Lock = probed
		alone := plan.Plan{Clients: []plan.Client{{Threads: []plan.Thread{{Steps: []plan.Step{step}}}}}}
		if !slices.ContainsFunc(alone.Needs(), func(ability string) bool { return !s.Can(ability) }) {
			steps = append(steps, step)
		}
	}
	return slow("c1", steps)
}

func callsOn(is history.Object) []plan.Step {
	switch is {
	case history.ASemaphore:
		return []plan.Step{{Do: plan.TrySetPermits, Permits: 3}, {Do: plan.AcquirePermits, Permits: 1}, {Do: plan.TryAcquirePermits, Permits: 1},
			{Do: plan.ReleasePermits, Permits: 1}, {Do: plan.AddPermits, Permits: 1}, {Do: plan.DrainPermits}}
	case history.APermitSemaphore:
		lease := plan.Duration(time.Minute)
		return []plan.Step{{Do: plan.TrySetTotal, Permits: 3}, {Do: plan.AcquirePermit, Lease: lease}, {Do: plan.TryAcquirePermit, Lease: lease},
			{Do: plan.UpdateLease, Lease: lease}, {Do: plan.ReleasePermit}, {Do: plan.AddTotal, Permits: 1}}
	case history.ALatch:
		return []plan.Step{{Do: plan.TrySetCount, Count: 2}, {Do: plan.TryAwait}, {Do: plan.CountDown}, {Do: plan.CountDown}, {Do: plan.Await},
			{Do: plan.TrySetCount, Count: 2}, {Do: plan.DeleteLatch}}
	case history.ARWLock:
		return []plan.Step{{Do: plan.ReadLock}, {Do: plan.ReadUnlock}, {Do: plan.TryRead}, {Do: plan.ForceRead}, {Do: plan.ReadUnlock},
			{Do: plan.WriteLock}, {Do: plan.WriteUnlock}, {Do: plan.TryWrite}, {Do: plan.ForceWrite}, {Do: plan.WriteUnlock}}
	default:
		return []plan.Step{{Do: plan.Lock}, {Do: plan.IsLocked}, {Do: plan.IsHeldBy}, {Do: plan.HoldCount}, {Do: plan.RemainingTTL}, {Do: plan.Unlock},
			{Do: plan.TryLock}, {Do: plan.ForceUnlock}, {Do: plan.Unlock}}
	}
}
