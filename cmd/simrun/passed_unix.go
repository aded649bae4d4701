//go:build !windows

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// pass has a child inherit files, and returns the numbers under which the child finds them.
func pass(child *exec.Cmd, files ...*os.File) (numbers []uintptr, err error) {
	child.ExtraFiles = files
	for i := range files {
		numbers = append(numbers, uintptr(3+i)) // as os/exec promises
	}
	return numbers, nil
}

// keep has this process alone keep a file that it inherited: what a worker leaves behind would hold it open, and the
// parent would wait for that.
func keep(number uintptr) { syscall.CloseOnExec(int(number)) }

// detached spares a program Ctrl-C, which is for this one.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// polled has reads of a pipe wait in the poller of Go's runtime. A read that blocks its thread keeps the processor of a program that has
// one (GOMAXPROCS=1) until the runtime notices, which takes some 20 ms. What is returned has a descriptor of its own, and is closed by itself: two files
// of one descriptor would close it twice, the second time when it is somebody else's.
func polled(f *os.File) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return f // of a terminal or a file, others have a share
	}
	own, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f
	}
	syscall.CloseOnExec(own)
	if err := syscall.SetNonblock(own, true); err != nil { // it is so for both
		syscall.Close(own)
		return f
	}
	return os.NewFile(uintptr(own), f.Name())
}
