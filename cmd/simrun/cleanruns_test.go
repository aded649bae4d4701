package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Of each scenario the newest runs stay, and the one that latest points to. What is no stored run is not touched.
func TestCleanKeepsTheNewestRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed, err := filepath.Rel(dir, killedRun(t, dir, "baseline"))
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{
		"key-expiry/20260101T000000Z-7", "key-expiry/20260102T000000Z-9", "key-expiry/20260102T000000Z-10", "key-expiry/20260102T000000Z-10-2",
		"baseline/20991231T235959Z-1", "batch/20260101T000000Z-1", "explore/rlock/found", "key-expiry/20260101T000000Z-mine", "a file/x", "elsewhere/20200101T000000Z-1",
	} {
		write(t, dir, "simrun-out/"+run+"/history.jsonl", "")
	}
	write(t, dir, "simrun-out/key-expiry/20260101T000000Z-1", "a file")
	outside := t.TempDir()
	write(t, outside, "20200101T000000Z-1/keep", "")
	write(t, outside, "20200102T000000Z-1/keep", "")
	for name, target := range map[string]string{
		"key-expiry/latest": "20260101T000000Z-7", "linked": outside, "elsewhere/20190101T000000Z-1": outside, "elsewhere/latest": "../key-expiry/20260102T000000Z-9",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "simrun-out", name)); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := run(t, dir, "clean", "-keep", "1")
	want := "simrun-out: 3 runs removed, 5 kept\n  " + strings.TrimPrefix(filepath.ToSlash(killed), "simrun-out/") +
		"\n  key-expiry/20260102T000000Z-10\n  key-expiry/20260102T000000Z-9\n"
	if code != checker.ExitExpected || stderr != "" || stdout != want {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s\nwant:\n%s", code, stderr, stdout, want)
	}
	var left []string
	_ = filepath.WalkDir(filepath.Join(dir, "simrun-out"), func(name string, e fs.DirEntry, err error) error {
		if err == nil && storedName.MatchString(e.Name()) {
			rel, _ := filepath.Rel(filepath.Join(dir, "simrun-out"), name)
			left = append(left, filepath.ToSlash(rel))
		}
		return err
	})
	if want := []string{"baseline/20991231T235959Z-1", "batch/20260101T000000Z-1", "elsewhere/20190101T000000Z-1", "elsewhere/20200101T000000Z-1",
		"key-expiry/20260101T000000Z-1", "key-expiry/20260101T000000Z-7", "key-expiry/20260102T000000Z-10-2"}; !slices.Equal(left, want) {
		t.Errorf("left is %q\nwant %q", left, want)
	}
	if kept, _ := filepath.Glob(filepath.Join(outside, "*", "keep")); len(kept) != 2 {
		t.Errorf("outside is left %q", kept)
	}
	if stdout, _, code := run(t, dir, "clean", "-keep", "1"); code != checker.ExitExpected || stdout != "simrun-out: 0 runs removed, 5 kept\n" {
		t.Errorf("the second time: exit code %d, %s", code, stdout)
	}
}

func TestCleanRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", "")
	for args, want := range map[string]string{
		"clean -keep 0":                   "-keep 0: at least one run of each scenario stays",
		"clean -keep -3":                  "-keep -3: at least one",
		"clean -keep many":                "many",
		"clean -keep 1":                   "-out simrun-out: no such file or directory; it should be a folder",
		"clean -keep 1 -out file":         "-out file: not a directory",
		"clean -out file":                 "-out goes with -keep",
		"clean -keep 1 -addr redis://h":   "one after the other",
		"clean -keep 1 -run holdfast:a:b": "a run is called holdfast:",
	} {
		if stdout, stderr, code := run(t, dir, strings.Fields(args)...); code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
