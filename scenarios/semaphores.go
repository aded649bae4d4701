package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of semaphores. They copy those of locks: the same faults, on permits.

// AllSemaphores are the stories of semaphores, in the order of the catalogue.
func AllSemaphores() []Scenario {
	return []Scenario{
		semaphoreBaseline,
		semaphoreLostReply,
		semaphoreLostReleaseReply,
		semaphoreDelayedRelease,
		semaphoreLostSetReply,
		semaphoreGhostAcquire,
		semaphoreLostRequest,
		semaphoreCanceledAcquire,
		semaphoreLostMessage,
		semaphoreClosedSubscription,
		semaphoreUnequalWaiters,
		semaphoreManyWaiters,
		semaphoreHolderCrash,
		semaphoreDrained,
		semaphoreResized,
		semaphoreKeyDeleted,
		semaphoreFailover,
	}
}

// Of are the stories of a kind of object, in the order of the catalogue.
func Of(is history.Object) []Scenario {
	switch is {
	case history.ASemaphore:
		return AllSemaphores()
	case history.APermitSemaphore:
		return AllPermits()
	case history.ALatch:
		return AllLatches()
	case history.ARWLock:
		return AllRWLocks()
	}
	return append(All(), AllFair()...)
}

// Everything is the whole catalogue: the stories of all kinds of objects, locks first.
func Everything() (all []Scenario) {
	for _, is := range history.Objects() {
		all = append(all, Of(is)...)
	}
	return all
}

// The semaphore that the stories are about.
const pool = "pool:api"

func setPermits(n int64) plan.Step {
	return plan.Step{Do: plan.TrySetPermits, Lock: pool, Permits: n}
}
func acquirePermits(n int64) plan.Step {
	return plan.Step{Do: plan.AcquirePermits, Lock: pool, Permits: n}
}
func tryAcquirePermits(n int64, wait time.Duration) plan.Step {
	return plan.Step{Do: plan.TryAcquirePermits, Lock: pool, Permits: n, Wait: plan.Duration(wait)}
}
func releasePermits(n int64) plan.Step {
	return plan.Step{Do: plan.ReleasePermits, Lock: pool, Permits: n}
}

var semaphoreBaseline = Scenario{
	Name:  "semaphore-baseline",
	Title: "six clients share three permits, and nothing fails",
	Story: "c1 makes a semaphore of three permits; c2 wants to make one of five, and is told that there is one. The clients take " +
		"one or two permits, work, and give them back; those who come too late wait until enough are free. c5 tries for a second, " +
		"c6 once, and both are refused. Nothing breaks.",
	Source: "Redisson RedissonSemaphoreTest",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-baseline", nil,
			client("c1", 0, setPermits(3), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", time.Second, setPermits(5), acquirePermits(2), sleep(4*time.Second), releasePermits(2)),
			client("c3", 2*time.Second, acquirePermits(1), sleep(3*time.Second), releasePermits(1)),
			client("c4", 3*time.Second, tryAcquirePermits(2, 10*time.Second), sleep(time.Second), releasePermits(2)),
			client("c5", 3500*time.Millisecond, tryAcquirePermits(3, time.Second), releasePermits(3)),
			client("c6", 4*time.Second, tryAcquirePermits(1, 0), releasePermits(1)),
		)
	},
	Breaks: nothing,
}

var semaphoreLostReply = Scenario{
	Name:  "semaphore-lost-reply",
	Title: "the reply of an acquire is lost; the client sends again, and a permit is lost for ever",
	Story: "The server grants c1 a permit of three, but the answer is lost. After its timeout go-redis sends the acquire " +
		"again, and the faithful form's script takes another permit for the one call. c1 works and gives one back: two are " +
		"left of three, for ever, and c2, who needs all three, waits in vain. The hardened form knows the request again, " +
		"and takes once.",
	Source: "Redisson issue 6517; story 18 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-lost-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, setPermits(3), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", 8*time.Second, tryAcquirePermits(3, 20*time.Second), sleep(time.Second), releasePermits(3)),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, liveness}),
}

