package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of permit semaphores: of what is special about permits with ids and leases.

// AllPermits are the stories of permit semaphores, in the order of the catalogue.
func AllPermits() []Scenario {
	return []Scenario{
		permitBaseline,
		permitResend,
		permitLostReleaseReply,
		permitDelayedRelease,
		permitGhostAcquire,
		permitGhostLease,
		permitLostMessage,
		permitHolderCrash,
		permitLateRelease,
		permitLeaseUpdated,
		permitAddedTwice,
		permitCounterEvicted,
		permitClockAhead,
	}
}

func setTotal(n int64) plan.Step {
	return plan.Step{Do: plan.TrySetTotal, Lock: pool, Permits: n}
}

// acquirePermit asks for a lease in seconds; 0: none.
func acquirePermit(lease float64) plan.Step {
	return plan.Step{Do: plan.AcquirePermit, Lock: pool, Lease: at(lease)}
}
func tryAcquirePermit(lease float64, wait time.Duration) plan.Step {
	return plan.Step{Do: plan.TryAcquirePermit, Lock: pool, Lease: at(lease), Wait: plan.Duration(wait)}
}
func updateLease(lease float64) plan.Step {
	return plan.Step{Do: plan.UpdateLease, Lock: pool, Lease: at(lease)}
}

var releasePermit = plan.Step{Do: plan.ReleasePermit, Lock: pool}

var permitBaseline = Scenario{
	Name:  "permit-baseline",
	Title: "five clients share two permits with leases, and nothing fails",
	Story: "c1 makes a semaphore of two permits; c2 wants to make one of five, and is told that there is one. c1 takes a permit for " +
		"30 s and gives it back after 5 s; c2 takes one without an end. c3 waits for c1's. c4 tries once, and is refused; c5 waits for a " +
		"second, and is refused, too. Nothing breaks.",
	Source: "Redisson RedissonPermitExpirableSemaphoreTest",
	Plan: func(uint64) *plan.Plan {
		return story("permit-baseline", nil,
			client("c1", 0, setTotal(2), acquirePermit(30), sleep(5*time.Second), releasePermit),
			client("c2", time.Second, setTotal(5), acquirePermit(0), sleep(8*time.Second), releasePermit),
			client("c3", 2*time.Second, acquirePermit(30), sleep(5*time.Second), releasePermit),
			client("c4", 3*time.Second, tryAcquirePermit(30, 0), releasePermit),
			client("c5", 3500*time.Millisecond, tryAcquirePermit(30, time.Second), releasePermit),
		)
	},
	Breaks: nothing,
}

var permitResend = Scenario{
	Name:  "permit-resend",
	Title: "the reply of an acquire is lost; the client sends again, and a permit is lost for ever",
	Story: "The server grants c1 a permit of two, but the answer is lost. After its timeout go-redis sends the acquire again. The " +
		"faithful form's script takes one more from the free permits, and notes the same id once more: one permit is nobody's, and has " +
		"no lease. c1 gives its own back, and c2 takes that. c3 waits in vain beside it. The hardened form knows the request again.",
	Source: "docs/family.md: acquire of an expirable permit sent again",
	Plan: func(uint64) *plan.Plan {
		return story("permit-resend",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, setTotal(2), acquirePermit(30), sleep(5*time.Second), releasePermit),
			client("c2", 10*time.Second, acquirePermit(30), sleep(20*time.Second), releasePermit),
			client("c3", 12*time.Second, tryAcquirePermit(30, 10*time.Second), sleep(time.Second), releasePermit),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, liveness}),
}

