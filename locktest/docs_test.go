package locktest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The page on testing a lock of one's own has all that it takes: its example is a test, in a module of its own.
func TestTheExampleOfTheDocsRuns(t *testing.T) {
	page, err := os.ReadFile("../docs/locktest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	example, _, found := strings.Cut(rest, "```\n")
	if lines := strings.Count(example, "\n"); !found || !strings.Contains(string(page), fmt.Sprintf("A file of %d lines", lines)) || lines > 40 {
		t.Errorf("adapter and test take %d lines", lines)
	}
	dir := freshModule(t, map[string]string{"lock_test.go": example})
	test := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-v", "-run", "^TestMyLock$/^object$", ".")
	test.Dir, test.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "TMPDIR="+t.TempDir(), "HOLDFAST_DRAWN=2")
	out, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestMyLock/object/key-expiry") {
		t.Errorf("%v\n%s", err, out)
	}
}

// freshModule makes a module that requires this one, with such files.
func freshModule(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	const module = "github.com/holdfast-sim/holdfast"
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	files["go.sum"] = string(sums)
	files["go.mod"] = "module fresh\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
