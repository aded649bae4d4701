//go:build !unix

package main

// descriptors is how many files this process may have open, where nobody says.
func descriptors() uint64 { return 1 << 62 }
