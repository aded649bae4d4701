package goals_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker/goals"
)

var update = flag.Bool("update", false, "write the table of docs/goals.md anew")

const (
	page  = "../../docs/goals.md"
	begin = "<!-- generated from package checker/goals: go test ./checker/goals -update -->\n"
)

// table is the registry as docs/goals.md shows it.
func table() string {
	var b strings.Builder
	fmt.Fprint(&b, "\n| goal | what is reached | what the lock needs | unless it claims | by one of these effects |\n|---|---|---|---|---|\n")
	for _, g := range goals.All() {
		var unless, effects []string
		for _, c := range g.Unless {
			unless = append(unless, string(c))
		}
		for _, e := range g.Effects {
			effects = append(effects, string(e))
		}
		cell := func(words []string) string {
			if len(words) == 0 {
				return "–"
			}
			return strings.Join(words, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", g.Name, g.Means, cell(g.Needs), cell(unless), cell(slices.Compact(effects)))
	}
	return b.String()
}

func TestThePageShowsTheTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(begin))
	if !ok {
		t.Fatalf("%s does not have the line %q", page, begin)
	}
	want := table()
	if string(rest) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says; go test ./checker/goals -update writes it", page)
	}
	if err := os.WriteFile(page, append(append(head, begin...), want...), 0o666); err != nil {
		t.Fatal(err)
	}
}
