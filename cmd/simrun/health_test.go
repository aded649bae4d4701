//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// limited runs simrun under a limit of the shell, or with a variable of the environment.
func limited(t *testing.T, dir, limit string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command("sh", append([]string{"-c", limit + ` exec "$0" "$@"`, simrun}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// fileMost has files grow no longer than so many MiB: the shell counts in 512 bytes.
func fileMost(mib int) string { return fmt.Sprintf("ulimit -f %d;", mib<<11) }

// Who has too little hears of it before anything is run.
func TestTooLittleIsToldBeforeARun(t *testing.T) {
	for _, tt := range []struct{ limit, args, want string }{
		{fileMost(8), "-scenario key-expiry", "the disk of simrun-out has 8192 KiB left of the 8192 KiB that a file may have (ulimit -f), and 16 MiB are needed"},
		{fileMost(8), "-scenario key-expiry -runs 3", "the disk of simrun-out has 8192 KiB left"},
		{fileMost(8), "explore -runs 25", "the disk of simrun-out has 8192 KiB left"},
		{fileMost(20), "soak -for 1s", "has 20 MiB left of the 20 MiB that a file may have (ulimit -f), and 32 MiB are needed"},
		{fileMost(8), "-world redis -scenario key-expiry -out none", "-world redis: the disk of "},
		{"GOMEMLIMIT=20MiB", "-scenario key-expiry -out none", "of the 20 MiB of GOMEMLIMIT, and 34 MiB are needed"},
		{"GOMEMLIMIT=20MiB", "explore -runs 25 -out none", "of the 20 MiB of GOMEMLIMIT, and 34 MiB are needed"},
		{"GOMEMLIMIT=60MiB", "soak -for 1s -clients 100 -out none", "of the 60 MiB of GOMEMLIMIT, and 139 MiB are needed"},
	} {
		dir := t.TempDir()
		stdout, stderr, code := limited(t, dir, tt.limit, strings.Fields(tt.args)...)
		if code != checker.ExitHarness || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s simrun %s: exit code %d: %s%s", tt.limit, tt.args, code, stdout, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "simrun-out/*/*")); left != nil {
			t.Errorf("%s simrun %s: it left %v", tt.limit, tt.args, left)
		}
	}
}

// A soak whose history does not fit says so as soon as it knows, ends before the disk is full, and tells what it has.
func TestASoakThatFillsADiskEndsUndecided(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	stdout, stderr, code := limited(t, dir, fileMost(44), "soak", "-for", "1h")
	said := regexp.MustCompile(`(?s)^simrun: warning: soak: the history will not fit, and the soak will end early: the disk of simrun-out has [0-9]+ MiB left .*` +
		`\nsimrun: soak: interrupted after .* of 1h0m0s; what is told is about that: the disk of simrun-out has [0-9]+ MiB left of the 44 MiB that a file may have`)
	told := regexp.MustCompile(`(?m)^ *[0-9]+ s  .*\n`).ReplaceAllString(stderr, "") // how it went
	if code != checker.ExitUndecided || !said.MatchString(told) || !strings.Contains(stdout, "every guarantee that the lock claims held") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, name := range []string{historyFile, verdictFile, reportFile} {
		if _, err := os.Stat(filepath.Join(dir, "simrun-out/soak/latest", name)); err != nil {
			t.Error(err)
		}
	}
}

// Who waits for a pipe to which nobody writes, or from which nobody reads, can be told to end, or need not be.
func TestPipesThatNobodyUses(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"-plan pipe", "explore -strategy exhaustive -plan pipe", "shrink pipe", "check pipe"} {
		// Somebody who opens the pipe to write waits until it is being read: then the signal is sent, and nothing written.
		cmd := exec.Command(simrun, strings.Fields(args)...)
		var stderr strings.Builder
		cmd.Dir, cmd.Stderr = dir, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		w.Close()
		if code := cmd.ProcessState.ExitCode(); code != checker.ExitUndecided || !strings.Contains(stderr.String(), "interrupted") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", args, code, stderr.String())
		}
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"-scenario baseline -out none -junit pipe", checker.ExitHarness, "-junit: open pipe: no such device or address"},
		{"-scenario baseline -addr rediss://h -tls-ca pipe", checker.ExitUsage, "-addr: pipe: it is no regular file"},
		{"-scenario baseline -addr rediss://h -tls-ca /dev/zero", checker.ExitUsage, "-addr: /dev/zero: it is no regular file"},
		{"clean -addr rediss://h -tls-cert pipe -tls-key pipe", checker.ExitUsage, "-addr: pipe: it is no regular file"},
		{"clean -addr file:pipe", checker.ExitUsage, "it is no regular file"},
		{"report pipe", checker.ExitUsage, "pipe: it is no folder of a run; simrun check judges histories"},
	} {
		_, stderr, code := run(t, dir, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.args, code, stderr)
		}
	}
}

// Numbers that are too large for anything cost nothing.
func TestHugeNumbersAreNoneOfOurTrouble(t *testing.T) {
	for _, args := range []string{"mutants -seeds 1000000000000 -only broken-unlock-anybodys", "mutants -runs 1000000000000 -only broken-unlock-anybodys -seeds 1000000000000", "explore -runs 1000000000000 -out none",
		"-scenario all -subject all -out none -runs 1000000000000"} {
		if testing.Short() && strings.HasPrefix(args, "mutants -runs") {
			continue
		}
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 4000000; exec "$0" "$@"`, simrun}, strings.Fields(args)...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		for working, over := false, false; !working && !over; { // until it has given a worker something to do
			for _, child := range childrenOf(cmd.Process.Pid) {
				working = working || len(childrenOf(child)) > 0
			}
			select {
			case <-ended:
				over = true
			default:
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != checker.ExitUndecided || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: exit code %d: %s", args, code, stderr.String())
		}
	}
	for _, args := range []string{"-scenario baseline -runs 9000000000000000000", "mutants -runs 9000000000000000000", "mutants -seeds 9000000000000000000"} {
		if _, stderr, code := run(t, t.TempDir(), strings.Fields(args)...); code != checker.ExitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}

// busyHistory writes a history of so many calls, none of which is wrong.
func busyHistory(t *testing.T, calls int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "long.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"record":"header","version":1,"clock":"monotonic","world":"redis","subject":"s","seed":1}`)
	for i := range calls {
		fmt.Fprintf(w, `{"record":"op","id":%d,"client":"c","owner":"o%d","lock":"l","kind":"tryLock","call":%d,"return":%d,"outcome":"busy"}`+"\n", i+1, i, 10*i+1, 10*i+2)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return name
}

// A history for which there is no memory is left undecided, by whoever finds out first.
func TestAHistoryForWhichThereIsNoMemoryIsUndecided(t *testing.T) {
	name := busyHistory(t, 200_000)
	for _, tt := range []struct{ args, want string }{
		{"check " + name, "too many records to keep in memory: there is memory for "},
		{"check -records 8000000 " + name, "check: interrupted after 0 of 1 histories: the memory of this process has "},
	} {
		stdout, stderr, code := limited(t, t.TempDir(), "GOMEMLIMIT=60MiB", strings.Fields(tt.args)...)
		if code != checker.ExitUndecided || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d: %s%s", tt.args, code, stdout, stderr)
		}
	}
}

// A worker that dies says why, also if it has closed its output a while before.
func TestAWorkersCauseOfDeathIsTold(t *testing.T) {
	script := filepath.Join(t.TempDir(), "worker")
	dies := "#!/bin/sh\nread job\nexec 1>&-\ni=0\nwhile [ $i -lt 100000 ]; do i=$((i+1)); done\necho 'panic: boom' >&2\nexit 2\n"
	if err := os.WriteFile(script, []byte(dies), 0o777); err != nil {
		t.Fatal(err)
	}
	w := &worker{program: script}
	defer w.dismiss()
	results := w.do(t.Context(), job{Scenario: "baseline", Subject: defaultSubject, Seed: 1, Runs: 1, Out: nowhere})
	if len(results) != 1 || results[0].Code != checker.ExitHarness || !strings.Contains(results[0].Error, "panic: boom") {
		t.Errorf("%+v", results)
	}
}

// A worker without memory leaves its run undecided, and accuses nobody.
func TestAWorkerWithoutMemoryLeavesItsRunUndecided(t *testing.T) {
	script := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nGOMEMLIMIT=1MiB exec "+simrun+" worker\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	w := &worker{program: script}
	defer w.dismiss()
	// Long enough that somebody looks meanwhile.
	results := w.do(t.Context(), job{Scenario: "watchdog-death", Subject: defaultSubject, Seed: 1, Runs: 50, Out: nowhere})
	undecided := 0
	for i, r := range results {
		if r.Seed != uint64(i+1) || r.Summary.Verdict.Code() != r.Code {
			t.Errorf("run %d: seed %d, exit code %d, verdict %d", i+1, r.Seed, r.Code, r.Summary.Verdict.Code())
		}
		switch {
		case r.Code == checker.ExitUndecided && strings.Contains(r.Error, "of the 1024 KiB of GOMEMLIMIT") && whyNot(r.Summary.Verdict) == r.Error:
			undecided++
		case r.Code != checker.ExitExpected:
			t.Errorf("exit code %d: %s", r.Code, r.Error)
		}
	}
	if len(results) != 50 || undecided == 0 {
		t.Errorf("of %d results %d are undecided", len(results), undecided)
	}
}
