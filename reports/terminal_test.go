package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with the one that was looked at and kept.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", file, got)
	}
}

func summaryOf(t *testing.T, v *checker.Verdict, o TerminalOptions) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Terminal(&buf, v, o); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestTerminalGolden(t *testing.T) {
	h, v := watchdogDeath()
	o := TerminalOptions{Report: "simrun-out/watchdog-death/latest/report.html", Command: "simrun -scenario watchdog-death -seed 1"}
	golden(t, "terminal.txt", summaryOf(t, v, o))
	o.Verbose, o.History = true, h
	golden(t, "terminal-verbose.txt", summaryOf(t, v, o))
	o.Verbose, o.Color = false, true
	golden(t, "terminal-color.txt", summaryOf(t, v, o))
	h, v = busy()
	golden(t, "terminal-unexpected.txt", summaryOf(t, v, TerminalOptions{Verbose: true, History: h, Width: 100}))
}

func TestTerminalKeepsToItsWidth(t *testing.T) {
	_, v := watchdogDeath()
	for _, width := range []int{60, 80, 120} {
		for line := range strings.Lines(string(summaryOf(t, v, TerminalOptions{Width: width}))) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns in %d: %q", n, width, line)
			}
		}
	}
}

func TestTerminalFitsAScreen(t *testing.T) {
	_, v := watchdogDeath()
	for len(v.Story) < 200 {
		v.Story = append(v.Story, checker.Moment{At: sec(70), Who: "c2:1", Text: "reads 1", Weight: checker.Plain})
	}
	out := string(summaryOf(t, v, TerminalOptions{Report: "r", Command: "c"}))
	if n := strings.Count(out, "\n"); n > 48 {
		t.Errorf("%d lines", n)
	}
	for _, m := range v.Story[:9] {
		if m.Weight != checker.Plain && !strings.Contains(out, m.Text) {
			t.Errorf("left out %q, which matters", m.Text)
		}
	}
	if !strings.Contains(out, "187 more moments with -v") {
		t.Errorf("does not say how much it left out:\n%s", out)
	}
}

// TestTerminalColorIsTheCallersChoice holds the summary to its option, whatever the process-wide
// setting of package color says.
func TestTerminalColorIsTheCallersChoice(t *testing.T) {
	defer func(was bool) { color.NoColor = was }(color.NoColor)
	_, v := watchdogDeath()
	for _, color.NoColor = range []bool{true, false} {
		if plain := summaryOf(t, v, TerminalOptions{}); bytes.ContainsRune(plain, '\x1b') {
			t.Error("colours without being asked")
		}
		if colored := summaryOf(t, v, TerminalOptions{Color: true}); !bytes.ContainsRune(colored, '\x1b') {
			t.Error("no colours though asked")
		}
	}
}

func TestTerminalShowsHostileTextAsText(t *testing.T) {
	h, v := hostile()
	out := string(summaryOf(t, v, TerminalOptions{Verbose: true, History: h, Report: "a\x1b]0;title\x07", Command: "b\u202e"}))
	for _, r := range out {
		if r != '\n' && (r < ' ' || r == '\u202e' || r == '\u2028' || r == utf8.RuneError) {
			t.Fatalf("%U reaches the terminal:\n%q", r, out)
		}
	}
	// With colours, only ours.
	colored := string(summaryOf(t, v, TerminalOptions{Verbose: true, History: h, Color: true}))
	if rest := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, ""); strings.ContainsRune(rest, '\x1b') {
		t.Errorf("an escape sequence that is not ours:\n%q", rest)
	}
	if wide := string(summaryOf(t, v, TerminalOptions{Verbose: true, History: h, Width: 1000})); !strings.Contains(wide, `\x1b[31mred\u202e`) {
		t.Error("the error's text is not shown")
	}
}

func TestTerminalSaysHowAnOperationEnded(t *testing.T) {
	h, v := busy()
	out := string(summaryOf(t, v, TerminalOptions{Verbose: true, History: h, Width: 120}))
	for _, want := range []string{
		"unknown: i/o timeout (never sent)", // c6's unlock, cut off
		"never returned",                    // c8's lock, dead
		"write(3)",
		"token 12",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q in:\n%s", want, out)
		}
	}
}

// Operations whose answers are long fit 80 columns, too: what was asked and what was told go on below.
func TestOperationsFitTheTerminal(t *testing.T) {
	h, v := watchdogDeath()
	h.Ops[0].Error, h.Ops[0].Wait = "a reply that is longer than any line of a terminal, as those of clients are that quote the command", sec(1)
	var b bytes.Buffer
	if err := Terminal(&b, v, TerminalOptions{Verbose: true, History: h}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "as those of clients are that quote the command") {
		t.Errorf("the answer is not whole:\n%s", b.String())
	}
}

// What a call asked for is listed, also where its hold keeps another lease.
func TestACallIsListedWithWhatItAskedFor(t *testing.T) {
	const sec = time.Second
	for want, op := range map[string]history.Op{
		"lock(watchdog)":      {Kind: history.Lock, Lease: 30 * sec, Watchdog: true},
		"lock(lease 5.000 s)": {Kind: history.Lock, Lease: 5 * sec},
		"lock(lease 2.000 s)": {Kind: history.Lock, Lease: 30 * sec, Watchdog: true, Fresh: 2 * sec},
		"tryLock(watchdog)":   {Kind: history.TryLock, Lease: 60 * sec, Watchdog: true, Fresh: 30 * sec, FreshWatchdog: true},
		"unlock":              {Kind: history.Unlock, Lease: 30 * sec, Watchdog: true},
	} {
		if got := asked(op); got != want {
			t.Errorf("it is listed as %s, not %s", got, want)
		}
	}
}
