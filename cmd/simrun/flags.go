package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/external"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

// order is what the user asked for.
type order struct {
	scenario string // see chosen
	planFile string
	plan     *plan.Plan // of planFile
	subject  string     // see chosen; "all": the generations of the reference lock
	seed     uint64
	runs     int
	atOnce   int    // how many runs; 0: what suits the processors
	out      string // a folder, or "none"
	place    place
	failFast bool
	quiet    bool
	open     bool // see openPage
	noProof  bool // see proofFlag
	verbose  bool
	json     bool
	files    map[string]string // of the formats in reports.BatchFormats, by name

	rerun  bool        // see readFailed
	last   string      // the folder of the last batch
	ran    int         // how many runs that had
	failed []storedRun // of them
}

const (
	everything     = "all"
	nowhere        = "none"
	defaultSubject = "rlock-latch"
	defaultOut     = "simrun-out"
)

// mostRuns is more than anybody waits for, and can be multiplied.
const mostRuns = 1_000_000_000_000_000

// seedFlag reads decimal and 0x numbers, and says so when it cannot.
type seedFlag uint64

func (s *seedFlag) String() string { return strconv.FormatUint(uint64(*s), 10) }
func (s *seedFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return fmt.Errorf("a seed is a whole number from 0 to %d, decimal or 0x", uint64(1<<64-1))
	}
	*s = seedFlag(n)
	return nil
}

func flags(o *order) *flag.FlagSet {
	f := newFlags("")
	f.StringVar(&o.scenario, "scenario", "", "`name` of the scenario (simrun list), names with commas, a pattern such as 'failover-*', or all")
	f.StringVar(&o.planFile, "plan", "", "`file` with a plan of your own, instead of a scenario")
	f.StringVar(&o.subject, "subject", defaultSubject, "`name` of the lock under test (simrun list), names with commas, a pattern, all (the reference lock's generations), or exec:CMD")
	o.seed = 1
	f.Var((*seedFlag)(&o.seed), "seed", "`number` that decides everything chance would")
	f.IntVar(&o.runs, "runs", 1, "`how many` seeds, from -seed on")
	f.BoolVar(&o.failFast, "fail-fast", false, "end several runs at the first that is not as expected")
	f.BoolVar(&o.quiet, "quiet", false, "tell only what is not as expected, and the total")
	f.BoolVar(&o.rerun, "rerun-failed", false, "run again what was not as expected in the last batch below -out, on the same seeds and in the same world")
	f.IntVar(&o.atOnce, "jobs", 0, "at most so `many` of several runs at once (default: one for each processor, in real time four)")
	f.StringVar(&o.out, "out", defaultOut, "`folder` for what runs leave behind, or none")
	openFlag(f, &o.open)
	o.place.flags(f)
	o.proofFlag(f)
	f.BoolVar(&o.verbose, "v", false, "the whole story, and every operation")
	machineFlags(f, &o.json, &o.files)
	return f
}

// proofFlag is for commands that keep runs of the sim world.
func (o *order) proofFlag(f *flag.FlagSet) {
	f.BoolVar(&o.noProof, "no-proof", false, "do not try causes, in world sim, by runs without faults")
}

// machineFlags are those for what machines read.
func machineFlags(f *flag.FlagSet, json *bool, files *map[string]string) {
	f.BoolVar(json, "json", false, "the verdict on standard output, as JSON; of several runs one a line")
	*files = map[string]string{}
	for _, format := range reports.BatchFormats() {
		f.Func(format.Name, "`file` "+format.About, func(file string) error {
			if file == "" {
				return errors.New("name a file")
			}
			(*files)[format.Name] = file
			return nil
		})
	}
}

// parse reads the arguments. Its error is one line for the user; flag.ErrHelp asks for help.
func parse(ctx context.Context, args []string) (order, error) {
	var o order
	f := flags(&o)
	if err := f.Parse(args); err != nil {
		return o, flagError(f, err)
	}
	switch {
	case f.NArg() > 0 && f.Arg(0) == args[0]:
		return o, unknownVerb(args[0])
	case f.NArg() > 0:
		return o, fmt.Errorf("stray argument %q: everything is a flag, see simrun help", f.Arg(0))
	case o.out == "":
		return o, errors.New(`-out "": name a folder, or none`)
	case o.open && o.out == nowhere:
		return o, errors.New("-open shows a report, and -out none leaves none: leave one of them out")
	case o.rerun:
		return o, o.readFailed(f)
	case o.scenario == "" && o.planFile == "":
		return o, errors.New("say which scenario: simrun -scenario NAME (simrun list names them)")
	case o.scenario != "" && o.planFile != "":
		return o, errors.New("-scenario and -plan exclude each other")
	case o.runs < 1:
		return o, fmt.Errorf("-runs %d: there must be at least one run", o.runs)
	case o.runs > mostRuns:
		return o, fmt.Errorf("-runs %d: at most %d", o.runs, mostRuns)
	case o.atOnce < 0 || o.atOnce > 1000:
		return o, fmt.Errorf("-jobs %d: from 1 to 1000, or 0 for what suits the processors", o.atOnce)
	}
	if !given(f, "world") {
		o.place.usual(slices.ContainsFunc(o.locks(), isProcess))
	}
	if err := o.place.check(); err != nil {
		return o, err
	}
	if o.planFile != "" {
		return o, o.readPlan(ctx)
	}
	if err := known("scenario", o.scenario, scenarios.Names()); err != nil {
		return o, err
	}
	return o, o.checkSubject()
}

