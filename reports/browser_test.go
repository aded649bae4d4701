package reports

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

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// A browser is needed to know that the page works, not only that it is written. Machines without
// one skip these tests, unless HOLDFAST_REQUIRE_BROWSER=1 says that there must be one.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("HOLDFAST_REQUIRE_BROWSER") == "1" {
			t.Fatal("no Chromium in PATH, but HOLDFAST_REQUIRE_BROWSER=1")
		}
		t.Skip("no Chromium in PATH")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser's end, so that its folder can be removed
		cancel()
	})
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute) // against a browser that hangs
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts it; contexts made from this one are its tabs
		t.Fatal(err)
	}
	return ctx
}

// tab is one open report, with what the browser complained about.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// open writes a report and opens it in a tab of its own; fragment is empty or "#...".
func open(t *testing.T, b context.Context, h *history.History, v *checker.Verdict, fragment string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := HTML(f, h, v, HTMLOptions{Command: "simrun -scenario watchdog-death -seed 1", Picture: "porcupine.html"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(before...)
	tb.do(chromedp.Navigate("file://"+file+fragment), chromedp.WaitVisible(chromedp.CSS("#timeline svg")))
	return tb
}

func newTab(t *testing.T, b context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b)
	t.Cleanup(cancel)
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
	return tb
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
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

// wait waits until an expression is true.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	if _, err := chromedp.Run(tb.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		tb.t.Fatalf("waiting for %s: %v", expression, err)
	}
}

func (tb *tab) quiet() {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, c := range tb.complaints {
		tb.t.Errorf("the browser complains: %s", c)
	}
}

// at writes x of a time in the picture, for expressions in the page.
const picturePoint = `(() => {
  const box = document.getElementById("timeline"), data = JSON.parse(document.getElementById("data").textContent);
  const r = box.getBoundingClientRect();
  return {r, data, x: t => r.left + data.gutter + (t*1e9 + data.end*0.01) / (data.end*1.02) * (r.width - 14 - data.gutter)};
})()`

