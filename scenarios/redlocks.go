package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a RedLock on five servers: who holds three holds it.

// red is a plan with a RedLock on five servers.
func red(name string, faults []plan.Fault, clients ...plan.Client) *plan.Plan {
	return group(onServers(5, story(name, faults, clients...)), plan.Red, 5)
}

func lockAll() plan.Step   { return plan.Step{Do: plan.Lock, Lock: several} }
func unlockAll() plan.Step { return plan.Step{Do: plan.Unlock, Lock: several} }
func tryLockAll(wait, lease time.Duration) plan.Step {
	return plan.Step{Do: plan.TryLock, Lock: several, Wait: plan.Duration(wait), Lease: plan.Duration(lease)}
}

// without cuts a client off from servers for a time.
func without(client string, from, to float64, servers ...string) []plan.Fault {
	var faults []plan.Fault
	for _, s := range servers {
		faults = append(faults, plan.Fault{Kind: "partition", Client: client, Server: s, From: at(from), To: at(to)})
	}
	return faults
}

// away has servers down from the beginning on.
func away(until float64, servers ...string) []plan.Fault {
	var faults []plan.Fault
	for _, s := range servers {
		faults = append(faults, plan.Fault{Kind: "restart", Server: s, To: at(until)})
	}
	return faults
}

var redlockPause = Scenario{
	Name:  "redlock-pause",
	Title: "a quorum is acquired, and the holder paused past its validity",
	Story: "c1 has the lock on all five servers when it is paused, from 5 s to 50 s, while its work takes 19 s. All " +
		"five leases end; c2 gets a quorum, works and writes. When c1 goes on it writes over that. A quorum of servers " +
		"does not help against a pause of the client.",
	Source: "M. Kleppmann, How to do distributed locking (2016)",
	Plan: func(uint64) *plan.Plan {
		return red("redlock-pause",
			[]plan.Fault{{Kind: "pause-client", Client: "c1", From: at(5), To: at(50)}},
			client("c1", 0, lockAll(), work2(several, 19*time.Second), unlockAll()),
			client("c2", 2*time.Second, lockAll(), work2(several, 25*time.Second), unlockAll()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion, effect, watchdog}, nil),
}

var redlockClockJump = Scenario{
	Name:  "redlock-clock-jump",
	Title: "one of five clocks jumps, and a second owner gets a quorum",
	Story: "c1 gets s1, s2 and s3 while s4 and s5 are down, until 4 s. At 5 s the clock of s3 is set forward by a minute: " +
		"c1's key there is over at once. c2 gets s3, s4 and s5, a quorum, while c1 works on with s1 and s2.",
	Source: "M. Kleppmann, How to do distributed locking (2016)",
	Plan: func(uint64) *plan.Plan {
		return red("redlock-clock-jump",
			append(away(4, "s4", "s5"), plan.Fault{Kind: "clock-jump", Server: "s3", By: at(60), From: at(5)}),
			client("c1", 500*time.Millisecond, lockAll(), work2(several, 19*time.Second), unlockAll()),
			client("c2", 6*time.Second, lockAll(), work2(several, 9*time.Second), unlockAll()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect}),
}

var redlockRestart = Scenario{
	Name:  "redlock-restart",
	Title: "one of five servers restarts empty, and a second owner gets a quorum",
	Story: "c1 gets s1, s2 and s3 while s4 and s5 are down, until 4 s. s3 restarts without its data from 5 s to 6 s. c2 gets " +
		"s3, s4 and s5 while c1 works on.",
	Source: "M. Kleppmann, How to do distributed locking (2016); the Redis documentation, on restarts that must wait",
	Plan: func(uint64) *plan.Plan {
		return red("redlock-restart",
			append(away(4, "s4", "s5"), plan.Fault{Kind: "restart", Server: "s3", From: at(5), To: at(6)}),
			client("c1", 500*time.Millisecond, lockAll(), work2(several, 19*time.Second), unlockAll()),
			client("c2", 7*time.Second, lockAll(), work2(several, 9*time.Second), unlockAll()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect}),
}

var redlockMinorityDown = Scenario{
	Name:  "redlock-minority-down",
	Title: "two of five servers are down: still locks and unlocks",
	Story: "s4 and s5 are down all the time, and refuse connections. c1 and c2 take turns on the other three, a quorum: a " +
		"server that refuses is as good as one that says busy.",
	Source: "Redisson RedissonRedLockTest.testConnectionFailed",
	Plan: func(uint64) *plan.Plan {
		return red("redlock-minority-down",
			[]plan.Fault{{Kind: "restart", Server: "s4", From: 0}, {Kind: "restart", Server: "s5", From: 0}},
			client("c1", time.Second, lockAll(), work2(several, 5*time.Second), unlockAll()),
			client("c2", 2*time.Second, lockAll(), work2(several, 5*time.Second), unlockAll()),
		)
	},
	Breaks: nothing,
}

var redlockPauseInAcquire = Scenario{
	Name:  "redlock-pause-in-acquire",
	Title: "the replies wait in the paused client's socket until after the lease",
	Story: "c1 asks all five servers for a lease of 4 s, and is paused for 10 s before it can read the answers. When it goes " +
		"on it reads five grants, of a lease that is over: it has to see that, and refuse. c2 has the lock meanwhile.",
	Source: "S. Sanfilippo, Is Redlock safe? (2016)",
	Plan: func(uint64) *plan.Plan {
		return red("redlock-pause-in-acquire",
			[]plan.Fault{{Kind: "pause-client", Client: "c1", For: at(10), When: &plan.Trigger{Client: "c1", Reply: plan.Acquire}}},
			client("c1", 0, tryLockAll(0, 4*time.Second), work2(several, time.Second), unlockAll()),
			client("c2", time.Second, lockAll(), work2(several, 15*time.Second), unlockAll()),
		)
	},
	Breaks: nothing,
}

var redlockSplitVote = Scenario{
	Name:  "redlock-split-vote",
	Title: "three clients want the lock at once: somebody wins, and no orphan key outlives its lease",
	Story: "c1 reaches s1 and s2 sooner, c2 s3 and s4, c3 s5, since the others are cut off from them for a moment: " +
		"the votes split 2/2/1 at first. Each gives back what it has and tries again after a time drawn by chance, so " +
		"that each gets its turn.",
	Source: "the Redlock algorithm, retry on failure",
	Plan: func(uint64) *plan.Plan {
		faults := without("c1", 0.9, 1.2, "s3", "s4", "s5")
		faults = append(faults, without("c2", 0.9, 1.2, "s1", "s2", "s5")...)
		faults = append(faults, without("c3", 0.9, 1.2, "s1", "s2", "s3", "s4")...)
		turn := func(name string) plan.Client {
			return client(name, time.Second, lockAll(), work2(several, 500*time.Millisecond), unlockAll())
		}
		return red("redlock-split-vote", faults, turn("c1"), turn("c2"), turn("c3"))
	},
	Breaks: nothing,
}
