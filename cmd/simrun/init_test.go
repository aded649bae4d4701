package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-sim/holdfast/checker"
)

// What init writes is good as it is: the plan runs, and tells the story that it says it tells.
func TestTheStarterPlanRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if stdout, stderr, code := run(t, dir, "init", "plan"); code != checker.ExitExpected || stderr != "" || stdout != "plan.json is written: simrun -plan plan.json runs it (docs/plans.md)\n" {
		t.Fatalf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	stdout, stderr, code := run(t, dir, "-plan", "plan.json")
	if code != checker.ExitExpected || stderr != "" || !strings.Contains(stdout, "c1:1 and c2:1 both believed that they held order:42") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// The skeleton passes go vet and go test in a module of its own, and the workflow's commands run there.
func TestTheStarterTestAndWorkflowWork(t *testing.T) {
	t.Parallel()
	dir := module(t)
	if err := os.RemoveAll(filepath.Join(dir, "locks")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "locks/locks.go", "package mine\n")
	for _, args := range []string{"init locktest -out locks/lock_test.go", "init workflow"} {
		if _, stderr, code := run(t, dir, strings.Fields(args)...); code != checker.ExitExpected {
			t.Fatalf("%s: exit code %d: %s", args, code, stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "locks/lock_test.go")); err != nil || !strings.HasPrefix(string(text), "package mine_test\n") {
		t.Errorf("%v %.40s", err, text)
	}
	step(t, dir, "vet", "go vet ./... && test -z \"$(gofmt -l locks)\"")
	text, err := os.ReadFile(filepath.Join(dir, ".github/workflows/locks.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Name string
		On   []string
		Jobs map[string]struct {
			RunsOn   string                       `yaml:"runs-on"`
			Defaults map[string]map[string]string `yaml:"defaults"`
			Steps    []map[string]any             `yaml:"steps"`
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&workflow); err != nil {
		t.Fatalf("the workflow is no YAML: %v", err)
	}
	ran := 0
	for _, s := range workflow.Jobs["locks"].Steps {
		if script, ok := s["run"].(string); ok {
			step(t, dir, s["name"].(string), script)
			ran++
		}
	}
	if ran != 2 || len(workflow.Jobs) != 1 || len(workflow.On) != 2 {
		t.Errorf("%d commands of %+v", ran, workflow)
	}
	step(t, dir, "a page is kept", "find reports -name index.html | grep .")
	if summary, err := os.ReadFile(filepath.Join(dir, "summary.md")); err != nil || !strings.Contains(string(summary), "watchdog-death") {
		t.Errorf("the summary: %v %s", err, summary)
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "plan.json", "mine")
	if err := os.Symlink("nowhere", filepath.Join(dir, "lock_test.go")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"init":                         "say what to write, one of: plan, locktest, workflow",
		"init plan workflow":           "say what to write",
		"init paln":                    "did you mean plan?",
		"init plan":                    "plan.json is there already, and stays as it is",
		"init locktest":                "lock_test.go is there already",
		"init plan -out plan.json":     "plan.json is there already",
		"init plan -out plan.json/new": "not a directory",
		"init plan -otu x":             "did you mean -out?",
	} {
		if stdout, stderr, code := run(t, dir, strings.Fields(args)...); code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "plan.json")); err != nil || string(text) != "mine" {
		t.Errorf("%v %q", err, text)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left are %v", left)
	}
}
