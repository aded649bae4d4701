package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Need says whether a kind of fault takes a parameter.
type Need uint8

const (
	Never Need = iota
	May
	Must
)

// FaultNeeds says what a kind of fault takes; sim/fault has the registry.
type FaultNeeds struct {
	Client    Need // strikes a client
	Lock      Need // strikes a lock's key
	By        Need // takes a length of time
	Direction bool // goes one way or both
	Error     bool // names an error
	Data      bool // may leave data
	Reset     bool // may reset connections
	Replica   bool // strikes a replica
	Lasts     bool // has an end
	// Messages says that it strikes messages: those that the trigger names, or all from From to To.
	Messages bool
	Requests bool // of messages, requests only
}

// Errors are what a server can be made to answer.
func Errors() []string { return []string{"BUSY", "LOADING", "READONLY", "OOM", "MISCONF"} }

func (p *Plan) checkFault(f Fault, at string, kinds map[string]FaultNeeds) error {
	needs, known := kinds[f.Kind]
	if !known {
		return fmt.Errorf("%s.kind: unknown fault %q", at, f.Kind)
	}
	for _, one := range []struct {
		name string
		d    Duration
	}{{"from", f.From}, {"to", f.To}, {"for", f.For}, {"by", f.By}} {
		if one.d < 0 {
			return fmt.Errorf("%s.%s: %v must not be negative", at, one.name, one.d)
		}
	}
	if err := f.checkParameters(at, needs); err != nil {
		return err
	}
	if err := f.checkTimes(at, needs); err != nil {
		return err
	}
	if f.Client != "" && !p.hasClient(f.Client) {
		return fmt.Errorf("%s.client: no client is named %q", at, f.Client)
	}
	if locks := p.Struck(); f.Lock != "" && !slices.Contains(locks, f.Lock) {
		return fmt.Errorf("%s.lock: no program uses a lock named %q", at, f.Lock)
	}
	if err := p.checkOnObject(f, at); err != nil {
		return err
	}
	if f.Server != "" && !slices.Contains(p.ServerNames(), f.Server) {
		return fmt.Errorf("%s.server: no server is named %q", at, f.Server)
	}
	if needs.Replica {
		if n := p.replicas(f.Server); f.Replica < 0 || max(f.Replica, 1) > n {
			return fmt.Errorf("%s.replica: the server has %d replicas", at, n)
		}
	}
	if f.When != nil {
		return p.checkTrigger(f, at+".when", needs)
	}
	return nil
}

func (f Fault) checkParameters(at string, needs FaultNeeds) error {
	for _, one := range []struct {
		name  string
		given bool
		need  Need
	}{
		{"client", f.Client != "", needs.Client}, {"lock", f.Lock != "", needs.Lock}, {"by", f.By != 0, needs.By},
		{"direction", f.Direction != "", may(needs.Direction)}, {"error", f.Error != "", must(needs.Error)},
		{"data", f.Data != "", may(needs.Data)}, {"reset", f.Reset, may(needs.Reset)},
		{"count", f.Count != 0, may(needs.Messages)}, {"replica", f.Replica != 0, may(needs.Replica)},
	} {
		switch {
		case one.given && one.need == Never:
			return fmt.Errorf("%s.%s: %s takes none", at, one.name, f.Kind)
		case !one.given && one.need == Must:
			return fmt.Errorf("%s.%s: %s needs one", at, one.name, f.Kind)
		}
	}
	for _, one := range []struct {
		name, value string
		known       []string
	}{
		{"direction", f.Direction, []string{"both", "requests", "replies"}},
		{"error", f.Error, Errors()},
		{"data", f.Data, []string{"none", "all"}},
	} {
		if one.value != "" && !slices.Contains(one.known, one.value) {
			return fmt.Errorf("%s.%s: %q must be one of %s", at, one.name, one.value, strings.Join(one.known, ", "))
		}
	}
	if f.Count < 0 {
		return fmt.Errorf("%s.count: %d must not be negative", at, f.Count)
	}
	return nil
}

func (f Fault) checkTimes(at string, needs FaultNeeds) error {
	switch {
	case f.To != 0 && !needs.Lasts && !needs.Messages:
		return fmt.Errorf("%s.to: %s strikes once and has no end", at, f.Kind)
	case f.For != 0 && !needs.Lasts:
		return fmt.Errorf("%s.for: %s strikes once and has no length", at, f.Kind)
	case f.To != 0 && f.For != 0:
		return fmt.Errorf("%s.for: the fault ends at to already", at)
	case f.To != 0 && f.To <= f.From:
		return fmt.Errorf("%s.to: %v is not after from, %v", at, f.To, f.From)
	case needs.Messages && f.When == nil && f.To == 0:
		return fmt.Errorf("%s.when: %s needs a message, or a to by which it ends", at, f.Kind)
	case needs.Messages && f.When == nil && f.Count != 0:
		return fmt.Errorf("%s.count: without when, all messages are struck", at)
	}
	return nil
}

