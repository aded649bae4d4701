package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a master with replicas. Replication is asynchronous: a replica that becomes the master
// has what it had received.

var failoverAsync = Scenario{
	Name:  "failover-async",
	Title: "the master dies before the lock reached the replica",
	Story: "The replica is half a second behind. c1 takes the lock, and a moment later the master dies; the replica, " +
		"which has not heard of c1, takes its place. c2 is granted the lock while c1 works on. c1's renewal, at 10 s, " +
		"is the first to tell it.",
	Source: "Redisson issue 2669; the Redis documentation, on why failover-based implementations are not enough",
	Plan: func(uint64) *plan.Plan {
		return replicated(story("failover-async",
			[]plan.Fault{{Kind: "failover", When: &plan.Trigger{Client: "c1", Return: plan.Lock}}},
			client("c1", 2*time.Second, lock(), work(19*time.Second), unlock()),
			client("c2", 4*time.Second, lock(), work(12*time.Second), unlock()),
		), 1, 500*time.Millisecond)
	},
	Breaks: forgets(breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect})),
}

var failoverWait = Scenario{
	Name:  "failover-wait",
	Title: "the acquire waited for one of two replicas; the other is promoted",
	Story: "c1 takes the lock and waits until one replica has received it (WAIT). The other replica has been cut off " +
		"from its master since 1 s. When the master dies it is that one that takes its place, and it has never heard of " +
		"c1: c2 is granted the lock while c1 works on. WAIT makes a loss rarer, and is no consensus.",
	Source: "Redis documentation, WAIT; Redisson's check that at least one replica has acknowledged",
	Plan: func(uint64) *plan.Plan {
		waited := lock()
		waited.Replicas = 1
		return replicated(story("failover-wait",
			[]plan.Fault{
				{Kind: "stop-replication", Replica: 2, From: at(1)},
				{Kind: "failover", Replica: 2, When: &plan.Trigger{Client: "c1", Return: plan.Lock}},
			},
			client("c1", 2*time.Second, waited, work(19*time.Second), unlock()),
			client("c2", 4*time.Second, lock(), work(12*time.Second), unlock()),
		), 2, 100*time.Millisecond)
	},
	Breaks: forgets(breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect})),
}

var failoverOldHolder = Scenario{
	Name:  "failover-old-holder",
	Title: "the replica is behind by more than a hold: its lock is that of the holder before",
	Story: "The replica is five seconds behind. c1 takes the lock and unlocks after 3.5 s; c2 is granted it at 4 s and " +
		"works. At 8 s the master dies, and the replica, which knows c1's lock and neither its unlock nor c2's, takes its " +
		"place: c1, who asks, is told that it holds what it gave back. c2's renewal, at 14 s, is refused, and c3 waits for " +
		"a hold that nobody has, until the lease ends that c1 began with. Then it is granted the lock, while c2 of the " +
		"faithful generations works on. The hardened generation's c2 has stopped, but the token counter has gone back, too: " +
		"c3 gets the token that c2 had.",
	Source: "the Redis documentation, on asynchronous replication; the model's rule that a failover leaves what the replica held",
	Plan: func(uint64) *plan.Plan {
		return replicated(story("failover-old-holder",
			[]plan.Fault{{Kind: "failover", From: at(8)}},
			client("c1", 0, lock(), work(3500*time.Millisecond), unlock(), sleep(6*time.Second), plan.Step{Do: plan.IsHeldBy, Lock: order}),
			client("c2", 4*time.Second, lock(), work(39*time.Second), unlock()),
			client("c3", 10*time.Second, lock(), work(19*time.Second), unlock()),
		), 1, 5*time.Second)
	},
	Breaks: either(contract.TellsLoss, []contract.Guarantee{fencing}, []contract.Guarantee{exclusion, effect}),
}

func replicated(p *plan.Plan, replicas int, lag time.Duration) *plan.Plan {
	p.Servers = []plan.Server{{Name: "s1", Replicas: replicas, Lag: plan.Duration(lag)}}
	return p
}
