//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Output that is lost is an error, whatever the verdict.
func TestOutputToAFullDeviceIsExit255(t *testing.T) {
	example, err := filepath.Abs("../../docs/history.example.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"help", "list", "list -v", "list -markdown", "-scenario key-expiry -out none", "-scenario key-expiry -json -out none",
		"version", "completion bash", "help -markdown", "-scenario key-expiry -runs 30 -json -out none", "explore -runs 25 -out none", "soak -help", "check " + example,
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		cmd := exec.Command(simrun, strings.Fields(args)...)
		cmd.Dir = t.TempDir()
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness || !strings.Contains(stderr.String(), "standard output is lost: no space left on device\n") {
			t.Errorf("%s: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// What flags ask for and nobody can write is lost, too.
func TestFilesThatCannotBeWrittenAreExit255(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "key-expiry", "-no-proof")
	for _, args := range []string{"-scenario key-expiry -out none", "-scenario key-expiry -runs 3 -out none",
		"report simrun-out/key-expiry/latest", "check simrun-out/key-expiry/latest"} {
		for _, flag := range []string{"-junit", "-markdown"} {
			_, stderr, code := run(t, dir, append(strings.Fields(args), flag, "no/such/folder")...)
			if code != checker.ExitHarness || !strings.Contains(stderr, "simrun: "+flag+": open no/such/folder") {
				t.Errorf("%s %s: exit code %d: %s", args, flag, code, stderr)
			}
		}
	}
}

// Nobody is told of a file that is not there.
func TestAReportThatCannotBeWrittenIsExit255(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "key-expiry", "-no-proof")
	latest := filepath.Join(dir, "simrun-out/key-expiry/latest")
	if err := os.Mkdir(filepath.Join(latest, "."+reportFile), 0o777); err != nil { // where it is written first
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "report", latest)
	if code != checker.ExitHarness || strings.Contains(stdout, reportFile) || !strings.Contains(stderr, reportFile) {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// What is written into a folder that was removed is lost.
func TestAFolderThatIsRemovedIsExit255(t *testing.T) {
	t.Run("soak", func(t *testing.T) {
		needRedis(t)
		dir := t.TempDir()
		cmd, out := soaking(t, dir, 10_000)
		if err := os.RemoveAll(filepath.Join(dir, "simrun-out")); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness || !strings.Contains(out.String(), "the history cannot be written: ") || strings.Contains(out.String(), "  report ") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("explore", func(t *testing.T) {
		cmd := exec.Command(simrun, "explore", "-runs", "300")
		cmd.Dir = t.TempDir()
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begun(t, cmd, "simrun-out/explore/*/"+stateFile)
		if err := os.RemoveAll(filepath.Join(cmd.Dir, "simrun-out")); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness || !strings.Contains(out.String(), "no such file") || strings.Contains(out.String(), "  state ") {
			t.Errorf("exit code %d\n%s", code, out.String())
		}
	})
}

func TestAnAddressThatIsNoneIsExit254(t *testing.T) {
	for _, command := range []string{"-scenario baseline", "soak"} {
		for _, addr := range []string{"nonsense", "http://h", "redis://", "redis://h:port", "redis://h/x", "redis://h?x=1"} {
			_, stderr, code := run(t, t.TempDir(), append(strings.Fields(command), "-addr", addr)...)
			if code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "-addr: the address of the server") {
				t.Errorf("%s: exit code %d: %s", addr, code, stderr)
			}
		}
	}
}
