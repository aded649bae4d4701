package reports

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/history"
)

// The two pictures of a comparison share a cursor: it is at the same time in both, whichever the mouse is over and by
// keys, and nowhere outside of the axis.
func TestAComparisonHasOneCursor(t *testing.T) {
	t.Parallel()
	a, b := sidesOf(t)
	b.History.End = &history.End{At: sec(200)}
	file := filepath.Join(t.TempDir(), "both.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Compare(f, a, b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, browser(t))
	tb.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS(".axis-of svg")))
	const shown = `[...document.querySelectorAll(".cursor")].filter((l) => l.style.display !== "none").map((l) => l.getAttribute("x1")).join(" ") + "; " +
		[...document.querySelectorAll(".cursor-at")].map((l) => l.textContent).join(" ") + "; " + document.getElementById("cursor").value`
	at := func(picture int, x float64) string {
		return eval[string](tb, `(() => {
			const svg = document.querySelectorAll(".axis-of svg")[`+[]string{"0", "1"}[picture]+`], box = svg.getBoundingClientRect();
			const x = box.left + box.width * `+px(x)+` / svg.viewBox.baseVal.width;
			svg.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: box.top + 50, pointerType: "mouse", bubbles: true }));
			return `+shown+`;
		})()`)
	}
	middle := (gutterWidth + sketchRight) / 2.0
	for picture := range 2 {
		if got, want := at(picture, middle), "599 599; 100.000 s 100.000 s; at 100.000 s"; got != want {
			t.Errorf("over picture %d: %q, want %q", picture, got, want)
		}
		if got := at(picture, 20); got[0] != ';' {
			t.Errorf("over the names of picture %d: %q", picture, got)
		}
	}
	key := func(name string) string {
		return eval[string](tb, `(() => {
			document.querySelector(".axis-of").dispatchEvent(new KeyboardEvent("keydown", { key: "`+name+`" }));
			return `+shown+`;
		})()`)
	}
	for _, tt := range [][2]string{
		{"End", "1066 1066; 200.000 s 200.000 s; at 200.000 s"}, {"Home", "132 132; 0.000 s 0.000 s; at 0.000 s"},
		{"ArrowRight", "136.67 136.67; 1.000 s 1.000 s; at 1.000 s"}, {"ArrowLeft", "132 132; 0.000 s 0.000 s; at 0.000 s"},
	} {
		if got := key(tt[0]); got != tt[1] {
			t.Errorf("%s: %q, want %q", tt[0], got, tt[1])
		}
	}
	if got := key("Escape"); got[0] != ';' {
		t.Errorf("Escape: %q", got)
	}
	tb.quiet()
}
