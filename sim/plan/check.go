package plan

import (
	"fmt"
	"strings"

	"github.com/holdfast-sim/holdfast/history"
)

// MaxSteps bounds the steps of all programs of a plan together, so that a run ends and its history
// fits into memory; the other bounds are for the same reason.
const (
	MaxSteps   = 100_000
	MaxClients = 1_000
	MaxThreads = 10_000
	MaxFaults  = 1_000
	MaxSeeds   = 100
)

// stepNeeds says what each action takes.
var stepNeeds = map[Action]struct{ lock, wait, lease, length, cancel, permits, count bool }{
	Lock:         {lock: true, lease: true, cancel: true},
	TryLock:      {lock: true, wait: true, lease: true, cancel: true},
	Unlock:       {lock: true, cancel: true},
	ForceUnlock:  {lock: true},
	Work:         {lock: true, length: true},
	Sleep:        {length: true},
	IsLocked:     {lock: true},
	IsHeldBy:     {lock: true},
	HoldCount:    {lock: true},
	RemainingTTL: {lock: true},

	TrySetPermits:     {lock: true, cancel: true, permits: true},
	AcquirePermits:    {lock: true, cancel: true, permits: true},
	TryAcquirePermits: {lock: true, wait: true, cancel: true, permits: true},
	ReleasePermits:    {lock: true, cancel: true, permits: true},
	AddPermits:        {lock: true, cancel: true, permits: true},
	DrainPermits:      {lock: true, cancel: true},

	TrySetTotal:      {lock: true, cancel: true, permits: true},
	AddTotal:         {lock: true, cancel: true, permits: true},
	AcquirePermit:    {lock: true, lease: true, cancel: true},
	TryAcquirePermit: {lock: true, wait: true, lease: true, cancel: true},
	ReleasePermit:    {lock: true, cancel: true},
	UpdateLease:      {lock: true, lease: true, cancel: true},

	TrySetCount: {lock: true, cancel: true, count: true},
	CountDown:   {lock: true, cancel: true},
	DeleteLatch: {lock: true, cancel: true},
	Await:       {lock: true, cancel: true},
	TryAwait:    {lock: true, wait: true, cancel: true},

	ReadLock:    {lock: true, lease: true, cancel: true},
	TryRead:     {lock: true, wait: true, lease: true, cancel: true},
	ReadUnlock:  {lock: true, cancel: true},
	WriteLock:   {lock: true, lease: true, cancel: true},
	TryWrite:    {lock: true, wait: true, lease: true, cancel: true},
	WriteUnlock: {lock: true, cancel: true},
	ForceRead:   {lock: true},
	ForceWrite:  {lock: true},
}

