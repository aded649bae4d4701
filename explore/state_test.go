package explore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// quick reports of each shard what is of the usual size, without running anything.
type quick struct{ done int }

func (q *quick) Slots() int { return 1 }

func (q *quick) Run(_ context.Context, s explore.Shard) (explore.Report, error) {
	q.done++
	r := explore.Report{Runs: s.Runs, Looked: s.Runs, Goals: []explore.Reached{{Goal: "here", Runs: 2, Seed: s.From + 4}}, Broken: 3, Ops: 10 * s.Runs, Messages: 100 * s.Runs}
	for i := range 60 {
		r.Covered = append(r.Covered, fault.Count{Cell: fault.Cell{Kind: "drop-message", On: fmt.Sprintf("reply acquire %d", i), Outcome: "acquired"}, Times: 3})
		r.States = append(r.States, explore.Visit{LockState: explore.LockState{Step: fmt.Sprint("step", i%20), Holds: i % 4, Waiting: i % 3}, Times: 7})
	}
	for range 2 {
		r.Samples = append(r.Samples, reports.Summary{Verdict: &checker.Verdict{Seed: s.From, Explanation: strings.Repeat("x", 2000)}})
	}
	return r, nil
}

// What was done takes little room, however much it was, and is not done again.
func TestTheStateOfALongSearchStaysSmall(t *testing.T) {
	runs := 100_000
	if os.Getenv("HOLDFAST_LONG") != "" {
		runs = 1_000_000
	}
	name := filepath.Join(t.TempDir(), "state.jsonl")
	search := func(runs int) (explore.Total, int) {
		state, err := explore.OpenState(name, explore.Config{Version: explore.Version, Strategy: "uniform"}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		q := &quick{}
		s := explore.Search{Config: explore.Config{Version: explore.Version, Strategy: "uniform"}, Executor: q, First: 1, Runs: runs, State: state}
		total, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > 100<<20 {
			t.Errorf("after %d runs %d MB are in use", runs, m.HeapAlloc>>20)
		}
		return total, q.done
	}
	first, done := search(runs)
	if info, err := os.Stat(name); err != nil || done != runs/explore.ShardRuns || info.Size() > 10<<20 {
		t.Errorf("%d shards: %v, %d bytes", done, err, info.Size())
	}
	second, done := search(runs + 3)
	if done != 1 || second.Runs != first.Runs+3 || second.Messages != first.Messages+300 || len(second.Visited) != len(first.Visited) {
		t.Errorf("%d shards were done again; %d runs and then %d", done, first.Runs, second.Runs)
	}
	// A goal is counted once, however often shards were put together, and its first seed is the first of all.
	for total, shards := range map[*explore.Total]int{&first: runs / explore.ShardRuns, &second: runs/explore.ShardRuns + 1} {
		if want := (explore.Reached{Goal: "here", Runs: 2 * shards, Seed: 5}); total.Reached["here"] != want || total.Looked != total.Runs {
			t.Errorf("%d runs: %+v, want %+v; %d were asked", total.Runs, total.Reached["here"], want, total.Looked)
		}
	}
	for seen := range first.Coverage {
		if second.Coverage[seen] != first.Coverage[seen]+3 {
			t.Fatalf("%v: %d, then %d", seen, first.Coverage[seen], second.Coverage[seen])
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() > 5<<20 {
		t.Errorf("opened again: %v, %d bytes", err, info.Size())
	}
	if total, _ := search(30); total.Runs != 30 { // a part of a block is done again
		t.Errorf("30 runs are %d", total.Runs)
	}
}

func TestTwoSearchesCannotShareAState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.jsonl")
	state, err := explore.OpenState(name, explore.Config{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := explore.OpenState(name, explore.Config{}, true); err == nil || !strings.Contains(err.Error(), "another process is at this search") {
		t.Errorf("a second one: %v", err)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := explore.OpenState(name, explore.Config{}, false)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
