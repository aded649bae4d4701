package reports

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/contract"
)

// printed makes the page as it is on paper.
func printed() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	})
}

// bottomOf is how far down an element reaches, in pixels of the window.
func bottomOf(tb *tab, selector string) float64 {
	tb.t.Helper()
	return eval[float64](tb, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom`, selector))
}

// The first screen has the verdict, the marks and the picture; what explains them comes after.
func TestTheFirstScreenHasVerdictMarksAndPicture(t *testing.T) {
	b := browser(t)
	for _, size := range [][2]int64{{1280, 800}, {1920, 1080}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			h, v := watchdogDeath()
			tb := open(t, b, h, v, "", chromedp.EmulateViewport(size[0], size[1]))
			before := 0.0
			for _, part := range []string{".badge", ".verdicts", "#timeline"} {
				bottom := bottomOf(tb, part)
				if bottom <= before || bottom > float64(size[1]) {
					t.Errorf("%s ends at %.0f of %d pixels, after %.0f", part, bottom, size[1], before)
				}
				before = bottom
			}
			if got := eval[int](tb, `document.querySelectorAll(".verdicts li").length`); got != len(contract.Guarantees()) {
				t.Errorf("%d marks", got)
			}
			if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
				t.Error("the page is wider than the window")
			}
			tb.quiet()
		})
	}
}

// Where there is room the picture stays beside the story: whatever line is chosen, the picture moves and the page does not.
func TestThePictureStaysBesideTheStory(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 500))
	tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".story li:last-child").scrollIntoView({block: "center"})`))
	seen := `(() => { const r = document.getElementById("timeline").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`
	tb.wait(seen)
	scrolled := eval[float64](tb, `scrollY`)
	if scrolled < 100 {
		t.Fatalf("the story's end is seen when %.0f pixels are scrolled: the test tries nothing", scrolled)
	}
	tb.do(chromedp.Click(chromedp.CSS(`[data-do="in"]`)), chromedp.Click(chromedp.CSS(`[data-do="in"]`)))
	range0 := eval[string](tb, `document.querySelector(".range").textContent`)
	tb.do(chromedp.Click(chromedp.CSS(`.story li:last-child .text`)))
	tb.wait(fmt.Sprintf(`document.querySelectorAll("#timeline .moment").length === 1 && document.querySelector(".range").textContent !== %q`, range0))
	tb.do(chromedp.Click(chromedp.CSS(`.story li:last-child .at`)))
	if got := eval[float64](tb, `scrollY`); got != scrolled {
		t.Errorf("the page moved from %.0f to %.0f", scrolled, got)
	}
	tb.quiet()
}

// Paper shows the whole run, whatever part of it is in view.
func TestPrintShowsTheWholeRun(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	tb := open(t, b, h, v, "#t=30.4s-30.43s", chromedp.EmulateViewport(1280, 800))
	shown := func(selector string) bool {
		return eval[bool](tb, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, selector))
	}
	if !shown("#timeline svg") || shown(".paper svg") {
		t.Error("the screen does not show the live picture alone")
	}
	tb.do(printed())
	if shown("#timeline") || !shown(".paper svg") || shown(".tools") {
		t.Error("paper does not show the whole run alone")
	}
	if got := eval[int](tb, `document.querySelectorAll(".paper .k-through").length`); got != 1 {
		t.Errorf("%d overlaps on paper", got)
	}
	tb.quiet()
}

// Faults that strike one after the other do not write over each other: neither in the picture, nor in what is seen without a script.
func TestNamesOfFaultsDoNotOverlap(t *testing.T) {
	b := browser(t)
	h, v := troubled()
	for _, paper := range []bool{false, true} {
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
		if paper {
			tb.do(printed())
		}
		names := eval[[]string](tb, `[...document.querySelectorAll(".label")].filter(e => e.checkVisibility()).map(e => e.textContent)`)
		if len(names) == 0 {
			t.Error("no fault is named")
		}
		over := eval[[]string](tb, `(() => {
			const all = [...document.querySelectorAll(".label")].filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect());
			return all.flatMap((a, i) => all.slice(i + 1).filter(b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(b => a.left + " and " + b.left));
		})()`)
		if len(over) > 0 {
			t.Errorf("on paper %v: names overlap at %q", paper, over)
		}
		tb.quiet()
	}
}

// A page without a picture has room between its parts in wide windows, too: nothing stands beside them there.
func TestPartsOfASoakStandApart(t *testing.T) {
	_, v := watchdogDeath()
	file := filepath.Join(t.TempDir(), "soak.html")
	var page bytes.Buffer
	if err := HTML(&page, nil, v, HTMLOptions{Long: &Long{Numbers: []Number{{"calls", "7"}}, Chart: somePanels()}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, browser(t))
	for _, width := range []int64{390, 1280, 1920} {
		tb.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("main")))
		room := eval[float64](tb, `document.querySelector(".texts > section").getBoundingClientRect().top - document.querySelector(".provenance").getBoundingClientRect().bottom`)
		if room < 24 {
			t.Errorf("at %d pixels there are %.0f between the numbers and the text", width, room)
		}
	}
}
