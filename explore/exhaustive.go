package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// exhaustive runs one plan in all orders in which messages can arrive and programs take their steps
// (see orders.go), and so for each place at which a fault can strike a message, up to as many faults
// as are asked for. A shard is one choice of faults; it names those of one fault more.
//
// A place is the n-th message of a kind to or from a client. The n-th is the same in equivalent
// orders, and before the first fault strikes a run is one without it, so that the places that occur
// in the runs without it are all. Of clients that do the same, the first fault strikes but one.
var exhaustive = Strategy{
	Name:  "exhaustive",
	About: "one small plan in all orders of its messages and steps, with up to -strikes faults at all places",
	Whole: true,
	Do:    doExhaustive,
}

// defaultMaxRuns is for plans that are not as small as one thought.
const defaultMaxRuns = 200_000

func doExhaustive(b *bubble.Bubbles, s subjects.Subject, shard Shard) Report {
	p := *shard.Config.Plan
	p.Order = nil
	p.Faults = append(slices.Clone(p.Faults), shard.Faults...)
	o := &orders{unpruned: shard.Config.Unpruned}
	t := newTally(s)
	places := map[nth]bool{}
	blocked, elsewhere := 0, 0
	for runs := 1; ; runs++ {
		h, err := sim.Run(b, &p, s, sim.Options{Seed: 1, Order: o})
		switch {
		case o.err != nil:
			t.add(Run{Plan: &p}, o.err, 0)
		case o.blocked && errors.Is(err, world.ErrAbandoned):
			blocked++
		case err != nil:
			t.add(Run{Plan: o.plan(&p)}, err, 0)
		case slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return f.Missed }):
			elsewhere++ // a run of another shard
		default:
			r := Run{Plan: o.plan(&p), History: h, Verdict: checker.Judge(context.Background(), h, checker.Options{Unpredicted: true})}
			if d := r.Verdict.Disagreement; d != "" {
				err = &Disagreement{d, r.History}
			} else if len(r.Verdict.Refused) > 0 {
				err = fmt.Errorf("the history was refused: %s", r.Verdict.Refused[0])
			}
			r.Accusations = Accuse(r.Verdict)
			t.add(r, err, 1)
			o.places(places)
		}
		if o.err != nil || runs == cmp.Or(shard.Config.MaxRuns, defaultMaxRuns) {
			break
		}
		if !o.next() {
			t.r.Complete = true
			break
		}
	}
	t.r.Blocked = blocked + elsewhere
	r := t.report()
	if len(shard.Faults) < shard.Config.Strikes {
		r.Next = oneMore(shard, places)
	}
	return r
}

// plan is the plan of this run: in its order.
func (o *orders) plan(p *plan.Plan) *plan.Plan {
	q := *p
	q.Order = o.names()
	return &q
}

// nth is the n-th message that is at a place.
type nth struct {
	world.Place
	n int
}

func (p nth) trigger() plan.Trigger {
	t := plan.Trigger{Client: p.Client, Nth: p.n}
	if p.Request {
		t.Request = p.Kind
	} else {
		t.Reply = p.Kind
	}
	return t
}

// places adds the places of this run.
func (o *orders) places(all map[nth]bool) {
	count := map[world.Place]int{}
	for i := range o.run {
		place := o.run[i].touched.Place
		if place.Kind == "" || place.Kind == plan.Session {
			continue
		}
		count[place]++
		all[nth{place, count[place]}] = true
	}
}

// oneMore lists the shards with one fault more, at each place; the first not at places of a client that
// does the same as another before it: what happens then happens to the other, too.
func oneMore(shard Shard, places map[nth]bool) []Shard {
	var next []Shard
	for place := range places {
		if len(shard.Faults) == 0 && twin(shard.Config.Plan, place.Client) {
			continue
		}
		for _, f := range strikes(shard.Config.Scope.Faults, place.trigger()) {
			faults := append(slices.Clone(shard.Faults), f)
			slices.SortFunc(faults, func(a, b plan.Fault) int { return cmp.Compare(fmt.Sprint(a, *a.When), fmt.Sprint(b, *b.When)) })
			next = append(next, Shard{Faults: faults})
		}
	}
	slices.SortFunc(next, func(a, b Shard) int { return cmp.Compare(a.ID(), b.ID()) })
	return next
}

// twin reports whether a client is like one before it in all but its name, in a plan without faults.
// All orders of the one are then orders of the other, with their names exchanged.
func twin(p *plan.Plan, client string) bool {
	for i, c := range p.Clients {
		if c.Name != client {
			continue
		}
		return len(p.Faults) == 0 && slices.ContainsFunc(p.Clients[:i], func(other plan.Client) bool {
			other.Name = c.Name
			return reflect.DeepEqual(other, c)
		})
	}
	return false
}

// longerThanLease is how long a fault lasts that lasts.
const longerThanLease = 31 * time.Second

// Pair is the plan that is taken apart unless another is named: two clients, each of which locks and
// unlocks once.
func Pair() *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Name: "pair"}
	for _, name := range []string{"c1", "c2"} {
		steps := []plan.Step{{Do: plan.Lock, Lock: "order:42"}, {Do: plan.Unlock, Lock: "order:42"}}
		p.Clients = append(p.Clients, plan.Client{Name: name, Threads: []plan.Thread{{ID: 1, Steps: steps}}})
	}
	return p
}

// ExhaustiveFaults are the kinds that strike unless others are asked for.
func ExhaustiveFaults() []string { return []string{"drop-message", "duplicate-message"} }

// strikes are the faults of some kinds at a place.
func strikes(kinds []string, place plan.Trigger) []plan.Fault {
	var all []plan.Fault
	for _, name := range kinds {
		kind, ok := fault.Find(name)
		if !ok || kind.Needs.Requests && place.Request == "" || kind.Needs.Replica || kind.Needs.Lock == plan.Must || kind.Needs.Error {
			continue
		}
		f := plan.Fault{Kind: name, When: &place}
		if kind.Needs.Client == plan.Must {
			f.Client = place.Client
		}
		if kind.Needs.By == plan.Must {
			f.By = 1 // so short that all orders of the copy are among those that are run
		}
		if kind.Needs.Lasts {
			f.For = plan.Duration(longerThanLease)
		}
		all = append(all, f)
		if kind.Needs.Reset {
			f.Reset = true
			all = append(all, f)
		}
	}
	return all
}
