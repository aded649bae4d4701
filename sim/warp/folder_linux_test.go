package warp

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed process left is removed by the next; what is in use, or is being made, is not.
func TestFoldersThatNobodyUsesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	long := time.Now().Add(-2 * making)
	make := func(used bool, old bool) string {
		folder, owned, err := newFolder(filepath.Join(parent, "absent"), parent)
		if err != nil {
			t.Fatal(err)
		}
		if used {
			t.Cleanup(func() { owned.Close() })
		} else {
			owned.Close() // as the kernel does when a process is killed
		}
		if err := os.WriteFile(filepath.Join(folder, "memory"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(folder, long, long); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	left, used, fresh := make(false, true), make(true, true), make(false, false)
	make(true, false)
	for folder, there := range map[string]bool{left: false, used: true, fresh: true} {
		if _, err := os.Stat(folder); (err == nil) != there {
			t.Errorf("%s is there: %t, wanted %t", folder, err == nil, there)
		}
	}
}
