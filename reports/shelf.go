package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// Shelved is one stored run.
type Shelved struct {
	Path    string // its folder, relative to the shelf: "watchdog-death/20261120T201721Z-1"
	When    time.Time
	Verdict *checker.Verdict // nil: the run was never judged, as when it was killed
	Of      RunOf            // what is known of it then
	Name    string           // of many runs: the command that made them, if that is known
}

// RunOf names a run. What is not known is empty.
type RunOf struct{ Scenario, Subject, Seed string }

// of is what is known of a run.
func (s Shelved) of() RunOf {
	if s.Verdict == nil {
		return s.Of
	}
	return RunOf{s.Verdict.Scenario, s.Verdict.Subject, fmt.Sprint(s.Verdict.Seed)}
}

// Outcome is a stored run's verdict in a word, by which a shelf can be filtered.
func (s Shelved) Outcome() string {
	if s.Verdict == nil {
		return "NEVER JUDGED"
	}
	return answer(s.Verdict).Word
}

// Wanted chooses among stored runs. Empty fields choose all.
type Wanted struct{ Verdict, Scenario, Subject, Seed string }

func (w Wanted) has(s Shelved) bool {
	of := s.of()
	return (w.Verdict == "" || w.Verdict == s.Outcome()) && (w.Scenario == "" || w.Scenario == of.Scenario) &&
		(w.Subject == "" || w.Subject == of.Subject) && (w.Seed == "" || w.Seed == of.Seed)
}

// Shelf is what was found in a folder of stored runs.
type Shelf struct {
	Name     string
	Runs     []Shelved // in any order
	Batches  []Shelved // pages about many runs; they have no verdict
	Searches []Shelved // pages of explorations; their Path is the name of the search
}

// mainTag is where the content of each of our pages begins. No text can hold it: text is escaped.
var mainTag = regexp.MustCompile(`<main[^>]*>`)

// WithWayBack adds a link to a page of ours that leads to where it is listed.
func WithWayBack(page []byte, href, name string) []byte {
	at := mainTag.FindIndex(page)
	if at == nil {
		return page
	}
	link := `<nav><a href="` + template.HTMLEscapeString(href) + `">← ` + template.HTMLEscapeString(name) + `</a></nav>`
	return slices.Concat(page[:at[1]], []byte(link), page[at[1]:])
}

// shelfShown is how many runs a page lists: who looks for an older one filters.
const shelfShown = 300

// HTML writes the page that lists the stored runs, the newest first. Its one script loads it again when the list has changed.
func (s Shelf) HTML(w io.Writer, wanted Wanted) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	newest := func(a, b Shelved) int {
		if c := b.When.Compare(a.When); c != 0 {
			return c
		}
		return bytes.Compare([]byte(b.Path), []byte(a.Path))
	}
	slices.SortFunc(s.Runs, newest)
	slices.SortFunc(s.Batches, newest)
	slices.SortFunc(s.Searches, newest)
	p := shelfPage{Style: assets.ManyStyle, Script: assets.ShelfScript, ScriptHash: assets.ShelfScriptHash, Name: Visible(s.Name), Total: len(s.Runs), Wanted: wanted}
	verdicts, scenarios, subjects := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range s.Runs {
		verdicts[r.Outcome()] = true
		of := r.of()
		if scenarios[of.Scenario] = true; of.Subject != "" {
			subjects[of.Subject] = true
		}
		if !wanted.has(r) {
			continue
		}
		p.Found++
		if len(p.Runs) < shelfShown {
			p.Runs = append(p.Runs, newShelfRow(r))
		}
	}
	for _, b := range s.Batches[:min(20, len(s.Batches))] {
		p.Batches = append(p.Batches, newShelfRow(b))
	}
	for _, x := range s.Searches[:min(20, len(s.Searches))] {
		row := newShelfRow(x)
		row.Base = (&url.URL{Path: "/searches/" + x.Path}).EscapedPath()
		p.Searches = append(p.Searches, row)
	}
	p.Filters = []shelfFilter{
		{"verdict", "verdict", keys(verdicts), wanted.Verdict}, {"scenario", "scenario", keys(scenarios), wanted.Scenario}, {"subject", "lock", keys(subjects), wanted.Subject},
	}
	var buf bytes.Buffer
	if err := assets.tmpl.ExecuteTemplate(&buf, "shelf.tmpl", p); err != nil {
		return fmt.Errorf("rendering the list: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

type shelfPage struct {
	Style        template.CSS
	Name         string
	Total, Found int
	Wanted       Wanted
	Filters      []shelfFilter
	Runs         []shelfRow
	Batches      []shelfRow
	Searches     []shelfRow
	Script       template.JS
	ScriptHash   string
}

type shelfFilter struct {
	Key, Name string
	Choices   []string
	Chosen    string
}

type shelfRow struct {
	Path, When        string
	Name              string
	Base              string // the address of the run's folder
	Scenario, Subject string
	Seed              string
	Answer            Answer
	Guarantees        []shelfMark
}

type shelfMark struct {
	Tone        Tone
	Mark, Title string
}

func newShelfRow(s Shelved) shelfRow {
	r := shelfRow{Path: s.Path, Name: Visible(s.Name), When: s.When.UTC().Format("2006-01-02 15:04:05"), Base: (&url.URL{Path: "/runs/" + s.Path}).EscapedPath(),
		Answer: Answer{Tone: Bad, Word: s.Outcome(), Text: "the run ended before it was judged"}}
	if of := s.of(); of != (RunOf{}) {
		r.Scenario, r.Subject, r.Seed = junitName(of.Scenario), name(of.Subject), Visible(of.Seed)
	}
	if s.Verdict == nil {
		return r
	}
	r.Answer = answer(s.Verdict)
	for _, g := range contract.Guarantees() {
		x := s.Verdict.Result(g)
		r.Guarantees = append(r.Guarantees, shelfMark{tone(x), marks[tone(x)], string(g) + ": " + statusWord(x)})
	}
	return r
}
