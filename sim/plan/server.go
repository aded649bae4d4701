package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Server is one Redis server, with the replicas that follow it.
type Server struct {
	Name     string   `json:"name"`
	Replicas int      `json:"replicas,omitzero"`
	Lag      Duration `json:"lag,omitzero"` // how far the replicas are behind; see also the fault stop-replica
}

// Group is a lock that is made of others, its members, each on a server. Programs use it by its
// name.
type Group struct {
	Name    string    `json:"name"`
	Kind    GroupKind `json:"kind"`
	Members []Member  `json:"members"`
}

// GroupKind says when a group is held.
type GroupKind string

const (
	Multi GroupKind = "multi" // when all members are: MultiLock
	Red   GroupKind = "red"   // when more than half are: RedLock
)

// Member is one lock of a group.
type Member struct {
	Lock   string `json:"lock"`
	Server string `json:"server,omitzero"` // by default the first
}

// MaxServers bounds the servers of a plan.
const MaxServers = 16

// ServerNames returns the servers' names; one without a name if the plan names none.
func (p *Plan) ServerNames() []string {
	if len(p.Servers) == 0 {
		return []string{""}
	}
	var names []string
	for _, s := range p.Servers {
		names = append(names, s.Name)
	}
	return names
}

// replicas returns how many replicas a server has, "" being the first.
func (p *Plan) replicas(server string) int {
	for i, s := range p.Servers {
		if s.Name == server || server == "" && i == 0 {
			return s.Replicas
		}
	}
	return 0
}

// Group returns the group of that name.
func (p *Plan) Group(name string) (Group, bool) {
	i := slices.IndexFunc(p.Groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, false
	}
	return p.Groups[i], true
}

func (p *Plan) checkServers() error {
	if len(p.Servers) > MaxServers {
		return fmt.Errorf("$.servers: %d servers, but at most %d", len(p.Servers), MaxServers)
	}
	names := map[string]bool{}
	for i, s := range p.Servers {
		at := fmt.Sprintf("$.servers[%d]", i)
		switch {
		case s.Name == "" || strings.ContainsAny(s.Name, ":#@"):
			return fmt.Errorf("%s.name: %q must not be empty nor contain ':', '#' or '@'", at, s.Name)
		case names[s.Name]:
			return fmt.Errorf("%s.name: a second server named %q", at, s.Name)
		case s.Replicas < 0 || s.Replicas > MaxServers:
			return fmt.Errorf("%s.replicas: %d must be from 0 to %d", at, s.Replicas, MaxServers)
		case s.Lag < 0:
			return fmt.Errorf("%s.lag: %v must not be negative", at, s.Lag)
		case s.Lag > 0 && s.Replicas == 0:
			return fmt.Errorf("%s.lag: there is no replica to lag", at)
		}
		names[s.Name] = true
	}
	groups := map[string]bool{}
	for i, g := range p.Groups {
		at := fmt.Sprintf("$.groups[%d]", i)
		switch {
		case g.Name == "":
			return fmt.Errorf("%s.name: must not be empty", at)
		case groups[g.Name]:
			return fmt.Errorf("%s.name: a second group named %q", at, g.Name)
		case g.Kind != Multi && g.Kind != Red:
			return fmt.Errorf("%s.kind: %q must be one of %s, %s", at, g.Kind, Multi, Red)
		case len(g.Members) == 0:
			return fmt.Errorf("%s.members: there must be at least one", at)
		}
		groups[g.Name] = true
		for j, m := range g.Members {
			at := fmt.Sprintf("%s.members[%d]", at, j)
			switch {
			case m.Lock == "":
				return fmt.Errorf("%s.lock: must not be empty", at)
			case m.Server != "" && !names[m.Server]:
				return fmt.Errorf("%s.server: no server is named %q", at, m.Server)
			case slices.Contains(g.Members[:j], m):
				return fmt.Errorf("%s: the same lock on the same server again", at)
			}
		}
	}
	return nil
}
