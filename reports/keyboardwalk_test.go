package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused says what has the focus: its id, or where it leads, or its words.
const focused = `(() => { const e = document.activeElement; return e === document.body ? "" : e.id || e.dataset.do || e.getAttribute("href") || e.textContent.trim().slice(0, 12); })()`

// walk presses a key until something has the focus, at most once around the page, and lists what had it on the way.
func walk(tb *tab, to string, press chromedp.Action[chromedp.Void]) (met []string) {
	tb.t.Helper()
	for range 300 {
		tb.do(press)
		at := eval[string](tb, focused)
		met = append(met, at)
		if at == to {
			return met
		}
		// Whoever walks sees where they are.
		if at != "" && !eval[bool](tb, `document.activeElement.matches(":focus-visible") && (r => r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth)(document.activeElement.getBoundingClientRect())`) {
			tb.t.Errorf("%s has the focus and cannot be seen", at)
		}
	}
	tb.t.Fatalf("nobody comes to %s: %s", to, strings.Join(met, ", "))
	return nil
}

// A report is read from its top to its end without a mouse.
func TestAReportByKeyboardAlone(t *testing.T) {
	b := browser(t)
	h, v := troubled()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	tab, enter := chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)
	shown := func() string { return eval[string](tb, `document.querySelector(".range").textContent`) }
	moved := func(from string) {
		t.Helper()
		tb.wait(fmt.Sprintf(`document.querySelector(".range").textContent !== %q`, from))
	}

	met := walk(tb, "timeline", tab)
	for _, want := range []string{"show-messages", "in", "out", "whole", "violation", "show-keys"} {
		if !strings.Contains(strings.Join(met, ","), want) {
			t.Errorf("the walk to the picture does not meet %s: %q", want, met)
		}
	}
	// Keys that are pressed while the picture still moves count in full.
	tb.do(chromedp.KeyEvent(kb.ArrowUp))
	tb.do(chromedp.KeyEvent(kb.ArrowRight))
	tb.wait(`document.querySelector(".range").textContent === "20.876 s to 68.944 s"`)
	tb.do(chromedp.KeyEvent("n"))
	tb.wait(`document.querySelector(".story .chosen .n").textContent === "1"`)

	// The keys are told, and whoever closes them is where they were.
	tb.do(chromedp.KeyEvent("?"))
	tb.wait(`document.getElementById("keys").open && document.getElementById("keys").contains(document.activeElement)`)
	tb.do(chromedp.KeyEvent(kb.Escape))
	tb.wait(`!document.getElementById("keys").open`)
	if at := eval[string](tb, focused); at != "timeline" {
		t.Errorf("after the keys the focus is on %q", at)
	}

	// A line of the story is a link: the picture follows.
	was := shown()
	line := eval[string](tb, `document.querySelector(".story li:last-child a").getAttribute("href")`)
	walk(tb, line, tab)
	tb.do(enter)
	tb.wait(fmt.Sprintf(`location.hash === %q && document.querySelectorAll("#timeline .moment").length === 1`, line))
	moved(was)

	walk(tb, "filter", tab)
	tb.do(chromedp.KeyEvent("c1:1 unlock"))
	tb.wait(`document.getElementById("matches").textContent.startsWith("1 of ")`)

	// The server log opens, and so does what it folds; its links lead to the messages.
	walk(tb, "Server log 1", tab)
	tb.do(enter)
	tb.wait(`document.getElementById("log").open`)
	walk(tb, "1 more comma", tab)
	tb.do(enter)
	tb.wait(`document.activeElement.getAttribute("aria-expanded") === "true"`)
	walk(tb, "#m=3", tab)
	tb.do(enter)
	tb.wait(`document.getElementById("sequence").checkVisibility() && location.hash === "#m=3"`)
	walk(tb, "sequence", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	before := eval[string](tb, `document.getElementById("sequence").getAttribute("aria-activedescendant")`)
	tb.do(chromedp.KeyEvent(kb.ArrowDown))
	tb.wait(fmt.Sprintf(`document.getElementById("sequence").getAttribute("aria-activedescendant") !== %q && `, before) + chosenMessage + ` !== null`)
	tb.do(enter)
	tb.wait(`document.querySelectorAll("#log tr.chosen").length === 1`)
	tb.do(chromedp.KeyEvent("m"))
	tb.wait(`document.activeElement.id === "timeline" && document.getElementById("timeline").checkVisibility()`)

	walk(tb, "copy", tab)
	tb.quiet()
}
