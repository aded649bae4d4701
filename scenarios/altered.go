package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of semaphores whose permits are drained and added, and of latches that clients delete.

func addPermits(do plan.Action, n int64) plan.Step {
	return plan.Step{Do: do, Lock: pool, Permits: n}
}

var drainPermits = plan.Step{Do: plan.DrainPermits, Lock: pool}

var semaphoreDrained = Scenario{
	Name:  "semaphore-drained",
	Title: "the reply of a drain is lost; the client sends again, and is told that it took nothing",
	Story: "A semaphore has three permits, of which c2 has one. c1 drains it, for some work that nobody else may do meanwhile, but the answer " +
		"is lost. go-redis sends the request again, and the faithful form's script finds no permit that is free. c1 is told that it took none, " +
		"though it took two, and nobody gives them back. The hardened form gives the first answer, and c1 gives back what it took.",
	Source: "docs/family.md: Drain sent again",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-drained",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Force}}},
			client("c1", 0, setPermits(3), sleep(4*time.Second), drainPermits, sleep(10*time.Second), releasePermits(2)),
			client("c2", time.Second, acquirePermits(1), sleep(12*time.Second), releasePermits(1)),
			client("c3", 30*time.Second, tryAcquirePermits(3, time.Second), releasePermits(3)),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var semaphoreResized = Scenario{
	Name:  "semaphore-resized",
	Title: "permits are taken away while they are out, and added for who waits",
	Story: "c1 and c2 have the two permits of a semaphore when c3 takes one away: minus one is free. c4 waits. c1 gives its permit back, and none is " +
		"free yet. c3 adds two, for which c4 has waited, and c5 drains the one that is left. Nothing breaks.",
	Source: "Redisson RedissonSemaphoreTest: addPermits and drainPermits",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-resized", nil,
			client("c1", 0, setPermits(2), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", time.Second, acquirePermits(1), sleep(20*time.Second), releasePermits(1)),
			client("c3", 2*time.Second, addPermits(plan.AddPermits, -1), sleep(6*time.Second), addPermits(plan.AddPermits, 2)),
			client("c4", 3*time.Second, acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c5", 10*time.Second, drainPermits, sleep(time.Second), releasePermits(1)),
		)
	},
	Breaks: nothing,
}

var permitAddedTwice = Scenario{
	Name:  "permit-added-twice",
	Title: "the reply of addPermits is lost; the client sends again, and there is a permit too many",
	Story: "A semaphore has one permit. c1 adds one, but the answer is lost. go-redis sends the request again, and the faithful form's script " +
		"adds once more. c2, c3 and c4 have permits at once, and there should be two. The hardened form knows the request again.",
	Source: "docs/family.md: AddPermits of expirable permits sent again",
	Plan: func(uint64) *plan.Plan {
		return story("permit-added-twice",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Set, Nth: 2}}},
			client("c1", 0, setTotal(1), sleep(time.Second), addPermits(plan.AddTotal, 1)),
			client("c2", 10*time.Second, tryAcquirePermit(0, time.Second), sleep(10*time.Second), releasePermit),
			client("c3", 11*time.Second, tryAcquirePermit(0, time.Second), sleep(10*time.Second), releasePermit),
			client("c4", 12*time.Second, tryAcquirePermit(0, time.Second), sleep(10*time.Second), releasePermit),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, exclusion}),
}

var latchDeletedByClient = Scenario{
	Name:  "latch-deleted-by-client",
	Title: "a client deletes the latch while another waits",
	Story: "c2 awaits a latch of 2 when c1, who has set it, deletes it. The faithful form's script publishes what it publishes when a latch is set: c2 " +
		"sleeps on, though the count is 0. The hardened form publishes a zero, and c2 goes on at once.",
	Source: "Redisson 4.7.0, run with RCountDownLatch.delete; story 24 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-deleted-by-client", nil,
			client("c1", 0, setCount(2), sleep(5*time.Second), plan.Step{Do: plan.DeleteLatch, Lock: gate}),
			client("c2", 2*time.Second, tryAwait(2*time.Minute)),
		)
	},
	Breaks: either(contract.TellsDeletion, nil, []contract.Guarantee{liveness}),
}
