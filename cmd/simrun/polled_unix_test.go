//go:build !windows

package main

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// A worker has one processor of Go's runtime. A read that blocks its thread would keep it, and the worker would do nothing, until the
// runtime notices. Only a file that is read by the poller takes deadlines.
func TestAWorkersInputIsReadByThePoller(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	number, err := syscall.Dup(int(in.Fd())) // Fd has it block, as a pipe does that a child inherits
	if err != nil {
		t.Fatal(err)
	}
	inherited := os.NewFile(uintptr(number), "inherited")
	defer inherited.Close()
	if err := inherited.SetReadDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
		t.Fatalf("the pipe of this test takes deadlines already (%v)", err)
	}
	read := polled(inherited)
	defer read.Close()
	if err := read.SetReadDeadline(time.Now()); err != nil {
		t.Error(err)
	}
	if read.Fd() == inherited.Fd() { // Fd ends the polling
		t.Error("two files have one descriptor, which each would close")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if polled(null) != null {
		t.Error("a file that is no pipe was made another one")
	}
}
