package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of count-down latches.

// AllLatches are the stories of latches, in the order of the catalogue.
func AllLatches() []Scenario {
	return []Scenario{
		latchBaseline,
		latchManyWaiters,
		latchLostDownReply,
		latchDelayedDown,
		latchGhostDown,
		latchLostSetReply,
		latchLostZero,
		latchClosedSubscription,
		latchLateZero,
		latchLateSet,
		latchSetAtZero,
		latchDeleted,
		latchDeletedByClient,
		latchExpires,
		latchCounterCrash,
		latchFailover,
	}
}

// The latch that the stories are about.
const gate = "gate:release"

func setCount(n int64) plan.Step { return plan.Step{Do: plan.TrySetCount, Lock: gate, Count: n} }
func countDown() plan.Step       { return plan.Step{Do: plan.CountDown, Lock: gate} }
func await() plan.Step           { return plan.Step{Do: plan.Await, Lock: gate} }
func tryAwait(wait time.Duration) plan.Step {
	return plan.Step{Do: plan.TryAwait, Lock: gate, Wait: plan.Duration(wait)}
}

var latchBaseline = Scenario{
	Name:  "latch-baseline",
	Title: "two clients wait for three others, and nothing fails",
	Story: "c1 sets a latch to 3; c2 wants to set it to 5, and is told that it is set. c3 awaits it, c4 tries for a second and gives " +
		"up. c1, c2 and c5 count it down, one after the other, and c3 goes on when the last has. Who comes later does not wait. " +
		"c1 then sets it again, to 1, and c3 waits once more. Nothing breaks.",
	Source: "Redisson RedissonCountDownLatchTest",
	Plan: func(uint64) *plan.Plan {
		return story("latch-baseline", nil,
			client("c1", 0, setCount(3), sleep(4*time.Second), countDown(), sleep(6*time.Second), setCount(1), sleep(5*time.Second), countDown()),
			client("c2", time.Second, setCount(5), sleep(4*time.Second), countDown()),
			client("c3", 2*time.Second, await(), sleep(5*time.Second), await()),
			client("c4", 3*time.Second, tryAwait(time.Second)),
			client("c5", 7*time.Second, countDown(), await(), tryAwait(0)),
		)
	},
	Breaks: nothing,
}

var latchManyWaiters = Scenario{
	Name:  "latch-many-waiters",
	Title: "forty threads of four clients wait, and all go on at once",
	Story: "c1 sets a latch to 2. Forty threads of four clients await it. c1 counts it down twice, and everybody goes on: a message " +
		"of zero wakes them all.",
	Source: "Redisson 3.24.1: only the first of several waiters was woken",
	Plan: func(uint64) *plan.Plan {
		p := story("latch-many-waiters", nil, client("c1", 0, setCount(2), sleep(8*time.Second), countDown(), sleep(2*time.Second), countDown()))
		for i := range 4 {
			c := plan.Client{Name: fmt.Sprintf("c%d", i+2)}
			for j := range 10 {
				c.Threads = append(c.Threads, plan.Thread{ID: int64(j + 1), Start: at(1 + 0.1*float64(j)), Steps: []plan.Step{await()}})
			}
			p.Clients = append(p.Clients, c)
		}
		return p
	},
	Breaks: nothing,
}

var latchLostDownReply = Scenario{
	Name:  "latch-lost-down-reply",
	Title: "the reply of a count-down is lost; the client sends again, and the latch opens early",
	Story: "A latch is set to 2. c1 counts it down, but the answer is lost. After its timeout go-redis sends the count-down again, and " +
		"the faithful form's script counts once more: c3, who waits for c1 and c2, goes on while c2 still works. The hardened form " +
		"knows the request again, and counts once.",
	Source: "docs/family.md: CountDown sent again; story 27 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-lost-down-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Release}}},
			client("c1", 0, setCount(2), sleep(2*time.Second), countDown()),
			client("c2", time.Second, sleep(20*time.Second), countDown()),
			client("c3", time.Second, await()),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, exclusion}),
}

var latchDelayedDown = Scenario{
	Name:  "latch-delayed-down",
	Title: "the first, delayed copy of a count-down arrives in the next round",
	Story: "c1's count-down is delayed by 12 s. go-redis sends it again, and that copy opens the latch. c2 sets it again, to 2, for the " +
		"next round. Then the first copy arrives, and the faithful form's script counts a round down that c1 has no part in: c3 goes " +
		"on when only one of two has come. The hardened form refuses a request older than the last of its slot.",
	Source: "scenario delayed-duplicate-unlock, on a latch",
	Plan: func(uint64) *plan.Plan {
		return story("latch-delayed-down",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", By: at(12), When: &plan.Trigger{Request: plan.Release}}},
			client("c1", 0, setCount(1), sleep(2*time.Second), countDown()),
			client("c2", time.Second, await(), sleep(2*time.Second), setCount(2), sleep(3*time.Second), countDown(), sleep(20*time.Second), countDown()),
			client("c3", 11*time.Second, await()),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object, exclusion}),
}

