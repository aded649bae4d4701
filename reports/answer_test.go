package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// verdictOf makes a verdict in which all guarantees hold as expected, but for the given ones.
func verdictOf(changed ...checker.Result) *checker.Verdict {
	v := &checker.Verdict{Version: checker.VerdictVersion, Scenario: "baseline", Subject: "lock", World: "sim"}
	for _, g := range contract.Guarantees() {
		r := checker.Result{Guarantee: g, Status: checker.Holds, Expected: checker.Holds, Summary: "It held."}
		for _, c := range changed {
			if c.Guarantee == g {
				r = c
			}
		}
		v.Results = append(v.Results, r)
	}
	return v
}

func TestAnswerFollowsExitCode(t *testing.T) {
	result := func(g contract.Guarantee, s, expected checker.Status) checker.Result {
		return checker.Result{Guarantee: g, Status: s, Expected: expected}
	}
	failed := verdictOf()
	failed.Error = "the worker died\x1b[2J"
	refused := verdictOf()
	refused.Refused = []string{"an owner's calls overlap"}
	missed := verdictOf()
	missed.Missed = []string{"fault 1, restart, never struck"}
	disagree := verdictOf()
	disagree.Disagreement = "one says yes, the other no"
	foretold := func(g contract.Guarantee, by checker.RulingKind) *checker.Verdict {
		r := result(g, checker.Broken, checker.Broken)
		r.Violations = []checker.Violation{{Ruling: assumed}, {Ruling: checker.Ruling{Kind: by}}}
		return verdictOf(r)
	}
	plan := foretold(contract.Effect, checker.KnownLimitation)
	plan.Scenario = ""
	for _, c := range []struct {
		name string
		v    *checker.Verdict
		code int
		want Answer
	}{
		{"all hold", verdictOf(), 0, Answer{Good, "HOLDS", "every guarantee that the lock claims held"}},
		{"not claimed", verdictOf(result(contract.Fencing, checker.NotClaimed, "")), 0, Answer{Good, "HOLDS", "every guarantee that the lock claims held"}},
		{"one broken as expected", verdictOf(result(contract.Exclusion, checker.Broken, checker.Broken)), 0,
			Answer{Reproduced, "REPRODUCED", "exclusion is broken, as this scenario expects"}},
		{"two broken as expected", verdictOf(result(contract.Exclusion, checker.Broken, checker.Broken), result(contract.Watchdog, checker.Broken, checker.Broken)), 0,
			Answer{Reproduced, "REPRODUCED", "exclusion and watchdog are broken, as this scenario expects"}},
		{"broken", verdictOf(result(contract.Object, checker.Broken, checker.Holds)), 1,
			Answer{Bad, "UNEXPECTED", "object is broken (expected: holds)"}},
		{"holds where a break was expected", verdictOf(result(contract.Exclusion, checker.Holds, checker.Broken), result(contract.Object, checker.Broken, "")), 1,
			Answer{Bad, "UNEXPECTED", "object is broken; exclusion holds (expected: broken)"}},
		{"broken as expected, but by a defect", foretold(contract.Object, checker.Defect), 1,
			Answer{Bad, "UNEXPECTED", "object is broken by a defect of this lock"}},
		{"broken without a scenario, but by no defect", plan, 0,
			Answer{Reproduced, "REPRODUCED", "effect is broken, by nothing that the lock answers for"}},
		{"a fault that never struck", missed, 1, Answer{Bad, "UNEXPECTED", "fault 1, restart, never struck"}},
		{"the checkers disagree", disagree, 3, Answer{Bad, "THE CHECKERS DISAGREE", "one of them is wrong, which is a bug of the harness, not of the lock"}},
		{"never judged", verdictOf(result(contract.Object, "", checker.Holds), result(contract.Liveness, "", "")), 1,
			Answer{Bad, "UNEXPECTED", "object and liveness were never judged"}},
		{"undecided", verdictOf(result(contract.Object, checker.Undecided, checker.Holds)), 2,
			Answer{Unsure, "UNDECIDED", "object could not be decided"}},
		{"undecided and broken", verdictOf(result(contract.Object, checker.Undecided, checker.Holds), result(contract.Effect, checker.Broken, checker.Holds)), 1,
			Answer{Bad, "UNEXPECTED", "effect is broken (expected: holds)"}},
		{"harness error", failed, 255, Answer{Bad, "HARNESS ERROR", `the worker died\x1b[2J`}},
		{"refused", refused, 255, Answer{Bad, "NOT JUDGED", "the history does not meet the checkers' assumptions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.v.Code(); got != c.code {
				t.Fatalf("exit code %d, want %d", got, c.code)
			}
			if got := answer(c.v); got != c.want {
				t.Errorf("answer %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestToneOfResult(t *testing.T) {
	for _, c := range []struct {
		status, expected checker.Status
		want             Tone
		says             string
	}{
		{checker.Holds, checker.Holds, Good, ""},
		{checker.Holds, "", Good, ""},
		{checker.Holds, checker.Broken, Bad, "expected: broken"},
		{checker.Broken, checker.Broken, Reproduced, "as expected"},
		{checker.Broken, checker.Holds, Bad, "expected: holds"},
		{checker.Broken, "", Bad, "not expected"},
		{checker.Undecided, checker.Holds, Unsure, "expected: holds"},
		{checker.NotClaimed, "", Quiet, ""},
		{"", "", Bad, ""},
	} {
		r := checker.Result{Guarantee: contract.Object, Status: c.status, Expected: c.expected}
		if got := tone(r); got != c.want {
			t.Errorf("%q, expected %q: tone %q, want %q", c.status, c.expected, got, c.want)
		}
		if got := expectation(r); got != c.says {
			t.Errorf("%q, expected %q: says %q, want %q", c.status, c.expected, got, c.says)
		}
	}
}

// A semaphore is called one, in the answer and in the questions.
func TestASemaphoreIsCalledOne(t *testing.T) {
	v := verdictOf()
	v.Object = "semaphore"
	if got, want := answer(v).Text, "every guarantee that the semaphore claims held"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	page := pageOf(t, nil, v, HTMLOptions{})
	for _, want := range []string{"Did every answer of the semaphore fit a correct semaphore?", "Were more permits ever out at once than there are?", "semaphore report"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "the lock") {
		t.Error("the page of a semaphore speaks of the lock")
	}
}

func TestEveryGuaranteeHasItsQuestion(t *testing.T) {
	for _, g := range contract.Guarantees() {
		if question(g, "lock") == "" {
			t.Errorf("%s asks nothing", g)
		}
	}
}
