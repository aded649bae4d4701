package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
)

// contextLines: around a change, so many lines that both have are shown.
const contextLines = 2

// Text writes the difference for a person at a terminal. Of a plan and a story that are long it shows what changed and
// a little around it, unless o is verbose.
func (d *Difference) Text(w io.Writer, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := terminal{o: o, paint: newPalette(o.Color)}
	for i, r := range d.Runs {
		t.line(t.paint.as("bold", "AB"[i:i+1]), "  ", r.Title)
		scenario := r.Scenario
		if scenario == "" {
			scenario = "a plan"
		}
		t.wrapped("   ", fmt.Sprintf("%s in %s, world %s, seed %d: %s", r.Subject, scenario, r.World, r.Seed, r.Answer))
	}
	t.line()
	if d.Same {
		t.line("The two runs are the same.")
	} else {
		t.divergence(d)
		t.guarantees(d)
		t.plan(d.Plan)
		t.stories(d.Story)
	}
	_, err := w.Write(t.buf.Bytes())
	return err
}

// wrapped writes a text behind a head, in as many lines as it needs.
func (t *terminal) wrapped(head, text string) {
	n := utf8.RuneCountInString(head)
	for i, l := range wrap(text, t.o.Width-n) {
		if i > 0 {
			head = strings.Repeat(" ", n)
		}
		t.line(head, l)
	}
}

func (t *terminal) divergence(d *Difference) {
	if d.Until > 0 {
		t.line("The same, at the same times, until ", checker.Stamp(d.Until), ".")
	}
	if d.Divergence == nil {
		t.wrapped("", "Everybody did and was told the same, if not at the same times.")
		t.line()
		return
	}
	t.line(t.paint.as("bold", "First divergence, at "+checker.Stamp(d.Divergence.At())))
	for i, x := range []*Happening{d.Divergence.A, d.Divergence.B} {
		head := "  " + "AB"[i:i+1] + "  "
		if x == nil {
			t.line(head, t.paint.as("quiet", "nothing of the kind any more"))
			continue
		}
		t.wrapped(head+checker.Stamp(x.At)+"  ", x.Who+": "+x.Text)
	}
	t.line()
}

func (t *terminal) guarantees(d *Difference) {
	if len(d.Guarantees) == 0 {
		t.line("They agree on every guarantee.")
	}
	for _, g := range d.Guarantees {
		t.line("  ", pad(string(g.Guarantee), 10), " A ", pad(howMany(g.A, g.ViolationsA), 26), " B ", howMany(g.B, g.ViolationsB))
	}
	t.line()
}

// howMany is a status, with how often a guarantee broke.
func howMany(s checker.Status, n int) string {
	if !s.Valid() {
		return "never judged"
	}
	if n == 0 {
		return string(s)
	}
	return fmt.Sprintf("%s (%s)", s, count(n, "violation", "violations"))
}

// signs are how lines are coloured that only one of both has.
var signs = map[string]string{"-": "bad", "+": "good", "~": "fault"}

func (t *terminal) plan(plan []Change[string]) {
	if !changed(plan) {
		return
	}
	t.line(t.paint.as("bold", "Plan"), t.paint.as("quiet", "  (- only in A, + only in B)"))
	left := 0
	for i, c := range plan {
		if !t.o.Verbose && !near(plan, i, isOther) {
			left++
			continue
		}
		t.leftOut(&left)
		for _, l := range wrap(Visible(c.Line), t.o.Width-4-indentOf(c.Line)) {
			t.line("  ", t.paint.as(signs[c.Sign], signOf(c.Sign)+" "+strings.Repeat(" ", indentOf(c.Line))+l))
		}
	}
	t.leftOut(&left)
	t.line()
}

// indentOf is by how much a line is indented, where there is room for it.
func indentOf(line string) int { return min(len(line)-len(strings.TrimLeft(line, " ")), 40) }

func (t *terminal) stories(story []Change[StoryMoments]) {
	if !changed(story) {
		return
	}
	t.line(t.paint.as("bold", "Story"), t.paint.as("quiet", "  (- only in A, + only in B, ~ at another time)"))
	left := 0
	for i, c := range story {
		if !t.o.Verbose && !near(story, i, isOther) {
			left++
			continue
		}
		t.leftOut(&left)
		m := c.Line.A
		if m == nil {
			m = c.Line.B
		}
		text := flat(m.Text)
		if c.Sign == "~" {
			text += fmt.Sprintf(" (B: %s)", checker.Stamp(c.Line.B.At))
		}
		head := fmt.Sprintf("  %s %s  %s  ", signOf(c.Sign), padLeft(checker.Stamp(m.At), 9), pad(shorten(Visible(m.Who), 16), 8))
		n := utf8.RuneCountInString(head)
		for j, l := range wrap(text, t.o.Width-n) {
			if j > 0 {
				head = strings.Repeat(" ", n)
			}
			t.line(t.paint.as(signs[c.Sign], head+l))
		}
	}
	t.leftOut(&left)
	t.line()
}

func signOf(sign string) string {
	if sign == "=" {
		return " "
	}
	return sign
}

func isOther(sign string) bool { return sign == "-" || sign == "+" }

// near reports whether a line, or one a little before or after it, is one that counts.
func near[T any](cs []Change[T], i int, counts func(sign string) bool) bool {
	for j := max(0, i-contextLines); j <= min(len(cs)-1, i+contextLines); j++ {
		if counts(cs[j].Sign) {
			return true
		}
	}
	return false
}

// leftOut says how many lines were not shown, if some were, and begins to count anew.
func (t *terminal) leftOut(n *int) {
	if *n > 0 {
		t.line("    ", t.paint.as("quiet", "… "+count(*n, "line", "lines")+" of both"))
	}
	*n = 0
}
