package reports

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// replicated is what a plan says of servers that have replicas. A history has no more of them than that.
type replicated struct {
	Servers []struct {
		Name     string `json:"name"`
		Replicas int    `json:"replicas"`
	} `json:"servers"`
	Faults []struct {
		Replica int `json:"replica"` // from 1 on; 0: the first
	} `json:"faults"`
}

// nth is the place of the replica that a fault is about.
func (r *replicated) nth(f history.Fault) int {
	if f.Index < 0 || f.Index >= len(r.Faults) {
		return 1
	}
	return max(r.Faults[f.Index].Replica, 1)
}

// role is a stretch of time in which a process was a server's master, or a replica of it.
type role struct {
	kind string // of the item
	from time.Duration
}

// process is one of a server's: its first master, or a replica.
type process struct {
	name  string
	roles []role
	items []item // what befell it
}

// serverLanes are the lanes of servers that have replicas: one for each process, with what it was when. Who becomes the master
// leaves its place among the replicas to the one that was.
func serverLanes(h *history.History, end time.Duration) (lanes []*lane) {
	var plan replicated
	if json.Unmarshal(h.Header.Plan, &plan) != nil {
		return nil
	}
	for i, s := range plan.Servers {
		if s.Replicas < 1 {
			continue
		}
		master := &process{name: s.Name, roles: []role{{kind: "master"}}}
		all, replicas := []*process{master}, []*process{}
		for n := range s.Replicas {
			r := &process{name: fmt.Sprintf("%s replica %d", s.Name, n+1), roles: []role{{kind: "replica"}}}
			all, replicas = append(all, r), append(replicas, r)
		}
		faults := slices.Clone(h.Faults)
		slices.SortStableFunc(faults, func(a, b history.Fault) int { return int(a.From - b.From) })
		for _, f := range faults {
			n := plan.nth(f)
			if f.Missed || f.Server != s.Name && (f.Server != "" || i > 0) || n > len(replicas) {
				continue
			}
			it := item{Kind: "fault", From: f.From, To: faultEnd(f, healed(h, end)), Color: noColor, Label: Visible(f.Kind), Tip: faultTip(f)}
			switch state, words := serverState(f); {
			case state == "promoted":
				heir := replicas[n-1]
				heir.items = append(heir.items, item{Kind: "promoted", From: f.From, To: f.From, Color: noColor, Tip: it.Tip})
				replicas[n-1], master.roles = master, append(master.roles, role{"replica", f.From})
				master, heir.roles = heir, append(heir.roles, role{"master", f.From})
			case f.Has(history.ReplicationStopped):
				replicas[n-1].items = append(replicas[n-1].items, it)
			case state != "":
				it.Kind, it.Label = state, words
				master.items = append(master.items, it)
			}
		}
		for _, p := range all {
			lanes = append(lanes, p.lane(end))
		}
	}
	return lanes
}

// lane shows what a process was, and what befell it.
func (p *process) lane(end time.Duration) *lane {
	l := &lane{Kind: "server", Name: shorten(Visible(p.name), 18), Color: noColor, H: processHeight}
	for i, r := range p.roles {
		to := end
		if i+1 < len(p.roles) {
			to = p.roles[i+1].from
		}
		tip := fmt.Sprintf("%s is the master, %s to %s", name(p.name), checker.Stamp(r.from), checker.Stamp(to))
		if r.kind == "replica" {
			tip = fmt.Sprintf("%s is a replica, %s to %s", name(p.name), checker.Stamp(r.from), checker.Stamp(to))
		}
		l.Items = append(l.Items, item{Kind: r.kind, From: r.from, To: to, Color: noColor, Label: r.kind, Tip: tip})
	}
	l.Items = append(l.Items, p.items...)
	return l
}
