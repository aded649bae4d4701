package reports

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// Batch is many runs, in the order in which they were asked for.
type Batch struct {
	Runs     []Summary
	Command  string    // reproduces the batch
	Title    string    // what the page is about; empty: how many runs of which scenarios and locks
	Note     string    // what is to be said of the runs before all else, such as that they are a sample
	Goals    []Goal    // of a search
	Growth   *Panels   // how a search went; nil: it is none
	Findings []Finding // of a search
	Faults   []string  // all kinds of faults that there are, so that the page can say which never struck
}

// Goal is a state that a search was to reach.
type Goal struct {
	Goal  string `json:"goal"`  // its name
	Means string `json:"means"` // what is reached
	Runs  int    `json:"runs"`  // that reached it; 0: none did
	Seed  uint64 `json:"seed"`  // of the first of them
}

// Finding is one cause that a search has found, for which the lock is to blame.
type Finding struct {
	What, Text string
	Runs       int
	Seed       uint64 // of the first run that shows it
	Command    string // shows it again
	Links      []Link // to what is kept of it, relative to the page
}

// Link is a name and where it leads.
type Link struct{ Name, Href string }

// BatchFormat is one file about many runs. A single run is a batch of one.
type BatchFormat struct {
	Name  string // what its flag is called
	About string // one line of help
	Write func(w io.Writer, b Batch) error
}

// BatchFormats lists the formats that are written where the user says.
func BatchFormats() []BatchFormat {
	return []BatchFormat{
		{"junit", "for a JUnit report, one test case a run", JUnit},
		{"markdown", "for a summary in Markdown, as GitHub's job summary wants it", Markdown},
		{"annotations", "for a line about each scenario and lock that did not pass, as GitHub annotates them", Annotations},
	}
}

// group is all runs of one scenario with one subject.
type group struct {
	Scenario, Subject string
	Runs              []*Summary
}

// groups sorts the runs by scenario and subject, in the order in which these first occur.
func (b Batch) groups() []*group {
	var gs []*group
	index := make(map[[2]string]*group)
	for i := range b.Runs {
		s := &b.Runs[i]
		key := [2]string{s.Verdict.Scenario, s.Verdict.Subject}
		g := index[key]
		if g == nil {
			g = &group{Scenario: key[0], Subject: key[1]}
			index[key] = g
			gs = append(gs, g)
		}
		g.Runs = append(g.Runs, s)
	}
	return gs
}

// codes counts the exit codes of runs.
func codes(runs []*Summary) map[int]int {
	n := make(map[int]int)
	for _, r := range runs {
		n[r.Verdict.Code()]++
	}
	return n
}

// outcomes are the exit codes with their words, the worst first.
var outcomes = []struct {
	code int
	tone Tone
	says string
}{
	{checker.ExitHarness, Bad, "failed in the harness"},
	{checker.ExitDisagree, Bad, "on which the checkers disagree"},
	{checker.ExitUnexpected, Bad, "unexpected"},
	{checker.ExitUndecided, Unsure, "undecided"},
	{checker.ExitExpected, Good, "as expected"},
}

// batchAnswer sums a batch up in a word and a sentence; the worst run decides.
func batchAnswer(b Batch) Answer {
	code := checker.ExitExpected
	reproduced := 0
	var runs []*Summary
	for i := range b.Runs {
		v := b.Runs[i].Verdict
		runs = append(runs, &b.Runs[i])
		code = checker.Worst(code, v.Code())
		if answer(v).Tone == Reproduced {
			reproduced++
		}
	}
	n := codes(runs)
	var parts []string
	for _, o := range outcomes {
		if n[o.code] > 0 {
			parts = append(parts, Thousands(n[o.code])+" "+o.says)
		}
	}
	text := "of " + count(len(b.Runs), "run", "runs") + ", " + list(parts)
	if reproduced > 0 {
		text += "; " + Thousands(reproduced) + " reproduced what their scenarios predict"
	}
	if b.Growth != nil && (code == checker.ExitExpected || code == checker.ExitUnexpected) { // a search foretells nothing: it finds, or it does not
		switch {
		case len(b.Findings) > 0:
			return Answer{Bad, "FOUND", "for " + count(len(b.Findings), "cause", "causes") + " the lock is to blame"}
		case code == checker.ExitExpected:
			return Answer{Good, "NOTHING FOUND", "nothing that the lock claims was broken"}
		}
	}
	switch code {
	case checker.ExitExpected:
		return Answer{Good, "AS EXPECTED", text}
	case checker.ExitUndecided:
		return Answer{Unsure, "UNDECIDED", text}
	case checker.ExitUnexpected:
		return Answer{Bad, "UNEXPECTED", text}
	}
	return Answer{Bad, "HARNESS ERROR", text}
}

// causeGroup is all violations that have one class of cause.
type causeGroup struct {
	Class     contract.Class
	Ruling    checker.Ruling
	Expected  bool
	Runs      int
	Broke     map[contract.Guarantee]int // in how many runs
	Example   *Summary                   // the first run
	Violation checker.Violation
}

// causes groups what broke by its cause, what nobody expected first, then the most frequent.
func (b Batch) causes() []*causeGroup {
	type key struct {
		class    contract.Class
		ruling   checker.Ruling
		expected bool
	}
	var cs []*causeGroup
	index := make(map[key]*causeGroup)
	for i := range b.Runs {
		s := &b.Runs[i]
		counted := make(map[*causeGroup]bool)
		for _, r := range s.Verdict.Results {
			if r.Status != checker.Broken || len(r.Violations) == 0 {
				continue
			}
			x := telling(r)
			k := key{x.Cause.Class, x.Ruling, r.AsExpected()}
			c := index[k]
			if c == nil {
				c = &causeGroup{Class: k.class, Ruling: k.ruling, Expected: k.expected, Broke: make(map[contract.Guarantee]int), Example: s, Violation: x}
				index[k] = c
				cs = append(cs, c)
			}
			c.Broke[r.Guarantee]++
			if !counted[c] {
				counted[c] = true
				c.Runs++
			}
		}
	}
	slices.SortStableFunc(cs, func(a, b *causeGroup) int {
		return cmp.Or(cmp.Compare(btoi(a.Expected), btoi(b.Expected)), cmp.Compare(b.Runs, a.Runs))
	})
	return cs
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Examples picks the runs whose reports are worth keeping: the first of each cause, and the first
// of each scenario and subject that was not as expected. The indexes are into b.Runs, in order.
func (b Batch) Examples() []int {
	want := make(map[*Summary]bool)
	for _, c := range b.causes() {
		want[c.Example] = true
	}
	for _, g := range b.groups() {
		for _, s := range g.Runs {
			if s.Verdict.Code() != checker.ExitExpected {
				want[s] = true
				break
			}
		}
	}
	var indexes []int
	for i := range b.Runs {
		if want[&b.Runs[i]] {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// lengths gathers the durations that one of a summary's lists has in all runs, sorted.
func (b Batch) lengths(of func(*Summary) []time.Duration) []time.Duration {
	var all []time.Duration
	for i := range b.Runs {
		all = append(all, of(&b.Runs[i])...)
	}
	slices.Sort(all)
	return all
}
