package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// someMatrix has a cell of each kind.
func someMatrix() Matrix {
	spared := history.Fault{}
	result := func(g contract.Guarantee, kind checker.RulingKind, source string) checker.Result {
		return checker.Result{Guarantee: g, Status: checker.Broken, Violations: []checker.Violation{
			{Text: "it broke <" + string(g) + ">", Ruling: checker.Ruling{Kind: kind, Source: source}}}}
	}
	cell := func(scenario string, faults []history.Fault, results ...checker.Result) MatrixCell {
		v := &checker.Verdict{Explanation: "Nothing broke.", Results: results}
		return NewMatrixCell(scenario, Summary{Verdict: v, Faults: faults, Command: "simrun -scenario " + scenario}, "the story of "+scenario)
	}
	failed := MatrixCell{Scenario: "no-verdict", Trouble: "the worker ended", Runs: 1, Same: 1}
	return Matrix{Version: MatrixVersion, Scenarios: []string{"good", "spared", "guilty", "excused", "no-verdict", "none", "of-latches"}, Locks: []MatrixLock{
		{Name: "a-lock", Language: "go", Package: "example.org/a", Version: "v1", About: "one", Cells: []MatrixCell{cell("good", nil)}},
		{Name: "b-lock", Language: "python", Package: "b", Version: "2", About: "another", Date: "2026-01-02", Cells: []MatrixCell{
			cell("good", nil), cell("spared", []history.Fault{spared}),
			cell("guilty", nil, result(contract.Exclusion, checker.Defect, ""), result(contract.Effect, checker.FailedAssumption, "")),
			cell("excused", nil, result(contract.Liveness, checker.KnownLimitation, "its README")), failed}},
		{Name: "c-latch", Language: "go", Object: history.ALatch, Package: "example.org/c", About: "a latch", Cells: []MatrixCell{cell("of-latches", nil)}},
	}}
}

func TestAMatrixSaysWhatBrokeAndWhoAnswersForIt(t *testing.T) {
	m := someMatrix()
	var md bytes.Buffer
	if err := m.Markdown(&md, "head\n", "tail\n"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [good](scenarios.md#good) | ✓ |", "| [spared](scenarios.md#spared) | (✓) |", "| [guilty](scenarios.md#guilty) | **exclusion**, *effect* |",
		"| [excused](scenarios.md#excused) | *liveness* |", "| [no-verdict](scenarios.md#no-verdict) | ? |", "| [spared](scenarios.md#spared) | (✓) |\n| [guilty]",
		"* **exclusion** in guilty, b-lock: it broke <exclusion>.", "| b-lock | excused | liveness | its README |", "(b 2, run on 2026-01-02)",
		"## Go\n\n* `a-lock`", "## Latches\n\n* `c-latch` (example.org/c): a latch\n\n| scenario | c-latch |\n|---|---|\n| [of-latches](scenarios.md#of-latches) | ✓ |\n",
	} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, md.String())
		}
	}
	if strings.Contains(md.String(), "scenarios.md#none") {
		t.Errorf("a story that no lock can play has a row:\n%s", md.String())
	}
	again, err := ReadMatrix(m.JSON())
	if err != nil || !bytes.Equal(again.JSON(), m.JSON()) {
		t.Errorf("read again it is another (%v)", err)
	}
	if _, err := ReadMatrix([]byte(`{"version":2}`)); err == nil {
		t.Error("a later version is read")
	}
	guilty := m.Lock("b-lock").Cell("guilty")
	if other := m.Lock("b-lock").Cell("excused"); guilty.Agrees(*other) || !guilty.Agrees(*guilty) || !guilty.Guilty() || other.Guilty() {
		t.Error("cells are not told apart")
	}
}

// The page shows what is chosen, and opens the story of a cell; a link to either shows the same.
func TestTheMatrixInABrowser(t *testing.T) {
	b := browser(t)
	file := filepath.Join(t.TempDir(), "matrix.html")
	var page bytes.Buffer
	if err := someMatrix().HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#choose")))
	const columns, rows = `[...document.querySelectorAll(".field thead [data-lock]")].filter(e => !e.hidden).map(e => e.dataset.lock).join()`,
		`[...document.querySelectorAll(".field tbody tr")].filter(e => !e.hidden).map(e => e.cells[0].innerText).join()`
	if got := eval[string](tb, columns); got != "a-lock,b-lock,c-latch" {
		t.Errorf("columns %q", got)
	}
	tb.do(chromedp.Click(chromedp.CSS(`input[value=go]`)))
	if got := eval[string](tb, columns); got != "b-lock" {
		t.Errorf("without Go: columns %q", got)
	}
	eval[bool](tb, `(e => { e.value = "liveness"; return e.dispatchEvent(new Event("input", {bubbles: true})) })(document.querySelector("select[name=guarantee]"))`)
	if got := eval[string](tb, rows); got != "excused" {
		t.Errorf("where liveness broke: rows %q", got)
	}
	address := eval[string](tb, `location.href`)
	tb.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#choose")))
	if got := eval[string](tb, columns+` + "; " + `+rows); got != "b-lock; excused" {
		t.Errorf("by its link: %q", got)
	}
	tb.do(chromedp.Click(chromedp.CSS(`a[href="#cell-excused-b-lock"]`)), chromedp.WaitVisible(chromedp.CSS("#cell-excused-b-lock")))
	tb.wait(`document.querySelector("dialog[open] pre") !== null`) // which the page opens when it hears of its new address
	if got := eval[string](tb, `document.querySelector("dialog[open] pre").innerText`); got != "the story of excused" {
		t.Errorf("the story is %q", got)
	}
	for _, width := range []int64{390, 1280} {
		tb.do(chromedp.EmulateViewport(width, 800))
		if over := eval[float64](tb, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("at %d the page is %v too wide", width, over)
		}
	}
	tb.quiet()
}
