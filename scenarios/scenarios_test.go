package scenarios_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// judged runs a plan and judges it.
func judged(t *testing.T, p *plan.Plan, s subjects.Subject, seed uint64) (*history.History, *checker.Verdict) {
	t.Helper()
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: seed, Scenario: p.Name})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.JSON())
	}
	v := checker.Judge(context.Background(), h, checker.Options{})
	if v.Error != "" || len(v.Refused) > 0 {
		t.Fatalf("not judged: %s %q\n%s", v.Error, v.Refused, p.JSON())
	}
	return h, v
}

// A pair is a scenario and a subject of ours that it foretells: of the kind of object that the story is about.
type pair struct {
	scenario scenarios.Scenario
	subject  subjects.Subject
}

func pairs() (all []pair) {
	for _, is := range history.Objects() {
		for _, sc := range scenarios.Of(is) {
			for _, s := range subjects.Of(is) {
				if _, why := sc.For(1, s.Can); why == "" {
					all = append(all, pair{sc, s})
				}
			}
		}
	}
	return all
}

// expected is the status that a scenario expects of a guarantee.
func expected(sc scenarios.Scenario, s subjects.Subject, g contract.Guarantee) checker.Status {
	switch {
	case slices.Contains(sc.Breaks(s.Can), g):
		return checker.Broken
	case s.Object.Counted() && (g == contract.Effect || g == contract.Fencing || g == contract.Watchdog):
		return checker.NotClaimed
	case g == contract.Fencing && (!s.Can("fencing") || len(sc.Plan(1).Groups) > 0), g == contract.Watchdog && !s.Can("watchdog"),
		g == contract.Fairness && !s.Can(string(contract.Fair)):
		return checker.NotClaimed
	case g == contract.Effect && s.Object == history.ARWLock && !writes(sc.Plan(1)):
		return checker.NotClaimed
	}
	return checker.Holds
}

// writes reports whether some thread of a plan works under a write lock.
func writes(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clients, func(c plan.Client) bool {
		return slices.ContainsFunc(c.Threads, func(t plan.Thread) bool {
			locked := slices.IndexFunc(t.Steps, func(s plan.Step) bool { return s.Do == plan.WriteLock || s.Do == plan.TryWrite })
			return locked >= 0 && slices.ContainsFunc(t.Steps[locked:], func(s plan.Step) bool { return s.Do == plan.Work })
		})
	})
}

func TestEveryScenarioEndsAsExpectedForEverySubject(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 1
	}
	for _, pair := range pairs() {
		sc, s := pair.scenario, pair.subject
		t.Run(sc.Name+"/"+s.Name, func(t *testing.T) {
			for seed := uint64(1); seed <= seeds; seed++ {
				p, _ := sc.For(seed, s.Can)
				_, v := judged(t, p, s, seed)
				for _, g := range contract.Guarantees() {
					r := v.Result(g)
					if want := expected(sc, s, g); r.Status != want {
						t.Errorf("seed %d: %s is %q, expected %q: %s", seed, g, r.Status, want, r.Summary)
						for _, violation := range r.Violations {
							t.Logf("  %s; %s", violation.Text, violation.Cause.Text)
						}
					}
					if r.Status == checker.Broken && strings.HasPrefix(v.Explanation, "Nothing broke") {
						t.Errorf("seed %d: %s is broken, and it is said: %s", seed, g, v.Explanation)
					}
					for _, violation := range r.Violations {
						if violation.Cause.Class == contract.Unexplained {
							t.Errorf("seed %d: %s: unexplained: %s", seed, g, violation.Text)
						}
					}
				}
			}
		})
	}
}

