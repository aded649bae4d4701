package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of a MultiLock: several locks, each on a server of its own, all or none.

var multilockPartial = Scenario{
	Name:  "multilock-partial",
	Title: "one of three members refuses, then one times out: all or nothing, nothing left behind",
	Story: "c0 holds the member on s2 when c1 tries all three: c1 is refused and keeps none of them, so that c2 gets " +
		"the member on s1 at once. Later c1 tries again while s3 does not answer: an error, and what it had taken on s1 " +
		"and s2 is given back; c2 gets it.",
	Source:  "Redisson issue 1606",
	Reentry: Retried,
	Plan: func(uint64) *plan.Plan {
		all := plan.Step{Do: plan.TryLock, Lock: several}
		p := onServers(3, story("multilock-partial",
			[]plan.Fault{{Kind: "partition", Client: "c1", Server: "s3", From: at(20), To: at(60)}},
			client("c0", 0, plan.Step{Do: plan.TryLock, Lock: "only s2", Lease: at(15)}, sleep(14*time.Second), plan.Step{Do: plan.Unlock, Lock: "only s2"}),
			client("c1", 2*time.Second, all, sleep(20*time.Second), all, sleep(60*time.Second), all, work2(several, 2*time.Second), plan.Step{Do: plan.Unlock, Lock: several}),
			client("c2", 5*time.Second, plan.Step{Do: plan.TryLock, Lock: "only s1"}, plan.Step{Do: plan.Unlock, Lock: "only s1"},
				sleep(65*time.Second), plan.Step{Do: plan.TryLock, Lock: "only s1"}, plan.Step{Do: plan.Unlock, Lock: "only s1"}),
		))
		group(p, plan.Multi, 3)
		p.Groups = append(p.Groups,
			plan.Group{Name: "only s1", Kind: plan.Multi, Members: []plan.Member{{Lock: order, Server: "s1"}}},
			plan.Group{Name: "only s2", Kind: plan.Multi, Members: []plan.Member{{Lock: order, Server: "s2"}}})
		return p
	},
	Breaks: nothing,
}

var multilockElapsed = Scenario{
	Name:  "multilock-elapsed",
	Title: "taking the members took longer than the lease: everything is released, and a failure is reported",
	Story: "c1 takes three members for 2 s, and the answer of the third is 3 s late: the lease of the first is over " +
		"by then. c1 must not believe that it holds them all: it is told so, and what it has taken is given back. c2, who " +
		"comes a moment later, gets all three.",
	Source: "Redisson's MultiLock, which does not look",
	Plan: func(uint64) *plan.Plan {
		p := onServers(3, story("multilock-elapsed",
			[]plan.Fault{{Kind: "delay-message", Client: "c1", Server: "s3", By: at(3), When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, plan.Step{Do: plan.TryLock, Lock: several, Lease: at(2)}, work2(several, time.Second), plan.Step{Do: plan.Unlock, Lock: several}),
			client("c2", 4*time.Second, plan.Step{Do: plan.TryLock, Lock: several, Wait: at(3)}, work2(several, time.Second), plan.Step{Do: plan.Unlock, Lock: several}),
		))
		return group(p, plan.Multi, 3)
	},
	Breaks: nothing,
}

var multilockUnlockPartial = Scenario{
	Name:  "multilock-unlock-partial",
	Title: "one member is lost before the unlock: the others are released, and the error says which failed",
	Story: "c1 holds three members when s2 restarts empty at 3 s, for a second. c1 unlocks at 8 s: s2 knows of no hold, and " +
		"the other two are released all the same, not left to their leases. c1 is told of an error that names the one " +
		"that failed. c2, who comes at 12 s, gets all three at once.",
	Source: "Redisson's MultiLock.unlock, which stops at the first error",
	Plan: func(uint64) *plan.Plan {
		p := onServers(3, story("multilock-unlock-partial",
			[]plan.Fault{{Kind: "restart", Server: "s2", From: at(3), To: at(4)}},
			client("c1", 0, plan.Step{Do: plan.Lock, Lock: several}, sleep(8*time.Second), plan.Step{Do: plan.Unlock, Lock: several, Regardless: true}),
			client("c2", 12*time.Second, plan.Step{Do: plan.TryLock, Lock: several}, work2(several, time.Second), plan.Step{Do: plan.Unlock, Lock: several}),
		))
		return group(p, plan.Multi, 3)
	},
	Breaks: nothing,
}

var multilockDeadlock = Scenario{
	Name:  "multilock-deadlock",
	Title: "two MultiLocks over the same locks in opposite order: both finish",
	Story: "c1 and c2 each take two locks, named in opposite order, three times. Neither holds one while it waits for " +
		"the other, so both finish.",
	Source: "Redisson issues 467 and 4050",
	Plan: func(uint64) *plan.Plan {
		turn := func(name string) []plan.Step {
			return []plan.Step{{Do: plan.Lock, Lock: name}, work2(name, time.Second), {Do: plan.Unlock, Lock: name}}
		}
		var first, second []plan.Step
		for range 3 {
			first, second = append(first, turn("a and b")...), append(second, turn("b and a")...)
		}
		p := onServers(2, story("multilock-deadlock", nil, client("c1", 0, first...), client("c2", 0, second...)))
		a, b := plan.Member{Lock: "a", Server: "s1"}, plan.Member{Lock: "b", Server: "s2"}
		p.Groups = []plan.Group{
			{Name: "a and b", Kind: plan.Multi, Members: []plan.Member{a, b}},
			{Name: "b and a", Kind: plan.Multi, Members: []plan.Member{b, a}},
		}
		return p
	},
	Breaks: nothing,
}

// several is the lock that is made of others.
const several = "orders"

// onServers gives a plan servers, s1, s2, ...
func onServers(n int, p *plan.Plan) *plan.Plan {
	for i := range n {
		p.Servers = append(p.Servers, plan.Server{Name: serverName(i)})
	}
	return p
}

func serverName(i int) string { return "s" + string(rune('1'+i)) }

// group gives a plan the lock several, a member on each of n servers.
func group(p *plan.Plan, kind plan.GroupKind, n int) *plan.Plan {
	g := plan.Group{Name: several, Kind: kind}
	for i := range n {
		g.Members = append(g.Members, plan.Member{Lock: order, Server: serverName(i)})
	}
	p.Groups = append(p.Groups, g)
	return p
}

func work2(lock string, d time.Duration) plan.Step {
	return plan.Step{Do: plan.Work, Lock: lock, For: plan.Duration(d)}
}
