package plan

import (
	"fmt"
	"slices"
	"strings"
)

// FaultNeeds says what a kind of fault takes; sim/fault has the registry.
type FaultNeeds struct {
	Client    bool // strikes a client
	Lock      bool // strikes a lock's key
	Lasts     bool // has an end
	Direction bool // goes one way or both
}

// stepNeeds says what each action takes.
var stepNeeds = map[Action]struct{ lock, wait, lease, length bool }{
	Lock:         {lock: true, lease: true},
	TryLock:      {lock: true, wait: true, lease: true},
	Unlock:       {lock: true},
	ForceUnlock:  {lock: true},
	Work:         {lock: true, length: true},
	Sleep:        {length: true},
	IsLocked:     {lock: true},
	IsHeldBy:     {lock: true},
	HoldCount:    {lock: true},
	RemainingTTL: {lock: true},
}

// Check returns the first thing that is wrong with the plan, with its place as a JSON path.
func (p *Plan) Check(kinds map[string]FaultNeeds) error {
	if len(p.Clients) == 0 {
		return fmt.Errorf("plan: $.clients: there must be at least one client")
	}
	if err := p.Timings.check(); err != nil {
		return err
	}
	clients := map[string]bool{}
	for i, c := range p.Clients {
		at := fmt.Sprintf("$.clients[%d]", i)
		switch {
		case c.Name == "" || strings.ContainsAny(c.Name, ":#"):
			return fmt.Errorf("plan: %s.name: %q must not be empty nor contain ':' or '#'", at, c.Name)
		case clients[c.Name]:
			return fmt.Errorf("plan: %s.name: a second client named %q", at, c.Name)
		case len(c.Threads) == 0:
			return fmt.Errorf("plan: %s.threads: there must be at least one thread", at)
		}
		clients[c.Name] = true
		threads := map[int64]bool{}
		for j, th := range c.Threads {
			if err := th.check(fmt.Sprintf("%s.threads[%d]", at, j), threads); err != nil {
				return err
			}
		}
	}
	locks := p.Locks()
	for i, f := range p.Faults {
		if err := f.check(fmt.Sprintf("$.faults[%d]", i), kinds, clients, locks); err != nil {
			return err
		}
	}
	return nil
}

func (t Timings) check() error {
	t = t.WithDefaults()
	switch {
	case t.Watchdog < 0 || t.LatencyMin < 0 || t.LatencyMax < 0 || t.Limit < 0:
		return fmt.Errorf("plan: $.timings: times must not be negative")
	case t.LatencyMin > t.LatencyMax:
		return fmt.Errorf("plan: $.timings.latencyMin: %v is more than latencyMax, %v", t.LatencyMin, t.LatencyMax)
	}
	return nil
}

func (th Thread) check(at string, taken map[int64]bool) error {
	switch {
	case th.ID < 1:
		return fmt.Errorf("plan: %s.id: %d must be at least 1", at, th.ID)
	case taken[th.ID]:
		return fmt.Errorf("plan: %s.id: a second thread %d", at, th.ID)
	case th.Start < 0:
		return fmt.Errorf("plan: %s.start: %v must not be negative", at, th.Start)
	}
	taken[th.ID] = true
	for k, s := range th.Steps {
		at := fmt.Sprintf("%s.steps[%d]", at, k)
		needs, known := stepNeeds[s.Do]
		switch {
		case !known:
			return fmt.Errorf("plan: %s.do: unknown action %q", at, s.Do)
		case needs.lock != (s.Lock != ""):
			return fmt.Errorf("plan: %s.lock: %s %s", at, s.Do, takes(needs.lock, "a lock"))
		case s.Wait < 0 || s.Lease < 0 || s.For < 0:
			return fmt.Errorf("plan: %s: times must not be negative", at)
		case s.Wait != 0 && !needs.wait:
			return fmt.Errorf("plan: %s.wait: %s takes no wait", at, s.Do)
		case s.Lease != 0 && !needs.lease:
			return fmt.Errorf("plan: %s.lease: %s takes no lease", at, s.Do)
		case s.For != 0 && !needs.length:
			return fmt.Errorf("plan: %s.for: %s takes no time", at, s.Do)
		case s.Regardless && s.Do != Unlock:
			return fmt.Errorf("plan: %s.regardless: only unlock can be regardless", at)
		}
	}
	return nil
}

func (f Fault) check(at string, kinds map[string]FaultNeeds, clients map[string]bool, locks []string) error {
	needs, known := kinds[f.Kind]
	switch {
	case !known:
		return fmt.Errorf("plan: %s.kind: unknown fault %q", at, f.Kind)
	case needs.Client != (f.Client != ""):
		return fmt.Errorf("plan: %s.client: %s %s", at, f.Kind, takes(needs.Client, "a client"))
	case f.Client != "" && !clients[f.Client]:
		return fmt.Errorf("plan: %s.client: no client is named %q", at, f.Client)
	case needs.Lock != (f.Lock != ""):
		return fmt.Errorf("plan: %s.lock: %s %s", at, f.Kind, takes(needs.Lock, "a lock"))
	case f.Lock != "" && !slices.Contains(locks, f.Lock):
		return fmt.Errorf("plan: %s.lock: no program uses a lock named %q", at, f.Lock)
	case f.From < 0:
		return fmt.Errorf("plan: %s.from: %v must not be negative", at, f.From)
	case f.To != 0 && !needs.Lasts:
		return fmt.Errorf("plan: %s.to: %s strikes once and has no end", at, f.Kind)
	case f.To != 0 && f.To <= f.From:
		return fmt.Errorf("plan: %s.to: %v is not after from, %v", at, f.To, f.From)
	case f.Direction != "" && !needs.Direction:
		return fmt.Errorf("plan: %s.direction: %s has none", at, f.Kind)
	case f.Direction != "" && !slices.Contains([]string{"both", "requests", "replies"}, f.Direction):
		return fmt.Errorf("plan: %s.direction: %q must be both, requests or replies", at, f.Direction)
	}
	return nil
}

func takes(yes bool, what string) string {
	if yes {
		return "needs " + what
	}
	return "takes no " + strings.TrimPrefix(what, "a ")
}
