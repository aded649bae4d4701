package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// Side is one of two runs, or of two judgements of one, that are looked at together.
type Side struct {
	Run
	Title string // above its column
	Href  string // where its own report is; empty: nowhere
}

// Compare writes a page about two runs: what each guarantee came to, both pictures on one axis with the first divergence
// marked and one cursor, and how the plans and the stories differ.
func Compare(w io.Writer, a, b Side) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	p := comparison{Style: assets.ManyStyle, Script: assets.CompareScript, ScriptHash: assets.CompareScriptHash, Sides: []sideView{newSide(a), newSide(b)}, Difference: Differ(a, b)}
	p.onOneAxis()
	p.Plan = planView(p.Difference.Plan)
	p.Stories = p.storyView()
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
	Script      template.JS
	ScriptHash  string
	Sides       []sideView
	Rows        []comparisonRow
	Differences int
	SameTrace   bool
	Difference  *Difference
	Plan        []Change[string]
	Stories     []storyRow
}

// storyRow is a line of two stories. What a story does not have is nil.
type storyRow struct {
	Sign string
	A, B *momentView
}

// onOneAxis draws both runs to one scale, with where they diverge.
func (p *comparison) onOneAxis() {
	end := time.Duration(0)
	for _, s := range p.Sides {
		if s.picture != nil {
			end = max(end, s.picture.End)
		}
	}
	for i := range p.Sides {
		s := &p.Sides[i]
		if s.picture == nil {
			continue
		}
		s.picture.End = end
		s.Sketch = newSketch(s.picture)
		s.Axis = &axis{Left: s.picture.Gutter, Right: sketchRight, End: int64(end)}
		if d := p.Difference.Divergence; d != nil {
			s.Sketch.mark(s.picture, d.At(), "here they diverge: "+checker.Stamp(d.At()))
		}
	}
}

// planView is a plan's lines, without those that are far from every change.
func planView(plan []Change[string]) []Change[string] {
	if !changed(plan) {
		return nil
	}
	var view []Change[string]
	for i, c := range plan {
		switch n := len(view); {
		case near(plan, i, isOther):
			view = append(view, Change[string]{signOf(c.Sign), Visible(c.Line)})
		case n == 0 || view[n-1].Sign != "…":
			view = append(view, Change[string]{Sign: "…"})
		}
	}
	return view
}

// storyView pairs the lines of the two stories as pages show them.
func (p *comparison) storyView() (rows []storyRow) {
	a, b := p.Sides[0].Story, p.Sides[1].Story
	for _, c := range p.Difference.Story {
		row := storyRow{Sign: signOf(c.Sign)}
		if c.Line.A != nil {
			row.A, a = &a[0], a[1:]
		}
		if c.Line.B != nil {
			row.B, b = &b[0], b[1:]
		}
		rows = append(rows, row)
	}
	return rows
}

type comparisonRow struct {
	Results []resultView // one of each side
	Differs bool
}

// axis is where a picture begins and ends, in its own units, and how many nanoseconds that is.
type axis struct {
	Left, Right int
	End         int64
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
	Axis        *axis
	Story       []momentView
	Command     string
	results     []resultView
	picture     *picture
}

func newSide(s Side) sideView {
	p := newPage(s.History, s.Verdict, HTMLOptions{Command: s.Command, Long: s.Long})
	return sideView{Title: Visible(s.Title), Href: s.Href, Scenario: p.Scenario, Subject: p.Subject, Seed: p.Seed, Answer: p.Answer, Facts: p.Facts,
		Explanation: p.Explanation, Sketch: p.Sketch, Story: p.Story, Command: p.Command, results: p.Results, picture: p.Picture}
}
