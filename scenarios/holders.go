package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a holder that loses its lock, or is said to.

var watchdogDeath = Scenario{
	Name:  "watchdog-death",
	Title: "the holder's watchdog dies while it works on",
	Story: "c1 takes the lock and works for 45 s. At 5 s its watchdog stops. The lease that was set at the " +
		"beginning ends after 30 s, c2, who waits, is granted the lock, and both work. When c1 is done, its " +
		"unlock is refused. A hardened holder is told before its lease can end, and stops in time.",
	Source: "the watchdog chapters of the Redisson documentation; Redisson issue 775",
	Plan: func(uint64) *plan.Plan {
		return story("watchdog-death",
			[]plan.Fault{{Kind: "pause-watchdog", Client: "c1", From: at(5)}},
			client("c1", 0, lock(), work(45*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(19*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{watchdog}, []contract.Guarantee{exclusion, effect}),
}

var watchdogPauseShort = Scenario{
	Name:  "watchdog-pause-short",
	Title: "the watchdog is paused for less than the lease, and resumes",
	Story: "c1 takes the lock and works for 59 s. From 5 s to 25 s its watchdog is paused, so that the " +
		"renewals due at 10 s and 20 s do not come; the one that comes at 25 s is still in time. c2 waits " +
		"until c1 unlocks. The promise to renew every 10 s is broken, but nobody was hurt.",
	Source: "the watchdog chapters of the Redisson documentation",
	Plan: func(uint64) *plan.Plan {
		return story("watchdog-pause-short",
			[]plan.Fault{{Kind: "pause-watchdog", Client: "c1", From: at(5), To: at(25)}},
			client("c1", 0, lock(), work(59*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{watchdog}, nil),
}

var partitionHolder = Scenario{
	Name:  "partition-holder",
	Title: "the holder is cut off both ways past its lease, then the network heals",
	Story: "c1 takes the lock and works for 69 s. From 5 s to 60 s nothing it sends arrives, and nothing it is " +
		"sent. Its renewals fail, its lease ends, c2 is granted the lock while c1 works on. What c1 sent " +
		"meanwhile arrives after the network has healed, and must not do harm.",
	Source: "Redisson issues 775 and 3636",
	Plan: func(uint64) *plan.Plan {
		return story("partition-holder",
			[]plan.Fault{{Kind: "partition", Client: "c1", From: at(5), To: at(60)}},
			client("c1", 0, lock(), work(69*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(39*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{watchdog}, []contract.Guarantee{exclusion, effect}),
}

var keyExpiry = Scenario{
	Name:  "key-expiry",
	Title: "the key is expired under a live holder",
	Story: "c1 takes the lock and works for 19 s. At 5 s the key's TTL is ended from outside. c3, who comes a " +
		"second later, is granted the lock while c1 works on. Nothing can protect a lease lock from a server " +
		"that forgets early. A hardened holder learns of it with its next renewal, at 10 s, and stops before it " +
		"writes, so that here no update is lost; had it written earlier, one would have been.",
	Source: "Redis documentation, distributed locks: a lock is safe only while its key keeps its TTL",
	Plan: func(uint64) *plan.Plan {
		return story("key-expiry",
			[]plan.Fault{{Kind: "expire-key", Lock: order, From: at(5)}},
			client("c1", 0, lock(), work(19*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(3*time.Second), unlock()),
			client("c3", 6*time.Second, lock(), work(12*time.Second), unlock()),
		)
	},
	Breaks: queued(breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect}), nil, []contract.Guarantee{liveness}),
}

var nonOwnerUnlock = Scenario{
	Name:  "non-owner-unlock",
	Title: "another owner, and another client with the same thread id, unlock",
	Story: "c1:1 holds the lock. c1:2, another thread of the same client, and c2:1, another client's thread of " +
		"the same number, call unlock without holding it. Both are refused, and nothing changes: the hold " +
		"count and the time to live stay, and nobody else gets the lock before c1:1 unlocks.",
	Source: "Redisson RedissonLockTest.testUnlockFail; Redisson issue 3492",
	Plan: func(uint64) *plan.Plan {
		rogue := plan.Step{Do: plan.Unlock, Lock: order, Regardless: true}
		return story("non-owner-unlock", nil,
			plan.Client{Name: "c1", Threads: []plan.Thread{
				{ID: 1, Steps: []plan.Step{lock(), lock(), work(15 * time.Second), {Do: plan.HoldCount, Lock: order}, unlock(), work(4 * time.Second), unlock()}},
				{ID: 2, Start: at(3), Steps: []plan.Step{rogue, {Do: plan.IsLocked, Lock: order}, {Do: plan.IsHeldBy, Lock: order}}},
			}},
			client("c2", 5*time.Second, rogue, plan.Step{Do: plan.IsLocked, Lock: order}, plan.Step{Do: plan.RemainingTTL, Lock: order}, tryLock(0, 0), lock(), work(time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var oldOwnerUnlock = Scenario{
	Name:  "old-owner-unlock",
	Title: "the lease has ended and another owner is in; the old owner's unlock must not free it",
	Story: "c1 takes the lock for 2 s, without a watchdog, but works for 5 s. c2 is granted the lock when the " +
		"lease ends. When c1 unlocks it is refused, and c3, who waits, does not get in before c2 unlocks.",
	Source: "Redisson RedissonLockTest.testExpire",
	Plan: func(uint64) *plan.Plan {
		return story("old-owner-unlock", nil,
			client("c1", 0, tryLock(0, 2*time.Second), work(5*time.Second), unlock()),
			client("c2", time.Second, lock(), work(9*time.Second), unlock()),
			client("c3", 3*time.Second, lock(), work(time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{exclusion, effect}),
}

func at(seconds float64) plan.Duration { return plan.Duration(seconds * float64(time.Second)) }
