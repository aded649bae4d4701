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
