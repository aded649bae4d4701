package warp

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Stream is this side of a connection or a pipe that a process has the other side of. Its methods are safe for concurrent
// use.
type Stream struct {
	c  *Coordinator
	of *Process // whose process has the other side; nil: it is not known
	fd int      // -1: closed; c.mu guards it, and what follows

	unsent []byte
	last   bool // and then it is to be closed
	done   bool // nothing more is to be read

	mu     sync.Mutex
	filled *sync.Cond
	data   []byte
	end    error // after data; nil: there may be more
}

func newStream(c *Coordinator, of *Process, fd int) *Stream {
	s := &Stream{c: c, of: of, fd: fd}
	s.filled = sync.NewCond(&s.mu)
	return s
}

// Dial connects to the socket that p listens at, a path of at most 107 bytes. It does not block.
func (c *Coordinator) Dial(p *Process, socket string) (s *Stream, err error) {
	c.do(func() {
		var fd int
		fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return
		}
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
			unix.Close(fd)
			err = &os.PathError{Op: "connect", Path: socket, Err: err}
			return
		}
		s = newStream(c, p, fd)
		c.streams = append(c.streams, s)
		c.awake[p] = true
	})
	if s == nil && err == nil {
		err = net.ErrClosed
	}
	return s, err
}

// Read blocks until [Coordinator.Rest] has brought something. At the end it returns io.EOF.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == 0 && s.end == nil {
		s.filled.Wait()
	}
	if len(s.data) == 0 {
		return 0, s.end
	}
	n := copy(b, s.data)
	s.data = s.data[n:]
	return n, nil
}

// Filled reports whether Read would not block.
func (s *Stream) Filled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data) > 0 || s.end != nil
}

// fill is for whoever called Rest.
func (s *Stream) fill(data []byte, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, data...)
	if s.end == nil {
		s.end = end
	}
	s.filled.Broadcast()
}

// Write gives data to the process; it does not block. An error says that the process has closed its side.
func (s *Stream) Write(b []byte) (int, error) {
	var err error
	s.c.do(func() { err = s.send(b) })
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close closes this side, once what was written has been taken. Who reads it is told that it is closed.
func (s *Stream) Close() error {
	s.c.do(func() {
		s.last = true
		_ = s.send(nil)
	})
	s.fill(nil, io.ErrClosedPipe)
	return nil
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
