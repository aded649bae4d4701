package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// readMan reads a page back: its macros, and its text as a reader sees it.
func readMan(t *testing.T, page []byte) (macros []string, lines []string) {
	t.Helper()
	reads := strings.NewReplacer(`\e`, `\`, `\-`, "-", `\(aq`, "'", `\(ga`, "`", `\(ti`, "~", `\(ha`, "^", `\(dq`, `"`, `\&`, "")
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "."):
			name, args, _ := strings.Cut(line[1:], " ")
			if strings.Count(args, `"`)%2 != 0 || strings.Contains(args, `""`) && name != "TH" {
				t.Errorf("a macro with other quotes: %s", line)
			}
			macros = append(macros, name)
			if args != "" {
				lines = append(lines, reads.Replace(strings.Trim(args, `"`)))
			}
		case strings.HasPrefix(line, "'"), line == "" && !slices.Contains(macros, "nf"):
			t.Errorf("troff takes a line for something else: %q", line)
		default:
			lines = append(lines, reads.Replace(line))
		}
	}
	return macros, lines
}

// There is a page for each command, with all that its help says.
func TestEachCommandHasAPageForMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share", "man1")
	said(t, "man", dir)
	before, err := os.ReadFile(filepath.Join(dir, "simrun.1"))
	if err != nil {
		t.Fatal(err)
	}
	said(t, "man", dir)
	if after, err := os.ReadFile(filepath.Join(dir, "simrun.1")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the second time the page is another, %v", err)
	}
	for _, v := range verbs() {
		name := "simrun.1"
		if v.name != "" {
			name = "simrun-" + v.name + ".1"
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		macros, lines := readMan(t, text)
		for _, m := range macros {
			if !slices.Contains([]string{"TH", "SH", "TP", "B", "nf", "fi", "nh", "ad"}, m) {
				t.Errorf("%s: macro %s", name, m)
			}
		}
		has := func(line string) {
			if !slices.Contains(lines, line) {
				t.Errorf("%s lacks %q", name, line)
			}
		}
		has(v.line())
		has(strings.TrimSuffix(name, ".1") + " - " + v.about)
		for _, e := range v.examples {
			has("simrun " + e.line)
			has(e.does)
		}
		for _, c := range v.codes() {
			has(c.means)
		}
		if v.flags == nil {
			continue
		}
		v.flags().VisitAll(func(f *flag.Flag) {
			flagName, about := flagText(f)
			has(flagName)
			has(about)
		})
	}
	if left, _ := os.ReadDir(dir); len(left) != len(verbs()) {
		t.Errorf("%d files for %d commands", len(left), len(verbs()))
	}
}

func TestWhatMeansSomethingToTroffIsSpelled(t *testing.T) {
	for text, want := range map[string]string{
		".TH":        `\&.TH`,
		"'x' ~/a-b":  `\(aqx\(aq \(ti/a\-b`,
		`a \fB b^`:   `a \efB b\(ha`,
		"`simrun` .": "\\(gasimrun\\(ga .",
	} {
		if got := roff(text); got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

func TestManSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "")
	for args, want := range map[string]string{
		"man":        "say which folder: simrun man DIR",
		"man a b":    "say which folder",
		"man -x":     `unknown flag "-x": there are -json`,
		"man file":   "file: not a directory",
		"man file/m": "not a directory",
	} {
		if stdout, stderr, code := run(t, dir, strings.Fields(args)...); code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
