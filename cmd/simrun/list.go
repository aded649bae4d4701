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
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

// listOrder is what the user of simrun list asked for.
type listOrder struct{ verbose, markdown, json bool }

func listFlags(o *listOrder) *flag.FlagSet {
	f := newFlags("list")
	f.BoolVar(&o.verbose, "v", false, "with the stories")
	f.BoolVar(&o.markdown, "markdown", false, "the scenarios as a page: docs/scenarios.md")
	jsonFlag(f, &o.json, "all of them")
	return f
}

// list prints the registries.
func list(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var o listOrder
	f := listFlags(&o)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return helpOn(stdout, "list")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "list: %v", flagError(f, err))
	}
	if o.markdown {
		catalogue(stdout)
		return checker.ExitExpected
	}
	if f.NArg() > 0 {
		return fail(stderr, checker.ExitUsage, "list: stray argument %q", f.Arg(0))
	}
	if o.json {
		return printJSON(stdout, stderr, listAll())
	}
	say(stdout, "Scenarios\n")
	for _, s := range scenarios.Everything() {
		row(stdout, s.Name, s.Title, listed)
		if o.verbose {
			say(stdout, "%s\n", indent(s.Story, listed, 78-listed))
			say(stdout, "%s\n", indent("expected to break: "+expectations(s), listed, 78-listed))
			say(stdout, "%s\n\n", indent("source: "+s.Source, listed, 78-listed))
		}
	}
	say(stdout, "\nSubjects\n")
	for _, s := range subjects.Everything() {
		row(stdout, s.Name, s.About, listed)
	}
	say(stdout, "\nPorts with their defects, and other libraries (docs/matrix.md)\n")
	for _, s := range libraries.Unforetold() {
		row(stdout, s.Name, s.About, listed)
	}
	say(stdout, "\nLocks of other languages, whose workers are built when first asked for\n")
	for _, l := range workers.All() {
		row(stdout, l.Name, l.About+" ("+l.Version+")", listed)
	}
	say(stdout, "\nAny other\n")
	row(stdout, "exec:CMD", "a program that speaks the worker protocol (docs/worker.md)", listed)
	say(stdout, "\nFaults\n")
	for _, k := range fault.Kinds() {
		row(stdout, k.Name, k.About, listed)
	}
	return checker.ExitExpected
}

// listed is the column at which list tells about something.
const listed = 31

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
	for _, subject := range subjects.Everything() {
		if _, why := s.For(1, subject.Can); why != "" {
			continue // the story is of another object
		}
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
	return indentWords(strings.Fields(text), margin, width)
}

// indentWords is indent for words that may have spaces within, where no line ends.
func indentWords(words []string, margin, width int) string {
	var b strings.Builder
	line := 0
	for _, word := range words {
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
