package reports

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/history"
)

func TestNamesAreInTheOrderOfPeople(t *testing.T) {
	names := []string{"c10:1", "c2:10", "c1:1", "c2:2", "c02:1", "d", "c", "c2"}
	slices.SortStableFunc(names, natural)
	if got, want := fmt.Sprint(names), "[c c1:1 c2 c02:1 c2:2 c2:10 c10:1 d]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Of hundreds of lanes those are drawn that can be seen, below an axis that stays; a filter leaves those that are asked for.
func TestHundredsOfLanesCanBeUsed(t *testing.T) {
	b := browser(t)
	h, v := quiet(0)
	h.Ops = nil
	for i := range 200 {
		owner := fmt.Sprintf("c%d:1", i+1)
		at := time.Duration(i+1) * time.Millisecond
		h.Ops = append(h.Ops, history.Op{ID: int64(i), Client: fmt.Sprintf("c%d", i+1), Owner: owner, Lock: fmt.Sprintf("lock-%d", i%12+1), Kind: history.TryLock, Call: at, Return: at + time.Millisecond, Outcome: history.Busy})
	}
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	lanes, height := `document.querySelectorAll("#timeline .lane").length`, `document.querySelector("#timeline svg").getBoundingClientRect().height`
	if got, tall := eval[int](tb, lanes), eval[float64](tb, height); got < 5 || got > 60 || tall < 5000 {
		t.Errorf("%d lanes are drawn, in a picture of %.0f pixels", got, tall)
	}
	tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollTop = 3000`))
	tb.wait(`document.querySelector("#timeline .head") !== null`)
	if !eval[bool](tb, `(() => { const b = document.getElementById("timeline").getBoundingClientRect(), a = document.querySelector("#timeline .head .axis").getBoundingClientRect(); return a.top >= b.top - 1 && a.bottom <= b.top + 40; })()`) {
		t.Error("the axis does not stay")
	}
	tb.do(chromedp.SendKeys(chromedp.CSS("#lanes"), "c7:1, c123"))
	tb.wait(lanes + ` === 2`)
	if got := eval[string](tb, `[...document.querySelectorAll("#timeline .name:not(.sub)")].map(n => n.firstChild.textContent).sort().join()`); got != "c123:1,c7:1" {
		t.Errorf("the filter leaves %s", got)
	}
	if tall := eval[float64](tb, height); tall > 300 {
		t.Errorf("two lanes are %.0f pixels tall", tall)
	}
	tb.quiet()
}
