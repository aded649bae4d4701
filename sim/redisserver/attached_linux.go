package redisserver

import "syscall"

// attached has a process end when we do, and spares it the terminal's Ctrl-C, which is for us.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
