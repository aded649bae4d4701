package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
)

// said is what a command of this process prints on standard output.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := command(t.Context(), args, &out, &errs); code != checker.ExitExpected || errs.Len() > 0 {
		t.Errorf("%q: exit code %d, %s", args, code, errs.String())
	}
	return out.String()
}

// What a command prints about itself fits a terminal of 80 columns, and is the same however it is asked for.
func TestHelpFitsATerminal(t *testing.T) {
	pages := [][]string{{"help"}, {"list"}, {"list", "-v"}, {"mutants", "-list"}, {"mutants", "-list", "-source"}}
	for _, name := range verbNames() {
		pages = append(pages, []string{"help", name})
		if v, _ := findVerb(name); v.flags != nil || name == "completion" {
			if asked, told := said(t, name, "-help"), said(t, "help", name); asked != told {
				t.Errorf("simrun %s -help says %q, and simrun help %s %q", name, asked, name, told)
			}
		}
	}
	for _, args := range pages {
		for line := range strings.Lines(said(t, args...)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && len(strings.Fields(line)) > 1 {
				t.Errorf("simrun %s: %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
	}
}

// Each example of the help has a command's own flags, and names that there are.
func TestExamplesOfTheHelpAreRight(t *testing.T) {
	for _, v := range verbs() {
		if v.about == "" || v.run == nil || v.flags != nil && len(v.examples) == 0 {
			t.Errorf("%q: about %q, %d examples", v.name, v.about, len(v.examples))
		}
		for _, e := range v.examples {
			rest, ok := strings.CutPrefix(e.line, v.name)
			if !ok {
				t.Errorf("%s: no %s", e.line, v.name)
			}
			if v.flags == nil {
				continue
			}
			f := v.flags()
			if _, err := parseMixed(f, strings.Fields(rest)); err != nil && v.name != "worker-check" {
				t.Errorf("simrun %s: %v", e.line, err)
			}
			f.Visit(func(f *flag.Flag) {
				values := valuesOf(f.Name, v.name)
				if got := f.Value.String(); values != nil && got != "" && !strings.Contains("\n"+strings.Join(values, "\n")+"\n", "\n"+got+"\n") && !strings.HasPrefix(got, "exec:") {
					t.Errorf("simrun %s: -%s %s is none of %q", e.line, f.Name, got, values)
				}
			})
		}
	}
}

func TestTheCommandsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/simrun.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := said(t, "help", "-markdown"); string(page) != want {
		t.Error("docs/simrun.md is not what simrun help -markdown writes")
	}
}

func TestCommandLinesAreCompleted(t *testing.T) {
	next := func(words ...string) []string {
		var got []string
		for line := range strings.Lines(said(t, append([]string{completes}, words...)...)) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		return got[:len(got)-1] // without what the shell is told besides
	}
	for _, c := range []struct {
		words []string
		want  string // one of what may come next
		other string // one that may not
	}{
		{[]string{""}, "explore", "-scenario"},
		{[]string{"sh"}, "shrink", "soak"},
		{[]string{"-"}, "-scenario", "-strategy"},
		{[]string{"-scenario", ""}, scenarios.Names()[0], "explore"},
		{[]string{"-v", "-subject", ""}, "redsync", "broken-unlock-anybodys"},
		{[]string{"explore", "-subject", ""}, "broken-unlock-anybodys", "-runs"},
		{[]string{"explore", "-"}, "-strategy", "-scenario"},
		{[]string{"explore", "-first", "-faults", ""}, "drop-message", "lose-data"},
		{[]string{"soak", "--faults", ""}, "lose-data", "drop-message"},
		{[]string{"shrink", "-guarantee", ""}, "exclusion", "explore"},
		{[]string{"mutants", "-only", ""}, "broken-unlock-anybodys", "rlock-latch"},
		{[]string{"check", "-model", ""}, "mutex", "exclusion"},
		{[]string{"completion", ""}, "fish", "explore"},
		{[]string{"init", ""}, "locktest", "explore"},
		{[]string{"export", "-format", ""}, "otlp", "html"},
		{[]string{"help", ""}, "worker-check", "fish"},
	} {
		got := "\n" + strings.Join(next(c.words...), "\n") + "\n"
		if !strings.Contains(got, "\n"+c.want+"\n") || strings.Contains(got, "\n"+c.other+"\n") {
			t.Errorf("after %q come %q; want %s, and not %s", c.words, got, c.want, c.other)
		}
	}
	if got := next("explore", "-runs", ""); len(got) != 0 {
		t.Errorf("a number is completed to %q", got)
	}
}

// What completion prints is a script of its shell, as far as that is here to say so.
func TestCompletionIsAScript(t *testing.T) {
	for _, shell := range shellNames() {
		script := said(t, "completion", shell)
		if !strings.Contains(script, completes) {
			t.Errorf("%s: it asks nobody", shell)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

// The script for bash needs nothing but bash: neither the package bash-completion nor what a user's profile reads.
func TestBashCompletesWithoutPackages(t *testing.T) {
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	line := exec.Command(path, "--norc", "--noprofile", "-c", said(t, "completion", "bash")+`
		compopt() { :; } # which is there only while a line is completed
		COMP_WORDS=("$0" -scenario watchdog-p) COMP_CWORD=2 COMP_LINE="$0 -scenario watchdog-p" COMP_POINT=${#COMP_LINE}
		__start_simrun && echo "${COMPREPLY[@]}"`, simrun)
	line.Env = append(os.Environ(), "BASH_ENV=")
	out, err := line.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "watchdog-pause-short" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestVersionSaysWhatItWasBuiltOf(t *testing.T) {
	out, _, code := run(t, t.TempDir(), "version")
	if code != checker.ExitExpected || !strings.HasPrefix(out, "simrun ") || !strings.Contains(out, "github.com/anishathalye/porcupine v") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"expolre":           `unknown command "expolre": did you mean explore?`,
		"help shrnik":       `unknown command "shrnik": did you mean shrink?`,
		"help a b":          `stray argument "b"`,
		"help -mrakdown":    "did you mean -markdown?",
		"version 2":         `stray argument "2"`,
		"completion":        "say for which shell: bash, zsh, fish, powershell",
		"completion bsh":    "did you mean bash?",
		"completion tcsh":   `unknown shell "tcsh": there are bash, zsh, fish, powershell`,
		"run":               `unknown command "run": a run needs none: simrun -scenario NAME`,
		"help run":          `unknown command "run": a run needs none: simrun -scenario NAME`,
		"xyz":               `unknown command "xyz": there are init, check, `,
		"-v stray":          `stray argument "stray"`,
		"completion a b":    "say for which shell",
		"mutants -lsit":     "did you mean -list?",
		"shrink -guarantee": "flag needs an argument",
		"-runs abc":         `invalid value "abc" for flag -runs: it should be a whole number`,
		"-open=maybe":       `invalid value "maybe" for flag -open: it should be true or false`,
		"explore -for 5":    `invalid value "5" for flag -for: it should be a duration, such as 5s or 10m`,
		"merge none -json":  "merge: none: no such file or directory",
	} {
		var errs bytes.Buffer
		if code := command(t.Context(), strings.Fields(args), io.Discard, &errs); code != checker.ExitUsage || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("simrun %s: exit code %d: %s", args, code, errs.String())
		}
	}
}

// A command that judges nothing has no exit code that is about verdicts in its help; those that judge have all.
func TestHelpHasTheExitCodesThatMayCome(t *testing.T) {
	for _, v := range verbs() {
		if v.name == "" {
			continue
		}
		stdout, _, code := run(t, t.TempDir(), "help", v.name)
		_, told, _ := strings.Cut(stdout, "\nExit codes")
		if code != checker.ExitExpected || strings.Contains(told, "verdict") == v.judgesNothing || strings.Contains(told, "checkers disagree") == v.judgesNothing || !strings.Contains(told, "bad usage") {
			t.Errorf("simrun help %s: exit code %d: %s", v.name, code, told)
		}
	}
}
