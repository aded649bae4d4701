//go:build unix && !linux

package redisserver

import "syscall"

// attached spares a process the terminal's Ctrl-C, which is for us. That it ends when we do is
// left to the guard.
func attached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
