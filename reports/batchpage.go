package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// BatchHTML writes one page about many runs: which guarantee held in which scenario for which lock,
// what broke by its causes, how long overlaps lasted and hand-offs took, and which faults struck. Like the
// report of a run it stands alone; its one script filters.
func BatchHTML(w io.Writer, b Batch) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	p := newBatchPage(b)
	p.Style, p.Script, p.ScriptHash = assets.ManyStyle, assets.BatchScript, assets.BatchScriptHash
	var buf bytes.Buffer
	if err := assets.tmpl.ExecuteTemplate(&buf, "batch.tmpl", p); err != nil {
		return fmt.Errorf("rendering the batch report: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

type batchPage struct {
	Style      template.CSS
	Script     template.JS
	ScriptHash string
	Title      string
	Note       string
	Answer     Answer
	Facts      []fact
	Guarantees []contract.Guarantee
	Subjects   []string
	Rows       []matrixRow
	Strays     []strayView
	StraysLeft int
	Causes     []causeView
	Charts     []histogram
	Rates      []rateChart
	Coverage   []coverageRow
	Unstruck   string
	Command    string
	Goals      []Goal // that were reached, the rarest first
	Never      []Goal
	Growth     *panelsView
	Findings   []Finding
}

// matrixRow is one scenario; it has a cell for each guarantee of each subject.
type matrixRow struct {
	Scenario string
	Cells    []matrixCell
}

type matrixCell struct {
	First bool // of a subject
	Lock  int  // the subject, by its index
	Empty bool // not run
	Tone  Tone
	Mark  string
	Note  string // how many of the runs broke, unless all did or none
	Title string
	Href  string
}

type strayView struct {
	What, Word, Text, Command, Href string
	Tone                            Tone
	Lock                            int // the subject, by its index
}

type causeView struct {
	Class, Expected             string
	Ruling                      rulingView
	Broke                       []fact // guarantee by guarantee, in how many runs
	Runs                        int
	Share                       int // of all runs, in percent
	Text, Cause, Where, Command string
	Href                        string
	Tone                        Tone
}

type coverageRow struct {
	Kind, Steps    string
	Runs, Strikes  int
	Hits, NoEffect int
	Outcomes       string
}

const straysShown = 50

func newBatchPage(b Batch) *batchPage {
	p := &batchPage{Answer: batchAnswer(b), Guarantees: contract.Guarantees(), Command: Visible(b.Command), Note: Visible(b.Note)}
	gs := b.groups()
	var scenarios, subjects []string
	for _, g := range gs {
		if !slices.Contains(scenarios, g.Scenario) {
			scenarios = append(scenarios, g.Scenario)
		}
		if !slices.Contains(subjects, g.Subject) {
			subjects = append(subjects, g.Subject)
		}
	}
	p.Title = count(len(b.Runs), "run", "runs") + " of " + count(len(scenarios), "scenario", "scenarios") + " with " + count(len(subjects), "lock", "locks")
	if b.Title != "" {
		p.Title = Visible(b.Title)
	}
	p.Facts = b.facts()
	for _, s := range subjects {
		p.Subjects = append(p.Subjects, name(s))
	}
	for _, scenario := range scenarios {
		row := matrixRow{Scenario: junitName(scenario)}
		for lock, subject := range subjects {
			i := slices.IndexFunc(gs, func(g *group) bool { return g.Scenario == scenario && g.Subject == subject })
			for n, guarantee := range contract.Guarantees() {
				cell := matrixCell{Empty: true}
				if i >= 0 {
					cell = gs[i].cell(guarantee)
				}
				cell.First, cell.Lock = n == 0, lock
				row.Cells = append(row.Cells, cell)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	for i := range b.Runs {
		s := &b.Runs[i]
		if s.Verdict.Code() == checker.ExitExpected {
			continue
		}
		if len(p.Strays) == straysShown {
			p.StraysLeft++
			continue
		}
		a := answer(s.Verdict)
		p.Strays = append(p.Strays, strayView{What: runName(s), Word: a.Word, Text: a.Text, Tone: a.Tone, Command: Visible(s.Command), Href: s.Report,
			Lock: slices.Index(subjects, s.Verdict.Subject)})
	}
	for _, c := range b.causes() {
		p.Causes = append(p.Causes, c.view(len(b.Runs)))
	}
	p.Charts = []histogram{
		newHistogram("Overlaps", "how long two owners believed at once that they held a lock", "No two owners ever believed at once that they held a lock.",
			b.lengths(func(s *Summary) []time.Duration { return s.Overlaps })),
		newHistogram("Hand-offs", "from the moment at which the server frees a lock to the return of the waiting call that gets it", "No waiting call was handed a lock.",
			b.lengths(func(s *Summary) []time.Duration { return s.Handoffs })),
	}
	p.Rates, p.Growth = b.rates(), b.Growth.view()
	for _, f := range b.Findings {
		f.What, f.Text, f.Command = Visible(f.What), unbroken(flat(f.Text)), Visible(f.Command)
		p.Findings = append(p.Findings, f)
	}
	p.cover(b)
	for _, g := range b.Goals {
		if g.Runs == 0 {
			p.Never = append(p.Never, g)
		} else {
			p.Goals = append(p.Goals, g)
		}
	}
	slices.SortStableFunc(p.Goals, func(a, b Goal) int { return a.Runs - b.Runs })
	return p
}

func runName(s *Summary) string {
	return fmt.Sprintf("%s, %s, seed %d", junitName(s.Verdict.Scenario), junitName(s.Verdict.Subject), s.Verdict.Seed)
}

func (b Batch) facts() []fact {
	var wall, virtual time.Duration
	var ops, messages int
	for i := range b.Runs {
		wall += b.Runs[i].Wall
		virtual += b.Runs[i].Verdict.Virtual
		ops += b.Runs[i].Verdict.Ops
		messages += b.Runs[i].Verdict.Messages
	}
	fs := []fact{{"runs", Thousands(len(b.Runs))}, {"operations", Thousands(ops)}, {"messages", Thousands(messages)},
		{"virtual time", virtual.Round(time.Second).String()}}
	if wall > 0 {
		fs = append(fs, fact{"work of processors", wall.Round(time.Millisecond).String()})
	}
	return fs
}

// cell sums up one guarantee over the runs of a group; the worst decides its look.
func (g *group) cell(guarantee contract.Guarantee) matrixCell {
	rank := []Tone{Quiet, Good, Reproduced, Unsure, Bad}
	var c matrixCell
	broken, example, status := 0, (*Summary)(nil), ""
	worst := -1
	for _, s := range g.Runs {
		r := s.Verdict.Result(guarantee)
		if r.Status == checker.Broken {
			broken++
		}
		n := slices.Index(rank, tone(r))
		if n > worst || n == worst && example.Report == "" && s.Report != "" {
			worst, example = n, s
			status = statusWord(r)
			if e := expectation(r); e != "" {
				status += ", " + e
			}
		}
	}
	c.Tone = rank[worst]
	c.Mark = marks[c.Tone]
	c.Href = example.Report
	if broken > 0 && broken < len(g.Runs) {
		c.Note = fmt.Sprint(broken)
	}
	c.Title = fmt.Sprintf("%s of %s in %s: %s", guarantee, junitName(g.Subject), junitName(g.Scenario), status)
	if len(g.Runs) > 1 {
		c.Title += fmt.Sprintf("; broken in %s of %s", Thousands(broken), count(len(g.Runs), "run", "runs"))
	}
	return c
}

func (c *causeGroup) view(runs int) causeView {
	v := causeView{Class: Visible(string(c.Class)), Ruling: viewRuling(c.Ruling), Expected: "not expected", Tone: Bad,
		Runs: c.Runs, Share: (100*c.Runs + runs - 1) / runs, Text: unbroken(flat(c.Violation.Text)), Cause: unbroken(flat(c.Violation.Cause.Text)),
		Where: runName(c.Example), Command: Visible(c.Example.Command), Href: c.Example.Report}
	for _, g := range contract.Guarantees() {
		if n := c.Broke[g]; n > 0 {
			v.Broke = append(v.Broke, fact{string(g), Thousands(n)})
		}
	}
	if c.Expected {
		v.Expected, v.Tone = "as expected", Reproduced
	}
	return v
}

// cover counts the faults: kind by kind, at which steps they struck, and what came of the runs.
func (p *batchPage) cover(b Batch) {
	type tally struct {
		row     coverageRow
		steps   map[string]bool
		answers map[string]int
	}
	tallies := make(map[string]*tally)
	var kinds []string
	for i := range b.Runs {
		s := &b.Runs[i]
		seen := make(map[string]bool)
		for _, f := range s.Faults {
			if f.Missed {
				continue
			}
			t := tallies[f.Kind]
			if t == nil {
				t = &tally{steps: make(map[string]bool), answers: make(map[string]int)}
				tallies[f.Kind] = t
				kinds = append(kinds, f.Kind)
			}
			t.row.Strikes++
			t.row.Hits += f.Hits
			if f.Hits == 0 {
				t.row.NoEffect++
			}
			if f.Step != "" {
				t.steps[Visible(f.Step)] = true
			}
			if !seen[f.Kind] {
				seen[f.Kind] = true
				t.row.Runs++
				t.answers[answer(s.Verdict).Word]++
			}
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		t := tallies[kind]
		t.row.Kind, t.row.Steps = Visible(kind), list(keys(t.steps))
		var parts []string
		for _, word := range keys(t.answers) {
			parts = append(parts, fmt.Sprintf("%s %s", Thousands(t.answers[word]), word))
		}
		t.row.Outcomes = list(parts)
		p.Coverage = append(p.Coverage, t.row)
	}
	var unstruck []string
	for _, kind := range b.Faults {
		if tallies[kind] == nil {
			unstruck = append(unstruck, Visible(kind))
		}
	}
	p.Unstruck = list(unstruck)
}

func keys[V any](m map[string]V) []string {
	var ks []string
	for k := range m {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return ks
}
