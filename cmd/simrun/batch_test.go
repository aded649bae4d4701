package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

func TestSeveralRunsLeaveOnePageAndItsExamples(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "-scenario", "all", "-runs", "2")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	_, file, ok := strings.Cut(lines[len(lines)-1], "report  ")
	if !ok {
		t.Fatalf("the last line does not say where the report is: %q", lines[len(lines)-1])
	}
	page, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`href="(\.\./[^"]+)"`).FindAllSubmatch(page, -1)
	if len(links) == 0 {
		t.Error("the page leads to no example")
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join(dir, filepath.Dir(file), string(l[1]))); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "simrun-out", "batch", "latest", "report.html")); err != nil {
		t.Error(err)
	}
}

// strayPlan is a plan that breaks exclusion: for every lock, so that none answers for it.
func strayPlan(t *testing.T, dir string) string {
	t.Helper()
	run(t, dir, "-scenario", "key-expiry")
	file := filepath.Join("simrun-out", "key-expiry", "latest", "plan.json")
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
	return file
}

// defective is a lock that answers for what it breaks: it lets in whoever asks.
const defective = "broken-acquire-anyway"

func TestMachinesReadWhatTheExitCodeSays(t *testing.T) {
	dir := t.TempDir()
	plan := strayPlan(t, dir)
	for _, tt := range []struct {
		name     string
		args     []string
		code     int
		tests    int
		failures int
		markdown string
	}{
		{"one as expected", []string{"-scenario", "watchdog-death"}, checker.ExitExpected, 1, 0, "**REPRODUCED**: exclusion, effect and watchdog are broken"},
		{"one that no lock answers for", []string{"-plan", plan}, checker.ExitExpected, 1, 0, "**REPRODUCED**: exclusion and effect are broken"},
		{"one that is not", []string{"-plan", plan, "-subject", defective}, checker.ExitUnexpected, 1, 1, "**UNEXPECTED**: object, exclusion and effect are broken"},
		{"many as expected", []string{"-scenario", "baseline", "-runs", "3", "-out", "none"}, checker.ExitExpected, 3, 0, "## AS EXPECTED: of 3 runs"},
		{"many that no lock answers for", []string{"-plan", plan, "-runs", "2", "-out", "none"}, checker.ExitExpected, 2, 0, "## AS EXPECTED: of 2 runs"},
		{"many that are not", []string{"-plan", plan, "-subject", defective, "-runs", "2", "-out", "none"}, checker.ExitUnexpected, 2, 2,
			"simrun -plan " + plan + " -subject " + defective + " -seed 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := run(t, dir, append(tt.args, "-junit", "junit.xml", "-markdown", "summary.md")...)
			if code != tt.code || stderr != "" {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			var suites struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
			}
			text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
			if err == nil {
				err = xml.Unmarshal(text, &suites)
			}
			if err != nil || suites.Tests != tt.tests || suites.Failures != tt.failures {
				t.Errorf("JUnit: %v, %+v", err, suites)
			}
			if text, err = os.ReadFile(filepath.Join(dir, "summary.md")); err != nil || !strings.Contains(string(text), tt.markdown) {
				t.Errorf("Markdown: %v\n%s", err, text)
			}
		})
	}
}

func TestWhatCannotBeWrittenLeavesTheVerdict(t *testing.T) {
	dir := t.TempDir()
	plain, _, _ := run(t, dir, "-scenario", "baseline", "-out", "none")
	for _, args := range [][]string{{"-junit", "no/such/folder.xml"}, {"-markdown", "."}} {
		stdout, stderr, code := run(t, dir, append([]string{"-scenario", "baseline", "-out", "none"}, args...)...)
		if code != checker.ExitHarness || stdout != plain || !strings.HasPrefix(stderr, "simrun: "+args[0]) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, stderr %q", args, code, stderr)
		}
	}
}

func TestJSONOnStandardOutputFitsTheSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(reports.VerdictSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("verdict.json", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("verdict.json")
	dir := t.TempDir()
	one, _, _ := run(t, dir, "-scenario", "watchdog-death", "-json")
	file, err := os.ReadFile(filepath.Join(dir, "simrun-out", "watchdog-death", "latest", "verdict.json"))
	if err != nil || one != string(file) {
		t.Errorf("what is printed is not verdict.json: %v", err)
	}
	many, _, _ := run(t, dir, "-scenario", "all", "-json", "-out", "none")
	texts := append(strings.Split(strings.TrimSpace(many), "\n"), one)
	if len(texts) < 7 {
		t.Errorf("%d verdicts", len(texts))
	}
	for _, text := range texts {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in %.100s", err, text)
		}
		if err := schema.Validate(doc); err != nil {
			t.Error(err)
		}
	}
}

// So many runs go on at once as are asked for, or as suit the processors.
func TestAnOrderSaysHowManyRunsGoOnAtOnce(t *testing.T) {
	n := runtime.NumCPU()
	for _, c := range []struct {
		args []string
		runs int
		want int
	}{
		{nil, 1000, n},
		{[]string{"-world", "redis"}, 1000, 4 * n},
		{[]string{"-world", "redis"}, 2, 2},
		{[]string{"-world", "redis", "-jobs", "1"}, 1000, 1},
		{[]string{"-jobs", "3"}, 1000, 3},
	} {
		o, err := parse(t.Context(), append([]string{"-scenario", "baseline"}, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(crewFor(o, c.runs).workers); got != c.want {
			t.Errorf("%q, %d runs: %d at once; want %d", c.args, c.runs, got, c.want)
		}
	}
}
