package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// outcome is what can be told from outside of how a run went, without its times: what each call came
// to, which calls came one after the other, what the server did for each lock and in which order, and
// what the verdict says.
func outcome(h *history.History) string {
	var lines []string
	names, times := map[int64]string{}, map[string]int{}
	for _, op := range h.Ops {
		times[op.Owner]++
		names[op.ID] = fmt.Sprint(op.Owner, ".", times[op.Owner])
		lines = append(lines, fmt.Sprint(names[op.ID], op.Kind, op.Lock, op.Aside, op.Outcome, op.Evidence, op.Answer, op.Repeats))
	}
	for _, a := range h.Ops {
		for _, b := range h.Ops {
			if !a.Aside && !b.Aside && !a.Pending() && a.Return < b.Call {
				lines = append(lines, names[a.ID]+" before "+names[b.ID])
			}
		}
	}
	slices.Sort(lines)
	for _, s := range h.Served {
		if s.Lock != "" && s.Step != history.StepSubscribe && s.Step != history.StepCleanup && !strings.HasPrefix(s.Reply, "NOSCRIPT") {
			lines = append(lines, fmt.Sprint(s.Client, s.Step, names[s.Op], leases.ReplaceAllString(s.Reply, "ms"), s.After.Holdings))
		}
	}
	v := checker.Judge(context.Background(), h, checker.Options{})
	for _, r := range v.Results {
		lines = append(lines, fmt.Sprint(r.Guarantee, r.Status, len(r.Violations)))
	}
	return strings.Join(append(lines, v.Refused...), "\n")
}

// leases are what is left of them: a step takes a microsecond, by which they may be rounded otherwise.
var leases = regexp.MustCompile(`\d{3,}`)

// atRandom takes steps at random.
type atRandom struct{ *rand.Rand }

func (r atRandom) Choose(steps []world.Step) int { return r.IntN(len(steps)) }
func (atRandom) Done(world.Touched)              {}

// Whatever happens when steps are taken at random, with a fault at some place or without, also happens
// in one of the orders that are run: on a plan with an unlock and a refusal.
func TestPruningLosesNoOutcome(t *testing.T) {
	s, _ := subjects.Find("rlock-latch")
	b := bubble.In(t)
	p := Pair()
	p.Clients[0].Threads[0].Steps[0].Do = plan.TryLock
	p.Clients[1].Threads[0].Steps = []plan.Step{{Do: plan.TryLock, Lock: "order:42", Lease: plan.Duration(time.Second)}}
	c := Config{Version: Version, Subject: s.Name, Strategy: "exhaustive", Plan: p, Strikes: 1, Scope: scenarios.Scope{Faults: ExhaustiveFaults()}}
	shards := []Shard{{Config: c}}
	total, walks, struck := 0, 0, 0
	for i := 0; i < len(shards); i++ {
		with := *p
		with.Faults = shards[i].Faults
		seen := map[string]bool{}
		o := &orders{}
		places := map[nth]bool{}
		for more := true; more; more = o.next() {
			h, err := sim.Run(b, &with, s, sim.Options{Seed: 1, Order: o})
			if o.err != nil || err != nil && !errors.Is(err, world.ErrAbandoned) {
				t.Fatal(o.err, err)
			}
			if err == nil {
				seen[outcome(h)] = true
				o.places(places)
				total++
			}
		}
		if i == 0 {
			shards = append(shards, oneMore(shards[0], places)...)
		}
		for seed := range uint64(20) {
			h, err := sim.Run(b, &with, s, sim.Options{Seed: 1, Order: atRandom{rand.New(rand.NewPCG(seed, uint64(i)))}})
			if err != nil {
				t.Fatal(err)
			}
			walks++
			if len(h.Faults) > 0 && !h.Faults[0].Missed {
				struck++
			}
			if got := outcome(h); !seen[got] {
				t.Errorf("%s: of %d outcomes there was none like this:\n%s", shards[i].ID(), len(seen), got)
				break
			}
		}
	}
	if struck < walks/3 {
		t.Errorf("the fault struck in %d of %d orders", struck, walks)
	}
	t.Logf("%d choices of faults, %d orders; %d at random, in %d of which the fault struck", len(shards), total, walks, struck)
}

