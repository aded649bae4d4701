package reports

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// many is a run with more moments than a verdict tells.
func many(t *testing.T) (*history.History, *checker.Verdict) {
	t.Helper()
	h, _ := quiet(200)
	v := checker.Judge(context.Background(), h, checker.Options{})
	if n := len(v.Story); n != 25 {
		t.Fatalf("the verdict tells %d moments", n)
	}
	return h, v
}

// The page begins with the moments of most weight, and has all of them for who asks. Paper has those that are asked for.
func TestTheWholeStoryIsOnThePage(t *testing.T) {
	b := browser(t)
	h, v := many(t)
	all := len(checker.Retell(h, v, momentsShown))
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	shown := `[...document.querySelectorAll(".story li")].filter(e => e.offsetHeight > 0).length`
	if got := eval[int](tb, shown); got != 25 {
		t.Errorf("%d moments at first", got)
	}
	tb.do(chromedp.Focus(chromedp.CSS("#all-moments")), chromedp.KeyEvent(" "))
	if got := eval[int](tb, shown); got != all || all < 100 {
		t.Errorf("%d moments of %d", got, all)
	}
	if got := eval[string](tb, `[...document.querySelectorAll(".story li")].filter(e => e.offsetHeight > 0).map(e => e.innerText).join(" ")`); strings.Contains(got, "left out") {
		t.Errorf("nothing is left out, and the page says so: %s", got)
	}
	tb.do(chromedp.Click(chromedp.CSS(".story .less .text")))
	tb.wait(`document.querySelector(".story .chosen.less") && document.querySelectorAll("#timeline .moment").length === 1`)
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("+"))
	tb.wait(`location.hash.startsWith("#view=") && location.hash.endsWith("&story=all")`)
	other := open(t, b, h, v, eval[string](tb, `location.hash`), chromedp.EmulateViewport(1280, 800))
	if got := eval[int](other, shown); got != all {
		t.Errorf("the address opens with %d moments of %d", got, all)
	}
	tb.quiet()
	other.quiet()
}

// A story that leaves nothing out has nothing to unfold, and a verdict with another story than its history tells keeps its own.
func TestNothingIsUnfoldedWhereNothingIsLeftOut(t *testing.T) {
	h, v := watchdogDeath()
	if page := pageOf(t, h, v, HTMLOptions{}); strings.Contains(page, `id="all-moments"`) {
		t.Error("there is something to unfold")
	}
	h, v = many(t)
	v.Story[3].Text = "does what no program of today tells"
	page := pageOf(t, h, v, HTMLOptions{})
	if strings.Contains(page, `id="all-moments"`) || !strings.Contains(page, "does what no program of today tells") {
		t.Error("the story of the verdict is not told as it is")
	}
}

// A terminal that is to tell the whole story tells all of it.
func TestVerboseTellsAllMoments(t *testing.T) {
	h, v := many(t)
	var out bytes.Buffer
	if err := Terminal(&out, v, TerminalOptions{Verbose: true, History: h}); err != nil {
		t.Fatal(err)
	}
	for _, m := range checker.Retell(h, v, momentsShown) {
		if !strings.Contains(out.String(), checker.Stamp(m.At)+"  "+m.Who) {
			t.Fatalf("%s %s is not told", checker.Stamp(m.At), m.Who)
		}
	}
	if strings.Contains(out.String(), "left out") {
		t.Error("something is left out")
	}
}
