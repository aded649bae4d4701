package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of messages that are lost, late, or there twice. The Redis client is go-redis with its
// defaults: it gives up a reply after 5 s, and sends the command again.

var lostAcquireReply = Scenario{
	Name:  "lost-acquire-reply",
	Title: "the reply of an acquire is lost; the client sends again, and the hold counts twice",
	Story: "The server grants c1 the lock, but the answer is lost. After its timeout go-redis sends the acquire " +
		"again, and the faithful generations' script counts a second hold for the one call. c1 works and unlocks " +
		"once: the server has it hold on, and c2, who waits, gets nothing until the lease ends, which nobody " +
		"renews. The hardened generation knows the request again, and counts once.",
	Source: "Redisson issues 7367 and 6025",
	Plan: func(uint64) *plan.Plan {
		return story("lost-acquire-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, lock(), work(5*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{object, liveness}),
}

var lostUnlockReply = Scenario{
	Name:  "lost-unlock-reply",
	Title: "the reply of an unlock is lost; the client sends again, and is told that it does not hold the lock",
	Story: "The server releases c1's hold, but the answer is lost. After its timeout go-redis sends the unlock " +
		"again. Without a latch the script finds no hold, and c1 is told that it held none, though it did and gave it " +
		"back. With the latch, and with hardened's request numbers, it gets the first answer.",
	Source: "Redisson issues 4871, 6651 and 6844",
	Plan: func(uint64) *plan.Plan {
		return story("lost-unlock-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
			client("c1", 0, lock(), work(5*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(19*time.Second), unlock()),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var lostUnlockReplyReentrant = Scenario{
	Name:  "lost-unlock-reply-reentrant",
	Title: "the same at hold count 2: two decrements for one call",
	Story: "c1 holds the lock twice and gives one hold back; the answer is lost, and go-redis sends the unlock " +
		"again. Without a latch it counts again: one call has given both holds back. c1 is told that the lock is free, " +
		"so that, against the prediction, exclusion holds as far as c1 listens: it stops. With the latch, and with " +
		"hardened's request numbers, one call gives one hold back. While an unlock is unanswered, hardened renews " +
		"nothing for that owner: a renewal could lengthen what was just given back. So its renewal at 10 s is left " +
		"out, and the lease is set anew after 13 s: less than it lasts, more than promised.",
	Source:  "Redisson issue 4871",
	Reentry: Essential,
	Plan: func(uint64) *plan.Plan {
		return story("lost-unlock-reply-reentrant",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
			client("c1", 0, lock(), lock(), work(7*time.Second), unlock(), work(19*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(29*time.Second), unlock()),
		)
	},
	Breaks: func(can func(string) bool) []contract.Guarantee {
		if can(string(contract.TakesBack)) { // it renews nothing while it does not know what there is to take back
			return []contract.Guarantee{watchdog}
		}
		return either(contract.Idempotent, nil, []contract.Guarantee{object})(can)
	},
}

var delayedDuplicateUnlock = Scenario{
	Name:  "delayed-duplicate-unlock",
	Title: "the first, delayed copy of an unlock arrives after its owner has taken the lock again",
	Story: "c1's unlock is delayed by 12 s. After its timeout go-redis sends it again on another connection; that " +
		"copy releases the lock and is answered, and the latch is removed. c1 takes the lock again and works. Then the " +
		"first copy arrives: the faithful generations' scripts see an unlock by the owner, and free the new hold. c2 " +
		"gets in while c1 works. The hardened generation refuses a request older than the owner's last.",
	Source: "Redisson's scripts, run by hand: the latch lives only until the first answer",
	Plan: func(uint64) *plan.Plan {
		return story("delayed-duplicate-unlock",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(12), When: &plan.Trigger{Request: plan.Release}}},
			client("c1", 0, lock(), work(3*time.Second), unlock(), lock(), work(19*time.Second), unlock()),
			client("c2", 11*time.Second, lock(), work(25*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{object, exclusion, effect}),
}

var lostUnlockMessage = Scenario{
	Name:  "lost-unlock-message",
	Title: "the published release is lost; the waiter waits no longer than the time to live that it saw",
	Story: "c2 waits for c1's unlock, and the message that tells it is lost, without a word that the connection " +
		"is dead. c2 tries again when the lease that it saw at its last attempt is over: late, but not never. That is " +
		"why a waiter must not rely on messages alone.",
	Source: "Redisson issue 5761",
	Plan: func(uint64) *plan.Plan {
		return story("lost-unlock-message",
			[]plan.Fault{{Kind: "drop-message", Client: "c2", When: &plan.Trigger{Reply: plan.Publish}}},
			client("c1", 0, lock(), work(5*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var subscribeRace = Scenario{
	Name:  "subscribe-race",
	Title: "the release falls between a failed acquire and the subscription",
	Story: "c2 is refused the lock and subscribes to hear of its release. Its subscription is delayed by 3 s, and " +
		"c1 unlocks meanwhile: nobody hears the message. So c2 must try again once its subscription is confirmed, " +
		"and gets the lock then, not when a lease ends.",
	Source: "the wait strategy of RedissonLock; Redisson issue 5761",
	Plan: func(uint64) *plan.Plan {
		return story("subscribe-race",
			[]plan.Fault{{Kind: "delay-message", Client: "c2", By: at(3), When: &plan.Trigger{Between: []plan.MessageKind{plan.Acquire, plan.Subscribe}}}},
			client("c1", 0, lock(), work(4*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var closedConnections = Scenario{
	Name:  "closed-connections",
	Title: "the connections of a holder and of a waiter are reset",
	Story: "All connections of c1, who holds the lock, and of c2, who waits, are reset at 5 s, and c1's again in the middle of its " +
		"unlock. go-redis connects anew, c2's subscription is made anew and c2 tries once, in case a release fell into the gap. " +
		"The unlock is sent again if its answer was lost; nobody is told anything else than what happened.",
	Source: "Redisson RedissonLockTest, on reconnection",
	Plan: func(uint64) *plan.Plan {
		return story("closed-connections",
			[]plan.Fault{
				{Kind: "close-connection", Client: "c1", From: at(5)},
				{Kind: "close-connection", Client: "c2", From: at(5)},
				{Kind: "close-connection", Client: "c1", When: &plan.Trigger{Request: plan.Release}},
			},
			client("c1", 0, lock(), work(15*time.Second), unlock()),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var sameOwnerRetry = Scenario{
	Name:  "same-owner-retry",
	Title: "the reply of a lock is lost, the application gets an error and locks again: one hold too many",
	Story: "c1's Redis client sends nothing again. The server grants c1 the lock, the answer is lost, and c1's " +
		"call ends in an error. c1 calls again and is granted a second hold, as a re-entry. It unlocks once: the " +
		"faithful generations' server has it hold on, until the lease ends. (Each call counted once, so that the lock " +
		"as an object did nothing wrong, against the prediction; what is wrong is that nobody can tell the application.) " +
		"The hardened generation settles, before its next request, what the lost one did.",
	Source:  "Redisson issues 4178 and 4109",
	Reentry: Retried,
	Plan: func(uint64) *plan.Plan {
		return story("same-owner-retry",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			impatient(client("c1", 0, lock(), lock(), work(5*time.Second), unlock())),
			client("c2", 2*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{liveness}),
}

var ghostAcquire = Scenario{
	Name:  "ghost-acquire",
	Title: "an acquire that was delayed in the network executes after its client gave up",
	Story: "c1's acquire is delayed by 8 s; its Redis client sends nothing again, and c1 gives up with an error " +
		"after 5 s. Then the acquire arrives and takes the lock for nobody. c2, who comes a second later, has to " +
		"wait, but no longer than the lease: nobody renews the ghost. The hardened generation gives it back sooner.",
	Source: "Redisson issue 4109",
	Plan: func(uint64) *plan.Plan {
		return story("ghost-acquire",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(8), When: &plan.Trigger{Request: plan.Acquire}}},
			impatient(client("c1", 0, lock(), work(5*time.Second), unlock())),
			client("c2", 9*time.Second, lock(), work(5*time.Second), unlock()),
		)
	},
	Breaks: nothing,
}

var slowServerScenario = Scenario{
	Name:  "slow-server",
	Title: "the server answers later than the client's timeout, in bursts",
	Story: "From 1 s to 4 s the server gets to each request only after 7 s. c1's acquire is given up by its Redis " +
		"client after 5 s and sent again, and the server executes both copies: for the faithful generations two holds " +
		"for one call, of which one is never given back. From 24 s to 26 s the same happens to whoever calls then: c3, who only asks.",
	Source: "Redisson issue 6025",
	Plan: func(uint64) *plan.Plan {
		return story("slow-server",
			[]plan.Fault{
				{Kind: "slow-server", By: at(7), From: at(1), To: at(4)},
				{Kind: "slow-server", By: at(7), From: at(24), To: at(26)},
			},
			client("c1", 0, lock(), unlock(), sleep(2*time.Second), lock(), work(5*time.Second), unlock()),
			client("c2", 12*time.Second, lock(), work(12*time.Second), unlock()),
			client("c3", 24200*time.Millisecond, plan.Step{Do: plan.IsLocked, Lock: order}),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{object, liveness}),
}

// impatient has a client's Redis client send nothing again.
func impatient(c plan.Client) plan.Client {
	c.NoRetry = true
	return c
}