var latchGhostDown = Scenario{
	Name:  "latch-ghost-down",
	Title: "the request of a count-down is lost, and its caller is told of an error: the latch never opens",
	Story: "c1's Redis client sends nothing again. Its count-down never reaches the server, and its call ends in an error that does not " +
		"say so. Were c1 to repeat it, nobody could tell a copy from a second count-down. The faithful form leaves it at that: c2 " +
		"waits in vain. The hardened form repeats the request in the background until it has counted once.",
	Source: "docs/family.md: CountDown whose caller gave up, outcome unknown; story 27 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-ghost-down",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Request: plan.Release}}},
			impatient(client("c1", 0, setCount(1), sleep(2*time.Second), countDown(), sleep(40*time.Second))),
			client("c2", time.Second, tryAwait(30*time.Second)),
		)
	},
	Breaks: either(contract.TakesBack, nil, []contract.Guarantee{liveness}),
}

var latchLostSetReply = Scenario{
	Name:  "latch-lost-set-reply",
	Title: "the reply of trySetCount is lost; the client sends again, and is told that somebody else was first",
	Story: "c1 sets a latch to 1, but the answer is lost. go-redis sends the request again, and the faithful form's script finds a " +
		"count: c1 is told that it set none, though it did. The hardened form gives the first answer. Nothing else comes of it.",
	Source: "docs/family.md: TrySetCount sent again",
	Plan: func(uint64) *plan.Plan {
		return story("latch-lost-set-reply",
			[]plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Set}}},
			client("c1", 0, setCount(1), sleep(2*time.Second), countDown()),
			client("c2", 5*time.Second, await()),
		)
	},
	Breaks: either(contract.Idempotent, nil, []contract.Guarantee{object}),
}

var latchLostZero = Scenario{
	Name:  "latch-lost-zero",
	Title: "the message of zero is lost; the faithful waiter sleeps for ever",
	Story: "c2 awaits a latch of 1. c1 counts it down, and the message of that is lost, without a word that the connection is dead. The " +
		"faithful form hears by messages alone: c2 sleeps until it gives up. The hardened form looks again by itself, within the " +
		"watchdog's timeout: late, but not never.",
	Source: "Redisson 4.7.0, run with a cut connection; story 26 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-lost-zero",
			[]plan.Fault{{Kind: "drop-message", Client: "c2", When: &plan.Trigger{Reply: plan.Publish}}},
			client("c1", 0, setCount(1), sleep(5*time.Second), countDown()),
			client("c2", 2*time.Second, tryAwait(2*time.Minute)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var latchClosedSubscription = Scenario{
	Name:  "latch-closed-subscription",
	Title: "the connections of a waiter are reset just as the count comes to zero",
	Story: "c2 awaits a latch of 1. c1 counts it down, and c2's connections are reset before the message arrives. go-redis subscribes " +
		"anew, and nobody tells the message again. The faithful form sleeps on. The hardened form looks as soon as its subscription " +
		"stands again.",
	Source: "Redisson 4.7.0, run with a cut connection; story 26 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-closed-subscription",
			[]plan.Fault{{Kind: "close-connection", Client: "c2", When: &plan.Trigger{Client: "c2", Reply: plan.Publish}}},
			client("c1", 0, setCount(1), sleep(5*time.Second), countDown()),
			client("c2", 2*time.Second, tryAwait(2*time.Minute)),
		)
	},
	Breaks: either(contract.LooksAgain, nil, []contract.Guarantee{liveness}),
}

var latchLateZero = Scenario{
	Name:  "latch-late-zero",
	Title: "the message of zero comes when the next round has begun; the faithful waiter sleeps through the end of its own",
	Story: "c2 awaits a latch of 1, and the message of its zero is 10 s late. Meanwhile c1 has set the latch again. The faithful form's " +
		"waiter, woken at last, asks whether the count is 0 now, and sleeps on until the next round is over. The hardened form numbers " +
		"the rounds: c2 goes on as soon as it hears, for its round is over.",
	Source: "Redisson 4.7.0, run with a late message; story 26 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-late-zero",
			[]plan.Fault{{Kind: "delay-message", Client: "c2", By: at(10), When: &plan.Trigger{Reply: plan.Publish}}},
			client("c1", 0, setCount(1), sleep(5*time.Second), countDown(), sleep(3*time.Second), setCount(1), sleep(10*time.Second), countDown()),
			client("c2", 2*time.Second, await()),
		)
	},
	Breaks: either(contract.Rounds, nil, []contract.Guarantee{liveness}),
}

var latchLateSet = Scenario{
	Name:  "latch-late-set",
	Title: "the message of a new round is late; faithful waiters ask without a pause",
	Story: "c2 awaits a latch of 1. c1 counts it down and sets it again at once. The message of zero opens the faithful form's gate, and " +
		"the message of the new count, which would close it, is 10 s late: c2, whose question takes a moment, finds a count of 1, comes " +
		"to an open gate, and asks again, hundreds of times a second. The hardened form has no gate, and looks once for a message.",
	Source: "Redisson 4.7.0: 3,220 commands a second of one waiter; story 26 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-late-set",
			[]plan.Fault{
				{Kind: "delay-message", Client: "c2", By: at(10), When: &plan.Trigger{Client: "c2", Reply: plan.Publish, Nth: 2}},
				{Kind: "delay-message", Client: "c2", By: at(0.1), When: &plan.Trigger{Client: "c2", Request: plan.Query, Nth: 3}},
			},
			client("c1", 0, setCount(1), sleep(5*time.Second), countDown(), setCount(1), sleep(20*time.Second), countDown()),
			client("c2", 2*time.Second, await()),
		)
	},
	Breaks: either(contract.Rounds, nil, []contract.Guarantee{liveness}),
}

