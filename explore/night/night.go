// Package night compares what a search found with what one before it found: what is new, what is there still, and how sure
// silence makes one that something is gone.
package night

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/holdfast-sim/holdfast/explore"
)

// Confidence is how sure intervals and clean runs make one.
const Confidence = 0.95

// State is what became of a finding.
type State string

const (
	New      State = "new"      // it was not there before
	Ongoing  State = "ongoing"  // it was, and is
	Rare     State = "rare"     // it was, and has not come again; there were too few runs to say that it is gone
	Resolved State = "resolved" // it was, and there were so many runs without it that it is gone
)

// states in the order in which they are told.
var states = []State{New, Ongoing, Rare, Resolved}

// Count is in how many of some runs a cause was found.
type Count struct {
	Runs int `json:"runs"` // with the cause
	Of   int `json:"of"`
}

// Rate is the share of the runs.
func (c Count) Rate() float64 {
	if c.Of == 0 {
		return 0
	}
	return float64(c.Runs) / float64(c.Of)
}

// Interval has the rate between low and high with [Confidence]: Clopper and Pearson's. It covers the true rate at least so
// often at every rate, also where few of very many runs show a cause; Wilson's does so on average only.
func (c Count) Interval() (low, high float64) {
	k, n, tail := float64(c.Runs), float64(c.Of), (1-Confidence)/2
	high = 1
	if c.Runs > 0 {
		low = mathext.InvRegIncBeta(k, n-k+1, tail)
	}
	if c.Runs < c.Of {
		high = mathext.InvRegIncBeta(k+1, n-k, 1-tail)
	}
	return low, high
}

// Clean is how many runs without the cause it takes, after these, until one may say with [Confidence] that it is gone: that it
// comes less often than it did. If it came as often as before, its runs would be anywhere among all, and in no more than one case of
// twenty among these alone (Fisher's exact test). So the rate need not be known: where it was found once, it takes nineteen
// times as many runs. The same number comes of Bayes' rule, where a rate of one in a thousand is as likely beforehand as one in a
// hundred. What is much rarer than it seems, since it was found by luck, is said to be gone more often. 0: it was not found.
func (c Count) Clean() int {
	if c.Runs == 0 {
		return 0
	}
	few, enough := 0, 1
	for !c.gone(enough) {
		few, enough = enough, 2*enough
	}
	for few+1 < enough {
		if middle := few + (enough-few)/2; c.gone(middle) {
			enough = middle
		} else {
			few = middle
		}
	}
	return enough
}

// gone reports whether so many clean runs are enough.
func (c Count) gone(clean int) bool {
	k, n, all := float64(c.Runs), float64(c.Of), float64(c.Of+clean)
	return lgamma(n+1)-lgamma(n-k+1)-lgamma(all+1)+lgamma(all-k+1) <= math.Log(1-Confidence)+1e-9
}

func lgamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

// Sum is what some shards found.
type Sum struct {
	Runs  int             // that were judged
	Found []explore.Found // each cause once
}

// Add adds what a shard found. Runs in which the harness failed show nothing.
func (s *Sum) Add(r explore.Report) {
	s.Runs += r.Runs - r.Failed
	for _, f := range r.Found {
		s.Found = explore.AddFound(s.Found, f)
	}
}

// count is in how many runs a cause was found.
func (s *Sum) count(cause string) Count {
	c := Count{Of: s.Runs}
	for _, f := range s.Found {
		if f.Cause() == cause {
			c.Runs = f.Runs
		}
	}
	return c
}

// Finding is a cause, and what became of it.
type Finding struct {
	State State `json:"state"`
	explore.Accusation
	Seed   uint64 `json:"seed"` // of the first run that shows it: of now, or else of before
	Before Count  `json:"before"`
	Now    Count  `json:"now"`

	// Rate is that of now, or, if it was not found now, that of before, between Low and High with [Confidence].
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Clean is how many clean runs it takes until one may say that it is gone, and Left how many of them there have not been.
	Clean int `json:"clean"`
	Left  int `json:"left"`
}

// Compare lists all findings of two searches: the new ones first, and of one state those that come most often first.
func Compare(before, now Sum) []Finding {
	all := []Finding{}
	for _, f := range slices.Concat(now.Found, before.Found) {
		if !slices.ContainsFunc(all, func(x Finding) bool { return x.Cause() == f.Cause() }) {
			all = append(all, became(f, before, now))
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)), cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Cause(), b.Cause()))
	})
	return all
}

func became(f explore.Found, before, now Sum) Finding {
	x := Finding{Accusation: f.Accusation, Seed: f.Seed}
	x.Before, x.Now = before.count(f.Cause()), now.count(f.Cause())
	last := x.Now
	switch {
	case x.Now.Runs > 0 && x.Before.Runs > 0:
		x.State = Ongoing
	case x.Now.Runs > 0:
		x.State = New
	default:
		x.State, last = Rare, x.Before
	}
	x.Rate, x.Clean = last.Rate(), last.Clean()
	x.Low, x.High = last.Interval()
	if x.Left = x.Clean; x.State == Rare {
		if x.Left = max(0, x.Clean-now.Runs); x.Left == 0 {
			x.State = Resolved
		}
	}
	return x
}

// IsNew reports whether some finding is new.
func IsNew(all []Finding) bool {
	return slices.ContainsFunc(all, func(x Finding) bool { return x.State == New })
}
