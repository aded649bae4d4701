//go:build unix

package main

import "syscall"

// descriptors is how many files this process may have open.
func descriptors() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1 << 62
	}
	return uint64(l.Cur)
}