// A lock that is broken only when a message is lost is found out by the place at which it is lost.
func TestAFaultAtEveryPlaceFindsABrokenLock(t *testing.T) {
	l, ok := broken.Find("broken-latch-not-read")
	if !ok {
		t.Fatal("it is not there")
	}
	p := Pair()
	p.Clients = p.Clients[:1]
	c := Config{Version: Version, Subject: l.Name, Strategy: "exhaustive", Plan: p, Strikes: 1, Scope: scenarios.Scope{Faults: []string{"drop-message"}}}
	b := bubble.In(t)
	accused := func(s subjects.Subject) map[string]bool {
		found := map[string]bool{}
		first := Do(b, s, Shard{Config: c})
		for _, shard := range append([]Shard{{}}, first.Next...) {
			shard.Config = c
			r := Do(b, s, shard)
			if r.Failure != nil || !r.Complete {
				t.Errorf("%s: %+v", shard.ID(), r.Failure)
			}
			for _, f := range r.Found {
				found[f.Cause()] = true
			}
		}
		return found
	}
	if found := accused(l.Subject); len(found) == 0 {
		t.Error("it is not accused")
	}
	sound, _ := subjects.Find(l.Sound)
	if found := accused(sound); len(found) > 0 {
		t.Errorf("the sound lock is accused: %v", found)
	}
}

// A fault that strikes the second of two clients that do the same has the outcomes of one that strikes
// the first, with their names exchanged.
func TestTwinsAreStruckOnce(t *testing.T) {
	s, _ := subjects.Find("rlock-latch")
	b := bubble.In(t)
	p := Pair()
	for i := range p.Clients {
		p.Clients[i].Threads[0].Steps = []plan.Step{{Do: plan.TryLock, Lock: "order:42", Lease: plan.Duration(time.Second)}}
	}
	outcomes := func(faults []plan.Fault, name func(string) string) map[string]bool {
		with := *p
		with.Faults = faults
		seen := map[string]bool{}
		o := &orders{}
		for more := true; more; more = o.next() {
			h, err := sim.Run(b, &with, s, sim.Options{Seed: 1, Order: o})
			if o.err != nil || err != nil && !errors.Is(err, world.ErrAbandoned) {
				t.Fatal(o.err, err)
			}
			if err == nil && (len(h.Faults) == 0 || !h.Faults[0].Missed) {
				lines := strings.Split(name(outcome(h)), "\n")
				slices.Sort(lines) // the calls of both are in the order of their names
				seen[strings.Join(lines, "\n")] = true
			}
		}
		return seen
	}
	exchanged := strings.NewReplacer("c1", "c2", "c2", "c1").Replace
	same := func(text string) string { return text }
	c := Config{Version: Version, Subject: s.Name, Strategy: "exhaustive", Plan: p, Strikes: 1, Scope: scenarios.Scope{Faults: ExhaustiveFaults()}}
	shards := append([]Shard{{}}, Do(b, s, Shard{Config: c}).Next...)
	if len(shards) < 5 {
		t.Fatalf("only %d choices of faults", len(shards))
	}
	for _, shard := range shards {
		var mirrored []plan.Fault
		for _, f := range shard.Faults {
			when := *f.When
			if when.Client != "c1" {
				t.Errorf("%s: it does not strike c1", shard.ID())
			}
			when.Client, f.When = "c2", &when
			if f.Client != "" {
				f.Client = "c2"
			}
			mirrored = append(mirrored, f)
		}
		want, got := outcomes(shard.Faults, same), outcomes(mirrored, exchanged)
		if len(want) == 0 || !maps.Equal(want, got) {
			t.Errorf("%s: %d outcomes, and %d others of the other client", shard.ID(), len(want), len(got))
		}
	}
}
