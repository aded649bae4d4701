package explore

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

// guided keeps the plans that reached something new: a goal, a state of the lock, or a fault at a step of the protocol in a
// state. It makes others from these, the rarer what they reached the more: changed a little, or one's programs with another's
// faults. What it learned ends with its shard, so that a shard comes out the same whoever does it, and when.
var guided = Strategy{
	Name:  "guided",
	About: "drawn plans, and plans made from those that reached something new",
	Runs:  guidedRuns,
	Learn: func(shard Shard, scope scenarios.Scope) Learner {
		return &guide{scope: scope, met: map[string]int{}, draw: seed.Source(shard.From, "explore/guided")}
	},
}

// guidedRuns is how many seeds a shard of guided has: enough to learn from.
const guidedRuns = 500

// Learner makes the plans of a shard, one after the other.
type Learner interface {
	Next(seed uint64) *plan.Plan
	// Learn is told of each run: its seed, its plan, as Next made it, and the goals that it reached.
	Learn(seed uint64, p *plan.Plan, h *history.History, reached []string)
}

// guide is the Learner of guided.
type guide struct {
	scope scenarios.Scope
	draw  *rand.Rand
	met   map[string]int // what was reached, and in how many runs
	kept  []keptPlan
	forks []fork // that are still to be run
}

// keptPlan is a plan that reached something first, and all that it reached.
type keptPlan struct {
	plan    *plan.Plan
	reached []string
}

const (
	drawnShare = 4   // of so many plans one is drawn
	forkShare  = 6   // of so many others one is a fork, if there are any
	mostKept   = 200 // plans; those that reached nothing rare any more make place
)

// Next implements [Learner].
func (g *guide) Next(n uint64) *plan.Plan {
	drawn := scenarios.DrawnBy(n, g.scope)
	if len(g.kept) == 0 || g.draw.IntN(drawnShare) == 0 {
		return drawn
	}
	if len(g.forks) > 0 && g.draw.IntN(forkShare) == 0 {
		f := g.forks[len(g.forks)-1] // what was reached last is the rarest
		g.forks = g.forks[:len(g.forks)-1]
		if p := g.goOn(f, drawn); p.Check(fault.Needs()) == nil {
			p.Name = fmt.Sprintf("guided-%d", n)
			return p
		}
	}
	for range 5 {
		p := g.choose().Clone()
		p.Name = fmt.Sprintf("guided-%d", n)
		for range 1 + g.draw.IntN(3) {
			g.change(p, drawn)
		}
		if p.Check(fault.Needs()) == nil {
			return p
		}
	}
	return drawn
}

// choose picks a plan, the rarer what it reached the likelier.
func (g *guide) choose() *plan.Plan {
	weights, sum := make([]float64, len(g.kept)), 0.0
	for i, k := range g.kept {
		weights[i] = g.rarity(k)
		sum += weights[i]
	}
	at := g.draw.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return g.kept[i].plan
		}
	}
	return g.kept[len(g.kept)-1].plan
}

func (g *guide) rarity(k keptPlan) float64 {
	rarity := 0.0
	for _, name := range k.reached {
		rarity += 1 / float64(g.met[name]*g.met[name])
	}
	return rarity
}

// Learn implements [Learner].
func (g *guide) Learn(seed uint64, p *plan.Plan, h *history.History, reached []string) {
	when := struckIn(h)
	for _, goal := range reached {
		when[goal] = 0
	}
	all := slices.Sorted(maps.Keys(when))
	first := ""
	for _, name := range all {
		if g.met[name]++; g.met[name] == 1 {
			first = name
		}
	}
	if first == "" {
		return
	}
	if at := cmp.Or(when[first], goals.When(h, first)); at > 0 {
		for range forksEach {
			g.forks = append(g.forks, fork{p, seed, at})
		}
	}
	if g.kept = append(g.kept, keptPlan{p, all}); len(g.kept) > mostKept {
		least := 0
		for i := range g.kept {
			if g.rarity(g.kept[i]) < g.rarity(g.kept[least]) {
				least = i
			}
		}
		g.kept = slices.Delete(g.kept, least, least+1)
	}
}

// struckIn names the states of locks that a run came to, and in which of them faults struck, at which steps, and when that was first.
func struckIn(h *history.History) map[string]time.Duration {
	all := map[string]time.Duration{}
	came := func(name string, at time.Duration) {
		if was, known := all[name]; !known || at < was {
			all[name] = at
		}
	}
	each(h, func(state LockState, at time.Duration) { came(state.String(), at) })
	for _, f := range h.Faults {
		if f.Struck() {
			came(fmt.Sprintf("%s on %s, %s", f.Kind, cmp.Or(f.On, "time"), stateAt(h, f)), f.From)
		}
	}
	return all
}

// stateAt says in what state a fault struck: how many held its lock, and how many waited, as far as that matters.
func stateAt(h *history.History, f history.Fault) string {
	lock := f.Lock
	waiting := map[string]int{}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.ID == f.Op {
			lock = op.Lock
		}
		if op.Kind.Asks() && op.Call <= f.From && (op.Pending() || op.Return > f.From) {
			waiting[op.Lock]++
		}
	}
	holds := int64(0)
	for i := range h.Served {
		s := &h.Served[i]
		if s.At > f.From {
			break
		}
		if s.After != nil && (s.Lock == lock || lock == "" && s.Lock != "") {
			holds = s.After.Total()
		}
	}
	if lock == "" {
		for _, n := range waiting {
			waiting[""] = max(waiting[""], n)
		}
	}
	return fmt.Sprintf("%d holds, %d ask", min(holds, 2), min(waiting[lock], 3))
}

