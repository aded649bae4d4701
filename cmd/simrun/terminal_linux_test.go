package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/holdfast-sim/holdfast/checker"
)

// atTerminal is a simrun that has a terminal of its own, with somebody at it.
type atTerminal struct {
	cmd    *exec.Cmd
	master *os.File
	out    bytes.Buffer // what the terminal showed
}

func onTerminal(t *testing.T, env []string, args ...string) *atTerminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	cmd := exec.Command(simrun, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &atTerminal{cmd: cmd, master: master}
}

// shows waits until the terminal has shown what is wanted, and reports whether it did before the end.
func (a *atTerminal) shows(want string) bool {
	chunk := make([]byte, 4096)
	for !strings.Contains(a.out.String(), want) {
		n, err := a.master.Read(chunk) // ends with EIO, when the last writer is gone
		if a.out.Write(chunk[:n]); err != nil {
			return false
		}
	}
	return true
}

// ends waits for the end, and returns what the terminal showed and the exit code.
func (a *atTerminal) ends() (out string, code int) {
	_, _ = io.Copy(&a.out, a.master)
	_ = a.cmd.Wait()
	return a.out.String(), a.cmd.ProcessState.ExitCode()
}

func TestColoursOnATerminalUnlessAskedNotTo(t *testing.T) {
	if out, code := onTerminal(t, []string{"NO_COLOR=", "TERM=xterm"}, "-scenario", "watchdog-death").ends(); !strings.Contains(out, "\x1b[") || code != checker.ExitExpected {
		t.Errorf("exit code %d, no colours on a terminal:\n%s", code, out)
	}
	for _, plain := range []string{"NO_COLOR=1", "TERM=dumb"} {
		out, code := onTerminal(t, []string{plain}, "-scenario", "watchdog-death").ends()
		if strings.Contains(out, "\x1b[") || !strings.Contains(out, "REPRODUCED") || code != checker.ExitExpected {
			t.Errorf("exit code %d, colours in spite of %s:\n%q", code, plain, out)
		}
	}
}

// Ctrl-C ends several runs early, and nothing of what was done until then is lost.
func TestProgressOnATerminalAndCtrlC(t *testing.T) {
	a := onTerminal(t, []string{"TERM=xterm"}, "-scenario", "watchdog-death", "-runs", "1000000")
	if !a.shows("/1000000") || !a.shows("runs/s") {
		t.Fatalf("no progress in %q", a.out.String())
	}
	if _, err := a.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	out, code := a.ends()
	for _, want := range []string{"as expected", "interrupted after ", "of 1,000,000 runs", "report.html"} {
		if !strings.Contains(out, want) || strings.Contains(out, "process died") || code != checker.ExitUndecided {
			t.Errorf("exit code %d, %q in %q", code, want, out)
		}
	}
}

// What ends a job of a CI sends no Ctrl-C. A search is resumed where it ended.
func TestAnExplorationThatIsToldToEndSaysWhatItDid(t *testing.T) {
	a := onTerminal(t, []string{"TERM=xterm"}, "explore", "-runs", "1000000")
	if !a.shows("/1000000") {
		t.Fatalf("no progress in %q", a.out.String())
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	out, code := a.ends()
	for _, want := range []string{"interrupted after ", "nothing that the lock claims was broken", "state.jsonl"} {
		if !strings.Contains(out, want) || strings.Contains(out, "process died") || code != checker.ExitUndecided {
			t.Errorf("exit code %d, %q in %q", code, want, out)
		}
	}
}

// A single shard of an exhaustive search may take minutes: nobody waits for it.
func TestAnExhaustiveSearchThatIsToldToEndEndsAtOnce(t *testing.T) {
	a := onTerminal(t, []string{"TERM=xterm"}, "explore", "-strategy", "exhaustive", "-subject", "rlock-hardened", "-out", "none")
	if !a.shows("runs/") {
		t.Fatalf("no progress in %q", a.out.String())
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if out, code := a.ends(); !strings.Contains(strings.Join(strings.Fields(out), " "), "not all there are") || code != checker.ExitUndecided {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// A dumb terminal can only print: nothing is drawn over, and nothing moves.
func TestNothingIsDrawnOverOnADumbTerminal(t *testing.T) {
	out, code := onTerminal(t, []string{"TERM=dumb"}, "-scenario", "watchdog-death", "-runs", "400", "-out", "none").ends()
	if plain := strings.ReplaceAll(out, "\r\n", "\n"); strings.ContainsAny(plain, "\r\x1b█") || !strings.Contains(out, "400 runs") || code != checker.ExitExpected {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// No line of these is wider than a terminal of 80 columns: what does not suit each other, what is wrong, how a search went.
func TestNothingOverflows80Columns(t *testing.T) {
	for _, args := range [][]string{
		{"-scenario", "redlock-split-vote,baseline", "-subject", "rspin-classic,rfair-classic", "-out", "none"},
		{"-scenarios", "baseline"},
		{"-scenario", "x*"},
		{"explore", "-runs", "20", "-out", "o"},
	} {
		out, _ := onTerminal(t, []string{"TERM=dumb"}, args...).ends()
		for line := range strings.Lines(out) {
			if line = strings.TrimRight(line, "\r\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("simrun %s: %d columns: %s", strings.Join(args, " "), utf8.RuneCountInString(line), line)
			}
		}
	}
}

// A single run in real time and a check of a long history say on a terminal that they go on, and take that away at the end.
func TestWhatTakesLongSaysSo(t *testing.T) {
	long := []string{"-scenario", "watchdog-death", "-world", "miniredis", "-timescale", "1/20", "-out", "none"}
	out, code := onTerminal(t, []string{"TERM=xterm"}, long...).ends()
	if !strings.Contains(out, "\rwatchdog-death: running for 1 s, 20 s of its plan") || !strings.Contains(out, " \r") || code != checker.ExitExpected {
		t.Errorf("exit code %d: %q", code, out)
	}
	if out, code := onTerminal(t, []string{"TERM=dumb"}, long...).ends(); strings.Contains(out, "running for") || code != checker.ExitExpected {
		t.Errorf("exit code %d: %q", code, out)
	}
	history := filepath.Join(t.TempDir(), "long.jsonl")
	var lines strings.Builder
	lines.WriteString(`{"record":"header","version":1,"clock":"monotonic"}` + "\n")
	for i := range 400_000 {
		fmt.Fprintf(&lines, `{"record":"op","id":%d,"client":"c1","owner":"c1:1","lock":"l","kind":"%s","call":%d,"return":%d,"outcome":"%s"}`+"\n", i+1, [2]string{"lock", "unlock"}[i%2], 10*i+1, 10*i+5, [2]string{"acquired", "released"}[i%2])
	}
	if err := os.WriteFile(history, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, code := onTerminal(t, []string{"TERM=xterm"}, "check", history).ends(); !strings.Contains(out, "\rcheck: reading") && !strings.Contains(out, "\rcheck: judging") || code != checker.ExitExpected {
		t.Errorf("exit code %d: %q", code, out)
	}
}
