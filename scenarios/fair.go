package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of fair locks.

// AllFair are the stories of fair locks, in the order of the catalogue. They are held to the others, too.
func AllFair() []Scenario {
	return []Scenario{
		fairOrder,
		fairDeadHead,
		fairInterruptedWaiter,
		fairLostReply,
		fairPausedHead,
		fairLongHold,
		fairUnequalWaits,
		fairLateWake,
		fairLateLeave,
	}
}

var fairOrder = Scenario{
	Name:  "fair-order",
	Title: "a fair lock is granted in the order in which its waiters came",
	Story: "c1 holds the lock. c2, c3 and c4 begin to wait, one after the other; c2 waits with a tryLock. c1 enters once more. c5 does not wait, and is " +
		"refused, also when the lock is free and c2 has just been woken. Each gets the lock when it is its turn, and c1, who comes " +
		"again at once, is the last.",
	Source: "Redisson RedissonFairLockTest.testFairness",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-order", nil,
			client("c1", 0, lock(), work(4*time.Second), lock(), work(time.Second), unlock(), unlock(), lock(), work(time.Second), unlock()),
			client("c2", time.Second, tryLock(20*time.Second, 0), work(2*time.Second), unlock()),
			client("c3", 2*time.Second, lock(), work(2*time.Second), unlock()),
			client("c4", 3*time.Second, lock(), work(2*time.Second), unlock()),
			client("c5", 4*time.Second, tryLock(0, 0), sleep(time.Second), tryLock(0, 0), sleep(time.Second), tryLock(0, 0)),
		)
	},
	Breaks: nothing,
}

