package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/external"
)

// hunt is what "simrun explore" is asked for.
type hunt struct {
	order    // subject, seed, runs, out, verbose, plan
	strategy string
	faults   string // names with commas, all or none
	length   time.Duration
	first    bool
	compare  string
	on       string // a broker whose workers do the shards
	part     explore.Part
	allGoals bool // the search ends once all goals were reached
	fresh    bool
	strikes  int
	clients  int
	sections int
	config   explore.Config
}

func huntFlags(h *hunt) *flag.FlagSet {
	f := newFlags("explore")
	f.StringVar(&h.subject, "subject", defaultSubject, "`name` of the lock under test (simrun list, simrun mutants -list), exec:CMD, or all")
	f.StringVar(&h.strategy, "strategy", explore.Strategies()[0].Name, "`how` to search: "+strategyNames())
	h.seed = 1
	f.Var((*seedFlag)(&h.seed), "seed", "`number` of the first run; the others follow")
	f.IntVar(&h.runs, "runs", 0, "stop after so `many` runs (default 1000, unless another end is given)")
	f.DurationVar(&h.length, "for", 0, "stop after so `long`, such as 8h")
	f.BoolVar(&h.first, "first", false, "stop at the first failure")
	f.StringVar(&h.compare, "compare", "", "`state` of the same search before (state.jsonl, or an -out folder): say what is new, and let only that be exit code 1")
	f.BoolVar(&h.allGoals, "until-goals", false, "stop once all goals were reached that the lock can reach; exit code 2 if they were not")
	f.StringVar(&h.on, "on", "", "`URL` of a broker whose workers do the runs, such as nats://host:4222 (docs/fleet.md)")
	f.Var((*partFlag)(&h.part), "shard", "do only `part` i of n, as i/n from 0/n on; merge puts the parts together")
	f.StringVar(&h.faults, "faults", "all", "`kinds` of faults that may strike, with commas between; all, or none")
	f.IntVar(&h.clients, "clients", 0, "at most so `many` clients (default 3, and now and then 10)")
	f.IntVar(&h.sections, "sections", 3, "at most so `many` critical sections of each thread, besides what is nested in them")
	f.StringVar(&h.planFile, "plan", "", "`file` with the plan that -strategy exhaustive takes apart (default: two clients that lock and unlock)")
	f.IntVar(&h.strikes, "strikes", 1, "at most so `many` faults, of -strategy exhaustive")
	f.StringVar(&h.out, "out", defaultOut, "`folder` for what is found and how far the search is, or none")
	f.BoolVar(&h.fresh, "fresh", false, "begin anew, rather than go on where the same search stopped")
	h.proofFlag(f)
	f.BoolVar(&h.verbose, "v", false, "the whole coverage")
	jsonFlag(f, &h.json, "what came out, of several locks one a line,")
	return f
}

func strategyNames() string {
	var names []string
	for _, s := range explore.Strategies() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// exploreCommand is simrun explore: random plans by seed, until something ends it.
func exploreCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	h, err := parseHunt(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "explore")
	case ctx.Err() != nil:
		return interrupted(ctx, stderr, checker.ExitExpected, "explore: interrupted before it began")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "explore: %v", err)
	}
	if err := writable(h.out); err != nil {
		return fail(stderr, blame(err), "-out %s: %v", h.out, err)
	}
	locks := []string{h.subject}
	if h.subject == everything {
		locks = slices.DeleteFunc(subjectNames(), func(name string) bool { return h.unfit(name) != nil })
	}
	workers := newLocal()
	defer workers.dismiss()
	code := checker.ExitExpected
	for _, lock := range locks {
		one := h
		one.subject = lock
		one.config.Subject = lock
		code = checker.Worst(code, one.search(ctx, workers, args, stdout, stderr))
		if ctx.Err() != nil {
			break
		}
	}
	return code
}

