package warp

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that runs in virtual time, the leader of a group of its own. It dies with this process. Its
// methods are safe for concurrent use.
type Process struct {
	in, out, err *Stream

	c      *Coordinator
	words  []string
	pid    int
	ended  bool // reaped; c.mu guards it and status
	status unix.WaitStatus

	exited chan struct{}
	once   sync.Once
}

// Start starts a program with its arguments.
func (c *Coordinator) Start(words []string) (*Process, error) {
	file, err := exec.LookPath(words[0])
	if err != nil {
		return nil, err
	}
	if err := dynamic(file); err != nil {
		return nil, err
	}
	p := &Process{c: c, words: words, exited: make(chan struct{})}
	c.do(func() {
		if err = c.broken; err == nil {
			c.starts <- func() { err = c.start(p, file) }
			<-c.started
		}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// dynamic says why a file cannot be started with the library. Of a script it does not know.
func dynamic(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil
		}
	}
	return fmt.Errorf("%s is linked statically, as Go programs are: it can run in real time only; "+
		"a Go package can be linked into world sim", file)
}

func (c *Coordinator) start(p *Process, file string) error {
	var theirs, ours [3]int
	for i := range theirs {
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			for j := range i {
				unix.Close(theirs[j])
				unix.Close(ours[j])
			}
			return err
		}
		theirs[i], ours[i] = pipe[1], pipe[0]
		if i == 0 {
			theirs[i], ours[i] = pipe[0], pipe[1]
		}
	}
	pid, err := syscall.ForkExec(file, p.words, &syscall.ProcAttr{
		Env:   c.environment(),
		Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	for i := range theirs {
		unix.Close(theirs[i])
		if err != nil {
			unix.Close(ours[i])
		}
	}
	if err != nil {
		return &os.PathError{Op: "fork/exec", Path: file, Err: err}
	}
	for i, s := range []**Stream{&p.in, &p.out, &p.err} {
		_ = unix.SetNonblock(ours[i], true)
		*s = newStream(c, p, ours[i])
		(*s).done = i == 0
		c.streams = append(c.streams, *s)
	}
	p.pid = pid
	c.processes = append(c.processes, p)
	c.awake[p] = true
	return nil
}

// environment is this process's, with the library.
func (c *Coordinator) environment() []string {
	var env []string
	preload := c.library
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "LD_PRELOAD":
			preload += ":" + value
		case "HOLDFAST_WARP", "UV_USE_IO_URING":
		default:
			env = append(env, e)
		}
	}
	return append(env, "LD_PRELOAD="+preload, "HOLDFAST_WARP="+c.folder, "UV_USE_IO_URING=0")
}

// reap reports whether the process has ended, now. For the kernel to forget one takes a tenth of a second, and many of them if
// the machine is busy. Another thread waits for that, and alive, if not nil, is called all the while.
func (c *Coordinator) reap(p *Process, alive func()) bool {
	if p.ended {
		return false
	}
	var about unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.pid, &about, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err == nil && about.Signo == 0 || err != nil && !errors.Is(err, unix.ECHILD) {
		return false
	}
	c.starts <- func() { _, _ = unix.Wait4(p.pid, &p.status, 0, nil) }
	for reaped := false; !reaped; {
		select {
		case <-c.started:
			reaped = true
		default:
			nap(alive)
		}
	}
	p.ended = true
	_ = unix.Kill(-p.pid, unix.SIGKILL) // whom it has left behind
	c.forget(p.pid)
	c.events = append(c.events, p.over)
	return true
}

// nap lets a little real time pass, whatever bubble calls this, and says so.
func nap(alive func()) {
	if alive != nil {
		alive()
	}
	sleep := unix.NsecToTimespec(int64(100 * time.Microsecond))
	_ = unix.Nanosleep(&sleep, nil)
}

// end ends the process and its group, and returns when it has ended. alive, if not nil, is called all the while.
func (c *Coordinator) end(p *Process, alive func()) {
	if p.ended {
		return
	}
	c.awake[p] = true
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	for nap(alive); !c.reap(p, alive); {
		nap(alive)
	}
}

// over is for whoever called Rest, or Kill.
func (p *Process) over() { p.once.Do(func() { close(p.exited) }) }

// In is its standard input, Out and Err are what it writes to its standard output and error.
func (p *Process) In() io.WriteCloser { return p.in }
func (p *Process) Out() io.ReadCloser { return p.out }
func (p *Process) Err() io.ReadCloser { return p.err }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ending says how the process ended, once it has: "exit status 1", "signal: killed".
func (p *Process) Ending() string {
	if p.status.Signaled() {
		return "signal: " + p.status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", p.status.ExitStatus())
}

// Kill ends the process and its group, and returns when it has ended. alive, if not nil, is called all the while: a large
// process of a busy machine takes seconds to end.
func (p *Process) Kill(alive func()) {
	p.c.do(func() { p.c.end(p, alive) })
	p.over()
}

// Pause has the process and its group stand still, at the latest when all are at rest.
func (p *Process) Pause() error { return p.signal(unix.SIGSTOP) }

// Overdue is how many waits of a process that is paused, and its group, are over.
func (p *Process) Overdue() (n int) {
	p.c.do(func() {
		for i := range p.c.shared.slots.Load() {
			s := &p.c.shared.slot[i]
			pid := int(s.pid.Load())
			if pid == 0 || s.state.Load() != waiting || s.deadline.Load() > p.c.shared.now.Load() {
				continue
			}
			if p.c.leader(pid) == p {
				n++
			}
		}
	})
	return n
}

// JumpClock sets the clock of the day forward, of the process and of its group. A wait until a time of that clock that has begun ends as
// it would have.
func (p *Process) JumpClock(by time.Duration) {
	p.c.do(func() {
		for i := range p.c.shared.processes {
			one := &p.c.shared.processes[i]
			if pid := int(one.pid.Load()); pid != 0 && p.c.leader(pid) == p {
				one.ahead.Add(uint64(by))
			}
		}
	})
}

// Resume has them go on.
func (p *Process) Resume() error { return p.signal(unix.SIGCONT) }

func (p *Process) signal(s unix.Signal) (err error) {
	p.c.do(func() {
		if !p.ended {
			p.c.awake[p] = true
			err = unix.Kill(-p.pid, s)
		}
	})
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
