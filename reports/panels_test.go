package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func somePanels() *Panels {
	whole := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	return &Panels{Title: "How it went", Steps: []Step{{10, "10 s"}, {20, "20 s"}, {40, "40 s"}},
		Panels: []Panel{
			{Title: "calls", Says: whole, Lines: []Line{{Values: []float64{5, 0, 10}}}},
			{Title: "nothing", Says: whole, Lines: []Line{{Values: []float64{0, 0, 0}}}},
			{Title: "took", Says: whole, Log: true, Lines: []Line{{Name: "p50", Values: []float64{1, 1, 1}}, {Name: "p99", Values: []float64{2, 2, 4}}}},
		},
		Marks: []Marked{{Name: "restart<b>", Counts: []int{0, 2, 0}}}}
}

// All panels share one axis: a step is as wide as the time it stands for, and a mark is where its step is.
func TestPanelsShareAnAxis(t *testing.T) {
	v := somePanels().view()
	if len(v.Panels) != 2 || len(v.Columns) != 3 {
		t.Fatalf("%d panels, %d columns", len(v.Panels), len(v.Columns))
	}
	if a, b := v.Columns[0].W, v.Columns[2].W; b < 1.99*a || b > 2.01*a {
		t.Errorf("10 s are %.1f wide, 20 s %.1f", a, b)
	}
	if m := v.Marks[0].Ranges; len(m) != 1 || m[0].X != v.Columns[1].X || m[0].W != v.Columns[1].W {
		t.Errorf("marks %v, columns %v", m, v.Columns)
	}
	if got, want := v.Columns[2].Says, "40 s\ncalls: 10\ntook p50: 1\ntook p99: 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	floor := float64(v.Panels[0].Floor)
	if want := fmt.Sprintf("M%d.0 %.1fV%.1f", panelsLeft, floor-panelPlot/2, floor-panelPlot/2); !strings.HasPrefix(v.Panels[0].Paths[0].D, want) {
		t.Errorf("half of the peak is drawn as %s, want %s...", v.Panels[0].Paths[0].D, want)
	}
	if (*Panels)(nil).view() != nil || (&Panels{}).view() != nil {
		t.Error("nothing has a picture")
	}
}

// On a panel of ratios a thousand times as long is not all that can be seen: each power of ten has its line, and nothing stands on the floor.
func TestAPanelOfRatios(t *testing.T) {
	ms := func(v float64) string { return fmt.Sprintf("%g ms", v) }
	p := Panel{Title: "took", Says: ms, Log: true, Lines: []Line{{Name: "p50", Values: []float64{0, 0.5, 1}}, {Name: "p99", Values: []float64{1, 10, 500}}}}
	v, ok := p.view(somePanels().Steps, 0)
	if !ok || len(v.Rungs) != 4 {
		t.Fatalf("%v, lines at %v", ok, v.Rungs)
	}
	said := ""
	for i, r := range v.Rungs {
		said += r.Says + " "
		if high := float64(v.Floor) - r.Y; high != panelPlot*float64(i+1)/4 {
			t.Errorf("%s stands at %.1f", r.Says, high)
		}
	}
	if said != "1 ms 10 ms 100 ms 1000 ms " {
		t.Errorf("lines at %s", said)
	}
	if d := v.Paths[0].D; !strings.HasPrefix(d, fmt.Sprintf("M%d.0 %d.0V", panelsLeft, v.Floor)) || !strings.Contains(d, fmt.Sprintf("V%.1f", float64(v.Floor)-panelPlot/4.0)) {
		t.Errorf("nothing, a half and 1 are drawn as %s", d)
	}
	for _, values := range [][]float64{{5}, {10}, {1e-9, 1e9}} {
		p.Lines = []Line{{Values: values}}
		if v, _ := p.view([]Step{{1, ""}, {2, ""}}[:len(values)], 0); len(v.Rungs) == 0 || len(v.Rungs) > 4 {
			t.Errorf("%v: lines at %v", values, v.Rungs)
		}
	}
}

// The page of a search tells each finding with what is kept of it, and how the search went.
func TestPageOfASearch(t *testing.T) {
	var page bytes.Buffer
	_, v := watchdogDeath()
	err := BatchHTML(&page, Batch{Title: "7 explored runs with rlock-x", Runs: []Summary{{Verdict: v}}, Growth: somePanels(), Findings: []Finding{{What: "object: <i>", Text: "two at once", Runs: 1, Seed: 7,
		Command: "simrun -plan x", Links: []Link{{"plan", "found/a/plan.json"}, {"evil", "javascript:alert(1)"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="found/a/plan.json">plan</a>`, "object: &lt;i&gt;", "first with seed 7", "restart&lt;b&gt;", "How the search went", "<h1>What did 7 explored runs with rlock-x show?</h1>", "for 1 cause the lock is to blame"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page.String(), "javascript:") {
		t.Error("a link runs a script")
	}
	_, head, _ := strings.Cut(page.String(), "<header")
	if head, _, _ = strings.Cut(head, "</header>"); strings.Contains(strings.ToLower(head), "expect") || strings.Contains(head, "predict") {
		t.Error("a search foretells nothing, and the head of its page says so")
	}
}
