package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func pageOf(t testing.TB, h *history.History, v *checker.Verdict, o HTMLOptions) string {
	t.Helper()
	var buf bytes.Buffer
	if err := HTML(&buf, h, v, o); err != nil {
		t.Fatal(err)
	}
	if i := strings.Index(buf.String(), "%!"); i >= 0 {
		t.Errorf("a format does not fit: %.40s", buf.String()[i:])
	}
	return buf.String()
}

// commandsWhole is a page whose commands are in one piece: in the page each word is its own, so that it is not cut.
func commandsWhole(page string) string {
	return strings.NewReplacer("</span> <span>", " ", `"><span>`, `">`, "<code><span>", "<code>", "</span></code>", "</code>").Replace(page)
}

// embedded is the picture as the page's script gets it.
func embedded(t testing.TB, page string) *picture {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	if !ok {
		t.Fatal("the page has no data")
	}
	data, _, _ := strings.Cut(rest, "</script>")
	var p picture
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		t.Fatalf("the page's data: %v", err)
	}
	return &p
}

func TestHTMLTellsEverything(t *testing.T) {
	h, v := watchdogDeath()
	page := pageOf(t, h, v, HTMLOptions{Command: "simrun -scenario watchdog-death -seed 1", Picture: "porcupine.html"})
	page = commandsWhole(strings.ReplaceAll(page, "\u00a0", " "))
	for _, want := range []string{
		"Did <b>rlock-latch</b> keep its promises in <b>watchdog-death</b>?",
		"REPRODUCED", "exclusion, effect and watchdog are broken, as this scenario expects",
		"got the lock 5 ms later",       // the explanation
		"30.418 s – 45.400 s, 14.982 s", // the window
		`href="#t=30.418s-45.4s"`,       // and the way there
		"an assumption of such locks failed: holder-not-renewed (the sample)", // not a defect
		`title="the client of the first holder, between two renewals,`,
		"same cause as exclusion",
		`Tried</span> Run again without the pause of the watchdog of c1 from 5.000 s on: every guarantee holds.`,
		"exclusion broken for 14.982 s",                  // in the static picture
		"acquires order:42: two owners now believe",      // the story
		"notHeld: attempt to unlock lock, not locked by", // the operations
		"EVALSHA 7a… 1 order:42 30000 c2:1",              // the server log
		"c2:1 ×1, TTL 30.000 s",                          // with the lock's state
		"&#34;kind&#34;: &#34;pause-watchdog&#34;",       // the plan, indented
		"v9.23.0", "9f2c61d0a7b3e845", // versions and trace
		"simrun -scenario watchdog-death -seed 1</code>",    // how to see it again
		`<a href="porcupine.html#t=30.418s">`,               // porcupine's picture
		"role=\"img\"", "aria-label=\"Timeline of the run.", // for those who do not see it
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.Contains(page, "http://") && strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), "http://") || strings.Contains(page, "https://") {
		t.Error("the page names something in the network")
	}
}

func TestHTMLPictureHasTheViolation(t *testing.T) {
	h, v := watchdogDeath()
	p := embedded(t, pageOf(t, h, v, HTMLOptions{}))
	var through []window
	for _, w := range p.Windows {
		if w.Through {
			through = append(through, w)
		}
	}
	if len(through) != 1 || through[0].From != sec(30.418) || through[0].To != sec(45.400) {
		t.Errorf("overlaps: %+v", through)
	}
	if len(p.Lanes) != 3 || len(p.Pins) != len(v.Story) {
		t.Errorf("%d lanes and %d pins", len(p.Lanes), len(p.Pins))
	}
}

func TestHTMLEscapesHostileText(t *testing.T) {
	h, v := hostile()
	page := pageOf(t, h, v, HTMLOptions{Command: `</code><script>pwned=1</script>`, Picture: `javascript:pwned=1`})
	for _, bad := range []string{"<script>pwned", "<img", "<svg onload", "<h1>no", "<b>\\", "<i>", "\u202e", "\u2028", "\x1b", "\x00", "\xff", `href="javascript:`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d scripts end in the page, want the data's and ours", n)
	}
	embedded(t, page) // still whole
	if len(page) > 300<<10 {
		t.Errorf("long names make a page of %d bytes", len(page))
	}
}