var permitLostReleaseReply = Scenario{
	Name:  "permit-lost-release-reply",
	Title: "the reply of a release is lost; the client sends again, and is told that there was nothing to give",
	Story: "c1 gives its permit back, but the answer is lost. go-redis sends the release again, and the faithful form's script finds " +
		"no such permit: c1 is told that its lease was over, though it was not. The hardened form gives the first answer. The permit " +
		"has come back once, and c2 takes it.",
	Source: "docs/family.md: release of an expirable permit sent again",
	Plan: func(uint64) *plan.Plan {
		return story("permit-lost-release-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
			client("c1", 0, setTotal(1), acquirePermit(30), sleep(2*time.Second), releasePermit),
			client("c2", 10*time.Second, acquirePermit(30), sleep(time.Second), releasePermit),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var permitDelayedRelease = Scenario{
	Name:  "permit-delayed-release",
	Title: "the request of a release is held up; the client sends again, and hears of the second",
	Story: "c1 gives its permit back, but the network holds the request up for 5 s. c1's client sends the release again meanwhile. The server " +
		"executes both, one after the other: the first gives the permit back, and the second finds no such permit. That is the answer " +
		"that c1 hears, in the faithful form as from Redisson. The hardened form gives the first answer.",
	Source: "docs/family.md: release of an expirable permit sent again",
	Plan: func(uint64) *plan.Plan {
		return story("permit-delayed-release",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(5), When: &plan.Trigger{Request: plan.Release}}},
			client("c1", 0, setTotal(1), acquirePermit(30), sleep(2*time.Second), releasePermit),
			client("c2", 10*time.Second, acquirePermit(30), sleep(time.Second), releasePermit),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var permitGhostAcquire = Scenario{
	Name:  "permit-ghost-acquire",
	Title: "an acquire without a lease ends in an error when its reply is lost: nobody knows the permit's id",
	Story: "c1's Redis client sends nothing again. The server grants c1 the only permit, without a lease; the answer is lost, and c1's " +
		"call ends in an error. Nobody knows the id, so that nobody can give the permit back: in the faithful form it is lost for " +
		"ever. The hardened form asks in the background what became of the call, and gives back what it took.",
	Source: "docs/family.md: acquire of an expirable permit whose caller gave up, outcome unknown",
	Plan: func(uint64) *plan.Plan {
		return story("permit-ghost-acquire",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			impatient(client("c1", 0, setTotal(1), acquirePermit(0), sleep(40*time.Second), releasePermit)),
			client("c2", 10*time.Second, tryAcquirePermit(30, 20*time.Second), sleep(time.Second), releasePermit),
		)
	},
	Breaks: either(contract.TakesBack, nil, []contract.Guarantee{liveness}),
}

var permitGhostLease = Scenario{
	Name:  "permit-ghost-lease",
	Title: "an acquire with a lease ends in an error when its reply is lost: the permit comes back by itself",
	Story: "As in permit-ghost-acquire, but c1 had asked for 20 s. Nobody knows the id, and nobody needs to: when the lease is over " +
		"the permit is free, and c2, who waits, takes it. In the hardened form it comes back sooner.",
	Source: "docs/family.md: PermitExpirableSemaphore",
	Plan: func(uint64) *plan.Plan {
		return story("permit-ghost-lease",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			impatient(client("c1", 0, setTotal(1), acquirePermit(20), sleep(40*time.Second), releasePermit)),
			client("c2", 10*time.Second, tryAcquirePermit(30, 20*time.Second), sleep(time.Second), releasePermit),
		)
	},
	Breaks: nothing,
}

var permitLostMessage = Scenario{
	Name:  "permit-lost-message",
	Title: "the message that a permit is free is lost, and no lease tells the waiter when to look",
	Story: "c2 waits for the only permit, which c1 has without a lease. c1 gives it back, and the message that tells c2 is lost. The " +
		"faithful form hears by messages alone where no lease ends: c2 sleeps beside a free permit until it gives up. The hardened " +
		"form looks again by itself, within the watchdog's timeout: late, but not never.",
	Source: "story semaphore-lost-message",
	Plan: func(uint64) *plan.Plan {
		return story("permit-lost-message",
			[]plan.Fault{{Kind: "drop-message", Client: "c2", When: &plan.Trigger{Reply: plan.Publish}}},
			client("c1", 0, setTotal(1), acquirePermit(0), sleep(5*time.Second), releasePermit),
			client("c2", 2*time.Second, tryAcquirePermit(30, 2*time.Minute), sleep(time.Second), releasePermit),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var permitHolderCrash = Scenario{
	Name:  "permit-holder-crash",
	Title: "a client dies with a permit, whose lease brings it back",
	Story: "c1 takes the only permit for 20 s, and dies at 5 s. Nobody can give the permit back, and nobody has to: its lease ends at " +
		"20 s, and c2, who waits, takes it then. That is what these permits are for (see semaphore-holder-crash).",
	Source: "Redisson issues 2045 and 2213",
	Plan: func(uint64) *plan.Plan {
		return story("permit-holder-crash",
			[]plan.Fault{{Kind: "kill-client", Client: "c1", From: at(5)}},
			client("c1", 0, setTotal(1), acquirePermit(20), sleep(40*time.Second), releasePermit),
			client("c2", 2*time.Second, acquirePermit(30), sleep(time.Second), releasePermit),
		)
	},
	Breaks: nothing,
}

var permitLateRelease = Scenario{
	Name:  "permit-late-release",
	Title: "a holder works longer than its lease, and is told so when it gives the permit back",
	Story: "c1 takes the only permit for 5 s, and works for 8 s. c2, who waits, gets it when the lease is over. c1's release finds " +
		"that its permit was over, and it is told so: what it did after 5 s was not protected. c2 keeps what it has. c4 is late, too, and is told so, though nobody else had asked.",
	Source: "Redisson 4.7.0, RPermitExpirableSemaphore.tryRelease",
	Plan: func(uint64) *plan.Plan {
		return story("permit-late-release", nil,
			client("c1", 0, setTotal(1), acquirePermit(5), sleep(8*time.Second), releasePermit),
			client("c2", 2*time.Second, acquirePermit(30), sleep(10*time.Second), releasePermit),
			client("c3", 9*time.Second, tryAcquirePermit(30, time.Second), releasePermit),
			client("c4", 30*time.Second, acquirePermit(2), sleep(4*time.Second), releasePermit),
		)
	},
	Breaks: nothing,
}

var permitLeaseUpdated = Scenario{
	Name:  "permit-lease-updated",
	Title: "a holder prolongs the lease of its permit before it is over",
	Story: "c1 takes the only permit for 10 s. At 8 s it has the lease end 10 s later, and works until 14 s. c2, who waits, was told " +
		"of a lease until 10 s; it asks then, is told of the longer one, and gets the permit when c1 gives it back. c1 wants to " +
		"prolong a permit again that is over, and is told that there is none.",
	Source: "Redisson 4.7.0, RPermitExpirableSemaphore.updateLeaseTime",
	Plan: func(uint64) *plan.Plan {
		return story("permit-lease-updated", nil,
			client("c1", 0, setTotal(1), acquirePermit(10), sleep(8*time.Second), updateLease(10), sleep(6*time.Second), releasePermit,
				sleep(5*time.Second), acquirePermit(2), sleep(3*time.Second), updateLease(10), releasePermit),
			client("c2", 2*time.Second, acquirePermit(30), sleep(time.Second), releasePermit),
		)
	},
	Breaks: nothing,
}

var permitCounterEvicted = Scenario{
	Name:  "permit-counter-evicted",
	Title: "the semaphore's key is evicted while a permit is out, and set anew",
	Story: "c1 has one permit of two when the key is evicted. c2 makes a semaphore of two permits, since there is none. The faithful " +
		"form keeps the permits that are out in another key, which is there still: c1's release gives a permit to the new semaphore " +
		"that was not of it, and three clients get in where two may. The hardened form has lost the permit with the key, and tells c1.",
	Source: "docs/family.md: the counter is evicted, and set anew",
	Plan: func(uint64) *plan.Plan {
		return story("permit-counter-evicted",
			[]plan.Fault{{Kind: "delete-key", Lock: pool, From: at(3)}},
			client("c1", 0, setTotal(2), acquirePermit(0), sleep(8*time.Second), releasePermit),
			client("c2", 5*time.Second, setTotal(2), sleep(5*time.Second), acquirePermit(30), sleep(10*time.Second), releasePermit),
			client("c3", 11*time.Second, acquirePermit(30), sleep(10*time.Second), releasePermit),
			client("c4", 12*time.Second, acquirePermit(30), sleep(10*time.Second), releasePermit),
		)
	},
	Breaks: either(contract.OneKey, nil, []contract.Guarantee{object, exclusion}),
}

var permitClockAhead = Scenario{
	Name:  "permit-clock-ahead",
	Title: "a client whose clock is 11 s ahead takes a permit that another has",
	Story: "c1 takes the only permit for 10 s. The clock of c2 jumps ahead by 11 s. In the faithful form clients tell the server the time, " +
		"and by c2's clock c1's lease is over: it takes c1's permit, and works beside it. c1's release is told that there is nothing to " +
		"give. In the hardened form leases end by the server's clock, and c2 waits for c1.",
	Source: "docs/family.md: a client's clock is ahead, or its request is late",
	Plan: func(uint64) *plan.Plan {
		return story("permit-clock-ahead",
			[]plan.Fault{{Kind: "clock-jump", Client: "c2", By: at(11), From: at(1)}},
			client("c1", 0, setTotal(1), acquirePermit(10), sleep(8*time.Second), releasePermit),
			client("c2", 3*time.Second, acquirePermit(10), sleep(8*time.Second), releasePermit),
		)
	},
	Breaks: either(contract.ServerClock, nil, []contract.Guarantee{object, exclusion}),
}