var semaphoreLostReleaseReply = Scenario{
	Name:  "semaphore-lost-release-reply",
	Title: "the reply of a release is lost; the client sends again, and there is a permit too many",
	Story: "There is one permit. c1 gives it back, but the answer is lost. After its timeout go-redis sends the release " +
		"again, and the faithful form's script gives once more: two permits are free of one. c2 and c3 take one each, and " +
		"both work where only one may. The hardened form knows the request again, and gives once.",
	Source: "Redisson 4.7.0, run on a server paused for 1 s; story 18 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-lost-release-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
			client("c1", 0, setPermits(1), acquirePermits(1), sleep(2*time.Second), releasePermits(1)),
			client("c2", 10*time.Second, acquirePermits(1), sleep(10*time.Second), releasePermits(1)),
			client("c3", 12*time.Second, acquirePermits(1), sleep(10*time.Second), releasePermits(1)),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, exclusion}),
}

var semaphoreDelayedRelease = Scenario{
	Name:  "semaphore-delayed-release",
	Title: "the first, delayed copy of a release arrives when another copy has long given the permit",
	Story: "c1's release is delayed by 12 s. After its timeout go-redis sends it again on another connection; that copy " +
		"gives the permit, and is answered. c2 takes it. Then the first copy arrives, and the faithful form's script gives " +
		"a permit that nobody took: c3 gets in beside c2. The hardened form refuses a request older than the last of its slot.",
	Source: "scenario delayed-duplicate-unlock, on a semaphore",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-delayed-release",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(12), When: &plan.Trigger{Request: plan.Release}}},
			client("c1", 0, setPermits(1), acquirePermits(1), sleep(3*time.Second), releasePermits(1)),
			client("c2", 4*time.Second, acquirePermits(1), sleep(20*time.Second), releasePermits(1)),
			client("c3", 10*time.Second, acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, exclusion}),
}

var semaphoreLostSetReply = Scenario{
	Name:  "semaphore-lost-set-reply",
	Title: "the reply of trySetPermits is lost; the client sends again, and is told that somebody else was first",
	Story: "c1 makes a semaphore of two permits, but the answer is lost. go-redis sends the request again, and the faithful " +
		"form's script finds a semaphore: c1 is told that it made none, though it did. The hardened form gives the first " +
		"answer. Nothing else comes of it: c1 and c2 take the permits and give them back.",
	Source: "docs/family.md: TrySetPermits sent again",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-lost-set-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Set}}},
			client("c1", 0, setPermits(2), acquirePermits(1), sleep(2*time.Second), releasePermits(1)),
			client("c2", 8*time.Second, acquirePermits(2), sleep(time.Second), releasePermits(2)),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var semaphoreGhostAcquire = Scenario{
	Name:  "semaphore-ghost-acquire",
	Title: "an acquire whose reply is lost ends in an error: its permits are nobody's",
	Story: "c1's Redis client sends nothing again. The server grants c1 two permits of three, the answer is lost, and c1's " +
		"call ends in an error. It goes on to other things. The faithful form leaves the two permits out for ever, and c2, " +
		"who needs all three, waits in vain. The hardened form asks in the background what became of the call, and gives " +
		"back what it took.",
	Source: "docs/family.md: acquire whose caller gave up, outcome unknown",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-ghost-acquire",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			impatient(client("c1", 0, setPermits(3), acquirePermits(2), sleep(40*time.Second), releasePermits(2))),
			client("c2", 10*time.Second, tryAcquirePermits(3, 20*time.Second), sleep(time.Second), releasePermits(3)),
		)
	},
	Breaks: either(contract.TakesBack, nil, []contract.Guarantee{liveness}),
}

