package explore

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// fork is a run that reached something at some time. Runs that are the same until then, and go on otherwise, are near to what it reached.
// Each is a whole run: what comes before that time is run again.
type fork struct {
	plan *plan.Plan
	seed uint64
	at   time.Duration
}

// forksEach is how often a run is forked that reached something new.
const forksEach = 2

// goOn is the plan of a run that is the same until the fork, and by another seed from there. Of the faults that begin later some may
// go, and another may come.
func (g *guide) goOn(f fork, other *plan.Plan) *plan.Plan {
	p := f.plan.Clone()
	at := plan.Duration(f.at) + 1 // what it reached is part of it
	spans := slices.DeleteFunc(slices.Clone(p.Seeds), func(s plan.Span) bool { return s.Until >= at })
	seed := f.seed
	if n := len(spans); n < len(p.Seeds) {
		seed = p.Seeds[n].Seed
	}
	p.Seeds = append(spans, plan.Span{Seed: seed, Until: at})
	if g.draw.IntN(3) == 0 {
		return p // chance alone goes on otherwise
	}
	p.Faults = slices.DeleteFunc(p.Faults, func(f plan.Fault) bool { return f.From >= at && g.draw.IntN(2) == 0 })
	n := len(p.Faults)
	if g.splice(p, other); len(p.Faults) > n {
		f := &p.Faults[n]
		by := at - f.From
		if f.When == nil {
			by += plan.Duration(g.draw.Int64N(int64(time.Millisecond) << g.draw.IntN(14))) // up to some seconds
		}
		f.From += by
		if f.To > 0 {
			f.To += by
		}
	}
	return p
}
