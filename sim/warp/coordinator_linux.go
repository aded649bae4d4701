package warp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// rest waits until all is at rest.
func (c *Coordinator) rest(alive func()) error {
	begun := realTime()
	for _, threads := range c.threads {
		for _, t := range threads {
			t.ranBefore = t.ran
		}
	}
	pause := 20 * time.Microsecond
	quiet := 0       // looks in a row that found all asleep, and nothing done in between
	var last *thread // that was found busy
	for {
		if alive != nil {
			alive()
		}
		if c.drain(alive) {
			quiet, pause = 0, 20*time.Microsecond
		}
		if c.shared.noted.Load() == 2 {
			text := string(c.shared.note[:])
			text, _, _ = strings.Cut(text, "\x00")
			return fmt.Errorf("process%s %s", c.of(int(c.shared.noter.Load())), text)
		}
		busy, same, err := c.goesOn(last), false, error(nil)
		if busy == nil {
			busy, same, err = c.look()
		}
		last = busy
		took := realTime() - begun
		switch {
		case err != nil:
			return err
		case busy != nil:
			quiet = 0
		case c.shared.births.Load() > 0:
			quiet = 0
			if took > birth { // whoever was about to be born has died
				c.shared.births.Store(0)
			}
		case !same:
			quiet = 1
		default:
			quiet++
		}
		if c.still && quiet == 1 && !c.drain(alive) {
			quiet = 2 // a second look would find the same
		}
		if quiet >= 2 {
			if err := c.known(); err != nil {
				return err
			}
			c.next = time.Time{}
			if first, _ := c.first(); first != nil && first.deadline.Load() < never {
				c.next = time.Unix(0, int64(first.deadline.Load()))
			}
			clear(c.awake)
			return nil
		}
		if busy == nil && quiet > 0 {
			continue
		}
		if ran := busy.since(); ran > spinning {
			return fmt.Errorf("%s has run for %v without sleeping: no time passes until all sleep",
				c.who(busy), ran.Round(time.Second))
		}
		if took > patience && busy != nil {
			return fmt.Errorf("%s did not come to rest within %v of real time (its state is %c)",
				c.who(busy), patience, busy.state)
		}
		c.ready(pause)
		pause = min(pause*2, time.Millisecond)
	}
}

// who names a thread.
func (c *Coordinator) who(t *thread) string { return fmt.Sprintf("thread %q%s", t.name(), c.of(t.pid)) }

// of says which command a process belongs to.
func (c *Coordinator) of(pid int) string {
	if p := c.leader(pid); p != nil {
		return fmt.Sprintf(" of %q", strings.Join(p.words, " "))
	}
	return ""
}

// leader is the process that was started here and of whose group a process is, or nil.
func (c *Coordinator) leader(pid int) *Process {
	if p, ok := c.group[pid]; ok {
		return p
	}
	group, err := unix.Getpgid(pid)
	if err != nil {
		return nil
	}
	for _, p := range c.processes {
		if p.pid == pid || p.pid == group {
			c.group[pid] = p
			return p
		}
	}
	c.group[pid] = nil
	return nil
}

// goesOn returns a thread that was not asleep if it plainly is not yet.
func (c *Coordinator) goesOn(t *thread) *thread {
	if t == nil || t.look(c.buf) != nil || t.state == 'S' || t.stopped() || t.ended() {
		return nil
	}
	return t
}

// look looks at all threads of those that are awake. It returns the first that is not asleep, or whether none has run,
// come or gone since the look before.
func (c *Coordinator) look() (busy *thread, same bool, err error) {
	c.looks++
	same, c.still = true, false
	all := true                         // threads were looked at
	born := c.shared.births.Load() == 0 // or one that is not among pids may be what goes on
	pids := c.pids()
	ran := make([]time.Duration, 0, 8) // of each process, before
	for _, pid := range pids {
		ran = append(ran, processorTime(pid))
	}
	for i := 0; i < len(pids); i++ {
		pid := pids[i]
		threads := c.threads[pid]
		if threads == nil {
			threads = map[int]*thread{}
			c.threads[pid] = threads
		}
		listed := tasks(pid, c.listed[pid])
		tids := listed.tids
		c.listed[pid] = listed
		alive, stopped := false, true
		for _, tid := range tids {
			t := threads[tid]
			if t == nil {
				same = false
				if t, err = openThread(pid, tid); err != nil {
					if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
						return nil, false, fmt.Errorf("threads of the processes: %w", err)
					}
					delete(c.listed, pid)
					all = false
					continue // it has ended
				}
				threads[tid] = t
			}
			before := t.turns
			if err := t.look(c.buf); errors.Is(err, errGone) {
				delete(c.listed, pid) // another may have come for it
				same, all = false, false
				continue
			} else if err != nil {
				return nil, false, err
			}
			t.seen = c.looks
			if t.turns != before {
				same = false
			}
			asleep, err := t.asleep()
			if err != nil {
				return nil, false, err
			}
			if !asleep {
				return t, false, nil
			}
			alive = alive || !t.ended()
			stopped = stopped && (t.stopped() || t.ended())
		}
		if c.forgetThreads(pid, c.looks) {
			same = false
		}
		if !alive {
			same = c.gone(pid) && same
			continue
		}
		c.stopped[pid] = stopped
		if c.spawned(pid) {
			for _, child := range children(pid, tids) {
				if !slices.Contains(pids, child) {
					pids = append(pids, child)
				}
			}
		}
	}
	c.still = all && born && len(ran) == len(pids) && len(pids) > 0
	for i := range ran {
		c.still = c.still && ran[i] > 0 && processorTime(pids[i]) == ran[i]
	}
	return nil, same, nil
}

// forgetThreads forgets the threads of a process that were not seen in a look, and reports whether there were any.
func (c *Coordinator) forgetThreads(pid, look int) (any bool) {
	for tid, t := range c.threads[pid] {
		if t.seen != look {
			t.close()
			delete(c.threads[pid], tid)
			any = true
		}
	}
	if len(c.threads[pid]) == 0 {
		delete(c.threads, pid)
	}
	return any
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

// receive reads what there is.
func (s *Stream) receive() (did bool) {
	if s.fd < 0 || s.done {
		return false
	}
	for {
		n, err := unix.Read(s.fd, s.c.buf)
		switch {
		case n > 0:
			data := slices.Clone(s.c.buf[:n])
			s.c.events = append(s.c.events, func() { s.fill(data, nil) })
			did = true
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return did
		}
		end := error(io.EOF)
		if err != nil && !errors.Is(err, unix.EBADF) && !errors.Is(err, unix.ENOTCONN) {
			end = err
		}
		s.done = true
		s.c.events = append(s.c.events, func() { s.fill(nil, end) })
		return true
	}
}

// send sends what there is and b, as much as is taken, and closes the file if that is all there will be.
func (s *Stream) send(b []byte) error {
	if s.fd < 0 {
		return io.ErrClosedPipe
	}
	s.c.awake[s.of] = true
	s.unsent = append(s.unsent, b...)
	for len(s.unsent) > 0 {
		n, err := unix.Write(s.fd, s.unsent)
		switch {
		case n > 0:
			s.unsent = s.unsent[n:]
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		}
		s.unsent = nil
		if s.last {
			s.shut()
		}
		return err
	}
	if s.last {
		s.shut()
	}
	return nil
}

func (s *Stream) shut() {
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}