func TestPageInBrowser(t *testing.T) {
	b := browser(t)

	t.Run("shows the violation and complains about nothing", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
		if got := eval[int](tb, `document.querySelectorAll("#timeline .k-through").length`); got != 1 {
			t.Errorf("%d overlaps drawn, want 1", got)
		}
		if got := eval[string](tb, `document.querySelector("#timeline .window-label").textContent`); got != "exclusion broken for 14.982 s" {
			t.Errorf("the overlap is labelled %q", got)
		}
		for _, class := range []string{"k-held o0", "k-held o1", "k-doubt o0", "k-wait o1", "k-ramp o0", "k-ramp o1", "k-fault", "k-expire", "k-refused o0"} {
			if got := eval[int](tb, fmt.Sprintf(`document.querySelectorAll("#timeline [class='%s']").length`, class)); got == 0 {
				t.Errorf("nothing is drawn with class %q", class)
			}
		}
		tb.quiet()
	})

	t.Run("a complaint would be heard", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "")
		tb.do(chromedp.Evaluate[chromedp.Void](`console.error("x"); fetch("https://holdfast.invalid/").catch(() => {}); setTimeout(() => { throw new Error("y"); document.title = "z" })`))
		tb.wait(`new Promise(done => setTimeout(() => done(true)))`)
		tb.mu.Lock()
		defer tb.mu.Unlock()
		if all := strings.Join(tb.complaints, "\n"); !strings.Contains(all, "console.error") || !strings.Contains(all, "Content Security Policy") || !strings.Contains(all, "y") {
			t.Errorf("heard: %s", all)
		}
	})

	t.Run("is to scale", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
		// The overlap is 14.982 s long, the false belief 14.990 s (it begins with the expiry).
		ratio := eval[float64](tb, `(() => { const w = c => document.querySelector("#timeline " + c).getBoundingClientRect().width;
			return w(".k-doubt") / w(".k-wait.o1"); })()`)
		if want := 14.990 / 28.417; ratio < want*0.98 || ratio > want*1.02 {
			t.Errorf("false belief is %.4f of the wait, want %.4f", ratio, want)
		}
	})

	t.Run("hover explains", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
		tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollIntoView()`))
		spot := eval[[]float64](tb, fmt.Sprintf(`(() => { const p = %s, l = p.data.lanes[0]; return [p.x(38), p.r.top + l.y + 24]; })()`, picturePoint))
		tb.do(chromedp.MouseEvent("mouseMoved", spot[0], spot[1]))
		tb.wait(`!document.getElementById("tip").hidden`)
		tip := eval[string](tb, `document.getElementById("tip").textContent`)
		if !strings.Contains(tip, "but the server disagrees") || !strings.Contains(tip, "c1:1: lock(watchdog) → acquired") {
			t.Errorf("tip: %q", tip)
		}
		tb.quiet()
	})

	t.Run("zooms and moves by wheel, keyboard and buttons", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
		whole := eval[string](tb, `document.querySelector(".range").textContent`)
		tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("v"))
		tb.wait(`document.querySelector(".range").textContent.startsWith("21.4")`)
		if got := eval[string](tb, `document.getElementById("announce").textContent`); !strings.HasPrefix(got, "exclusion broken for 14.982 s") {
			t.Errorf("announced: %q", got)
		}
		tb.do(chromedp.KeyEvent("0"))
		tb.wait(fmt.Sprintf(`document.querySelector(".range").textContent === %q`, whole))
		tb.do(chromedp.Click(chromedp.CSS(`[data-do="in"]`)))
		tb.wait(fmt.Sprintf(`document.querySelector(".range").textContent !== %q`, whole))
		tb.do(chromedp.Click(chromedp.CSS(`[data-do="whole"]`)))
		tb.wait(fmt.Sprintf(`document.querySelector(".range").textContent === %q`, whole))
		tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").dispatchEvent(new WheelEvent("wheel", {deltaY: -200, ctrlKey: true, clientX: 700, cancelable: true}))`))
		tb.wait(fmt.Sprintf(`document.querySelector(".range").textContent !== %q`, whole))
		tb.quiet()
	})

	t.Run("messages are arrows when there is room", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "#t=30.4s-30.43s", chromedp.EmulateViewport(1280, 900))
		tb.wait(`document.querySelectorAll("#timeline .arrow").length === 2`) // c2's EVALSHA and its reply
		tb.quiet()
	})

	t.Run("a link to a moment lands there", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "#t=30.41s", chromedp.EmulateViewport(1280, 900))
		if got := eval[int](tb, `document.querySelectorAll("#timeline .moment").length`); got != 1 {
			tb.wait(`document.querySelectorAll("#timeline .moment").length === 1`)
		}
		tb.do(chromedp.Click(chromedp.CSS(`.story li:nth-child(8)`)))
		tb.wait(`location.hash === "#t=45.408s" && document.querySelector(".story .chosen .n").textContent === "8"`)
		tb.quiet()
	})

	t.Run("the filter leaves the matching operations", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "")
		tb.do(chromedp.SendKeys(chromedp.CSS("#filter"), "C1:1 unlock"))
		tb.wait(`document.getElementById("matches").textContent === "1 of 11"`)
		if got := eval[string](tb, `[...document.querySelectorAll("#ops tbody tr")].filter(r => !r.hidden).map(r => r.id).join()`); got != "op-7" {
			t.Errorf("rows left: %s", got)
		}
		tb.quiet()
	})

	t.Run("hostile text is text", func(t *testing.T) {
		h, v := hostile()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
		if eval[bool](tb, `"pwned" in window`) {
			t.Error("a lock's name ran as a script")
		}
		body := eval[string](tb, `document.body.innerText`)
		for _, want := range []string{`</script><script>pwned=1</script>`, `\u202e`, `\x1b[31m`} {
			if !strings.Contains(body, want) {
				t.Errorf("the page does not show %s as text", want)
			}
		}
		if got := eval[int](tb, `document.querySelectorAll("img, iframe, object, script:not([type]), [onerror], [onload]").length`); got != 1 {
			t.Errorf("%d elements that could run something, want our one script", got)
		}
		if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
			t.Error("a long name makes the page wider than the window")
		}
		tb.quiet()
	})

	t.Run("works on a narrow screen", func(t *testing.T) {
		h, v := watchdogDeath()
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(380, 800))
		if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
			t.Error("the page is wider than the window")
		}
		tb.quiet()
	})

	t.Run("a verdict alone makes a page", func(t *testing.T) {
		_, v := watchdogDeath()
		file := filepath.Join(t.TempDir(), "report.html")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := HTML(f, nil, v, HTMLOptions{}); err != nil {
			t.Fatal(err)
		}
		tb := newTab(t, b)
		tb.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS(".results")))
		tb.quiet()
	})
}

// TestScreenshots makes pictures of the sample report for people to look at, in the folder that
// HOLDFAST_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("HOLDFAST_SCREENSHOTS")
	if dir == "" {
		t.Skip("HOLDFAST_SCREENSHOTS names no folder")
	}
	b := browser(t)
	death, deathVerdict := watchdogDeath()
	long, longVerdict := quiet(2000)
	many, manyVerdict := busy()
	evil, evilVerdict := hostile()
	for _, s := range []struct {
		name, scheme, fragment string
		width                  int64
		h                      *history.History
		v                      *checker.Verdict
	}{
		{"wide-light", "light", "", 1280, death, deathVerdict},
		{"wide-dark", "dark", "", 1280, death, deathVerdict},
		{"narrow-light", "light", "", 390, death, deathVerdict},
		{"narrow-dark", "dark", "", 390, death, deathVerdict},
		{"zoomed", "light", "#t=30.4s-30.43s", 1280, death, deathVerdict},
		{"long", "light", "", 1280, long, longVerdict},
		{"busy", "light", "", 1280, many, manyVerdict},
		{"busy-dark", "dark", "", 1280, many, manyVerdict},
		{"hostile", "light", "", 1280, evil, evilVerdict},
	} {
		tb := open(t, b, s.h, s.v, s.fragment, chromedp.EmulateViewport(s.width, 900),
			scheme(s.scheme))
		png, err := chromedp.Run(tb.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scheme makes the browser prefer "light" or "dark".
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}
