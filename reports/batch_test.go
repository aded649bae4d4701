package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Free at 30.410 s by expiry, granted to the waiting c2:1 at 30.415 s, which hears of it at 30.418 s.
func TestHandoffsAreMeasuredFromTheServerToTheWaiter(t *testing.T) {
	h, _ := watchdogDeath()
	if got := Handoffs(h); !slices.Equal(got, []time.Duration{sec(30.418) - sec(30.410)}) {
		t.Errorf("hand-offs %v", got)
	}
	late := slices.Clone(h.Ops)
	late[2].Call = sec(30.412) // asked only when the lock was free
	h.Ops = late
	if got := Handoffs(h); len(got) != 0 {
		t.Errorf("a call that did not wait was handed the lock: %v", got)
	}
	h, _ = watchdogDeath()
	h.Served = nil
	if got := Handoffs(h); len(got) != 0 {
		t.Errorf("without a server log: %v", got)
	}
}

func TestSummaryKeepsWhatAFailureNeedsAndLittleElse(t *testing.T) {
	h, v := watchdogDeath()
	v.Results[1].Violations = append(v.Results[1].Violations, checker.Violation{From: sec(1), To: sec(3)})
	s := Summarize(h, v, false)
	if len(s.Verdict.Story) != 0 || s.Verdict.Explanation != "" || len(s.Verdict.Result(contract.Exclusion).Violations) != 1 {
		t.Errorf("kept of an expected run: %+v", s.Verdict)
	}
	if !slices.Equal(s.Overlaps, []time.Duration{sec(45.400) - sec(30.418), sec(2)}) {
		t.Errorf("overlaps %v", s.Overlaps)
	}
	if len(v.Story) == 0 || len(v.Result(contract.Exclusion).Violations) != 2 {
		t.Error("the verdict itself was changed")
	}
	if whole := Summarize(h, v, true); whole.Verdict != v {
		t.Error("the whole verdict is not kept")
	}
	v.Results[1].Violations[1].Ruling = checker.Ruling{Kind: checker.Defect}
	if s := Summarize(h, v, false); s.Verdict.Code() != v.Code() || s.Verdict.Code() != checker.ExitUnexpected {
		t.Errorf("exit code %d of a summary whose second violation is a defect, %d of the verdict", s.Verdict.Code(), v.Code())
	}
	v.Results[0].Status = checker.Broken
	if s := Summarize(h, v, false); len(s.Verdict.Story) == 0 || s.Verdict.Explanation == "" {
		t.Error("the story of an unexpected run is lost")
	}
}

