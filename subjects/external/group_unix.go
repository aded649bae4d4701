//go:build unix

package external

import (
	"errors"
	"os"
	"syscall"
)

// Signals go to the worker's process group, since a worker may be a script that runs others.

func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil // nobody is left
	}
	return err
}

func pauseGroup(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStop(p)
}

func resumeGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGCONT) }
