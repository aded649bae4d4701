package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs simrun with a terminal for its output, and returns what that shows.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
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
	cmd := exec.Command(simrun, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var out bytes.Buffer
	_, _ = io.Copy(&out, master) // ends with EIO, when the last writer is gone
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	return out.String()
}

func TestColoursOnATerminalUnlessAskedNotTo(t *testing.T) {
	if out := onTerminal(t, []string{"NO_COLOR="}, "-scenario", "watchdog-death"); !strings.Contains(out, "\x1b[") {
		t.Errorf("no colours on a terminal:\n%s", out)
	}
	if out := onTerminal(t, []string{"NO_COLOR=1"}, "-scenario", "watchdog-death"); strings.Contains(out, "\x1b[") || !strings.Contains(out, "REPRODUCED") {
		t.Errorf("colours in spite of NO_COLOR:\n%q", out)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	out := onTerminal(t, nil, "-scenario", "watchdog-death", "-runs", "9000", "-out", "none")
	for _, want := range []string{"/9000", "runs/s", "9000 as expected"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
}
