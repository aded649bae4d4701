package scenarios

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// groups draws one or two locks that are made of others. Programs take them beside the locks that stand by
// themselves, one of which may be a member.
func (d *drawing) groups(p *plan.Plan) {
	kinds := d.scope.Groups
	if d.mood.crowd || d.mood.local { // of many who ask several servers at random times, hardly one gets a quorum
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind != string(plan.Multi) })
	}
	if len(kinds) == 0 {
		return
	}
	kind := plan.GroupKind(rapid.SampledFrom(kinds).Draw(d.t, "kind of group"))
	if kind == plan.Red { // its unlock gives back a hold of each member, of those too that it had not got
		d.mood.overlap = false
	}
	servers := d.upTo(1, 2, "servers") // of a MultiLock; of one server one script can take all
	if kind == plan.Red {
		servers = 3
		if d.oneIn(4, "more servers") {
			servers = 4 + d.upTo(0, 1, "one more")
		}
	}
	for i := range servers {
		if servers > 1 {
			p.Servers = append(p.Servers, plan.Server{Name: serverName(i)})
		}
	}
	for i := range d.upTo(1, 2, "groups") {
		g := plan.Group{Name: fmt.Sprintf("group-%d", i+1), Kind: kind}
		if kind == plan.Red {
			for n := range servers - i { // the second has all members but one of the first
				g.Members = append(g.Members, plan.Member{Lock: lockName(0), Server: serverName(n)})
			}
		} else {
			for n := range d.upTo(2, 3, "members") { // the second shares all members but one with the first
				m := plan.Member{Lock: lockName(n + i)}
				if servers > 1 {
					m.Server = serverName((n + i) % servers)
				}
				g.Members = append(g.Members, m)
			}
		}
		p.Groups, d.units = append(p.Groups, g), append(d.units, g.Name)
		d.red[g.Name] = kind == plan.Red
		for _, m := range g.Members {
			d.keys[g.Name] = append(d.keys[g.Name], m.Lock)
		}
	}
}
