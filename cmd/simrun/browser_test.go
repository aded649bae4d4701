package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects"
)

// tab is a tab of a real browser, with what it complained about. Machines without a browser skip
// these tests, unless HOLDFAST_REQUIRE_BROWSER=1 says that there must be one.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	file := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			file = p
			break
		}
	}
	if file == "" {
		if os.Getenv("HOLDFAST_REQUIRE_BROWSER") == "1" {
			t.Fatal("no Chromium in PATH, but HOLDFAST_REQUIRE_BROWSER=1")
		}
		t.Skip("no Chromium in PATH")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(file), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute) // against a browser that hangs
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser's end, so that its folder can be removed
		cancel()
	})
	tb := &tab{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			tb.complaints = append(tb.complaints, fmt.Sprintf("console.%s", ev.Type))
		case *runtime.EventExceptionThrown:
			tb.complaints = append(tb.complaints, ev.ExceptionDetails.Text+" "+ev.ExceptionDetails.Exception.Description)
		case *cdplog.EventEntryAdded:
			tb.complaints = append(tb.complaints, ev.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tb.do(chromedp.EmulateViewport(1280, 900))
	return tb
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// open goes to an address and waits until something is there.
func (tb *tab) open(url, selector string) {
	tb.t.Helper()
	tb.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS(selector)))
}

// eval runs an expression in the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	got, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return got
}

func (tb *tab) quiet(where string) {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, c := range tb.complaints {
		tb.t.Errorf("%s: the browser complains: %s", where, c)
	}
	tb.complaints = nil
}

// What every scenario really leaves behind is a page that works: the violation is in view, its
// story and its operations are there, and porcupine's picture opens at its moment.
func TestReportsOfAllScenariosInBrowser(t *testing.T) {
	t.Parallel()
	tb := newTab(t)
	dir := t.TempDir()
	for i, s := range scenarios.All() {
		if testing.Short() && i%4 != 0 {
			continue
		}
		run(t, dir, "-scenario", s.Name)
		folder := "file://" + filepath.Join(dir, "simrun-out", s.Name, "latest")
		tb.open(folder+"/report.html", "#timeline svg.drawing")
		if subject, _ := subjects.Find(defaultSubject); len(s.Breaks(subject.Can)) > 0 {
			if eval[int](tb, `[...document.querySelectorAll("#timeline .k-window")].filter(w => { const r = w.getBoundingClientRect(); return r.right > 0 && r.left < innerWidth; }).length`) == 0 {
				t.Errorf("%s: no violation is in view", s.Name)
			}
		}
		if eval[int](tb, `document.querySelectorAll("#ops tbody tr").length`) == 0 || eval[int](tb, `document.querySelectorAll(".story li").length`) == 0 {
			t.Errorf("%s: no operations or no story", s.Name)
		}
		if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
			t.Errorf("%s: the page is wider than the window", s.Name)
		}
		tb.quiet(s.Name)
		link := eval[string](tb, `document.querySelector('a[href^="porcupine.html"]')?.getAttribute("href") ?? ""`)
		if link == "" {
			continue // too large for porcupine
		}
		tb.open(folder+"/"+link, "#canvas svg")
		if strings.Contains(link, "#t=") && eval[int](tb, `document.querySelectorAll(".selected").length`) == 0 {
			t.Errorf("%s: porcupine's picture does not show the moment in %s", s.Name, link)
		}
		tb.quiet(s.Name + ", porcupine's picture")
	}
}

