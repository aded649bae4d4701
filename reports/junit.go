package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

// JUnit writes a JUnit report: a test suite for each scenario and subject, a test case for each
// run. A violation that the scenario does not expect is a failure of type "violation", a run that
// could not be decided a failure of type "undecided", a failure of the harness an error, a run of
// which the lock claims nothing is skipped. What a case is therefore agrees with the exit code.
//
// There is no standard to write by: the elements are those on which the readers of such reports agree.
func JUnit(w io.Writer, b Batch) error {
	all := junitReport{Name: "simrun"}
	total := time.Duration(0)
	for i, g := range b.groups() {
		suite := junitSuite{ID: i, Name: junitName(g.Scenario) + " " + junitName(g.Subject)}
		wall := time.Duration(0)
		for _, s := range g.Runs {
			c := junitCaseOf(s)
			suite.Cases = append(suite.Cases, c)
			suite.count(junitCounts{Tests: 1, Errors: len(c.Errors), Failures: len(c.Failures), Skipped: len(c.Skipped)})
			wall += s.Wall
		}
		suite.Time = junitTime(wall)
		total += wall
		all.Suites = append(all.Suites, suite)
		all.count(suite.junitCounts)
	}
	all.Time = junitTime(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "\t")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitReport struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	ID   int    `xml:"id,attr"`
	Name string `xml:"name,attr"`
	Time string `xml:"time,attr"` // in seconds
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Errors   int `xml:"errors,attr"`
	Failures int `xml:"failures,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (c *junitCounts) count(more junitCounts) {
	c.Tests += more.Tests
	c.Errors += more.Errors
	c.Failures += more.Failures
	c.Skipped += more.Skipped
}

type junitCase struct {
	Name     string        `xml:"name,attr"`
	Class    string        `xml:"classname,attr"`
	Time     string        `xml:"time,attr"`
	Skipped  []junitResult `xml:"skipped"`
	Errors   []junitResult `xml:"error"`
	Failures []junitResult `xml:"failure"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

func junitCaseOf(s *Summary) junitCase {
	v := s.Verdict
	c := junitCase{
		Class: "simrun." + junitName(v.Scenario) + "." + junitName(v.Subject),
		Name:  fmt.Sprintf("seed %d", v.Seed),
		Time:  junitTime(s.Wall),
	}
	a := answer(v)
	switch v.Code() {
	case checker.ExitHarness, checker.ExitDisagree:
		c.Errors = []junitResult{{Type: "harness", Message: a.Text, Text: junitText(s)}}
	case checker.ExitUnexpected:
		c.Failures = []junitResult{{Type: "violation", Message: a.Text, Text: junitText(s)}}
	case checker.ExitUndecided:
		c.Failures = []junitResult{{Type: "undecided", Message: a.Text, Text: junitText(s)}}
	default:
		if claimsNothing(v) {
			c.Skipped = []junitResult{{Message: "the lock claims none of the guarantees"}}
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
		fmt.Fprintf(&b, "%12s  %-8s %s\n", checker.Stamp(m.At), name(m.Who), brief(flat(m.Text)))
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
