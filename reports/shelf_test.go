package reports

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

func TestComparisonShowsWhereTwoRunsDiffer(t *testing.T) {
	h, v := watchdogDeath()
	better := *v
	better.Results = append([]checker.Result(nil), v.Results...)
	better.Results[4] = checker.Result{Guarantee: contract.Watchdog, Status: checker.Holds, Summary: "It held."}
	left := Side{Run: Run{History: h, Verdict: v, Command: "simrun x"}, Title: "before", Href: "/a"}
	for _, tt := range []struct {
		right Side
		want  []string
	}{
		{left, []string{"They agree on every guarantee.", "their traces are equal", "simrun x"}},
		{Side{Run: Run{History: h, Verdict: &better}, Title: "after"}, []string{"They differ in 1 guarantee.", `<tr class="differs"><th scope="row">watchdog</th>`, "before", "after"}},
		{Side{Run: Run{Verdict: &better}, Title: "after"}, []string{"no history"}},
	} {
		var page bytes.Buffer
		if err := Compare(&page, left, tt.right); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(commandsWhole(page.String()), want) {
				t.Errorf("the page does not contain %q", want)
			}
		}
	}
	if err := Compare(full{}, left, left); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}

func TestHostileTextIsTextOnEveryPage(t *testing.T) {
	h, v := hostile()
	side := Side{Run: Run{History: h, Verdict: v, Command: "</code><script>pwned=1</script>"}, Title: "<script>pwned=1</script>", Href: "javascript:pwned=1"}
	shelf := Shelf{Name: "<img src=x onerror=pwned=1>", Runs: []Shelved{{Path: `a"><script>pwned=1</script>/b`, Verdict: v}, {Path: "killed/1"}}}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"compare":    func(b *bytes.Buffer) error { return Compare(b, side, side) },
		"shelf":      func(b *bytes.Buffer) error { return shelf.HTML(b, Wanted{Seed: `"><script>`}) },
		"shelf, all": func(b *bytes.Buffer) error { return shelf.HTML(b, Wanted{}) },
		"shrunk": func(b *bytes.Buffer) error {
			return HTML(b, h, v, HTMLOptions{Shrunk: &Run{History: h, Verdict: v, Command: "</code><script>pwned=1</script>"}})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		for _, bad := range []string{"<script>pwned", `"><script>`, "<img", "<svg onload", "<h1>no", "\u202e", "\x1b", `href="javascript:`} {
			if strings.Contains(page, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
}

func TestShelfIsSortedAndFiltered(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	_, death := watchdogDeath()
	_, calm := quiet(10)
	s := Shelf{Name: "out", Runs: []Shelved{{Path: "watchdog-death/a", When: at(1), Verdict: death}, {Path: "baseline/b", When: at(3), Verdict: calm}, {Path: "killed/c", When: at(2)}}, Batches: []Shelved{{Path: "batch/d", When: at(4)}}}
	for _, tt := range []struct {
		wanted Wanted
		want   string
	}{
		{Wanted{}, "baseline/b killed/c watchdog-death/a"},
		{Wanted{Verdict: "REPRODUCED"}, "watchdog-death/a"},
		{Wanted{Verdict: "NEVER JUDGED"}, "killed/c"},
		{Wanted{Scenario: "baseline", Seed: "7"}, "baseline/b"},
		{Wanted{Scenario: "baseline", Seed: "8"}, ""},
	} {
		var b bytes.Buffer
		if err := s.HTML(&b, tt.wanted); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, part := range strings.Split(b.String(), `name="run" value="`)[1:] {
			path, _, _ := strings.Cut(part, `"`)
			got = append(got, path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.wanted, got, tt.want)
		}
		if !strings.Contains(b.String(), `href="/runs/batch/d/report.html"`) {
			t.Error("the batch is not listed")
		}
	}
}

// The list fits a window of 1280 pixels with long names, too; a name leads to its report, and the head to what stands below the list.
func TestShelfFitsAndLeadsOn(t *testing.T) {
	_, death := watchdogDeath()
	long := *death
	long.Scenario, long.Subject = "semaphore-closed-subscription", "rpermitsemaphore-hardened"
	s := Shelf{Name: "out", Runs: []Shelved{{Path: "long/a", When: time.Unix(1, 0), Verdict: &long}}, Batches: []Shelved{{Path: "batch/d"}}, Searches: []Shelved{{Path: "x"}}}
	var page bytes.Buffer
	if err := s.HTML(&page, Wanted{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`report.html"><bdi>semaphore-closed-subscription</bdi></a>`, `<a href="#h-batches">1 batch</a> and <a href="#h-searches">1 exploration</a>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the list has no %s", want)
		}
	}
	file := filepath.Join(t.TempDir(), "list.html")
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, browser(t))
	tb.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("#runs")))
	if eval[bool](tb, `document.querySelector(".scroll").scrollWidth > document.querySelector(".scroll").clientWidth`) {
		t.Error("the list is wider than its frame")
	}
}

func TestTheShrunkStoryStandsBesideTheFullOne(t *testing.T) {
	h, v := busy()
	small, smallVerdict := watchdogDeath()
	page := pageOf(t, h, v, HTMLOptions{Shrunk: &Run{History: small, Verdict: smallVerdict, Command: "simrun -plan small.json"}})
	for _, want := range []string{"The smallest plan that breaks the same", "Its run has 11 operations and takes ", "The run above has " + Thousands(v.Ops) + " operations", "simrun -plan small.json", "acquires order:42: two owners now believe", "acquires stock:{7} while c6:1"} {
		if !strings.Contains(commandsWhole(page), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.Contains(pageOf(t, h, v, HTMLOptions{}), "The smallest plan that breaks the same") {
		t.Error("a run that was not shrunk is said to be")
	}
	// Its picture is all there in a usual window, beside its story.
	tb := newTab(t, browser(t))
	file := filepath.Join(t.TempDir(), "shrunk.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	tb.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("#shrunk")))
	if !eval[bool](tb, `(() => { const f = document.querySelector("#shrunk figure"), s = document.querySelector("#shrunk .story"); return f.scrollWidth <= f.clientWidth && s.getBoundingClientRect().left > f.getBoundingClientRect().right && s.getBoundingClientRect().top < f.getBoundingClientRect().bottom; })()`) {
		t.Error("the picture of the smallest plan is cut, or not beside its story")
	}
	tb.quiet()
}

func TestPorcupinesPageIsRefusedWhenItChanged(t *testing.T) {
	for _, page := range []string{"", "<head></head><body></body>", "<head></head><body><script>a</script><script>b</script></body>"} {
		if err := Porcupine(&bytes.Buffer{}, []byte(page), PorcupineOf{}); err == nil {
			t.Errorf("accepted: %q", page)
		}
	}
}

// A client's name cannot run a script in porcupine's page, which shows states as HTML.
func TestPorcupinesPageInBrowser(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	for i := range h.Ops {
		h.Ops[i].Owner = strings.Replace(h.Ops[i].Owner, "c1", `c1<img src=x onerror="document.title='pwned'">`, 1)
	}
	h.Served, h.Header.Versions = nil, nil
	var drawn, page bytes.Buffer
	if err := checker.Picture(&drawn, h, lockName, checker.DefaultBudget); err != nil {
		t.Fatal(err)
	}
	if err := Porcupine(&page, drawn.Bytes(), PorcupineOf{Lock: "<b>" + lockName, Run: "watchdog-death"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "porcupine.html")
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(chromedp.Navigate("file://"+file+"#t="+seconds(v.Result(contract.Exclusion).Violations[0].From)+"s"), chromedp.WaitVisible(chromedp.CSS("#canvas svg")))
	tb.wait(`document.querySelectorAll(".selected").length === 1`)
	if got, want := eval[string](tb, `document.title + "|" + document.querySelector("h1").textContent`), "<b>"+lockName+" in watchdog-death"; got != want+", as porcupine draws it|"+want {
		t.Errorf("the page is called %q", got)
	}
	if got := eval[string](tb, `document.querySelector("header a").getAttribute("href")`); got != "report.html" {
		t.Errorf("the way back leads to %q", got)
	}
	if got := eval[int](tb, `document.querySelectorAll("title").length`); got != 1 {
		t.Errorf("the page has %d titles", got)
	}
	apart := `(() => { const l = document.getElementById("legend").getBoundingClientRect(); scrollTo(0, 0); return [...document.querySelectorAll("header h1, header a")].every(e => e.getBoundingClientRect().top >= l.bottom); })()`
	if !eval[bool](tb, apart) {
		t.Error("porcupine's legend lies on what the page is called, or on the way back")
	}
	tb.do(chromedp.Evaluate[chromedp.Void](`for (const r of document.querySelectorAll(".target-rect")) for (const e of ["mouseover", "mousemove", "click", "click"]) r.dispatchEvent(new MouseEvent(e))`))
	tb.wait(`new Promise(done => setTimeout(() => done(true), 50))`)
	if got := eval[string](tb, `document.title`); got == "pwned" {
		t.Error("a client's name ran as a script")
	}
}
