package scenarios_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// differs names what does not give the same verdicts in a world as in sim, and why (docs/real.md).
var differs = map[string]map[string]string{
	"redis": {
		"sweep-reorder-message": closeRace,
	},
	"miniredis": {
		"sweep-reorder-message": closeRace,
		"failover-async":        "miniredis has no replicas",
		"failover-wait":         "miniredis has no replicas",
		"failover-old-holder":   "miniredis has no replicas",
	},
}

const closeRace = "whether another message passes the one that waits turns on less than a millisecond, which real clients do not keep"

// someStories are enough to see that a world of real time works at all.
var someStories = []string{"watchdog-death", "lost-unlock-reply-reentrant", "restart-empty"}

// These have the program of HOLDFAST_SERVER for servers, or redis-server.
func redisWorld(timescale float64) world.Ground { return world.Redis(theServer(), timescale) }
func warpWorld(float64) world.Ground            { return world.WarpOn(theServer()) }

func theServer() string { return cmp.Or(os.Getenv("HOLDFAST_SERVER"), "redis-server") }

// TestWorldsAgree is the proof that the simulation does not lie: every scenario gives the same
// verdict on each guarantee in virtual time as in real time, on miniredis over TCP and on a real
// redis-server. That runs in virtual time as well. HOLDFAST_SERVER names another program for it, such as Valkey's.
// All of them take minutes and a machine that has nothing else to do, so that they are for HOLDFAST_WORLDS=all;
// with -short, that is every fourth.
func TestWorldsAgree(t *testing.T) {
	names := someStories
	if os.Getenv("HOLDFAST_WORLDS") == "all" {
		names = scenarios.Names()
		if testing.Short() {
			names = everyFourth(names)
		}
	} else if testing.Short() {
		t.Skip("it takes real time")
	}
	for _, c := range []struct {
		ground   func(timescale float64) world.Ground
		subjects []string
	}{
		{world.Miniredis, []string{"rlock-latch"}},
		{redisWorld, []string{"rlock-latch", "rlock-hardened"}},
		{warpWorld, []string{"rlock-latch", "rlock-hardened", "rsemaphore-classic", "rsemaphore-hardened", "rcountdownlatch-classic", "rcountdownlatch-hardened", "rfair-classic", "rfair-hardened"}},
	} {
		g := c.ground(1)
		name := g.Name
		t.Run(name, func(t *testing.T) {
			if name != "miniredis" {
				redisserver.Need(t)
			}
			if g.Warped {
				if _, err := exec.LookPath("cc"); err != nil || runtime.GOOS != "linux" {
					t.Skip("processes in virtual time need Linux and a C compiler")
				}
			}
			for _, scenario := range names {
				if differs[name][scenario] != "" {
					continue
				}
				story, _ := scenarios.Find(scenario)
				for _, subject := range c.subjects {
					lock, _ := libraries.Find(subject)
					if _, why := story.For(1, lock.Can); scenarios.OfAnother(why) {
						continue
					}
					if lock.Can(string(contract.Fair)) && story.Of == "" {
						continue // what the others show has nothing to do with its queue
					}
					t.Run(scenario+"/"+subject, func(t *testing.T) { agrees(t, c.ground, scenario, subject) })
				}
			}
		})
	}
}

func everyFourth(all []string) (some []string) {
	for i := 0; i < len(all); i += 4 {
		some = append(some, all[i])
	}
	return some
}

// timescales are those at which a story is told until one was fast enough for the machine: when a
// busy one was late, that was another story than the plan's, and it is told anew, slower. Lateness is
// measured, and has nothing to do with what came of the story. At full length it is told again, in the hope that what kept the
// machine busy is over.
var timescales = []float64{1. / 10, 1. / 10, 1. / 5, 1. / 2, 1, 1, 1}

func agrees(t *testing.T, ground func(timescale float64) world.Ground, name, subjectName string) {
	scenario, _ := scenarios.Find(name)
	subject, _ := libraries.Find(subjectName)
	judge := func(b *bubble.Bubbles, g world.Ground) (found map[contract.Guarantee]string, late time.Duration) {
		h, err := sim.Run(b, scenario.Plan(1), subject, sim.Options{Seed: 1, Scenario: name, Ground: g})
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		found = map[contract.Guarantee]string{}
		for _, r := range checker.Judge(context.Background(), h, checker.Options{}).Results {
			found[r.Guarantee] = fmt.Sprint(r.Status)
			for _, v := range r.Violations {
				t.Logf("%s, %s: %s", g.Name, r.Guarantee, v.Text)
			}
		}
		return found, h.End.Late
	}
	want, _ := judge(bubble.In(t), world.Sim())
	if g := ground(1); !g.Live { // nothing is late there
		if got, _ := judge(bubble.In(t), g); !maps.Equal(got, want) {
			t.Errorf("in sim %v, in %s %v", want, g.Name, got)
		}
		return
	}
	t.Parallel() // from here on it waits more than it works
	for _, timescale := range timescales {
		g := ground(timescale)
		got, late := judge(nil, g)
		if maps.Equal(got, want) {
			return
		}
		if late <= sim.Punctual {
			t.Fatalf("in sim %v, in %s %v, with the machine as much as %v late", want, g.Name, got, late)
		}
		t.Logf("void: at timescale %v the machine was as much as %v late, in the plan's time: %v", timescale, late, got)
	}
	t.Error("the machine is too busy to tell, even at full length")
}
