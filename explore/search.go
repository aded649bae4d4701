package explore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// ShardRuns is how many seeds a shard has. It is part of what a state file means.
const ShardRuns = 25

// Search is one search. All but Config and Executor may be zero.
type Search struct {
	Config   Config
	Executor Executor
	First    uint64              // seed; 0 is a seed like any other
	Runs     int                 // at most; 0: no end
	Part     Part                // of the shards, where others do the rest; the zero value: all
	For      time.Duration       // begin no shard later than that; 0: no end
	UntilHit bool                // begin no shard once the lock was found to be to blame
	Until    []string            // begin no shard once these goals were all reached; empty: that is no end
	State    *State              // what was done before, and where what is done is written to; nil: nowhere
	Each     func(Shard, Report) // called with each shard and its report, one at a time, also with those of State
}

// Part is a part of the shards of a search that draws: each Of-th of them, from the one numbered Index on.
type Part struct{ Index, Of int }

// has reports whether the part has the shard that begins so many seeds after the first; all shards have the same number of seeds.
func (p Part) has(from uint64, runs int) bool {
	return p.Of <= 1 || int(from/uint64(runs)%uint64(p.Of)) == p.Index
}

// Run searches until one of its ends is reached, when what was begun is done, or until ctx ends. The
// error is of the executor or of the state file.
func (s *Search) Run(ctx context.Context) (Total, error) {
	r := &searching{Search: s, ctx: ctx, total: newTotal(), begun: time.Now(), next: s.First}
	if strategy, _ := FindStrategy(s.Config.Strategy); strategy.Whole {
		r.queue = []Shard{{Config: s.Config}}
		r.taken = map[string]bool{r.queue[0].ID(): true}
	}
	if s.State != nil {
		r.before = s.State.Done
	}
	r.changed = sync.NewCond(&r.mu)
	var slots sync.WaitGroup
	for range s.Executor.Slots() {
		slots.Go(r.work)
	}
	slots.Wait()
	t := r.total.sorted()
	if r.taken == nil || len(r.queue) > 0 || r.givenUp {
		t.Complete = false
	}
	return t, r.err
}

// searching is a search under way.
type searching struct {
	*Search
	ctx    context.Context
	begun  time.Time
	before map[string]Report

	mu      sync.Mutex
	changed *sync.Cond
	next    uint64          // seed, for strategies that draw
	queue   []Shard         // for strategies that take a plan apart
	taken   map[string]bool // shards that were ever in the queue; nil: the strategy draws
	busy    int
	total   Total // of what is done
	hit     bool
	givenUp bool // a shard that was begun is not done
	err     error
}

func (r *searching) work() {
	for {
		shard, ok := r.take()
		if !ok {
			return
		}
		report, known := r.before[shard.ID()]
		var err error
		if !known {
			report, err = r.Executor.Run(r.ctx, shard)
		}
		r.finish(shard, report, known, err)
	}
}

// take returns a shard to do, or false when there will be none any more.
func (r *searching) take() (Shard, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.err != nil || r.ctx.Err() != nil || r.hit && r.UntilHit || r.reachedAll() || r.For > 0 && time.Since(r.begun) >= r.For:
			return Shard{}, false
		case r.taken == nil:
			return r.draw()
		case len(r.queue) > 0:
			s := r.queue[0]
			r.queue = r.queue[1:]
			r.busy++
			return s, true
		case r.busy == 0:
			return Shard{}, false
		}
		r.changed.Wait()
	}
}

// reachedAll reports whether the goals were reached that end the search.
func (r *searching) reachedAll() bool {
	return len(r.Until) > 0 && !slices.ContainsFunc(r.Until, func(goal string) bool { return r.total.Reached[goal].Runs == 0 })
}

func (r *searching) draw() (Shard, bool) {
	strategy, _ := FindStrategy(r.Config.Strategy)
	size := cmp.Or(strategy.Runs, ShardRuns)
	for !r.Part.has(r.next-r.First, size) {
		r.next += uint64(size)
	}
	s := Shard{Config: r.Config, From: r.next, Runs: blockRuns}
	left := blockRuns
	if r.Runs > 0 {
		if left = r.Runs - int(r.next-r.First); left <= 0 {
			return Shard{}, false
		}
	}
	if _, known := r.before[s.ID()]; !known || left < blockRuns || r.Part.Of > 1 {
		s.Runs = min(size, left)
	}
	r.next += uint64(s.Runs)
	r.busy++
	return s, true
}

func (r *searching) finish(s Shard, report Report, known bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed.Broadcast()
	r.busy--
	if err == nil && !known && r.State != nil {
		err = r.State.Append(s, report)
	}
	if err != nil {
		r.givenUp = true
		if r.err == nil && r.ctx.Err() == nil {
			r.err = err
		}
		return
	}
	r.total.add(report)
	r.hit = r.hit || report.Accused > 0 || report.Failed > 0
	for _, n := range report.Next {
		n.Config = r.Config
		if id := n.ID(); r.taken != nil && !r.taken[id] {
			r.taken[id] = true
			r.queue = append(r.queue, n)
		}
	}
	if r.Each != nil {
		r.Each(s, report)
	}
}
