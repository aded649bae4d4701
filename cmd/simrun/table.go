package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// matrix prints one table of many runs: for each scenario and guarantee, the subjects for which it
// broke, as letters, with an exclamation mark where that was not expected, or was and did not happen.
func matrix(w io.Writer, runs []reports.Summary) {
	var rows, columns []string // scenarios, subjects
	broke, stray := map[[3]string]bool{}, map[[3]string]bool{}
	for _, r := range runs {
		v := r.Verdict
		if !slices.Contains(rows, v.Scenario) {
			rows = append(rows, v.Scenario)
		}
		if !slices.Contains(columns, v.Subject) {
			columns = append(columns, v.Subject)
		}
		for _, g := range contract.Guarantees() {
			key, one := [3]string{v.Scenario, v.Subject, string(g)}, v.Result(g)
			broke[key] = broke[key] || one.Status == checker.Broken
			stray[key] = stray[key] || !one.AsExpected()
		}
	}
	say(w, "\n%-28s", "broken")
	for _, g := range contract.Guarantees() {
		say(w, " %-10s", g)
	}
	say(w, "\n")
	for _, row := range rows {
		line := fmt.Sprintf("%-28s", row)
		for _, g := range contract.Guarantees() {
			cell := ""
			for i, column := range columns {
				key := [3]string{row, column, string(g)}
				if broke[key] || stray[key] {
					cell += string(rune('A' + i))
				}
				if stray[key] {
					cell += "!"
				}
			}
			line += fmt.Sprintf(" %-10s", cell)
		}
		say(w, "%s\n", strings.TrimRight(line, " "))
	}
	for i, column := range columns {
		say(w, "%c: %s  ", 'A'+i, column)
	}
	say(w, "\n")
}

// covered prints how faults struck, and how none did that could.
func covered(w io.Writer, c fault.Coverage, verbose bool) {
	if len(c) == 0 {
		return
	}
	times := struck(c, w, verbose)
	can, never := fault.Reachable(), c.Missing()
	say(w, "faults struck %d %s, in %d ways (kind, step, outcome); of the %d that the catalogue has to reach, %d were not reached\n",
		times, plural("time", times), len(c), len(can), len(never))
	if !verbose {
		return
	}
	for _, n := range never {
		say(w, "  never: %s on %s, outcome %s\n", n.Kind, n.On, n.Outcome)
	}
}

// struck counts how often faults struck, and prints how.
func struck(c fault.Coverage, w io.Writer, verbose bool) (times int) {
	for _, n := range c.Counts() {
		if times += n.Times; verbose {
			say(w, "  %-18s %-32s %-12s %d\n", n.Kind, n.On, n.Outcome, n.Times)
		}
	}
	return times
}
