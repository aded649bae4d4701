package external

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// state is that of a process, as in /proc: "R", "S", "T", ...; "" if it has ended.
func state(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	if rest[:1] == "Z" {
		return "" // nobody has reaped it, as in containers without an init
	}
	return rest[:1]
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); state(pid) != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on, in state %s", pid, state(pid))
		}
	}
}

func TestWorkersEndWithTheHarnessHoweverItEnds(t *testing.T) {
	harness := exec.Command(os.Args[0], "as-harness", redisURL(t))
	out, err := harness.StdoutPipe()
	if err == nil {
		err = harness.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	if got := state(pid); got != "T" {
		t.Errorf("the worker is in state %q, not stopped", got)
	}
	_ = harness.Process.Kill()
	_ = harness.Wait()
	awaitEnd(t, pid)
}

func TestWhatAWorkerStartedEndsWithIt(t *testing.T) {
	for _, end := range []func(c *client) error{(*client).Close, (*client).Kill} {
		c, err := dial(t.Context(), strings.Fields(worker("has a child")), nil, usual)
		if err != nil {
			t.Fatal(err)
		}
		child, _ := strconv.Atoi(c.hello.Name)
		if state(child) == "" {
			t.Fatalf("there is no process %q", c.hello.Name)
		}
		if err := end(c); err != nil {
			t.Error(err)
		}
		awaitEnd(t, child)
	}
}

func TestPauseReturnsWhenTheProcessStandsStill(t *testing.T) {
	c := good(t)
	for range 20 {
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		if got := state(c.p.cmd.Process.Pid); got != "T" {
			t.Fatalf("paused, and in state %q", got)
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}