var fairDeadHead = Scenario{
	Name:  "fair-dead-head",
	Title: "the next in the queue dies: those behind it do not wait for it",
	Story: "c1 works. c2 waits, and dies at 5 s; c3 waits behind it. c1 unlocks at 39 s. The hardened lock has dropped the place of c2, " +
		"which did not ask again, and c3 gets the lock. Redisson's keeps it until its deadline, by default more than five minutes, and c3, who has " +
		"to wait for 0 ms each time, asks without a pause.",
	Source: "Redisson issue 6150",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-dead-head",
			[]plan.Fault{{Kind: "kill-client", Client: "c2", From: at(5)}},
			client("c1", 0, lock(), work(39*time.Second), unlock()),
			client("c2", time.Second, lock(), work(time.Second), unlock()),
			client("c3", 2*time.Second, tryLock(60*time.Second, 0), work(time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var fairInterruptedWaiter = Scenario{
	Name:  "fair-interrupted-waiter",
	Title: "the next in the queue is cancelled, and gives its place up",
	Story: "c1 works. c2's context ends while it waits; c3 waits behind it. c1 unlocks at 9 s. The hardened client of c2 has given the " +
		"place up, and c3 gets the lock at once. Redisson's does not, and nobody gets the lock before the place is over.",
	Source: "Redisson issue 6150; RedissonLock.lockInterruptibly, which leaves its place",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-interrupted-waiter", nil,
			client("c1", 0, lock(), work(9*time.Second), unlock()),
			client("c2", time.Second, cancelled(lock(), 4*time.Second), sleep(30*time.Second)),
			client("c3", 2*time.Second, tryLock(20*time.Second, 0), work(time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var fairLostReply = Scenario{
	Name:  "fair-lost-reply",
	Title: "the answer to a waiter's first attempt is lost: its call fails, and its place goes",
	Story: "c1 works. The server puts c2 into the queue, and its answer is lost; c2's Redis client sends nothing again, so that c2 is told " +
		"of an error. c3 waits behind it. The hardened client of c2 gives the place up, of which it did not hear, and c3 gets the lock " +
		"when c1 unlocks. Redisson's leaves it to its deadline.",
	Source: "Redisson issue 5019",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		c2 := client("c2", time.Second, tryLock(time.Minute, 0), sleep(30*time.Second))
		c2.NoRetry = true
		return story("fair-lost-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c2", When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, lock(), work(35*time.Second), unlock()),
			c2,
			client("c3", 2*time.Second, tryLock(time.Minute, 0), work(time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var fairPausedHead = Scenario{
	Name:  "fair-paused-head",
	Title: "the next in the queue does not run for half a minute",
	Story: "c1 works. c2, who waits, is paused for 35 s; c3 waits behind it. c1 unlocks at 9 s. The hardened lock keeps the place of c2 for " +
		"20 s after it asked last, so that c3 gets the lock before it: a place that nobody keeps is free. Redisson's keeps it for " +
		"longer, and c3 asks meanwhile without a pause.",
	Source: "docs/family.md: places in the queue",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-paused-head",
			[]plan.Fault{{Kind: "pause-client", Client: "c2", From: at(5), To: at(40)}},
			client("c1", 0, lock(), work(9*time.Second), unlock()),
			client("c2", time.Second, lock(), work(time.Second), unlock()),
			client("c3", 2*time.Second, lock(), work(49*time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, []contract.Guarantee{fairness}, []contract.Guarantee{liveness}),
}

var fairLongHold = Scenario{
	Name:  "fair-long-hold",
	Title: "two wait for longer than a place is kept",
	Story: "c1 works for 125 s, and its watchdog renews the lease. c2 waits, and c3 behind it. The hardened lock keeps the places of those " +
		"who ask again. Redisson's gives a place a deadline that nobody moves: the time to live of the lock, and fairLockWaitTimeout, here " +
		"a minute, for each who waits. That of c2 is over after 90 s, c2 comes in again behind c3, and c3 gets the lock first.",
	Source: "Redisson 4.7.0, RedissonFairLock; its fairLockWaitTimeout is 5 minutes by default",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-long-hold", nil,
			client("c1", 0, lock(), work(125*time.Second), unlock()),
			client("c2", time.Second, lock(), work(time.Second), unlock()),
			client("c3", 2*time.Second, lock(), work(time.Second), unlock()),
		)
	},
	Breaks: func(can func(string) bool) []contract.Guarantee {
		if can(string(contract.KeepsPlace)) {
			return nil
		}
		return []contract.Guarantee{fairness}
	},
}

var fairUnequalWaits = Scenario{
	Name:  "fair-unequal-waits",
	Title: "who waits for a short time comes behind one who has waited for long",
	Story: "c1 works for 49 s. c2 waits from 1 s on. c3 tries for 10 s from 45 s on, and c4 waits behind it. c2 gets the lock at 49 s. " +
		"Redisson's then takes the minute that a place of c2 is kept from the deadlines of those behind it, and that of c3 is over. So c4 " +
		"gets the lock next, while c3 still waits.",
	Source: "Redisson 4.7.0, RedissonFairLock: deadlines are sums of waits, and each grant takes its own wait off",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-unequal-waits", nil,
			client("c1", 0, lock(), work(49*time.Second), unlock()),
			client("c2", time.Second, lock(), work(3*time.Second), unlock()),
			client("c3", 45*time.Second, tryLock(10*time.Second, 0), work(time.Second), unlock()),
			client("c4", 46*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: func(can func(string) bool) []contract.Guarantee {
		if can(string(contract.KeepsPlace)) {
			return nil
		}
		return []contract.Guarantee{fairness}
	},
}

var fairLateWake = Scenario{
	Name:  "fair-late-wake",
	Title: "the next in the queue is dead, and its place is over when the lock is free",
	Story: "c1 works for 22 s. c3 waits from 1 s on, and dies at 5 s. c2 waits behind it from 9 s on. The hardened lock keeps the place of c3 for 20 s after it asked " +
		"last, and nobody asks between the end of that and the unlock of c1: the unlock wakes c2. Redisson's wakes the dead one.",
	Source: "docs/family.md: the head of the queue is dead",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		return story("fair-late-wake",
			[]plan.Fault{{Kind: "kill-client", Client: "c3", From: at(5)}},
			client("c1", 0, lock(), work(22*time.Second), unlock()),
			client("c3", time.Second, lock(), work(time.Second), unlock()),
			client("c2", 9*time.Second, tryLock(28*time.Second, 0), work(time.Second), unlock()),
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}

var fairLateLeave = Scenario{
	Name:  "fair-late-leave",
	Title: "who gave up while it was cut off waits again, and keeps its new place",
	Story: "c1 works for 18 s. c3 waits, is cut off from 3.5 s to 13 s, and cancelled at 4 s. It asks for the lock again at once. What gives up " +
		"its first place can reach the server after what takes the next. c2 comes at 16 s. c3 gets the lock before it. Redisson's call fails, and its place is left to its deadline.",
	Source: "docs/family.md: an owner that waits no more, and waits again",
	Of:     contract.Fair,
	Plan: func(uint64) *plan.Plan {
		c3 := client("c3", time.Second, cancelled(lock(), 3*time.Second), lock(), work(time.Second), unlock())
		c3.NoRetry = true
		return story("fair-late-leave",
			[]plan.Fault{{Kind: "partition", Client: "c3", From: at(3.5), To: at(13)}},
			client("c1", 0, lock(), work(18*time.Second), unlock()),
			client("c2", 16*time.Second, tryLock(10*time.Second, 0), work(time.Second), unlock()),
			c3,
		)
	},
	Breaks: queued(nothing, nil, []contract.Guarantee{liveness, fairness}),
}