func TestHistogramHasEveryDurationInItsBar(t *testing.T) {
	for _, tt := range []struct {
		in   []time.Duration
		want string
	}{
		{nil, ""},
		{[]time.Duration{0}, "1 µs:1"},
		{[]time.Duration{time.Second}, "1 s:1"},
		{[]time.Duration{999 * time.Microsecond, time.Millisecond, 2*time.Millisecond - 1, 2 * time.Millisecond}, "500 µs:1 1 ms:2 2 ms:1"},
		{[]time.Duration{3 * time.Millisecond, 60 * time.Millisecond}, "2 ms:1 5 ms:0 10 ms:0 20 ms:0 50 ms:1"},
		{[]time.Duration{15 * time.Second, 120 * time.Second}, "10 s:1 20 s:0 50 s:0 100 s:1"},
	} {
		var got []string
		h := newHistogram("", "", "", tt.in)
		for _, b := range h.Bars {
			got = append(got, b.From+":"+b.Count)
			if b.H < 0 || b.Y+b.H != chartFloor || b.Zero != (b.H == 0) {
				t.Errorf("%v: bar %+v", tt.in, b)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %v, want %s", tt.in, got, tt.want)
		}
	}
}

// Two runs of 10 s: three acquisitions at the beginning, one at the end, a fault from 5 s on.
func TestRateChartIsToScale(t *testing.T) {
	run := func(faults []history.Fault, grants ...float64) *Summary {
		s := &Summary{Verdict: &checker.Verdict{Virtual: sec(10)}, Faults: faults}
		for _, g := range grants {
			s.Grants = append(s.Grants, sec(g))
		}
		return s
	}
	paused := []history.Fault{{Effects: []history.Effect{history.ProcessStopped}, From: sec(5)}, {Kind: "partition", Missed: true}}
	c, ok := newRateChart("x", []*Summary{run(paused, 0, 0.01), run(paused, 0.02, 10)})
	if !ok || len(c.Bands) != 1 || c.Bands[0].X != 170 || c.Bands[0].W != 170 {
		t.Errorf("bands %+v", c.Bands)
	}
	if !strings.HasPrefix(c.Area, "M0 66V12H5V66H10") || !strings.HasSuffix(c.Area, "V48H340V66z") {
		t.Errorf("area %s", c.Area)
	}
	if c.Says != "x: 4 acquisitions, at most 10/s in a run" { // 3 in 10/68 s in 2 runs
		t.Errorf("says %q", c.Says)
	}
	if _, ok := newRateChart("x", []*Summary{run(nil)}); ok {
		t.Error("a chart of nothing")
	}
}

func batchOf(t testing.TB, b Batch) string {
	t.Helper()
	var page strings.Builder
	if err := BatchHTML(&page, b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(page.String(), "\u00a0", " ")
}

func TestBatchPageTellsEverything(t *testing.T) {
	b := sampleBatch()
	b.Runs[0].Report = "../watchdog-death/x/report.html"
	page := batchOf(t, b)
	for _, want := range []string{
		"What did 6 runs of 4 scenarios with 2 locks show?", "HARNESS ERROR",
		"explored, rlock-latch, seed 7",                                       // not as expected
		"the worker process died: exit status 2",                              // the harness' failure
		"exclusion of rlock-latch in watchdog-death: broken, as expected",     // a cell
		`<a href="../watchdog-death/x/report.html"`,                           // its example
		"object of rlock-classic in baseline: never judged; broken in 0 of 3", // the worst run decides
		"paused holder", "an assumption of such locks failed: holder-not-renewed (the sample)", "key lost", // causes
		"the key was deleted from outside at 4.400 s",               // an example's
		"1 from 10 s to 20 s",                                       // an overlap
		"1 from 5 ms to 10 ms",                                      // a hand-off
		"<td>pause-watchdog</td>", "Never struck here: expire-key.", // faults
		"simrun -scenario all</code>", "simrun -scenario watchdog-death -seed 1", // commands
	} {
		if !strings.Contains(commandsWhole(page), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 { // ours, which filters
		t.Errorf("the page has %d scripts", n)
	}
	for _, bad := range []string{"<img", "<h1>no", "\u202e", "\x1b", "http://", "https://"} {
		if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if again := batchOf(t, b); again != page {
		t.Error("two renderings differ")
	}
}

// Each class of cause is told once, with how many runs it broke; what nobody
// expected comes first.
func TestCausesAreCounted(t *testing.T) {
	var b Batch
	for i := range 5 {
		h, v := watchdogDeath()
		v.Seed = uint64(i)
		if i == 3 {
			v.Results[1].Violations[0].Cause = checker.Cause{Class: contract.DoubleExecution}
			v.Results[1].Expected = ""
		}
		b.Runs = append(b.Runs, Summarize(h, v, false))
	}
	var got []string
	for _, c := range b.causes() {
		got = append(got, fmt.Sprintf("%s ×%d %v seed %d", c.Class, c.Runs, c.Broke, c.Example.Verdict.Seed))
	}
	want := []string{"double execution ×1 map[exclusion:1] seed 3", "paused holder ×5 map[effect:5 exclusion:4 watchdog:5] seed 0"}
	if !slices.Equal(got, want) {
		t.Errorf("causes %q, want %q", got, want)
	}
	if got := b.Examples(); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("examples %v", got)
	}
}

func TestBatchPageOfAThousandRuns(t *testing.T) {
	var b Batch
	for i := range 1000 {
		h, v := watchdogDeath()
		v.Seed, v.Scenario = uint64(i), fmt.Sprintf("s%d", i%50)
		v.Results[0].Status, v.Results[0].Violations = checker.Broken, v.Results[1].Violations
		h.Faults = append(h.Faults, history.Fault{Kind: "drop", Step: "release", From: 1})
		b.Runs = append(b.Runs, Summarize(h, v, false))
	}
	page := batchOf(t, b)
	if len(page) > 500e3 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "and 950 more") {
		t.Error("it does not say how many failures it leaves out")
	}
}

func TestBatchPageInBrowser(t *testing.T) {
	b := browser(t)
	file := filepath.Join(t.TempDir(), "batch.html")
	if err := os.WriteFile(file, []byte(batchOf(t, sampleBatch())), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1280, 380} {
		tb := newTab(t, b)
		tb.do(chromedp.EmulateViewport(width, 900))
		tb.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS(".matrix")))
		if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
			t.Errorf("the page is wider than a window of %d", width)
		}
		if got := eval[int](tb, `[...document.querySelectorAll(".charts .bar")].filter(b => b.getBoundingClientRect().height > 3).length`); got != 2 {
			t.Errorf("%d bars to be seen, want 2", got)
		}
		tb.quiet()
	}
}

