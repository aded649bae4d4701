package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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

// Where nothing was measured nothing is drawn, and nothing told.
func TestAPanelHasGaps(t *testing.T) {
	p := somePanels()
	p.Panels[2].Lines[0].Values[1] = math.NaN()
	v := p.view()
	took := v.Panels[1].Paths
	if a, b := strings.Count(took[0].D, "M"), strings.Count(took[1].D, "M"); a != 2 || b != 1 || strings.Contains(took[0].D, "NaN") {
		t.Errorf("drawn as %s and %s", took[0].D, took[1].D)
	}
	if says := v.Columns[1].Says; strings.Contains(says, "p50") || !strings.Contains(says, "took p99: 2") || v.Cells[1][2] != "–" {
		t.Errorf("told as %q and %q", says, v.Cells[1])
	}
}

// An axis has round values, in units that clocks have if it is one, and its end. They leave each other room.
func TestPanelsHaveAnAxis(t *testing.T) {
	for _, tt := range []struct {
		clock bool
		end   float64
		label string
		want  string
	}{
		{false, 300, "run 300", "0 50 100 150 200 250 run 300"},
		{false, 5, "run 5", "0 1 2 3 4 run 5"},
		{false, 70000, "run 70,000", "0 10,000 20,000 30,000 40,000 50,000 60,000 run 70,000"},
		{true, 39.006, "39.006 s", "0 5 s 10 s 15 s 20 s 25 s 30 s 35 s 39.006 s"},
		{true, 2, "2 s", "0 0.5 s 1.0 s 1.5 s 2 s"},
		{true, 600, "10 min", "0 2 min 4 min 6 min 8 min 10 min"},
		{true, 8 * 3600, "8 h", "0 1 h 2 h 3 h 4 h 5 h 6 h 7 h 8 h"},
		{true, 40 * 24 * 3600, "40 days", "0 144 h 288 h 432 h 576 h 720 h 864 h 40 days"},
	} {
		var got []string
		for _, tick := range (&Panels{Clock: tt.clock, Steps: []Step{{tt.end, tt.label}}}).ticks() {
			got = append(got, tick.Says)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %q, want %q", tt.end, got, tt.want)
		}
	}
	v := somePanels().view()
	if r := v.Panels[0].Rungs; len(r) != 2 || r[0].Says != "5" || r[0].Y != float64(v.Panels[0].Floor)-panelPlot/2 {
		t.Errorf("lines of a peak of 10 at %v", r)
	}
}

// A pointer over a moment reads it at once, on the page of a search and on that of a soak.
func TestPanelsAreReadByAPointer(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	for name, write := range map[string]func(w io.Writer) error{
		"search": func(w io.Writer) error {
			return BatchHTML(w, Batch{Title: "7 runs", Runs: []Summary{{Verdict: v}}, Growth: somePanels()})
		},
		"soak": func(w io.Writer) error {
			return HTML(w, h, v, HTMLOptions{Long: &Long{Chart: somePanels()}})
		},
	} {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		tb := newTab(t, b)
		tb.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS(".panels svg")))
		spot := eval[[]float64](tb, `(() => { const c = document.querySelectorAll(".panels .column")[2]; c.scrollIntoView({block: "center"}); const r = c.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`)
		tb.do(chromedp.MouseEvent("mouseMoved", spot[0], spot[1]))
		tb.wait(`document.querySelector(".panels .readout").checkVisibility()`)
		if got, want := eval[string](tb, `document.querySelector(".panels .readout").innerText`), "40 s\ncalls: 10\ntook p50: 1\ntook p99: 4"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := eval[string](tb, overlaps); got != "" {
			t.Errorf("%s: words lie on each other: %s", name, got)
		}
		tb.do(chromedp.MouseEvent("mouseMoved", 1, 1))
		tb.wait(`!document.querySelector(".panels .readout").checkVisibility()`)
		tb.quiet()
	}
}

// The picture of a part of a run begins where the part does: on paper, and when all of it is shown.
func TestThePictureOfAPartBeginsWithIt(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	for i := range h.Ops {
		h.Ops[i].Call, h.Ops[i].Return = h.Ops[i].Call+sec(1000), h.Ops[i].Return+sec(1000)
	}
	for i := range h.Served {
		s := &h.Served[i]
		s.Sent, s.At = s.Sent+sec(1000), s.At+sec(1000)
		if s.After != nil {
			after := *s.After
			after.Deadline += sec(1000)
			s.After = &after
		}
	}
	h.Faults, h.Events, v.Story, v.Results = nil, nil, nil, nil
	p := newPage(h, v, HTMLOptions{Long: &Long{Window: v}})
	if got := p.Picture.Begin; got < sec(999) || got > sec(1001) {
		t.Errorf("the picture begins at %v", got)
	}
	if first := p.Sketch.Ticks[0].Text; !strings.HasPrefix(first, "10") {
		t.Errorf("on paper it begins at %s", first)
	}
	var page bytes.Buffer
	if err := HTML(&page, h, v, HTMLOptions{Long: &Long{Window: v}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#timeline svg")))
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("0"))
	tb.wait(`document.querySelector(".range").textContent.startsWith("1000")`)
	tb.quiet()
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
	for _, want := range []string{`<a href="found/a/plan.json">plan</a>`, "object: &lt;i&gt;", `<b><a href="found/a/plan.json"><bdi>object: &lt;i&gt;</bdi></a></b>`, "first with seed 7", "restart&lt;b&gt;", "How the search went", "<h1>What did 7 explored runs with rlock-x show?</h1>", "for 1 cause the lock is to blame"} {
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
