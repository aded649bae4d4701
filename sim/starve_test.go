package sim_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// beforeLock does something before the first lock is asked for.
type beforeLock struct {
	subjects.Client
	first func()
}

func (c beforeLock) Lock(name string) subjects.Lock {
	return beforeAcquire{c.Client.Lock(name), c.first}
}

type beforeAcquire struct {
	subjects.Lock
	first func()
}

func (l beforeAcquire) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	l.first()
	return l.Lock.Acquire(ctx, owner, r)
}

// A server that somebody else stops is recorded as a fault, which the plan does not have.
func TestAServerThatDoesNotAnswerIsAFault(t *testing.T) {
	redisserver.Need(t)
	server, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	remote, err := redisserver.Connect(t.Context(), "redis://"+server.Addr(), redisserver.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	const timescale = 0.1
	var once sync.Once
	resumed := make(chan error, 1)
	stop := func() {
		once.Do(func() {
			if err := server.Pause(); err != nil {
				t.Error(err)
			}
			time.AfterFunc(100*time.Millisecond, func() { resumed <- server.Resume() }) // a second of the plan
		})
	}
	s, _ := subjects.Find("rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return beforeLock{c, stop}, err
	}
	h, err := sim.Run(bubble.In(t), turns(), s, sim.Options{Seed: 1, Ground: world.At(remote, timescale, "holdfast:starved:", false)})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-resumed; err != nil {
		t.Fatal(err)
	}
	for _, f := range h.Faults {
		if f.Kind == "starve-server" && f.Has(history.ServerDown) && f.To-f.From > 500*time.Millisecond {
			return
		}
	}
	t.Errorf("faults %+v", h.Faults)
}
