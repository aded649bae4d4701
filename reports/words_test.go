package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A long command breaks between its words, and what is copied of it is the command.
func TestACommandBreaksBetweenItsWords(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	const command = "simrun explore -subject rlock-hardened -strategy exhaustive -seed 1 -runs 1 -until-goals -allow-destructive -rerun-failed -world redis -timescale 1/10"
	page := pageOf(t, h, v, HTMLOptions{Command: command})
	if !strings.Contains(page, `id="command"`) {
		t.Fatal("no command")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{390, 720, 1280} {
		tb := newTab(t, b)
		tb.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#command")))
		if got := eval[string](tb, `document.getElementById("command").textContent`); got != command {
			t.Errorf("%q", got)
		}
		if cut := eval[string](tb, `[...document.querySelectorAll("#command span")].filter(e => e.offsetHeight > 1.5 * parseFloat(getComputedStyle(e).lineHeight)).map(e => e.textContent).join(" ")`); cut != "" {
			t.Errorf("at %d these are cut: %s", width, cut)
		}
		if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
			t.Errorf("at %d the page is too wide", width)
		}
		tb.quiet()
	}
}
