package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// mutantOrder is what the user of simrun mutants asked for.
type mutantOrder struct {
	runs, seeds    int
	only, strategy string
	source, list   bool
}

func newMutantOrder() *mutantOrder { return &mutantOrder{runs: 1000, seeds: 10, strategy: "uniform"} }

func mutantFlags(o *mutantOrder) *flag.FlagSet {
	f := newFlags("mutants")
	f.IntVar(&o.runs, "runs", o.runs, "a lock that survives so `many` runs was not caught")
	f.IntVar(&o.seeds, "seeds", o.seeds, "how `many` times each is hunted, with other seeds")
	f.StringVar(&o.only, "only", "", "`name` of the one to hunt")
	f.StringVar(&o.strategy, "strategy", o.strategy, "`how` to search: "+strategyNames())
	f.BoolVar(&o.source, "source", false, "mistakes in the reference lock's own source, each compiled: run it in a checkout, with Go installed")
	f.BoolVar(&o.list, "list", false, "only their names, and what is wrong with each")
	return f
}

// mutants explores the locks that are broken on purpose, and says of each whether it is caught, by
// which guarantee, and after how many runs. It is how the harness itself is measured.
func mutants(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := newMutantOrder()
	f := mutantFlags(o)
	err := f.Parse(args)
	locks, sources := broken.Everything(), broken.SourceMutants()
	var names []string
	for _, l := range locks {
		names = append(names, l.Name)
	}
	if o.source {
		names = nil
		for _, m := range sources {
			names = append(names, m.Name)
		}
	}
	_, known := explore.FindStrategy(o.strategy)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "mutants")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "mutants: %v", flagError(f, err))
	case f.NArg() > 0:
		return fail(stderr, checker.ExitUsage, "mutants: stray argument %q", f.Arg(0))
	case o.runs < 1 || o.seeds < 1:
		return fail(stderr, checker.ExitUsage, "mutants: -runs and -seeds must be at least 1")
	case o.runs > mostRuns || o.seeds > mostRuns:
		return fail(stderr, checker.ExitUsage, "mutants: -runs and -seeds may be at most %d", mostRuns)
	case !known:
		return fail(stderr, checker.ExitUsage, "mutants: %v", unknown("strategy", o.strategy, []string{"uniform"}))
	case o.only != "" && !slices.Contains(names, o.only):
		return fail(stderr, checker.ExitUsage, "mutants: %v", unknown("broken lock", o.only, names))
	case o.only != "":
		locks = slices.DeleteFunc(locks, func(l broken.Lock) bool { return l.Name != o.only })
		sources = slices.DeleteFunc(sources, func(m broken.SourceMutant) bool { return m.Name != o.only })
	}
	if o.list {
		return listMutants(stdout, locks, sources, o.source)
	}
	if o.source {
		return huntSources(ctx, sources, o.runs, o.seeds, o.strategy, stdout, stderr)
	}
	return huntAll(ctx, locks, o.runs, o.seeds, o.strategy, stdout, stderr)
}

// listMutants names the broken locks, or the mistakes in the source.
func listMutants(w io.Writer, locks []broken.Lock, sources []broken.SourceMutant, source bool) int {
	if source {
		for _, m := range sources {
			row(w, m.Name, m.About, listed)
		}
		return checker.ExitExpected
	}
	for _, l := range locks {
		row(w, l.Name, l.About, listed)
	}
	return checker.ExitExpected
}

// caught is what came out of hunting one lock with one seed.
type caught struct {
	runs  int    // that it took, or that it survived
	by    string // what caught it; "": nothing did
	error string
	hunt  int  // the how manieth of the lock, from 0
	ended bool // by an interruption: it is no result
}

