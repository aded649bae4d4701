//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// childrenOf lists a process's children.
func childrenOf(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var children []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, ok := strings.Cut(string(b), ") ")
		if fields := strings.Fields(rest); ok && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			children = append(children, child)
		}
	}
	return children
}

// isWorker reports whether a process is a worker by its command line. Go's os package has short-lived children of its own, to try the kernel.
func isWorker(pid int) bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return slices.Contains(strings.Split(string(line), "\x00"), workerCommand)
}

// A worker that dies costs one run, which is said; the others are done by another worker.
func TestAWorkerThatDiesIsReportedAndReplaced(t *testing.T) {
	cmd := exec.Command(simrun, "-scenario", "watchdog-death", "-runs", "800", "-out", "none")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var workers []int
	for len(workers) == 0 {
		for _, child := range childrenOf(cmd.Process.Pid) {
			workers = slices.DeleteFunc(childrenOf(child), func(pid int) bool { return !isWorker(pid) })
		}
	}
	if err := syscall.Kill(workers[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"799 as expected", "1 FAILED", "worker process died: signal: killed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, fmt.Sprint(&out))
		}
	}
}
