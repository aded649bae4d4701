package sim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// eager is a lock whose clients talk to the server for a while when they are made.
func eager(t *testing.T, lasts time.Duration) subjects.Subject {
	s, _ := subjects.Find("rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		for begun := time.Now(); time.Since(begun) <= lasts; {
			if err := e.Redis.Ping(context.Background()).Err(); err != nil {
				t.Error(err)
			}
		}
		return open(e)
	}
	return s
}

// turns is a plan of two clients that take turns.
func turns(faults ...plan.Fault) *plan.Plan {
	client := func(name string, start time.Duration) plan.Client {
		return plan.Client{Name: name, Threads: []plan.Thread{{ID: 1, Start: plan.Duration(start), Steps: []plan.Step{
			{Do: plan.Lock, Lock: "l"}, {Do: plan.Unlock, Lock: "l"}, {Do: plan.Sleep, For: plan.Duration(5 * time.Second)},
		}}}}
	}
	return &plan.Plan{Version: plan.Version, Name: "turns", Faults: faults, Clients: []plan.Client{client("c1", 0), client("c2", time.Second)}}
}

// Whatever a client does to be ready, the story begins after it, and no fault strikes it.
func TestToBeReadyTakesNoTimeOfTheStory(t *testing.T) {
	early := plan.Fault{Kind: "drop-message", To: plan.Duration(time.Millisecond)}
	for _, g := range []world.Ground{world.Sim(), world.Miniredis(0.1)} {
		lasts := 30 * time.Second // of virtual time
		if g.Live {
			lasts = time.Second
		}
		h, err := sim.Run(bubble.In(t), turns(early), eager(t, lasts), sim.Options{Seed: 1, Ground: g})
		if err != nil {
			t.Fatal(err)
		}
		if first := h.Ops[0].Call; first > time.Second {
			t.Errorf("%s: the first call is at %v", g.Name, first)
		}
		for _, s := range h.Served {
			if strings.EqualFold(s.Text, "ping") || s.Sent < 0 || s.At-s.Sent > 5*time.Second {
				t.Errorf("%s: %s, sent at %v, arrives at %v", g.Name, s.Text, s.Sent, s.At)
			}
		}
		if f := h.Faults[0]; !f.Missed && f.From < 0 {
			t.Errorf("%s: %+v", g.Name, f)
		}
	}
}

// The operators that faults need are there before the story begins.
func TestOperatorsAreOpenedBeforeTheRun(t *testing.T) {
	s, _ := subjects.Find("rlock-latch")
	open := s.Open
	var mu sync.Mutex
	var opened []string
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, e.ID)
		if want := []string{e.ID + ":1"}; !slices.Equal(e.Owners, want) {
			t.Errorf("%s is to have the owners %q; want %q", e.ID, e.Owners, want)
		}
		c, err := open(e)
		return openedClient{c, func() int { mu.Lock(); defer mu.Unlock(); return len(opened) }, t}, err
	}
	force := plan.Fault{Kind: "force-unlock", Lock: "l", From: plan.Duration(2 * time.Second)}
	again := force
	again.From *= 2
	h, err := sim.Run(bubble.In(t), turns(force, again), s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"c1", "c2", history.Fresh, "operator", "operator-2"}; !slices.Equal(opened, want) {
		t.Errorf("%q are opened; want %q", opened, want)
	}
	forced := 0
	for _, op := range h.Ops {
		if op.Kind == history.ForceUnlock && op.Outcome == history.NotHeld {
			forced++
		}
	}
	if forced != 2 {
		t.Errorf("%d calls of operators were answered; want 2", forced)
	}
}

// openedClient sees how many clients there are when a lock is first used.
type openedClient struct {
	subjects.Client
	opened func() int
	t      *testing.T
}

func (c openedClient) Lock(name string) subjects.Lock {
	if n := c.opened(); n != 5 {
		c.t.Errorf("a lock is used when %d clients are open; want 5", n)
	}
	return c.Client.Lock(name)
}

// Calls that cannot be given up are waited for.
func TestACallThatCannotBeGivenUpIsWaitedFor(t *testing.T) {
	p := turns()
	steps := p.Clients[0].Threads[0].Steps
	steps[1], steps[2] = steps[2], steps[1] // c1 unlocks after some time
	p.Clients[1].Threads[0].Steps[0].Cancel = plan.Duration(time.Second)
	for _, patient := range []bool{false, true} {
		s, _ := subjects.Find("rlock-latch")
		s.Patient = patient
		h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.Owner == "c2:1" })
		if op := h.Ops[i]; (op.Cancel == 0) != patient || (op.Return-op.Call > 2*time.Second) != patient {
			t.Errorf("patient %t: %+v", patient, op)
		}
		if p.Clients[1].Threads[0].Steps[0].Cancel == 0 {
			t.Error("the plan was changed")
		}
	}
}
