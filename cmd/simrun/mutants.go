package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"sync"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// mutants explores the locks that are broken on purpose, and says of each whether it is caught, by
// which guarantee, and after how many runs. It is how the harness itself is measured.
func mutants(args []string, stdout, stderr io.Writer) int {
	runs, seeds, only, strategy := 1000, 10, "", "uniform"
	f := flag.NewFlagSet("simrun mutants", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.IntVar(&runs, "runs", runs, "a lock that survives so `many` runs was not caught")
	f.IntVar(&seeds, "seeds", seeds, "how `many` times each is hunted, with other seeds")
	f.StringVar(&only, "only", "", "`name` of the one to hunt")
	f.StringVar(&strategy, "strategy", strategy, "`how` to search: "+strategyNames())
	err := f.Parse(args)
	locks := broken.All()
	var names []string
	for _, l := range locks {
		names = append(names, l.Name)
	}
	_, known := explore.FindStrategy(strategy)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, "simrun mutants [flags] explores locks that are broken on purpose: each must be caught.\n\n")
		printFlags(stdout, f)
		return checker.ExitExpected
	case err != nil:
		return fail(stderr, checker.ExitUsage, "mutants: %v", flagError(f, err))
	case f.NArg() > 0:
		return fail(stderr, checker.ExitUsage, "mutants: stray argument %q", f.Arg(0))
	case runs < 1 || seeds < 1:
		return fail(stderr, checker.ExitUsage, "mutants: -runs and -seeds must be at least 1")
	case !known:
		return fail(stderr, checker.ExitUsage, "mutants: %v", unknown("strategy", strategy, []string{"uniform"}))
	case only != "":
		l, ok := broken.Find(only)
		if !ok {
			return fail(stderr, checker.ExitUsage, "mutants: %v", unknown("broken lock", only, names))
		}
		locks = []broken.Lock{l}
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	return huntAll(ctx, locks, runs, seeds, strategy, stdout, stderr)
}

// caught is what came out of hunting one lock with one seed.
type caught struct {
	runs  int // that it took, or that it survived
	by    *explore.Accusation
	error string
}

func huntAll(ctx context.Context, locks []broken.Lock, runs, seeds int, strategy string, stdout, stderr io.Writer) int {
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
				results[t.lock][t.seed] = caughtBy(r, err)
				bar.done(checker.ExitExpected)
				mu.Unlock()
			}
		})
	}
	for i := range locks {
		results[i] = make([]caught, seeds)
	}
	for i := range locks {
		for n := range seeds {
			tasks <- task{i, n}
		}
	}
	close(tasks)
	slots.Wait()
	bar.clear()
	if ctx.Err() != nil {
		return fail(stderr, checker.ExitHarness, "mutants: interrupted")
	}
	return tellMutants(locks, results, stdout, stderr)
}

func caughtBy(r result, err error) caught {
	switch {
	case err != nil:
		return caught{error: err.Error()}
	case r.Report == nil:
		return caught{error: r.Error}
	}
	c := caught{runs: r.Report.Runs}
	if len(r.Report.Found) > 0 {
		c.by = &r.Report.Found[0].Accusation
	} else if r.Report.Failure != nil && r.Report.Failed == r.Report.Runs {
		c.error = r.Report.Failure.Error
	}
	return c
}

// tellMutants prints a line for each lock: in how many hunts it was caught, after how many runs in
// the median and at worst, and by what.
func tellMutants(locks []broken.Lock, results [][]caught, stdout, stderr io.Writer) int {
	code := checker.ExitExpected
	survived, slow := 0, 0
	fmt.Fprintf(stdout, "%-34s %-7s %7s %7s  %s\n", "lock", "caught", "median", "worst", "by")
	for i, l := range locks {
		var took []int
		by := map[contract.Guarantee]int{}
		for n, c := range results[i] {
			if c.error != "" {
				code = checker.Worst(code, fail(stderr, checker.ExitHarness, "mutants: %s, hunt %d: %s", l.Name, n+1, c.error))
			}
			if c.by != nil {
				by[c.by.Guarantee]++
				took = append(took, c.runs)
			}
		}
		slices.Sort(took)
		line := fmt.Sprintf("%-34s %d/%-5d", l.Name, len(took), len(results[i]))
		if len(took) < len(results[i]) {
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
		fmt.Fprintln(stdout, line)
	}
	fmt.Fprintf(stdout, "%d locks broken on purpose, %d survived a hunt, %d took more than 200 runs in the median\n", len(locks), survived, slow)
	return code
}

// tallied words which guarantees caught a lock, the most frequent first.
func tallied(by map[contract.Guarantee]int) string {
	var order []contract.Guarantee
	for _, g := range contract.Guarantees() {
		if by[g] > 0 {
			order = append(order, g)
		}
	}
	slices.SortStableFunc(order, func(a, b contract.Guarantee) int { return cmp.Compare(by[b], by[a]) })
	text := ""
	for i, g := range order {
		if i > 0 {
			text += ", "
		}
		text += string(g)
		if len(order) > 1 {
			text += fmt.Sprintf(" %d", by[g])
		}
	}
	return text
}
