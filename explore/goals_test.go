package explore_test

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// No run comes to a goal that the lock is said not to be able to reach, and few runs come to the usual ones.
func TestWhatIsReachedCanBe(t *testing.T) {
	usual := map[history.Object][]string{
		history.ALock:      {"acquire-takes", "acquire-refused", "release-last", "grant-unheard"},
		history.ASemaphore: {"permits-set", "permits-taken", "permits-too-few", "permits-back"},
	}
	const runs = 120 // of which one tells of a grant that nobody heard, whatever the lock
	for i, s := range append(subjects.Everything(), libraries.All()...) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		scope := scenarios.Whole()
		r := explore.Do(bubble.In(t), s, explore.Shard{Config: config(s.Name), From: 1, Runs: runs})
		can, reached := explore.GoalsOf(s, scope), explore.Goals{}
		reached.Merge(r.Goals)
		for _, g := range r.Goals {
			if !slices.ContainsFunc(can, func(c contract.Goal) bool { return c.Name == g.Goal }) {
				t.Errorf("%s reached %s by seed %d, and is said not to be able to", s.Name, g.Goal, g.Seed)
			}
		}
		object := history.ALock
		if s.Object != "" {
			object = s.Object
		}
		for _, name := range usual[object] {
			if reached[name].Runs == 0 {
				t.Errorf("%s did not reach %s in %d runs", s.Name, name, r.Looked)
			}
		}
	}
}

// The run of the seed that is told is one that reaches the goal.
func TestTheSeedOfAGoalReachesIt(t *testing.T) {
	s := find(t, "rlock-latch")
	r := explore.Do(bubble.In(t), s, explore.Shard{Config: config(s.Name), From: 100, Runs: 25})
	for _, g := range r.Goals {
		one, err := explore.One(bubble.In(t), scenarios.DrawnBy(g.Seed, explore.ScopeFor(s, scenarios.Whole())), s, g.Seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := goals.Reached(one.History, one.Verdict, nil); !slices.Contains(got, g.Goal) {
			t.Errorf("seed %d reaches %v, and not %s", g.Seed, got, g.Goal)
		}
	}
	if len(r.Goals) < 10 {
		t.Errorf("it reached %v", r.Goals)
	}
}

// A search that is to end with its goals does so with the shard that reaches the last, and goes on while one is missing.
func TestASearchEndsOnceItsGoalsAreReached(t *testing.T) {
	s := find(t, "rlock-latch")
	s.Goals = []contract.Goal{{Name: "seed-30", Means: "it is the run of seed 30", Reached: func(h *history.History) bool { return h.Header.Seed == 30 }}}
	search := func(until ...string) explore.Total {
		one := explore.Search{Config: config(s.Name), Executor: &here{b: bubble.In(t), subject: s}, First: 1, Runs: 100, Until: until}
		total, err := one.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	if total := search("acquire-takes", "seed-30"); total.Runs != 50 || total.Reached["seed-30"] != (explore.Reached{Goal: "seed-30", Runs: 1, Seed: 30}) {
		t.Errorf("%d runs, %+v", total.Runs, total.Reached["seed-30"])
	}
	if total := search("acquire-takes", "no-goal"); total.Runs != 100 {
		t.Errorf("a goal is missing, and there were %d runs", total.Runs)
	}
	if total := search(); total.Runs != 100 {
		t.Errorf("there is no goal to end with, and there were %d runs", total.Runs)
	}
	list := search("seed-30").GoalList(s.Goals, explore.GoalsOf(s, scenarios.Whole()))
	if last := list[len(list)-1]; last.Goal != "seed-30" || last.Means == "" || last.Runs != 1 {
		t.Errorf("its own are listed last: %+v", last)
	}
}

// Without faults there is less to reach, and what all subjects declare has names of its own.
func TestGoalsOf(t *testing.T) {
	s := find(t, "rlock-hardened")
	names := func(scope scenarios.Scope) (all []string) {
		for _, g := range explore.GoalsOf(s, scope) {
			all = append(all, g.Name)
		}
		return all
	}
	whole := names(scenarios.Whole())
	scope := scenarios.Whole()
	scope.Faults = nil
	if calm := names(scope); slices.Contains(calm, "clock-moved") || !slices.Contains(calm, "acquire-takes") || !slices.Contains(whole, "clock-moved") {
		t.Errorf("without faults %v, with all %v", calm, whole)
	}
	every := append(subjects.Everything(), libraries.All()...)
	for _, l := range broken.All() {
		every = append(every, l.Subject)
	}
	for _, s := range every {
		if err := goals.Check(s.Goals); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
