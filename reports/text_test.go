package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

func TestVisibleShowsWhatIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		"order:42":        "order:42",
		"Schlüssel 鍵":     "Schlüssel 鍵",
		"\x1b[31mred":     `\x1b[31mred`,
		"a\nb\tc":         `a\nb\tc`,
		"\u202egnol":      `\u202egnol`,
		"\u2066x\u2069":   `\u2066x\u2069`,
		"a\u200bb\ufeff":  `a\u200bb\ufeff`,
		"\u2028":          `\u2028`,
		"nul\x00":         `nul\x00`,
		"broken\xff utf8": `broken\xff utf8`,
		"\u009b2J":        `\u009b2J`,
		"no\u00a0break":   `no\u00a0break`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := VisibleLines("a\n\x07"); got != "a\n\\a" {
		t.Errorf("visibleLines = %q", got)
	}
}

func FuzzVisibleIsPrintable(f *testing.F) {
	f.Add("order:42\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if !utf8.ValidString(v) || Visible(v) != v {
			t.Errorf("Visible(%q) = %q, which is not plain text", s, v)
		}
	})
}

func TestShortenKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"order:42", 8, "order:42"},
		{"order:4200", 8, "orde…200"},
		{"ääääääääää", 5, "ää…ää"},
	} {
		if got := shorten(c.in, c.n); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestWrapBreaksAtSpaces(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"one two three", []string{"one two", "three"}},
		{"abcdefghijklmnopq xy", []string{"abcdefghij", "klmnopq xy"}},
		{"it took 30.410 s, so", []string{"it took", "30.410 s,", "so"}},
		{"ü ü ü ü ü ü", []string{"ü ü ü ü ü", "ü"}},
	} {
		if got := wrap(c.in, 10); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNumbersReadWell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0.000 s",
		14982 * time.Millisecond: "14.982 s",
		5 * time.Millisecond:     "5.000 ms",
		1500 * time.Nanosecond:   "1.500 µs",
		-2 * time.Second:         "-2.000 s",
	} {
		if got := length(d); got != want {
			t.Errorf("length(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
	if got := list([]string{"a", "b", "c"}); got != "a, b and c" {
		t.Errorf("list = %q", got)
	}
}

// JSON for machines shows nothing on a terminal that it does not say, and says the same.
func TestVisibleJSON(t *testing.T) {
	for _, text := range []string{"plain", "\u202e", "a\u009b\x7f\x1b[31m\u200b", "\U000e0001 \U0001f512 é", "line\nend", "\xff"} {
		b, err := json.MarshalIndent(map[string]string{text: text}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got := VisibleJSON(b)
		if shown := string(got); VisibleLines(shown) != shown {
			t.Errorf("%q is shown as %q", text, shown)
		}
		var was, is map[string]string
		if err := errors.Join(json.Unmarshal(b, &was), json.Unmarshal(got, &is)); err != nil || !maps.Equal(was, is) {
			t.Errorf("%q: %v, %q is not %q", text, err, is, was)
		}
	}
}

// An error of several lines is told in one, without signs that only programs write; what is not printable in it stays visible.
func TestAnErrorOfSeveralLinesIsOneSentence(t *testing.T) {
	for text, want := range map[string]string{
		"panic: boom\n\n\tat worker.go:7\r\n": "panic: boom; at worker.go:7",
		"one line":                            "one line",
		"a\tb":                                "a b",
		"x\x1b\ny":                            `x\x1b; y`,
	} {
		if got := flat(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	h, v := watchdogDeath()
	h.Ops[0].Error, h.Ops[0].Outcome = "panic: boom\n\tat worker.go:7", history.Failed
	v.Story = append(v.Story, checker.Moment{At: sec(1), Who: "c1:1", Text: "fails: panic: boom\n\tat worker.go:7", Weight: checker.Key})
	var page, summary bytes.Buffer
	if err := errors.Join(HTML(&page, h, v, HTMLOptions{}), Terminal(&summary, v, TerminalOptions{Verbose: true, History: h, Width: 200})); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the page": page.String(), "the summary": summary.String()} {
		if n := strings.Count(text, "panic: boom; at worker.go:7"); n < 2 || strings.Contains(text, `boom\n`) {
			t.Errorf("%s tells it %d times", name, n)
		}
	}
}