func TestScenariosAreComplete(t *testing.T) {
	known := contract.Guarantees()
	seen := map[string]bool{}
	for _, sc := range scenarios.Everything() {
		if sc.Name == "" || seen[sc.Name] || strings.ToLower(sc.Name) != sc.Name || strings.ContainsAny(sc.Name, " _/") {
			t.Errorf("%q is no good name, or is there twice", sc.Name)
		}
		seen[sc.Name] = true
		for what, text := range map[string]string{"title": sc.Title, "story": sc.Story, "source": sc.Source} {
			if strings.TrimSpace(text) != text || text == "" || strings.Contains(text, "\n") {
				t.Errorf("%s: no good %s: %q", sc.Name, what, text)
			}
		}
		if len(sc.Story) < 2*len(sc.Title) || !strings.HasSuffix(sc.Story, ".") {
			t.Errorf("%s: a story says who, what and when, in sentences: %q", sc.Name, sc.Story)
		}
		for _, s := range subjects.Everything() {
			broken := sc.Breaks(s.Can)
			for i, g := range broken {
				if !slices.Contains(known, g) || slices.Contains(broken[:i], g) {
					t.Errorf("%s/%s breaks %q, which is no guarantee, or named twice", sc.Name, s.Name, g)
				}
			}
		}
		for seed := uint64(1); seed <= 3; seed++ {
			p := sc.Plan(seed)
			if err := p.Check(fault.Needs()); err != nil {
				t.Errorf("%s: %v", sc.Name, err)
			}
			if p.Name != sc.Name {
				t.Errorf("%s: its plan is called %q", sc.Name, p.Name)
			}
			if !bytes.Equal(p.JSON(), sc.Plan(seed).JSON()) {
				t.Errorf("%s: seed %d gives two plans", sc.Name, seed)
			}
			decoded, err := plan.Decode(p.JSON())
			if err != nil || !bytes.Equal(decoded.JSON(), p.JSON()) {
				t.Errorf("%s: its plan does not survive JSON: %v", sc.Name, err)
			}
		}
		if found, ok := scenarios.Find(sc.Name); !ok || found.Name != sc.Name {
			t.Errorf("%s is not found", sc.Name)
		}
	}
	if _, ok := scenarios.Find("no-such-story"); ok {
		t.Error("found a scenario that does not exist")
	}
	if len(scenarios.Names()) != len(seen) {
		t.Errorf("names: %q", scenarios.Names())
	}
}

// A story about the message of a release is not told of a lock whose waiters hear none. A sweep leaves out what they would hear, and a plan of
// somebody else is run as it is.
func TestWhatOnlyListenersHear(t *testing.T) {
	poller, _ := subjects.Find("rspin-hardened")
	listener, _ := subjects.Find("rlock-hardened")
	lost, _ := scenarios.Find("lost-unlock-message")
	sweep, _ := scenarios.Find("sweep-drop-message")
	if _, why := lost.For(1, poller.Can); !strings.Contains(why, "only ask again") {
		t.Errorf("a poller hears of releases: %q", why)
	}
	if _, why := lost.For(1, listener.Can); why != "" {
		t.Error(why)
	}
	all, _ := sweep.For(1, listener.Can)
	some, why := sweep.For(1, poller.Can)
	if why != "" || len(some.Faults) == 0 || len(some.Faults) >= len(all.Faults) {
		t.Errorf("%d faults of %d: %s", len(some.Faults), len(all.Faults), why)
	}
	if p, why := scenarios.Fit(lost.Plan(1), poller.Can); why != "" || len(p.Faults) != len(lost.Plan(1).Faults) {
		t.Errorf("a plan of somebody else: %d faults, %s", len(p.Faults), why)
	}
}

// Every fault of a story must really strike: one that touches nothing tells another story.
func TestTheFaultsOfScenariosStrike(t *testing.T) {
	for _, pair := range pairs() {
		sc, s := pair.scenario, pair.subject
		p, _ := sc.For(1, s.Can)
		h, _ := judged(t, p, s, 1)
		if len(h.Faults) != len(p.Faults) {
			t.Errorf("%s/%s: %d faults of %d struck", sc.Name, s.Name, len(h.Faults), len(p.Faults))
		}
		for _, f := range h.Faults {
			if f.Hits == 0 {
				t.Errorf("%s/%s: fault %d, %s, touched nothing", sc.Name, s.Name, f.Index, f.Kind)
			}
		}
	}
}
