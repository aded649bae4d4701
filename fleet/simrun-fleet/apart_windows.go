package main

import (
	"os/exec"
	"syscall"
)

// apart has a program in a process group of its own, so that Ctrl-C ends it only when its shards are done.
func apart(p *exec.Cmd) {
	p.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
