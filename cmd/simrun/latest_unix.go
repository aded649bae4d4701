//go:build !windows

package main

import (
	"os"
	"path/filepath"
)

// point makes "latest", beside a folder, a link to it. There is one at any time.
func point(dir string) error {
	temporary := filepath.Join(dir, ".latest") // in the run's own folder, where nobody else has one
	if err := os.Symlink(filepath.Base(dir), temporary); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(filepath.Dir(dir), "latest"))
}

// latestOf is the name of the newest folder below parent, or "".
func latestOf(parent string) string {
	link, err := os.Readlink(filepath.Join(parent, "latest"))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}
