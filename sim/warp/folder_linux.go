package warp

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const folderPrefix = "holdfast-warp-"

// making is more than it takes to make a folder and to say that it is in use.
const making = time.Minute

// newFolder makes a folder in the first of these that takes one, and removes there what a process left that was killed.
// The folder is in use until the file is closed.
func newFolder(parents ...string) (folder string, owned *os.File, err error) {
	for _, parent := range parents {
		removeLeft(parent)
		if folder, err = os.MkdirTemp(parent, folderPrefix); err != nil {
			continue
		}
		if owned, err = own(folder); err == nil {
			return folder, owned, nil
		}
		os.RemoveAll(folder)
	}
	return "", nil, err
}

// own fails if somebody uses the folder.
func own(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeLeft removes the folders that nobody uses any more.
func removeLeft(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() || time.Since(info.ModTime()) < making {
			continue
		}
		if f, err := own(folder); err == nil {
			os.RemoveAll(folder)
			f.Close()
		}
	}
}

func (c *Coordinator) leave() {
	os.RemoveAll(c.folder)
	c.owned.Close()
}
