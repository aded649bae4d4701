package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/explore/night"
	"github.com/holdfast-sim/holdfast/sim/health"
)

// local runs shards in worker processes of this machine, one for each processor. It is an
// [explore.Executor]; one that runs them elsewhere needs to know no more than that interface.
type local struct {
	idle chan *worker
	all  []*worker
}

func newLocal() *local {
	n := runtime.NumCPU()
	l := &local{idle: make(chan *worker, n)}
	for range n {
		w := &worker{}
		l.all = append(l.all, w)
		l.idle <- w
	}
	return l
}

// counting counts the runs that an executor has done, and what they have found.
type counting struct {
	explore.Executor
	runs atomic.Int64

	mu    sync.Mutex
	found night.Sum
}

// Run implements [explore.Executor].
func (c *counting) Run(ctx context.Context, s explore.Shard) (explore.Report, error) {
	r, err := c.Executor.Run(ctx, s)
	c.runs.Add(int64(r.Runs))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.Add(r)
	return r, err
}

func (l *local) dismiss() {
	for _, w := range l.all {
		w.dismiss()
	}
}

func (l *local) Slots() int { return len(l.all) }

// do has an idle worker do a job of one result. When ctx ends, what is under way is given up.
func (l *local) do(ctx context.Context, j job) (result, error) {
	select {
	case w := <-l.idle:
		defer func() { l.idle <- w }()
		j.Runs, j.Out = 1, cmp.Or(j.Out, nowhere)
		r := w.do(ctx, j)[0]
		if r.Short != "" && ctx.Err() == nil {
			return r, health.Told(r.Short)
		}
		return r, ctx.Err()
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
}

// Run implements [explore.Executor]. A worker that dies costs the run it was at: the shard is done
// again seed by seed, to find out which one that was. Where runs learn from those before, it costs the shard.
func (l *local) Run(ctx context.Context, s explore.Shard) (explore.Report, error) {
	r, err := l.do(ctx, job{Subject: s.Config.Subject, Shard: &s})
	switch {
	case err != nil:
		return explore.Report{}, err
	case r.Report != nil:
		return *r.Report, nil
	case s.Runs <= 1 || learns(s):
		return explore.Report{Runs: max(1, s.Runs), Failed: max(1, s.Runs), Failure: &explore.Failure{Seed: s.From, Error: r.Error}}, nil
	}
	var parts []explore.Report
	for i := range s.Runs {
		one := s
		one.From, one.Runs = s.From+uint64(i), 1
		part, err := l.Run(ctx, one)
		if err != nil {
			return explore.Report{}, fmt.Errorf("seed %d: %w", one.From, err)
		}
		parts = append(parts, part)
	}
	return explore.Sum(parts).Whole(), nil
}

// learns reports whether the runs of a shard learn from each other.
func learns(s explore.Shard) bool {
	strategy, _ := explore.FindStrategy(s.Config.Strategy)
	return strategy.Learn != nil
}
