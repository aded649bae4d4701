package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func TestEachRulingIsToldOnceAndDefectsFirst(t *testing.T) {
	var r checker.Result
	for _, ruling := range []checker.Ruling{assumed, {Kind: checker.KnownLimitation, Row: "sent-again", Source: "the manual"}, assumed, {Kind: checker.Defect}} {
		r.Violations = append(r.Violations, checker.Violation{Ruling: ruling})
	}
	want := []string{
		"1 of 4: a defect of this lock",
		"2 of 4: an assumption of such locks failed: holder-not-renewed (the sample)",
		"1 of 4: a known limitation of this lock: sent-again (the manual)",
	}
	if got := rulings(r); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Violations = r.Violations[:1]
	if got := rulings(r); !slices.Equal(got, []string{"an assumption of such locks failed: holder-not-renewed (the sample)"}) {
		t.Errorf("of one violation: %q", got)
	}
	r.Violations[0].Ruling = checker.Ruling{}
	if got := rulings(r); len(got) != 1 || !strings.Contains(got[0], "older version") {
		t.Errorf("of version 1: %q", got)
	}
}

func TestEveryRowSaysWhatItTouched(t *testing.T) {
	for _, e := range contract.Exemptions() {
		v := viewRuling(checker.Ruling{Kind: checker.FailedAssumption, Row: e.Name, Source: e.Source})
		if v.Touched == "" || v.Touched != e.Touched {
			t.Errorf("%s touched %q", e.Name, v.Touched)
		}
	}
	if v := viewRuling(checker.Ruling{Kind: checker.Defect}); v.Touched != "" {
		t.Errorf("a defect touched %q", v.Touched)
	}
}

func TestThePageSaysWhyAVerdictCannotBeReliedOn(t *testing.T) {
	h, v := watchdogDeath()
	v.Disagreement, v.Missed = "the replay says holds, the search says broken", []string{"fault 3 never struck"}
	page := strings.ReplaceAll(pageOf(t, h, v, HTMLOptions{}), "\u00a0", " ")
	for _, want := range []string{"THE CHECKERS DISAGREE", v.Disagreement, v.Missed[0]} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}

// A fault without an end lasts by its effects, not by its name, and until all faults are over; one that
// never struck is not to be seen.
func TestAFaultLastsByItsEffects(t *testing.T) {
	h, v := watchdogDeath()
	h.Events = append(h.Events, history.Event{At: sec(70), Kind: history.Healed})
	h.Faults = []history.Fault{
		{Kind: "pause-nothing", Client: "c1", From: sec(5)},
		{Kind: "freeze", Effects: []history.Effect{history.ProcessStopped}, Client: "c1", From: sec(6)},
		{Kind: "partition", Effects: []history.Effect{history.RequestsHeld}, Client: "c1", Missed: true},
	}
	var got []string
	for _, it := range draw(h, v).Lanes[0].Items {
		if it.Kind == "fault" || it.Kind == "strike" {
			got = append(got, it.Kind+" to "+checker.Stamp(it.To)+": "+it.Tip)
		}
	}
	want := []string{"fault to 70.000 s: fault: freeze c1, 6.000 s, process stopped", "strike to 5.000 s: fault: pause-nothing c1, 5.000 s"}
	if !slices.Equal(got, want) {
		t.Errorf("faults %q, want %q", got, want)
	}
}
