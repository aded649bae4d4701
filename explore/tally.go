package explore

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/subjects"
)

// tally adds runs up to a report.
type tally struct {
	r       Report
	own     []contract.Goal // of the lock
	goals   Goals
	last    []string // goals that the run reached that was added last
	covered fault.Coverage
	states  States
	begun   time.Time       // of the run that is to be added
	failed  map[string]bool // kinds of failures
}

func newTally(s subjects.Subject) *tally {
	return &tally{own: s.Goals, goals: Goals{}, covered: fault.Coverage{}, states: States{}, failed: map[string]bool{}, begun: time.Now()}
}

// samples is how many runs of a shard have a place on the page.
const samples = 2

func (t *tally) add(r Run, err error, seed uint64) {
	now := time.Now()
	wall := now.Sub(t.begun)
	t.begun = now
	t.r.Runs++
	t.r.Wall += wall
	if err != nil {
		t.r.Failed++
		if kind := kindOf(err.Error()); !t.failed[kind] {
			t.failed[kind] = true
			t.r.Failure, t.r.Failures = firstFailures(t.r.Failure, append(t.r.Failures, *failureOf(seed, r.Plan, err)))
		}
		return
	}
	v := r.Verdict
	t.r.Ops += v.Ops
	t.r.Messages += v.Messages
	t.r.Virtual += v.Virtual
	t.covered.Add(r.History)
	t.states.Add(r.History)
	t.r.Looked++
	t.last = goals.Reached(r.History, v, t.own)
	t.goals.Add(t.last, seed)
	broken, undecided := false, false
	for _, one := range v.Results {
		broken = broken || one.Status == checker.Broken
		undecided = undecided || one.Status == checker.Undecided || !one.Status.Valid()
	}
	if broken {
		t.r.Broken++
	}
	if undecided {
		t.r.Undecided++
	}
	if len(r.Accusations) > 0 {
		t.r.Accused++
	}
	known := len(t.r.Found)
	for _, a := range r.Accusations {
		t.r.Found = AddFound(t.r.Found, Found{a, 1, seed, r.Plan})
	}
	if len(t.r.Samples) < samples || len(t.r.Found) > known {
		s := reports.Summarize(r.History, r.Verdict, false)
		s.Wall = wall
		t.r.Samples = append(t.r.Samples, s)
	}
}

func (t *tally) report() Report {
	t.r.Covered, t.r.States, t.r.Goals = t.covered.Counts(), t.states.Visits(), t.goals.Counts()
	return t.r
}

// AddFound adds what was found to a list that has each cause once, with the first run that shows
// it.
func AddFound(list []Found, f Found) []Found {
	i := slices.IndexFunc(list, func(g Found) bool { return g.Cause() == f.Cause() })
	if i < 0 {
		return append(list, f)
	}
	runs := list[i].Runs + f.Runs
	if f.Seed < list[i].Seed {
		list[i] = f
	}
	list[i].Runs = runs
	return list
}

// Total is what came out of a search so far.
type Total struct {
	Report
	Parts    int // shards
	Coverage fault.Coverage
	Visited  States
	Reached  Goals
}

// Whole is the total as the report of one shard.
func (t Total) Whole() Report {
	r := t.Report
	r.Covered, r.States, r.Goals = t.Coverage.Counts(), t.Visited.Visits(), t.Reached.Counts()
	return r
}

// Sum adds reports up. The order does not matter to what it returns, but for the samples.
func Sum(all []Report) Total {
	t := newTotal()
	for _, r := range all {
		t.add(r)
	}
	return t.sorted()
}

func newTotal() Total {
	t := Total{Coverage: fault.Coverage{}, Visited: States{}, Reached: Goals{}}
	t.Complete = true
	return t
}

func (t Total) sorted() Total {
	slices.SortFunc(t.Found, func(a, b Found) int { return strings.Compare(a.Cause(), b.Cause()) })
	return t
}

// maxFailures is how many kinds of failures are told besides the first.
const maxFailures = 7

// details are what differs between two failures of one kind: what is quoted, and numbers.
var details = regexp.MustCompile(`"[^"]*"|'[^']*'|0x[0-9a-f]+|[0-9]+`)

func kindOf(failure string) string { return details.ReplaceAllString(failure, "") }

// firstFailures are the first failure of all, and the first of each other kind. What is left of two parts of them is the same as of the whole.
func firstFailures(first *Failure, others []Failure) (*Failure, []Failure) {
	all := others
	if first != nil {
		all = append([]Failure{*first}, others...)
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(f Failure) bool {
		kind := kindOf(f.Error)
		known := seen[kind]
		seen[kind] = true
		return known
	})
	return &all[0], slices.Clone(all[1:min(len(all), 1+maxFailures)])
}

func (t *Total) add(r Report) {
	t.Parts++
	t.Runs += r.Runs
	t.Broken += r.Broken
	t.Accused += r.Accused
	t.Undecided += r.Undecided
	t.Failed += r.Failed
	t.Blocked += r.Blocked
	t.Complete = t.Complete && r.Complete
	if r.Failure != nil {
		t.Failure, t.Failures = firstFailures(t.Failure, slices.Concat(t.Failures, []Failure{*r.Failure}, r.Failures))
	}
	t.Ops += r.Ops
	t.Messages += r.Messages
	t.Virtual += r.Virtual
	t.Wall += r.Wall
	t.Coverage.Merge(r.Covered)
	t.Visited.Merge(r.States)
	t.Looked += r.Looked
	t.Reached.Merge(r.Goals)
	if len(t.Samples) < maxSamples {
		t.Samples = append(t.Samples, r.Samples...)
	}
	for _, f := range r.Found {
		t.Found = AddFound(t.Found, f)
	}
}

// maxSamples bounds the runs on the page.
const maxSamples = 500
