package contract_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
)

var update = flag.Bool("update", false, "write the tables of docs/guarantees.md anew")

const (
	page  = "../docs/guarantees.md"
	begin = "<!-- generated from package contract: go test ./contract -update -->\n"
)

// tables are the registries as docs/guarantees.md shows them.
func tables() string {
	var b strings.Builder
	list := func(all []string) string {
		if len(all) == 0 {
			return "–"
		}
		return strings.Join(all, ", ")
	}
	fmt.Fprint(&b, "\n## Claims\n\n| claim | what the lock promises | who asks |\n|---|---|---|\n")
	for _, p := range contract.Promises() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Claim, p.Means, p.Asked)
	}
	fmt.Fprint(&b, "\n## Rules\n\nA rule is a sentence that a history keeps or breaks.\n")
	for _, g := range contract.Guarantees() {
		fmt.Fprintf(&b, "\n### `%s`\n\n| rule | what it cannot see |\n|---|---|\n", g)
		for _, r := range contract.Rules() {
			if r.Guarantee == g {
				fmt.Fprintf(&b, "| %s | %s |\n", r.Rule, list(slices.DeleteFunc([]string{r.Blind}, func(s string) bool { return s == "" })))
			}
		}
	}
	fmt.Fprint(&b, "\n## Exemptions\n\nThe rows are tried in this order. The first that fits is the ruling; a violation that none fits is a defect.\n\n"+
		"| row | of | cause | by one of these effects | what the effect touched | a claim that takes it away | source |\n|---|---|---|---|---|---|---|\n")
	for _, e := range contract.Exemptions() {
		var of, classes, effects []string
		for _, g := range e.Guarantees {
			of = append(of, string(g))
		}
		what := list(of)
		if len(e.Rules) > 0 {
			var rules []string
			for _, r := range e.Rules {
				rules = append(rules, string(r))
			}
			what += ": " + strings.Join(rules, "; ")
		}
		for _, c := range e.Classes {
			classes = append(classes, string(c))
		}
		for _, x := range e.Effects {
			effects = append(effects, string(x))
		}
		unless := "–"
		if e.Unless != "" {
			unless = "`" + string(e.Unless) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", e.Name, what, list(classes), list(effects), e.Touched, unless, e.Source)
	}
	return b.String()
}

func TestThePageShowsTheTables(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(begin))
	if !ok {
		t.Fatalf("%s does not have the line %q", page, begin)
	}
	want := tables()
	if string(rest) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the tables say; go test ./contract -update writes it", page)
	}
	if err := os.WriteFile(page, append(append(head, begin...), want...), 0o666); err != nil {
		t.Fatal(err)
	}
}
