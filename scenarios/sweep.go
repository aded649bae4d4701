package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Sweep is a plan for every kind of fault on every step of the protocol on which it can strike
// ([fault.Steps]): the same two clients, who take turns with a re-entry and renewals, and one fault.
// They are no stories, and expect nothing; they are there so that no kind goes unexercised on a step
// that no story needs.
func Sweep() []*plan.Plan {
	var plans []*plan.Plan
	for _, s := range fault.Steps() {
		kind, _ := fault.Find(s.Kind)
		f := sweepFault(kind)
		if where, what, ok := strings.Cut(s.On, " "); ok {
			f.When = sweepTrigger(where, plan.MessageKind(what))
			f.Client, f.From, f.To = "", 0, 0
		}
		p := story(fmt.Sprintf("%s on %s", s.Kind, s.On), []plan.Fault{f},
			client("c1", 0, lock(), lock(), work(22*time.Second), unlock(), unlock(), sleep(10*time.Second), tryLock(time.Second, 0), work(time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(3*time.Second), unlock()),
		)
		if kind.Needs.Replica {
			p = replicated(p, 1, 100*time.Millisecond)
		}
		plans = append(plans, p)
		if kind.Needs.Messages { // and with an application that is told of errors at once
			q := *p
			q.Name, q.Clients = p.Name+", nothing sent again", []plan.Client{impatient(p.Clients[0]), impatient(p.Clients[1])}
			plans = append(plans, &q)
		}
	}
	return plans
}

// sweepTrigger strikes c1, who holds, but for what only a waiter does.
func sweepTrigger(where string, what plan.MessageKind) *plan.Trigger {
	t := &plan.Trigger{Client: "c1"}
	if what == plan.Subscribe || what == plan.Publish {
		t.Client = "c2"
	}
	if where == "request" {
		t.Request = what
	} else {
		t.Reply = what
	}
	return t
}

// sweepFault is a fault of a kind, with all that it needs.
func sweepFault(kind fault.Kind) plan.Fault {
	f := plan.Fault{Kind: kind.Name, From: at(6)}
	if kind.Needs.Client != plan.Never {
		f.Client = "c1"
	}
	if kind.Needs.Lock != plan.Never && !kind.Needs.Messages {
		f.Lock = order
	}
	if kind.Needs.By != plan.Never {
		f.By = at(2)
	}
	if kind.Needs.Error {
		f.Error = "BUSY"
	}
	if kind.Needs.Lasts || kind.Needs.Messages {
		f.To = at(12)
	}
	return f
}