func parseHunt(ctx context.Context, args []string) (hunt, error) {
	h := hunt{}
	f := huntFlags(&h)
	if err := f.Parse(args); err != nil {
		return h, flagError(f, err)
	}
	if _, ok := explore.FindStrategy(h.strategy); !ok {
		return h, unknown("strategy", h.strategy, strings.Split(strategyNames(), ", "))
	}
	switch {
	case f.NArg() > 0:
		return h, fmt.Errorf("stray argument %q: everything is a flag, see simrun explore -help", f.Arg(0))
	case h.runs < 0:
		return h, fmt.Errorf("-runs %d: must not be negative", h.runs)
	case h.length < 0:
		return h, fmt.Errorf("-for %v: must not be negative", h.length)
	case h.clients < 0 || h.clients > 50:
		return h, fmt.Errorf("-clients %d: from 1 to 50", h.clients)
	case h.sections < 1 || h.sections > 50:
		return h, fmt.Errorf("-sections %d: from 1 to 50", h.sections)
	case h.out == "":
		return h, errors.New(`-out "": name a folder, or none`)
	}
	if strategy, _ := explore.FindStrategy(h.strategy); strategy.Whole && h.part.Of > 0 {
		return h, fmt.Errorf("-shard: -strategy %s takes one plan apart, by what it finds; it is for strategies that draw plans", h.strategy)
	}
	if h.on != "" && isProcess(h.subject) {
		return h, fmt.Errorf("-on: processes of their own (-subject %s) run on this machine alone", h.subject)
	}
	if strategy, _ := explore.FindStrategy(h.strategy); strategy.Whole && h.allGoals {
		return h, fmt.Errorf("-until-goals: -strategy %s has an end of its own; it is for strategies that draw plans", h.strategy)
	}
	if strategy, _ := explore.FindStrategy(h.strategy); h.compare != "" && (strategy.Whole || strategy.Learn != nil) {
		return h, fmt.Errorf("-compare: runs of -strategy %s are no sample; it is for strategies that draw plans by the seed alone", h.strategy)
	}
	if h.runs == 0 && h.length == 0 && !h.first && !h.allGoals {
		h.runs = 1000
	}
	scope := scenarios.Whole()
	scope.Clients, scope.Sections = h.clients, h.sections
	switch h.faults {
	case everything:
	case nowhere:
		scope.Faults = nil
	default:
		scope.Faults = strings.Split(h.faults, ",")
		for _, name := range scope.Faults {
			if _, ok := fault.Find(name); !ok {
				return h, unknown("fault", name, fault.Names())
			}
		}
	}
	h.config = explore.Config{Version: explore.Version, Strategy: h.strategy, Scope: scope}
	if isProcess(h.subject) {
		return h, h.checkProcess(ctx)
	}
	if strategy, _ := explore.FindStrategy(h.strategy); strategy.Whole {
		return h, h.takeApart(ctx)
	}
	if h.planFile != "" {
		return h, errNoPlan
	}
	return h, h.checkSubject()
}

// checkProcess says what cannot be searched of a lock in processes of its own. It starts one, which says what it can.
func (h *hunt) checkProcess(ctx context.Context) error {
	switch strategy, _ := explore.FindStrategy(h.strategy); {
	case !warps(runtime.GOOS):
		return fmt.Errorf("-subject %s: processes of their own are explored in virtual time, which needs Linux", h.subject)
	case strategy.Whole:
		return fmt.Errorf("-strategy %s: the steps of processes of their own (-subject exec:CMD) cannot be ordered", h.strategy)
	case h.planFile != "":
		return errNoPlan
	}
	h.place = place{World: warpWorld, Timescale: 1}
	return openProcesses(ctx, []string{h.subject}, h.place, os.Stderr)
}

var errNoPlan = errors.New("-plan is for -strategy exhaustive; the others draw theirs")

// takeApart makes the configuration of a strategy that takes a plan apart. It has an end of its own.
func (h *hunt) takeApart(ctx context.Context) error {
	if h.strikes < 0 || h.strikes > 3 {
		return fmt.Errorf("-strikes %d: from 0 to 3", h.strikes)
	}
	faults := h.config.Scope.Faults
	if h.faults == everything {
		faults = explore.ExhaustiveFaults()
	}
	h.config = explore.Config{Version: explore.Version, Strategy: h.strategy, Scope: scenarios.Scope{Faults: faults}, Plan: explore.Pair(), Strikes: h.strikes}
	if h.planFile == "" {
		return cmp.Or(h.checkSubject(), h.unfit(h.subject))
	}
	if err := h.readPlan(ctx); err != nil {
		return err
	}
	h.config.Plan = h.plan
	return h.unfit(h.subject)
}

// unfit says that a subject is another kind of object than the plan that is taken apart is about.
func (h *hunt) unfit(subject string) error {
	if h.config.Plan == nil || subject == everything || isProcess(subject) {
		return nil
	}
	s, _ := findSubject(subject)
	if _, why := scenarios.Fit(h.config.Plan, s.Can); scenarios.OfAnother(why) {
		return fmt.Errorf("-subject %s: it is another kind of object than the plan is about; name another with -plan", subject)
	}
	return nil
}

