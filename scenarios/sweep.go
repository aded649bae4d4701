package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Scenarios that are no single story: one kind of fault on messages strikes every step of the
// protocol, each with a lock and clients of its own, side by side. So that no kind goes unexercised
// on a step that no story needs, and none ends as nobody expects.

// sweeps makes such a scenario. by is how much later a message is; long, for clients that send
// nothing again.
func sweeps(kind, title, does, ends string, by, long time.Duration, breaks func(func(string) bool) []contract.Guarantee) Scenario {
	name := "sweep-" + kind
	return Scenario{
		Name:  name,
		Title: title + ", on every step of the protocol",
		Sweep: true,
		Story: "Many small stories side by side, each with a lock and clients of its own: an acquire that is granted, one that is " +
			"refused, one of a client that sends nothing again; an unlock that gives back the last hold, one that leaves a hold, one " +
			"of who holds nothing, one of a client that sends nothing again; a renewal; a subscription, and the message that tells a " +
			"release. In each " + does + " " + ends,
		Source: "the list of faults and the steps of the protocol",
		Plan: func(uint64) *plan.Plan {
			k, _ := fault.Find(kind)
			s := &sweep{plan: story(name, nil), kind: k, by: plan.Duration(by), long: plan.Duration(long)}
			s.steps(func(m plan.MessageKind) *plan.Trigger { return &plan.Trigger{Request: m} })
			if !k.Needs.Requests {
				s.steps(func(m plan.MessageKind) *plan.Trigger { return &plan.Trigger{Reply: m} })
				s.waiting("told", &plan.Trigger{Reply: plan.Publish})
			}
			return s.plan
		},
		Breaks: breaks,
	}
}

type sweep struct {
	plan     *plan.Plan
	kind     fault.Kind
	by, long plan.Duration
	order    string // the lock of the story in the making
}

// steps adds a story for each kind of message; on says where the fault strikes.
func (s *sweep) steps(on func(plan.MessageKind) *plan.Trigger) {
	l, u, busy := s.lock, s.unlock, tryLock(0, 0)
	work := work(time.Second)

	s.begin()
	s.strikes("granted", on(plan.Acquire), l(), work, u())
	s.begin()
	s.holder(19 * time.Second)
	s.strikes("refused", on(plan.Acquire), sleep(2*time.Second), s.of(busy))
	s.begin()
	s.gone("granted-once", on(plan.Acquire), l(), work, u())

	s.begin()
	s.strikes("last", on(plan.Release), l(), work, u())
	s.begin()
	s.strikes("inner", on(plan.Release), l(), l(), work, u(), work, u())
	s.begin()
	s.strikes("stranger", on(plan.Release), plan.Step{Do: plan.Unlock, Lock: s.order, Regardless: true})
	s.begin()
	s.gone("last-once", on(plan.Release), l(), work, u())

	s.begin()
	s.strikes("renewed", on(plan.Renewal), l(), s.of(plan.Step{Do: plan.Work, For: at(25)}), u())
	s.waiting("waiting", on(plan.Subscribe))
}

func (s *sweep) waiting(name string, on *plan.Trigger) {
	s.begin()
	s.holder(4 * time.Second)
	s.strikes(name, on, sleep(2*time.Second), s.lock(), work(time.Second), s.unlock())
}

// begin begins a story with a lock of its own.
func (s *sweep) begin() { s.order = fmt.Sprintf("order:%d", len(s.plan.Faults)+1) }

func (s *sweep) of(step plan.Step) plan.Step {
	step.Lock = s.order
	return step
}
func (s *sweep) lock() plan.Step   { return s.of(lock()) }
func (s *sweep) unlock() plan.Step { return s.of(unlock()) }

// holder adds a client that holds the lock for so long.
func (s *sweep) holder(d time.Duration) {
	name := fmt.Sprintf("holder-%d", len(s.plan.Faults)+1)
	s.add(client(name, 0, s.lock(), work(d), s.unlock()))
}

