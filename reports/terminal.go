package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// TerminalOptions says how the summary is written. The zero value is plain text for 80 columns.
type TerminalOptions struct {
	Color   bool             // the caller knows whether w is a terminal and what NO_COLOR says
	Width   int              // columns; 0: 80
	Verbose bool             // the whole story, and all operations if History is set
	History *history.History // needed only for the operations
	Report  string           // where the report lies; empty: nowhere
	Rest    string           // where the rest of the story is; empty: "with -v"
	Command string           // what reproduces the run; empty: not said
}

// storyLines is how much of a story fits a screen together with the verdicts.
const storyLines = 13

// Terminal writes the summary of one run for a person at a terminal: the answer, the verdict on
// each guarantee, the story, where the report lies and how to see it again.
func Terminal(w io.Writer, v *checker.Verdict, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := terminal{v: v, o: o, paint: newPalette(o.Color)}
	t.headline()
	t.results()
	t.explanation()
	t.story()
	if o.Verbose && o.History != nil {
		t.operations(o.History)
	}
	t.footer()
	_, err := w.Write(t.buf.Bytes())
	return err
}

// palette colours text for one terminal, without touching the settings of package color, which
// are the whole program's.
type palette map[string]*color.Color

func newPalette(on bool) palette {
	p := palette{
		"good": color.New(color.FgGreen), "reproduced": color.New(color.FgMagenta),
		"bad": color.New(color.FgRed, color.Bold), "unsure": color.New(color.FgYellow),
		"quiet": color.New(color.Faint), "bold": color.New(color.Bold),
		"fault": color.New(color.FgYellow), "key": color.New(color.FgCyan),
		"breaking": color.New(color.FgRed, color.Bold),
	}
	for _, c := range p {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

// as colours s; an unknown name leaves it plain.
func (p palette) as(name, s string) string {
	if c := p[name]; c != nil && s != "" {
		return c.Sprint(s)
	}
	return s
}

type terminal struct {
	buf   bytes.Buffer
	v     *checker.Verdict
	o     TerminalOptions
	paint palette
}

func (t *terminal) line(parts ...string) {
	t.buf.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.buf.WriteByte('\n')
}

func (t *terminal) headline() {
	v := t.v
	what := name(v.Subject)
	if v.Scenario != "" {
		what = t.paint.as("bold", name(v.Scenario)) + "  " + what
	}
	t.line(what, fmt.Sprintf("  seed %d", v.Seed))
	facts := []string{clockLength(v), count(v.Ops, "operation", "operations")}
	if v.Messages > 0 {
		facts = append(facts, count(v.Messages, "message", "messages"))
	}
	t.line(t.paint.as("quiet", strings.Join(facts, ", ")))
	t.line()
	a := answer(v)
	word := t.paint.as(string(a.Tone), a.Word)
	for i, l := range wrap(a.Text, t.o.Width-len(a.Word)-2) {
		if i > 0 {
			word = strings.Repeat(" ", len(a.Word))
		}
		t.line(word, "  ", l)
	}
	t.line()
}

// clockLength says how long the run was, and by which clock.
func clockLength(v *checker.Verdict) string {
	if v.World == "sim" {
		return checker.Stamp(v.Virtual) + " of virtual time"
	}
	return checker.Stamp(v.Virtual) + " in world " + name(v.World)
}

// marks tell the tones apart without colours: "!" is what needs a look.
var marks = map[Tone]string{Good: "✓", Reproduced: "✗", Bad: "!", Unsure: "?", Quiet: "–"}

func (t *terminal) results() {
	const indent = 27
	for _, g := range contract.Guarantees() {
		if len(t.v.Refused) > 0 {
			break // nothing was judged
		}
		r := t.v.Result(g)
		tn := string(tone(r))
		head := "  " + t.paint.as(tn, marks[tone(r)]) + " " + pad(string(g), 10) + " " + t.paint.as(tn, pad(statusWord(r), 12))
		text := summary(r)
		var notes []string
		if !r.AsExpected() && r.Expected != "" {
			notes = append(notes, expectation(r))
		}
		if t.o.Verbose && r.By != "" {
			notes = append(notes, "judged by "+Visible(r.By))
		}
		if len(notes) > 0 {
			text = strings.TrimSuffix(text, ".") + " (" + strings.Join(notes, "; ") + ")"
		}
		lines := wrap(text, t.o.Width-indent)
		if len(lines) == 0 {
			lines = []string{""}
		}
		for i, l := range lines {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			t.line(head, l)
		}
		for _, who := range rulings(r) {
			for _, l := range wrap(who, t.o.Width-indent) {
				t.line(strings.Repeat(" ", indent), t.paint.as("quiet", l))
			}
		}
	}
	t.notes(t.paint.as("bad", "  ! "), t.v.Refused)
	t.notes("  – ", t.v.Unstruck)
	if t.v.Untried != "" {
		t.notes("  – ", []string{t.v.Untried})
	}
	t.line()
}

// notes writes each text behind a mark.
func (t *terminal) notes(mark string, texts []string) {
	for _, text := range texts {
		head := mark
		for _, l := range wrap(Visible(text), t.o.Width-4) {
			t.line(head, l)
			head = "    "
		}
	}
}

func (t *terminal) explanation() {
	if t.v.Explanation == "" {
		return
	}
	for _, l := range wrap(Visible(strings.Join(strings.Fields(t.v.Explanation), " ")), t.o.Width-2) {
		t.line("  ", l)
	}
	t.line()
}

func (t *terminal) story() {
	story, left := t.v.Story, 0
	switch {
	case !t.o.Verbose:
		story, left = weightiest(story, storyLines)
	case t.o.History != nil:
		story = checker.Retell(t.o.History, t.v, momentsShown)
	}
	if len(story) == 0 {
		return
	}
	times, who := 0, 0
	for _, m := range story {
		times = max(times, len(checker.Stamp(m.At)))
		who = max(who, utf8.RuneCountInString(shorten(Visible(m.Who), 16)))
	}
	indent := 2 + times + 2 + who + 2
	for _, m := range story {
		style := string(m.Weight)
		head := "  " + t.paint.as("quiet", padLeft(checker.Stamp(m.At), times)) + "  " +
			t.paint.as(style, pad(shorten(Visible(m.Who), 16), who)) + "  "
		for i, l := range wrap(flat(m.Text), t.o.Width-indent) {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			t.line(head, t.paint.as(style, l))
		}
	}
	if left > 0 {
		t.line(strings.Repeat(" ", indent), t.paint.as("quiet", count(left, "more moment", "more moments")+" "+cmp.Or(t.o.Rest, "with -v")))
	}
	t.line()
}

// weightiest chooses at most n moments of a story: the heavy ones first, earlier before later,
// kept in order of time. It also says how many it left out.
func weightiest(story []checker.Moment, n int) (chosen []checker.Moment, left int) {
	if len(story) <= n {
		return story, 0
	}
	keep := make([]bool, len(story))
	room := n
	for _, w := range []checker.Weight{checker.Breaking, checker.Key, checker.Faulty, checker.Plain} {
		for i, m := range story {
			if room > 0 && !keep[i] && (m.Weight == w || w == checker.Plain) {
				keep[i] = true
				room--
			}
		}
	}
	for i, m := range story {
		if keep[i] {
			chosen = append(chosen, m)
		}
	}
	return chosen, len(story) - len(chosen)
}

func (t *terminal) operations(h *history.History) {
	if len(h.Ops) == 0 {
		return
	}
	rows := make([][]string, 0, len(h.Ops))
	widths := make([]int, 5)
	for _, op := range h.Ops {
		returned := "pending"
		if !op.Pending() {
			returned = checker.Stamp(op.Return)
		}
		row := []string{checker.Stamp(op.Call), returned, shorten(Visible(op.Owner), 20), shorten(Visible(op.Lock), 20), asked(op)}
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
		rows = append(rows, append(row, told(op)))
	}
	t.line("  ", t.paint.as("bold", "operations"))
	for _, r := range rows {
		times := "  " + padLeft(r[0], widths[0]) + "  " + padLeft(r[1], widths[1])
		who := "  " + pad(r[2], widths[2]) + "  " + pad(r[3], widths[3]) + "  "
		lines := []string{pad(r[4], widths[4]) + "  " + r[5]}
		left := utf8.RuneCountInString(times + who)
		if left+utf8.RuneCountInString(lines[0]) > t.o.Width { // what was asked and what was told go on below
			lines = wrap(r[4]+" → "+r[5], t.o.Width-left)
		}
		t.line(t.paint.as("quiet", times), who, lines[0])
		for _, l := range lines[1:] {
			t.line(strings.Repeat(" ", left), l)
		}
	}
	t.line()
}

// asked is an operation with its arguments.
func asked(op history.Op) string {
	s := Visible(string(op.Kind))
	var args []string
	if op.Kind.Object().Counted() && op.Units() != 1 && op.Kind != history.DeleteLatch || op.Kind.Object() == history.ASemaphore || op.Kind.Sets() {
		args = append(args, fmt.Sprint(op.Value))
	}
	if op.Wait > 0 {
		args = append(args, "wait "+length(op.Wait))
	}
	switch {
	case op.Fresh > 0 && op.FreshWatchdog, op.Fresh == 0 && op.Watchdog && !op.Kind.Unlocks():
		args = append(args, "watchdog")
	case op.Fresh > 0: // what the hold keeps is another's
		args = append(args, "lease "+length(op.Fresh))
	case op.Lease > 0 && op.Kind.Acquires():
		args = append(args, "lease "+length(op.Lease))
	}
	if op.Kind == history.Write {
		args = append(args, fmt.Sprint(op.Value))
	}
	if len(args) > 0 {
		s += "(" + strings.Join(args, ", ") + ")"
	}
	return s
}

// told is an operation's outcome as the client heard it, and what really happened if that differs.
func told(op history.Op) string {
	s := Visible(string(op.Outcome))
	switch {
	case op.Pending():
		s = "never returned"
	case op.Outcome == history.OK && op.Kind == history.RemainingTTL:
		s = remaining(op.Value)
	case op.Outcome == history.OK && op.Kind != history.Write && op.Kind.Object() == history.ALock:
		s = fmt.Sprint(op.Value)
	}
	if op.Token != 0 {
		s += fmt.Sprintf(", token %d", op.Token)
	}
	if op.Error != "" {
		s += ": " + shorten(flat(op.Error), 200)
	}
	if op.Uncertain() {
		switch op.Evidence {
		case history.NotSent:
			s += " (never sent)"
		case history.Executed:
			s += " (the server: " + Visible(string(op.Answer)) + " at " + checker.Stamp(op.Executed) + ")"
		case history.Sent:
			s += " (sent; may have happened)"
		}
	}
	if op.Repeats > 0 {
		s += fmt.Sprintf(" (took effect %d times)", op.Repeats+1)
	}
	return s
}

// remaining is a TTL as a query answers it.
func remaining(value int64) string {
	switch value {
	case -1:
		return "no expiry"
	case -2:
		return "no key"
	}
	return length(time.Duration(value))
}

func (t *terminal) footer() {
	if t.o.Report != "" {
		t.line("  ", t.paint.as("quiet", "report  "), Visible(t.o.Report))
	}
	if t.o.Command != "" {
		t.line("  ", t.paint.as("quiet", "again   "), Visible(t.o.Command))
	}
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) + s
}
