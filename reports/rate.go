package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

// rateChart shows how often locks were taken in the course of a scenario's runs, all of them
// together, and when faults were at work: what a fault stops can be seen, and how soon it goes on.
type rateChart struct {
	Scenario      string
	Width, Height int
	Floor         int
	Area          string // a path
	Bands         []rateBand
	Peak, End     string
	Says          string // in words
}

type rateBand struct {
	Class, Title string
	X, W         int
}

const (
	rateWidth  = 340
	rateHeight = 84
	rateFloor  = 66
	rateBins   = 68
	rateBands  = 12 // different faults shown
)

// rates makes the chart of each scenario in which locks were taken.
func (b Batch) rates() []rateChart {
	var order []string
	runs := make(map[string][]*Summary)
	for _, g := range b.groups() {
		if runs[g.Scenario] == nil {
			order = append(order, g.Scenario)
		}
		runs[g.Scenario] = append(runs[g.Scenario], g.Runs...)
	}
	var charts []rateChart
	for _, scenario := range order {
		if c, ok := newRateChart(junitName(scenario), runs[scenario]); ok {
			charts = append(charts, c)
		}
	}
	return charts
}

func newRateChart(scenario string, runs []*Summary) (rateChart, bool) {
	c := rateChart{Scenario: scenario, Width: rateWidth, Height: rateHeight, Floor: rateFloor}
	end := time.Duration(1)
	for _, s := range runs {
		end = max(end, s.Verdict.Virtual)
	}
	var bins [rateBins]int
	all, peak := 0, 0
	for _, s := range runs {
		for _, at := range s.Grants {
			i := min(int(float64(at)/float64(end)*rateBins), rateBins-1)
			bins[i]++
			all++
			peak = max(peak, bins[i])
		}
	}
	if all == 0 {
		return c, false
	}
	const wide = rateWidth / rateBins
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", rateFloor)
	for i, n := range bins {
		fmt.Fprintf(&path, "V%dH%d", rateFloor-(rateFloor-12)*n/peak, (i+1)*wide)
	}
	fmt.Fprintf(&path, "V%dz", rateFloor)
	c.Area, c.End = path.String(), checker.Stamp(end)
	perSecond := float64(peak) / (end / rateBins).Seconds() / float64(len(runs))
	c.Peak = fmt.Sprintf("%.2g/s", perSecond)
	c.Says = fmt.Sprintf("%s: %s, at most %s in a run", scenario, count(all, "acquisition", "acquisitions"), c.Peak)
	seen := make(map[rateBand]bool)
	for _, s := range runs {
		for _, f := range s.Faults {
			if f.Missed {
				continue
			}
			pixel := func(t time.Duration) int { return int(float64(t) / float64(end) * rateWidth) }
			x := pixel(f.From)
			band := rateBand{Class: "k-strike", X: x, W: 2, Title: Visible(f.Kind)}
			if w := pixel(max(faultEnd(f, end), f.From)) - x; w > 2 {
				band.Class, band.W = "k-fault", w
			}
			if !seen[band] && len(c.Bands) < rateBands {
				seen[band] = true
				c.Bands = append(c.Bands, band)
			}
		}
	}
	return c, true
}
