package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What ptrace(2) and wait(2) call these; package syscall does not have them.
const (
	traceSysGood = 0x1      // a stop at a system call is told from a signal
	traceAll     = 0xe      // fork, vfork and clone: what the process starts is traced, too
	traceExec    = 0x10     // so is the program that it becomes
	exitKill     = 0x100000 // nothing outlives the test
	wNoThread    = 0x20000000
	sysRenameAt2 = 316
)

// killedAt starts simrun in a folder and kills it, and all that it has started, as it is about to make its n-th change of the file
// system, or half-way through that change if it is a write and torn is set. It reports false if there are fewer changes.
func killedAt(t *testing.T, dir string, n int, torn bool, args ...string) bool {
	t.Helper()
	runtime.LockOSThread() // only the thread that starts a process may trace it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(simrun, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true} // a group, so that no other test's process is waited for
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := syscall.PtraceSetOptions(cmd.Process.Pid, traceSysGood|traceAll|traceExec|exitKill); err != nil {
		t.Fatal(err)
	}
	alive := map[int]bool{cmd.Process.Pid: true}
	changes, dies, dead := 0, 0, false
	end := func() {
		dead = true
		for pid := range alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for pid := cmd.Process.Pid; ; {
		signal := 0
		alive[pid] = true
		switch {
		case status.Exited(), status.Signaled():
			delete(alive, pid)
		case dead:
			_ = syscall.Kill(pid, syscall.SIGKILL) // it was started meanwhile
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			var regs syscall.PtraceRegs
			if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
				break // it is gone
			}
			entry := int64(regs.Rax) == -int64(syscall.ENOSYS)
			switch {
			case !entry && pid == dies:
				end()
			case entry && changesFiles(pid, dir, &regs):
				if changes++; changes != n {
					break
				}
				if regs.Orig_rax != syscall.SYS_WRITE || !torn {
					end()
					break
				}
				dies, regs.Rdx = pid, regs.Rdx/2
				if err := syscall.PtraceSetRegs(pid, &regs); err != nil {
					t.Fatal(err)
				}
			}
		case status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = int(status.StopSignal())
		}
		if !dead && alive[pid] {
			_ = syscall.PtraceSyscall(pid, signal)
		}
		var err error
		for pid, err = -1, syscall.EINTR; errors.Is(err, syscall.EINTR); {
			pid, err = syscall.Wait4(-cmd.Process.Pid, &status, syscall.WALL|wNoThread, nil)
		}
		if errors.Is(err, syscall.ECHILD) {
			return dead
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// changesFiles says whether a system call is one that changes files in the folder.
func changesFiles(pid int, dir string, regs *syscall.PtraceRegs) bool {
	switch regs.Orig_rax {
	case syscall.SYS_WRITE, syscall.SYS_FTRUNCATE:
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, regs.Rdi))
		return err == nil && strings.HasPrefix(file, dir)
	case syscall.SYS_OPENAT:
		return regs.Rdx&syscall.O_CREAT != 0
	case syscall.SYS_RENAMEAT, sysRenameAt2, syscall.SYS_RENAME, syscall.SYS_SYMLINKAT, syscall.SYS_MKDIRAT, syscall.SYS_UNLINKAT, syscall.SYS_LINKAT:
		return true
	}
	return false
}
