package reports

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page on reading names each answer that a report may give, each key, and each form of an address that the page understands.
func TestThePageOnReadingNamesWhatReportsHave(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../docs/reading.md")
	found := 0
	for from, pattern := range map[string]string{
		"answer.go":     `Answer\{\w+, "([A-Z ]+)"`,
		"web/page.tmpl": `<kbd>([^<]+)</kbd>`,
		"web/page.js":   `/\^(#t=|#view=|#m)`,
	} {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(from), -1) {
			if found++; !strings.Contains(page, "`"+m[1]) && !strings.Contains(page, "| "+m[1]+" |") {
				t.Errorf("docs/reading.md does not tell of %s, which %s has", m[1], from)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d things were looked for", found)
	}
}
