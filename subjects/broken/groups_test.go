package broken_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// groupStories have contention for members, re-entry, leases, members that are lost before the unlock and
// answers that come too late: of groups over several servers, over one, and by quorum.
func groupStories() []*plan.Plan {
	s := func(d float64) plan.Duration { return plan.Duration(d * float64(time.Second)) }
	lock := func(name string) plan.Step { return plan.Step{Do: plan.Lock, Lock: name} }
	try := func(name string) plan.Step { return plan.Step{Do: plan.TryLock, Lock: name} }
	unlock := func(name string) plan.Step { return plan.Step{Do: plan.Unlock, Lock: name} }
	work := func(name string, d float64) plan.Step { return plan.Step{Do: plan.Work, Lock: name, For: s(d)} }
	sleep := func(d float64) plan.Step { return plan.Step{Do: plan.Sleep, For: s(d)} }
	leased := func(step plan.Step, d float64) plan.Step { step.Lease = s(d); return step }
	client := func(name string, start float64, steps ...plan.Step) plan.Client {
		return plan.Client{Name: name, Threads: []plan.Thread{{ID: 1, Start: s(start), Steps: steps}}}
	}
	programs := []plan.Client{
		client("c1", 0, lock("b alone"), work("b alone", 4), unlock("b alone"), sleep(30),
			lock("b alone"), try("all"), work("all", 1), unlock("all"), unlock("b alone")),
		client("c2", 1, try("all"), sleep(15), lock("all"), work("all", 2), lock("all"), work("all", 1), unlock("all"), work("all", 3), unlock("all"),
			sleep(30), leased(lock("all"), 7), work("all", 1), unlock("all")),
		client("c3", 2, lock("all"), work("all", 1), unlock("all"), sleep(13), lock("all"), unlock("all")),
	}
	var all []*plan.Plan
	for _, where := range [][]string{{"s1", "s2", "s3"}, {"s1", "s1", "s1"}} {
		for _, kind := range []plan.GroupKind{plan.Multi, plan.Red} {
			p := &plan.Plan{Version: plan.Version, Name: string(kind) + " on " + where[1], Clients: programs,
				Servers: []plan.Server{{Name: "s1"}, {Name: "s2"}, {Name: "s3"}}, Timings: plan.Timings{Limit: s(120)}}
			g := plan.Group{Name: "all", Kind: kind}
			for i, key := range []string{"a", "b", "c"} {
				g.Members = append(g.Members, plan.Member{Lock: key, Server: where[i]})
			}
			p.Groups = []plan.Group{g, {Name: "b alone", Kind: plan.Multi, Members: g.Members[1:2]}}
			if kind == plan.Red {
				if where[0] == where[1] {
					continue // a quorum is of several servers
				}
				p.Groups[1].Members = g.Members[1:3] // of a quorum one member may be another's
			}
			all = append(all, p)
		}
	}
	own := []plan.Client{client("c1", 0, lock("b alone"), try("all"), work("all", 1), try("all"), work("all", 1), unlock("all"), unlock("all"), unlock("b alone"))}
	slow := []plan.Client{client("c1", 0, lock("all"), unlock("all"), leased(try("all"), 2), work("all", 1), unlock("all")),
		client("c2", 5, leased(lock("all"), 4), work("all", 1), unlock("all"))}
	for _, p := range slices.Clone(all) {
		quiet := *p
		quiet.Name, quiet.Clients = p.Name+", alone", own
		late := *p
		late.Name, late.Clients = p.Name+", late answers", slow
		for i := range 2 { // each member's lease lasts when its answer comes, but not the first one's until the last
			late.Faults = append(late.Faults, plan.Fault{Kind: "delay-message", Client: "c1", By: s(1.4), When: &plan.Trigger{Client: "c1", Reply: plan.Acquire, Nth: 4 + i}})
		}
		all = append(all, &quiet, &late)
	}
	for _, name := range []string{"multilock-partial", "multilock-elapsed", "multilock-unlock-partial"} {
		story, _ := scenarios.Find(name)
		all = append(all, story.Plan(1))
	}
	return all
}

// whatShows is the rule that each mistake breaks.
var whatShows = map[string]contract.Rule{
	"group-keeps-members":       contract.AllOrNone,
	"group-unlock-forgets-last": contract.EveryMemberReleased,
	"group-unlock-stops":        contract.EveryMemberReleased,
	"group-without-one":         contract.GrantHasMembers,
	"group-ignores-elapsed":     contract.ValidityLeft,
	"group-reenters-first":      contract.ReentryCounts,
	"group-lease-of-first":      contract.MemberLease,
	"group-refuses-own":         contract.RefusedWhileTaken,
	"group-unlock-gives-all":    contract.AtMostOnce,
	"group-nested-is-last":      contract.OneHoldAnUnlock,
	"group-asks-rarely":         contract.FreeIsTaken,
	"red-half-is-enough":        contract.GrantHasMembers,
	"red-keeps-minority":        contract.AllOrNone,
	"red-unlocks-quorum":        contract.EveryMemberReleased,
	"all-but-last-lease":        contract.MemberLease,
	"all-but-last-taken":        contract.GrantHasMembers,
	"all-if-first-is-free":      contract.OneHolder,
	"all-but-last-given":        contract.EveryMemberReleased,
	"all-released-silently":     contract.FreeIsTaken,
}

// TestEachBrokenGroupIsCaught finds for each mistake a story that breaks the rule which it is about, while the
// sound lock, and groups that are made by hand without a mistake, keep every guarantee in that story.
func TestEachBrokenGroupIsCaught(t *testing.T) {
	stories := groupStories()
	shows := func(v *checker.Verdict, g contract.Guarantee, rule contract.Rule) bool {
		return slices.ContainsFunc(v.Result(g).Violations, func(x checker.Violation) bool { return x.Rule == rule })
	}
	for _, l := range broken.Groups() {
		name := l.Name[len("broken-"):]
		t.Run(name, func(t *testing.T) {
			rule, made := whatShows[name], false
			for _, p := range stories {
				v, edited := judge(t, p, l.Subject)
				if v == nil {
					continue
				}
				if made = made || edited; shows(v, contract.Guarantee(l.CaughtBy), rule) {
					return
				}
				for _, r := range v.Results {
					for _, x := range r.Violations {
						t.Logf("%s: %s: %s: %s", p.Name, r.Guarantee, x.Rule, x.Text)
					}
				}
			}
			t.Fatalf("no story breaks %q of %s; the mistake was made: %v", rule, l.CaughtBy, made)
		})
	}
}

func TestSoundGroupsKeepEveryRule(t *testing.T) {
	for _, s := range append(subjects.All(), broken.Handmade()) {
		for _, p := range groupStories() {
			t.Run(s.Name+"/"+p.Name, func(t *testing.T) {
				v, _ := judge(t, p, s)
				for _, r := range v.Results {
					for _, x := range r.Violations {
						if x.Ruling.Kind == checker.Defect {
							t.Errorf("%s: %s: %s", r.Guarantee, x.Rule, x.Text)
						}
					}
				}
				for _, why := range v.Refused {
					t.Error(why)
				}
			})
		}
	}
}
