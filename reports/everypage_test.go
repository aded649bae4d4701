package reports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// everyPage is one of each kind of page that this package writes, as people get them.
func everyPage(t *testing.T) map[string][]byte {
	t.Helper()
	h, v := watchdogDeath()
	crowd, crowdVerdict := busy()
	side := Side{Run: Run{History: h, Verdict: v, Command: "simrun x"}, Title: "before", Href: "/a"}
	search := sampleBatch()
	search.Growth = somePanels()
	search.Findings = []Finding{{What: "object: the key", Text: "it broke", Runs: 1, Seed: 7, Command: "simrun -plan p", Links: []Link{{"plan", "found/plan.json"}}}}
	shelf := Shelf{Name: "out", Runs: []Shelved{{Path: "watchdog-death/20261120T201721Z-1", When: time.Unix(1, 0), Verdict: v}, {Path: "killed/c"}},
		Batches: []Shelved{{Path: "batch/d", Name: "simrun -scenario all"}}, Searches: []Shelved{{Path: "rlock-uniform-1"}}}
	pages := map[string][]byte{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"a run": func(b *bytes.Buffer) error {
			return HTML(b, h, v, HTMLOptions{Command: "simrun x", Picture: "porcupine.html"})
		},
		"a busy run":   func(b *bytes.Buffer) error { return HTML(b, crowd, crowdVerdict, HTMLOptions{}) },
		"a shrunk run": func(b *bytes.Buffer) error { return HTML(b, h, v, HTMLOptions{Shrunk: &side.Run}) },
		"a soak": func(b *bytes.Buffer) error {
			return HTML(b, nil, v, HTMLOptions{Long: &Long{Numbers: []Number{{"calls", "7"}}, Chart: somePanels()}})
		},
		"a batch":     func(b *bytes.Buffer) error { return BatchHTML(b, sampleBatch()) },
		"a search":    func(b *bytes.Buffer) error { return BatchHTML(b, search) },
		"two runs":    func(b *bytes.Buffer) error { return Compare(b, side, side) },
		"stored runs": func(b *bytes.Buffer) error { return shelf.HTML(b, Wanted{}) },
		"a matrix":    func(b *bytes.Buffer) error { return someMatrix().HTML(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pages[name] = WithWayBack(b.Bytes(), "/", "all runs")
	}
	return pages
}

// overlaps lists pairs of words of charts and pictures that lie on each other.
const overlaps = `(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent && t.checkVisibility()).map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [i, [a, r]] of texts.entries()) for (const [b, s] of texts.slice(i + 1)) {
      const wide = Math.min(r.right, s.right) - Math.max(r.left, s.left), tall = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      if (wide > 2 && tall > Math.min(r.height, s.height) / 3) found.push(a + " / " + b);
    }
  }
  return found.join("; ");
})()`

// Every page fits windows of 390, 1280 and 1920 pixels, light and dark, and paper. No words lie on each other, and the checker
// axe-core, where HOLDFAST_AXE names its script, has nothing to say of it.
func TestEveryPageInEveryWindow(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("HOLDFAST_AXE"))
	if err != nil && os.Getenv("HOLDFAST_AXE") != "" {
		t.Fatal(err)
	}
	for name, page := range everyPage(t) {
		name = strings.ReplaceAll(name, " ", "-")
		t.Run(name, func(t *testing.T) { tryPage(t, page, axe, false) })
		if bytes.Contains(page, []byte(`id="show-messages"`)) {
			t.Run(name+"-messages", func(t *testing.T) { tryPage(t, page, axe, true) })
		}
	}
}

// tryPage tries a page in every window; with messages, those are in view, and the server log is open.
func tryPage(t *testing.T, page, axe []byte, messages bool) {
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, browser(t))
	for _, width := range []int64{390, 794, 1280, 1920} { // 794 is A4
		for _, look := range []string{"light", "dark", "print"} {
			how := scheme(look)
			if look == "print" {
				how = printed()
			}
			if (look == "print") != (width == 794) || look == "print" && messages { // paper has no messages
				continue
			}
			if testing.Short() && (width == 1920 || width == 390 && look == "dark" || width == 1280 && look == "light") {
				continue
			}
			tb.do(chromedp.EmulateViewport(width, 900), how, chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("main")))
			if messages {
				tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("show-messages").click(); document.getElementById("log").open = true`))
				tb.wait(`document.querySelectorAll("#sequence .message").length > 0`)
			}
			checkPage(tb, fmt.Sprintf("%d, %s", width, look), axe, look == "print" || width == 1920)
		}
	}
}

func checkPage(tb *tab, where string, axe []byte, enough bool) {
	tb.t.Helper()
	if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
		tb.t.Errorf("%s: the page is wider than the window", where)
	}
	if got := eval[int](tb, `document.querySelectorAll("h1").length`); got != 1 {
		tb.t.Errorf("%s: the page has %d headings of its own", where, got)
	}
	if got := eval[string](tb, overlaps); got != "" {
		tb.t.Errorf("%s: words lie on each other: %s", where, got)
	}
	if axe == nil || enough {
		return
	}
	tb.do(chromedp.Evaluate[chromedp.Void](string(axe) + `; window.found = undefined; axe.run().then(r => { window.found = r.violations.map(v => v.id + ": " + v.nodes[0].html).join("; "); }); 0`))
	tb.wait(`window.found !== undefined`)
	if got := eval[string](tb, `window.found`); got != "" {
		tb.t.Errorf("%s: %s", where, got)
	}
}