var latchSetAtZero = Scenario{
	Name:  "latch-set-at-zero",
	Title: "a latch is set again as soon as it is at zero; faithful waiters sleep through the end of their round",
	Story: "Twenty threads of two clients await a latch of 1. c1 counts it down and sets it again at once, for the next round. The faithful " +
		"form's waiters, woken, ask whether the count is 0 now: it is not, and they sleep on until the next round is over. The hardened " +
		"form numbers the rounds: whose round is over goes on.",
	Source: "Redisson 4.7.0, run with 40 waiters, of which 23 slept on; story 25 of the family",
	Plan: func(uint64) *plan.Plan {
		p := story("latch-set-at-zero", nil, client("c1", 0, setCount(1), sleep(5*time.Second), countDown(), setCount(1), sleep(20*time.Second), countDown()))
		for i := range 2 {
			c := plan.Client{Name: fmt.Sprintf("c%d", i+2)}
			for j := range 10 {
				c.Threads = append(c.Threads, plan.Thread{ID: int64(j + 1), Start: at(1 + 0.1*float64(j)), Steps: []plan.Step{await()}})
			}
			p.Clients = append(p.Clients, c)
		}
		return p
	},
	Breaks: either(contract.Rounds, nil, []contract.Guarantee{liveness}),
}

var latchDeleted = Scenario{
	Name:  "latch-deleted",
	Title: "the latch's key is deleted while somebody waits",
	Story: "c2 awaits a latch of 2 when somebody deletes the key. A latch that is not there is at 0, of which nobody sends a message: the " +
		"faithful form's waiter sleeps for ever. The hardened form looks again within the watchdog's timeout.",
	Source: "Redisson 4.7.0, run with RCountDownLatch.delete; story 24 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-deleted",
			[]plan.Fault{{Kind: "delete-key", Lock: gate, From: at(5)}},
			client("c1", 0, setCount(2), sleep(2*time.Second), countDown()),
			client("c2", 2*time.Second, tryAwait(2*time.Minute)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var latchExpires = Scenario{
	Name:  "latch-expires",
	Title: "the latch's key expires while somebody waits",
	Story: "c2 awaits a latch of 2 when its key expires. The faithful form's waiter sleeps for ever, as when it is deleted. The hardened " +
		"form looks again within the watchdog's timeout.",
	Source: "Redisson 4.7.0, run with RCountDownLatch.expire; story 24 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("latch-expires",
			[]plan.Fault{{Kind: "expire-key", Lock: gate, From: at(5)}},
			client("c1", 0, setCount(2), sleep(2*time.Second), countDown()),
			client("c2", 2*time.Second, tryAwait(2*time.Minute)),
		)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}

var latchCounterCrash = Scenario{
	Name:  "latch-counter-crash",
	Title: "a client dies before it counts down, and nobody passes",
	Story: "A latch is set to 2. c2 dies before it counts down. A count has no owners: nobody can know that c2 will not come. c3 waits " +
		"in vain until its time is over, and nobody passes. That is so by design.",
	Source: "java.util.concurrent.CountDownLatch: a count knows no threads",
	Plan: func(uint64) *plan.Plan {
		return story("latch-counter-crash",
			[]plan.Fault{{Kind: "kill-client", Client: "c2", From: at(4)}},
			client("c1", 0, setCount(2), sleep(2*time.Second), countDown()),
			client("c2", time.Second, sleep(10*time.Second), countDown()),
			client("c3", time.Second, tryAwait(30*time.Second)),
		)
	},
	Breaks: nothing,
}

var latchFailover = Scenario{
	Name:  "latch-failover",
	Title: "the server fails over to a replica that does not know of a count-down",
	Story: "The replica is half a second behind. A latch is set to 2. c1 counts it down, and a moment later the master dies; the replica, " +
		"which has not heard of that, takes its place with a count of 2. c2 counts down, too, and both were told that they did. The " +
		"count stays at 1, and c3 waits in vain.",
	Source: "scenario failover-async, on a latch",
	Plan: func(uint64) *plan.Plan {
		return replicated(story("latch-failover",
			[]plan.Fault{{Kind: "failover", When: &plan.Trigger{Client: "c1", Return: plan.CountDown}}},
			client("c1", 0, setCount(2), sleep(2*time.Second), countDown()),
			client("c2", 6*time.Second, countDown()),
			client("c3", 8*time.Second, tryAwait(30*time.Second)),
		), 1, 500*time.Millisecond)
	},
	Breaks: breaks([]contract.Guarantee{liveness}, nil),
}