// The matrix shows the scenarios and the lock that are chosen, and so does a link to the page; its head stays in sight.
func TestABatchIsFiltered(t *testing.T) {
	b := browser(t)
	batch := sampleBatch()
	file := filepath.Join(t.TempDir(), "batch.html")
	if err := os.WriteFile(file, []byte(batchOf(t, batch)), 0o600); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#choose")))
	const rows = `[...document.querySelectorAll(".matrix tbody tr")].filter(r => r.checkVisibility()).map(r => r.cells[0].textContent).join()`
	const locks = `[...document.querySelectorAll(".matrix thead [colspan]")].filter(r => r.checkVisibility()).map(r => r.textContent).join()`
	all, allLocks := eval[string](tb, rows), eval[string](tb, locks)
	if strings.Count(all, ",") < 2 || strings.Count(allLocks, ",") < 1 {
		t.Fatalf("rows %s, locks %s: the test tries nothing", all, allLocks)
	}
	set := func(name, value string) {
		eval[bool](tb, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event("input", {bubbles: true})) })(document.querySelector("#choose [name=%s]"))`, value, name))
	}
	set("show", "bad")
	bad := eval[string](tb, rows)
	if want := eval[string](tb, `[...document.querySelectorAll(".matrix tbody tr")].filter(r => r.querySelector("td.tone-bad")).map(r => r.cells[0].textContent).join()`); bad != want || bad == all || bad == "" {
		t.Errorf("what is not as expected: %s, want %s of %s", bad, want, all)
	}
	set("show", "")
	word, _, _ := strings.Cut(all, ",")
	set("scenario", strings.ToUpper(word))
	set("lock", "1")
	if got := eval[string](tb, rows); got != word {
		t.Errorf("%s leaves the rows %s", word, got)
	}
	if _, second, _ := strings.Cut(allLocks, ","); eval[string](tb, locks) != strings.Split(second, ",")[0] {
		t.Errorf("the second lock leaves %s of %s", eval[string](tb, locks), allLocks)
	}
	address := eval[string](tb, `location.href`)
	tb.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#choose")))
	if got := eval[string](tb, rows); got != word || eval[string](tb, `document.getElementById("matches").textContent`) != fmt.Sprintf("1 of %d scenarios", strings.Count(all, ",")+1) {
		t.Errorf("by its link: rows %s", got)
	}
	set("scenario", "")
	set("lock", "")
	tb.do(chromedp.EmulateViewport(1280, 200))
	tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".matrix").closest(".scroll").scrollTop = 60`))
	if !eval[bool](tb, `(() => { const s = document.querySelector(".matrix").closest(".scroll"), h = document.querySelector(".matrix thead"); return s.scrollTop > 20 && Math.abs(h.getBoundingClientRect().top - s.getBoundingClientRect().top) < 3; })()`) {
		t.Error("the head of the matrix does not stay")
	}
	tb.quiet()
}
