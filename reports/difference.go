package reports

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// DifferenceVersion is the version of what simrun diff -json writes.
const DifferenceVersion = 1

// Difference is how two runs differ. It is data: the terminal, the page and JSON show the same.
type Difference struct {
	Version int         `json:"version"`
	Runs    [2]Compared `json:"runs"`
	// Same says that all that was recorded is the same, at the same times, and so is what was judged.
	Same bool `json:"same"`
	// Until is up to when all that was recorded is the same, at the same times.
	Until      time.Duration          `json:"until"`
	Divergence *Divergence            `json:"divergence,omitempty"` // nil: everybody did and was told the same, if at other times
	Guarantees []GuaranteeDifference  `json:"guarantees"`
	Plan       []Change[string]       `json:"plan"`
	Story      []Change[StoryMoments] `json:"story"`
}

// Compared is one of the two runs.
type Compared struct {
	Title    string `json:"run"`
	Scenario string `json:"scenario,omitzero"`
	Subject  string `json:"subject"`
	World    string `json:"world"`
	Seed     uint64 `json:"seed"`
	Code     int    `json:"code"` // the exit code that its verdict deserves
	Answer   string `json:"answer"`
}

// Divergence is the first thing that one run has and the other has not, or has otherwise: of what each owner asked and
// was told, each client's commands did, and befell the world, whatever the order of what several did. A side is nil
// where nothing of the kind happened any more.
type Divergence struct {
	A *Happening `json:"a"`
	B *Happening `json:"b"`
}

// At is when the runs diverge.
func (d *Divergence) At() time.Duration {
	switch {
	case d.A == nil:
		return d.B.At
	case d.B == nil:
		return d.A.At
	}
	return min(d.A.At, d.B.At)
}

// Happening is one thing of what was recorded.
type Happening struct {
	At   time.Duration `json:"at"`
	Who  string        `json:"who"`
	Text string        `json:"text"`

	of string // whose sequence it is in
}

// GuaranteeDifference is a guarantee of which the two runs say something else.
type GuaranteeDifference struct {
	Guarantee contract.Guarantee `json:"guarantee"`
	A         checker.Status     `json:"a"`
	B         checker.Status     `json:"b"`
	// ViolationsA and ViolationsB are how many there were.
	ViolationsA int `json:"violationsA"`
	ViolationsB int `json:"violationsB"`
}

// Change is a line that both runs have (=), that they have at times that differ by a millisecond or more (~), or that
// only the first (-) or only the second has (+).
type Change[T any] struct {
	Sign string `json:"sign"`
	Line T      `json:"line"`
}

// StoryMoments are a moment of two stories. That which a story does not have is nil.
type StoryMoments struct {
	A *checker.Moment `json:"a,omitempty"`
	B *checker.Moment `json:"b,omitempty"`
}

// Differ compares two runs, which have verdicts and may have histories.
func Differ(a, b Side) *Difference {
	d := &Difference{Version: DifferenceVersion, Runs: [2]Compared{compared(a), compared(b)},
		Guarantees: []GuaranteeDifference{}, Plan: []Change[string]{}, Story: storyChanges(a.Verdict.Story, b.Verdict.Story)}
	for _, g := range contract.Guarantees() {
		x, y := a.Verdict.Result(g), b.Verdict.Result(g)
		if x.Status != y.Status || len(x.Violations) != len(y.Violations) {
			d.Guarantees = append(d.Guarantees, GuaranteeDifference{g, x.Status, y.Status, len(x.Violations), len(y.Violations)})
		}
	}
	same := true
	if a.History != nil && b.History != nil {
		of, with := happenings(a.History), happenings(b.History)
		d.Until, same = sameUntil(of, with)
		if a.Verdict.Subject != b.Verdict.Subject { // other locks send other commands
			of, with = slices.DeleteFunc(of, isCommand), slices.DeleteFunc(with, isCommand)
		}
		d.Divergence = diverge(of, with)
		d.Plan = lineChanges(planLines(a.History), planLines(b.History))
	}
	d.Same = same && len(d.Guarantees) == 0 && !changed(d.Story) && !changed(d.Plan) && a.Verdict.Subject == b.Verdict.Subject
	return d
}

