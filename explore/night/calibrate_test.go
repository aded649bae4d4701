package night_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/explore/night"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// calibration counts how often what is said at [night.Confidence] is true.
type calibration struct {
	intervals, covered int // of searches of one length, and those that have the true rate
	silences, wrong    int // findings that would be resolved or not by then, and those that were said to be gone and were not
}

const (
	shardRuns  = 25
	nightRuns  = 200 // of a search that gives an interval
	beforeRuns = 100 // of a search after which one waits for a finding to be gone
)

// add calibrates on a cause of some rate, given in how many runs of each shard it was found.
func (c *calibration) add(hits []int, rate float64) {
	for part := range slices.Chunk(hits, nightRuns/shardRuns) {
		if len(part) < nightRuns/shardRuns {
			continue
		}
		k := night.Count{Of: nightRuns}
		for _, n := range part {
			k.Runs += n
		}
		c.intervals++
		if low, high := k.Interval(); low <= rate && rate <= high {
			c.covered++
		}
	}
	longest := night.Count{Runs: 1, Of: beforeRuns}.Clean() / shardRuns
	for at := 0; at+beforeRuns/shardRuns+longest <= len(hits); at += beforeRuns / shardRuns {
		k := night.Count{Of: beforeRuns}
		for _, n := range hits[at : at+beforeRuns/shardRuns] {
			k.Runs += n
		}
		if k.Runs == 0 {
			continue
		}
		c.silences++
		rest := hits[at+beforeRuns/shardRuns:]
		if most := (k.Clean() + shardRuns - 1) / shardRuns; !slices.ContainsFunc(rest[:most], func(n int) bool { return n > 0 }) {
			c.wrong++
		}
	}
}

// check holds the calibration to what it should be, within five points.
func (c *calibration) check(t *testing.T) {
	covered, wrong := float64(c.covered)/float64(c.intervals), float64(c.wrong)/float64(c.silences)
	t.Logf("%d intervals, %.1f %% of them with the rate; %d findings, %.1f %% of them said to be gone and were not", c.intervals, 100*covered, c.silences, 100*wrong)
	if covered < night.Confidence-0.05 || wrong > 1-night.Confidence+0.05 {
		t.Errorf("it is off by more than five points: %+v", c)
	}
}

// Runs that come by chance alone, with rates that are known exactly: from 1 in 100,000 to 1 in 2, on a logarithmic scale.
func TestCalibratedOnChance(t *testing.T) {
	var c calibration
	draw := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		rate := 0.5 * math.Pow(10, -4.7*draw.Float64())
		hits := make([]int, 240)
		for i := range hits {
			for range shardRuns {
				if draw.Float64() < rate {
					hits[i]++
				}
			}
		}
		c.add(hits, rate)
	}
	if c.check(t); c.intervals < 1000 || c.silences < 1000 {
		t.Errorf("%+v", c)
	}
}

// Drawn plans and locks that are broken on purpose, the rate of each cause being that of all runs.
func TestCalibratedOnMutants(t *testing.T) {
	if os.Getenv("HOLDFAST_LONG") == "" {
		t.Skip("it takes some minutes: HOLDFAST_LONG=1 go test ./explore/night -run CalibratedOnMutants -v -timeout 0")
	}
	const runs = 6000
	var c calibration
	for _, name := range []string{"broken-latch-not-set-partly", "broken-late-release-taken", "broken-acquire-not-remembered", "broken-reentry-shortens", "broken-hardened-silent"} {
		mutant, ok := broken.Find(name)
		if !ok {
			t.Fatal(name)
		}
		config := explore.Config{Version: explore.Version, Subject: name, Strategy: "uniform", Scope: scenarios.Whole()}
		hits := map[string][]int{}
		for i := range runs / shardRuns {
			r := explore.Do(bubble.In(t), mutant.Subject, explore.Shard{Config: config, From: 1_000_000 + uint64(i*shardRuns), Runs: shardRuns})
			for _, f := range r.Found {
				if hits[f.Cause()] == nil {
					hits[f.Cause()] = make([]int, runs/shardRuns)
				}
				hits[f.Cause()][i] = f.Runs
			}
		}
		for _, cause := range sorted(hits) {
			one := calibration{}
			one.add(hits[cause], rate(hits[cause]))
			c.add(hits[cause], rate(hits[cause]))
			t.Logf("%s: %s: %.2f %%, %+v", name, cause, 100*rate(hits[cause]), one)
		}
	}
	c.check(t)
}

func rate(hits []int) float64 {
	total := 0
	for _, k := range hits {
		total += k
	}
	return float64(total) / float64(len(hits)*shardRuns)
}

func sorted(hits map[string][]int) (causes []string) {
	for cause := range hits {
		causes = append(causes, cause)
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(-cmp.Compare(rate(hits[a]), rate(hits[b])), cmp.Compare(a, b))
	})
	return causes
}
