package sim_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/subjects"
)

// busyClient is one whose locks ask for much at once before they try anything.
type busyClient struct {
	subjects.Client
	redis redis.UniversalClient
}

type busyLock struct {
	subjects.Lock
	redis redis.UniversalClient
}

func (c busyClient) Lock(name string) subjects.Lock { return busyLock{c.Client.Lock(name), c.redis} }

func (l busyLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	var asking sync.WaitGroup
	for i := range 30 { // three times as many as there may be connections
		asking.Go(func() { l.redis.Get(ctx, strconv.Itoa(i)) })
	}
	asking.Wait()
	return l.Lock.Acquire(ctx, owner, r)
}

// What a client that waits for its own connections leaves behind in go-redis is of another bubble to the
// run that comes next: fatal, if it is found there.
func TestRunsWhoseClientsWaitForConnectionsFollowEachOther(t *testing.T) {
	s := subject(t, "rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return busyClient{c, e.Redis}, err
	}
	r := repeatable{scenario(t, "watchdog-death"), s, 1}
	first, _, _ := r.run(t)
	for range 10 {
		if again, _, _ := r.run(t); again != first {
			t.Fatalf("%+v, and then %+v", first, again)
		}
	}
}
