package warp

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Coordinator has processes run in virtual time. New makes one. Its methods are safe for concurrent use, but Rest is
// to be called when nobody else is about to do anything.
type Coordinator struct {
	clock   func() time.Time
	folder  string   // of the memory and the sockets
	owned   *os.File // says that somebody uses the folder
	library string
	shared  *shared
	unmap   func()

	starts  chan func() // done by the thread that starts processes
	started chan struct{}

	mu        sync.Mutex // guards what follows
	listeners []*listener
	streams   []*Stream
	processes []*Process
	bells     int                     // a socket, at which the files of slots are handed over
	bell      map[int]int             // the file of each slot that has one
	threads   map[int]map[int]*thread // by process, by thread
	listed    map[int]listing         // by process
	group     map[int]*Process        // what was started here, by the processes of its group; nil: of none
	stopped   map[int]bool            // processes that stand still
	awake     map[*Process]bool       // something has happened to them since they were at rest; nil: to those of no group
	looks     int
	still     bool          // nobody used a processor during the last look, which found all asleep
	next      time.Time     // when a wait ends; zero: none does
	events    []func()      // to be done by whoever called Rest
	broken    error         // why nothing goes on
	files     []unix.PollFd // what ready has found: of bells, listeners, streams
	buf       []byte
}

type listener struct {
	fd     int
	accept func(*Stream)
}

const (
	firstPort = 6379
	// spinning is how long a thread may run, on a processor, without coming to rest.
	spinning = 4 * time.Second
	// patience is how long all may take to come to rest, however busy the machine is.
	patience = 2 * time.Minute
	// birth is more than a process takes from its fork until it has entered itself.
	birth = 2 * time.Second
)

// New makes a coordinator. The clocks of its processes begin at began, and show the time of clock, which is asked by
// whoever calls a method. An error says in one line what the machine lacks.
func New(began time.Time, clock func() time.Time) (*Coordinator, error) {
	c := &Coordinator{clock: clock, starts: make(chan func()), started: make(chan struct{}), bell: map[int]int{},
		threads: map[int]map[int]*thread{}, listed: map[int]listing{}, group: map[int]*Process{}, stopped: map[int]bool{}, awake: map[*Process]bool{},
		buf: make([]byte, 64<<10)}
	var err error
	if c.folder, c.owned, err = newFolder("/dev/shm", os.TempDir()); err != nil {
		return nil, err
	}
	if err = c.begin(began); err != nil {
		c.leave()
		return nil, err
	}
	go func() {
		// Processes are to die with this one, which Linux takes to mean: with the thread that started them.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range c.starts {
			f()
			c.started <- struct{}{}
		}
	}()
	return c, nil
}

func (c *Coordinator) begin(began time.Time) (err error) {
	if c.library, err = library(c.folder); err != nil {
		return err
	}
	if c.bells, err = c.listen("bells"); err != nil {
		return err
	}
	if c.shared, c.unmap, err = newShared(c.folder, began); err != nil {
		unix.Close(c.bells)
	}
	return err
}

// listen opens a socket of the folder.
func (c *Coordinator) listen(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(c.folder, name)}); err == nil {
		err = unix.Listen(fd, 4096)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("socket %s: %w", name, err)
	}
	return fd, nil
}

// do does f, at the time that the clock shows, unless the coordinator is closed.
func (c *Coordinator) do(f func()) {
	now := c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil {
		c.setTime(now)
		f()
	}
}

func (c *Coordinator) setTime(now time.Time) {
	if ns := uint64(now.UnixNano()); ns > c.shared.now.Load() {
		c.shared.now.Store(ns)
	}
}

// Close ends all processes, and removes what the coordinator has made.
func (c *Coordinator) Close() {
	c.do(func() {
		for _, p := range c.processes {
			c.end(p, nil)
		}
		for _, s := range c.streams {
			s.shut()
		}
		for _, l := range c.listeners {
			unix.Close(l.fd)
		}
		unix.Close(c.bells)
		for _, fd := range c.bell {
			unix.Close(fd)
		}
		for pid := range c.threads {
			c.forgetThreads(pid, -1)
		}
		c.unmap()
		c.shared = nil
		c.leave()
		close(c.starts)
	})
}

// Folder is the coordinator's own, which is removed when it is closed, or later if this process is killed.
func (c *Coordinator) Folder() string { return c.folder }

