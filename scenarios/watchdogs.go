package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of renewals that go on for too long, or end too early.

var immortalWatchdog = Scenario{
	Name:  "immortal-watchdog",
	Title: "an unlock fails on the network; the renewal must not go on for ever",
	Story: "c1's unlock is lost, three times more when go-redis sends it again, and c1 is told of an error. The " +
		"server still has its hold. c1's watchdog has forgotten it, whatever became of the unlock, so that the lease " +
		"ends and c2 gets the lock. The hardened generation goes on trying to give it back, and is heard sooner.",
	Source: "Redisson issue 1602",
	Plan: func(uint64) *plan.Plan {
		return story("immortal-watchdog",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", Count: 4, When: &plan.Trigger{Request: plan.Release}}},
			client("c1", 0, lock(), work(5*time.Second), unlock(), sleep(60*time.Second)),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var renewalOutlivesUnlock = Scenario{
	Name:  "renewal-outlives-unlock",
	Title: "an unlock races a renewal: nothing may be renewed afterwards",
	Story: "c1's first renewal is under way for a second, and c1 unlocks meanwhile. The renewal arrives after the " +
		"unlock, and finds nothing to renew. c2, who was granted the lock, keeps its own lease; c1 renews nothing " +
		"any more. So it goes with c3, whose lock nobody else wants: nothing takes that again.",
	Source: "Redisson issue 7272",
	Plan: func(uint64) *plan.Plan {
		late := func(client string) plan.Fault {
			return plan.Fault{Kind: "delay-message", Client: client, By: at(2), When: &plan.Trigger{Request: plan.Renewal}}
		}
		alone := client("c3", 0, lock(), work(10500*time.Millisecond), unlock(), sleep(40*time.Second))
		for i := range alone.Threads[0].Steps[:3] {
			alone.Threads[0].Steps[i].Lock = "order:43"
		}
		return story("renewal-outlives-unlock",
			[]plan.Fault{late("c1"), late("c3")},
			client("c1", 0, lock(), work(10500*time.Millisecond), unlock(), sleep(40*time.Second)),
			client("c2", 2*time.Second, lock(), work(15*time.Second), unlock()),
			alone,
		)
	},
	Breaks: nothing,
}

var renewalError = Scenario{
	Name:  "renewal-error",
	Title: "one renewal fails; the next must still come",
	Story: "c1 holds the lock for 45 s. The server is busy with a script when c1's first renewal comes, and refuses " +
		"it. The promise to renew every 10 s is broken by that, but the watchdog goes on: the faithful generations' " +
		"at 20 s, hardened's after 2 s. The lease never ends, and c2 waits until c1 unlocks.",
	Source: "Redisson issues 3194 and 775",
	Plan: func(uint64) *plan.Plan {
		return story("renewal-error",
			[]plan.Fault{{Kind: "server-error", Client: "c1", Error: "BUSY", When: &plan.Trigger{Request: plan.Renewal}}},
			client("c1", 0, lock(), work(45*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{watchdog}, nil),
}
