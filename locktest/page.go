package locktest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
)

// page writes a page and a table about all that was run, and returns the file of the page; "" if that was not the whole suite.
func (s *suite) page(again string) (string, error) {
	b := reports.Batch{Command: again}
	for _, t := range s.cases {
		switch {
		case !t.ran && t.why == "":
			return "", nil // go test -run has left it out: what there is tells more
		case !t.ran:
			continue
		}
		run := reports.Failed(t.name, s.subject.Name, s.seed, fmt.Sprint(t.err))
		if t.err == nil {
			run = reports.Summarize(t.history, t.verdict, false)
		}
		run.Report = t.report
		b.Runs = append(b.Runs, run)
	}
	if s.out == "" || len(b.Runs) == 0 {
		return "", nil
	}
	file, err := s.write(b)
	if err == nil {
		err = os.WriteFile(s.file("table.md"), []byte(s.table()), 0o666)
	}
	return file, err
}

// write writes a page about runs, and returns its file.
func (s *suite) write(b reports.Batch) (string, error) {
	var page bytes.Buffer
	if err := reports.BatchHTML(&page, b); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return "", err
	}
	return s.file("index.html"), os.WriteFile(s.file("index.html"), page.Bytes(), 0o666)
}

const tableHead = `A cell says

* ✓ it held; (✓) it did, but the faults of the plan touched nothing;
* *broken*: not by a defect of the lock; **broken**: by a defect, for which the lock answers;
* ?: a checker came to no answer; !: the run failed; –: not claimed, or not run.

`

// table is a row for each scenario and plan, and a column for each guarantee, in Markdown.
func (s *suite) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, seed %d\n\n%s| plan |", s.subject.Name, s.seed, tableHead)
	for _, g := range contract.Guarantees() {
		fmt.Fprintf(&b, " %s |", g)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(contract.Guarantees())))
	for _, t := range s.cases {
		fmt.Fprintf(&b, "| %s |", t.name)
		for _, g := range contract.Guarantees() {
			fmt.Fprintf(&b, " %s |", t.cell(g))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func (t *trial) cell(g contract.Guarantee) string {
	switch {
	case t.err != nil:
		return "!"
	case !t.ran:
		return "–"
	}
	switch r := t.verdict.Result(g); {
	case len(r.Defects()) > 0:
		return "**broken**"
	case r.Status == checker.Broken:
		return "*broken*"
	case r.Status == checker.Undecided:
		return "?"
	case r.Status != checker.Holds:
		return "–"
	}
	faults := t.history.Faults
	if len(faults) > 0 && !slices.ContainsFunc(faults, func(f history.Fault) bool { return !f.Missed && f.Hits > 0 }) {
		return "(✓)"
	}
	return "✓"
}