var semaphoreLostRequest = Scenario{
	Name:  "semaphore-lost-request",
	Title: "the request of an acquire is lost, and its caller is told of an error: nothing was taken",
	Story: "c1's Redis client sends nothing again. Its acquire never reaches the server, and its call ends in an error that does " +
		"not say so. The hardened form asks in the background what became of the call, learns that it took nothing, and gives " +
		"nothing back: there are two permits, which c2 and c3 take, and none for c4. c1 itself waited 5 s for an answer beside " +
		"free permits, for which nobody is to blame.",
	Source: "docs/family.md: acquire whose caller gave up, outcome unknown",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-lost-request",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Request: plan.Acquire}}},
			impatient(client("c1", 0, setPermits(2), acquirePermits(1), sleep(10*time.Second), releasePermits(1))),
			client("c2", 8*time.Second, acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c3", 8*time.Second, acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c4", 10*time.Second, tryAcquirePermits(1, 0), releasePermits(1)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var semaphoreCanceledAcquire = Scenario{
	Name:  "semaphore-canceled-acquire",
	Title: "a caller gives up while the answer to its acquire is under way: the permits go back",
	Story: "The answer to c1's acquire is 3 s late, and its context ends after a second: c1 is told so. When the answer " +
		"comes it says that two permits were taken, which nobody wants any more; both forms give them back. c2, who needs " +
		"all three, gets them then.",
	Source: "Redisson issue 5358, on a semaphore",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-canceled-acquire",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(3), When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, setPermits(3), cancelled(acquirePermits(2), time.Second), sleep(30*time.Second)),
			client("c2", 2*time.Second, acquirePermits(3), sleep(time.Second), releasePermits(3)),
		)
	},
	Breaks: nothing,
}

var semaphoreLostMessage = Scenario{
	Name:  "semaphore-lost-message",
	Title: "the message that permits are free is lost; the faithful waiter sleeps for ever",
	Story: "c2 waits for the only permit. c1 gives it back, and the message that tells c2 is lost, without a word that the " +
		"connection is dead. The faithful form hears by messages alone: c2 sleeps beside a free permit until it gives up. " +
		"The hardened form looks again by itself, within the watchdog's timeout: late, but not never.",
	Source: "Redisson 4.7.0, run with a cut connection; story 17 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-lost-message",
			[]plan.Fault{{Kind: "drop-message", Client: "c2", When: &plan.Trigger{Reply: plan.Publish}}},
			client("c1", 0, setPermits(1), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", 2*time.Second, tryAcquirePermits(1, 2*time.Minute), sleep(time.Second), releasePermits(1)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var semaphoreClosedSubscription = Scenario{
	Name:  "semaphore-closed-subscription",
	Title: "the connections of a waiter are reset just as permits come free",
	Story: "c2 waits for the only permit. c1 gives it back, and c2's connections are reset before the message arrives. " +
		"go-redis subscribes anew, and nobody tells the message again. The faithful form sleeps on beside the free permit. " +
		"The hardened form looks as soon as its subscription stands again.",
	Source: "Redisson 4.7.0, run with a cut connection; story 17 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-closed-subscription",
			[]plan.Fault{{Kind: "close-connection", Client: "c2", When: &plan.Trigger{Client: "c2", Reply: plan.Publish}}},
			client("c1", 0, setPermits(1), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", 2*time.Second, tryAcquirePermits(1, 2*time.Minute), sleep(time.Second), releasePermits(1)),
		)
	},
	Breaks: either(contract.LooksAgain, nil, []contract.Guarantee{liveness}),
}

var semaphoreUnequalWaiters = Scenario{
	Name:  "semaphore-unequal-waiters",
	Title: "two threads wait, the first for three permits, the second for one; one comes free",
	Story: "c1 holds all three permits. c2:1 waits for three of them, and c2:2, of the same process, for one. c1 gives one " +
		"back. The faithful form's message of one permit wakes one waiter, in the order of their coming: c2:1, for whom it is " +
		"too few, and c2:2 sleeps beside it until c1 gives the rest. The hardened form wakes c2:2, which needs no more.",
	Source: "docs/family.md: release of m permits",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-unequal-waiters", nil,
			client("c1", 0, setPermits(3), acquirePermits(3), sleep(8*time.Second), releasePermits(1), sleep(12*time.Second), releasePermits(2)),
			plan.Client{Name: "c2", Threads: []plan.Thread{
				{ID: 1, Start: at(2), Steps: []plan.Step{acquirePermits(3), sleep(time.Second), releasePermits(3)}},
				{ID: 2, Start: at(4), Steps: []plan.Step{acquirePermits(1), sleep(time.Second), releasePermits(1)}},
			}},
		)
	},
	Breaks: either(contract.WakesByNeed, nil, []contract.Guarantee{liveness}),
}

