package explore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Strategy is a way to search.
type Strategy struct {
	Name  string
	About string
	// Whole says that it takes a plan apart, all of which is one search with an end, rather than
	// drawing plans by seed for ever.
	Whole bool
	// Draw makes the plan of a seed; nil if Whole.
	Draw func(seed uint64, scope scenarios.Scope) *plan.Plan
	// Learn makes what draws the plans of a shard, one after the other, and learns from what they reach; nil: each is by its seed
	// alone, by Draw.
	Learn func(shard Shard, scope scenarios.Scope) Learner
	// Runs is how many seeds a shard has; 0: [ShardRuns].
	Runs int
	// Do does a shard; nil: it runs the plan of each seed. Equal shards
	// come out equal.
	Do func(b *bubble.Bubbles, s subjects.Subject, shard Shard) Report
}

// Strategies is the registry.
func Strategies() []Strategy {
	return []Strategy{uniform, pct, guided, exhaustive}
}

// FindStrategy returns the strategy of that name.
func FindStrategy(name string) (Strategy, bool) {
	i := slices.IndexFunc(Strategies(), func(s Strategy) bool { return s.Name == name })
	if i < 0 {
		return Strategy{}, false
	}
	return Strategies()[i], true
}

// Do does a shard by its strategy. Equal shards come out equal.
func Do(b *bubble.Bubbles, s subjects.Subject, shard Shard) Report {
	return do(b, s, shard, nil, func(*Run, uint64) bool { return false })
}

// DoWith is Do for a lock whose plans have to be made ready for it, once they are drawn.
func DoWith(b *bubble.Bubbles, s subjects.Subject, shard Shard, ready func(*plan.Plan) *plan.Plan) Report {
	return do(b, s, shard, ready, func(*Run, uint64) bool { return false })
}

// Hunt is Do for a lock that is broken on purpose, and ends with the first run that accuses it. What
// the sound lock is accused of in the same run does not count.
func Hunt(b *bubble.Bubbles, s, sound subjects.Subject, shard Shard) Report {
	return do(b, s, shard, nil, func(r *Run, seed uint64) bool {
		if len(r.Accusations) == 0 {
			return false
		}
		same, err := One(b, r.Plan, sound, seed)
		r.Accusations = slices.DeleteFunc(r.Accusations, func(a Accusation) bool { return err != nil || same.Accuses(a.Cause()) })
		return len(r.Accusations) > 0
	})
}

func do(b *bubble.Bubbles, s subjects.Subject, shard Shard, ready func(*plan.Plan) *plan.Plan, enough func(r *Run, seed uint64) bool) Report {
	strategy, ok := FindStrategy(shard.Config.Strategy)
	switch {
	case !ok:
		return Report{Runs: shard.Runs, Failed: shard.Runs, Failure: &Failure{Error: fmt.Sprintf("no strategy is named %q", shard.Config.Strategy)}}
	case strategy.Do != nil:
		return strategy.Do(b, s, shard)
	}
	t := newTally(s)
	scope := ScopeFor(s, shard.Config.Scope)
	var learner Learner
	if strategy.Learn != nil {
		learner = strategy.Learn(shard, scope)
	}
	for i := range shard.Runs {
		seed := shard.From + uint64(i)
		var drawn *plan.Plan
		if learner != nil {
			drawn = learner.Next(seed)
		} else {
			drawn = strategy.Draw(seed, scope)
		}
		p := drawn
		if ready != nil {
			p = ready(p)
		}
		r, err := One(b, p, s, seed)
		if errors.Is(err, world.ErrWhose) {
			r, err = One(b, p.Apart(), s, seed)
		}
		over := enough(&r, seed)
		t.add(r, err, seed)
		if learner != nil && err == nil {
			learner.Learn(seed, drawn, r.History, t.last)
		}
		if over {
			break
		}
	}
	return t.report()
}

// uniform gives each message a delay between the plan's least and most, all equally likely.
var uniform = Strategy{
	Name:  "uniform",
	About: "drawn plans; the delay of each message is drawn evenly",
	Draw:  scenarios.DrawnBy,
}
