package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a holder that stops: for a while, or for good.

var gcPause = Scenario{
	Name:  "gc-pause",
	Title: "the whole holder is paused longer than its lease, then writes",
	Story: "c1 takes the lock and works for 19 s. From 5 s to 50 s its process stops: a collection, a suspended " +
		"virtual machine. Nothing renews its lease, which ends at 30 s; c2 is granted the lock, works and writes. " +
		"When c1 goes on, its work is done, and it writes over what c2 wrote. It may have been about to write when " +
		"it was stopped, so no check that it could have made helps, and no message could reach it. Only a resource " +
		"that checks tokens can protect itself: see gc-pause-fenced.",
	Source: "M. Kleppmann, How to do distributed locking (2016)",
	Plan: func(uint64) *plan.Plan {
		return story("gc-pause",
			[]plan.Fault{{Kind: "pause-client", Client: "c1", From: at(5), To: at(50)}},
			client("c1", 0, lock(), work(19*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(25*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion, effect, watchdog}, nil),
}

var gcPauseFenced = Scenario{
	Name:  "gc-pause-fenced",
	Title: "the same with a resource that checks tokens",
	Story: "As gc-pause, but the resource remembers the highest token that it was written with, and refuses " +
		"lower ones. c1 wakes up while c2 holds the lock, after c2's first write, and writes with its old token: " +
		"refused. Two still believed in the lock at once, but the data are right. The faithful generations have no " +
		"tokens to check, so that the same resource cannot protect itself from them: there the update is lost as in " +
		"gc-pause.",
	Source: "M. Kleppmann, How to do distributed locking (2016)",
	Plan: func(uint64) *plan.Plan {
		return story("gc-pause-fenced",
			[]plan.Fault{{Kind: "pause-client", Client: "c1", From: at(5), To: at(50)}},
			client("c1", 0, lock(), fenced(work(19*time.Second)), unlock()),
			client("c2", 2*time.Second, lock(), fenced(work(15*time.Second)), sleep(10*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion, watchdog}, []contract.Guarantee{effect}),
}

var delayedWrite = Scenario{
	Name:  "delayed-write",
	Title: "a write is delayed on its way to the resource, past the end of the hold",
	Story: "c1 takes the lock, reads, works for 3 s and sends its write, which a network keeps for 40 s. c1 does " +
		"not wait for it, and unlocks. c2 is granted the lock, reads, works and writes; then c1's write arrives and " +
		"undoes that. Nobody ever believed in a lock that was not his: exclusion holds, and the update is lost all " +
		"the same. No lock can help; a resource that checks tokens can.",
	Source: "M. Kleppmann, How to do distributed locking (2016), the delayed packet",
	Plan: func(uint64) *plan.Plan {
		late := work(3 * time.Second)
		late.Late = plan.Duration(40 * time.Second)
		return story("delayed-write", nil,
			client("c1", 0, lock(), late, unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{effect}, nil),
}

var holderCrash = Scenario{
	Name:  "holder-crash",
	Title: "the holder dies; a waiter gets the lock within the lease",
	Story: "c1 takes the lock and dies at 12 s, having renewed its lease at 10 s; its connections linger, so that " +
		"the server hears nothing of it. c2, who waits, is granted the lock when the lease ends, at 40 s. c3 dies " +
		"while it waits, and is granted nothing.",
	Source: "Redisson RedissonLockTest.testAutoExpire",
	Plan: func(uint64) *plan.Plan {
		return story("holder-crash",
			[]plan.Fault{
				{Kind: "kill-client", Client: "c1", From: at(12)},
				{Kind: "kill-client", Client: "c3", From: at(20), Reset: true},
			},
			client("c1", 0, lock(), work(59*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
			client("c3", 3*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var partitionReplies = Scenario{
	Name:  "partition-replies",
	Title: "only the replies to the holder are lost for a while",
	Story: "c1 takes the lock and works for 39 s. From 12 s to 28 s nothing that the server sends reaches it, but " +
		"what it sends arrives: the renewal at 20 s runs on the server, though c1 does not learn so, and its lease " +
		"does not end. c2 waits until c1 unlocks. It cannot go on like that for long: once go-redis has given a reply " +
		"up it needs another connection, whose set-up needs replies. And a renewal whose script the server does not " +
		"know yet would need one, too.",
	Source: "Redisson issue 3636",
	Plan: func(uint64) *plan.Plan {
		return story("partition-replies",
			[]plan.Fault{{Kind: "partition", Client: "c1", Direction: "replies", From: at(12), To: at(28)}},
			client("c1", 0, lock(), work(39*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

func fenced(s plan.Step) plan.Step {
	s.Fenced = true
	return s
}