// Listen opens a port of the world, on 127.0.0.1. Who connects there is given to accept, by whoever calls Rest.
func (c *Coordinator) Listen(accept func(*Stream)) (port int, err error) {
	c.do(func() {
		if len(c.listeners) == len(c.shared.ports) {
			err = fmt.Errorf("more than %d ports", len(c.listeners))
			return
		}
		port = firstPort + len(c.listeners)
		var fd int
		if fd, err = c.listen(strconv.Itoa(port)); err != nil {
			return
		}
		c.shared.ports[len(c.listeners)].Store(uint32(port))
		c.listeners = append(c.listeners, &listener{fd, accept})
	})
	return port, err
}

// Rest lets the processes run, at the time that the clock shows, until all are at rest. It reports whether they did
// anything that the caller may have to react on: streams have something to read, there are new connections, a process
// has ended. next is when a wait of theirs ends, and [Coordinator.Wake] is to be called; zero if none does. alive is
// called all the while. An error is a process that does not come to rest, or cannot be had here; all processes are
// ended then.
func (c *Coordinator) Rest(alive func()) (did bool, next time.Time, err error) {
	var events []func()
	c.do(func() {
		if len(c.awake) > 0 && c.broken == nil {
			if err = c.rest(alive); err != nil {
				c.broken = err
				for _, p := range c.processes {
					c.end(p, alive)
				}
				c.drain(alive)
				c.next = time.Time{}
			}
		}
		events, c.events = c.events, nil
		next = c.next
	})
	for _, f := range events {
		f()
	}
	return len(events) > 0, next, err
}

// Wake wakes the thread, or has the timer come due, whose wait was the first to end, if it has ended. There may be more.
func (c *Coordinator) Wake() {
	c.do(func() {
		if first, slot := c.first(); first != nil && first.deadline.Load() <= c.shared.now.Load() {
			c.wake(first, slot)
		}
	})
}

// pids are the processes that were started here, and those that have the library, as far as they are awake. The others
// sleep on: processes of two groups have nothing to wake each other with.
func (c *Coordinator) pids() []int {
	var pids []int
	for _, p := range c.processes {
		if !p.ended && c.awake[p] {
			pids = append(pids, p.pid)
		}
	}
	for i := range c.shared.processes {
		pid := int(c.shared.processes[i].pid.Load())
		if pid == 0 || slices.Contains(pids, pid) {
			continue
		}
		if p := c.leader(pid); p == nil || c.awake[p] {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *Coordinator) entry(pid int) *entry {
	for i := range c.shared.processes {
		if e := &c.shared.processes[i]; int(e.pid.Load()) == pid {
			return e
		}
	}
	return nil
}

func (c *Coordinator) spawned(pid int) bool {
	e := c.entry(pid)
	return e == nil || e.spawned.Load() > 0
}

// gone forgets a process that has ended, or is only to be reaped by its parent. It reports whether nothing is awaited
// of it: one that was started here is, until it has been reaped.
func (c *Coordinator) gone(pid int) bool {
	for _, p := range c.processes {
		if p.pid == pid && !p.ended {
			return false
		}
	}
	c.forget(pid)
	return true
}

func (c *Coordinator) forget(pid int) {
	for i := range c.shared.slots.Load() {
		if fd, ok := c.bell[int(i)]; ok && int(c.shared.slot[i].pid.Load()) == pid {
			unix.Close(fd)
			delete(c.bell, int(i))
		}
	}
	c.shared.forget(pid)
	c.forgetThreads(pid, -1)
	delete(c.listed, pid)
	delete(c.stopped, pid)
	delete(c.group, pid)
}

// known looks whether threads that ran since it was last called wait for a time in a way that the library does not know,
// and whether processes have the library.
func (c *Coordinator) known() error {
	in := map[int]bool{}
	for i := range c.shared.slots.Load() {
		if s := &c.shared.slot[i]; s.pid.Load() != 0 && s.state.Load() == waiting {
			in[int(s.tid.Load())] = true
		}
	}
	for _, threads := range c.threads {
		for _, t := range threads {
			if t.looked == t.turns || t.stopped() || t.ended() {
				continue
			}
			t.looked = t.turns
			if c.entry(t.pid) == nil {
				return fmt.Errorf("%s has not loaded the library: it is linked statically, as Go programs are, or made "+
					"for another machine; it can run in real time only", c.who(t))
			}
			if in[t.tid] {
				continue
			}
			if name := t.timedCall(); name != "" {
				return fmt.Errorf("%s waits for real time, by the system call %s, which the library does not know",
					c.who(t), name)
			}
		}
	}
	return nil
}

// first returns who waits for the earliest time, with the slot's number; nil: nobody does. Who stands still does not.
func (c *Coordinator) first() (first *slot, at int) {
	for i := range c.shared.slots.Load() {
		s := &c.shared.slot[i]
		if pid := s.pid.Load(); pid == 0 || s.state.Load() != waiting || c.stopped[int(pid)] {
			continue
		}
		if first == nil || s.deadline.Load() < first.deadline.Load() {
			first, at = s, int(i)
		}
	}
	return first, at
}

// never is a deadline that does not come.
const never = 1<<63 - 1

// wake ends the wait of a slot.
func (c *Coordinator) wake(s *slot, number int) {
	c.awake[c.leader(int(s.pid.Load()))] = true
	switch s.kind.Load() {
	case timer:
		count := uint64(1)
		if every := s.every.Load(); every > 0 {
			count += (c.shared.now.Load() - s.deadline.Load()) / every
			s.deadline.Add(count * every)
		} else {
			s.state.Store(free)
		}
		c.ring(number, count)
	case polls:
		s.state.Store(expired)
		c.ring(number, 1)
	default:
		s.state.Store(expired)
		s.wake()
	}
}

// ring writes a number to the file of a slot.
func (c *Coordinator) ring(slot int, count uint64) {
	if fd, ok := c.bell[slot]; ok {
		var b [8]byte
		for i := range b {
			b[i] = byte(count >> (8 * i))
		}
		_, _ = unix.Write(fd, b[:])
	}
}

// drain takes what has come, and sends what could not be sent. It reports whether there was anything.
func (c *Coordinator) drain(alive func()) (did bool) {
	for _, p := range c.processes {
		did = c.reap(p, alive) || did
	}
	for _, s := range c.streams {
		if before := len(s.unsent); s.fd >= 0 && (before > 0 || s.last) {
			_ = s.send(nil)
			did = did || len(s.unsent) != before
		}
	}
	c.streams = slices.DeleteFunc(c.streams, func(s *Stream) bool { return s.fd < 0 })
	if !c.ready(0) {
		return did
	}
	for i, f := range c.files[:len(c.files):len(c.files)] {
		if f.Revents == 0 {
			continue
		}
		switch {
		case i == 0:
			did = c.takeBells() || did
		case i <= len(c.listeners):
			did = c.accept(c.listeners[i-1]) || did
		default:
			did = c.streams[i-1-len(c.listeners)].receive() || did
		}
	}
	return did
}

// accept takes new connections.
func (c *Coordinator) accept(l *listener) (did bool) {
	for {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return did
		}
		did = true
		var p *Process
		if peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p = c.leader(int(peer.Pid))
		}
		s := newStream(c, p, fd)
		c.streams = append(c.streams, s)
		c.events = append(c.events, func() { l.accept(s) })
	}
}

