package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a server that forgets, refuses, or is away.

var scriptFlush = Scenario{
	Name:  "script-flush",
	Title: "SCRIPT FLUSH in the middle of a run is invisible to callers",
	Story: "Three clients take turns. The server forgets all scripts at 3 s, just before c1's first renewal, and " +
		"just before c2's unlock. Each time it answers NOSCRIPT, the client sends the script itself, and no call " +
		"fails or counts twice.",
	Source: "Redis documentation, EVALSHA: the script cache may be flushed at any time",
	Plan: func(uint64) *plan.Plan {
		return story("script-flush",
			[]plan.Fault{
				{Kind: "script-flush", From: at(3)},
				{Kind: "script-flush", From: at(9.9)},
				{Kind: "script-flush", When: &plan.Trigger{Client: "c2", Request: plan.Release}},
			},
			client("c1", 0, lock(), work(15*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), lock(), work(5*time.Second), unlock(), unlock()),
			client("c3", 4*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var serverErrors = Scenario{
	Name:  "server-errors",
	Title: "BUSY, LOADING, READONLY, OOM and MISCONF: a clear error or a retry, and no half-taken lock",
	Story: "A server that cannot write refuses one command of each client in turn: acquires with OOM, MISCONF and " +
		"READONLY, an unlock with BUSY, an attempt with LOADING. What was refused was not executed: the client is told " +
		"of an error, or go-redis tries again; nobody holds half a lock, and what an unlock failed to give back ends " +
		"with its lease.",
	Source: "Redisson pull request 3334",
	Plan: func(uint64) *plan.Plan {
		refuse := func(client, code string, on plan.MessageKind) plan.Fault {
			return plan.Fault{Kind: "server-error", Client: client, Error: code, When: &plan.Trigger{Request: on}}
		}
		return story("server-errors",
			[]plan.Fault{
				refuse("c1", "OOM", plan.Acquire), refuse("c2", "MISCONF", plan.Acquire), refuse("c3", "READONLY", plan.Acquire),
				refuse("c4", "LOADING", plan.Acquire), refuse("c4", "BUSY", plan.Release),
			},
			client("c0", 0, lock(), unlock()),
			client("c1", 1*time.Second, lock(), work(time.Second), unlock()),
			client("c2", 2*time.Second, tryLock(0, 0), work(time.Second), unlock()),
			client("c3", 4*time.Second, lock(), work(time.Second), unlock()),
			client("c4", 6*time.Second, tryLock(time.Second, 5*time.Second), work(time.Second), unlock(), sleep(40*time.Second)),
			client("c5", 8*time.Second, lock(), work(time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var restartEmpty = Scenario{
	Name:  "restart-empty",
	Title: "Redis restarts without its data under a holder",
	Story: "c1 holds the lock when the server stops at 5 s; it comes back empty at 6 s. c2 is granted the lock while " +
		"c1 works on; c1's next renewal finds nothing. Connections break, waiters subscribe anew.",
	Source: "Redisson RedissonLockExpirationRenewalTest.testLockAfterTimeout",
	Plan: func(uint64) *plan.Plan {
		return story("restart-empty",
			[]plan.Fault{{Kind: "restart", From: at(5), To: at(6)}},
			client("c1", 0, lock(), work(19*time.Second), unlock(), sleep(5*time.Second), lock(), work(15*time.Second), unlock()),
			client("c2", 7*time.Second, lock(), work(12*time.Second), unlock()),
		)
	},
	Breaks: forgets(breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect})),
}

var redisDown = Scenario{
	Name:  "redis-down",
	Title: "lock() with Redis unreachable is an error, never acquired",
	Story: "The server stops at 5 s, with its data, and comes back after a minute. c1 holds the lock meanwhile, by a " +
		"lease of 2 min. c2 and c3, who lock and try to while it is down, are told of an error; neither believes that " +
		"it holds the lock. c4, who comes when the server is back, waits until c1 unlocks.",
	Source: "Redisson RedissonLockTest.testRedisFailed",
	Plan: func(uint64) *plan.Plan {
		return story("redis-down",
			[]plan.Fault{{Kind: "restart", Data: "all", From: at(5), To: at(65)}},
			client("c1", 0, tryLock(0, 2*time.Minute), work(80*time.Second), unlock()),
			client("c2", 10*time.Second, lock(), work(time.Second), unlock()),
			client("c3", 11*time.Second, tryLock(5*time.Second, 0), work(time.Second), unlock()),
			client("c4", 70*time.Second, lock(), work(time.Second), unlock()),
		)
	},
	Breaks: nothing,
}