// passing is what overtakes: questions, on a connection of their own, about when something is struck.
func (s *sweep) passing() []plan.Step {
	var steps []plan.Step
	ask := func(after time.Duration) { steps = append(steps, sleep(after), s.of(plan.Step{Do: plan.IsLocked})) }
	for range 22 {
		ask(200 * time.Millisecond)
	}
	ask(5700 * time.Millisecond)
	ask(500 * time.Millisecond)
	return steps
}

func (s *sweep) add(c plan.Client) {
	for i := range c.Threads[0].Steps {
		if step := &c.Threads[0].Steps[i]; step.Lock != "" {
			step.Lock = s.order
		}
	}
	s.plan.Clients = append(s.plan.Clients, c)
}

// strikes adds a client, and the fault that strikes it.
func (s *sweep) strikes(name string, on *plan.Trigger, steps ...plan.Step) {
	c := client(fmt.Sprintf("%s-%d", name, len(s.plan.Faults)+1), 0, steps...)
	on.Client = c.Name
	if s.kind.Name == "reorder-message" {
		c.Threads = append(c.Threads, plan.Thread{ID: 2, Steps: s.passing()})
	}
	s.add(c)
	f := plan.Fault{Kind: s.kind.Name, Client: c.Name, When: on, By: s.by}
	if s.kind.Needs.Error {
		f.Error = "LOADING"
	}
	s.plan.Faults = append(s.plan.Faults, f)
}

// gone is strikes for a client that sends nothing again, and for faults that outlast its patience.
func (s *sweep) gone(name string, on *plan.Trigger, steps ...plan.Step) {
	s.strikes(name, on, steps...)
	f, c := &s.plan.Faults[len(s.plan.Faults)-1], &s.plan.Clients[len(s.plan.Clients)-1]
	*c = impatient(*c)
	if f.By = s.long; s.kind.Needs.Error {
		f.Error = "BUSY"
	}
}

var (
	sweepDrop = sweeps("drop-message", "a message is lost", "the message is lost",
		"and comes again only if its sender sends it again, as in lost-acquire-reply, lost-unlock-reply, "+
			"lost-unlock-reply-reentrant and lost-unlock-message. A subscription that is lost leaves its waiter deaf, and a renewal "+
			"that is lost is sent again after 5 s.", 0, 0, inTurn(breaks([]contract.Guarantee{watchdog, liveness}, []contract.Guarantee{object})))
	sweepDelay = sweeps("delay-message", "a message is late", "the message comes 2 s late",
		"and 7 s late, when it has been given up, to the client that sends nothing again. A renewal that is late is all that any guarantee minds.",
		2*time.Second, 7*time.Second, breaks([]contract.Guarantee{watchdog}, nil))
	sweepDuplicate = sweeps("duplicate-message", "a message comes twice", "the request comes once more",
		"2 s later. The faithful generations count a second hold for the acquire whose copy comes "+
			"when its first hold has been given back, which ends with its lease.", 2*time.Second, 2*time.Second,
		breaks(nil, []contract.Guarantee{object, liveness}))
	sweepReorder = sweeps("reorder-message", "a message is overtaken", "the message waits until another of its client has passed it",
		"a question that another thread asks on another connection. Nothing in the protocol relies on an order between "+
			"connections.", 2*time.Second, 2*time.Second, nothing)
	sweepError = sweeps("server-error", "the server refuses a command", "the request is answered with LOADING, after which go-redis tries again,",
		"or, for the client that sends nothing again, with BUSY.", 0, 0, nothing)
	sweepSlow = sweeps("slow-server", "the server is slow", "the server gets to the request 2 s late",
		"and 7 s late, when it has been given up, for the client that sends nothing again. As with messages that are late, only the renewal is minded.",
		2*time.Second, 7*time.Second, breaks([]contract.Guarantee{watchdog}, nil))
)
