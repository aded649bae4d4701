//go:build linux || darwin || freebsd

package health

import "syscall"

// room is how many bytes a disk has left for who is not root, and what it is.
func room(dir string) (left uint64, of string) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Blocks == 0 { // some of which nobody knows how large they are
		return unlimited, ""
	}
	return uint64(s.Bavail) * uint64(s.Bsize), "the " + Size(uint64(s.Blocks)*uint64(s.Bsize)) + " of its disk"
}