func TestHTMLOfBlackBoxHistory(t *testing.T) {
	h, v := watchdogDeath()
	h.Served, h.End, h.Faults, h.Events = nil, nil, nil, nil
	p := embedded(t, pageOf(t, h, v, HTMLOptions{}))
	for _, l := range p.Lanes {
		for _, it := range l.Items {
			if it.Kind == "doubt" || it.Kind == "ramp" {
				t.Errorf("lane %s claims to know the server: %+v", l.Name, it)
			}
		}
	}
}

// What an issue's attachment and a browser can bear: 300 kB for 50 operations, 3 MB for 10,000.
func TestHTMLSizes(t *testing.T) {
	for _, tt := range []struct{ ops, bytes int }{{50, 300e3}, {10_000, 3e6}} {
		h, v := quiet(tt.ops)
		h.Header.Plan = json.RawMessage(`["` + strings.Repeat(`lock order:42", "`, 5*tt.ops) + `"]`)
		page := pageOf(t, h, v, HTMLOptions{})
		if len(page) > tt.bytes {
			t.Errorf("%d operations make a page of %d bytes", tt.ops, len(page))
		}
		if cut := strings.Contains(page, "and more, in plan.json"); cut != (tt.ops > 1000) {
			t.Errorf("%d operations: the page says that the plan is cut: %v", tt.ops, cut)
		}
	}
}

func TestHTMLOfALongRunShowsTheOperationsAroundTheViolation(t *testing.T) {
	h, v := quiet(10_000)
	at := h.Ops[7000].Call
	v.Results[1] = checker.Result{Guarantee: contract.Exclusion, Status: checker.Broken, Violations: []checker.Violation{{From: at, To: at + time.Second}}}
	page := pageOf(t, h, v, HTMLOptions{})
	if n := strings.Count(page, `<tr id="op-`); n != opsShown {
		t.Errorf("%d operations shown", n)
	}
	if !strings.Contains(page, fmt.Sprintf(`<tr id="op-%d"`, h.Ops[7000].ID)) {
		t.Error("the operation at the violation is not shown")
	}
	if !strings.Contains(page, "8,000 more, in history.jsonl") {
		t.Error("the page does not say that there are more")
	}
}

func TestHTMLOfEmptyRun(t *testing.T) {
	v := &checker.Verdict{Version: checker.VerdictVersion, Error: "no Redis at 127.0.0.1:6379"}
	for _, h := range []*history.History{nil, {}} {
		if page := pageOf(t, h, v, HTMLOptions{}); !strings.Contains(page, "no Redis at 127.0.0.1:6379") {
			t.Error("the error is not shown")
		}
	}
}

func TestHTMLIsTheSameEveryTime(t *testing.T) {
	h, v := busy()
	first := pageOf(t, h, v, HTMLOptions{})
	for range 20 {
		if pageOf(t, h, v, HTMLOptions{}) != first {
			t.Fatal("two renderings differ")
		}
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestEveryFormatReportsAFailedWrite(t *testing.T) {
	h, v := watchdogDeath()
	names := make(map[string]bool)
	for _, f := range Formats() {
		if f.Name == "" || f.File == "" || f.About == "" || names[f.Name] || names[f.File] {
			t.Errorf("format %+v has no name of its own", f)
		}
		names[f.Name], names[f.File] = true, true
		if err := f.Write(io.Discard, Run{Verdict: v, History: h}); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err := f.Write(full{}, Run{Verdict: v, History: h}); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", f.Name, err)
		}
	}
	if err := Terminal(full{}, v, TerminalOptions{}); !errors.Is(err, errFull) {
		t.Errorf("Terminal on a full disk: %v", err)
	}
}

func benchmarkHTML(b *testing.B, h *history.History, v *checker.Verdict) {
	size := len(pageOf(b, h, v, HTMLOptions{}))
	b.ReportAllocs()
	for b.Loop() {
		if err := HTML(io.Discard, h, v, HTMLOptions{Command: "simrun"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/1e3, "kB/page")
}

func BenchmarkHTML50(b *testing.B) {
	h, v := quiet(50)
	_, death := watchdogDeath()
	v.Story, v.Results, v.Explanation = death.Story, death.Results, death.Explanation
	benchmarkHTML(b, h, v)
}

func BenchmarkHTML10000(b *testing.B) {
	h, v := quiet(10000)
	benchmarkHTML(b, h, v)
}

// containsWord reports whether s contains the selector w, not only as the beginning of another.
func containsWord(s, w string) bool {
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			return false
		}
		if after == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz-", rune(after[0])) {
			return true
		}
		rest = after
	}
}
