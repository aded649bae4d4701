package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
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
	p := probeCounted(s.Object)
	if s.Object == history.ARWLock {
		p = probeShared(s)
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
	switch s.Object {
	case history.APermitSemaphore:
		return layout, w.showsPermit(first)
	case history.ARWLock:
		layout.Upgrades = !s.Can(string(contract.RefusesUpgrade)) && w.upgrades()
		if err := w.showsHolders(); err != nil {
			return history.Layout{Upgrades: layout.Upgrades}, err
		}
		layout.Roles = w.roles(layout)
		return layout, nil
	}
	if v := w.at(first.Return)[probed]; v.Kind != "string" || v.Text != "2" {
		return history.Layout{}, unread(first, v, "the number that is left")
	}
	return layout, w.showsRefusal()
}

// showsRefusal says what is wrong if a call that is refused changes the key: what it takes and gives back is no grant, and nobody can tell it
// from one.
func (w *watched) showsRefusal() error {
	for _, op := range w.h.Ops {
		if op.Kind != history.TryAcquirePermits || op.Outcome != history.Busy || op.Client == history.Fresh {
			continue
		}
		for _, o := range w.all {
			if v := o.Keys[probed]; op.Call <= o.Sent && o.Sent <= op.Return && v.Text != "2" {
				return &UnreadError{fmt.Sprintf("a call that is refused changes the key that is named like the semaphore: it then has %s; right: nothing changes", text(v))}
			}
		}
	}
	return nil
}

// unread says that a key has something else after a call than the server log would read.
func unread(call history.Op, v world.Value, right string) error {
	return &UnreadError{fmt.Sprintf("after %s the key that is named like the %s has %s; right: %s", call.Kind, call.Kind.Object(), text(v), right)}
}

// showsHolders says what is wrong unless the key is a hash that has, beside the mode, one field after each of the two calls, which says one
// hold: that of a reader, and the same with an ending for the writer.
func (w *watched) showsHolders() error {
	var fields []string
	for _, op := range w.h.Ops {
		if op.Client == history.Fresh || !op.Kind.Acquires() || op.Outcome != history.Acquired {
			continue
		}
		if len(fields) == 2 {
			break
		}
		v := w.at(op.Return)[probed]
		holders := slices.DeleteFunc(slices.Sorted(maps.Keys(v.Fields)), func(f string) bool { return f == "mode" })
		if v.Kind != "hash" || v.Fields["mode"] == "" || len(holders) != 1 {
			return unread(op, v, "a hash with the field mode, and one field for its holder")
		}
		if count, _, _ := strings.Cut(v.Fields[holders[0]], " "); count != "1" {
			return unread(op, v, "1 in the field of its holder")
		}
		if fields = append(fields, holders[0]); len(fields) > 1 && fields[0] != history.WriterOf(fields[1]) {
			return unread(op, v, fmt.Sprintf("a field whose name after writeLock is that of its reader and %q", history.WriterOf("")))
		}
	}
	return nil
}

// probeCounted is the plan for a semaphore or a latch: three, of which one is taken. Of a semaphore more are asked for then than there are.
func probeCounted(is history.Object) *plan.Plan {
	set, take := plan.Step{Do: plan.TrySetPermits, Lock: probed, Permits: 3}, plan.Step{Do: plan.TryAcquirePermits, Lock: probed, Permits: 1}
	switch is {
	case history.APermitSemaphore:
		set.Do, take = plan.TrySetTotal, plan.Step{Do: plan.TryAcquirePermit, Lock: probed, Lease: plan.Duration(anotherLease)}
	case history.ALatch:
		set, take = plan.Step{Do: plan.TrySetCount, Lock: probed, Count: 3}, plan.Step{Do: plan.CountDown, Lock: probed}
	}
	steps := []plan.Step{set, take, {Do: plan.Sleep, For: plan.Duration(time.Second)}}
	if is == history.ASemaphore {
		steps = append(steps, plan.Step{Do: plan.TryAcquirePermits, Lock: probed, Permits: 3})
	}
	return slow("c1", steps)
}

// probeShared is the plan for a read-write lock: its client writes, and then reads, each until it was renewed twice. Then it reads, and tries to
// write besides.
func probeShared(s subjects.Subject) *plan.Plan {
	do := func(what plan.Action, d time.Duration) plan.Step {
		return plan.Step{Do: what, Lock: probed, For: plan.Duration(d)}
	}
	works := do(plan.Work, 2*s.Renews(time.Duration(timings(&plan.Plan{}, s).Watchdog))+time.Second)
	return slow("c1", []plan.Step{do(plan.WriteLock, 0), works, do(plan.WriteUnlock, 0), do(plan.ReadLock, 0), works, do(plan.ReadUnlock, 0),
		do(plan.ReadLock, 0), do(plan.TryWrite, 0), do(plan.WriteUnlock, 0), do(plan.ReadUnlock, 0)})
}

// upgrades reports whether a client that read got the write lock, too.
func (w *watched) upgrades() bool {
	return slices.ContainsFunc(w.h.Ops, func(op history.Op) bool {
		return op.Kind == history.TryWrite && op.Client != history.Fresh && op.Outcome == history.Acquired
	})
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

// text shows what a key has.
func text(v world.Value) string {
	switch {
	case v.Kind == "":
		return "nothing"
	case v.Kind == "string":
		return strconv.Quote(v.Text)
	case v.Kind == "hash":
		return "a hash of " + strings.Join(slices.Sorted(maps.Keys(v.Fields)), ", ")
	}
	return "a " + v.Kind
}
