package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/holdfast-sim/holdfast/checker"
)

// JUnit writes a JUnit report: a test suite for each scenario and subject, a test case for each
// run. A violation that the scenario does not expect is a failure of type "violation", a run that
// could not be decided a failure of type "undecided", a failure of the harness an error, a run of
// which the lock claims nothing is skipped. What a case is therefore agrees with the exit code.
//
// The elements are those of package junit of go-junit-report, which most Go projects' CI reads
// already; there is no standard to write by.
func JUnit(w io.Writer, b Batch) error {
	all := junit.Testsuites{Name: "simrun"}
	total := time.Duration(0)
	for i, g := range b.groups() {
		suite := junit.Testsuite{ID: i, Name: junitName(g.Scenario) + " " + junitName(g.Subject)}
		wall := time.Duration(0)
		for _, s := range g.Runs {
			suite.AddTestcase(junitCase(s))
			wall += s.Wall
		}
		suite.Time = junitTime(wall)
		total += wall
		all.AddSuite(suite)
	}
	all.Time = junitTime(total)
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"); err != nil {
		return err
	}
	return all.WriteXML(w)
}

func junitCase(s *Summary) junit.Testcase {
	v := s.Verdict
	c := junit.Testcase{
		Classname: "simrun." + junitName(v.Scenario) + "." + junitName(v.Subject),
		Name:      fmt.Sprintf("seed %d", v.Seed),
		Time:      junitTime(s.Wall),
	}
	a := answer(v)
	switch v.Code() {
	case checker.ExitHarness, checker.ExitDisagree:
		c.Error = &junit.Result{Type: "harness", Message: a.Text, Data: junitText(s)}
	case checker.ExitUnexpected:
		c.Failure = &junit.Result{Type: "violation", Message: a.Text, Data: junitText(s)}
	case checker.ExitUndecided:
		c.Failure = &junit.Result{Type: "undecided", Message: a.Text, Data: junitText(s)}
	default:
		if claimsNothing(v) {
			c.Skipped = &junit.Result{Message: "the lock claims none of the guarantees"}
		}
	}
	return c
}

func claimsNothing(v *checker.Verdict) bool {
	for _, r := range v.Results {
		if r.Status != checker.NotClaimed {
			return false
		}
	}
	return true
}

// junitText is what a person needs who reads of a failure in a CI's web page.
func junitText(s *Summary) string {
	var b strings.Builder
	for _, r := range s.Verdict.Refused {
		fmt.Fprintln(&b, Visible(r))
	}
	if d := s.Verdict.Disagreement; d != "" {
		fmt.Fprintln(&b, Visible(d))
	}
	for _, r := range s.Verdict.Results {
		for _, who := range rulings(r) {
			fmt.Fprintf(&b, "%s: %s\n", r.Guarantee, who)
		}
	}
	if s.Verdict.Explanation != "" {
		fmt.Fprintln(&b, VisibleLines(s.Verdict.Explanation))
	}
	moments, _ := weightiest(s.Verdict.Story, storyLines)
	for _, m := range moments {
		fmt.Fprintf(&b, "%12s  %-8s %s\n", checker.Stamp(m.At), name(m.Who), brief(Visible(m.Text)))
	}
	if s.Command != "" {
		fmt.Fprintf(&b, "again: %s\n", Visible(s.Command))
	}
	return b.String()
}

// junitName is a name that may be empty, as of a plan without one.
func junitName(s string) string {
	if s == "" {
		return "plan"
	}
	return name(s)
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
