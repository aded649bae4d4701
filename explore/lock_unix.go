//go:build unix

package explore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFolder keeps others from a folder until it is closed, or this process ends.
func lockFolder(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another process is at this search; wait for it, or name another folder", dir)
		}
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return f, nil
}
