package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Two searches, six runs of one name, several runs, and who serves them all share a folder at one time: each leaves what it leaves
// alone, and nobody sees half of it.
func TestManyCommandsShareAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "simrun-out"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	var commands sync.WaitGroup
	start := func(want int, args ...string) {
		commands.Go(func() {
			if stdout, stderr, code := run(t, dir, args...); code != want {
				t.Errorf("simrun %s: exit code %d: %s%s", strings.Join(args, " "), code, stdout, stderr)
			}
		})
	}
	start(checker.ExitExpected, "explore", "-runs", "20")
	start(checker.ExitUnexpected, "explore", "-runs", "8", "-seed", "9", "-subject", "broken-unlock-twice")
	for range 6 {
		start(checker.ExitExpected, "-scenario", "watchdog-death", "-no-proof")
	}
	start(checker.ExitExpected, "-scenario", "watchdog-death", "-runs", "20")
	done := make(chan struct{})
	go func() { commands.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		if resp, body := s.get("/"); resp.StatusCode != http.StatusOK || strings.Contains(body, "cut off") {
			t.Errorf("%s: %s", resp.Status, body)
		}
	}
	runs, err := filepath.Glob(filepath.Join(dir, "simrun-out/watchdog-death/*Z-1*"))
	if err != nil || len(runs) < 6 {
		t.Errorf("%d runs: %q, %v", len(runs), runs, err)
	}
	for _, r := range append(runs, filepath.Join(dir, "simrun-out/watchdog-death/latest")) {
		if stdout, stderr, code := run(t, dir, "check", r); code != checker.ExitExpected || stderr != "" {
			t.Errorf("check %s: exit code %d: %s%s", r, code, stdout, stderr)
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "simrun-out"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".") {
			err = fmt.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