func huntAll(ctx context.Context, locks []broken.Lock, runs, seeds int, strategy string, stdout, stderr io.Writer) int {
	begun := time.Now()
	workers := newLocal()
	defer workers.dismiss()
	scope := scenarios.Whole()
	bar := newProgress(stderr, len(locks)*seeds)
	results := make([][]caught, len(locks))
	var mu sync.Mutex
	type task struct{ lock, seed int }
	tasks := make(chan task)
	var slots sync.WaitGroup
	for range workers.Slots() {
		slots.Go(func() {
			for t := range tasks {
				shard := explore.Shard{From: uint64(t.seed)*1_000_000 + 1, Runs: runs,
					Config: explore.Config{Version: explore.Version, Subject: locks[t.lock].Name, Strategy: strategy, Scope: scope}}
				r, err := workers.do(ctx, job{Subject: locks[t.lock].Name, Hunt: &shard})
				mu.Lock()
				c := caughtBy(r, err)
				c.hunt = t.seed
				results[t.lock] = append(results[t.lock], c)
				bar.done(checker.ExitExpected)
				mu.Unlock()
			}
		})
	}
	for i := range locks {
		for n := 0; n < seeds && ctx.Err() == nil; n++ {
			tasks <- task{i, n}
		}
	}
	close(tasks)
	slots.Wait()
	bar.clear()
	var names []string
	for _, l := range locks {
		names = append(names, l.Name)
	}
	return tellMutants(ctx, names, nil, results, begun, stdout, stderr)
}

func caughtBy(r result, err error) caught {
	switch {
	case health.Short(err) != nil:
		return caught{error: err.Error()}
	case err != nil: // see [local.do]
		return caught{ended: true}
	case r.Report == nil:
		return caught{error: r.Error}
	}
	c := caught{runs: r.Report.Runs}
	if len(r.Report.Found) > 0 {
		c.by = string(r.Report.Found[0].Guarantee)
	} else if r.Report.Failure != nil && r.Report.Failed == r.Report.Runs {
		c.error = r.Report.Failure.Error
	}
	return c
}

// tellMutants prints a line for each lock: in how many hunts it was caught, after how many runs in
// the median and at worst, and by what. unseen says why some cannot be caught, by their names.
func tellMutants(ctx context.Context, names []string, unseen map[string]string, results [][]caught, begun time.Time, stdout, stderr io.Writer) int {
	code := checker.ExitExpected
	survived, slow := 0, 0
	say(stdout, "%-34s %-7s %7s %7s  %s\n", "lock", "caught", "median", "worst", "by")
	for i, name := range names {
		var took []int
		var by []string
		results[i] = slices.DeleteFunc(results[i], func(c caught) bool { return c.ended })
		for _, c := range results[i] {
			if c.error != "" {
				code = checker.Worst(code, fail(stderr, checker.ExitHarness, "mutants: %s, hunt %d: %s", name, c.hunt+1, c.error))
			}
			if c.by != "" {
				by = append(by, c.by)
				took = append(took, c.runs)
			}
		}
		slices.Sort(took)
		line := fmt.Sprintf("%-34s %d/%-5d", name, len(took), len(results[i]))
		if why := unseen[name]; why != "" && len(took) == 0 {
			line += "  cannot be seen: " + why
		} else if len(took) < len(results[i]) {
			survived++
			code = checker.Worst(code, checker.ExitUnexpected)
			line += "  SURVIVED"
		}
		if len(took) > 0 {
			median := took[(len(took)-1)/2]
			if median > 200 {
				slow++
			}
			line += fmt.Sprintf(" %7d %7d  %s", median, took[len(took)-1], tallied(by))
		}
		say(stdout, "%s\n", line)
	}
	say(stdout, "%d locks broken on purpose, %d survived a hunt, %d took more than 200 runs in the median; all in %v\n", len(names), survived, slow, rounded(time.Since(begun)))
	return interrupted(ctx, stderr, code, "mutants: interrupted: of hunts that were not done there is no result")
}

// tallied words what caught a lock, the most frequent first.
func tallied(by []string) string {
	counts := map[string]int{}
	var order []string
	for _, what := range by {
		if counts[what]++; counts[what] == 1 {
			order = append(order, what)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	text := ""
	for i, what := range order {
		if i > 0 {
			text += ", "
		}
		text += what
		if len(order) > 1 {
			text += fmt.Sprintf(" %d", counts[what])
		}
	}
	return text
}