func compared(s Side) Compared {
	v := s.Verdict
	return Compared{Title: Visible(s.Title), Scenario: Visible(v.Scenario), Subject: Visible(v.Subject), World: Visible(v.World), Seed: v.Seed, Code: v.Code(), Answer: answer(v).Word}
}

// changed reports whether a line is not in both.
func changed[T any](cs []Change[T]) bool {
	return slices.ContainsFunc(cs, func(c Change[T]) bool { return c.Sign != "=" })
}

// happenings are what was recorded of a run, in order of time.
func happenings(h *history.History) []Happening {
	var all []Happening
	for _, f := range h.Faults {
		if !f.Missed {
			all = append(all, Happening{f.From, "fault", faultText(f), "fault"})
		}
	}
	for _, e := range h.Events {
		who := cmp.Or(e.Owner, e.Client, "server")
		all = append(all, Happening{e.At, name(who), strings.TrimSpace(Visible(string(e.Kind)) + " " + nameOrNone(e.Lock)), "event " + who})
	}
	for _, op := range h.Ops {
		of := "op " + op.Owner
		if op.Aside {
			of += " aside"
		}
		asks := asked(op) + " " + name(op.Lock)
		all = append(all, Happening{op.Call, name(op.Owner), "calls " + asks, of})
		if !op.Pending() {
			all = append(all, Happening{op.Return, name(op.Owner), asks + " → " + told(op), of})
		}
	}
	for _, s := range h.Served {
		text := "the server executes " + Visible(string(s.Step)) + " " + nameOrNone(s.Lock)
		if s.After != nil {
			text += ", then held by " + ownersIn(*s.After)
		}
		if s.Got == 0 {
			text += "; the reply is lost"
		}
		all = append(all, Happening{s.At, name(s.Client), text, command + s.Client + " " + s.Owner + " " + string(s.Step)})
	}
	slices.SortStableFunc(all, func(a, b Happening) int { return cmp.Compare(a.At, b.At) })
	return all
}

// command begins the names of the sequences of clients' commands.
const command = "command "

func isCommand(x Happening) bool { return strings.HasPrefix(x.of, command) }

func faultText(f history.Fault) string {
	words := []string{Visible(f.Kind)}
	for _, target := range []string{f.Client, f.Server, f.Lock, f.On} {
		words = append(words, nameOrNone(target))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func nameOrNone(s string) string {
	if s == "" {
		return ""
	}
	return name(s)
}

// ownersIn says who is in a key, without times.
func ownersIn(k history.KeyState) string {
	k.Deadline = 0
	text, _, _ := strings.Cut(keyText(k, 0), ", ")
	if text == "free" {
		return "nobody"
	}
	return text
}

// sameUntil is up to when both are the same at the same times, and whether they are to the end.
func sameUntil(a, b []Happening) (until time.Duration, same bool) {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return until, false
		}
		until = a[i].At
	}
	return until, len(a) == len(b)
}

// A time in a text is no difference.
var times = regexp.MustCompile(`\d+(\.\d+)? ?(ns|µs|ms|s|min|h)\b`)

func timeless(text string) string { return times.ReplaceAllString(text, "…") }

