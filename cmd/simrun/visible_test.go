package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// hostile is what no terminal must get to see: escape sequences, a bell, C1 controls, and marks that turn the
// direction of writing.
const hostile = "a\x1b]0;title\x07b\u009b31mc\u202ed"

var unprintable = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")

// Whatever is quoted of others is made visible, in error lines as well.
func TestNothingQuotedReachesTheTerminalAsItIs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
		return name
	}
	plan := write("plan"+hostile+".json", `{"version":1,"name":"p`+strings.Replace(hostile, "\x1b", "\\u001b", 1)+`"}`)
	bad := write("bad.jsonl", `{"record":"`+hostile+`"}`+"\n")
	edn := write("bad.edn", "{:type "+hostile+"}\n")
	worker := write("worker"+"\x1b[31m", "#!/bin/sh\nprintf 'x\\033[31m\\007\\n'\nprintf '\\033[31m' >&2\n")
	for _, args := range [][]string{
		{"-scenario", hostile}, {"-" + hostile}, {hostile}, {"-scenario", "baseline", "-subject", hostile}, {"-plan", plan}, {"-plan", hostile},
		{"check", bad}, {"check", edn}, {"check", hostile}, {"report", hostile}, {"shrink", hostile}, {"explore", "-faults", hostile}, {"explore", hostile},
		{"mutants", "-only", hostile}, {"soak", "-faults", hostile}, {"soak", "-subject", hostile}, {"serve", "-out", hostile}, {"serve", "-addr", hostile},
		{"worker-check", "./" + worker}, {"worker-check", hostile}, {"-scenario", "baseline", "-world", "miniredis", "-subject", "exec:./" + worker},
		{"-scenario", "key-expiry", "-out", hostile, "-no-proof"}, {"-scenario", "key-expiry", "-runs", "2", "-out", hostile},
		{"-scenario", "key-expiry", "-out", "none", "-junit", "no/" + hostile}, {"list", hostile}, {"-scenario", "baseline", "-addr", "redis://" + hostile},
	} {
		stdout, stderr, code := run(t, dir, args...)
		if bad := unprintable.FindString(stdout + stderr); bad != "" {
			t.Errorf("%q: %q in\n%s%s", args, bad, stdout, stderr)
		}
		if code == 0 && !strings.Contains(stdout, `a\x1b]0;title\ab`) {
			t.Errorf("%q: it quotes nothing:\n%s", args, stdout)
		}
	}
	if _, stderr, code := run(t, dir, "-scenario", "baseline", "-out", "a\xff"); code != checker.ExitUsage || !strings.Contains(stderr, "not valid UTF-8") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Whoever prints for people does so by say, or by package reports.
func TestOnlySayPrints(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	prints := regexp.MustCompile(`fmt\.Fprint(f|ln)\((stdout|stderr|os\.Stderr|w),`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "catalogue.go", "matrix.go", "flags.go": // of the registries alone
			continue
		}
		if found := prints.Find(text); found != nil && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s: %s", name, found)
		}
	}
}

var againLine = regexp.MustCompile(`(?m)^  again   simrun (.*)$`)

// What reproduces a run can be pasted into a shell.
func TestAgainLinesCanBePasted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-scenario", "key-expiry", "-seed", "7"}, {"-scenario", "key-expiry", "-subject", "rlock-hardened"},
		{"-scenario", "key-expiry", "-world", "miniredis", "-timescale", "1/20"}, {"-plan", "it's a $plan \x1b.json", "-seed", "3"},
	} {
		dir := t.TempDir()
		run(t, dir, "-scenario", "baseline", "-out", "a", "-no-proof")
		if err := os.Rename(filepath.Join(dir, "a/baseline/latest/plan.json"), filepath.Join(dir, "it's a $plan \x1b.json")); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ := run(t, dir, append(args, "-no-proof", "-out", "b")...)
		again := againLine.FindStringSubmatch(stdout)
		if again == nil {
			t.Fatalf("%q: no line in\n%s%s", args, stdout, stderr)
		}
		cmd := exec.Command("bash", "-c", simrun+" "+again[1]+" -no-proof -out c")
		cmd.Dir = dir
		got, err := cmd.CombinedOutput()
		if same := againLine.FindStringSubmatch(string(got)); same == nil || same[1] != again[1] {
			t.Errorf("%q: %v\n%s", again[1], err, got)
		}
		// Of a stored run it is the same.
		stored, _ := filepath.Glob(filepath.Join(dir, "b/*/latest"))
		stdout, stderr, _ = run(t, dir, "report", stored[0])
		if again := againLine.FindStringSubmatch(stdout); again == nil || args[0] != "-plan" && again[1] != strings.Join(args, " ") && !strings.HasPrefix(again[1], strings.Join(args, " ")) {
			t.Errorf("%q: report says %q\n%s", args, again, stderr)
		}
	}
}
