package soak

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
)

// A replica that takes the master's place has what it heard of, and of that no lock that was another then.
func TestReplicaTakesTheMastersPlace(t *testing.T) {
	s := server(t)
	c := config(s, subject(t, "rlock-hardened"))
	c.Locks = 6
	r := &run{Config: c, expired: t.Context()}
	r.servers.master.Store(s)
	do := func(do func(p redis.Pipeliner)) {
		t.Helper()
		p := s.Client().Pipeline()
		do(p)
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hold := func(p redis.Pipeliner, n int, owner string, lease time.Duration) {
		p.HSet(t.Context(), r.key(n), owner, 1)
		p.PExpire(t.Context(), r.key(n), lease)
	}
	for turn := range 2 { // and back
		do(func(p redis.Pipeliner) {
			for _, n := range []int{0, 1, 2, 4} {
				hold(p, n, "a", time.Minute)
			}
		})
		if err := r.servers.replica(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := r.servers.spare
		if err := next.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		do(func(p redis.Pipeliner) {
			hold(p, 1, "b", time.Minute)
			hold(p, 2, "a", 2*time.Minute)
			hold(p, 3, "c", time.Minute)
			p.Del(t.Context(), r.key(4))
		})
		lost, err := r.lost(s.Client(), next.Client())
		if err != nil || !slices.Equal(lost, []int{1, 2, 3, 4, 5}) {
			t.Errorf("turn %d: lost %v, %v", turn, lost, err)
		}
		if keys, err := next.Client().Keys(t.Context(), "*").Result(); err != nil || !slices.Equal(keys, []string{r.key(0)}) {
			t.Errorf("turn %d: the replica has %q, %v", turn, keys, err)
		}
		r.servers.swap()
		if s.Client().Ping(t.Context()).Err() == nil || r.servers.master.Load() != next {
			t.Errorf("turn %d: the master is there yet", turn)
		}
		s = next
	}
	if r.servers.master.Load() != c.Server.Own {
		t.Error("the second failover leads to another server than the first began with")
	}
	other := r.servers.spare
	if err := r.servers.home(t.Context(), c.Server.Own); err != nil || other.Client().Ping(t.Context()).Err() == nil {
		t.Errorf("the other server is there yet, or %v", err)
	}
	if err := c.Server.Own.Client().Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

// Clients go on with the new master, which has lost some of their locks; the server that the run was given is back at its end.
func TestFailoverLosesLocks(t *testing.T) {
	s := server(t)
	c := config(s, subject(t, "rlock-hardened"))
	c.Faults, c.Watchdog, c.Every, c.For = kinds("failover"), 400*time.Millisecond, 100*time.Millisecond, time.Hour
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var last time.Duration
	lost, granted := 0, 0
	c.Out = func(record any) {
		switch record := record.(type) {
		case history.Event:
			if record.Kind == history.Failover {
				last = record.At
			}
			if record.Kind == history.Delete && record.At == last {
				lost++
			}
		case history.Op:
			if record.Outcome == history.Acquired && record.Call > last && lost > 0 {
				granted++
			}
		}
		if granted > 100 {
			enough()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || lost == 0 || r.Struck["failover"] == 0 {
		t.Errorf("%d locks lost, %d grants then, %v", lost, granted, err)
	}
	if n, err := s.Client().DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys, %v", n, err)
	}
}
