//go:build !unix

package external

import (
	"errors"
	"os"
	"os/exec"
)

func lead(*exec.Cmd) {}

func killGroup(p *os.Process) error {
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

var errNoPause = errors.New("a process cannot be paused on this system")

func pauseGroup(*os.Process) error  { return errNoPause }
func resumeGroup(*os.Process) error { return nil }
