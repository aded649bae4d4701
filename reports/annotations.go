package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
)

// Annotations writes a line for each scenario and lock of which a run did not pass, as GitHub makes annotations of them. The
// first such run speaks for the others. GitHub shows the first ten of a step.
func Annotations(w io.Writer, b Batch) error {
	for _, g := range b.groups() {
		var first *Summary
		failed := 0
		for _, s := range g.Runs {
			if s.Verdict.Code() == checker.ExitExpected {
				continue
			}
			if failed++; first == nil {
				first = s
			}
		}
		if first == nil {
			continue
		}
		title := fmt.Sprintf("%s, %s, seed %d", junitName(g.Scenario), junitName(g.Subject), first.Verdict.Seed)
		text := answer(first.Verdict).Text
		if len(g.Runs) > 1 {
			text = fmt.Sprintf("in %s of %s: %s", Thousands(failed), count(len(g.Runs), "run", "runs"), text)
		}
		if e := first.Verdict.Explanation; e != "" {
			text += "\n" + VisibleLines(e)
		}
		if first.Command != "" {
			text += "\nagain: " + Visible(first.Command)
		}
		if _, err := fmt.Fprintf(w, "::error title=%s::%s\n", inTitle.Replace(title), inText.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

// What GitHub reads as the end of a line, or of a title, is spelt for it.
var (
	inText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inTitle = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
