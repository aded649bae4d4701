package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"io"

	"github.com/holdfast-sim/holdfast/contract"
)

// Side is one of two runs, or of two judgements of one, that are looked at together.
type Side struct {
	Run
	Title string // above its column
	Href  string // where its own report is; empty: nowhere
}

// Compare writes a page with two runs side by side: what each guarantee came to, the pictures and
// the stories. It has no script.
func Compare(w io.Writer, a, b Side) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	p := comparison{Style: assets.ManyStyle, Sides: []sideView{newSide(a), newSide(b)}}
	for i, g := range contract.Guarantees() {
		row := comparisonRow{Results: []resultView{p.Sides[0].results[i], p.Sides[1].results[i]}}
		x, y := a.Verdict.Result(g), b.Verdict.Result(g)
		row.Differs = x.Status != y.Status || x.Expected != y.Expected || len(x.Violations) != len(y.Violations)
		if row.Differs {
			p.Differences++
		}
		p.Rows = append(p.Rows, row)
	}
	p.SameTrace = a.Verdict.Trace != "" && a.Verdict.Trace == b.Verdict.Trace
	var buf bytes.Buffer
	if err := assets.tmpl.ExecuteTemplate(&buf, "compare.tmpl", p); err != nil {
		return fmt.Errorf("rendering the comparison: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

type comparison struct {
	Style       template.CSS
	Sides       []sideView
	Rows        []comparisonRow
	Differences int
	SameTrace   bool
}

type comparisonRow struct {
	Results []resultView // one of each side
	Differs bool
}

type sideView struct {
	Title, Href string
	Scenario    string
	Subject     string
	Seed        uint64
	Answer      Answer
	Facts       []fact
	Explanation []string
	Sketch      *sketch
	Story       []momentView
	Command     string
	results     []resultView
}

func newSide(s Side) sideView {
	p := newPage(s.History, s.Verdict, HTMLOptions{Command: s.Command, Long: s.Long})
	return sideView{Title: Visible(s.Title), Href: s.Href, Scenario: p.Scenario, Subject: p.Subject, Seed: p.Seed, Answer: p.Answer, Facts: p.Facts,
		Explanation: p.Explanation, Sketch: p.Sketch, Story: p.Story, Command: p.Command, results: p.Results}
}
