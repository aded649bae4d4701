package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
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
	v.Story = []checker.Moment{{At: 200 * time.Millisecond, Who: "c200:1", Weight: checker.Plain, Text: "asks"}}
	narrow := open(t, b, h, v, "", chromedp.EmulateViewport(390, 800))
	if got := eval[float64](narrow, `document.getElementById("timeline").getBoundingClientRect().height`); got > 800 || got < 300 {
		t.Errorf("in a window of 800 pixels the picture has %.0f", got)
	}
	narrow.quiet()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	lanes, height := `document.querySelectorAll("#timeline .lane").length`, `document.querySelector("#timeline svg").getBoundingClientRect().height`
	if got, tall := eval[int](tb, lanes), eval[float64](tb, height); got < 5 || got > 60 || tall < 5000 {
		t.Errorf("%d lanes are drawn, in a picture of %.0f pixels", got, tall)
	}
	if got := eval[string](tb, `document.querySelector("#timeline .group").textContent`); !strings.HasPrefix(got, "lock-1,") {
		t.Errorf("the first lock is %q", got)
	}
	few := eval[int](tb, lanes)
	tb.do(chromedp.EmulateViewport(1280, 1600)) // whoever makes the window taller sees more
	tb.wait(fmt.Sprintf(lanes+` > %d`, few+10))
	tb.do(chromedp.EmulateViewport(1280, 800), chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollTop = 3000`))
	tb.wait(`document.querySelector("#timeline .head") !== null`)
	if !eval[bool](tb, `(() => { const b = document.getElementById("timeline").getBoundingClientRect(), a = document.querySelector("#timeline .head .axis").getBoundingClientRect(); return a.top >= b.top - 1 && a.bottom <= b.top + 40; })()`) {
		t.Error("the axis does not stay")
	}
	// A chosen line of the story has its owner's lane come into sight.
	lane := `[...document.querySelectorAll("#timeline .name:not(.sub)")].some(n => { const r = n.getBoundingClientRect(), b = document.getElementById("timeline").getBoundingClientRect(); return n.firstChild.textContent === "c200:1" && r.top >= b.top && r.bottom <= b.bottom; })`
	tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollTop = 0`))
	if eval[bool](tb, lane) {
		t.Error("the lane of c200:1 is in sight though nobody chose it")
	}
	tb.do(chromedp.Click(chromedp.CSS(`.story li[data-n="1"]`)))
	tb.wait(lane)
	tb.do(chromedp.SendKeys(chromedp.CSS("#lanes"), "c7:1, c123"))
	tb.wait(lanes + ` === 2`)
	if got := eval[string](tb, `[...document.querySelectorAll("#timeline .name:not(.sub)")].map(n => n.firstChild.textContent).sort().join()`); got != "c123:1,c7:1" {
		t.Errorf("the filter leaves %s", got)
	}
	if tall := eval[float64](tb, height); tall > 300 {
		t.Errorf("two lanes are %.0f pixels tall", tall)
	}
	tb.wait(`location.hash.endsWith("&lanes=c7%3A1%2C%20c123")`)
	other := open(t, b, h, v, eval[string](tb, `location.hash`), chromedp.EmulateViewport(1280, 800))
	other.wait(lanes + ` === 2`)
	other.quiet()
	tb.quiet()
}

// Lanes are grouped by lock. A group folds to what the server had, by its head or all by a key, and opens again.
func TestLanesFoldByLock(t *testing.T) {
	b := browser(t)
	h, v := busy()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 2000))
	var order []string
	for _, l := range draw(h, v).Lanes {
		order = append(order, fmt.Sprint(l.Group, l.Kind))
	}
	if !slices.IsSorted(groupsOf(order)) || len(slices.Compact(groupsOf(order))) < 2 {
		t.Fatalf("lanes are not in groups: %q", order)
	}
	lanes := `document.querySelectorAll("#timeline .lane").length`
	owners := `document.querySelectorAll("#timeline .lane.owner").length`
	all, allOwners := eval[int](tb, lanes), eval[int](tb, owners)
	if all != len(order) {
		t.Errorf("%d of %d lanes are drawn", all, len(order))
	}
	tb.do(chromedp.Click(chromedp.CSS("#timeline .group")))
	tb.wait(`document.querySelector("#timeline .group").getAttribute("aria-expanded") === "false"`)
	if got := eval[int](tb, owners); got == 0 || got >= allOwners {
		t.Errorf("with one lock folded %d of %d owners are drawn", got, allOwners)
	}
	tb.do(chromedp.Click(chromedp.CSS("#timeline .group")))
	tb.wait(fmt.Sprintf(lanes+` === %d`, all))
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("c"))
	tb.wait(owners + ` === 0 && ` + lanes + fmt.Sprintf(` === %d`, all-allOwners))
	tb.wait(`location.hash.includes("&folded=all")`)
	// Heads lie above the lanes of their group, and on nothing else.
	if !eval[bool](tb, `[...document.querySelectorAll("#timeline .group")].every(g => { const r = g.getBoundingClientRect(); return [...document.querySelectorAll("#timeline .lane")].every(l => { const s = l.getBoundingClientRect(); return s.top >= r.bottom - 4 || s.bottom <= r.top + 1; }); })`) {
		t.Error("the head of a group lies on a lane")
	}
	tb.do(chromedp.KeyEvent("c"))
	tb.wait(fmt.Sprintf(lanes+` === %d`, all))
	tb.quiet()
}

func groupsOf(order []string) (gs []string) {
	for _, o := range order {
		gs = append(gs, o[:1])
	}
	return gs
}