var semaphoreManyWaiters = Scenario{
	Name:  "semaphore-many-waiters",
	Title: "thirty waiters, and ten permits that come free at once",
	Story: "c1 holds all ten permits while thirty clients come and wait for one each. It gives all ten back at once: ten " +
		"waiters go on, and each that is done lets the next one in. Nobody sleeps beside a free permit.",
	Source: "Redisson issue 3573; story 16 of the family, with waiters that are no promises",
	Plan: func(uint64) *plan.Plan {
		p := story("semaphore-many-waiters", nil, client("c1", 0, setPermits(10), acquirePermits(10), sleep(5*time.Second), releasePermits(10)))
		for i := range 30 {
			p.Clients = append(p.Clients, client(fmt.Sprintf("c%d", i+2), time.Second+time.Duration(i)*60*time.Millisecond,
				acquirePermits(1), sleep(300*time.Millisecond), releasePermits(1)))
		}
		return p
	},
	Breaks: nothing,
}

var semaphoreHolderCrash = Scenario{
	Name:  "semaphore-holder-crash",
	Title: "a client dies with permits, which are lost",
	Story: "c1 takes two permits of three, and dies at 5 s. A permit has neither an owner nor a lease: nobody can know that " +
		"these will not come back. c2, who needs all three, waits in vain; c3, who needs one, does not. That is so by design: " +
		"who must outlive such a death takes permits that expire.",
	Source: "Redisson issues 2045 and 2213; story 20 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-holder-crash",
			[]plan.Fault{{Kind: "kill-client", Client: "c1", From: at(5)}},
			client("c1", 0, setPermits(3), acquirePermits(2), sleep(20*time.Second), releasePermits(2)),
			client("c2", 2*time.Second, tryAcquirePermits(3, 20*time.Second), sleep(time.Second), releasePermits(3)),
			client("c3", 8*time.Second, acquirePermits(1), sleep(time.Second), releasePermits(1)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var semaphoreKeyDeleted = Scenario{
	Name:  "semaphore-key-deleted",
	Title: "the semaphore's key is deleted while a permit is out",
	Story: "c1 holds one permit of two when somebody deletes the key. c1 gives its permit: the faithful form makes a new " +
		"semaphore of one permit, which c2 then takes, and the hardened form answers that there is none. Neither lets more in " +
		"than there were, and neither forgets anybody who waits: c2 gives up after its time where there is no semaphore.",
	Source: "Redisson 4.7.0, run with a key that expires",
	Plan: func(uint64) *plan.Plan {
		return story("semaphore-key-deleted",
			[]plan.Fault{{Kind: "delete-key", Lock: pool, From: at(3)}},
			client("c1", 0, setPermits(2), acquirePermits(1), sleep(5*time.Second), releasePermits(1)),
			client("c2", 4*time.Second, tryAcquirePermits(1, 10*time.Second), sleep(time.Second), releasePermits(1)),
		)
	},
	Breaks: nothing,
}

var semaphoreFailover = Scenario{
	Name:  "semaphore-failover",
	Title: "the server fails over to a replica that does not know of a grant",
	Story: "The replica is half a second behind. c1 takes the only permit, and a moment later the master dies; the replica, " +
		"which has not heard of that, takes its place, and still has the permit. c2 takes it beside c1. When both have given " +
		"theirs, there is one permit too many.",
	Source: "scenario failover-async, on a semaphore",
	Plan: func(uint64) *plan.Plan {
		return replicated(story("semaphore-failover",
			[]plan.Fault{{Kind: "failover", When: &plan.Trigger{Client: "c1", Return: plan.AcquirePermits}}},
			client("c1", 0, setPermits(1), sleep(2*time.Second), acquirePermits(1), sleep(10*time.Second), releasePermits(1)),
			client("c2", 6*time.Second, acquirePermits(1), sleep(10*time.Second), releasePermits(1)),
		), 1, 500*time.Millisecond)
	},
	Breaks: breaks([]contract.Guarantee{exclusion}, nil),
}
