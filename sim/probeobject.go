package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// UnreadError says that the key of an object that is no lock does not say what the server log would read of it.
type UnreadError struct{ Why string }

func (e *UnreadError) Error() string { return e.Why }

// probeObject watches one owner with an object that is no lock, and says by an error that its key is not as the server log reads it.
func probeObject(b *bubble.Bubbles, s subjects.Subject, o Options) (history.Layout, error) {
	layout := s.Layout
	s.Layout = history.Layout{Unknown: "it is being probed", Taken: layout.Taken}
	p, shows, right := probeCounted(s.Object), isTwo, "the number that is left"
	if s.Object == history.ARWLock {
		p, shows, right = probeShared(s), isShared, "a hash of its holders with the field mode"
	}
	w, err := watch(b, p, s, o)
	if err != nil {
		return history.Layout{}, err
	}
	took := slices.IndexFunc(w.h.Ops, func(op history.Op) bool { return op.Kind.OnLock() && !op.Kind.Sets() })
	first := w.h.Ops[took] // of the plan's own client: the fresh one comes last
	if first.Outcome != history.Acquired && first.Outcome != history.OK {
		return history.Layout{}, fmt.Errorf("a client alone has a %s, and its %s ends %q: %s", s.Object, first.Kind, first.Outcome, first.Error)
	}
	if s.Object == history.APermitSemaphore {
		return layout, w.showsPermit(first)
	}
	if v := w.at(first.Return)[probed]; !shows(v) {
		return history.Layout{}, &UnreadError{fmt.Sprintf("after %s the key that is named like the %s has %q; right: %s", first.Kind, s.Object, text(v), right)}
	}
	if s.Object == history.ARWLock {
		layout.Roles = w.roles(layout)
	}
	return layout, nil
}

// probeCounted is the plan for a semaphore or a latch: three, of which one is taken.
func probeCounted(is history.Object) *plan.Plan {
	set, take := plan.Step{Do: plan.TrySetPermits, Lock: probed, Permits: 3}, plan.Step{Do: plan.TryAcquirePermits, Lock: probed, Permits: 1}
	switch is {
	case history.APermitSemaphore:
		set.Do, take = plan.TrySetTotal, plan.Step{Do: plan.TryAcquirePermit, Lock: probed, Lease: plan.Duration(anotherLease)}
	case history.ALatch:
		set, take = plan.Step{Do: plan.TrySetCount, Lock: probed, Count: 3}, plan.Step{Do: plan.CountDown, Lock: probed}
	}
	return slow("c1", []plan.Step{set, take, {Do: plan.Sleep, For: plan.Duration(time.Second)}})
}

// probeShared is the plan for a read-write lock: its client writes, and then reads, each until it was renewed twice.
func probeShared(s subjects.Subject) *plan.Plan {
	do := func(what plan.Action, d time.Duration) plan.Step {
		return plan.Step{Do: what, Lock: probed, For: plan.Duration(d)}
	}
	works := do(plan.Work, 2*s.Renews(time.Duration(timings(&plan.Plan{}, s).Watchdog))+time.Second)
	return slow("c1", []plan.Step{do(plan.WriteLock, 0), works, do(plan.WriteUnlock, 0), do(plan.ReadLock, 0), works, do(plan.ReadUnlock, 0)})
}

// showsPermit says what is wrong unless the server log has two permits free after a call, and the third taken by the id that it
// was told, for as long as it asked.
func (w *watched) showsPermit(call history.Op) error {
	var shows history.KeyState
	for _, r := range w.h.Served {
		if r.Lock == probed && r.After != nil && r.At <= call.Return {
			shows = *r.After
		}
	}
	const exactly = time.Millisecond // Redis is told times in whole ones
	p, out := shows.Has(call.Token)
	ends := p.Deadline >= call.Call+call.Lease-exactly && p.Deadline <= call.Return+call.Lease+exactly
	if shows.Number() == 2 && len(shows.Taken) == 1 && out && ends {
		return nil
	}
	what := fmt.Sprintf("%d free and %d taken", shows.Number(), len(shows.Taken))
	switch {
	case len(shows.Taken) != 1:
	case !out:
		what += ", by another id than its caller was told"
	case p.Deadline == 0:
		what += ", for ever"
	case !ends:
		what += fmt.Sprintf(", until %v after the call", p.Deadline-call.Call)
	}
	return &UnreadError{fmt.Sprintf("after %s of one of 3 permits the %s shows %s; right: 2 free and 1 taken, by its id, until its lease of %v ends",
		call.Kind, call.Kind.Object(), what, call.Lease)}
}

func isTwo(v world.Value) bool { return v.Kind == "string" && v.Text == "2" }

func isShared(v world.Value) bool { return v.Kind == "hash" && v.Fields["mode"] != "" }

// text shows what a key has.
func text(v world.Value) string {
	switch {
	case v.Kind == "":
		return "nothing"
	case v.Kind == "string":
		return v.Text
	}
	return "a " + v.Kind
}