// change changes one thing of a plan. other is a drawn plan, from which it may take something.
func (g *guide) change(p, other *plan.Plan) {
	if g.draw.IntN(3) == 0 {
		g.changePrograms(p, other)
		return
	}
	if len(p.Faults) == 0 || g.draw.IntN(3) == 0 {
		g.splice(p, other)
		return
	}
	i := g.draw.IntN(len(p.Faults))
	f := &p.Faults[i]
	if f.When != nil {
		when := *f.When
		f.When = &when
	}
	switch g.draw.IntN(5) {
	case 0:
		p.Faults = slices.Delete(p.Faults, i, i+1)
	case 1: // it strikes another message, or call
		if f.When != nil {
			f.When.Nth = max(1, f.When.Nth+g.draw.IntN(5)-2)
		} else {
			f.From = g.moved(f.From)
		}
	case 2:
		g.elsewhere(f)
	case 3:
		g.otherKind(f)
	default: // for a shorter time: how long anything may last is for who draws to say
		f.For, f.By = g.shorter(f.For), g.shorter(f.By)
	}
}

// otherKind makes a fault one of another kind. None becomes one of a key: whose key can be struck is for who draws to say.
func (g *guide) otherKind(f *plan.Fault) {
	kind, ok := fault.Find(g.scope.Faults[g.draw.IntN(len(g.scope.Faults))])
	if was, known := fault.Find(f.Kind); ok && known && kind.Needs.Lock != plan.Must && was.Needs.Lock != plan.Must && kind.Needs.Messages == was.Needs.Messages {
		f.Kind = kind.Name
	}
}

// elsewhere has a fault strike at another step of the protocol.
func (g *guide) elsewhere(f *plan.Fault) {
	if f.When == nil {
		f.From = g.moved(f.From)
		return
	}
	kinds := []plan.MessageKind{plan.Acquire, plan.Release, plan.Renewal, plan.Subscribe}
	kind := kinds[g.draw.IntN(len(kinds))]
	switch {
	case f.When.Request != "":
		f.When.Request = kind
	case f.When.Reply != "":
		f.When.Reply = append(kinds, plan.Publish)[g.draw.IntN(len(kinds)+1)]
	case len(f.When.Between) == 2:
		f.When.Between = []plan.MessageKind{f.When.Between[0], kind}
	}
}

// moved moves a moment by at most some seconds.
func (g *guide) moved(at plan.Duration) plan.Duration {
	by := plan.Duration(time.Second) << g.draw.IntN(4)
	return max(0, at+plan.Duration(g.draw.Int64N(2*int64(by)))-by)
}

func (g *guide) shorter(d plan.Duration) plan.Duration {
	if d <= 1 {
		return d
	}
	return plan.Duration(float64(d) * (0.5 + g.draw.Float64()/2))
}

// splice adds to a plan what strikes another.
func (g *guide) splice(p, other *plan.Plan) {
	from := other.Faults
	if len(from) == 0 || g.draw.IntN(2) == 0 {
		from = g.choose().Faults
	}
	if len(from) == 0 || len(p.Faults) >= mostFaults {
		return
	}
	f := from[g.draw.IntN(len(from))]
	if f.When != nil {
		when := *f.When
		f.When = &when
		g.settle(p, &f.When.Client, &f.When.Lock)
	}
	if g.settle(p, &f.Client, &f.Lock); f.When != nil && f.Client != "" && f.When.Client != "" {
		f.Client = f.When.Client
	}
	p.Faults = append(p.Faults, f)
}

// mostFaults is how many faults a plan gets.
const mostFaults = 6

// settle names a client and a lock of the plan, where others are named.
func (g *guide) settle(p *plan.Plan, client, lock *string) {
	if *client != "" {
		*client = p.Clients[g.draw.IntN(len(p.Clients))].Name
	}
	locks := slices.DeleteFunc(p.Locks(), func(name string) bool { _, made := p.Group(name); return made })
	if *lock != "" && len(locks) > 0 {
		*lock = locks[g.draw.IntN(len(locks))]
	}
}

// changePrograms changes when programs begin, or how long they work and wait, or who there is.
func (g *guide) changePrograms(p, other *plan.Plan) {
	c := &p.Clients[g.draw.IntN(len(p.Clients))]
	th := &c.Threads[g.draw.IntN(len(c.Threads))]
	switch g.draw.IntN(4) {
	case 0:
		th.Start = g.moved(th.Start)
	case 1:
		if len(th.Steps) > 0 {
			s := &th.Steps[g.draw.IntN(len(th.Steps))]
			s.For, s.Wait, s.Cancel = g.shorter(s.For), g.shorter(s.Wait), g.shorter(s.Cancel)
		}
	case 2: // one more who does the same
		if most := cmp.Or(g.scope.Clients, mostClients); len(p.Clients) < most {
			twin := *c
			twin.Name = fmt.Sprintf("t%d", len(p.Clients)+1)
			twin.Threads = slices.Clone(c.Threads)
			p.Clients = append(p.Clients, twin)
		}
	default:
		if g.scope.Timings {
			p.Timings.LatencyMin, p.Timings.LatencyMax = other.Timings.LatencyMin, other.Timings.LatencyMax
		}
	}
}

// mostClients is how many clients a plan gets.
const mostClients = 10
