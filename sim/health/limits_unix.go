//go:build unix

package health

import "syscall"

// unlimited is more than any limit.
const unlimited = 1 << 62

// limit is a resource limit of this process.
func limit(resource int) uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		return unlimited
	}
	return min(uint64(l.Cur), unlimited)
}

// descriptors is how many files this process may have open.
func descriptors() uint64 { return limit(syscall.RLIMIT_NOFILE) }

// fileSize is how long a file may become.
func fileSize() uint64 { return limit(syscall.RLIMIT_FSIZE) }