// diverge finds the first divergence: of each sequence the first thing that is not the same, and of these the earliest.
func diverge(a, b []Happening) *Divergence {
	with := make(map[string][]*Happening)
	for i := range b {
		with[b[i].of] = append(with[b[i].of], &b[i])
	}
	var first *Divergence
	found := func(d Divergence) {
		if first == nil || d.At() < first.At() {
			first = &d
		}
	}
	seen, over := make(map[string]int), make(map[string]bool)
	for i := range a {
		x := &a[i]
		n, others := seen[x.of], with[x.of]
		seen[x.of]++
		switch {
		case over[x.of]:
		case n >= len(others):
			over[x.of] = true
			found(Divergence{A: x})
		case timeless(x.Text) != timeless(others[n].Text):
			over[x.of] = true
			found(Divergence{x, others[n]})
		}
	}
	for i := range b {
		if x := &b[i]; !over[x.of] && seen[x.of] < len(with[x.of]) && with[x.of][seen[x.of]] == x {
			found(Divergence{B: x})
		}
	}
	return first
}

func planLines(h *history.History) []string {
	text, _ := prettyPlan(h.Header.Plan)
	return strings.Split(strings.TrimSpace(text), "\n")
}

func lineChanges(a, b []string) []Change[string] {
	cs := []Change[string]{}
	for _, p := range pair(a, b, func(x, y string) bool { return x == y }) {
		switch {
		case p.b < 0:
			cs = append(cs, Change[string]{"-", a[p.a]})
		case p.a < 0:
			cs = append(cs, Change[string]{"+", b[p.b]})
		default:
			cs = append(cs, Change[string]{"=", a[p.a]})
		}
	}
	return cs
}

func storyChanges(a, b []checker.Moment) []Change[StoryMoments] {
	cs := []Change[StoryMoments]{}
	for _, p := range pair(a, b, func(x, y checker.Moment) bool { return x.Who == y.Who && timeless(x.Text) == timeless(y.Text) }) {
		switch {
		case p.b < 0:
			cs = append(cs, Change[StoryMoments]{"-", StoryMoments{A: &a[p.a]}})
		case p.a < 0:
			cs = append(cs, Change[StoryMoments]{"+", StoryMoments{B: &b[p.b]}})
		default:
			sign := "="
			if checker.Stamp(a[p.a].At) != checker.Stamp(b[p.b].At) || a[p.a].Text != b[p.b].Text {
				sign = "~"
			}
			cs = append(cs, Change[StoryMoments]{sign, StoryMoments{&a[p.a], &b[p.b]}})
		}
	}
	return cs
}

// paired are the places of what two lists have in common; -1: one of them has none.
type paired struct{ a, b int }

// mostPairs is how many comparisons are made to pair two lists: longer ones are taken to have only their ends in common.
const mostPairs = 4_000_000

// pair pairs as many of two lists as can be, in their order.
func pair[T any](a, b []T, same func(x, y T) bool) []paired {
	var ps []paired
	start := 0
	for start < min(len(a), len(b)) && same(a[start], b[start]) {
		ps = append(ps, paired{start, start})
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && same(a[endA-1], b[endB-1]) {
		endA, endB = endA-1, endB-1
	}
	ps = append(ps, pairMiddle(a, b, start, endA, endB, same)...)
	for i := endA; i < len(a); i++ {
		ps = append(ps, paired{i, endB + i - endA})
	}
	return ps
}

// pairMiddle pairs a[start:endA] with b[start:endB], by their longest common subsequence.
func pairMiddle[T any](a, b []T, start, endA, endB int, same func(x, y T) bool) (ps []paired) {
	n, m := endA-start, endB-start
	if n*m > mostPairs {
		n, m = 0, 0
	}
	longest := make([][]int32, n+1) // of what is left of both
	for i := range longest {
		longest[i] = make([]int32, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if same(a[start+i], b[start+j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < n && j < m {
		switch {
		case same(a[start+i], b[start+j]):
			ps = append(ps, paired{start + i, start + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			ps = append(ps, paired{start + i, -1})
			i++
		default:
			ps = append(ps, paired{-1, start + j})
			j++
		}
	}
	for ; start+i < endA; i++ {
		ps = append(ps, paired{start + i, -1})
	}
	for ; start+j < endB; j++ {
		ps = append(ps, paired{-1, start + j})
	}
	return ps
}