// search searches one lock, keeps what it finds, and says what came out.
func (h hunt) search(ctx context.Context, workers *local, args []string, output, stderr io.Writer) int {
	dir, stdout := "", forPeople(output, h.json)
	counted := &counting{Executor: workers}
	if h.on != "" {
		fleet, err := newRemote(ctx, h.on, h.config, stderr)
		switch {
		case ctx.Err() != nil:
			return interrupted(ctx, stderr, checker.ExitExpected, "explore: interrupted before it began")
		case errors.Is(err, errNoFleet):
			return fail(stderr, checker.ExitUsage, "explore: -on %s: %v", h.on, err)
		case err != nil:
			return fail(stderr, checker.ExitHarness, "explore: -on %s: %v", h.on, err)
		}
		defer fleet.close()
		counted.Executor = fleet
	}
	before, err := h.before()
	if err != nil {
		return fail(stderr, blame(err), "explore: -compare %s: %v", h.compare, err)
	}
	s := explore.Search{Config: h.config, Executor: counted, First: h.seed, Runs: h.runs, For: h.length, UntilHit: h.first, Part: h.part}
	if h.allGoals {
		s.Until = namesOf(h.goals())
	}
	if h.out != nowhere {
		dir = filepath.Join(h.out, h.folder())
		state, err := h.open(dir)
		if err != nil {
			return fail(stderr, blame(err), "explore: %v", err)
		}
		defer state.Close()
		s.State = state
	}
	total := h.runs
	if h.part.Of > 1 {
		total = -1 // it does not divide evenly
	}
	if total == 0 {
		total = -1 // nobody knows
	}
	strategy, _ := explore.FindStrategy(h.strategy)
	if strategy.Whole {
		s.Runs, total = 0, -1
	}
	bar := newProgress(stderr, total)
	var grown explore.Growth
	s.Each = func(part explore.Shard, r explore.Report) {
		grown.Add(part, r)
		for i := range r.Runs {
			code := checker.ExitExpected
			if i < r.Accused+r.Failed {
				code = checker.ExitUnexpected
			}
			bar.done(code)
		}
	}
	begun := time.Now()
	t, err := s.Run(ctx)
	bar.clear()
	if health.Short(err) != nil {
		return fail(stderr, checker.ExitUndecided, "explore: ended early: %v", err)
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "explore: %v", err)
	}
	h.tell(stdout, t, counted.runs.Load(), time.Since(begun))
	code := checker.ExitExpected
	night := before.findings(t, counted)
	if night.tell(stdout); night.IsNew() {
		code = checker.ExitUnexpected
	}
	for _, f := range t.Found {
		if err := h.keepFound(ctx, workers, dir, f, stdout); err != nil {
			code = checker.Worst(code, fail(stderr, checker.ExitHarness, "explore: seed %d: %v", f.Seed, err))
		}
		if night == nil {
			code = checker.Worst(code, checker.ExitUnexpected)
		}
	}
	code = checker.Worst(code, h.failed(t, dir, stderr))
	code = interrupted(ctx, stderr, code, "explore: interrupted after %s runs", reports.Thousands(t.Runs))
	if strategy.Whole && !t.Complete && code == checker.ExitExpected {
		code = fail(stderr, checker.ExitUndecided, "explore: not all orders were seen")
	}
	h.coverage(stdout, t)
	if left := t.Reached.Missing(h.goals()); h.allGoals && len(left) > 0 && ctx.Err() == nil {
		code = checker.Worst(code, fail(stderr, checker.ExitUndecided, "explore: %d %s not reached: %s", len(left), plural("goal", len(left)), strings.Join(namesOf(left), ", ")))
	}
	if dir != "" {
		code = checker.Worst(code, h.page(dir, append([]string{"explore"}, args...), t, grown.Steps(), stdout, stderr))
		state := filepath.Join(dir, stateFile)
		if _, err := os.Stat(state); err != nil { // it was removed, and what was written to it is lost
			return checker.Worst(code, fail(stderr, checker.ExitHarness, "explore: %v", err))
		}
		say(stdout, "  state   %s\n          the same search goes on from there\n", state)
	}
	if h.json {
		code = checker.Worst(code, printJSONLine(output, stderr, h.explored(dir, t, night, code)))
	}
	return code
}

// folder is where in the -out folder a search has what it leaves.
func (h hunt) folder() string {
	return filepath.Join(searchFolder, fmt.Sprintf("%s-%s-%s", plainName(h.subject), h.strategy, h.config.Key()))
}

// plainName is a name of a lock that can be one of a folder: of a command, what follows its last slash.
func plainName(subject string) string {
	if !strings.HasPrefix(subject, external.Prefix) {
		return subject
	}
	return "exec-" + strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, subject[strings.LastIndexByte(subject, '/')+1:])
}

const stateFile = "state.jsonl"

func (h hunt) open(dir string) (*explore.State, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return explore.OpenState(filepath.Join(dir, stateFile), h.config, h.fresh)
}

func isBroken(name string) bool {
	_, ok := broken.Find(name)
	return ok
}