// 10,000 operations are to be readable within two seconds and to move smoothly. Times are logged
// (-v) and not judged, since they are the machine's as much as the page's; what is judged is what they
// depend on, the size of the page and of its picture.
func TestALongReportOpensInBrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "long.json")
	if err := os.WriteFile(file, scenarios.Traffic("long", 1, 10, 210).JSON(), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "-plan", file)
	page := filepath.Join(dir, "simrun-out", "long", "latest", "report.html")
	info, err := os.Stat(page)
	if err != nil {
		t.Fatalf("%v; exit %d\n%s%s", err, code, stdout, stderr)
	}
	if info.Size() > 3e6 {
		t.Errorf("%d bytes", info.Size())
	}
	tb := newTab(t)
	tb.open("file://"+page, "#timeline svg.drawing")
	ops := eval[string](tb, `[...document.querySelectorAll(".facts div")].find(d => d.firstChild.textContent === "operations").lastChild.textContent`)
	opened := eval[float64](tb, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	nodes := eval[int](tb, `document.querySelectorAll("#timeline svg *").length`)
	tb.do(chromedp.Evaluate[chromedp.Void](`(() => {
		const box = document.getElementById("timeline"), r = box.getBoundingClientRect(), begun = performance.now();
		let n = 0;
		const next = () => {
			if (n++ === 40) return window.frameTime = (performance.now() - begun) / 40;
			box.dispatchEvent(new WheelEvent("wheel", { deltaX: 12, clientX: r.left + 500, cancelable: true }));
			requestAnimationFrame(next);
		};
		box.dispatchEvent(new WheelEvent("wheel", { deltaY: -60, ctrlKey: true, clientX: r.left + 500, cancelable: true }));
		requestAnimationFrame(next);
	})()`))
	if _, err := chromedp.Run(tb.ctx, chromedp.Poll[bool](`window.frameTime > 0`, chromedp.WithPollingTimeout(time.Minute))); err != nil {
		t.Fatal(err)
	}
	frame := eval[float64](tb, `window.frameTime`)
	t.Logf("%s operations, %d bytes, loaded after %.0f ms, %d nodes in the picture, %.0f ms a frame while moving", ops, info.Size(), opened, nodes, frame)
	if nodes > 2000 {
		t.Errorf("%d nodes in the picture: it cannot be moved smoothly", nodes)
	}
	tb.quiet("the long report")
}

func TestServeInBrowser(t *testing.T) {
	dir, death, _ := stock(t)
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	tb := newTab(t)

	tb.open(s.url+"/", "#runs")
	total := eval[int](tb, `document.querySelectorAll("#runs tbody tr").length`)
	tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("select[name=subject]").value = "rlock-latch"`), chromedp.Click(chromedp.CSS(".filters button")))
	tb.do(chromedp.WaitReady(chromedp.CSS("select[name=subject] option[selected]"))) // which only the filtered page has
	if got := eval[int](tb, `document.querySelectorAll("#runs tbody tr").length`); got != 1 || total <= got {
		t.Errorf("%d of %d runs after filtering", got, total)
	}
	tb.do(chromedp.Click(chromedp.CSS("#runs .badge")), chromedp.WaitVisible(chromedp.CSS("#timeline svg.drawing")))
	if got := eval[string](tb, `location.pathname`); got != "/runs/"+death+"/report.html" {
		t.Errorf("the verdict leads to %s", got)
	}
	if eval[int](tb, `document.querySelectorAll("#timeline .k-through").length`) != 1 {
		t.Error("the report's script did not draw the violation")
	}
	tb.quiet("a report")

	tb.do(chromedp.Click(chromedp.CSS(`a[href^="porcupine.html"]`)), chromedp.WaitVisible(chromedp.CSS("#canvas svg")))
	if got := eval[string](tb, `window.origin`); got != "null" {
		t.Errorf("porcupine's picture is of our origin: %s", got)
	}
	tb.quiet("porcupine's picture")

	tb.open(s.url+"/", "#runs")
	tb.do(chromedp.Click(chromedp.CSS("#runs tbody tr:nth-child(1) input")), chromedp.Click(chromedp.CSS("#runs tbody tr:nth-child(2) input")),
		chromedp.Click(chromedp.CSS(".act button")), chromedp.WaitVisible(chromedp.CSS(".versus")))
	if got := eval[int](tb, `document.querySelectorAll("main.pair svg.sketch").length`); got != 2 {
		t.Errorf("%d pictures on one axis", got)
	}
	if eval[bool](tb, `(() => { const [a, b] = [...document.querySelectorAll("main.pair figure")].map(s => s.getBoundingClientRect()); return a.bottom > b.top || Math.abs(a.left - b.left) > 1 || Math.abs(a.right - b.right) > 1; })()`) {
		t.Error("the two pictures are not on one axis, one below the other")
	}
	tb.open(s.url+"/runs/"+death+"/recheck", ".versus")
	tb.open(s.url+"/runs/batch/"+latestBatch(t, dir)+"/report.html", ".matrix")
	tb.do(chromedp.Click(chromedp.CSS(`.causes a`)), chromedp.WaitVisible(chromedp.CSS("#timeline svg.drawing")))
	tb.quiet("the other pages")
}
