package warp

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared is the memory that the processes share with this one; preload/warp.c has the same.
type shared struct {
	version   uint32
	slots     atomic.Uint32 // the highest that was ever taken, plus 1
	now       atomic.Uint64 // in ns since 1970
	began     uint64
	noted     atomic.Uint32 // 2: note has a text
	births    atomic.Uint32 // processes that are about to enter themselves
	noter     atomic.Uint32 // the process that left the note
	_         uint32
	note      [256]byte
	ports     [256]atomic.Uint32
	processes [1024]entry
	slot      [8192]slot
}

// entry is a process that has the library.
type entry struct {
	pid     atomic.Uint32
	spawned atomic.Uint32 // it may have started others
	ahead   atomic.Uint64 // in ns: by how much its clock of the day is before the world's
}

// slot is a thread that waits, or a timer.
type slot struct {
	pid, tid, state, kind    atomic.Uint32
	deadline, every, address atomic.Uint64
	_                        [3]uint64
}

// version changes with the layout.
const version = 2

// States of a slot.
const (
	free uint32 = iota
	waiting
	signalled
	expired
)

// Kinds of slots.
const (
	_ uint32 = iota
	sleeps
	polls
	timer
)

// newShared makes the memory, as a file of a folder. It is unmapped by unmap.
func newShared(folder string, now time.Time) (s *shared, unmap func(), err error) {
	f, err := os.OpenFile(filepath.Join(folder, "shared"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(shared{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	s = (*shared)(unsafe.Pointer(&memory[0]))
	s.version, s.began = version, uint64(now.UnixNano())
	s.now.Store(s.began)
	return s, func() { _ = unix.Munmap(memory) }, nil
}

// wake wakes the thread that sleeps in a slot.
func (s *slot) wake() {
	const futexWake = 1
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.state)), futexWake, 1, 0, 0, 0)
}

// forget frees what a process that has ended has left.
func (s *shared) forget(pid int) {
	for i := range s.slots.Load() {
		if one := &s.slot[i]; one.pid.Load() == uint32(pid) {
			one.state.Store(free)
			one.pid.Store(0)
		}
	}
	for i := range s.processes {
		if one := &s.processes[i]; one.pid.Load() == uint32(pid) {
			one.spawned.Store(0)
			one.ahead.Store(0)
			one.pid.Store(0)
		}
	}
}
