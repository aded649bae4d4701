package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of what happens to a lock's key behind its holder's back, and of leases.

var keyDeleted = Scenario{
	Name:  "key-deleted",
	Title: "an operator deletes all keys under a live holder; later locks must still be renewed",
	Story: "c1 holds the lock when an operator runs FLUSHALL at 5 s. c2, who comes at 6 s, is granted it while c1 " +
		"works on. c1's next renewal, at 10 s, finds nothing; its unlock is refused. Then c1 takes the lock again " +
		"and works for 35 s: what is left of the first hold must not keep the second from being renewed.",
	Source: "Redisson issues 3712 and 3714",
	Plan: func(uint64) *plan.Plan {
		return story("key-deleted",
			[]plan.Fault{{Kind: "delete-key", From: at(5)}},
			client("c1", 0, lock(), work(14*time.Second), unlock(), sleep(10*time.Second), lock(), work(35*time.Second), unlock()),
			client("c2", 6*time.Second, lock(), work(9*time.Second), unlock()),
		)
	},
	Breaks: forgets(breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect})),
}

var forceUnlockScenario = Scenario{
	Name:  "force-unlock",
	Title: "forceUnlock under a live holder; its watchdog must stop, its unlock be refused",
	Story: "c1 holds the lock when an operator forces it free at 5 s. c2, who comes a second later, is granted the lock " +
		"while c1 works on, until its unlock is refused at 15 s. c1's watchdog finds at 10 s that the hold is gone, " +
		"and stops. A hardened holder listens for forced releases, and stops at once: the prediction that exclusion " +
		"breaks for it, too, is true only if somebody waits who is told by the same message and is quicker.",
	Source: "RedissonLock.forceUnlock",
	Plan: func(uint64) *plan.Plan {
		return story("force-unlock",
			[]plan.Fault{{Kind: "force-unlock", Lock: order, From: at(5)}},
			client("c1", 0, lock(), work(15*time.Second), unlock()),
			client("c2", 6*time.Second, lock(), work(19*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{exclusion, effect}),
}

var batchPoison = Scenario{
	Name:  "batch-poison",
	Title: "one lock's key is overwritten by something else; the client's other locks must still be renewed",
	Story: "c1 holds two locks, and works under the second for 45 s. At 5 s another program overwrites the key of " +
		"the first with a text. From then on the renewal of the first fails with a wrong type; that of the second, " +
		"in the same batch, must not. c2 waits for the second and is granted it only when c1 unlocks.",
	Source: "Redisson, the batched renewal of 3.44 and later, which ends at the first error",
	Plan: func(uint64) *plan.Plan {
		const poisoned = "order:41"
		return story("batch-poison",
			[]plan.Fault{{Kind: "overwrite-key", Lock: poisoned, From: at(5)}},
			client("c1", 0, plan.Step{Do: plan.Lock, Lock: poisoned}, lock(), work(45*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var leaseMixing = Scenario{
	Name:  "lease-mixing",
	Title: "lock(), then a reentrant lock with a lease of 5 s: which lease governs",
	Story: "c1 takes the lock without a lease, and again with a lease of 5 s, and works for 19 s, gives one hold " +
		"back, works on, and gives back the other. With the faithful generations the last call governs: it sets " +
		"what is left of the 30 s to 5 s, the watchdog's next renewal comes at 10 s, too late, and c2 is granted the " +
		"lock while c1 works under both its holds. (The prediction was that this holds.) With the hardened generation " +
		"a re-entry does not shorten: the lock stays c1's throughout.",
	Source:  "Redisson issues 4818 and 5623",
	Reentry: Essential,
	Plan: func(uint64) *plan.Plan {
		return story("lease-mixing", nil,
			client("c1", 0, lock(), tryLock(0, 5*time.Second), work(19*time.Second), unlock(), work(15*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{exclusion, effect}),
}

var innerLease = Scenario{
	Name:  "inner-lease",
	Title: "a hold without a lease, and in it one with a lease of 2 s, which is given back",
	Story: "c1 takes the lock without a lease, and again with a lease of 2 s. It gives that hold back, and works for 19 s under the " +
		"first, which the watchdog renews. c2 waits until c1 unlocks. Redisson remembers the 2 s beyond their hold: the " +
		"unlock leaves the key 2 s, the renewal comes at 10 s, and c2 is granted the lock while c1 works.",
	Source:  "Redisson 3.18.1 to 4.7.0, RedissonLock.internalLockLeaseTime",
	Reentry: Essential,
	Plan: func(uint64) *plan.Plan {
		return story("inner-lease", nil,
			client("c1", 0, lock(), tryLock(0, 2*time.Second), unlock(), work(19*time.Second), unlock()),
			client("c2", time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var explicitLease = Scenario{
	Name:  "explicit-lease",
	Title: "a lock with a lease, held past it: never renewed, free at its end",
	Story: "c1 takes the lock for 10 s and works for 20 s. Nothing renews its lease, which is what it asked for; " +
		"c2, who waits, is granted the lock when it ends, and both work. c1's unlock is refused. A hardened holder is " +
		"told before its lease can end, and stops.",
	Source: "Redisson RedissonLockTest.testExpire",
	Plan: func(uint64) *plan.Plan {
		return story("explicit-lease", nil,
			client("c1", 0, tryLock(0, 10*time.Second), work(20*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(15*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{exclusion, effect}),
}

var fenceReset = Scenario{
	Name:  "fence-reset",
	Title: "the token counter is lost with all keys; do tokens repeat?",
	Story: "c1 takes the lock, works and unlocks; an operator runs FLUSHALL, which takes the token counter with " +
		"it; c2 takes the lock. A counter that starts from one again would give c2 a token that the resource has seen, " +
		"and refuses. The hardened generation's counter starts at the server's clock, so that tokens go on rising: the " +
		"prediction that fencing breaks was wrong for it. A fenced lock's counter does start from one: it fails with the " +
		"server's data, as its documentation says. The faithful generations have no tokens.",
	Source: "Redisson issue 6510, turned round",
	Plan: func(uint64) *plan.Plan {
		return story("fence-reset",
			[]plan.Fault{{Kind: "delete-key", When: &plan.Trigger{Client: "c1", Return: plan.Unlock}}},
			client("c0", 0, plan.Step{Do: plan.Lock, Lock: "order:41", Lease: at(60)}),
			client("c1", 0, lock(), fenced(work(5*time.Second)), unlock()),
			client("c2", 10*time.Second, lock(), fenced(work(5*time.Second)), unlock()),
		)
	},
	Breaks: forgets(nothing),
}

var clockJumpScenario = Scenario{
	Name:  "clock-jump",
	Title: "the server's clock jumps forward past the lease",
	Story: "c1 holds the lock when the server's clock is set forward by a minute at 5 s: the key's time is over at " +
		"once. c2 is granted the lock while c1 works on. Nothing tells c1 before its next renewal, at 10 s.",
	Source: "M. Kleppmann, How to do distributed locking (2016)",
	Plan: func(uint64) *plan.Plan {
		return story("clock-jump",
			[]plan.Fault{{Kind: "clock-jump", From: at(5), By: at(60)}},
			client("c1", 0, lock(), work(19*time.Second), unlock()),
			client("c2", 6*time.Second, lock(), work(12*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect}),
}
