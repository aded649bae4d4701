package reports

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Whoever has moved the picture and chosen a moment can send the address on: it opens with the same part and the same moment.
func TestTheAddressHasWhatIsInView(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 900))
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("n"), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	tb.wait(`/^#view=-?[\d.]+s,[\d.]+s&at=[\d.]+s$/.test(location.hash)`)
	tb.do(chromedp.SendKeys(chromedp.CSS("#filter"), "c1:1 unlock"))
	tb.wait(`location.hash.endsWith("&find=c1%3A1%20unlock")`)
	tb.wait(`new Promise(done => setTimeout(() => done(true), 500))`) // the motion has ended
	hash, shown := eval[string](tb, `location.hash`), eval[string](tb, `document.querySelector(".range").textContent`)
	other := open(t, b, h, v, hash, chromedp.EmulateViewport(1280, 900))
	other.wait(`document.querySelectorAll("#timeline .moment").length === 1`) // drawn, even if it lies outside of what is in view
	if got := eval[string](other, `document.querySelector(".range").textContent`); got != shown {
		t.Errorf("%s shows %s, want %s", hash, got, shown)
	}
	for _, of := range []string{"#matches", "#ops tbody"} {
		text := `[...document.querySelectorAll("` + of + `, ` + of + ` tr:not([hidden])")].map(e => e.innerText).join("|")`
		if got, want := eval[string](other, text), eval[string](tb, text); got != want || got == "" {
			t.Errorf("%s has %q of %s, want %q", hash, got, of, want)
		}
	}
	tb.quiet()
	other.quiet()
}

// A question mark shows the keys, wherever the focus is, and Escape leads back.
func TestAQuestionMarkShowsTheKeys(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(390, 800))
	tb.do(chromedp.KeyEvent("?"))
	tb.wait(`document.getElementById("keys").open`)
	if eval[bool](tb, `(() => { const r = document.getElementById("keys").getBoundingClientRect(); return r.left < 0 || r.right > innerWidth; })()`) {
		t.Error("the keys are wider than the window")
	}
	tb.do(chromedp.KeyEvent("\u001b"))
	tb.wait(`!document.getElementById("keys").open`)
	tb.do(chromedp.SendKeys(chromedp.CSS("#filter"), "?"))
	if eval[bool](tb, `document.getElementById("keys").open`) {
		t.Error("typing a question mark into the filter shows the keys")
	}
	tb.quiet()
}

// The address has which groups of lanes are folded, and opens with those folded and no others.
func TestTheAddressHasWhatIsFolded(t *testing.T) {
	b := browser(t)
	h, v := busy()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 2000))
	states := `[...document.querySelectorAll("#timeline .group")].map(g => g.getAttribute("aria-expanded")).join()`
	tb.do(chromedp.Click(chromedp.CSS("#timeline .group:last-child")))
	tb.wait(`/^#view=[^&]*&folded=\d+$/.test(location.hash)`)
	one, folded := eval[string](tb, `location.hash`), eval[string](tb, states)
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("c"))
	tb.wait(`location.hash.endsWith("&folded=all")`)
	other := open(t, b, h, v, one, chromedp.EmulateViewport(1280, 2000))
	other.wait(states + ` === "` + folded + `"`)
	other.do(chromedp.Evaluate[chromedp.Void](`location.hash = "` + eval[string](tb, `location.hash`) + `"`))
	other.wait(`!` + states + `.includes("true")`)
	other.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#view=0s,1s"`))
	other.wait(`!` + states + `.includes("false")`)
	tb.quiet()
	other.quiet()
}

// The numbers of the story lie in the picture: neither the first nor the last is cut off at its edge, wherever moments crowd.
func TestNumbersOfTheStoryAreWhole(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	last := v.Story[len(v.Story)-1]
	for range 2 { // at the very end, where there is no room to the right
		last.At = runEnd(h, v)
		v.Story = append(v.Story, last)
	}
	for _, width := range []int64{390, 1280} {
		tb := open(t, b, h, v, "", chromedp.EmulateViewport(width, 900))
		cut := eval[string](tb, `(() => {
			const lane = document.querySelector("#timeline .lane").getBoundingClientRect();
			const clipped = p => p.closest("[clip-path]") ? "clipped " : "";
			return [...document.querySelectorAll("#timeline .pin")].filter(p => {
				const r = p.getBoundingClientRect();
				return clipped(p) || r.left < lane.left || r.right > lane.right;
			}).map(p => clipped(p) + p.textContent).join();
		})()`)
		if cut != "" {
			t.Errorf("at %d pixels these may be cut off: %s", width, cut)
		}
		if got := eval[int](tb, `document.querySelectorAll("#timeline .pin").length`); got < 3 {
			t.Errorf("only %d numbers are shown", got)
		}
		tb.quiet()
	}
}
