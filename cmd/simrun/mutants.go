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
	json           bool
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
	jsonFlag(f, &o.json, "what came out of each hunt, or with -list their names,")
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
	what := "broken lock"
	for _, l := range locks {
		names = append(names, l.Name)
	}
	if o.source {
		names, what = nil, "mistake in the source"
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
		return fail(stderr, checker.ExitUsage, "mutants: %v", unknown(what, o.only, names))
	case o.only != "":
		locks = slices.DeleteFunc(locks, func(l broken.Lock) bool { return l.Name != o.only })
		sources = slices.DeleteFunc(sources, func(m broken.SourceMutant) bool { return m.Name != o.only })
	}
	if o.list {
		return listMutants(stdout, stderr, locks, sources, o)
	}
	if o.source {
		return huntSources(ctx, sources, o, stdout, stderr)
	}
	return huntAll(ctx, locks, o, stdout, stderr)
}

// listMutants names the broken locks, or the mistakes in the source.
func listMutants(stdout, stderr io.Writer, locks []broken.Lock, sources []broken.SourceMutant, o *mutantOrder) int {
	found := hunted{Locks: []huntedLock{}}
	if o.source {
		for _, m := range sources {
			found.Locks = append(found.Locks, huntedLock{Name: m.Name, About: m.About})
		}
	} else {
		for _, l := range locks {
			found.Locks = append(found.Locks, huntedLock{Name: l.Name, About: l.About})
		}
	}
	if o.json {
		return printJSON(stdout, stderr, found)
	}
	for _, l := range found.Locks {
		row(stdout, l.Name, l.About, listed)
	}
	return checker.ExitExpected
}

// hunted is what simrun mutants -json prints.
type hunted struct {
	Locks    []huntedLock  `json:"locks"`
	Survived int           `json:"survived"` // how many locks survived a hunt
	Wall     time.Duration `json:"wall,omitzero"`
}

// huntedLock is a lock that is broken on purpose, and what came out of hunting it. With -list it was not hunted.
type huntedLock struct {
	Name   string         `json:"name"`
	About  string         `json:"about,omitzero"`
	Hunts  int            `json:"hunts,omitzero"`
	Caught int            `json:"caught"`          // in how many of them
	Median int            `json:"median,omitzero"` // after how many runs
	Worst  int            `json:"worst,omitzero"`
	By     map[string]int `json:"by,omitempty"`    // what caught it, how often
	Unseen string         `json:"unseen,omitzero"` // why it cannot be caught
	Slow   bool           `json:"slow,omitzero"`   // more than 200 runs in the median
}

// survived reports whether a lock that can be caught was not, in one of its hunts.
func (l huntedLock) survived() bool {
	return l.Caught < l.Hunts && (l.Unseen == "" || l.Caught > 0)
}

// caught is what came out of hunting one lock with one seed.
type caught struct {
	runs  int    // that it took, or that it survived
	by    string // what caught it; "": nothing did
	error string
	hunt  int  // the how manieth of the lock, from 0
	ended bool // by an interruption: it is no result
}

func huntAll(ctx context.Context, locks []broken.Lock, o *mutantOrder, stdout, stderr io.Writer) int {
	begun := time.Now()
	workers := newLocal()
	defer workers.dismiss()
	scope := scenarios.Whole()
	bar := newProgress(stderr, len(locks)*o.seeds)
	results := make([][]caught, len(locks))
	var mu sync.Mutex
	type task struct{ lock, seed int }
	tasks := make(chan task)
	var slots sync.WaitGroup
	for range workers.Slots() {
		slots.Go(func() {
			for t := range tasks {
				shard := explore.Shard{From: uint64(t.seed)*1_000_000 + 1, Runs: o.runs,
					Config: explore.Config{Version: explore.Version, Subject: locks[t.lock].Name, Strategy: o.strategy, Scope: scope}}
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
		for n := 0; n < o.seeds && ctx.Err() == nil; n++ {
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
	return tellMutants(ctx, names, nil, results, begun, o.json, stdout, stderr)
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
func tellMutants(ctx context.Context, names []string, unseen map[string]string, results [][]caught, begun time.Time, asJSON bool, stdout, stderr io.Writer) int {
	code := checker.ExitExpected
	found := hunted{Locks: []huntedLock{}}
	slow := 0
	say(forPeople(stdout, asJSON), "%-34s %-7s %7s %7s  %s\n", "lock", "caught", "median", "worst", "by")
	for i, name := range names {
		done := slices.DeleteFunc(results[i], func(c caught) bool { return c.ended })
		for _, c := range done {
			if c.error != "" {
				code = checker.Worst(code, fail(stderr, checker.ExitHarness, "mutants: %s, hunt %d: %s", name, c.hunt+1, c.error))
			}
		}
		l, by := summed(name, unseen[name], done)
		found.Locks = append(found.Locks, l)
		if l.survived() {
			found.Survived++
			code = checker.Worst(code, checker.ExitUnexpected)
		}
		if l.Slow {
			slow++
		}
		say(forPeople(stdout, asJSON), "%s\n", l.line(by))
	}
	if found.Wall = time.Since(begun); asJSON {
		code = checker.Worst(code, printJSON(stdout, stderr, found))
	} else {
		say(stdout, "%d locks broken on purpose, %d survived a hunt, %d took more than 200 runs in the median; all in %v\n", len(names), found.Survived, slow, rounded(found.Wall))
	}
	return interrupted(ctx, stderr, code, "mutants: interrupted: of hunts that were not done there is no result")
}

// summed is what came out of all hunts of one lock, and what caught it, in the order of the hunts.
func summed(name, unseen string, hunts []caught) (l huntedLock, by []string) {
	l = huntedLock{Name: name, Hunts: len(hunts), Unseen: unseen, By: map[string]int{}}
	var took []int
	for _, c := range hunts {
		if c.by != "" {
			by = append(by, c.by)
			l.By[c.by]++
			took = append(took, c.runs)
		}
	}
	if l.Caught = len(took); l.Caught > 0 {
		slices.Sort(took)
		l.Median, l.Worst = took[(len(took)-1)/2], took[len(took)-1]
		l.Slow = l.Median > 200
	}
	return l, by
}

// line tells of a lock on a terminal.
func (l huntedLock) line(by []string) string {
	line := fmt.Sprintf("%-34s %d/%-5d", l.Name, l.Caught, l.Hunts)
	switch {
	case l.Unseen != "" && l.Caught == 0:
		line += "  cannot be seen: " + l.Unseen
	case l.survived():
		line += "  SURVIVED"
	}
	if l.Caught > 0 {
		line += fmt.Sprintf(" %7d %7d  %s", l.Median, l.Worst, tallied(by))
	}
	return line
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