func (p *Plan) checkTrigger(f Fault, at string, needs FaultNeeds) error {
	t := *f.When
	given := 0
	for _, yes := range []bool{t.Request != "", t.Reply != "", t.Return != "", t.Between != nil} {
		if yes {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%s: must have exactly one of request, reply, return and between", at)
	case t.Nth < 0:
		return fmt.Errorf("%s.nth: %d must not be negative", at, t.Nth)
	case t.Client != "" && !p.hasClient(t.Client):
		return fmt.Errorf("%s.client: no client is named %q", at, t.Client)
	case t.Lock != "" && !slices.Contains(p.Locks(), t.Lock):
		return fmt.Errorf("%s.lock: no program uses a lock named %q", at, t.Lock)
	case needs.Messages && f.Client != "" && t.Client != "" && f.Client != t.Client:
		return fmt.Errorf("%s.client: %s strikes the message that it waits for, so that %q must be %q, as the fault's client", at, f.Kind, t.Client, f.Client)
	case needs.Messages && t.Return != "":
		return fmt.Errorf("%s.return: %s strikes messages, and a return is none", at, f.Kind)
	case needs.Requests && t.Reply != "":
		return fmt.Errorf("%s.reply: %s strikes requests only", at, f.Kind)
	}
	t = f.Trigger()
	switch {
	case t.Return != "":
		if _, ok := stepNeeds[t.Return]; !ok || t.Return == Sleep || t.Return == Work {
			return fmt.Errorf("%s.return: %q is no call of a lock", at, t.Return)
		}
		if n := p.countSteps(t.Client, t.Lock, t.Return); n < t.Nth {
			return fmt.Errorf("%s.return: cannot occur: %s %s %d times", at, whose(t.Client), t.Return, n)
		}
	case t.Between != nil:
		if len(t.Between) != 2 {
			return fmt.Errorf("%s.between: must name two kinds of messages", at)
		}
		for i, kind := range t.Between {
			if err := p.checkMessage(t, kind, i == 1, fmt.Sprintf("%s.between[%d]", at, i)); err != nil {
				return err
			}
		}
	case t.Request != "":
		return p.checkMessage(t, t.Request, true, at+".request")
	default:
		return p.checkMessage(t, t.Reply, false, at+".reply")
	}
	return nil
}

// checkMessage refuses kinds of messages that do not exist, or that no program can cause.
func (p *Plan) checkMessage(t Trigger, kind MessageKind, request bool, at string) error {
	causes, known := causesOf[kind]
	switch {
	case !known:
		return fmt.Errorf("%s: unknown kind of message %q", at, kind)
	case kind == Publish && request:
		return fmt.Errorf("%s: cannot occur: publish is what the server sends", at)
	case causes == nil:
		return nil
	}
	if p.countSteps(t.Client, t.Lock, causes...) > 0 {
		return nil
	}
	return fmt.Errorf("%s: cannot occur: %s %s 0 times", at, whose(t.Client), causes[0])
}

// causesOf are the steps of programs that cause a kind of message; none: any program may.
var causesOf = map[MessageKind][]Action{
	Acquire: {Lock, TryLock, AcquirePermits, TryAcquirePermits, AcquirePermit, TryAcquirePermit, ReadLock, TryRead, WriteLock, TryWrite}, Release: {Unlock, ReleasePermits, ReleasePermit, CountDown, ReadUnlock, WriteUnlock}, Force: {ForceUnlock, ForceRead, ForceWrite, DrainPermits, DeleteLatch}, Set: {TrySetPermits, AddPermits, TrySetTotal, AddTotal, TrySetCount},
	Query:     {IsLocked, IsHeldBy, HoldCount, RemainingTTL, Lock, TryLock, Await, TryAwait}, // a lock may ask for itself
	Renewal:   {UpdateLease, Lock, TryLock, ReadLock, TryRead, WriteLock, TryWrite},
	Subscribe: nil, Publish: nil, Cleanup: nil, Session: nil,
}

// occurs counts the steps that can bring about a trigger, of the kind of which there are fewest.
func (p *Plan) occurs(t Trigger) int {
	if t.Return != "" {
		return p.countSteps(t.Client, t.Lock, t.Return)
	}
	fewest := math.MaxInt
	for _, kind := range append([]MessageKind{t.Request, t.Reply}, t.Between...) {
		if causes := causesOf[kind]; causes != nil {
			fewest = min(fewest, p.countSteps(t.Client, t.Lock, causes...))
		}
	}
	return fewest
}

// Trigger returns When with its defaults filled in; the zero value if there is none.
func (f Fault) Trigger() Trigger {
	if f.When == nil {
		return Trigger{}
	}
	t := *f.When
	if t.Client == "" {
		t.Client = f.Client
	}
	if t.Lock == "" {
		t.Lock = f.Lock
	}
	t.Nth = max(t.Nth, 1)
	return t
}

// countSteps counts the steps of a client (or all) on a lock (or any) that do an action.
func (p *Plan) countSteps(client, lock string, do ...Action) int {
	n := 0
	for _, c := range p.Clients {
		if client != "" && c.Name != client {
			continue
		}
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if slices.Contains(do, s.Do) && (lock == "" || s.Lock == lock) {
					n++
				}
			}
		}
	}
	return n
}

func (p *Plan) hasClient(name string) bool {
	return slices.ContainsFunc(p.Clients, func(c Client) bool { return c.Name == name })
}

func whose(client string) string {
	if client == "" {
		return "the plan has"
	}
	return client + " has"
}

func may(yes bool) Need {
	if yes {
		return May
	}
	return Never
}

func must(yes bool) Need {
	if yes {
		return Must
	}
	return Never
}
