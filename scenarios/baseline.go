package scenarios

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

var baseline = Scenario{
	Name:  "baseline",
	Title: "5 clients, mixed reentrant traffic, no faults",
	Story: "Five clients lock, try to lock with and without a wait and a lease, lock again what they hold, " +
		"work, ask, and unlock. Nothing fails, so every guarantee must hold.",
	Source: "Redisson RedissonLockTest.testConcurrency_MultiInstance",
	Drawn:  true,
	Plan:   func(s uint64) *plan.Plan { return Traffic("baseline", s, 5, 4) },
	Breaks: nothing,
}

// Traffic is a plan of mixed traffic on one lock without faults: every client goes through that
// many critical sections, drawn from the seed.
func Traffic(name string, runSeed uint64, clients, sections int) *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Name: name, Timings: plan.Timings{Limit: plan.Duration(time.Duration(clients*sections) * time.Minute)}}
	for i := range clients {
		c := fmt.Sprintf("c%d", i+1)
		draw := seed.Source(runSeed, "scenario/"+c)
		var steps []plan.Step
		for range sections {
			steps = append(steps, section(draw)...)
		}
		p.Clients = append(p.Clients, client(c, time.Duration(draw.IntN(2000))*time.Millisecond, steps...))
	}
	return p
}

// section is one critical section. An explicit lease outlasts it.
func section(draw *rand.Rand) []plan.Step {
	ms := func(least, most int) time.Duration {
		return time.Duration(least+draw.IntN(most-least)) * time.Millisecond
	}
	first := lock()
	switch draw.IntN(4) {
	case 0:
		first = tryLock(ms(0, 5000), 0)
	case 1:
		first = tryLock(ms(1000, 60000), time.Minute)
	}
	steps := []plan.Step{first, work(ms(10, 3000))}
	if draw.IntN(3) == 0 { // re-entry
		steps = append(steps, first, work(ms(10, 3000)), plan.Step{Do: plan.HoldCount, Lock: order}, unlock())
	}
	if draw.IntN(8) == 0 { // long enough for renewals
		steps = append(steps, work(ms(10000, 25000)))
	}
	return append(steps, unlock(), sleep(ms(0, 2000)))
}
