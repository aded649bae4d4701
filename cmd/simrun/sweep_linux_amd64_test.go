package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// wholeFiles fails unless each file that has its name is whole, but for the last line of a log that was being written.
func wholeFiles(t *testing.T, dir string, torn bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".jsonl":
			lines := bytes.Split(b, []byte("\n"))
			if last := len(lines) - 1; len(lines[last]) > 0 && !torn {
				t.Errorf("%s: its last line is cut off: %q", path, lines[last])
			}
			for _, line := range lines[:len(lines)-1] {
				if !json.Valid(line) {
					t.Errorf("%s: a line that is none: %q", path, line)
				}
			}
		case ".json":
			if !json.Valid(b) {
				t.Errorf("%s: %q", path, b)
			}
		case ".html":
			if !bytes.HasSuffix(bytes.TrimSpace(b), []byte("</html>")) {
				t.Errorf("%s is cut off", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A run is killed at each of its changes of the file system. What it leaves is whole, accuses nobody, and is all in its own
// folder; who checks, serves and runs after it lives with that.
func TestARunIsKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen, kills := map[string]bool{}, 0
	sweep(t, 1, func(n int, torn bool) bool {
		reached := killedAt(t, dir, n, torn, "-scenario", "lost-unlock-message", "-no-proof")
		folders, err := filepath.Glob(filepath.Join(dir, "simrun-out/lost-unlock-message/*-1*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			if seen[folder] {
				continue
			}
			seen[folder] = true
			wholeFiles(t, folder, torn)
			stdout, stderr, code := run(t, dir, "check", folder)
			recorded, _ := os.ReadFile(filepath.Join(folder, historyFile))
			begun := bytes.Contains(recorded, []byte("\n")) // it has its header
			switch {
			case begun && (code == checker.ExitExpected || code == checker.ExitUndecided):
			case !begun && code == checker.ExitUsage && strings.Count(stderr, "\n") == 1:
			default:
				t.Errorf("killed at change %d: check says %d: %s%s", n, code, stdout, stderr)
			}
		}
		kills++
		return reached
	})
	t.Logf("%d kills, %d folders", kills, len(seen))
	// The last was not killed: nothing of the others is in its way.
	for _, pattern := range []string{"simrun-out/.*", "simrun-out/lost-unlock-message/.*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) != 0 {
			t.Errorf("what was killed left %q", left)
		}
	}
	s := startServe(t, dir)
	resp, index := s.get("/")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, index)
	}
	shown := 0
	for folder := range seen {
		page := "/runs/lost-unlock-message/" + filepath.Base(folder) + "/"
		for _, name := range []string{reportFile, "recheck", "all.zip"} {
			if resp, body := s.get(page + name); resp.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s: %s: %s", page+name, resp.Status, body)
			} else if name == reportFile && resp.StatusCode == http.StatusOK {
				shown++
			}
		}
	}
	if shown == 0 {
		t.Error("not even the run that was not killed is shown")
	}
}

// sweep kills at one change after the other, so far apart, before it and half-way through it, until a command was not killed.
func sweep(t *testing.T, stride int, at func(n int, torn bool) (reached bool)) {
	t.Helper()
	if testing.Short() {
		stride *= 5
	}
	for n, reached := 1, true; reached; n += stride {
		for _, torn := range []bool{false, true} {
			reached = at(n, torn)
		}
	}
}

// A search is killed at each of its changes of the file system, and goes on from there: it finds what one finds that was never
// killed, and tells it as that does.
func TestASearchIsKilledAtEachWriteAndGoesOn(t *testing.T) {
	t.Parallel()
	args := []string{"explore", "-subject", "broken-unlock-twice", "-runs", "8"}
	untouched := t.TempDir()
	want, _, wantCode := run(t, untouched, args...)
	names := func(dir string) (names []string) {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			names = append(names, stamp.ReplaceAllString(strings.TrimPrefix(path, dir), "T"))
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return names
	}
	kills := 0
	sweep(t, 23, func(n int, torn bool) bool {
		dir := t.TempDir()
		reached := killedAt(t, dir, n, torn, args...)
		wholeFiles(t, dir, torn)
		got, stderr, code := run(t, dir, args...)
		if code != wantCode || timeless(got) != timeless(want) || stderr != "" {
			t.Errorf("killed at change %d: then %d: %s%s\nand not %d: %s", n, code, stderr, got, wantCode, want)
		}
		had := names(untouched)
		left := slices.DeleteFunc(names(dir), func(name string) bool { return slices.Contains(had, name) })
		if len(left) != 0 {
			t.Errorf("killed at change %d: it has left %q", n, left)
		}
		kills++
		return reached
	})
	t.Logf("%d kills", kills)
}

// timeless is what a search says without how fast it was.
func timeless(said string) string { return fast.ReplaceAllString(said, "") }

var fast = regexp.MustCompile(`\((?:[0-9.,]+ a second|all done before); [^)]*\)`)