// takeBells takes the files that processes hand over.
func (c *Coordinator) takeBells() bool {
	did := false
	for {
		fd, _, err := unix.Accept4(c.bells, unix.SOCK_CLOEXEC)
		if err != nil {
			return did
		}
		did = true
		var number [4]byte
		rights := make([]byte, unix.CmsgSpace(4))
		n, nrights, _, _, err := unix.Recvmsg(fd, number[:], rights, unix.MSG_CMSG_CLOEXEC)
		unix.Close(fd)
		if err != nil || n != len(number) {
			continue // it has ended meanwhile
		}
		messages, err := unix.ParseSocketControlMessage(rights[:nrights])
		if err != nil || len(messages) == 0 {
			continue
		}
		files, err := unix.ParseUnixRights(&messages[0])
		if err != nil || len(files) == 0 {
			continue
		}
		slot := int(number[0]) | int(number[1])<<8 | int(number[2])<<16
		if old, ok := c.bell[slot]; ok {
			unix.Close(old)
		}
		c.bell[slot] = files[0]
	}
}

// ready waits until something has come, for at most d, and reports whether it has. What is in files then.
func (c *Coordinator) ready(d time.Duration) bool {
	c.files = append(c.files[:0], unix.PollFd{Fd: int32(c.bells), Events: unix.POLLIN})
	for _, l := range c.listeners {
		c.files = append(c.files, unix.PollFd{Fd: int32(l.fd), Events: unix.POLLIN})
	}
	for _, s := range c.streams {
		f := unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
		if s.done {
			f.Fd = -1
		}
		c.files = append(c.files, f)
	}
	t := unix.NsecToTimespec(int64(d))
	n, _ := unix.Ppoll(c.files, &t, nil)
	return n > 0
}