// Check returns the first thing that is wrong with the plan, with its place as a JSON path.
func (p *Plan) Check(kinds map[string]FaultNeeds) error {
	if len(p.Clients) == 0 {
		return fmt.Errorf("plan: $.clients: there must be at least one client")
	}
	if err := p.checkSize(); err != nil {
		return err
	}
	if err := p.Timings.check(); err != nil {
		return err
	}
	if err := p.checkSeeds(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if err := p.checkServers(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	clients := map[string]bool{}
	for i, c := range p.Clients {
		at := fmt.Sprintf("$.clients[%d]", i)
		switch {
		case c.Name == "" || strings.ContainsAny(c.Name, ":#@"):
			return fmt.Errorf("plan: %s.name: %q must not be empty nor contain ':', '#' or '@'", at, c.Name)
		case c.Name == history.Fresh:
			return fmt.Errorf("plan: %s.name: %q is the client that comes once everything is healed; it must be another", at, c.Name)
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
	if err := p.checkObjects(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for i, f := range p.Faults {
		if err := p.checkFault(f, fmt.Sprintf("$.faults[%d]", i), kinds); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	return nil
}

func (p *Plan) checkSize() error {
	threads, steps := 0, 0
	for _, c := range p.Clients {
		threads += len(c.Threads)
		for _, th := range c.Threads {
			steps += len(th.Steps)
		}
	}
	switch {
	case len(p.Clients) > MaxClients:
		return fmt.Errorf("plan: $.clients: %d clients, but at most %d", len(p.Clients), MaxClients)
	case threads > MaxThreads:
		return fmt.Errorf("plan: $.clients: %d threads, but at most %d", threads, MaxThreads)
	case steps > MaxSteps:
		return fmt.Errorf("plan: $.clients: %d steps, but at most %d", steps, MaxSteps)
	case len(p.Faults) > MaxFaults:
		return fmt.Errorf("plan: $.faults: %d faults, but at most %d", len(p.Faults), MaxFaults)
	}
	return nil
}

func (p *Plan) checkSeeds() error {
	if len(p.Seeds) > MaxSeeds {
		return fmt.Errorf("$.seeds: %d spans, but at most %d", len(p.Seeds), MaxSeeds)
	}
	last := Duration(0)
	for i, s := range p.Seeds {
		if s.Until <= last {
			return fmt.Errorf("$.seeds[%d].until: %v must be more than %v, when the span begins", i, s.Until, last)
		}
		last = s.Until
	}
	return nil
}

func (t Timings) check() error {
	for _, one := range []struct {
		name string
		d    Duration
	}{{"watchdog", t.Watchdog}, {"latencyMin", t.LatencyMin}, {"latencyMax", t.LatencyMax}, {"limit", t.Limit}} {
		if one.d < 0 {
			return fmt.Errorf("plan: $.timings.%s: %v must not be negative", one.name, one.d)
		}
	}
	if p := t.Priorities; p != nil && (p.Changes < 0 || p.Changes > 100) {
		return fmt.Errorf("plan: $.timings.priorities.changes: %d must be from 0 to 100", p.Changes)
	}
	if t = t.WithDefaults(); t.LatencyMin > t.LatencyMax {
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
		if err := s.check(fmt.Sprintf("%s.steps[%d]", at, k)); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	return nil
}

func (s Step) check(at string) error {
	needs, known := stepNeeds[s.Do]
	if !known {
		return fmt.Errorf("%s.do: unknown action %q", at, s.Do)
	}
	for _, one := range []struct {
		name  string
		d     Duration
		takes bool
	}{
		{"wait", s.Wait, needs.wait}, {"lease", s.Lease, needs.lease}, {"for", s.For, needs.length},
		{"cancel", s.Cancel, needs.cancel}, {"late", s.Late, s.Do == Work},
	} {
		switch {
		case one.d < 0:
			return fmt.Errorf("%s.%s: %v must not be negative", at, one.name, one.d)
		case one.d != 0 && !one.takes:
			return fmt.Errorf("%s.%s: %s takes none", at, one.name, s.Do)
		}
	}
	for _, one := range []struct {
		name  string
		n     int64
		takes bool
	}{{"permits", s.Permits, needs.permits}, {"count", s.Count, needs.count}} {
		switch {
		case history.Kind(s.Do).Adds() && one.takes && one.n < 0 && one.n >= -history.MaxPermits:
		case history.Kind(s.Do).Adds() && one.takes && s.Lock != "" && (one.n == 0 || one.n < 0 || one.n > history.MaxPermits):
			return fmt.Errorf("%s.%s: %d must be from 1 to %d, or below 0 as far", at, one.name, one.n, history.MaxPermits)
		case one.takes && s.Lock != "" && (one.n < 1 || one.n > history.MaxPermits):
			return fmt.Errorf("%s.%s: %d must be from 1 to %d", at, one.name, one.n, history.MaxPermits)
		case one.n != 0 && !one.takes:
			return fmt.Errorf("%s.%s: %s takes none", at, one.name, s.Do)
		}
	}
	switch {
	case needs.lock != (s.Lock != ""):
		return fmt.Errorf("%s.lock: %s %s", at, s.Do, takes(needs.lock, "a lock"))
	case s.Regardless && !history.Kind(s.Do).Unlocks() && s.Do != ReleasePermits:
		return fmt.Errorf("%s.regardless: only unlock, readUnlock, writeUnlock and releasePermits can be regardless", at)
	case s.Replicas < 0 || s.Replicas > 0 && s.Do != Lock && s.Do != TryLock:
		return fmt.Errorf("%s.replicas: only lock and tryLock can wait for replicas", at)
	case s.Fenced && s.Do != Work:
		return fmt.Errorf("%s.fenced: only work is on a resource", at)
	}
	return nil
}

func takes(yes bool, what string) string {
	if yes {
		return "needs " + what
	}
	return "takes no " + strings.TrimPrefix(what, "a ")
}
