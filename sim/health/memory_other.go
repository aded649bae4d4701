//go:build !linux

package health

// memory is what is known of the memory of this process.
func memory() []supply { return goLimit() }
