package explore_test

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

func median(n []int) int {
	slices.Sort(n)
	return n[len(n)/2]
}

// long is how many seeds a measurement has; it is skipped unless HOLDFAST_LONG says so. 1 is what asks tests for more than they
// do by default, and no measurement.
func long(t *testing.T) int {
	n, _ := strconv.Atoi(os.Getenv("HOLDFAST_LONG"))
	if n < 2 {
		t.Skip("it takes some minutes: HOLDFAST_LONG=SEEDS go test ./explore -run 'GuidedAgainstUniform' -v -timeout 0")
	}
	return n
}

// How many goals each strategy reaches in so many runs, and how soon it has as many as uniform has in all of them.
func TestGuidedAgainstUniformByGoals(t *testing.T) {
	seeds := long(t)
	for _, name := range []string{"rlock-hardened", "rlock-latch"} {
		t.Run(name, func(t *testing.T) { guidedByGoals(t, name, seeds) })
	}
}

func guidedByGoals(t *testing.T, name string, seeds int) {
	const runs = 2000
	s := find(t, name)
	firsts := map[string][][]int{} // of each seed, when goals were reached first
	for i := range seeds {
		for _, strategy := range []string{"uniform", "guided"} {
			var first []int
			reached := explore.Goals{}
			from := uint64(1 + i*1_000_000)
			for at := 0; at < runs; at += 500 {
				c := config(name)
				c.Strategy = strategy
				r := explore.Do(bubble.In(t), s, explore.Shard{Config: c, From: from + uint64(at), Runs: 500})
				for _, f := range r.Found {
					t.Errorf("%s, %s: %s by seed %d: %s", name, strategy, f.Cause(), f.Seed, f.Plan.JSON())
				}
				if r.Failure != nil {
					t.Logf("%s, %s: seed %d failed, and guided learns nothing of it: %s", name, strategy, r.Failure.Seed, r.Failure.Error)
				}
				reached.Merge(r.Goals)
			}
			for _, g := range reached {
				first = append(first, int(g.Seed-from)+1)
			}
			slices.Sort(first)
			firsts[strategy] = append(firsts[strategy], first)
		}
	}
	goal := map[string][]int{}
	count := map[string][]int{}
	for i, u := range firsts["uniform"] {
		g := firsts["guided"][i]
		goal["uniform"] = append(goal["uniform"], u[len(u)-1])
		as := runs + 1
		if len(g) >= len(u) {
			as = g[len(u)-1]
		}
		goal["guided"] = append(goal["guided"], as)
		count["uniform"], count["guided"] = append(count["uniform"], len(u)), append(count["guided"], len(g))
	}
	t.Logf("%s, %d runs, %d seeds: goals, median: uniform %d, guided %d; runs until uniform's last, median: uniform %d, guided %d (%d: not at all); all %v %v",
		name, runs, seeds, median(count["uniform"]), median(count["guided"]), median(goal["uniform"]), median(goal["guided"]), runs+1, goal["uniform"], goal["guided"])
}

// How many runs it takes to accuse the slowest mistakes.
func TestGuidedAgainstUniformByMistakes(t *testing.T) {
	seeds := long(t)
	const runs = 1500
	for _, name := range []string{"broken-latch-not-set-partly", "broken-latch-not-read", "broken-late-release-taken", "broken-late-acquire-taken", "broken-release-not-remembered",
		"broken-acquire-not-remembered", "broken-latch-not-set", "broken-hardened-renew-anybodys", "broken-reentry-shortens", "broken-unlock-hides-loss"} {
		mutant, ok := broken.Find(name)
		sound, known := subjects.Find(mutant.Sound)
		if !ok || !known {
			t.Fatal(name)
		}
		took := map[string][]int{}
		for i := range seeds {
			for _, strategy := range []string{"uniform", "guided"} {
				c := config(name)
				c.Strategy = strategy
				done := 0
				for done < runs {
					r := explore.Hunt(bubble.In(t), mutant.Subject, sound, explore.Shard{Config: c, From: uint64(1+i*1_000_000) + uint64(done), Runs: 500})
					if done += r.Runs; r.Accused > 0 {
						break
					}
				}
				took[strategy] = append(took[strategy], cmp.Or(done, 1))
			}
		}
		t.Logf("%-32s runs, median of %d: uniform %4d, guided %4d", name, seeds, median(took["uniform"]), median(took["guided"]))
	}
}

// Some of guided's runs are those of others until these reached something new: the plan says so.
func TestGuidedForksRunsThatReachedSomethingNew(t *testing.T) {
	s := find(t, "rlock-hardened")
	c := config(s.Name)
	c.Strategy = "guided"
	type prefix struct {
		seed uint64
		at   plan.Duration
	}
	forks, twice, runs := map[prefix]int{}, 0, 200
	if testing.Short() {
		runs = 80
	}
	r := explore.DoWith(bubble.In(t), s, explore.Shard{Config: c, From: 1, Runs: runs}, func(p *plan.Plan) *plan.Plan {
		if n := len(p.Seeds); n > 0 {
			forks[prefix{p.Seeds[0].Seed, p.Seeds[0].Until}]++
			if n > 1 {
				twice++
			}
			if p.Seeds[0].Seed < 1 || p.Seeds[0].Seed > uint64(runs) {
				t.Errorf("a run is said to be that of seed %d until %v: no run of the shard was", p.Seeds[0].Seed, p.Seeds[0].Until)
			}
		}
		return p
	})
	if r.Failed > 0 {
		t.Errorf("%d runs failed: %s", r.Failed, r.Failure.Error)
	}
	if len(forks) < 3 {
		t.Errorf("%d runs were forked", len(forks))
	}
	t.Logf("%d runs were forked, %d forks of forks", len(forks), twice)
}

// What guided finds is shown by its plan alone, and its plans are others than those that are drawn.
func TestGuidedFindsWhatItsPlanShows(t *testing.T) {
	s := find(t, "broken-unlock-twice")
	c := config(s.Name)
	c.Strategy = "guided"
	r := explore.Do(bubble.In(t), s, explore.Shard{Config: c, From: 1, Runs: 150})
	made := 0
	for _, f := range r.Found {
		one, err := explore.One(bubble.In(t), f.Plan, s, f.Seed)
		if err != nil || !one.Accuses(f.Cause()) {
			t.Errorf("seed %d alone: %v, %v", f.Seed, one.Accusations, err)
		}
		if f.Plan.Name == "guided-"+strconv.FormatUint(f.Seed, 10) {
			made++
		}
	}
	if len(r.Found) == 0 || made == 0 {
		t.Errorf("it found %d causes, %d of them by plans that it made", len(r.Found), made)
	}
	// A part of a shard comes out as the whole does.
	part := explore.Do(bubble.In(t), s, explore.Shard{Config: c, From: 1, Runs: 75})
	for _, f := range part.Found {
		if !slices.ContainsFunc(r.Found, func(g explore.Found) bool { return g.Cause() == f.Cause() && g.Seed == f.Seed }) {
			t.Errorf("the first 75 runs find %s by seed %d, and all do not", f.Cause(), f.Seed)
		}
	}
}
