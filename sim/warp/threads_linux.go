package warp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// thread is a thread of a process, as /proc shows it. Its files stay open: to open them costs more than to read them.
type thread struct {
	pid, tid    int
	stat, sched int    // files
	state       byte   // as stat has it
	ran         uint64 // for how long, in ns
	turns       uint64 // how often it was put on a processor
	looked      uint64 // turns, when its system call was looked at
	ranBefore   uint64 // ran, when it was last at rest
	seen        int    // the look that it was last seen in
	known       bool   // what follows is
	left        uint64 // turns, when it was last known to have left its processor
	call        string // the system call that it was in then, as /proc has it
}

func openThread(pid, tid int) (*thread, error) {
	base := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
	stat, err := unix.Open(base+"stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	sched, err := unix.Open(base+"schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(stat)
		return nil, err
	}
	return &thread{pid: pid, tid: tid, stat: stat, sched: sched}, nil
}

func (t *thread) close() {
	unix.Close(t.stat)
	unix.Close(t.sched)
	t.stat, t.sched = -1, -1
}

var errGone = errors.New("the thread has ended")

// look reads the state, and how often the thread ran until after that. The order matters: a turn that began in between
// makes the state count for nothing, since asleep asks the kernel anew then.
func (t *thread) look(buf []byte) error {
	n, err := unix.Pread(t.stat, buf, 0)
	if err != nil || n == 0 {
		return errGone
	}
	end := bytes.LastIndexByte(buf[:n], ')') // of the name, which may have any bytes
	if end < 0 || end+2 >= n {
		return errGone
	}
	t.state = buf[end+2]
	if n, err = unix.Pread(t.sched, buf, 0); err != nil || n == 0 {
		return errGone
	}
	ran, turns, ok := schedstat(buf[:n])
	if !ok {
		return fmt.Errorf("the kernel's schedstat is %q", buf[:n])
	}
	t.ran, t.turns = ran, turns
	return nil
}

// schedstat reads three numbers: the time on a processor, the time waited for one, how often on one.
func schedstat(text []byte) (ran, turns uint64, ok bool) {
	var numbers [3]uint64
	i := 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9' && i < 3:
			numbers[i] = numbers[i]*10 + uint64(c-'0')
		case c == ' ':
			i++
		}
	}
	return numbers[0], numbers[2], i == 2
}

// asleep reports whether the thread does nothing until somebody wakes it. Its state alone does not say: a thread has it
// for a while before it leaves its processor, and may then go on after all. So the kernel is asked in which system call it
// is, which it answers only of a thread that has left. That holds until its next turn.
func (t *thread) asleep() (bool, error) {
	if t.state != 'S' && !t.stopped() && !t.ended() {
		return false, nil
	}
	if t.known && t.left == t.turns {
		return true, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", t.pid, t.tid))
	switch {
	case errors.Is(err, os.ErrPermission):
		return false, fmt.Errorf("what the threads of a process of our own wait for may not be read: %w", err)
	case err != nil || bytes.HasPrefix(text, []byte("running")):
		return false, nil
	}
	t.call, t.known, t.left = string(text), true, t.turns
	return true, nil
}

// since is how long the thread has run since all were at rest last; of none, no time.
func (t *thread) since() time.Duration {
	if t == nil {
		return 0
	}
	return time.Duration(t.ran - t.ranBefore)
}

func (t *thread) stopped() bool { return t.state == 'T' }

func (t *thread) ended() bool { return t.state == 'Z' || t.state == 'X' }

// name is what the process calls the thread.
func (t *thread) name() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", t.pid, t.tid))
	return strings.TrimSpace(string(text))
}

// timedCall names the system call in which the thread waits for a time, a real one; "": it does not.
func (t *thread) timedCall() string {
	words := strings.Fields(t.call)
	if len(words) < 7 {
		return "" // it is in none
	}
	number, err := strconv.Atoi(words[0])
	if err != nil {
		return ""
	}
	args := make([]uint64, 6)
	for i := range args {
		args[i], _ = strconv.ParseUint(strings.TrimPrefix(words[i+1], "0x"), 16, 64)
	}
	call, ok := timed[number]
	if !ok {
		return ""
	}
	switch at := args[call.argument]; call.kind {
	case pointer:
		if at == 0 {
			return ""
		}
	case milliseconds:
		if int32(at) <= 0 {
			return ""
		}
	case futexTime:
		const commands, wait, waitBitset, lockPI = 0x7f, 0, 9, 6
		if op := args[1] & commands; at == 0 || op != wait && op != waitBitset && op != lockPI {
			return ""
		}
	}
	return call.name
}

// timedCall is a system call that may wait for a time.
type timedCall struct {
	name     string
	argument int // which is the time
	kind     timeKind
}

type timeKind int

const (
	pointer      timeKind = iota // null: for ever
	milliseconds                 // negative: for ever
	futexTime                    // a pointer, in some of the commands
)

// realTime is a time of the machine's clock, also in a bubble.
func realTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// processorTime is how long the threads of a process, those that have ended included, have run; 0: it is not known. Of a
// thread that runs now not all is counted, but it is as soon as the thread has left its processor.
func processorTime(pid int) time.Duration {
	const scheduled = 2 // which clock of the process
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// listing is the threads of a process, and how many links their folder had then: it has one for each thread.
type listing struct {
	links uint64
	tids  []int
}

// tasks returns the threads of a process, with none if it is gone. They are those of before if there are as many: one that
// has ended is noticed by whoever looks at it.
func tasks(pid int, before listing) listing {
	name := fmt.Sprintf("/proc/%d/task", pid)
	var is unix.Stat_t
	if unix.Stat(name, &is) != nil {
		return listing{}
	}
	links := uint64(is.Nlink) // narrower on arm64
	if links == before.links {
		return before
	}
	f, err := os.Open(name)
	if err != nil {
		return listing{}
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	now := listing{links, make([]int, 0, len(names))}
	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			now.tids = append(now.tids, id)
		}
	}
	return now
}

// children returns the processes that the threads of a process have started.
func children(pid int, tids []int) (pids []int) {
	for _, tid := range tids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
		for _, word := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(word); err == nil {
				pids = append(pids, id)
			}
		}
	}
	return pids
}
