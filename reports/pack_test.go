package reports

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
)

// UnmarshalJSON reads a column.
func (f *figures) UnmarshalJSON(data []byte) error {
	var one int64
	if json.Unmarshal(data, &one) == nil {
		*f = figures{one}
		return nil
	}
	return json.Unmarshal(data, (*[]int64)(f))
}

func (f figures) at(i int) int64 {
	switch {
	case len(f) == 0:
		return 0
	case len(f) == 1:
		return f[0]
	}
	return f[i]
}

// UnmarshalJSON reads items from their columns, as the page's script does.
func (its *items) UnmarshalJSON(data []byte) error {
	var p packed
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	words := append([]string{""}, p.Words...)
	*its = nil
	var from time.Duration
	var op int64
	for i := range p.N {
		from += time.Duration(p.From.at(i))
		op += p.Op.at(i)
		it := item{Kind: words[p.Kind.at(i)], From: from, To: from + time.Duration(p.To.at(i)), Color: int(p.Color.at(i)), Label: words[p.Label.at(i)], Tip: words[p.Tip.at(i)], Op: op}
		if d := p.Until.at(i); d != 0 {
			it.Deadline = from + time.Duration(d)
		}
		*its = append(*its, it)
	}
	return nil
}

func TestPackedItemsAreTheSame(t *testing.T) {
	for name, its := range map[string]items{
		"none":  nil,
		"one":   {{Kind: "held", From: 7, To: 9, Color: 2, Label: "holds", Op: 4}},
		"alike": {{Kind: "held", From: 7, To: 9, Color: 0, Op: 4}, {Kind: "held", From: 7, To: 9, Color: 0, Op: 4}},
		"all sorts": {{Kind: "fault", From: 90, To: 1 << 60, Color: noColor, Label: "x", Tip: "x"}, {Kind: "ramp", From: 3, To: 5, Deadline: 4},
			{Kind: "ramp", From: 3, To: 3, Deadline: 3}, {Kind: "call", From: 50, To: 51, Op: 1 << 40}, {Kind: "call", From: 49, To: 51, Op: 2}},
	} {
		data, err := json.Marshal(its)
		var got items
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		want := its
		for i := range want {
			if want[i].Deadline == want[i].From { // it has run out, and so has the ramp
				want[i].Deadline = 0
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%v), want %+v: %s", name, got, err, want, data)
		}
	}
}

// The script reads from the columns what the page's writer put there.
func TestTheScriptUnpacksWhatWasPacked(t *testing.T) {
	b := browser(t)
	h, v := watchdogDeath()
	tb := open(t, b, h, v, "")
	type plain struct {
		K       string
		A, B, D int64
		O       int
		L, T    string
		Op      int64
	}
	for i, l := range draw(h, v).Lanes {
		var want []plain
		for _, it := range l.Items {
			want = append(want, plain{it.Kind, int64(it.From), int64(it.To), int64(it.Deadline), it.Color, it.Label, it.Tip, it.Op})
		}
		got := eval[[]plain](tb, `unpack(JSON.parse(document.getElementById("data").textContent)).lanes[`+string(rune('0'+i))+`].items`)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("lane %s: %+v, want %+v", l.Name, got, want)
		}
	}
	tb.quiet()
}

// A run of 50,000 operations is a page of at most 5 MB, whose picture has few enough nodes to open in time and to be moved.
func TestFiftyThousandOperations(t *testing.T) {
	h, _ := quiet(50_000)
	v := checker.Judge(t.Context(), h, checker.Options{})
	page := pageOf(t, h, v, HTMLOptions{})
	t.Logf("%d bytes", len(page))
	if n := strings.Count(page, `" data-n="`) + strings.Count(page, ` less">`); n < momentsShown {
		t.Errorf("the page tells %d moments", n)
	}
	if len(page) > 5e6 {
		t.Errorf("the page has %d bytes", len(page))
	}
	b := browser(t)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, b)
	tb.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#timeline svg")))
	// The time is the machine's as much as the page's, so that it is logged. What it depends on is judged.
	t.Logf("opens in %.0f ms", eval[float64](tb, `performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`))
	if got := eval[int](tb, `document.querySelectorAll("#timeline svg *").length`); got > 2000 {
		t.Errorf("%d nodes in the picture", got)
	}
	if got := eval[int](tb, `document.querySelectorAll("#timeline .k-held").length`); got == 0 {
		t.Error("no hold is drawn")
	}
	tb.quiet()
}
