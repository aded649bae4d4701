package main

import (
	"os"
	"os/exec"
	"syscall"
)

// pass has a child inherit files, and returns the numbers under which the child finds them: handles stay what they are.
func pass(child *exec.Cmd, files ...*os.File) (numbers []uintptr, err error) {
	child.SysProcAttr = &syscall.SysProcAttr{}
	for _, f := range files {
		handle := syscall.Handle(f.Fd())
		if err := syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return nil, os.NewSyscallError("SetHandleInformation", err)
		}
		child.SysProcAttr.AdditionalInheritedHandles = append(child.SysProcAttr.AdditionalInheritedHandles, handle)
		numbers = append(numbers, uintptr(handle))
	}
	return numbers, nil
}

// keep has this process alone keep a file that it inherited.
func keep(number uintptr) {
	_ = syscall.SetHandleInformation(syscall.Handle(number), syscall.HANDLE_FLAG_INHERIT, 0)
}

// detached spares a program Ctrl-C, which is for this one.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// polled returns a file as it is: on Windows, a pipe that is inherited cannot be waited for in another way.
func polled(f *os.File) *os.File { return f }
