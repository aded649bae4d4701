package holdfast_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

var (
	groupPlans = flag.Int("groups", 60, "plans with groups that each sound lock runs, half of them without faults")
	groupsFrom = flag.Uint64("groups-from", 1, "seed of the first")
	groupsOut  = flag.String("groups-out", "", "directory for the plans that accuse a lock")
)

// grouped makes a plan of single locks one of groups: each thread uses, instead of a lock, now and then a group
// or a single lock that is a member of one. Groups have members and servers in common.
func grouped(p *plan.Plan, seed uint64) *plan.Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	servers := 1 + r.IntN(3)
	p.Servers = append([]plan.Server(nil), p.Servers...)
	for i := len(p.Servers); i < servers; i++ {
		p.Servers = append(p.Servers, plan.Server{Name: fmt.Sprintf("s%d", i+1)})
	}
	server := func() string { return p.Servers[r.IntN(servers)].Name }
	names := []string{"{lock}-1", "{lock}-2"}
	for i := range 1 + r.IntN(3) {
		g := plan.Group{Name: fmt.Sprintf("group %d", i+1), Kind: plan.Multi}
		if servers > 1 && r.IntN(3) == 0 {
			g.Kind = plan.Red
			key := fmt.Sprintf("{lock}-%d", 1+r.IntN(3))
			for _, s := range p.Servers {
				g.Members = append(g.Members, plan.Member{Lock: key, Server: s.Name})
			}
		} else {
			for range 1 + r.IntN(3) {
				if m := (plan.Member{Lock: fmt.Sprintf("{lock}-%d", 1+r.IntN(3)), Server: server()}); !slices.Contains(g.Members, m) {
					g.Members = append(g.Members, m)
				}
			}
		}
		p.Groups = append(p.Groups, g)
		names = append(names, g.Name, g.Name)
	}
	single := func(name string) bool { _, ok := p.Group(name); return !ok }
	var used []string
	for i := range p.Clients {
		for j := range p.Clients[i].Threads {
			th := &p.Clients[i].Threads[j]
			as := map[string]string{}
			var steps []plan.Step
			for _, s := range th.Steps {
				if s.Lock != "" {
					for as[s.Lock] == "" {
						name := names[r.IntN(len(names))]
						if !slices.Contains(slices.Collect(maps.Values(as)), name) { // one in the other is no re-entry
							as[s.Lock] = name
						}
					}
					s.Lock = as[s.Lock]
					used = append(used, s.Lock)
				}
				switch s.Do {
				case plan.IsLocked, plan.IsHeldBy, plan.HoldCount, plan.RemainingTTL, plan.ForceUnlock:
					if !single(s.Lock) {
						continue
					}
				case plan.Sleep:
					clear(as) // another section
				}
				steps = append(steps, s)
			}
			th.Steps = steps
		}
	}
	p.Faults = slices.DeleteFunc(p.Faults, func(f plan.Fault) bool { return f.Kind == "force-unlock" && !slices.ContainsFunc(used, single) })
	for i := range p.Faults {
		f := &p.Faults[i]
		pick := func() string {
			for {
				if name := used[r.IntN(len(used))]; f.Kind != "force-unlock" || single(name) {
					return name
				}
			}
		}
		if f.Lock != "" {
			f.Lock = pick()
		}
		if f.When != nil && f.When.Lock != "" {
			if f.When.Lock = f.Lock; f.Lock == "" {
				f.When.Lock = pick()
			}
		}
		if f.Server == "" && len(p.Servers) > 1 && r.IntN(2) == 0 && p.Check(fault.Needs()) == nil {
			if f.Server = server(); p.Check(fault.Needs()) != nil {
				f.Server = ""
			}
		}
	}
	return p
}

// The sound locks are not accused of what befalls groups, whatever their shape.
func TestSoundGroupsAreNotAccused(t *testing.T) {
	for _, s := range subjects.All() {
		t.Run(s.Name, func(t *testing.T) {
			b := bubble.In(t)
			ran := 0
			for i := range *groupPlans {
				seed := *groupsFrom + uint64(i)
				scope := scenarios.Whole()
				scope.Cancels = i%4 == 3 && s.Can("lost") // the others do not claim that a call may be given up
				if i%2 == 0 {
					scope.Faults = nil
				}
				p := grouped(scenarios.DrawnBy(seed, explore.ScopeFor(s, scope)), seed)
				if err := p.Check(fault.Needs()); err != nil {
					continue // the fault does not fit these servers
				}
				ran++
				h, err := sim.Run(b, p, s, sim.Options{Seed: seed})
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					keepPlan(t, s.Name, seed, p)
					continue
				}
				v := checker.Judge(t.Context(), h, checker.Options{Sparing: true})
				for _, why := range v.Refused {
					t.Errorf("seed %d: %s", seed, why)
					keepPlan(t, s.Name, seed, p)
				}
				for _, a := range explore.Accuse(v) {
					t.Errorf("seed %d: %s: %s", seed, a.Cause(), a.Text)
					keepPlan(t, s.Name, seed, p)
				}
			}
			if ran < *groupPlans/2 {
				t.Errorf("only %d of %d plans could be run", ran, *groupPlans)
			}
		})
	}
}

func keepPlan(t *testing.T, subject string, seed uint64, p *plan.Plan) {
	if *groupsOut == "" {
		return
	}
	if err := os.WriteFile(fmt.Sprintf("%s/%s-%d.json", *groupsOut, subject, seed), p.JSON(), 0o644); err != nil {
		t.Error(err)
	}
}
