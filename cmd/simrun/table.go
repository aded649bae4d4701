package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// matrix prints one table of many runs: for each scenario and guarantee, the subjects for which it
// broke, as letters, with an exclamation mark where that was not expected, or was and did not happen. It has no column for
// what broke nowhere.
func matrix(w io.Writer, runs []reports.Summary) {
	var rows, columns []string // scenarios, subjects
	broke, stray, told := map[[3]string]bool{}, map[[3]string]bool{}, map[contract.Guarantee]bool{}
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
			told[g] = told[g] || broke[key] || stray[key]
		}
	}
	guarantees := slices.DeleteFunc(contract.Guarantees(), func(g contract.Guarantee) bool { return !told[g] })
	if len(guarantees) == 0 {
		return
	}
	table := [][]string{{"broken"}}
	for _, g := range guarantees {
		table[0] = append(table[0], string(g))
	}
	for _, row := range rows {
		line := []string{row}
		for _, g := range guarantees {
			cell := ""
			for i, column := range columns {
				key := [3]string{row, column, string(g)}
				if broke[key] || stray[key] {
					cell += string(letter(i))
				}
				if stray[key] {
					cell += "!"
				}
			}
			line = append(line, cell)
		}
		table = append(table, line)
	}
	say(w, "\n")
	aligned(w, table)
	var key []string
	for i, column := range columns {
		key = append(key, fmt.Sprintf("%c: %s ", letter(i), column))
	}
	for line := range strings.Lines(indentWords(key, 0, wide) + "\n") {
		say(w, "%s\n", strings.TrimRight(line, " \n"))
	}
}

// letter stands for a lock of a batch: A to Z, a to z, and what comes after that.
func letter(i int) rune {
	if i < 26 {
		return 'A' + rune(i)
	}
	if i < 52 {
		return 'a' + rune(i-26)
	}
	return 'α' + rune(i-52)
}

// aligned prints a table with columns as wide as they must be.
func aligned(w io.Writer, table [][]string) {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range table {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s ", widths[i], cell)
		}
		say(w, "%s\n", strings.TrimRight(line, " "))
	}
}

// covered prints how faults struck, and how none did that could.
func covered(w io.Writer, c fault.Coverage, verbose bool) {
	if len(c) == 0 {
		return
	}
	times := struck(c, w, verbose)
	can, never := fault.Reachable(), c.Missing()
	text := fmt.Sprintf("faults struck %s %s, in %s %s (kind, step, outcome); of the %d that the catalogue has to reach, %d %s not reached",
		reports.Thousands(times), plural("time", times), reports.Thousands(len(c)), plural("way", len(c)), len(can), len(never), wereOf(len(never)))
	say(w, "%s\n", indent(text, 0, wide))
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

func wereOf(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
