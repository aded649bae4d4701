package night_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/explore/night"
)

// The values are those of method 5 in table I of R. G. Newcombe, Two-sided confidence intervals for the single proportion,
// Statistics in Medicine 17 (1998).
func TestIntervalsAreThoseOfTheLiterature(t *testing.T) {
	for _, c := range []struct {
		night.Count
		low, high float64
	}{
		{night.Count{Runs: 81, Of: 263}, 0.2527, 0.3676},
		{night.Count{Runs: 15, Of: 148}, 0.0579, 0.1617}, // the table rounds up: 0.057844
		{night.Count{Runs: 0, Of: 20}, 0, 0.1684},
		{night.Count{Runs: 1, Of: 29}, 0.0009, 0.1776},
		{night.Count{Runs: 20, Of: 20}, 0.8316, 1},
		{night.Count{}, 0, 1},
	} {
		if low, high := c.Interval(); math.Abs(low-c.low) > 0.0001 || math.Abs(high-c.high) > 0.0001 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.Runs, c.Of, low, high, c.low, c.high)
		}
	}
}

// wilson is the interval that is not used.
func wilson(c night.Count) (low, high float64) {
	const z = 1.959964
	n, p := float64(c.Of), c.Rate()
	middle, half := (p+z*z/(2*n))/(1+z*z/n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))/(1+z*z/n)
	return middle - half, middle + half
}

// At every rate the interval covers it in at least 95 of 100 searches. Wilson's does not where a cause is rare: that is why it
// is not used.
func TestIntervalsCoverRareCauses(t *testing.T) {
	const n = 1000
	worst := map[string]float64{"Clopper-Pearson": 1, "Wilson": 1}
	for rate := 0.0001; rate < 0.02; rate *= 1.02 {
		covered := map[string]float64{}
		for k := range 80 {
			c := night.Count{Runs: k, Of: n}
			a, _ := math.Lgamma(n + 1)
			b, _ := math.Lgamma(float64(k) + 1)
			d, _ := math.Lgamma(n - float64(k) + 1)
			chance := math.Exp(a - b - d + float64(k)*math.Log(rate) + (n-float64(k))*math.Log1p(-rate))
			if low, high := c.Interval(); low <= rate && rate <= high {
				covered["Clopper-Pearson"] += chance
			}
			if low, high := wilson(c); low <= rate && rate <= high {
				covered["Wilson"] += chance
			}
		}
		for name := range worst {
			worst[name] = min(worst[name], covered[name])
		}
	}
	if worst["Clopper-Pearson"] < night.Confidence-1e-9 || worst["Wilson"] > 0.9 {
		t.Errorf("at worst %v", worst)
	}
}

// Of k runs among n that show a cause, none is among the next m in C(n, k) of C(n+m, k) cases.
func TestCleanRuns(t *testing.T) {
	for _, c := range []struct{ k, n, clean int }{
		{0, 100, 0},
		{1, 1, 19},
		{1, 1000, 19_000}, // 1000/20000
		{2, 1000, 3471},   // 1000·999/(4471·4470) = 0.04998; with one less 0.05001
		{1000, 1000, 1},   // 1/1001
		{3, 10, 16},       // 10·9·8/(26·25·24) = 0.0462; with one less 0.0522
	} {
		got := night.Count{Runs: c.k, Of: c.n}.Clean()
		if got != c.clean {
			t.Errorf("%d of %d: %d clean runs, want %d", c.k, c.n, got, c.clean)
		}
		if c.k == 0 {
			continue
		}
		for m, gone := range map[int]bool{got: true, got - 1: false} {
			p := 1.0
			for i := range c.k {
				p *= float64(c.n-i) / float64(c.n+m-i)
			}
			if (p <= 0.05+1e-12) != gone {
				t.Errorf("%d of %d, and %d clean: by chance in %.5f", c.k, c.n, m, p)
			}
		}
	}
}

func found(rule string, runs int, seed uint64) explore.Found {
	return explore.Found{Accusation: explore.Accusation{Guarantee: contract.Object, Rule: contract.Rule(rule)}, Runs: runs, Seed: seed}
}

func TestWhatBecameOfFindings(t *testing.T) {
	var before, now night.Sum
	before.Add(explore.Report{Runs: 500, Found: []explore.Found{found("stays", 10, 7), found("gone", 100, 8)}})
	before.Add(explore.Report{Runs: 510, Failed: 10, Found: []explore.Found{found("stays", 10, 600), found("seldom", 1, 700)}})
	now.Add(explore.Report{Runs: 100, Found: []explore.Found{found("comes", 1, 5000), found("stays", 3, 5001), found("comes more", 5, 5002)}})
	all := night.Compare(before, now)
	var got []string
	for _, x := range all {
		got = append(got, fmt.Sprintf("%s %s %d/%d %d/%d %d %d", x.State, x.Rule, x.Before.Runs, x.Before.Of, x.Now.Runs, x.Now.Of, x.Seed, x.Left))
		if last := (x.State == night.New || x.State == night.Ongoing); last && x.Rate != x.Now.Rate() || !last && x.Rate != x.Before.Rate() {
			t.Errorf("%s %s: rate %v", x.State, x.Rule, x.Rate)
		}
		if x.Low > x.Rate || x.Rate > x.High || x.Low <= 0 || x.High >= 1 {
			t.Errorf("%s: %v in %v to %v", x.Rule, x.Rate, x.Low, x.High)
		}
	}
	want := []string{"new comes more 0/1000 5/100 5002 " + fmt.Sprint(night.Count{Runs: 5, Of: 100}.Clean()), "new comes 0/1000 1/100 5000 1900",
		"ongoing stays 20/1000 3/100 5001 " + fmt.Sprint(night.Count{Runs: 3, Of: 100}.Clean()), "rare seldom 1/1000 0/100 700 18900", "resolved gone 100/1000 0/100 8 0"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !night.IsNew(all) || night.IsNew(all[2:]) {
		t.Error("which are new?")
	}
	if nothing := night.Compare(before, night.Sum{}); len(nothing) != 3 || nothing[0].State != night.Rare {
		t.Errorf("before anything was run: %+v", nothing)
	}
}
