package sim_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// until is what the server log had until a time. Calls are numbered when the run is over: whose a command is, Owner and Request say.
func until(h *history.History, at time.Duration) []history.Served {
	var all []history.Served
	for _, s := range h.Served {
		if s.Op = 0; s.At < at {
			all = append(all, s)
		}
	}
	return all
}

// A run whose plan names other seeds at first is the run of these until their times, and then another one.
func TestARunIsThatOfItsSeedsUntilTheirTimes(t *testing.T) {
	s, ok := subjects.Find("rlock-hardened")
	if !ok {
		t.Fatal("no subject")
	}
	run := func(p *plan.Plan, seed uint64) *history.History {
		t.Helper()
		h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	forked := 0
	for n := uint64(1); n <= 40; n++ {
		p := scenarios.DrawnBy(n, scenarios.Whole())
		p.Faults, p.Timings.Priorities = nil, nil
		if n%2 == 0 {
			p.Timings.Priorities = &plan.Priorities{Changes: 3}
		}
		of := run(p, n)
		if len(of.Served) < 20 {
			continue
		}
		forked++
		first, second := of.Served[len(of.Served)/3].At+1, of.Served[len(of.Served)/2].At+1
		once := *p
		once.Seeds = []plan.Span{{Seed: n, Until: plan.Duration(first)}}
		other := run(&once, n+1000)
		if a, b := until(of, first), until(other, first); !reflect.DeepEqual(a, b) {
			t.Errorf("plan %d: until %v the two runs differ: %d and %d commands", n, first, len(a), len(b))
		}
		if reflect.DeepEqual(of.Served, other.Served) {
			t.Errorf("plan %d: another seed from %v on changes nothing", n, first)
		}
		twice := once
		twice.Seeds = append(twice.Seeds[:1:1], plan.Span{Seed: n + 1000, Until: plan.Duration(second)})
		if third := run(&twice, n+2000); !reflect.DeepEqual(until(other, second), until(third, second)) {
			t.Errorf("plan %d: until %v the forked run and its own fork differ", n, second)
		}
		whole := once
		whole.Seeds = []plan.Span{{Seed: n, Until: plan.Duration(time.Hour)}}
		if same := run(&whole, n+3000); !reflect.DeepEqual(same.Served, of.Served) {
			t.Errorf("plan %d: by its seed to the end, it is another run", n)
		}
	}
	if forked < 10 {
		t.Errorf("only %d runs were forked", forked)
	}
}
