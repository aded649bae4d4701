package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of those who wait.

var canceledWaiter = Scenario{
	Name:  "canceled-waiter",
	Title: "a context is cancelled while an acquire is in flight: no ghost hold, no renewal left behind",
	Story: "c1's acquire is answered late, and its context ends after a second: c1 is told so. When the answer " +
		"comes it says that c1 was granted the lock, which nobody wants any more: it is given back, and never " +
		"renewed. c2, who waits, gets it then. c3's context ends while it waits; it leaves nothing behind.",
	Source: "Redisson issues 5358 and 2714",
	Plan: func(uint64) *plan.Plan {
		return story("canceled-waiter",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(3), When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, cancelled(lock(), time.Second), work(5*time.Second), unlock(), sleep(40*time.Second)),
			client("c2", 2*time.Second, lock(), work(19*time.Second), unlock()),
			client("c3", 6*time.Second, cancelled(lock(), 5*time.Second), sleep(30*time.Second)),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var trylockTimeoutGhost = Scenario{
	Name:  "trylock-timeout-ghost",
	Title: "tryLock gives up after a response timeout; the hold that it may have got must end",
	Story: "The server grants c1's tryLock, the answer is lost, and c1's Redis client sends nothing again: c1 is " +
		"told of an error after 5 s, and goes on to other things. The hold is nobody's. It is not renewed, so it ends " +
		"with its lease, and c2, who waits, gets the lock. The hardened generation gives it back sooner.",
	Source: "Redisson issue 5019",
	Plan: func(uint64) *plan.Plan {
		return story("trylock-timeout-ghost",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			impatient(client("c1", 0, tryLock(2*time.Second, 0), work(5*time.Second), unlock(), sleep(60*time.Second))),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var manyWaiters = Scenario{
	Name:  "many-waiters",
	Title: "50 waiters on one lock: each release wakes someone, and none sleeps to a time to live",
	Story: "Fifty clients want the lock in the same three seconds, and each works for a moment. Each release wakes " +
		"one; nobody finds the lock free only because a lease ended. Ten more try with a wait, and some give up, " +
		"not before their time nor long after it.",
	Source: "Redisson issues 6539 and 5761",
	Plan: func(uint64) *plan.Plan {
		p := story("many-waiters", nil)
		for i := range 50 {
			first := lock()
			if i%5 == 4 {
				first = tryLock(3*time.Second, 0)
			}
			p.Clients = append(p.Clients, client(fmt.Sprintf("c%d", i+1), time.Duration(i)*60*time.Millisecond, first, work(200*time.Millisecond), unlock()))
		}
		return p
	},
	Breaks: nothing,
}

var deadWaiterGrant = Scenario{
	Name:  "dead-waiter-grant",
	Title: "a waiter is granted the lock after its own deadline, or its death",
	Story: "c2 waits at most 5 s for the lock, and c1 unlocks just then: c2's last attempt, already under way, is " +
		"delayed and granted late. c3 dies while its attempt is under way, which is granted to a dead client. What " +
		"c2 got it uses and gives back; what c3 got ends with its lease, and c4 gets the lock.",
	Source: "etcd issue 11456, node-redlock issue 296",
	Plan: func(uint64) *plan.Plan {
		return story("dead-waiter-grant",
			[]plan.Fault{
				{Kind: "delay-message", Client: "c2", By: at(2), When: &plan.Trigger{Client: "c2", Request: plan.Acquire, Nth: 3}},
				{Kind: "kill-client", Client: "c3", When: &plan.Trigger{Client: "c3", Reply: plan.Acquire, Nth: 1}},
			},
			client("c1", 0, lock(), work(6*time.Second), unlock()),
			client("c2", 2*time.Second, tryLock(5*time.Second, 0), work(3*time.Second), unlock()),
			client("c3", 15*time.Second, lock(), work(5*time.Second), unlock()),
			client("c4", 16*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var sharedHandle = Scenario{
	Name:  "shared-handle",
	Title: "two threads of one client share a lock: an expired one's unlock must not free the other's",
	Story: "c1:1 takes the lock for 3 s and works for 6 s. c1:2, a thread of the same process, is granted it when " +
		"that lease has ended. c1:1's unlock is refused and leaves c1:2's hold alone: an owner is a thread, not a " +
		"client. c2, who waits, gets the lock when c1:2 unlocks.",
	Source: "redis-py issue 416",
	Plan: func(uint64) *plan.Plan {
		return story("shared-handle", nil,
			plan.Client{Name: "c1", Threads: []plan.Thread{
				{ID: 1, Steps: []plan.Step{tryLock(0, 3*time.Second), work(6 * time.Second), {Do: plan.Unlock, Lock: order, Regardless: true}}},
				{ID: 2, Start: at(1), Steps: []plan.Step{lock(), work(9 * time.Second), unlock()}},
			}},
			client("c2", 2*time.Second, lock(), work(time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{exclusion, effect}),
}

// cancelled has the context of a step's call end after a while.
func cancelled(s plan.Step, after time.Duration) plan.Step {
	s.Cancel = plan.Duration(after)
	return s
}
