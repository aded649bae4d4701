package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// list prints the registries.
func list(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("simrun list", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	verbose := f.Bool("v", false, "with the stories")
	markdown := f.Bool("markdown", false, "the scenarios as a page: docs/scenarios.md")
	matrix := f.Bool("matrix", false, "every scenario with every library, run and judged, as a page: docs/matrix.md")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		usage(stdout)
		return checker.ExitExpected
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "list: %v", flagError(f, err))
	}
	if *markdown {
		catalogue(stdout)
		return checker.ExitExpected
	}
	if *matrix {
		if err := libraryPage(ctx, stdout); ctx.Err() != nil {
			return interrupted(ctx, stderr, checker.ExitExpected, "list: interrupted; a part of the page is of no use")
		} else if err != nil {
			return fail(stderr, checker.ExitHarness, "list: %v", err)
		}
		return checker.ExitExpected
	}
	if f.NArg() > 0 {
		return fail(stderr, checker.ExitUsage, "list: stray argument %q", f.Arg(0))
	}
	say(stdout, "Scenarios\n")
	for _, s := range scenarios.All() {
		say(stdout, "  %-22s %s\n", s.Name, s.Title)
		if *verbose {
			say(stdout, "%s\n", indent(s.Story, 25, 75))
			say(stdout, "%25sexpected to break: %s\n", "", expectations(s))
			say(stdout, "%25ssource: %s\n\n", "", s.Source)
		}
	}
	say(stdout, "\nSubjects\n")
	for _, s := range subjects.All() {
		say(stdout, "  %-22s %s\n", s.Name, s.About)
	}
	say(stdout, "\nOther libraries (docs/matrix.md)\n")
	for _, s := range libraries.All() {
		say(stdout, "  %-22s %s\n", s.Name, s.About)
	}
	say(stdout, "\nAny other\n  %-22s %s\n", "exec:CMD", "a program that speaks the worker protocol (docs/worker.md), in a world of real time")
	say(stdout, "\nFaults\n")
	for _, k := range fault.Kinds() {
		say(stdout, "  %-22s %s\n", k.Name, k.About)
	}
	return checker.ExitExpected
}

// words are the names of guarantees.
func words(all []contract.Guarantee) []string {
	var names []string
	for _, g := range all {
		names = append(names, string(g))
	}
	return names
}

// expectations says what breaks for whom, subjects that agree together.
func expectations(s scenarios.Scenario) string {
	var groups []string
	who := map[string][]string{}
	for _, subject := range subjects.All() {
		what := strings.Join(words(s.Breaks(subject.Can)), ", ")
		if what == "" {
			what = "nothing"
		}
		if who[what] == nil {
			groups = append(groups, what)
		}
		who[what] = append(who[what], subject.Name)
	}
	if len(groups) == 1 {
		return groups[0]
	}
	for i, what := range groups {
		groups[i] = what + " (" + strings.Join(who[what], ", ") + ")"
	}
	return strings.Join(groups, "; ")
}

// indent wraps text at width columns behind a margin.
func indent(text string, margin, width int) string {
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		switch {
		case line == 0:
			b.WriteString(strings.Repeat(" ", margin))
		case line+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", margin))
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
