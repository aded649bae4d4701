package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// actionStep returns the commands of a step of action.yml.
func actionStep(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, step, _ := strings.Cut(string(text), "- name: "+name+"\n")
	step, _, _ = strings.Cut(step, "\n    - ")
	_, script, ok := strings.Cut(step, "run: |\n")
	if !ok {
		t.Fatalf("action.yml has no step %q with commands", name)
	}
	return script
}

// The action runs what it was asked to, keeps the reports, tells of them in the summary, marks what is wrong, and ends as
// simrun does. What stands in its input is not executed.
func TestTheActionRunsSimrun(t *testing.T) {
	script := actionStep(t, "run simrun")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"-scenario 'watchdog-d*' -runs 2 -no-proof", 0, ""},
		{"-scenario old-owner-unlock -subject broken-unlock-anybodys -no-proof", 1, "::error title=old-owner-unlock%2C broken-unlock-anybodys%2C seed 1::"},
		{"-scenario $(touch${IFS}executed)", 254, "::error title=Holdfast::simrun ended with 254"},
	} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ARGS="+tt.args, "REPORTS=kept", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"),
			"PATH="+filepath.Dir(simrun)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tt.code || strings.Contains(string(out), "::error") != (tt.says != "") || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", tt.args, code, tt.code, tt.says, out)
		}
		if tt.code == 1 && !strings.Contains(string(out), "::error title=Holdfast::a verdict differs") {
			t.Errorf("%s: nothing says where the reports are\n%s", tt.args, out)
		}
		if exists(filepath.Join(dir, "executed")) {
			t.Errorf("%s: it was executed", tt.args)
		}
		kept := exists(filepath.Join(dir, "kept/junit.xml")) && exists(filepath.Join(dir, "summary.md"))
		if kept != (tt.code != 254) {
			t.Errorf("%s: reports are kept: %v\n%s", tt.args, kept, out)
		}
	}
}
