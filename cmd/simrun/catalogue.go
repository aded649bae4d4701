package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/subjects"
)

const catalogueHead = `# The scenarios

<!-- Made by "simrun list -markdown" from the registry; a test keeps it current. Do not edit. -->

Each scenario is a story: who holds, what fails, when, and which guarantees break for which lock. Run one
with "simrun -scenario NAME", all with "simrun -scenario all -subject all". The exit code is 0 if everything
ended as the table says, broken guarantees that are expected to break included.

`

const coverageHead = `
## Fault coverage

What the scenarios together reach, which a test demands: on which steps of the protocol each kind strikes, and in brackets
what the call is told that it strikes there; "none" where it strikes no call, as at a time, or on a renewal or a subscription.
What is missing cannot be: a call whose message comes twice or is overtaken is answered all the same, one that the server
refuses knows that it has failed, and a request that is refused or slow has no reply to strike. Kinds
that strike no message strike at a time; tied to a step by "when" they do the same. "simrun -scenario all -v" counts what
a batch reached.

| kind | steps (outcomes) |
|---|---|
`

// catalogue writes docs/scenarios.md.
func catalogue(w io.Writer) {
	fmt.Fprint(w, catalogueHead)
	for i, is := range history.Objects() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "## Of %s\n\n", is.Plural())
		catalogueTable(w, scenarios.Of(is), subjects.Of(is))
	}
	catalogueStories(w)
}

// catalogueTable is the overview of the stories of one kind of object.
func catalogueTable(w io.Writer, stories []scenarios.Scenario, objects []subjects.Subject) {
	for i, s := range objects {
		fmt.Fprintf(w, "* **%c** is %s: %s\n", 'A'+i, s.Name, s.About)
	}
	fmt.Fprint(w, "\nA letter in the table: there the guarantee is expected to break.\n\n| scenario |")
	for _, g := range contract.Guarantees() {
		fmt.Fprintf(w, " %s |", g)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(contract.Guarantees())))
	for _, s := range stories {
		fmt.Fprintf(w, "| [%s](#%s) |", s.Name, s.Name)
		for _, g := range contract.Guarantees() {
			fmt.Fprintf(w, " %s |", letters(s, g, objects))
		}
		fmt.Fprintln(w)
	}
}

// catalogueStories tells them all, and of what faults there are.
func catalogueStories(w io.Writer) {
	for _, s := range scenarios.Everything() {
		fmt.Fprintf(w, "\n## %s\n\n*%s*\n\n%s\n\n", s.Name, s.Title, indent(s.Story, 0, 100))
		var kinds []string
		for _, f := range s.Plan(1).Faults {
			if !slices.Contains(kinds, f.Kind) {
				kinds = append(kinds, f.Kind)
			}
		}
		if kinds != nil {
			fmt.Fprintf(w, "Faults: %s.\n", strings.Join(kinds, ", "))
		}
		fmt.Fprintf(w, "Expected to break: %s.\nSource: %s.\n", expectations(s), strings.TrimSuffix(s.Source, "."))
	}
	fmt.Fprint(w, "\n## Kinds of faults\n\nWhat a plan can name; [plans.md](plans.md) says how.\n\n| kind | what it does |\n|---|---|\n")
	for _, k := range fault.Kinds() {
		fmt.Fprintf(w, "| %s | %s |\n", k.Name, k.About)
	}
	fmt.Fprint(w, coverageHead)
	for _, k := range fault.Kinds() {
		var steps []string
		outcomes := map[string][]string{}
		for _, c := range fault.Reachable() {
			if c.Kind != k.Name {
				continue
			}
			if outcomes[c.On] == nil {
				steps = append(steps, c.On)
			}
			outcomes[c.On] = append(outcomes[c.On], c.Outcome)
		}
		for i, on := range steps {
			steps[i] = fmt.Sprintf("%s (%s)", on, strings.Join(outcomes[on], ", "))
		}
		fmt.Fprintf(w, "| %s | %s |\n", k.Name, strings.Join(steps, "; "))
	}
}

// letters names the subjects for which a guarantee is expected to break.
func letters(s scenarios.Scenario, guarantee contract.Guarantee, objects []subjects.Subject) string {
	var text []byte
	for i, subject := range objects {
		if slices.Contains(s.Breaks(subject.Can), guarantee) {
			text = append(text, byte('A'+i))
		}
	}
	return string(text)
}
