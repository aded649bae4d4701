package main

import (
	"os"
	"strings"
	"testing"
)

// What a system lacks is not proposed there.
func TestWorldWarpIsProposedWhereItIs(t *testing.T) {
	for system, there := range map[string]bool{"linux": true, "windows": false, "darwin": false} {
		proposed := strings.HasPrefix(processWorlds(system), "-world warp")
		if warps(system) != there || proposed != there {
			t.Errorf("%s: it is there: %v; proposed: %s", system, warps(system), processWorlds(system))
		}
	}
}

// A child finds the files that its parent names, and refuses what is no such list.
func TestAChildFindsWhatItInherits(t *testing.T) {
	files, err := inheritance("2147483000,2147483001,2147483002") // nobody's, so that nothing happens to them
	for i, f := range []*os.File{files.stderr, files.code, files.ends} {
		if err != nil || f == nil || f.Fd() != uintptr(2147483000+i) {
			t.Fatalf("file %d: %v, %v", i, f, err)
		}
	}
	for _, said := range []string{"", "3", "3,4", "3,4,5,6", "3,4,x", "-1,4,5", "3, 4,5"} {
		if files, err := inheritance(said); err == nil {
			t.Errorf("%q: %v", said, files)
		}
	}
}

func TestChildIsNoCommandForPeople(t *testing.T) {
	for _, args := range [][]string{{childCommand}, {childCommand, "list"}} {
		stdout, stderr, code := run(t, t.TempDir(), args...)
		if code != 254 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "how this program starts itself") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
