package locktest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Option changes what [Run] and [Test] do.
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
	out   string
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

// environ has the environment overrule the options: HOLDFAST_SEED and HOLDFAST_DRAWN are [Seed] and
// [Drawn], for a nightly run of the test that every commit runs.
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

// Only runs no scenarios and plans but those whose names contain one of these.
func Only(parts ...string) Option { return func(o *options) { o.only = append(o.only, parts...) } }

// Reports has [Test] leave the report of each failure in a folder, which is made.
func Reports(folder string) Option { return func(o *options) { o.out = folder } }

func (o *options) wants(name string) bool {
	for _, part := range o.only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(o.only) == 0
}