// chosen are the names that a flag asks for: all, one, some with commas between, or those that a pattern fits.
func chosen(asked string, all []string) (names []string) {
	for part := range strings.SplitSeq(asked, ",") {
		switch {
		case part == everything:
			names = append(names, all...)
		case strings.ContainsAny(part, "*?["):
			for _, name := range all {
				if fits, _ := path.Match(part, name); fits {
					names = append(names, name)
				}
			}
		default:
			names = append(names, part)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	return slices.Compact(names)
}

// known refuses what [chosen] would not find.
func known(what, asked string, all []string) error {
	for part := range strings.SplitSeq(asked, ",") {
		names := chosen(part, all)
		if len(names) == 0 {
			return fitsNone(what, part, all)
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				return unknown(what, name, all)
			}
		}
	}
	return nil
}

// given reports whether a flag was.
func given(f *flag.FlagSet, name string) (is bool) {
	f.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

func (o *order) readPlan(ctx context.Context) error {
	p, err := waited(ctx, func() (*plan.Plan, error) {
		f, err := os.Open(o.planFile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return plan.Read(f)
	})
	if err == nil {
		err = p.Check(fault.Needs())
	}
	if err != nil {
		return fmt.Errorf("-plan %s: %w", o.planFile, cause(err))
	}
	o.plan = p
	return o.checkSubject()
}

func (o *order) checkSubject() error {
	if _, ok := findSubject(o.subject); !ok && !strings.HasPrefix(o.subject, external.Prefix) {
		all := subjectNames()
		for name := range strings.SplitSeq(o.subject, ",") { // those that are broken on purpose are in no list, and may be named
			if _, ok := findSubject(name); ok && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		if err := known("subject", o.subject, all); err != nil {
			return err
		}
	}
	locks := o.locks()
	own := slices.IndexFunc(locks, isProcess)
	linked := slices.IndexFunc(locks, func(name string) bool { return !isProcess(name) })
	switch {
	case own >= 0 && o.place.World == simWorld:
		return fmt.Errorf("-subject %s: a process of its own cannot run in world sim: %s", locks[own], processWorlds(runtime.GOOS))
	case own >= 0 && linked >= 0 && o.place.World == warpWorld:
		return fmt.Errorf("-subject %s: %s lives in processes of its own, and %s does not: their virtual times are two worlds, so ask for them one after the other", o.subject, locks[own], locks[linked])
	case linked >= 0 && o.place.World == warpWorld && o.place.Server == "":
		return fmt.Errorf("-world warp is for processes of their own: -subject exec:CMD, or a server with -server. %s runs in virtual time in world sim", locks[linked])
	}
	return nil // processes: see openProcesses
}

func subjectNames() []string {
	var names []string
	for _, s := range append(subjects.Everything(), libraries.Unforetold()...) {
		names = append(names, s.Name)
	}
	for _, l := range workers.All() {
		names = append(names, l.Name)
	}
	return names
}

// lacks says why a subject cannot run what the order asks for, or "".
func (o order) lacks(scenario, subject string) (why string) {
	s, _ := findSubject(subject)
	p := o.plan
	if p != nil {
		p, why = scenarios.Fit(p, s.Can)
	} else if sc, ok := scenarios.Find(scenario); ok {
		if p, why = sc.For(o.seed, s.Can); sc.Sweep && !predicted(subject) && !isBroken(subject) {
			why = "it is many stories at once, foretold for our own locks only"
		}
	}
	if p != nil && why == "" {
		if err := sim.Suits(p, s, o.place.outline()); err != nil {
			why = err.Error()
		}
	}
	return why
}

// flagError makes one helpful line of what package flag says.
func flagError(f *flag.FlagSet, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		var names []string
		f.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		return unknown("flag", "-"+name, names)
	}
	if wrong, cut := strings.CutSuffix(text, ": parse error"); cut {
		if value, is := strings.CutPrefix(wrong, "invalid boolean value "); is {
			return fmt.Errorf("invalid value %s: it should be true or false, or only the flag", strings.Replace(value, " for -", " for flag -", 1))
		}
		return fmt.Errorf("%s: it should be %s", wrong, wanted(f, wrong))
	}
	return errors.New(text)
}

// wanted says what values a flag has of which a wrong one was given.
func wanted(f *flag.FlagSet, wrong string) string {
	_, name, _ := strings.Cut(wrong, " for flag -")
	if is := f.Lookup(name); is != nil {
		if g, ok := is.Value.(flag.Getter); ok {
			switch g.Get().(type) {
			case time.Duration:
				return "a duration, such as 5s or 10m"
			case float64:
				return "a number"
			case bool:
				return "true or false"
			}
		}
	}
	return "a whole number"
}
