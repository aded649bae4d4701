//go:build unix && !linux

package external

import (
	"os"
	"os/exec"
	"syscall"
)

// lead makes the command the leader of a group of its own, which Ctrl-C does not reach.
func lead(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func awaitStop(*os.Process) error { return nil }
