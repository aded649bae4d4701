package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Each scenario and lock that did not pass is one line, whatever names and texts have in them; what passed is none.
func TestAnnotationsAreOneLineEach(t *testing.T) {
	_, good := watchdogDeath()
	bad := *good
	bad.Scenario, bad.Subject, bad.Explanation = "a:b,c", "100%", "first\nsecond 50%"
	bad.Results = slices.Clone(good.Results)
	for i := range bad.Results {
		if bad.Results[i].Status == checker.Broken {
			bad.Results[i].Expected = checker.Holds
		}
	}
	var b bytes.Buffer
	err := Annotations(&b, Batch{Runs: []Summary{{Verdict: good}, {Verdict: &bad, Command: "simrun x"}, {Verdict: &bad}}})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "::error title=a%3Ab%2Cc%2C 100%25%2C seed 1::in 2 of 2 runs: ") ||
		!strings.Contains(text, "%0Afirst%0Asecond 50%25%0Aagain: simrun x\n") {
		t.Errorf("%q", text)
	}
}
