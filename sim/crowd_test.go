package sim_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// busyClient is one whose locks ask for much before they try anything.
type busyClient struct {
	subjects.Client
	ask func(context.Context)
}

type busyLock struct {
	subjects.Lock
	ask func(context.Context)
}

func (c busyClient) Lock(name string) subjects.Lock { return busyLock{c.Client.Lock(name), c.ask} }

func (l busyLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	l.ask(ctx)
	return l.Lock.Acquire(ctx, owner, r)
}

const manyAsked = 30 // three times as many as there may be connections

// askAtOnce has the connections taken by commands.
func askAtOnce(ctx context.Context, c redis.UniversalClient) {
	var asking sync.WaitGroup
	for i := range manyAsked {
		asking.Go(func() { c.Get(ctx, strconv.Itoa(i)) })
	}
	asking.Wait()
}

// askAndGiveUp has them taken by dials that outlive their commands.
func askAndGiveUp(ctx context.Context, c redis.UniversalClient) {
	for i := range manyAsked {
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		c.Get(short, strconv.Itoa(i))
		cancel()
	}
}

// What a client that waits for its own connections leaves behind in go-redis is of another bubble to the
// run that comes next: fatal, if it is found there.
func TestRunsWhoseClientsWaitForConnectionsFollowEachOther(t *testing.T) {
	unreachable := scenario(t, "watchdog-death")
	reachable := unreachable.Plan
	unreachable.Plan = func(seed uint64) *plan.Plan {
		p := reachable(seed)
		p.Faults = append(p.Faults, plan.Fault{Kind: "partition", Client: p.Clients[0].Name, To: plan.Duration(2 * time.Second)})
		return p
	}
	for name, ask := range map[string]func(context.Context, redis.UniversalClient){"commands": askAtOnce, "dials": askAndGiveUp} {
		t.Run(name, func(t *testing.T) {
			s := subject(t, "rlock-latch")
			open := s.Open
			s.Open = func(e subjects.Env) (subjects.Client, error) {
				c, err := open(e)
				return busyClient{c, func(ctx context.Context) { ask(ctx, e.Redis) }}, err
			}
			r := repeatable{unreachable, s, 1}
			first, _, _ := r.run(t)
			for range 10 {
				if again, _, _ := r.run(t); again != first {
					t.Fatalf("%+v, and then %+v", first, again)
				}
			}
		})
	}
}
