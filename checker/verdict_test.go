package checker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func TestVerdictSurvivesJSON(t *testing.T) {
	v := Judge(context.Background(), watchdogDeath().done(), Options{Expect: Expectation{contract.Exclusion: Broken}})
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back Verdict
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*v, back) {
		t.Errorf("wrote %+v\nread  %+v", *v, back)
	}
}

func TestStatusThatNobodySetIsAFailure(t *testing.T) {
	var none Status
	if none.Valid() {
		t.Error("the zero status is valid")
	}
	for _, r := range []Result{{}, {Expected: Holds}, {Expected: Broken}} {
		if r.AsExpected() {
			t.Errorf("%+v is as expected", r)
		}
	}
	v := Verdict{}
	if v.Code() != ExitUnexpected {
		t.Errorf("a verdict without results exits %d", v.Code())
	}
	// One guarantee that was never judged spoils the others.
	for _, g := range contract.Guarantees()[1:] {
		v.Results = append(v.Results, Result{Guarantee: g, Status: Holds})
	}
	if v.Code() != ExitUnexpected {
		t.Errorf("a verdict that lacks %s exits %d", contract.Guarantees()[0], v.Code())
	}
}

func TestEveryGuaranteeHasItsJudge(t *testing.T) {
	all := judges()
	for _, g := range contract.Guarantees() {
		if all[g] == nil {
			t.Errorf("nobody judges %s", g)
		}
	}
	if len(all) != len(contract.Guarantees()) {
		t.Errorf("%d judges for %d guarantees", len(all), len(contract.Guarantees()))
	}
}

func TestExpectations(t *testing.T) {
	expect := Expectation{contract.Exclusion: Broken, contract.Effect: Broken, contract.Watchdog: Broken}
	for _, tt := range []struct {
		name   string
		script *script
		expect Expectation
		code   int
	}{
		{"reproduced", watchdogDeath(), expect, ExitExpected},
		{"not expected", watchdogDeath(), nil, ExitUnexpected},
		{"expected, but it held", baseline(), expect, ExitUnexpected},
		{"nothing expected, nothing broke", baseline(), nil, ExitExpected},
	} {
		if v := Judge(context.Background(), tt.script.done(), Options{Expect: tt.expect}); v.Code() != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.name, v.Code(), tt.code)
		}
	}
}

func TestHistoriesThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(h *history.History)
		says  string
	}{
		{"two operations of one id", func(h *history.History) { h.Ops[1].ID = h.Ops[0].ID }, "same id"},
		{"unknown operation", func(h *history.History) { h.Ops[0].Kind = "borrow" }, `unknown operation "borrow"`},
		{"no owner", func(h *history.History) { h.Ops[0].Owner = "" }, "without an owner"},
		{"returned before its call", func(h *history.History) { h.Ops[3].Return = h.Ops[3].Call - 1 }, "before it was called"},
		{"an outcome that it cannot have", func(h *history.History) { h.Ops[0].Outcome = history.Released }, `cannot end "released"`},
		{"executed before its call", func(h *history.History) { h.Ops[3].Executed = h.Ops[3].Call - 1 }, "executed at"},
		{"an answer that it cannot have", func(h *history.History) { h.Ops[0].Answer = "" }, "cannot answer"},
		{"two calls of one owner at once", func(h *history.History) { h.Ops[0].Return = at(24.5) }, "was not finished"},
		{"a call after one that never returned", func(h *history.History) { h.Ops[0].Return = 0 }, "was not finished"},
		{"a server log that runs backwards", func(h *history.History) {
			h.Served = []history.Served{{At: at(2), Client: "c1"}, {At: at(1), Client: "c2"}}
		}, "runs backwards"},
	} {
		h := baseline().done()
		tt.spoil(h)
		v := Judge(context.Background(), h, Options{})
		if len(v.Refused) == 0 || !strings.Contains(v.Refused[0], tt.says) {
			t.Errorf("%s: refused with %q", tt.name, v.Refused)
			continue
		}
		if v.Code() != ExitHarness || v.Explanation == "" {
			t.Errorf("%s: exit code %d, %q", tt.name, v.Code(), v.Explanation)
		}
		for _, g := range contract.Guarantees() {
			if v.Result(g).Status != Undecided {
				t.Errorf("%s: %s is %s", tt.name, g, v.Result(g).Status)
			}
		}
	}
}

// A run of many ordinary holds and a few things that matter keeps those that matter.
func TestStoryIsShortAndKeepsWhatMatters(t *testing.T) {
	s := watchdogDeath()
	s.h.End.At = at(1000)
	for i := range 200 {
		from := 100 + 3*float64(i)
		owner := fmt.Sprintf("c%d:1", 3+i%5)
		s.take(owner, at(from), at(from+0.1), 0)
		s.unlock(owner, at(from+1), history.Released)
	}
	v := verdict(t, s)
	want(t, v, contract.Exclusion, contract.Effect, contract.Watchdog)
	if len(v.Story) != maxMoments {
		t.Errorf("%d moments", len(v.Story))
	}
	weights := map[Weight]int{}
	for i, m := range v.Story {
		weights[m.Weight]++
		if i > 0 && m.At < v.Story[i-1].At {
			t.Errorf("%q at %s comes after %s", m.Text, Stamp(m.At), Stamp(v.Story[i-1].At))
		}
		if m.Text == "" || m.Who == "" {
			t.Errorf("empty moment at %s", Stamp(m.At))
		}
	}
	// Two ends of the overlap, the lost update, the renewal that did not come; the fault; expiry,
	// grant under the holder, refusal.
	if weights[Breaking] != 4 || weights[Faulty] != 1 || weights[Key] != 3 {
		t.Errorf("weights %v", weights)
	}
}

func TestExplanationNamesTheDefect(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(1), 0)
	s.unlock("c2:1", at(2), history.Released)
	s.take("c3:1", at(2), at(3), 0)
	s.unlock("c3:1", at(4), history.Released)
	s.unlock("c1:1", at(5), history.NotHeld)
	want := "Exclusion broke: c1:1 and c3:1 both believed that they held order:42 from 3.000 s to 4.000 s, for 1 s. " +
		"The unlock of c2:1, which did not hold order:42, ended the hold of c1:1 at 2.001 s. That is a defect of this lock. " +
		"Object broke: order:42: unlock by c2:1 answered released, but the lock is held by c1:1. " +
		"No fault acted at the time of the call: the lock answered so by itself. That is a defect of this lock."
	if v := verdict(t, s); v.Explanation != want {
		t.Errorf("got  %s\nwant %s", v.Explanation, want)
	}
}

func TestPicture(t *testing.T) {
	var page bytes.Buffer
	h := watchdogDeath().done()
	h.Ops[0].Owner = "<script>"
	if err := Picture(&page, h, job, DefaultBudget); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); !strings.Contains(text, "unlock(c1:1) → notHeld") || strings.Contains(text, "lock(<script>)") {
		t.Error("the page lacks a call, or does not escape names")
	}
	if err := Picture(&page, h, "order:43", DefaultBudget); !errors.Is(err, ErrNoSuchLock) {
		t.Errorf("no such lock: %v", err)
	}
	s := newScript()
	for i := range linear.MaxConcurrent + 1 {
		s.op(fmt.Sprintf("c%d:1", i), history.TryLock, at(1), at(2), history.Busy)
	}
	if err := Picture(&page, s.done(), job, DefaultBudget); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}
