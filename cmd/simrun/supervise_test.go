//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

// crashing is the variable of the environment by which a test binary that is started as a child crashes.
const crashing = "SIMRUN_TEST_CRASH"

func init() {
	if how := os.Getenv(crashing); how != "" {
		crash(how)
	}
}

func crash(how string) {
	switch how {
	case "panic":
		go func() { panic("of a goroutine") }()
		select {}
	case "fatal":
		(&sync.Mutex{}).Unlock() // no panic: nobody can recover from it
	case "memory":
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30})
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<26))
		}
	case "stack":
		var deep func(int) int
		deep = func(n int) int { return deep(n+1) + 1 }
		deep(0)
	case "exit": // of a library that ends the process, with a code that means something here
		os.Exit(checker.ExitUndecided)
	case "nothing":
		os.Exit(checker.ExitExpected)
	case "late": // after it has said how it ended
		files, _ := inheritance(os.Args[2])
		fmt.Fprint(files.code, checker.ExitUnexpected)
		panic("at the end")
	}
}

// Go's runtime ends a process with code 2. Here that means undecided.
func TestACrashIsExit255AndOneLine(t *testing.T) {
	for how, want := range map[string]string{
		"panic": "panic: of a goroutine", "fatal": "fatal error: sync: unlock of unlocked mutex", "memory": "out of memory", "stack": "stack overflow",
		"exit": "exit status 2", "nothing": "ended without a word", "late": "panic: at the end",
	} {
		t.Setenv(crashing, how)
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		code := supervise(os.Args[0], []string{"soak"}, stderr)
		text, err := os.ReadFile(stderr.Name())
		if line := string(text); err != nil || code != checker.ExitHarness || strings.Count(line, "\n") != 1 ||
			!strings.HasPrefix(line, "simrun: the process died: ") || !strings.Contains(line, want) {
			t.Errorf("%s: exit code %d: %v\n%s", how, code, err, line)
		}
	}
}

// What a worker leaves behind is waited for by nobody.
func TestAProcessThatIsLeftBehindHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "end"), 0o666); err != nil {
		t.Fatal(err)
	}
	worker := "#!/bin/sh\nsetsid sh -c 'touch there; read line <end' >/dev/null 2>&1 &\nwhile [ ! -e there ]; do :; done\necho no hello\n"
	if err := os.WriteFile(filepath.Join(dir, "worker"), []byte(worker), 0o777); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		_, stderr, code := run(t, dir, "-subject", "exec:./worker", "-scenario", "baseline", "-world", "miniredis", "-out", "none")
		ended <- fmt.Sprint(code, " ", stderr)
	}()
	late := false
	var said string
	select {
	case said = <-ended:
	case <-time.After(20 * time.Second):
		late = true
	}
	end, err := os.OpenFile(filepath.Join(dir, "end"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(end) // it goes, too
	defer end.Close()
	if late {
		t.Fatalf("simrun waited for it: %s", <-ended)
	}
	if !strings.Contains(said, "no message") {
		t.Error(said)
	}
}

// A command that is told to end does so with code 2, a line, and what is done so far.
func TestEachCommandThatIsToldToEndIsExit2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	endless := func(w *os.File) { // a history that does not end
		fmt.Fprintln(w, `{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1}`)
	}
	for _, c := range []struct {
		args  string
		begun string // what it prints, or a file that is there, once it has begun; "": a process of its own
		want  string
	}{
		{"-scenario watchdog-death -world miniredis", "simrun-out/watchdog-death/*/" + historyFile, "simrun: interrupted; the history until then is in simrun-out/watchdog-death/"},
		{"-scenario watchdog-death -runs 1000000 -out none", "", "simrun: interrupted after "},
		{"check -", "", "simrun: check: interrupted after 0 of 1 histories"},
		{"mutants -runs 100000 -seeds 1000", "", "simrun: mutants: interrupted"},
		{"matrix -out m -locks redsync", "m", "simrun: matrix: interrupted"},
		{"explore -runs 1000000 -out none", "", "simrun: explore: interrupted after "},
		{"worker-check sleep 1000", "worker-check", "simrun: worker-check: interrupted"},
		{"-scenario watchdog-death -subject exec:cat", "", "simrun: interrupted before it began"}, // which never says hello
		{"soak -for 1h -clients 4 -locks 4 -out s -faults none", "s/soak/latest/" + historyFile, "simrun: soak: interrupted after "},
	} {
		t.Run(c.args, func(t *testing.T) {
			words := strings.Fields(c.args)
			if slices.Contains([]string{"soak", "worker-check"}, words[0]) {
				needRedis(t)
			}
			for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[:1+len(c.args)%3] {
				cmd := exec.Command(simrun, words...)
				cmd.Dir = filepath.Join(dir, fmt.Sprint(len(c.args), int(signal)))
				if err := os.Mkdir(cmd.Dir, 0o777); err != nil {
					t.Fatal(err)
				}
				in, stdin, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				defer stdin.Close()
				endless(stdin)
				var out bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				begun(t, cmd, c.begun)
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != checker.ExitUndecided || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "process died") || strings.Contains(out.String(), "but: ") {
					t.Errorf("%v: exit code %d\n%s", signal, code, out.String())
				}
			}
		})
	}
}

// begun waits until a command is at its work: it has a process of its own, or has written a file.
func begun(t *testing.T, cmd *exec.Cmd, file string) {
	t.Helper()
	for {
		for _, child := range childrenOf(cmd.Process.Pid) {
			found, _ := filepath.Glob(filepath.Join(cmd.Dir, file))
			switch {
			case strings.Contains(file, "/") && len(found) > 0 && size(found[0]) > 0:
				return
			case strings.Contains(file, "/"):
			case len(childrenOf(child)) > 0, slices.Contains(cmd.Args, "-") && asleep(child):
				return
			}
		}
		if cmd.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("it ended before it was told to")
		}
	}
}

func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// asleep reports whether a process has read the history that it was given, and waits for more of it.
func asleep(pid int) bool {
	io, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	for line := range strings.Lines(string(io)) {
		var n int
		if _, err := fmt.Sscanf(line, "rchar: %d", &n); err == nil {
			stack, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
			for _, name := range stack {
				if where, _ := os.ReadFile(name); strings.Contains(string(where), "pipe_read") {
					return true
				}
			}
		}
	}
	return false
}

// Whoever started a command may be gone before it has ended.
func TestACommandEndsWithWhoStartedIt(t *testing.T) {
	cmd := exec.Command(simrun, "check", "-")
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer stdin.Close()
	cmd.Stdin = in
	out, err := cmd.StdoutPipe() // ends with the last process that has it
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(childrenOf(cmd.Process.Pid)) == 0 {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 1)); n != 0 {
		t.Error("it printed something")
	}
	_ = cmd.Wait()
}

// Whoever reads the output may have read enough.
func TestAReaderThatLeavesIsNoFailure(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := exec.Command(simrun, "list")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitPipe || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
