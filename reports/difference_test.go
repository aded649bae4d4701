package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// spared is the sample's run, in which the second client was told something else from 30 s on.
func spared() (*history.History, *checker.Verdict) {
	h, v := watchdogDeath()
	h.Header.Plan = json.RawMessage(strings.Replace(string(h.Header.Plan), "pause-watchdog", "pause-client", 1))
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Owner == "c2:1" && op.Kind.Acquires() {
			op.Outcome = history.Busy
		}
	}
	v.Results = slices.Clone(v.Results)
	v.Results[1] = checker.Result{Guarantee: contract.Exclusion, Status: checker.Holds, Summary: "It held."}
	v.Story = slices.Clone(v.Story)
	v.Story[len(v.Story)-1].At += sec(1)
	v.Story = append(v.Story, checker.Moment{At: sec(60), Who: "verdict", Text: "one more"})
	return h, v
}

func sidesOf(t *testing.T) (a, b Side) {
	t.Helper()
	h, v := watchdogDeath()
	h2, v2 := spared()
	return Side{Run: Run{History: h, Verdict: v}, Title: "first"}, Side{Run: Run{History: h2, Verdict: v2}, Title: "second"}
}

func TestTwoRunsThatAreTheSame(t *testing.T) {
	a, _ := sidesOf(t)
	d := Differ(a, a)
	if !d.Same || d.Divergence != nil || len(d.Guarantees) != 0 {
		t.Errorf("%+v", d)
	}
	var text strings.Builder
	if err := d.Text(&text, TerminalOptions{}); err != nil || !strings.Contains(text.String(), "\nThe two runs are the same.\n") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

func TestTheFirstDivergenceIsFound(t *testing.T) {
	a, b := sidesOf(t)
	d := Differ(a, b)
	p := d.Divergence
	if d.Same || p == nil || p.A == nil || p.B == nil {
		t.Fatalf("%+v", d)
	}
	if p.A.Who != "c2:1" || !strings.HasSuffix(p.A.Text, "→ acquired") || !strings.HasSuffix(p.B.Text, "→ busy") || p.A.At != p.B.At || d.Until >= p.At() {
		t.Errorf("after %v: %+v and %+v", d.Until, p.A, p.B)
	}
	if len(d.Guarantees) != 1 || d.Guarantees[0].Guarantee != contract.Exclusion || d.Guarantees[0].A != checker.Broken || d.Guarantees[0].B != checker.Holds {
		t.Errorf("%+v", d.Guarantees)
	}
	var signs string
	for _, c := range d.Story {
		signs += c.Sign
	}
	if n := len(a.Verdict.Story); signs != strings.Repeat("=", n-1)+"~+" {
		t.Errorf("the story's lines are %q", signs)
	}
	var text strings.Builder
	if err := d.Text(&text, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"First divergence, at ", "\n  exclusion  A broken (1 violation)       B holds\n", `  -       "kind": "pause-watchdog",`, `  +       "kind": "pause-client",`, "one more", "lines of both"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What several did at once in another order is no divergence, and neither are other times.
func TestOrderAndTimesAloneAreNoDivergence(t *testing.T) {
	of := func(shift float64, first, second string) *history.History {
		h := &history.History{}
		for i, owner := range []string{first, second} {
			at := sec(float64(i) + shift)
			h.Ops = append(h.Ops, history.Op{ID: int64(i + 1), Client: owner, Owner: owner, Lock: "l", Kind: history.RemainingTTL, Call: at, Return: at + sec(0.5), Outcome: history.OK, Value: int64(at)})
		}
		return h
	}
	if d := diverge(happenings(of(1, "a", "b")), happenings(of(3, "b", "a"))); d != nil {
		t.Errorf("%+v %+v", d.A, d.B)
	}
	short := of(1, "a", "b")
	short.Ops = short.Ops[:1]
	d := diverge(happenings(of(1, "a", "b")), happenings(short))
	if d == nil || d.B != nil || d.A.Who != "b" || d.At() != sec(2) {
		t.Errorf("%+v", d)
	}
	if e := diverge(happenings(short), happenings(of(1, "a", "b"))); e == nil || e.A != nil || *e.B != *d.A {
		t.Errorf("the other way round: %+v", e)
	}
}

// pair keeps the order of both lists and all of both, and pairs as many as can be.
func TestLinesArePaired(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""}, {"abc", "abc", "abc"}, {"abc", "", "-a-b-c"}, {"", "ab", "+a+b"},
		{"abcd", "abxd", "ab-c+xd"}, {"axbxc", "abc", "a-xb-xc"}, {"ab", "ba", "-ab+a"}, {"aab", "ab", "a-ab"},
	} {
		got := ""
		for _, p := range pair([]byte(c.a), []byte(c.b), func(x, y byte) bool { return x == y }) {
			switch {
			case p.b < 0:
				got += "-" + c.a[p.a:p.a+1]
			case p.a < 0:
				got += "+" + c.b[p.b:p.b+1]
			default:
				got += c.a[p.a : p.a+1]
			}
		}
		if got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	long := func(with string) (lines []string) {
		for i := range 2100 {
			lines = append(lines, fmt.Sprint(with, i))
		}
		return append(append([]string{"same"}, lines...), "same")
	}
	if ps := pair(long("a"), long("b"), func(x, y string) bool { return x == y }); len(ps) != 2*2100+2 || ps[0] != (paired{0, 0}) || ps[len(ps)-1] != (paired{2101, 2101}) {
		t.Errorf("of long lists there are %d pairs", len(ps))
	}
}

func TestTheComparisonHasOneAxis(t *testing.T) {
	a, b := sidesOf(t)
	b.History.End = &history.End{At: sec(200)}
	var page bytes.Buffer
	if err := Compare(&page, a, b); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, ">200 s</text>"); n != 2 {
		t.Errorf("%d axes end at 200 s, want both", n)
	}
	if n := strings.Count(text, `class="moment"`); n != 2 {
		t.Errorf("the divergence is marked %d times, want once in each picture", n)
	}
	for _, want := range []string{"They diverge first at 30.418 s", `<span class="line sign-gone">- `, `<span class="line sign-new">`, `<tr class="sign-new">`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}
