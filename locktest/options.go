package locktest

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Option changes what [Run], [Explore] and [Test] do.
type Option func(*options)

type options struct {
	name  string
	seed  uint64
	drawn int
	lease time.Duration
	key   func(lock string) string
	names map[string]string // of locks, by their keys
	known map[string]string // reasons, by case and guarantee
	only  []string
	not   []string
	out   string
	runs  int           // of Explore; 0: no end
	long  time.Duration // likewise
	goals []contract.Goal

	noPlans bool // nobody asks for the scenarios and plans of [Run]
}

// defaultDrawn is how many plans are drawn of each kind: enough to meet the usual, and few enough for
// every commit. Hunting is simrun explore's.
const defaultDrawn = 25

func optionsOf(name string, opts []Option) *options {
	o := &options{name: name, seed: 1, drawn: defaultDrawn, names: map[string]string{}, known: map[string]string{}}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// environ has the environment overrule the options: HOLDFAST_SEED, HOLDFAST_DRAWN, HOLDFAST_RUNS and HOLDFAST_FOR are [Seed],
// [Drawn], [Runs] and [For], for a nightly run of the test that every commit runs.
func (o *options) environ() (err error) {
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		if o.seed, err = strconv.ParseUint(text, 0, 32); err != nil {
			return fmt.Errorf("HOLDFAST_SEED=%q must be a number from 0 to 4294967295", text)
		}
	}
	if text := os.Getenv("HOLDFAST_DRAWN"); text != "" {
		if o.drawn, err = strconv.Atoi(text); err != nil || o.drawn < 0 {
			return fmt.Errorf("HOLDFAST_DRAWN=%q must be a number of plans", text)
		}
	}
	if text := os.Getenv("HOLDFAST_RUNS"); text != "" {
		if o.runs, err = strconv.Atoi(text); err != nil || o.runs < 1 {
			return fmt.Errorf("HOLDFAST_RUNS=%q must be a number of runs", text)
		}
	}
	if text := os.Getenv("HOLDFAST_FOR"); text != "" {
		if o.long, err = time.ParseDuration(text); err != nil || o.long <= 0 {
			return fmt.Errorf("HOLDFAST_FOR=%q must be a time, such as 1h", text)
		}
	}
	return nil
}

// Seed is what decides all latencies and draws; 1 by default, at most 4294967295. The same seed gives the same runs, for a
// lock that draws from Env.Random or crypto/rand only.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// Drawn is how many plans are drawn at random, without faults and again with faults; 25 by default.
func Drawn(n int) Option { return func(o *options) { o.drawn = n } }

// Lease says that a hold for which no lease is asked gets this one, rather than Env.WatchdogTimeout,
// which is 30 s by default and then the same.
func Lease(d time.Duration) Option { return func(o *options) { o.lease = d } }

// Key tells the key in Redis of a lock, a string or a hash. By default it is the lock's name. The
// harness looks at it to know who holds the lock, whatever clients are told.
func Key(of func(lock string) string) Option { return func(o *options) { o.key = of } }

// Known says that a guarantee is known to break in a scenario or plan, and why that is accepted. The
// subtest is skipped with the reason; should it not break any more, it fails, so that the list stays true.
// A plan drawn with faults in which the same kind of call breaks the same rule is skipped with that reason, too.
func Known(scenario, guarantee, reason string) Option {
	return func(o *options) { o.known[scenario+"/"+guarantee] = reason }
}

// Only runs no scenarios and plans but those whose names contain one of these. A part that no name contains is an error.
func Only(parts ...string) Option { return func(o *options) { o.only = append(o.only, parts...) } }

// Except runs no scenarios and plans whose names contain one of these. A part that no name contains is an error.
func Except(parts ...string) Option { return func(o *options) { o.not = append(o.not, parts...) } }

// Reports names the folder for the reports of failures, and for the page and the table of all that was run. It is made.
// By default [Run] and [Explore] have one for each test in the folder for temporary files, or, with go test -artifacts,
// among the test's artifacts; [Test] has none.
func Reports(folder string) Option { return func(o *options) { o.out = folder } }

// Runs has [Explore] end after so many runs; 1000 by default, unless there is another end.
func Runs(n int) Option { return func(o *options) { o.runs = n } }

// For has [Explore] begin nothing more after so long.
func For(d time.Duration) Option { return func(o *options) { o.long = d } }

// Goal is a state of the lock's own that [Explore] is to reach: it says in how many runs it was, and which goals never were. The
// name is of words with dashes between. Whether a run reached it must depend on nothing but the history, and not change that.
func Goal(name, means string, reached func(h *history.History) bool) Option {
	return func(o *options) { o.goals = append(o.goals, contract.Goal{Name: name, Means: means, Reached: reached}) }
}

func (o *options) wants(name string) bool {
	in := func(part string) bool { return strings.Contains(name, part) }
	return (len(o.only) == 0 || slices.ContainsFunc(o.only, in)) && !slices.ContainsFunc(o.not, in)
}

// drawnName is what a drawn plan may be called, however many are drawn.
var drawnName = regexp.MustCompile(`^drawn-(with-faults-)?[1-9][0-9]*$`)

// check refuses names that are none of those that there are.
func (o *options) check(names []string) error {
	any := append(slices.Clone(names), "drawn-1", "drawn-with-faults-1")
	for option, parts := range map[string][]string{"Only": o.only, "Except": o.not} {
		for _, part := range parts {
			if !drawnName.MatchString(part) && !slices.ContainsFunc(any, func(name string) bool { return strings.Contains(name, part) }) {
				return fmt.Errorf("%s(%q): no scenario or plan has that in its name; they are %s", option, part, strings.Join(names, ", "))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.known)) {
		name, guarantee, _ := strings.Cut(key, "/")
		switch {
		case !slices.Contains(names, name) && !drawnName.MatchString(name):
			return fmt.Errorf("Known(%q, %q, ...): no scenario or plan has that name; they are %s", name, guarantee, strings.Join(names, ", "))
		case !slices.Contains(contract.Guarantees(), contract.Guarantee(guarantee)):
			return fmt.Errorf("Known(%q, %q, ...): no guarantee has that name; they are %v", name, guarantee, contract.Guarantees())
		}
	}
	return nil
}
