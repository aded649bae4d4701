package explore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/minimal"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Config says what is searched. Equal configurations and seeds give equal runs.
type Config struct {
	Version  int             `json:"version"`
	Subject  string          `json:"subject"`
	Strategy string          `json:"strategy"`
	Scope    scenarios.Scope `json:"scope,omitzero"`    // of drawn plans
	Plan     *plan.Plan      `json:"plan,omitempty"`    // that a strategy takes apart, instead of drawn ones
	Strikes  int             `json:"strikes,omitzero"`  // of the exhaustive strategy: how many faults, at most
	Unpruned bool            `json:"unpruned,omitzero"` // of the exhaustive strategy: equivalent orders, too
	MaxRuns  int             `json:"maxRuns,omitzero"`  // of the exhaustive strategy: give up a shard after so many
}

// Version is that of what a seed means: it changes when the same configuration and seed draw another plan.
const Version = 12

// Key names a configuration. Equal configurations have equal keys.
func (c Config) Key() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// Shard is a part of a search that can be done by itself: the seeds From to From+Runs-1, or, for a
// strategy that takes a plan apart, one way for Faults to strike. It is idempotent: done twice, it
// comes out the same.
type Shard struct {
	Config Config       `json:"config"`
	From   uint64       `json:"from,omitzero"`
	Runs   int          `json:"runs,omitzero"`
	Faults []plan.Fault `json:"faults,omitempty"`
}

// ID names a shard within its configuration.
func (s Shard) ID() string {
	s.Config = Config{}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return string(b)
}

// Executor runs shards, wherever that is. Its methods are called concurrently.
type Executor interface {
	// Slots is how many shards it can run at once.
	Slots() int
	// Run runs a shard to its end, or until ctx ends. An error says that the shard was not done,
	// and may be again.
	Run(ctx context.Context, s Shard) (Report, error)
}

// Report is what came out of a shard. But for Wall, equal shards have equal reports.
type Report struct {
	Runs      int           `json:"runs"`
	Broken    int           `json:"broken,omitzero"`    // runs in which some guarantee broke
	Accused   int           `json:"accused,omitzero"`   // runs in which the lock was to blame
	Undecided int           `json:"undecided,omitzero"` // runs of which a checker came to no answer
	Failed    int           `json:"failed,omitzero"`    // runs in which the harness failed
	Failure   *Failure      `json:"failure,omitempty"`  // the first of them
	Failures  []Failure     `json:"failures,omitempty"` // the first of each other kind, at most [maxFailures], in the order of their seeds
	Ops       int           `json:"ops"`
	Messages  int           `json:"messages"`
	Virtual   time.Duration `json:"virtual"`
	Wall      time.Duration `json:"wall"`

	Looked int       `json:"looked,omitzero"` // runs that were asked for goals: those of states that older programs wrote were not
	Goals  []Reached `json:"goals,omitempty"` // that were reached

	Found    []Found           `json:"found,omitempty"` // one for each cause
	Covered  []fault.Count     `json:"covered,omitempty"`
	States   []Visit           `json:"states,omitempty"`
	Samples  []reports.Summary `json:"samples,omitempty"` // of runs that are worth a place on the page
	Next     []Shard           `json:"next,omitempty"`    // shards that this one has shown to be part of the search; their Config is left out
	Complete bool              `json:"complete,omitzero"` // of the exhaustive strategy: it saw all orders
	Blocked  int               `json:"blocked,omitzero"`  // runs that were given up, since an equivalent one was there
}

// Found is a cause for which the lock is to blame, and the first run that shows it.
type Found struct {
	Accusation
	Runs int        `json:"runs"`
	Seed uint64     `json:"seed"`
	Plan *plan.Plan `json:"plan"`
}

// Failure is a run in which the harness failed.
type Failure struct {
	Seed  uint64     `json:"seed"`
	Plan  *plan.Plan `json:"plan,omitempty"`
	Error string     `json:"error"`

	// Disagree says that the checkers did. Smallest is then the smallest history on which they do, as lines of JSON.
	Disagree bool   `json:"disagree,omitzero"`
	Smallest []byte `json:"smallest,omitempty"`
}

// failureOf tells a run in which the harness failed.
func failureOf(seed uint64, p *plan.Plan, err error) *Failure {
	f := &Failure{Seed: seed, Plan: p, Error: err.Error()}
	var d *Disagreement
	if f.Disagree = errors.As(err, &d); f.Disagree {
		if small, ok := minimal.Disagreement(context.Background(), d.History, checker.Options{}); ok {
			var b bytes.Buffer
			if history.Save(&b, small) == nil {
				f.Smallest = b.Bytes()
			}
		}
	}
	return f
}
